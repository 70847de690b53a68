// io_nap_model: entries are added as the timer ticks: as long as there is one, a timer runs. nap.c R9.
// PROGRAM: io_nap BATCH 2 MUTANTS SUPPORT model_io.cpp
// PROGRAM: io_nap SOURCES nap.c op.c whole.c fd.c close.c call.c make.c watched.c future.c select.c grant.c
// PROGRAM: io_nap SOURCES park.c fiber_futex.c fifo.c
#include "io/backend/nap.h"
#include "model_io.hpp"

// The timer of the runtime.
static VOLT_ATOMIC(uint32_t) *timer_runs; // of the model
static volt_waker timer_waker;            // always the same

volt_timers *volt_rt_timers(volt_rt *) {
  return nullptr;
}

uint64_t volt_rt_now_ns(volt_rt *) {
  return 0;
}

void volt_timer_start(volt_timers *, volt_timer *, uint64_t, volt_waker waker) {
  timer_waker = waker;
  EXPECT(volt_exchange_acq_rel(timer_runs, 1u) == 0);
}

bool volt_timer_cancel(volt_timers *, volt_timer *) {
  return volt_exchange_acq_rel(timer_runs, 0u) == 1;
}

struct io_nap_model : model {
  volt_watch_table watched; // of nothing: each report meets no descriptor
  volt_naps_ naps;
  VOLT_ATOMIC(uint32_t) runs;
  io_nap_model() {
    volt_store_relaxed(&runs, 0u);
    timer_runs = &runs;
    volt_watched_init_(&watched);
    volt_naps_init_(&naps, nullptr, &watched);
  }
  void tick() {
    if (volt_exchange_acq_rel(timer_runs, 0u) == 0) return;
    volt_waker waker = timer_waker;
    waker.wake(waker.ctx);
  }
  void add(uint32_t ticks) {
    EXPECT(volt_nap_(&naps, 0, 1, ticks) == VOLT_OK);
  }
  void check() override {
    bool will_tick = volt_load_relaxed(&runs) == 1;
    EXPECT(will_tick == (naps.first != nullptr) && will_tick == naps.is_ticking);
    volt_naps_end_(&naps);
    volt_watched_free_(&watched);
  }
};

// The first is over, and the timer is about to stop.
struct nap_add_x_tick : io_nap_model {
  nap_add_x_tick() {
    add(1);
  }
  void thread(unsigned index) override {
    if (index == 0) tick();
    if (index == 1) add(1);
  }
};
MODEL(nap_add_x_tick, 2, bounded)

// Two are added, and one that was there stays for a tick more.
struct nap_add_x_add_x_tick : io_nap_model {
  nap_add_x_add_x_tick() {
    add(2);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      tick();
      tick();
    } else {
      add(1 + index);
    }
  }
};
MODEL(nap_add_x_add_x_tick, 3, bounded)
