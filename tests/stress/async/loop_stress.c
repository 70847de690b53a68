/* loop_stress.c: event loops that come and go: each waits for some permits by a volt_loop in memory
 * of its own, is told by an eventfd, gives some of them up, and frees both as soon as it may. The
 * permits are released by all threads, so wakes are on their way when the futures are ready. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "harness.h"

enum { PERMITS = 3, WAITS = 4, ALIVE = 0x600d };

static volt_sem permits;
static VOLT_ATOMIC(uint32_t) held;

/* What tell() touches. */
typedef struct event_loop {
  uint32_t alive;
  int fd;
  volt_loop loop;
  VOLT_ATOMIC(uint32_t) settled;
} event_loop;

static void tell(void *arg) {
  event_loop *e = (event_loop *)arg;
  uint64_t one = 1;
  STRESS_CHECK(e->alive == ALIVE);
  STRESS_CHECK(write(e->fd, &one, sizeof one) == sizeof one);
  STRESS_CHECK(e->alive == ALIVE);
}

static event_loop *open_loop(void) {
  event_loop *e = (event_loop *)malloc(sizeof *e);
  STRESS_CHECK(e != NULL);
  e->alive = ALIVE;
  e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  STRESS_CHECK(e->fd >= 0);
  volt_waker waker = {tell, e};
  volt_loop_init(&e->loop, waker);
  volt_store_relaxed(&e->settled, 0); /* not shared yet */
  return e;
}

static void free_loop(void *arg) {
  event_loop *e = (event_loop *)arg;
  close(e->fd);
  memset((void *)e, 0xee, sizeof *e);
  free(e);
}

/* As where only the loop's own thread may free it: it is marked, and told. */
static void mark_settled(void *arg) {
  event_loop *e = (event_loop *)arg;
  volt_store_release(&e->settled, 1); /* E1: pairs E2; the last of *e: the loop looks for it */
}

static void close_loop(stress_worker *w, event_loop *e) {
  volt_waker frees = {free_loop, e}, marks = {mark_settled, e};
  switch (stress_below(w, 4)) {
    case 0:
      if (volt_loop_close_then(&e->loop, frees) == VOLT_OK) free_loop(e);
      return;
    case 1:
      if (volt_loop_close_then(&e->loop, marks) == VOLT_PENDING) {
        while (!volt_load_acquire(&e->settled)) stress_dawdle(w); /* E2: pairs E1 */
      }
      break;
    case 2:
      while (!volt_loop_is_settled(&e->loop)) stress_dawdle(w);
      break;
    default:
      while (volt_loop_close_until(&e->loop, volt_deadline_ns(stress_below(w, 2000)))) {
        stress_dawdle(w);
      }
  }
  free_loop(e);
}

static void got_one(stress_worker *w) {
  STRESS_CHECK(volt_fetch_add_acq_rel(&held, 1) < PERMITS);
  w->acquired += 1;
  stress_count_entry();
  stress_dawdle(w);
  (void)volt_fetch_add_acq_rel(&held, UINT32_MAX);
  volt_sem_release(&permits, 1);
}

/* One turn of the loop: it was told, or looks without. Returns how many still wait. */
static unsigned turn(stress_worker *w, event_loop *e, volt_future *f, bool *waits) {
  struct pollfd fd = {e->fd, POLLIN, 0};
  uint64_t wakes;
  (void)poll(&fd, 1, -1);
  STRESS_CHECK(read(e->fd, &wakes, sizeof wakes) == sizeof wakes);
  unsigned waiting = 0;
  for (unsigned i = 0; i < WAITS; i++) {
    if (!waits[i]) continue;
    if (volt_loop_poll(&e->loop, &f[i]) == VOLT_PENDING) {
      waiting += 1;
      continue;
    }
    waits[i] = false;
    memset((void *)&f[i], 0xee, sizeof f[i]);
    got_one(w);
  }
  return waiting;
}

static void run_loop(stress_worker *w) {
  event_loop *e = open_loop();
  volt_future f[WAITS];
  bool waits[WAITS];
  unsigned waiting = 0, turns = stress_below(w, WAITS + 1);
  for (unsigned i = 0; i < WAITS; i++) {
    volt_future_made(volt_sem_acquire_future(&f[i], &permits, 1));
    waits[i] = volt_loop_poll(&e->loop, &f[i]) == VOLT_PENDING;
    if (waits[i]) waiting += 1;
    if (!waits[i]) got_one(w);
  }
  for (; waiting > 0 && turns > 0 && !stress_stopping(); turns--) waiting = turn(w, e, f, waits);
  for (unsigned i = 0; i < WAITS; i++) {
    if (!waits[i]) continue;
    w->gave_up += 1;
    volt_future_cancel(&f[i]);
  }
  memset((void *)f, 0xee, sizeof f);
  close_loop(w, e);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    stress_progress(w, "an event loop");
    run_loop(w);
  }
}

int main(void) {
  stress_begin("loop", "a permit", NULL);
  volt_sem_init(&permits, PERMITS);
  while (stress_time_left()) {
    stress_round(stress_threads(), 100000000, body, NULL);
    STRESS_CHECK(volt_sem_available(&permits) == PERMITS);
  }
  volt_sem_destroy(&permits);
  return stress_end();
}
