/* bridge_stress.c: loops that come and go, each with a bridge in memory of its own: single futures with
 * callbacks, and a task, wait for permits, some with a deadline, some are given up; then the bridge is
 * closed, at any moment, and all of it is freed as soon as closed() is called. The permits are
 * released by all threads, so wakes are on their way to loops that end.
 * LOOPS: uv, glib, event, ev, epoll */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>
#include "any_loop.h"
#include "harness.h"

enum { PERMITS = 3, WAITS = 4, BRIDGES = 8 };

static volt_sem permits;
static VOLT_ATOMIC(uint32_t) held;

typedef struct place place;

/* A future with a callback. Its memory is freed by that. */
typedef struct a_wait {
  volt_bridge_call call;
  volt_future permit;
  volt_timeout timeout;
  place *p;
  unsigned index;
} a_wait;

/* A bridge, and what is in it. */
struct place {
  volt_bridge *b;
  stress_worker *w;
  a_wait *waits[WAITS]; /* NULL: its callback was called */
  unsigned called;
  bool is_closed;
};

typedef struct taker {
  volt_task task;
  volt_future permit;
  stress_worker *w;
  unsigned left;
} taker;

static void got_one(stress_worker *w) {
  STRESS_CHECK(volt_fetch_add_acq_rel(&held, 1) < PERMITS);
  w->acquired += 1;
  stress_count_entry();
  stress_dawdle(w);
  (void)volt_fetch_add_acq_rel(&held, UINT32_MAX);
  volt_sem_release(&permits, 1);
}

static int taker_poll(volt_task *t, volt_ctx *ctx) {
  taker *self = volt_container_of(t, taker, task);
  VOLT_TASK_BEGIN(self);
  for (; self->left > 0; self->left--) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &permits, 1));
    got_one(self->w);
  }
  VOLT_TASK_END(self);
}

static void spawn_taker(place *p) {
  taker *t = VOLT_TASK_NEW(volt_bridge_rt(p->b), taker, taker_poll);
  STRESS_CHECK(t != NULL);
  t->w = p->w;
  t->left = stress_below(p->w, 50);
  STRESS_CHECK(volt_spawn(volt_bridge_rt(p->b), &t->task) == VOLT_OK);
  volt_task_detach(&t->task);
}

static void begin_wait(place *p, unsigned index);

static void on_permit(int result, void *arg) {
  a_wait *one = (a_wait *)arg;
  place *p = one->p;
  unsigned index = one->index;
  STRESS_CHECK(p->waits[index] == one && !p->is_closed);
  p->waits[index] = NULL;
  p->called += 1;
  memset((void *)one, 0xee, sizeof *one);
  free(one);
  if (result == VOLT_OK) {
    got_one(p->w);
    if (stress_below(p->w, 2)) begin_wait(p, index);
  } else {
    STRESS_CHECK(result == VOLT_ECANCELED || result == VOLT_ETIMEDOUT || result == VOLT_ECLOSED);
    p->w->gave_up += 1;
  }
}

static void begin_wait(place *p, unsigned index) {
  a_wait *one = (a_wait *)malloc(sizeof *one);
  STRESS_CHECK(one != NULL);
  one->p = p;
  one->index = index;
  p->waits[index] = one;
  volt_future *f = volt_sem_acquire_future(&one->permit, &permits, 1);
  if (stress_below(p->w, 3) == 0) {
    uint64_t deadline_ns = volt_deadline_ns(stress_below(p->w, 200000));
    f = volt_timeout_future(&one->timeout, f, volt_rt_timers(volt_bridge_rt(p->b)), deadline_ns);
  }
  volt_bridge_then(p->b, &one->call, f, on_permit, one);
}

/* The memory is gone at once. */
static void on_closed(void *arg) {
  place *p = (place *)arg;
  for (unsigned i = 0; i < WAITS; i++) STRESS_CHECK(!p->waits[i]);
  memset((void *)p->b, 0xee, sizeof(any_loop_bridge));
  free(p->b);
  p->is_closed = true;
}

static void run_bridge(stress_worker *w, any_loop *l) {
  place p = {.w = w};
  STRESS_CHECK(any_loop_open(l, &p.b, NULL) == VOLT_OK);
  if (stress_below(w, 2)) spawn_taker(&p);
  for (unsigned i = 0; i < WAITS; i++) begin_wait(&p, i);
  unsigned wanted = stress_below(w, 2 * WAITS);
  for (unsigned turns = 0; p.called < wanted && turns < 50 && !stress_stopping(); turns++) {
    any_loop_look(l);
    unsigned i = stress_below(w, 4 * WAITS);
    if (i < WAITS && p.waits[i]) volt_bridge_cancel(&p.waits[i]->call);
    stress_dawdle(w);
  }
  volt_bridge_close(p.b, on_closed, &p);
  while (!p.is_closed) any_loop_wait(l);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    any_loop *l = any_loop_make();
    for (unsigned i = 0; i < BRIDGES && !stress_stopping(); i++) {
      stress_progress(w, "a bridge");
      run_bridge(w, l);
    }
    any_loop_free(l);
  }
}

int main(void) {
  stress_begin("bridge", "a permit", NULL);
  volt_sem_init(&permits, PERMITS);
  while (stress_time_left()) {
    stress_round(stress_threads(), 100000000, body, NULL);
    STRESS_CHECK(volt_sem_available(&permits) == PERMITS);
  }
  volt_sem_destroy(&permits);
  return stress_end();
}
