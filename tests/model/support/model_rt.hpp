// model_rt.hpp: a runtime of the shipped sources, whose workers are threads of the model.
#ifndef VOLT_MODEL_RT_HPP
#define VOLT_MODEL_RT_HPP

#include "core/os/futex.h"
#include "model_task.hpp"
#include "rt/host/runtime.h"
#include "rt/sched/parking.h"

// The model that has it runs work(i) on the thread that is worker i. Any other thread may end it.
class model_rt {
 public:
  // flags: of volt_rt_flags.
  explicit model_rt(unsigned workers, unsigned blocking_max = 1, unsigned flags = 0);
  ~model_rt();
  volt_rt *operator->() {
    return &m->rt;
  }
  volt_rt *handle() {
    return &m->rt;
  }
  // Until the runtime ends.
  void work(unsigned worker);
  // From the constructor of the model: workers watch (parking.c), as in a runtime whose time passes. So often
  // one that comes back sees that others have polled meanwhile, also if they have not.
  void workers_watch(unsigned times_polled = 0);
  // As volt_rt_destroy(): whoever still uses it is reported.
  uint64_t destroy() {
    uint64_t cancelled = volt_rt_destroy(&m->rt);
    m = nullptr;
    return cancelled;
  }
  // At quiescence, if it has ended by itself.
  void is_gone() {
    m = nullptr;
  }
  // At quiescence, if nobody has destroyed it: no worker was ever started.
  void abandon();

 private:
  friend struct model_rt_threads;
  static const unsigned max = 3;
  // As volt_rt_create() lays it out.
  struct memory {
    volt_rt rt;
    volt_worker more[max - 1];
    volt_registry registry[max + 1];
  } * m;
  static void free(void *memory, size_t bytes, void *ctx);
};

// ---- threads for calls that block ----

// How many can be started, 2 at most; the model runs each with model_serve(), on a thread of its own.
void model_threads_to_start(unsigned count);

// Be the i-th thread that is started; or return at once if none will be: after
// model_no_more_threads(), which is called once.
void model_serve(unsigned i);
void model_no_more_threads();

// By who has joined them all: a thread that has not ended is reported.
void model_no_threads_run();

#endif
