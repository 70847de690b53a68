/* io_home_stress.c: one token goes round among fibers of all workers, so at each moment all workers but
 * one have nothing to do, and sleep, on their parkers or in the back end. A wake that is lost ends the
 * round for ever. On each worker one fiber waits for a byte that comes in the end, so that the worker
 * has something to sleep for there.
 * BACK ENDS: none, epoll, uring */
#define _GNU_SOURCE

#include <volt/fiber.h>

#include "io_load.h"

enum { MOST_WORKERS = 4, RUNNERS = 11, ROUND_MS = 100 };

typedef struct runner {
  volt_sem token;
  struct runner *next;
  unsigned index;
} runner;

typedef struct sitter {
  unsigned index;
  int end; /* of the test */
  volt_fd d;
} sitter;

static struct {
  volt_rt *rt;
  unsigned workers;
  bool has_io;
  runner runners[RUNNERS];
  sitter sitters[MOST_WORKERS];
  VOLT_ATOMIC(uint32_t) left;
  volt_parker all_left;
} ring;
static VOLT_ATOMIC(uint64_t) passed; /* in all rounds */

static void leave(void) {
  if (volt_fetch_add_acq_rel(&ring.left, UINT32_MAX) == 1) volt_unpark(&ring.all_left);
}

/* ---- fibers ---- */

static int run(void *arg) {
  runner *self = (runner *)arg;
  bool more = true;
  STRESS_CHECK(volt_fiber_rehome(self->index % ring.workers) == VOLT_OK);
  while (more) {
    STRESS_CHECK(volt_sem_acquire(&self->token, 1) == VOLT_OK);
    more = !stress_stopping();
    volt_fetch_add_relaxed(&passed, 1); /* a count */
    volt_sem_release(&self->next->token, 1);
  }
  leave();
  return VOLT_OK;
}

static int sit(void *arg) {
  sitter *self = (sitter *)arg;
  char byte;
  volt_op op;
  STRESS_CHECK(volt_fiber_rehome(self->index) == VOLT_OK);
  STRESS_CHECK(volt_future_wait(volt_fd_recv_future(&op, &self->d, &byte, 1, 0)) == VOLT_OK);
  STRESS_CHECK(op.n == 1);
  volt_fd_close(&self->d);
  leave();
  return VOLT_OK;
}

/* ---- rounds ---- */

static void begin_sitter(unsigned i) {
  sitter *s = &ring.sitters[i];
  int ends[2];
  io_load_pair(ends);
  s->index = i;
  s->end = ends[0];
  STRESS_CHECK(volt_fd_init(&s->d, ring.rt, ends[1], 0) == VOLT_OK);
  STRESS_CHECK(volt_fiber_spawn(ring.rt, sit, s) == VOLT_OK);
}

static void end_sitter(unsigned i) {
  STRESS_CHECK(write(ring.sitters[i].end, "x", 1) == 1);
  close(ring.sitters[i].end);
}

/* The thread that watches: as long as the token goes round, all is well. */
static void watch(stress_worker *w, void *arg) {
  (void)arg;
  for (unsigned i = 0; i < RUNNERS; i++) {
    STRESS_CHECK(volt_fiber_spawn(ring.rt, run, &ring.runners[i]) == VOLT_OK);
  }
  volt_sem_release(&ring.runners[0].token, 1);
  uint64_t seen = 0;
  while (!stress_stopping()) {
    uint64_t now = volt_load_relaxed(&passed);
    if (now != seen) stress_progress(w, "the token goes round");
    seen = now;
    w->acquired += 1;
    stress_dawdle(w);
  }
  for (unsigned i = 0; ring.has_io && i < ring.workers; i++) end_sitter(i);
  stress_progress(w, "waiting for all to leave");
  volt_park_until(&ring.all_left, 1, VOLT_NO_DEADLINE);
}

static void ring_round(unsigned workers, const volt_io_kind *io, uint64_t seed) {
  memset((void *)&ring, 0, sizeof ring);
  volt_rt_config config = {.workers = workers, .seed = seed, .io = io};
  int result = volt_rt_create(&ring.rt, &config);
  if (result != VOLT_OK && io) exit(IO_LOAD_SKIPPED);
  STRESS_CHECK(result == VOLT_OK);
  ring.workers = workers;
  ring.has_io = io != NULL;
  volt_store_relaxed(&ring.left, RUNNERS + (io ? workers : 0)); /* published by the spawns */
  for (unsigned i = 0; i < RUNNERS; i++) {
    ring.runners[i].index = i;
    ring.runners[i].next = &ring.runners[(i + 1) % RUNNERS];
    volt_sem_init(&ring.runners[i].token, 0);
  }
  for (unsigned i = 0; io && i < workers; i++) begin_sitter(i);
  stress_round(1, ROUND_MS * UINT64_C(1000000), watch, NULL);
  STRESS_CHECK(volt_rt_shutdown(ring.rt, VOLT_NO_DEADLINE) == VOLT_OK);
  volt_rt_destroy(ring.rt);
}

int main(void) {
  const char *name = getenv("VOLT_TEST_IO");
  const volt_io_kind *io = !name || strcmp(name, "none") == 0 ? NULL
                           : strcmp(name, "uring") == 0       ? volt_io_uring()
                                                              : volt_io_epoll();
  static const unsigned workers[] = {2, 4, 1, 3};
  stress_begin("home", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) ring_round(workers[turn % 4], io, turn + 1);
  printf("  the token was passed on %llu times\n", (unsigned long long)volt_load_relaxed(&passed));
  return stress_end();
}
