// fake_rt.hpp: what task.c, group.c and registry.c need of a runtime, as little of it as there can be: one
// queue, one registry of tasks, and which threads are workers.
#ifndef VOLT_FAKE_RT_HPP
#define VOLT_FAKE_RT_HPP

#include "model_task.hpp"
#include "rt/host/runtime.h"
#include "rt/sched/registry.h"

// The queue orders no more than the real ones do: who takes a task sees it as it was queued.
class fake_rt {
 public:
  fake_rt();
  // There is one at a time.
  static volt_rt *handle();
  volt_registry *registry() {
    return &registry_;
  }

  // This thread is a worker from here on, or no more.
  void be_worker();
  void leave();

  // As a worker: poll a task that is queued. Returns false: there was none.
  bool run_one();
  void run(unsigned polls) {
    be_worker();
    while (polls-- > 0) run_one();
  }
  // At quiescence, or in the constructor: all that is queued.
  void drain() {
    be_worker();
    while (run_one()) {
    }
    leave();
  }

  // As volt_spawn().
  int spawn(volt_task *t);
  // Queue a task. task.c I1: it is not queued already. A thread that is no worker still needs the
  // runtime afterwards.
  void schedule(volt_task *t);
  uint64_t alive() {
    uint64_t spawned = 0;
    return volt_registry_count_(&registry_, &spawned);
  }
  // Be gone: whoever still needs the runtime is reported.
  void end() {
    exists_ = 0;
    registry_.count = 0;
    registry_.closers = nullptr;
  }
  void end_if_empty() {
    if (alive() == 0) end();
  }

 private:
  VOLT_ATOMIC(volt_task *) queue_[3];
  VOLT_PLAIN(uint32_t) exists_;
  volt_registry registry_;
};

#endif
