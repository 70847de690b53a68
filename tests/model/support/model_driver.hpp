// model_driver.hpp: a driver whose operations complete at any moment, when another thread of the model
// says so; each worker's doorbell is a count that remembers, as an eventfd is. Both are one futex word
// for each worker, changed by relaxed operations only: what a worker must see of the thread that has
// woken it comes with the unpark.
#ifndef VOLT_MODEL_DRIVER_HPP
#define VOLT_MODEL_DRIVER_HPP

#include "model_rt.hpp"
#include "rt/host/runtime.h"

class model_driver {
 public:
  // Which workers sleep in it. never, always: each has operations of its own; keeper: they are of all
  // workers, and the keeper alone sleeps there.
  enum class sleeps { never, keeper, always };
  typedef void completed_fn(void *ctx);

  // The driver of rt. completed(ctx) is called in check() or sleep(), once for each complete().
  model_driver(model_rt &rt, sleeps how, completed_fn *completed, void *ctx);
  // Call another function, from the constructor of the model.
  void on_completion(completed_fn *fn) {
    completed = fn;
  }
  // By hand: as volt_rt_create() does.
  void begin_by_hand() {
    shares[0].life = 1;
  }
  // It wants no keeper until then. From the constructor of the model.
  void wants_no_keeper() {
    is_wanted_at_first = false;
  }
  // From now on it wants one: any thread.
  void want_keeper();
  // An operation of that worker's share, or of all, completes: any thread.
  void complete(unsigned worker);
  // Mail for that worker: any thread, once for each. It is completed as an operation is.
  void mail(unsigned worker);
  // So many workers have begun and ended, and the driver is gone with the runtime.
  void expect_gone(unsigned workers);

 private:
  struct share {
    VOLT_ATOMIC(uint32_t) word; // counts rings and completions
    VOLT_ATOMIC(uint32_t) done; // to be taken
    VOLT_ATOMIC(uint32_t) mails;
    VOLT_PLAIN(uint32_t) seen; // the worker's own
    VOLT_PLAIN(uint32_t) life; // 0; 1: begun; 2: ended
    volt_doorbell bell;
  } shares[3]; // of as many workers as a model has at most
  struct base {
    volt_driver_ driver; // first
    model_driver *self;
  } base;
  volt_driver_ops_ ops;
  model_rt &rt;
  sleeps how;
  completed_fn *completed;
  void *ctx;
  VOLT_PLAIN(uint32_t) destroyed;
  bool is_wanted_at_first = true;
  VOLT_ATOMIC(uint32_t) is_wanted;

  static model_driver *of(volt_driver_ *driver);
  unsigned share_of(unsigned worker) {
    return how == sleeps::keeper ? 0 : worker;
  }
  uint32_t take(VOLT_ATOMIC(uint32_t) *from);
  static void begin(volt_driver_ *, unsigned);
  static unsigned check(volt_driver_ *, unsigned);
  static bool must_sleep(volt_driver_ *, unsigned, bool);
  static bool wants_keeper(volt_driver_ *);
  static bool has_mail(volt_driver_ *, unsigned);
  static unsigned sleep(volt_driver_ *, unsigned, uint64_t);
  static void end(volt_driver_ *, unsigned);
  static void destroy(volt_driver_ *);
};

// A doorbell that counts in that word: the i-th of the model.
void model_doorbell(volt_doorbell *bell, int i, VOLT_ATOMIC(uint32_t) *word);

#endif
