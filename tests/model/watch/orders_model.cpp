// orders_model: how volt-run puts down in which order locks are taken: tools/volt-run/watch/orders.c, as it is shipped.
// Checks orders.c R1-R3. The kernel is that of model_watch.cpp.
// PROGRAM: volt_run
#include "model_watch.hpp"
#include "watch/orders.h"
#include "watch/wait.h"

namespace {

// Both threads hold lock 1, shared.
struct orders_world : model {
  struct books books;
  struct books_thread *self[2];

  orders_world() {
    watch_now = watch_truth();
    watch_books = &books;
    for (struct books_thread *&own : self) {
      own = &books.thread[1 + (&own - self)];
      own->number = static_cast<uint32_t>(1 + (&own - self));
      volt_store_relaxed(&own->life, 1);
      own->tid.store(static_cast<int32_t>(own->number), rl::mo_relaxed, $);
      held_add(own, 1, BOOKS_READS_IT, true, 7);
    }
    volt_store_relaxed(&books.thread_count, 2);
  }
  void take(unsigned index, uint32_t lock) {
    orders_before(self[index], lock, BOOKS_LOCKS_IT, 100 + lock);
  }
  // How many there are of this lock; each is as it was put down.
  unsigned whole(uint32_t lock) {
    unsigned found = 0;
    for (struct books_order &o : books.order) {
      if (!volt_load_acquire(&o.is_whole)) continue;
      EXPECT(o.held_count == 1 && o.held[0].lock == 1 && o.at == 100 + o.lock);
      found += o.lock == lock;
    }
    return found;
  }
  // Of threads that have taken it.
  unsigned threads(uint32_t lock) {
    unsigned found = 0;
    for (struct books_order &o : books.order) {
      if (!volt_load_relaxed(&o.is_whole) || o.lock != lock) continue;
      for (unsigned i = 0; i < BOOKS_ORDER_THREADS; i++)
        found += volt_load_relaxed(&o.threads[i]) != 0;
    }
    return found;
  }
};

} // namespace

// R1: one order, by both at once.
struct orders_one_of_two : orders_world {
  void thread(unsigned index) override {
    take(index, 2);
  }
  void check() override {
    EXPECT(whole(2) == 1 && threads(2) == 2);
  }
};
MODEL(orders_one_of_two, 2, bounded)

// R1, R2: two orders, each with the stack of its own thread, or none: there is room for one.
struct orders_two_stacks : orders_world {
  void thread(unsigned index) override {
    take(index, 2 + index);
  }
  void check() override {
    EXPECT(whole(2) == 1 && whole(3) == 1);
    for (struct books_order &o : books.order) {
      if (volt_load_relaxed(&o.is_whole) && o.stack) EXPECT(books.stack[o.stack].at[0] == o.at);
    }
  }
};
MODEL(orders_two_stacks, 2, bounded)

// R3: a report is made meanwhile.
struct orders_x_report : orders_world {
  void thread(unsigned index) override {
    if (index == 0) take(0, 2);
    if (index == 1) (void)whole(2);
  }
  void check() override {
    EXPECT(whole(2) == 1 && threads(2) == 1);
  }
};
MODEL(orders_x_report, 2, bounded)
