/* rt_slot_test.c: which worker takes what a task has woken. While polls are short that is the worker
 * that has woken it: it has the task in its slot. While they are long, any other may. */
#include <volt/runtime.h>
#include <volt/volt.h>

#include "require.h"
#include "unit.h"

enum { WORKERS = 2, LONG_NS = 20000, LONG_POLLS = 500, TRIES = 20, HOPS = 1000, ROUNDS = 400 };

static void compute(uint64_t ns) {
  uint64_t until_ns = volt_now_ns() + ns;
  while (volt_now_ns() < until_ns) continue;
}

typedef struct pair {
  volt_sem permit[2];
  VOLT_ATOMIC(uint32_t) has_run; /* how often the other has */
  VOLT_ATOMIC(uint32_t) is_over;
  uint32_t seen;
} pair;

typedef struct member {
  volt_task task;
  volt_future future;
  pair *p;
  unsigned side, i, try;
} member;

static volt_rt *create(void) {
  volt_rt *rt;
  volt_rt_config config = {.workers = WORKERS};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  return rt;
}

static member *spawn(volt_rt *rt, volt_task_fn *poll, pair *p, unsigned side) {
  member *m = VOLT_TASK_NEW(rt, member, poll);
  assert_non_null(m);
  m->p = p;
  m->side = side;
  assert_result(volt_spawn(rt, &m->task), VOLT_OK);
  return m;
}

static void join(member *m) {
  assert_result(volt_task_join(&m->task), VOLT_OK);
  volt_task_detach(&m->task);
}

/* ---- long polls ---- */

static int woken_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  VOLT_TASK_BEGIN(self);
  while (volt_load_acquire(&self->p->is_over) == 0) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->future, &self->p->permit[0], 1));
    volt_fetch_add_release(&self->p->has_run, 1);
  }
  VOLT_TASK_END(self);
}

/* Wake the other, and do not return before it has run; or give up. */
static bool runs_meanwhile(pair *p) {
  uint32_t before = volt_load_acquire(&p->has_run);
  volt_sem_release(&p->permit[0], 1);
  uint64_t deadline_ns = volt_deadline_s(2);
  while (volt_now_ns() < deadline_ns) {
    if (volt_load_acquire(&p->has_run) != before) return true;
  }
  return false;
}

static int computing_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  VOLT_TASK_BEGIN(self);
  for (self->try = 0; self->try < TRIES && self->p->seen == 0; self->try++) {
    for (self->i = 0; self->i < LONG_POLLS; self->i++) {
      compute(LONG_NS);
      VOLT_YIELD(self);
    }
    self->p->seen += runs_meanwhile(self->p);
  }
  volt_store_release(&self->p->is_over, 1);
  volt_sem_release(&self->p->permit[0], 1);
  VOLT_TASK_END(self);
}

static void what_a_long_poll_wakes_runs_meanwhile(void **state) {
  (void)state;
  pair p = {.permit = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0)}};
  volt_rt *rt = create();
  member *woken = spawn(rt, woken_poll, &p, 0);
  member *computing = spawn(rt, computing_poll, &p, 1);
  join(computing);
  join(woken);
  assert_int_equal(p.seen, 1);
  assert_int_equal(volt_rt_destroy(rt), 0);
}

/* ---- short polls ---- */

static int hop_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < HOPS; self->i++) {
    if (self->side == 0) volt_sem_release(&self->p->permit[1], 1);
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->future, &self->p->permit[self->side], 1));
    if (self->side == 1) volt_sem_release(&self->p->permit[0], 1);
  }
  VOLT_TASK_END(self);
}

/* Whether a worker found most of what it could in its slot: up to three of four polls, if no worker
 * loses its core meanwhile. */
static bool takes_from_the_slot(void) {
  pair p = {.permit = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0)}};
  volt_rt *rt = create();
  member *first = spawn(rt, hop_poll, &p, 0);
  member *second = spawn(rt, hop_poll, &p, 1);
  join(first);
  join(second);
  uint64_t hits = 0, polls = 0;
  for (uint32_t i = 0; i < WORKERS; i++) {
    volt_worker_stats stats;
    assert_result(volt_rt_worker_stats(rt, i, &stats), VOLT_OK);
    hits += stats.lifo_hits;
    polls += stats.polls;
  }
  assert_true(polls >= HOPS);
  assert_int_equal(volt_rt_destroy(rt), 0);
  return hits > polls / 4;
}

/* On a busy machine workers lose their cores, but not in each of many short rounds. */
static void what_a_short_poll_wakes_is_next(void **state) {
  (void)state;
  unsigned rounds = 0;
  while (rounds < ROUNDS && !takes_from_the_slot()) rounds++;
  assert_true(rounds < ROUNDS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_long_poll_wakes_runs_meanwhile),
      cmocka_unit_test(what_a_short_poll_wakes_is_next),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
