/* home_test.c: fibers that have begun stay on their worker, and wait there in turn with the tasks
 * that have no home: the order by hand, wakes from other threads, other homes, the end. */
#include <pthread.h>
#include <volt/fiber.h>

#include "by_hand.h"

/* pthread_self(), which a compiler may call once for a whole function: it knows nothing of fibers
 * that move. */
static pthread_t (*volatile self_here)(void) = pthread_self;

/* ---- by hand: who comes when ---- */

enum { MEMBERS = 6, ROUNDS = 5, CROWD = 300 };

/* In which order they have run. */
typedef struct record {
  unsigned count;
  unsigned who[2000];
} record;

typedef struct member {
  volt_task task; /* of those that are no fibers */
  record *r;
  unsigned id, i, rounds;
} member;

static void note(member *m) {
  REQUIRE(m->r->count < sizeof m->r->who / sizeof *m->r->who);
  m->r->who[m->r->count++] = m->id;
}

static int yielding_fiber(void *arg) {
  member *m = (member *)arg;
  for (m->i = 0; m->i < m->rounds; m->i++) {
    note(m);
    REQUIRE(volt_fiber_yield() == VOLT_OK);
  }
  return VOLT_OK;
}

static int yielding_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < self->rounds; self->i++) {
    note(self);
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void spawn_member(by_hand *h, member *m, record *r, unsigned id, unsigned rounds,
                         bool is_fiber) {
  memset((void *)m, 0, sizeof *m);
  m->r = r;
  m->id = id;
  m->rounds = rounds;
  if (is_fiber) {
    assert_result(volt_fiber_spawn(h->rt, yielding_fiber, m), VOLT_OK);
    return;
  }
  volt_task_init(&m->task, yielding_poll);
  assert_result(volt_spawn(h->rt, &m->task), VOLT_OK);
}

/* Fibers and tasks take turns in the order in which they came, round after round. */
static void those_that_yield_come_in_order(void **state) {
  (void)state;
  by_hand h;
  record r = {.count = 0};
  member m[MEMBERS];
  by_hand_begin(&h);
  for (unsigned i = 0; i < MEMBERS; i++) spawn_member(&h, &m[i], &r, i, ROUNDS, i % 3 != 0);
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  assert_int_equal(r.count, MEMBERS * ROUNDS);
  for (unsigned at = 0; at < r.count; at++) assert_int_equal(r.who[at], at % MEMBERS);
  by_hand_end(&h, 0);
}

/* One task among many fibers, or one fiber among many tasks, has its share: between two of its polls
 * are at most one of each of the others. The task does not have more than that: all the fibers are
 * between. The ring is shorter than the crowd of tasks, so some of them wait in the injection queue,
 * where the fiber does not. */
static void one_among_many(bool is_fiber) {
  by_hand h;
  static record r;
  static member crowd[CROWD + 1];
  r.count = 0;
  by_hand_begin(&h);
  for (unsigned i = 0; i <= CROWD; i++) {
    spawn_member(&h, &crowd[i], &r, i, ROUNDS, (i == CROWD / 2) == is_fiber);
  }
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  assert_int_equal(r.count, (CROWD + 1) * ROUNDS);
  unsigned last = 0, turns = 0;
  for (unsigned at = 0; at < r.count; at++) {
    if (r.who[at] != CROWD / 2) continue;
    if (turns > 0) {
      assert_true(at - last <= CROWD + 1);
      if (!is_fiber && turns + 1 < ROUNDS) assert_true(at - last == CROWD + 1); /* then some end */
    }
    last = at;
    turns += 1;
  }
  assert_int_equal(turns, ROUNDS);
  by_hand_end(&h, 0);
}

static void one_task_among_many_fibers(void **state) {
  (void)state;
  one_among_many(false);
}

static void one_fiber_among_many_tasks(void **state) {
  (void)state;
  one_among_many(true);
}

/* ---- by hand: the slot ---- */

enum { HOPS = 60 };

typedef struct pair {
  volt_sem permit[2];
  record *r;
} pair;

typedef struct hopper {
  pair *p;
  unsigned side;
} hopper;

static int hop(void *arg) {
  hopper *self = (hopper *)arg;
  pair *p = self->p;
  for (unsigned i = 0; i < HOPS; i++) {
    int result = volt_sem_acquire(&p->permit[self->side], 1);
    if (result != VOLT_OK) return result;
    p->r->who[p->r->count++] = 10 + self->side;
    volt_sem_release(&p->permit[1 - self->side], 1);
  }
  return VOLT_OK;
}

/* Two fibers that wake each other use the slot, and keep neither a fiber nor a task waiting: after
 * three polls from the slot the queues are next. */
static void those_in_the_slot_leave_turns(void **state) {
  (void)state;
  by_hand h;
  static record r;
  r.count = 0;
  pair p = {.permit = {VOLT_SEM_INIT(1), VOLT_SEM_INIT(0)}, .r = &r};
  hopper hoppers[2] = {{&p, 0}, {&p, 1}};
  member others[2];
  by_hand_begin(&h);
  for (unsigned i = 0; i < 2; i++) assert_result(volt_fiber_spawn(h.rt, hop, &hoppers[i]), VOLT_OK);
  spawn_member(&h, &others[0], &r, 0, ROUNDS, true);
  spawn_member(&h, &others[1], &r, 1, ROUNDS, false);
  by_hand_run(&h);
  unsigned in_a_row = 0, turns[2] = {0, 0}, total = 0;
  for (unsigned at = 0; at < r.count && turns[0] + turns[1] < 2 * ROUNDS; at++) {
    if (r.who[at] >= 10) {
      in_a_row += 1;
      assert_true(in_a_row <= 5); /* both of the queues, as they came, and then three of the slot */
    } else {
      in_a_row = 0;
      turns[r.who[at]] += 1;
      assert_true(turns[0] <= turns[1] + 1 && turns[1] <= turns[0] + 1);
      total += 1;
    }
  }
  assert_int_equal(total, 2 * ROUNDS);
  assert_true(by_hand_worker(&h).lifo_hits > HOPS);
  by_hand_end(&h, 0);
}

/* ---- by hand: counts ---- */

typedef struct herd {
  volt_rt *rt;
  volt_sem gate;
  unsigned passed;
  uint32_t homed; /* as one fiber has woken the others */
  uint32_t queued;
} herd;

static int await_gate(void *arg) {
  herd *g = (herd *)arg;
  int result = volt_sem_acquire(&g->gate, 1);
  if (result == VOLT_OK) g->passed += 1;
  return result;
}

static int open_gate(void *arg) {
  herd *g = (herd *)arg;
  volt_sem_release(&g->gate, MEMBERS);
  volt_worker_stats stats;
  REQUIRE(volt_rt_worker_stats(g->rt, 0, &stats) == VOLT_OK);
  g->homed = stats.homed;
  g->queued = stats.queued;
  return VOLT_OK;
}

/* A runtime by hand in which so many fibers wait at the gate. */
static void herd_begin(herd *g, by_hand *h, unsigned fibers) {
  by_hand_begin(h);
  *g = (herd){.rt = h->rt, .gate = VOLT_SEM_INIT(0)};
  for (unsigned i = 0; i < fibers; i++) {
    assert_result(volt_fiber_spawn(h->rt, await_gate, g), VOLT_OK);
  }
  by_hand_run(h);
}

/* All that were woken wait in the list but the last, which is in the slot. */
static void those_that_wait_are_counted(void **state) {
  (void)state;
  by_hand h;
  herd g;
  herd_begin(&g, &h, MEMBERS);
  assert_int_equal(by_hand_stats(&h).fibers, MEMBERS);
  assert_result(volt_fiber_spawn(h.rt, open_gate, &g), VOLT_OK);
  by_hand_run(&h);
  assert_int_equal(g.passed, MEMBERS);
  assert_int_equal(g.homed, MEMBERS - 1);
  assert_int_equal(g.queued, 0);
  assert_int_equal(by_hand_worker(&h).homed, 0);
  assert_int_equal(by_hand_stats(&h).fibers, 0);
  by_hand_end(&h, 0);
}

/* ---- by hand: woken by another thread ---- */

static void *release_on_thread(void *gate) {
  volt_sem_release((volt_sem *)gate, MEMBERS);
  return NULL;
}

static void a_wake_from_a_thread_calls_the_waker(void **state) {
  (void)state;
  by_hand h;
  herd g;
  herd_begin(&g, &h, MEMBERS);
  uint32_t wakes = fake_waker_calls(&h.waker);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, release_on_thread, &g.gate), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(fake_waker_calls(&h.waker), wakes + 1); /* once, for all of them */
  assert_int_equal(by_hand_worker(&h).homed, MEMBERS);
  by_hand_run(&h);
  assert_int_equal(g.passed, MEMBERS);
  by_hand_end(&h, 0);
}

