// model_queue.hpp: a thread of a program under volt-run --fair: what may end its sleep, its handlers and its end.
#ifndef VOLT_MODEL_QUEUE_HPP
#define VOLT_MODEL_QUEUE_HPP

#include <setjmp.h>

#include "model.hpp"
#include "serve/queue.h"

enum queue_event { QUEUE_NOTHING, QUEUE_CANCEL, QUEUE_SIGNAL, QUEUE_FORK };

struct queue_thread {
  int state, type; // of cancelling
  bool is_blocked; // all signals
  struct {
    void (*run)(void *);
    void *arg;
  } handlers[4];
  unsigned handler_count;
  // What comes to it once: at any moment at which it may, or never.
  queue_event event;
  void (*handler)(void *); // of the signal; NULL: it does nothing. Of a fork: the child has begun
  void *arg;
  bool was_cancelled;
  jmp_buf end;
};

// The thread that runs.
struct queue_thread *queue_here();

// Of a new model.
void queue_begin_model();

// A moment at which a thread that may be cancelled asynchronously may be.
void queue_moment();

// Run body(self) as a thread that may be cancelled. Returns false: it was.
template <typename Model>
bool queue_run(Model *self, void (Model::*body)()) {
  struct queue_thread *t = queue_here();
  if (setjmp(t->end) == 0) (self->*body)();
  return !t->was_cancelled;
}

#endif
