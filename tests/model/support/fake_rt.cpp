// fake_rt.cpp: see fake_rt.hpp; and the functions of the runtime that task.c and live.c call.
#include "fake_rt.hpp"

static fake_rt *worker_of[8]; // by thread; the constructor and check() are one more
static fake_rt *only;

// Nothing of it is used but how many workers it has, none, and where the list of live tasks is.
alignas(volt_rt) static unsigned char memory[sizeof(volt_rt)];

fake_rt::fake_rt() : exists_(1u) {
  memset(worker_of, 0, sizeof worker_of);
  only = this;
  volt_live_init_(&live_);
  handle()->live = &live_;
}

volt_rt *fake_rt::handle() {
  return reinterpret_cast<volt_rt *>(memory);
}

static fake_rt **here() {
  return &worker_of[rl::ctx().current_thread()];
}

void fake_rt::be_worker() {
  *here() = this;
}

void fake_rt::leave() {
  *here() = nullptr;
}

bool fake_rt::run_one() {
  for (auto &slot : queue_) {
    volt_task *t = volt_exchange_acquire(&slot, static_cast<volt_task *>(nullptr));
    if (!t) continue;
    if (volt_task_run_(t) == VOLT_RAN_AGAIN_) schedule(t);
    return true;
  }
  return false;
}

int fake_rt::spawn(volt_task *t) {
  volt_task_begin_(t, handle(), nullptr);
  int result = volt_live_add_(handle(), t);
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
  if (*here() != this) EXPECT(exists_ == 1);
}

// ---- what the sources call ----

bool volt_rt_is_here_(volt_rt *) {
  return *here() != nullptr;
}

void volt_rt_schedule_(volt_task *t, volt_rt_order_) {
  only->schedule(t);
}

volt_worker *volt_worker_here_(void) {
  return nullptr; // every task is in the list of other threads
}
