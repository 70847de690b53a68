// model_task.hpp: a task of a model, and what it waits for.
#ifndef VOLT_MODEL_TASK_HPP
#define VOLT_MODEL_TASK_HPP

#include "model.hpp"
#include "rt/sched/homed.h"

// A task of a model, in memory of its own.
struct model_task {
  typedef int body_fn(void *model, model_task *self, volt_ctx *ctx);
  // What is left of it.
  struct trace {
    VOLT_PLAIN(uint32_t) freed;
    VOLT_PLAIN(uint32_t) polls;
    VOLT_PLAIN(int) result;
    bool begun = false; // for models that may not come to it
    bool gone(int result_) {
      return freed == 1 && result == result_;
    }
  };

  volt_homed_ homed; // the first; its task is this one's
  volt_task &task = homed.task;
  VOLT_PLAIN(uint32_t) polls; // begun
  VOLT_PLAIN(uint32_t) ended; // polls that have ended: nothing but the task's state orders this
  body_fn *body;
  void *model;
  trace *left;

  // from_pool: as if from the pool of rt, which frees it; else the memory is the model's.
  static model_task *make(volt_rt *rt, body_fn *body, void *model, trace *left, bool from_pool);
  // The same, of a fiber: a task of which one poll goes on to the next wait of its function.
  static model_task *make_fiber(volt_rt *rt, body_fn *body, void *model, trace *left);
  static int poll(volt_task *t, volt_ctx *ctx);
  static model_task *of(volt_task *t) {
    return reinterpret_cast<model_task *>(t);
  }
  // Poison, and delete: whoever still uses it is reported.
  void free();
};

// Happens once. A task that awaits it is woken by whoever fires it, or it is dropped.
class event {
 public:
  // Returns whether it has happened; if not, its waker is registered.
  bool poll(volt_ctx *ctx);
  void fire();
  // The task waits no more. Returns false: it has happened, and the wake comes.
  bool drop(volt_ctx *ctx);

 private:
  enum : uint32_t { idle, armed, fired };
  VOLT_ATOMIC(uint32_t) state_;
  VOLT_PLAIN(volt_wake_fn) wake_;
  VOLT_PLAIN(void *) ctx_;
};

#endif
