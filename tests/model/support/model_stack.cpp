// model_stack.cpp: see model_stack.hpp.
#include "model_stack.hpp"

model_stack_memory *model_stacks;

unsigned volt_stack_least_class_(void) {
  return 0;
}

volt_slab_ *volt_slab_map_(unsigned) {
  return nullptr;
}

void volt_slab_unmap_(volt_slab_ *) {
  model_stacks->unmap();
}

int volt_stack_guard_(volt_stack_slot_ *) {
  return VOLT_OK;
}

void volt_stack_drop_(const volt_stack_slot_ *slot) {
  model_stacks->drop(slot);
}

void volt_stack_clean_(const volt_stack_ *) {
}
