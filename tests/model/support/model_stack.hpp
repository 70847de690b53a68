// model_stack.hpp: the system's memory under the stacks of fibers.
#ifndef VOLT_MODEL_STACK_HPP
#define VOLT_MODEL_STACK_HPP

#include "rt/fiber/stack.h"

// What a model hears of. There are the slabs that it has put there, and no more can be mapped.
struct model_stack_memory {
  virtual void drop(const volt_stack_slot_ *slot) = 0; // it loses its memory
  virtual void unmap() = 0;                            // a slab is gone
};

extern model_stack_memory *model_stacks; // of the model that runs

#endif
