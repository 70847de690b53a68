// fake_rt.cpp: see fake_rt.hpp; and the functions of the runtime that task.c and registry.c call.
#include "fake_rt.hpp"

#include "rt/sched/task_run.h"

static volt_here_ here[8]; // by thread; the constructor and check() are one more
static fake_rt *only;

// Nothing of it is used but how many workers it has, none, and where the registry of tasks is.
alignas(volt_rt) static unsigned char memory[sizeof(volt_rt)];

fake_rt::fake_rt() : exists_(1u) {
  memset(here, 0, sizeof here);
  only = this;
  volt_registry_init_(&registry_);
  handle()->registry = &registry_;
}

volt_rt *fake_rt::handle() {
  return reinterpret_cast<volt_rt *>(memory);
}

void fake_rt::be_worker() {
  volt_thread_here_()->rt = handle();
  volt_thread_here_()->worker = handle()->worker; // of index 0, as the only registry
}

void fake_rt::leave() {
  volt_thread_here_()->rt = nullptr;
  volt_thread_here_()->worker = nullptr;
}

bool fake_rt::run_one() {
  for (auto &slot : queue_) {
    volt_task *t = volt_exchange_acquire(&slot, static_cast<volt_task *>(nullptr));
    if (!t) continue;
    volt_ctx ctx;
    volt_task_ctx_init_(&ctx);
    if (volt_task_run_(t, &ctx) == VOLT_RAN_AGAIN_) schedule(t);
    return true;
  }
  return false;
}

int fake_rt::spawn(volt_task *t) {
  volt_task_begin_(t, handle(), nullptr);
  int result = volt_registry_add_(handle(), t);
  if (result == VOLT_OK) {
    volt_task_start_(t);
  } else {
    volt_task_not_begun_(t);
  }
  return result;
}

void fake_rt::schedule(volt_task *t) {
  bool queued = false;
  for (auto &slot : queue_) {
    volt_task *seen = nullptr;
    queued = volt_cas_release(&slot, &seen, t);
    EXPECT(queued || seen != t);
    if (queued) break;
  }
  EXPECT(queued);
  if (!volt_rt_is_here_(handle())) EXPECT(exists_ == 1);
}

// ---- what the sources call ----

void volt_rt_schedule_(volt_task *t) {
  only->schedule(t);
}

void volt_rt_schedule_next_(volt_here_ *, volt_task *t) {
  only->schedule(t);
}

volt_here_ *volt_thread_here_(void) {
  return &here[volt_model_thread()];
}
