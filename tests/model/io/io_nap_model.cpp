// io_nap_model: entries are added as the timer ticks: as long as there is one, a timer runs; what a tick
// reports; and what is left when no descriptor is open. nap.c R9, R11, R12.
// PROGRAM: io_nap BATCH 2 MUTANTS SUPPORT model_io.cpp
// PROGRAM: io_nap SOURCES nap.c op.c whole.c fd.c close.c call.c make.c watched.c future.c select.c grant.c
// PROGRAM: io_nap SOURCES park.c fiber_futex.c fifo.c
#include "io/backend/nap.h"
#include "model_io.hpp"
#include "poller.hpp"

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

// More than one stays for a tick more: none of them is lost.
struct nap_stay_x_tick : io_nap_model {
  nap_stay_x_tick() {
    add(3);
    add(3);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      tick();
      tick();
    } else {
      add(3);
    }
  }
  void check() override {
    unsigned left = 0;
    for (volt_nap_entry_ *nap = naps.first; nap; nap = nap->next) left += 1;
    EXPECT(left == 3);
    io_nap_model::check();
  }
};
MODEL(nap_stay_x_tick, 2, bounded)

// A descriptor that is watched, and its list.
struct nap_io_model : model {
  model_io io;
  volt_naps_ naps;
  VOLT_ATOMIC(uint32_t) runs;
  volt_fd *d;
  volt_op op;
  poller::trace first;

  nap_io_model() : d(nullptr) {
    volt_store_relaxed(&runs, 0u);
    timer_runs = &runs;
    io.give_numbers();
    volt_naps_init_(&naps, nullptr, io.handle()->numbers);
    d = io.make();
    poller *p = new poller(&first);
    EXPECT(p->poll(volt_fd_ready_future(&op, d, POLLIN)) == VOLT_PENDING);
    p->end();
  }
  void add() {
    EXPECT(volt_nap_(&naps, d->number, d->watched, 1) == VOLT_OK);
  }
  void expect_none_left() {
    EXPECT(!naps.is_ticking && !naps.first && volt_load_relaxed(&runs) == 0);
  }
};

// R11: a tick comes for a socket that is connected by now, and another operation waits for a byte there,
// and is polled meanwhile, or one has come.
template <bool comes>
struct nap_tick_x_ready : nap_io_model {
  poller::trace left[2];
  poller *second, *last;

  nap_tick_x_ready() : second(new poller(&left[0])), last(new poller(&left[1])) {
    add();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_exchange_acq_rel(timer_runs, 0u);
      timer_waker.wake(timer_waker.ctx);
    } else if (comes) {
      io.arrive(d->number);
    } else {
      EXPECT(second->poll(&op.as.future) == VOLT_PENDING);
    }
  }
  void check() override {
    second->end();
    EXPECT(last->poll(&op.as.future) == (comes ? VOLT_OK : VOLT_PENDING));
    EXPECT(!comes || op.n == POLLIN);
    last->end();
    volt_future_cancel(&op.as.future);
    EXPECT(first.freed == 1 && left[0].freed == 1 && left[1].freed == 1);
    expect_none_left();
    volt_fd_close(d);
    io.free(d);
  }
};
struct nap_tick_x_poll : nap_tick_x_ready<false> {};
struct nap_tick_x_report : nap_tick_x_ready<true> {};
MODEL(nap_tick_x_poll, 2, bounded)
MODEL(nap_tick_x_report, 2, bounded)

// R12: the runtime was given up, and its workers have ended. The last descriptor is closed, after one more
// tick was asked for.
struct nap_close_x_end : nap_io_model {
  bool has_ended = false;
  nap_close_x_end() {
    volt_future_cancel(&op.as.future);
  }
  void end() {
    if (has_ended || volt_naps_are_needed_(&naps)) return;
    expect_none_left();
    naps.first = nullptr; // whoever still uses it is reported
    naps.is_ticking = false;
    has_ended = true;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      add();
      volt_fd_close(d);
    } else {
      end();
    }
  }
  void check() override {
    end();
    EXPECT(has_ended);
    io.free(d);
  }
};
MODEL(nap_close_x_end, 2, full)
