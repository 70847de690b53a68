/* io_watcher_test.c: one worker is in a poll that does not end, the other one sleeps or watches: connections,
 * timers and tasks do not wait behind that poll, which ends only when they have come on. And a runtime that is
 * idle makes no wakes.
 * BACK ENDS: epoll */
#define _GNU_SOURCE

#include <volt/select.h>
#include <volt/time.h>

#include "io_kit.h"

enum { ROUNDS = 20, ANSWERS = 20 };

static int watcher_set_up(void **state) {
  io_kit *k = (io_kit *)malloc(sizeof *k);
  kit_begin(k, 2);
  *state = k;
  return 0;
}

#define watcher_test(name) cmocka_unit_test_setup_teardown(name, watcher_set_up, kit_tear_down)

/* What a task does that keeps its worker until so much has happened. Before that it polls so often, and so
 * shortly, that its worker leaves a few tasks to the watcher. */
typedef struct hog {
  volt_task task;
  volt_rt *rt;
  unsigned i;
  VOLT_ATOMIC(uint32_t) computes, happened;
  uint32_t most;
  void (*begins)(struct hog *h); /* NULL: nothing */
  void *ctx;
} hog;

static int hog_poll(volt_task *t, volt_ctx *ctx) {
  hog *self = volt_container_of(t, hog, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < 300; self->i++) VOLT_YIELD(self);
  if (self->begins) self->begins(self);
  volt_store_release(&self->computes, 1);
  WAIT_UNTIL(volt_load_acquire(&self->happened) >= self->most);
  VOLT_TASK_END(self);
}

static void hog_happens(hog *h) {
  volt_fetch_add_release(&h->happened, 1);
}

static void hog_begin(hog *h, volt_rt *rt, uint32_t most) {
  memset((void *)h, 0, sizeof *h);
  h->rt = rt;
  h->most = most;
  volt_task_init(&h->task, hog_poll);
}

static void hog_start(hog *h) {
  assert_result(volt_spawn(h->rt, &h->task), VOLT_OK);
}

static void hog_end(hog *h) {
  assert_result(volt_task_join(&h->task), VOLT_OK);
}

/* ---- connections ---- */

typedef struct answerer {
  volt_task task;
  hog *h;
  volt_fd *fd;
  volt_op op;
  char text[8];
  size_t size;
  unsigned i;
} answerer;

static int answer(volt_task *t, volt_ctx *ctx) {
  answerer *self = volt_container_of(t, answerer, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < ANSWERS; self->i++) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, self->fd, self->text, sizeof self->text, 0));
    self->size = self->op.n;
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, self->fd, self->text, self->size, 0));
    hog_happens(self->h);
  }
  VOLT_TASK_END(self);
}

static void a_connection_does_not_wait_behind_a_long_poll(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int round = 0; round < ROUNDS; round++) {
    kit_link l;
    hog h;
    answerer a = {.h = &h, .fd = &l.near};
    kit_link_in(k, &l, UNIX_STREAM);
    hog_begin(&h, k->rt, ANSWERS);
    volt_task_init(&a.task, answer);
    assert_result(volt_spawn(k->rt, &a.task), VOLT_OK);
    if (round % 2 != 0) { /* its worker has looked at the driver just before */
      kit_far_send(&l, "ping");
      kit_far_expect(&l, "ping");
    }
    hog_start(&h);
    WAIT_UNTIL(volt_load_acquire(&h.computes));
    for (int i = round % 2; i < ANSWERS; i++) {
      kit_far_send(&l, "ping");
      kit_far_expect(&l, "ping");
    }
    hog_end(&h);
    assert_result(volt_task_join(&a.task), VOLT_OK);
    kit_unlink(&l);
  }
}

/* ---- timers ---- */

typedef struct ticker {
  volt_task task;
  hog *h;
  volt_sleep_op sleep;
  unsigned i;
} ticker;

static int tick(volt_task *t, volt_ctx *ctx) {
  ticker *self = volt_container_of(t, ticker, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < ANSWERS; self->i++) {
    VOLT_AWAIT(self, volt_sleep_future(&self->sleep, volt_rt_timers(self->h->rt),
                                       volt_rt_now_ns(self->h->rt) + 20000));
    hog_happens(self->h);
  }
  VOLT_TASK_END(self);
}

static void start_ticker(hog *h) {
  ticker *ticks = (ticker *)h->ctx;
  volt_task_init(&ticks->task, tick);
  assert_result(volt_spawn(h->rt, &ticks->task), VOLT_OK);
}

/* The timer is started by the other worker; or, before the long poll, by this one. */
static void a_timer_does_not_wait_behind_a_long_poll(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int round = 0; round < ROUNDS; round++) {
    hog h;
    ticker ticks = {.h = &h};
    hog_begin(&h, k->rt, ANSWERS);
    h.ctx = &ticks;
    start_ticker(&h);
    hog_start(&h);
    hog_end(&h);
    assert_result(volt_task_join(&ticks.task), VOLT_OK);
  }
}

/* ---- tasks ---- */

enum { LITTLE = 2 };

typedef struct little {
  volt_task task;
  hog *h;
} little;

static int happen(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  hog_happens(volt_container_of(t, little, task)->h);
  return VOLT_OK;
}

static void spawn_little(hog *h) {
  little *some = (little *)h->ctx;
  for (int i = 0; i < LITTLE; i++) {
    some[i].h = h;
    volt_task_init(&some[i].task, happen);
    assert_result(volt_spawn(h->rt, &some[i].task), VOLT_OK);
  }
}

/* The last stays in the slot, from which no worker steals. */
static void a_task_does_not_wait_behind_a_long_poll(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int round = 0; round < ROUNDS; round++) {
    hog h;
    little some[LITTLE];
    hog_begin(&h, k->rt, LITTLE - 1);
    h.begins = spawn_little;
    h.ctx = some;
    hog_start(&h);
    hog_end(&h);
    for (int i = 0; i < LITTLE; i++) assert_result(volt_task_join(&some[i].task), VOLT_OK);
  }
}

/* ---- nothing ---- */

static uint64_t parks(volt_rt *rt) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 2; i++) {
    volt_worker_stats s;
    volt_rt_worker_stats(rt, i, &s);
    sum += s.parks;
  }
  return sum;
}

/* It has come to rest at some time, whatever else the machine does. */
static void an_idle_runtime_makes_no_wakes(void **state) {
  io_kit *k = (io_kit *)*state;
  uint64_t before, now = parks(k->rt);
  do {
    before = now;
    (void)poll(NULL, 0, 20);
    now = parks(k->rt);
  } while (now != before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      watcher_test(a_connection_does_not_wait_behind_a_long_poll),
      watcher_test(a_timer_does_not_wait_behind_a_long_poll),
      watcher_test(a_task_does_not_wait_behind_a_long_poll),
      watcher_test(an_idle_runtime_makes_no_wakes),
  };
  return kit_main(tests);
}
