// runtimes_model: inspectors walk through the runtimes of a process as one is made and one is destroyed.
// runtimes.c R1, R2; pins.h. A runtime that an inspector looks at is written there, and so it is by its
// destroyer: the two are reported unless they are ordered.
// PROGRAM: runtimes BATCH 2 MUTANTS SOURCES runtimes.c park.c fiber_futex.c permits.c
// PROGRAM: runtimes SOURCES future.c fifo.c grant.c
#include "model.hpp"

#include "core/os/futex.h"
#include "rt/host/runtime.h"
#include "rt/inspect/debugger.h"
#include "rt/inspect/inspect.h"
#include "rt/sched/short_lock.h"

static volt_debugger_ *here;
static volt_short_lock *lock;

volt_debugger_ *volt_debugger_of_process_(void) {
  return here;
}
volt_short_lock *volt_runtimes_lock_(void) {
  return lock;
}
const volt_debugger_ *volt_debugger_of_sync_(void) {
  return nullptr;
}

struct runtimes_model : model {
  volt_debugger_ debugger;
  volt_short_lock word;
  volt_rt *rt[3]; // 1 is the first of the list, then comes 2
  unsigned seen[2][3] = {};
  VOLT_PLAIN(uint32_t) is_used[3]; // by inspectors, under a lock of theirs; by the destroyer
  volt_short_lock looking[3];

  runtimes_model() {
    here = &debugger;
    lock = &word;
    debugger.first = nullptr;
    rt[0] = nullptr; // of make()
    for (unsigned i = 2; i > 0; i--) volt_debugger_add_(rt[i] = new volt_rt);
  }
  unsigned number(const volt_rt *at) {
    unsigned i = 0;
    while (i < 2 && rt[i] != at) i++;
    return i;
  }
  // Inspectors are ordered among themselves; nothing but the pin orders them with the destroyer.
  void look_at(unsigned i) {
    volt_short_lock_lock_(&looking[i]);
    is_used[i] = 1;
    volt_short_lock_unlock_(&looking[i]);
  }
  void walk(unsigned inspector) {
    for (volt_rt *at = volt_rt_pin_next_(nullptr); at; at = volt_rt_pin_next_(at)) {
      unsigned i = number(at);
      seen[inspector][i] += 1;
      look_at(i);
    }
  }
  // By its address, at which another may be by then.
  void look_at_one(volt_rt *one) {
    if (!volt_rt_pin_(one)) return;
    look_at(number(one));
    volt_rt_unpin_(one);
  }
  void make() {
    volt_rt *fresh = new volt_rt;
    rt[0] = fresh;
    volt_debugger_add_(fresh);
  }
  // As volt_rt_destroy().
  void destroy(unsigned i) {
    volt_debugger_withdraw_(rt[i]);
    while (volt_debugger_is_pinned_(rt[i])) volt_yield_();
    is_used[i] = 2;
    volt_debugger_remove_(rt[i]);
    is_used[i] = 3;
    rt[i]->next_rt = nullptr;
    rt[i]->prev_rt = nullptr;
    delete rt[i];
    rt[i] = nullptr;
  }
  void check() override {
    unsigned count = 0;
    for (volt_rt *at = debugger.first; at; at = at->next_rt) {
      EXPECT(!at->next_rt || at->next_rt->prev_rt == at);
      count += 1;
    }
    for (auto &each : rt) {
      if (each) count -= 1;
      delete each;
    }
    EXPECT(count == 0);
    for (auto &by : seen) {
      for (unsigned times : by) EXPECT(times <= 1);
    }
  }
};

// R1: the first is destroyed as an inspector walks; the other one is seen.
struct runtimes_walk_x_destroy : runtimes_model {
  void thread(unsigned index) override {
    if (index == 0) {
      walk(0);
    } else {
      destroy(1);
    }
  }
  void check() override {
    EXPECT(seen[0][2] == 1);
    runtimes_model::check();
  }
};
MODEL(runtimes_walk_x_destroy, 2, bounded)

// R2: the next one is destroyed, so the one before it is unlinked from what is gone.
struct runtimes_walk_x_destroy_next : runtimes_model {
  void thread(unsigned index) override {
    if (index == 0) {
      walk(0);
    } else {
      destroy(2);
    }
  }
  void check() override {
    EXPECT(seen[0][1] == 1);
    runtimes_model::check();
  }
};
MODEL(runtimes_walk_x_destroy_next, 2, bounded)

// One is made meanwhile.
struct runtimes_walk_x_make : runtimes_model {
  void thread(unsigned index) override {
    if (index == 0) {
      walk(0);
    } else {
      make();
    }
  }
  void check() override {
    EXPECT(seen[0][1] == 1 && seen[0][2] == 1);
    runtimes_model::check();
  }
};
MODEL(runtimes_walk_x_make, 2, bounded)

// Two inspectors, one of which looks at the one that is destroyed; one is made, too.
struct runtimes_two_walk_x_destroy : runtimes_model {
  void thread(unsigned index) override {
    if (index == 0) walk(0);
    if (index == 1) look_at_one(rt[1]);
    if (index == 2) {
      destroy(1);
      make();
    }
  }
  void check() override {
    EXPECT(seen[0][2] == 1);
    runtimes_model::check();
  }
};
MODEL(runtimes_two_walk_x_destroy, 3, bounded)