/* It is ready again after each poll, until all that it has woken have passed. */
typedef struct busy {
  volt_task task;
  herd *g;
  unsigned polls;
} busy;

enum { BUSY_POLLS = 1000 }; /* a worker looks for others' tasks every 127 polls at the latest */

static int wake_and_stay_busy(volt_task *t, volt_ctx *ctx) {
  busy *self = volt_container_of(t, busy, task);
  VOLT_TASK_BEGIN(self);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, release_on_thread, &self->g->gate) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  while (self->polls < BUSY_POLLS && self->g->passed < MEMBERS) {
    self->polls += 1;
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void those_that_a_thread_wakes_do_not_wait_until_nothing_else_is_ready(void **state) {
  (void)state;
  by_hand h;
  herd g;
  herd_begin(&g, &h, MEMBERS);
  busy b = {.g = &g};
  volt_task_init(&b.task, wake_and_stay_busy);
  assert_result(volt_spawn(h.rt, &b.task), VOLT_OK);
  by_hand_run(&h);
  assert_int_equal(g.passed, MEMBERS);
  assert_in_range(b.polls, 1, BUSY_POLLS - 1);
  by_hand_end(&h, 0);
}

static void those_that_were_woken_end_with_the_runtime(void **state) {
  (void)state;
  by_hand h;
  herd g;
  herd_begin(&g, &h, 2 * MEMBERS);
  release_on_thread(&g.gate); /* half of them, and by no worker */
  by_hand_end(&h, 2 * MEMBERS);
  assert_int_equal(g.passed + volt_sem_available(&g.gate), MEMBERS);
}

/* ---- workers ---- */

enum { WORKERS = 4, FIBERS = 24, WAITS = 200 };

typedef struct place {
  volt_rt *rt;
  volt_mutex mutex;
  VOLT_ATOMIC(uint32_t) left;
  VOLT_ATOMIC(uint32_t) moves; /* another thread after a wait */
  volt_parker all_ended;
} place;

static void one_ends(place *p) {
  if (volt_fetch_add_acq_rel(&p->left, UINT32_MAX) == 1) volt_unpark(&p->all_ended);
}

/* A lock that all contend for, held across a yield: wakes come from every worker. */
static int wait_often(void *arg) {
  place *p = (place *)arg;
  pthread_t thread = self_here();
  for (unsigned i = 0; i < WAITS; i++) {
    REQUIRE(volt_mutex_lock_until(&p->mutex, VOLT_NO_DEADLINE) == VOLT_OK);
    REQUIRE(volt_fiber_yield() == VOLT_OK);
    volt_mutex_unlock(&p->mutex);
    if (!pthread_equal(thread, self_here())) volt_fetch_add_relaxed(&p->moves, 1);
    thread = self_here();
  }
  one_ends(p);
  return VOLT_OK;
}

static void run_place(place *p, unsigned rt_flags, unsigned fiber_flags, volt_fiber_fn *fn) {
  volt_rt_config config = {.workers = WORKERS, .flags = rt_flags};
  volt_fiber_config of = {.flags = fiber_flags};
  memset((void *)p, 0, sizeof *p);
  volt_store_relaxed(&p->left, FIBERS);
  assert_result(volt_rt_create(&p->rt, &config), VOLT_OK);
  for (unsigned i = 0; i < FIBERS; i++) {
    volt_task *t = volt_fiber_new(p->rt, fn, p, &of);
    assert_non_null(t);
    assert_result(volt_spawn(p->rt, t), VOLT_OK);
    volt_task_detach(t);
  }
  assert_result(volt_park_until(&p->all_ended, 1, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(volt_rt_shutdown(p->rt, VOLT_NO_DEADLINE), VOLT_OK);
  for (uint32_t i = 0; i < WORKERS; i++) {
    volt_worker_stats stats;
    assert_result(volt_rt_worker_stats(p->rt, i, &stats), VOLT_OK);
    assert_int_equal(stats.homed, 0);
  }
  volt_rt_destroy(p->rt);
}

static void a_fiber_stays_on_its_thread(void **state) {
  (void)state;
  place p;
  run_place(&p, 0, 0, wait_often);
  assert_int_equal(volt_load_relaxed(&p.moves), 0);
}

static void a_fiber_that_moves_wanders_in_tests(void **state) {
  (void)state;
  place p;
  run_place(&p, VOLT_RT_FIBERS_WANDER, VOLT_FIBER_MOVES, wait_often);
  /* Each yield moves it to the next worker; a wait for the lock, too, if it waits: so between one
   * move and two in a turn, and two of four are no other thread. */
  assert_true(volt_load_relaxed(&p.moves) > 0);
}

static int yield_and_look(void *arg) {
  place *p = (place *)arg;
  for (unsigned i = 0; i < WAITS; i++) {
    pthread_t thread = self_here();
    REQUIRE(volt_fiber_yield() == VOLT_OK);
    REQUIRE(!pthread_equal(thread, self_here()));
  }
  one_ends(p);
  return VOLT_OK;
}

static void it_is_elsewhere_after_each_wait(void **state) {
  (void)state;
  place p;
  run_place(&p, VOLT_RT_FIBERS_WANDER, VOLT_FIBER_MOVES, yield_and_look);
}

static int yield_and_stay(void *arg) {
  place *p = (place *)arg;
  for (unsigned i = 0; i < WAITS; i++) {
    pthread_t thread = self_here();
    REQUIRE(volt_fiber_yield() == VOLT_OK);
    REQUIRE(pthread_equal(thread, self_here()));
  }
  one_ends(p);
  return VOLT_OK;
}

/* Only those that may move do. */
static void those_at_home_do_not_wander(void **state) {
  (void)state;
  place p;
  run_place(&p, VOLT_RT_FIBERS_WANDER, 0, yield_and_stay);
}

/* ---- another home ---- */

static int travel(void *arg) {
  place *p = (place *)arg;
  pthread_t at[WORKERS];
  for (unsigned round = 0; round < 10; round++) {
    for (uint32_t i = 0; i < WORKERS; i++) {
      REQUIRE(volt_fiber_rehome(i) == VOLT_OK);
      REQUIRE(round == 0 || pthread_equal(at[i], self_here()));
      at[i] = self_here();
      for (unsigned other = 0; other < i; other++) REQUIRE(!pthread_equal(at[other], at[i]));
      REQUIRE(volt_rt_current() == p->rt);
      REQUIRE(volt_fiber_rehome(i) == VOLT_OK); /* it is there */
      REQUIRE(pthread_equal(at[i], self_here()));
      REQUIRE(volt_fiber_yield() == VOLT_OK);
      REQUIRE(pthread_equal(at[i], self_here()));
    }
  }
  REQUIRE(volt_fiber_rehome(WORKERS) == VOLT_EINVAL);
  one_ends(p);
  return VOLT_OK;
}

static void a_fiber_goes_where_it_wants(void **state) {
  (void)state;
  place p;
  run_place(&p, 0, 0, travel);
}

/* It was free to move, and stays where it went. */
static void one_that_moves_stays_where_it_went(void **state) {
  (void)state;
  place p;
  run_place(&p, 0, VOLT_FIBER_MOVES, travel);
  run_place(&p, VOLT_RT_FIBERS_WANDER, VOLT_FIBER_MOVES, travel);
}

static void elsewhere_there_is_no_home(void **state) {
  (void)state;
  assert_result(volt_fiber_rehome(0), VOLT_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(those_that_yield_come_in_order),
      cmocka_unit_test(one_task_among_many_fibers),
      cmocka_unit_test(one_fiber_among_many_tasks),
      cmocka_unit_test(those_in_the_slot_leave_turns),
      cmocka_unit_test(those_that_wait_are_counted),
      cmocka_unit_test(a_wake_from_a_thread_calls_the_waker),
      cmocka_unit_test(those_that_a_thread_wakes_do_not_wait_until_nothing_else_is_ready),
      cmocka_unit_test(those_that_were_woken_end_with_the_runtime),
      cmocka_unit_test(a_fiber_stays_on_its_thread),
      cmocka_unit_test(a_fiber_that_moves_wanders_in_tests),
      cmocka_unit_test(it_is_elsewhere_after_each_wait),
      cmocka_unit_test(those_at_home_do_not_wander),
      cmocka_unit_test(a_fiber_goes_where_it_wants),
      cmocka_unit_test(one_that_moves_stays_where_it_went),
      cmocka_unit_test(elsewhere_there_is_no_home),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
