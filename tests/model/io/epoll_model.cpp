// epoll_model: doorbells as shipped in epoll.c, as a worker sleeps there, another one looks or sleeps there
// too, and a thread rings. epoll.c R8; what the system does is the model's (support/model_kernel.hpp). A ring
// that is lost is a deadlock.
// PROGRAM: rt
#include "core/os/futex.h"
#include "model_kernel.hpp"

struct epoll_model : model {
  model_kernel kernel;
  volt_epoll_ *e;

  epoll_model() : e(new volt_epoll_) {
    EXPECT(volt_epoll_init_(e) == VOLT_OK);
    for (unsigned i = 0; i < model_kernel::bells; i++) {
      int number = model_kernel::bell + static_cast<int>(i);
      EXPECT(volt_epoll_add_doorbell_(e, i, number) == VOLT_OK);
    }
  }
  ~epoll_model() override {
    volt_epoll_destroy_(e);
    delete e;
  }
  // Until its doorbell rings.
  void sleep(unsigned worker) {
    EXPECT(!volt_epoll_sleep_(e, worker, VOLT_NO_DEADLINE));
  }
};

// R8: a doorbell rings, and another thread looks, as its worker sleeps or is about to.
struct epoll_ring_x_check : epoll_model {
  void thread(unsigned index) override {
    switch (index) {
      case 0: sleep(0); break;
      case 1: EXPECT(!volt_epoll_check_(e)); break;
      default: kernel.rings(0);
    }
  }
};
MODEL(epoll_ring_x_check, 3, full)

// R8: it rings twice, for two sleeps. The second ring may come before the first sleep has ended.
struct epoll_two_rings_x_check : epoll_model {
  VOLT_ATOMIC(uint32_t) slept;
  void thread(unsigned index) override {
    if (index == 0) {
      sleep(0);
      volt_store_relaxed(&slept, 1u);
      sleep(0);
    } else if (index == 1) {
      for (int i = 0; i < 2; i++) EXPECT(!volt_epoll_check_(e));
    } else {
      kernel.rings(0);
      while (volt_load_relaxed(&slept) == 0) volt_yield_();
      kernel.rings(0);
    }
  }
};
MODEL(epoll_two_rings_x_check, 3, bounded)

// R8: two workers sleep there, for a moment, and each may take the other's report.
struct epoll_ring_x_ring : epoll_model {
  void thread(unsigned index) override {
    if (index < 2) {
      sleep(index);
    } else {
      kernel.rings(0);
      kernel.rings(1);
    }
  }
};
MODEL(epoll_ring_x_ring, 3, bounded)
