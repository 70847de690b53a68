/* fifo.c: first come, first served.
 *
 * One thread queues waiters, each with a ticket; another gives back what they were granted, in the
 * order of the tickets. It alone releases, so every wake comes on its thread: the tickets it sees
 * woken must only ever rise, and the oldest waiter must be granted as soon as everything older has
 * been given back. (If somebody else may be the one who grants, the order of the wakes says
 * nothing, and the oldest is granted in the end, or the round never ends: nothing is given back
 * before it.) Where a cancel cannot grant anything to others (all ask for 1), the first
 * thread also cancels some. */
#define _GNU_SOURCE /* sched_yield, pthread_self */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "subject.h"

#define ROUND_NS UINT64_C(40000000)

enum { PLACES = 64, QUEUER = 0, RELEASER = 1 };
enum { EMPTY, TAKEN, CANCELLED, END };

struct place {
  struct line *line;
  VOLT_ATOMIC(uint32_t) state; /* EMPTY: the queuer's; else the releaser's */
  volt_waiter waiter;
  uint64_t ticket;
  uint32_t n;
  bool queued;
};

struct line {
  const stress_subject *subject;
  void *object;
  uint32_t total;
  bool cancels;
  pthread_t releaser;
  uint64_t last_ticket; /* woken; written by the releaser */
  struct place places[PLACES];
};

static void wake_in_order(void *ctx) {
  struct place *p = (struct place *)ctx;
  STRESS_CHECK(pthread_equal(pthread_self(), p->line->releaser));
  STRESS_CHECK(p->ticket > p->line->last_ticket);
  p->line->last_ticket = p->ticket;
}

/* Queue p; returns the state to hand it over in. */
static uint32_t queue_one(stress_worker *w, struct line *line, struct place *p) {
  const stress_subject *s = line->subject;
  volt_waker waker = {s->wakes_elsewhere ? NULL : wake_in_order, p};
  memset((void *)&p->waiter, 0, sizeof p->waiter);
  p->n = line->cancels ? 1 : stress_pick(w, s, line->total);
  int result = s->acquire(line->object, &p->waiter, p->n, waker);
  p->queued = result == VOLT_PENDING;
  STRESS_CHECK(result == VOLT_OK || result == VOLT_PENDING);
  if (!p->queued || !line->cancels || stress_below(w, 4) != 0) return TAKEN;
  stress_dawdle(w);
  return s->cancel(line->object, &p->waiter) ? CANCELLED : TAKEN;
}

static void queuer(stress_worker *w, struct line *line) {
  uint64_t ticket = 0;
  for (bool more = true; more;) {
    more = !stress_stopping();
    ticket += 1;
    struct place *p = &line->places[ticket % PLACES];
    while (volt_load_acquire(&p->state) != EMPTY) sched_yield();
    p->ticket = ticket;
    uint32_t state = more ? queue_one(w, line, p) : END;
    volt_store_release(&p->state, state);
    stress_progress(w, "queueing");
  }
}

static void releaser(stress_worker *w, struct line *line) {
  for (uint64_t ticket = 1;; ticket++) {
    struct place *p = &line->places[ticket % PLACES];
    uint32_t state;
    while ((state = volt_load_acquire(&p->state)) == EMPTY) sched_yield();
    if (state == END) return;
    if (state == TAKEN) {
      while (line->subject->wakes_elsewhere && p->queued &&
             volt_waiter_result(&p->waiter) == VOLT_PENDING) {
        sched_yield();
      }
      STRESS_CHECK(!p->queued || volt_waiter_result(&p->waiter) == VOLT_OK);
      memset((void *)&p->waiter, 0xa5, sizeof p->waiter);
      stress_dawdle(w);
      stress_give(w, line->subject, line->object, p->n);
    }
    volt_store_release(&p->state, EMPTY);
    stress_progress(w, "releasing in order");
  }
}

static void fifo_body(stress_worker *w, void *arg) {
  struct line *line = (struct line *)arg;
  if (w->index == QUEUER) {
    queuer(w, line);
  } else {
    line->releaser = pthread_self(); /* read by wakers, which run on this thread */
    releaser(w, line);
  }
}

void stress_fifo_round(const stress_subject *s, uint32_t total) {
  static struct line line;
  static uint64_t storage[64];
  memset((void *)&line, 0, sizeof line);
  line.subject = s;
  line.total = total;
  line.cancels = total == 1;
  line.object = storage;
  STRESS_CHECK(s->bytes <= sizeof storage);
  for (unsigned i = 0; i < PLACES; i++) line.places[i].line = &line;
  s->init(line.object, total);
  stress_round(2, ROUND_NS, fifo_body, &line);
  STRESS_CHECK(s->waiters(line.object) == 0);
  STRESS_CHECK(s->available(line.object) == total);
  s->destroy(line.object);
}
