// model.hpp: how a model is written, and what it may use.
//
// A model is a struct with the shared state as members, a thread(index) that each of its threads
// runs, and a check() that runs when all have ended:
//
//   struct acquire_x_release : model {
//     volt_sem sem; ...
//     void thread(unsigned index) override { ... }
//     void check() override { EXPECT(volt_sem_available(&sem) == 0); }
//   };
//   MODEL(acquire_x_release, 2, full)
//
// Every interleaving of the threads is run, each with a new object. Nothing may depend on anything
// but its members. EXPECT() is checked in every interleaving; so are the library's own VOLT_CHECK
// and VOLT_ASSERT, every unordered access to a VOLT_PLAIN, and deadlock.
#ifndef VOLT_MODEL_HPP
#define VOLT_MODEL_HPP

#include <volt/volt.h>

#include "core/os/check.h"
#include "core/park/spin.h"
#include "core/wait/permits.h"
#include "ignore.h"

struct model {
  virtual ~model() {
  }
  virtual void thread(unsigned index) = 0;
  virtual void check() {
  }
};

enum class search {
  full,    // every interleaving and every value a load may see
  bounded, // every schedule with at most three preemptions (or as the program is told)
};

struct model_case {
  const char *name;
  unsigned threads;
  search how;
  size_t size;
  model *(*make)(void *memory);
  bool must_fail; // a published form: the checker has to reject it
  model_case *next;
  model_case(const char *name_, unsigned threads_, search how_, size_t size_,
             model *(*make_)(void *), bool must_fail_);
};

enum { MODEL_BYTES = 16384 }; // the largest

#define MODEL_CASE_(type, threads, how, must_fail)      \
  static_assert(sizeof(struct type) <= MODEL_BYTES);    \
  static model_case case_##type(                        \
      #type, threads, search::how, sizeof(struct type), \
      [](void *memory) -> model * { return ::new (memory) struct type(); }, must_fail);
#define MODEL(type, threads, how) MODEL_CASE_(type, threads, how, false)
#define MUST_FAIL(type, threads, how) MODEL_CASE_(type, threads, how, true)

#define EXPECT(condition) \
  ((condition) ? (void)0 : volt_panic_(__func__, "line %d: not so: %s", __LINE__, #condition))

// A waker that counts. Its owner may outlive the waiter; the count says "exactly once".
struct wake_count {
  VOLT_ATOMIC(uint32_t) wakes;
  volt_waker waker() {
    return volt_waker{count_one, this};
  }
  // At quiescence.
  uint32_t seen() {
    return volt_load_relaxed(&wakes);
  }

 private:
  static void count_one(void *ctx) {
    volt_fetch_add_relaxed(&static_cast<wake_count *>(ctx)->wakes, 1);
  }
};

// Write every plain field of memory that is ours again: whoever still reads it is reported.
inline void poison(volt_waiter *w) {
  w->next = nullptr;
  w->prev = nullptr;
  w->wake = nullptr;
  w->ctx = nullptr;
  w->want = 0xdead;
  w->need = 0;
  w->place = 0;
  w->use = 0;
}

inline void poison(volt_fifo_ *q) {
  q->head = nullptr;
  q->tail = nullptr;
  q->waiters = 0;
  q->rest = 0;
}

// Whether the waiter has been granted: at quiescence, or by its owner.
inline bool granted(volt_waiter *w) {
  return volt_waiter_result(w) == VOLT_OK;
}

#endif
