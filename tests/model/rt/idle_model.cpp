// idle_model: the word of the workers and a queue, by themselves, where worker_model has whole workers, whose many
// steps hide this one: a thread queues a task, as the last worker stops searching, or parks. Worker 1
// sleeps. idle.h R1 to R3: the worker sees the task, or the thread sees what the worker has done, and wakes one.
// PROGRAM: rt
#include "model_task.hpp"
#include "rt/sched/idle.h"
#include "rt/sched/inject.h"
#include "rt/sched/ring.h"

struct idle_model : model {
  volt_idle idle;
  volt_inject inject;
  volt_ring ring;
  volt_task task;
  bool was_seen = false, was_woken = false;

  idle_model() {
    volt_idle_init_(&idle);
    volt_inject_init_(&inject);
    volt_ring_init_(&ring);
    volt_idle_park_(&idle, 1, 0);
    EXPECT(volt_idle_search_(&idle, 2));
  }
  virtual void queue() {
    volt_inject_push_(&inject, &task, &task, 1);
  }
  virtual bool is_any_queued() {
    return volt_inject_length_(&inject) > 0;
  }
  virtual void stop() {
    EXPECT(volt_idle_searching_(volt_idle_found_(&idle)) == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      stop();
      was_seen = is_any_queued();
    } else {
      queue();
      was_woken = volt_idle_wake_one_(&idle, 0, 0, true) < VOLT_IDLE_WORKERS;
    }
  }
  void check() override {
    EXPECT(was_seen || was_woken);
  }
};

// R2: it has found other work.
struct idle_found_x_inject : idle_model {};
MODEL(idle_found_x_inject, 2, full)

// The same, and the task is in the ring of another worker.
struct idle_found_x_push : idle_model {
  void queue() override {
    volt_ring_push_seen_(&ring, &task);
  }
  bool is_any_queued() override {
    return volt_ring_has_any_(&ring);
  }
};
MODEL(idle_found_x_push, 2, full)

// R1: it parks.
struct idle_park_x_inject : idle_model {
  void stop() override {
    volt_idle_park_(&idle, 0, 1);
  }
};
MODEL(idle_park_x_inject, 2, full)

struct idle_park_x_push : idle_found_x_push {
  void stop() override {
    volt_idle_park_(&idle, 0, 1);
  }
};
MODEL(idle_park_x_push, 2, full)

// R3, I1: of two threads that have queued work, one wakes the worker that sleeps. by_name: the other one wakes
// this worker, whatever there is for it.
template <bool by_name>
struct idle_wakes : model {
  volt_idle idle;
  bool was_woken[2] = {false, false};

  idle_wakes() {
    volt_idle_init_(&idle);
    volt_idle_park_(&idle, 1, 0);
  }
  void thread(unsigned index) override {
    was_woken[index] = index == 0 && by_name
                           ? volt_idle_claim_(&idle, 1)
                           : volt_idle_wake_one_(&idle, 0, 0, true) < VOLT_IDLE_WORKERS;
  }
  void check() override {
    EXPECT(was_woken[0] != was_woken[1]);
    EXPECT(volt_load_relaxed(&idle.word) == VOLT_IDLE_SEARCHING_);
  }
};
struct idle_wake_x_wake : idle_wakes<false> {};
MODEL(idle_wake_x_wake, 2, full)
struct idle_claim_x_wake : idle_wakes<true> {};
MODEL(idle_claim_x_wake, 2, full)
