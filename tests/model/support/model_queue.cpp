// model_queue.cpp: cancels, signals, forks and sleeps of a thread that waits in a queue of volt-run's.
#include "model_queue.hpp"

#include <errno.h>

#include "core/os/futex.h"

uint32_t served_forks;

static struct queue_thread threads[8]; // the constructor and check() are one more

struct queue_thread *queue_here() {
  return &threads[volt_model_thread()];
}

void queue_begin_model() {
  memset(threads, 0, sizeof threads); // cancels are enabled, and deferred
  served_forks = 0;
}

// Its handlers run, and it ends.
static void queue_end_thread(struct queue_thread *t) {
  t->event = QUEUE_NOTHING;
  t->was_cancelled = true;
  t->state = PTHREAD_CANCEL_DISABLE;
  while (t->handler_count > 0) {
    t->handler_count -= 1;
    t->handlers[t->handler_count].run(t->handlers[t->handler_count].arg);
  }
  longjmp(t->end, 1);
}

static bool queue_may_cancel(const struct queue_thread *t) {
  return t->event == QUEUE_CANCEL && t->state == PTHREAD_CANCEL_ENABLE &&
         t->type == PTHREAD_CANCEL_ASYNCHRONOUS;
}

void queue_moment() {
  struct queue_thread *t = queue_here();
  if (queue_may_cancel(t) && volt_model_choice()) queue_end_thread(t);
}

int queue_setcancelstate(int next, int *before) {
  struct queue_thread *t = queue_here();
  queue_moment();
  if (before) *before = t->state;
  t->state = next;
  queue_moment();
  return 0;
}

int queue_setcanceltype(int next, int *before) {
  struct queue_thread *t = queue_here();
  queue_moment();
  if (before) *before = t->type;
  t->type = next;
  queue_moment();
  return 0;
}

int queue_sigmask(int, const sigset_t *next, sigset_t *before) {
  struct queue_thread *t = queue_here();
  if (before) memset(before, t->is_blocked, sizeof *before);
  t->is_blocked = *reinterpret_cast<const unsigned char *>(next) != 0;
  return 0;
}

void queue_push(void (*run)(void *), void *arg) {
  struct queue_thread *t = queue_here();
  t->handlers[t->handler_count].run = run;
  t->handlers[t->handler_count++].arg = arg;
}

void queue_pop() {
  queue_here()->handler_count -= 1;
}

static bool queue_may_signal(const struct queue_thread *t) {
  return t->event == QUEUE_SIGNAL && !t->is_blocked;
}

static long queue_fail(int error) {
  errno = error;
  return -1;
}

// A signal ends its sleep. If its handler forks, the thread goes on in the child.
static long queue_interrupt(struct queue_thread *t) {
  t->event = QUEUE_NOTHING;
  if (t->handler) t->handler(t->arg);
  return queue_fail(EINTR);
}

long queue_futex(long, VOLT_ATOMIC(uint32_t) *word, int operation, uint32_t value,
                 const struct timespec *until, void *, unsigned) {
  struct queue_thread *t = queue_here();
  if ((operation & 127) == 1) {
    volt_futex_wake32_(word, 1);
    return 0;
  }
  queue_moment();
  if (t->event == QUEUE_FORK && !t->is_blocked) return queue_interrupt(t);
  bool may_end = queue_may_cancel(t) || queue_may_signal(t) || until;
  int result = volt_futex_wait32_(word, value, may_end ? 1 : VOLT_NO_DEADLINE);
  queue_moment();
  if (result != VOLT_ETIMEDOUT) return 0;
  bool is_only = !until && !queue_may_signal(t);
  if (queue_may_cancel(t) && (is_only || volt_model_choice())) queue_end_thread(t);
  if (!queue_may_signal(t)) return queue_fail(ETIMEDOUT);
  return queue_interrupt(t);
}
