/* semaphore_hostile_test.c: wakers run with nothing held: they call back into the semaphore that
 * is waking them. With 1 waiter, and with more than a batch of wakes holds. Then random operations.
 * ENGINE: all */
#include <stdlib.h>

#include "crowd.h"
#include "require.h"
#include "rng.h"
#include "thread_team.h"

static crowd c;
static const uint32_t counts[] = {1, 33, CROWD_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* count waiters for one permit each, and all their wakers do this. */
static void gather(uint32_t count, void (*act)(hostile_waker *)) {
  crowd_init(&c, 0);
  for (uint32_t i = 0; i < count; i++) c.wakers[i].act = act;
  crowd_queue_run(&c, 0, count, 1);
}

/* ---- release ---- */

static void release_one(hostile_waker *self) {
  (void)self;
  engine_sem_release(&c.sem, 1);
}

/* Each passes its permit on: one release serves everybody, each from within the one before. */
static void wakers_release(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], release_one);
    engine_sem_release(&c.sem, 1);
    crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    assert_true(wake_log_is_run(&c.log, 0, counts[i]));
    crowd_destroy(&c, 1);
  }
}

/* Each of those served at once gives its permit back. */
static void wakers_of_one_release_release(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], release_one);
    engine_sem_release(&c.sem, counts[i]);
    crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    assert_int_equal(wake_log_count(&c.log), counts[i]);
    crowd_destroy(&c, counts[i]);
  }
}

/* ---- acquire ---- */

/* Ask again, with the same waiter: it has been granted, so its memory is ours. */
static void ask_again(hostile_waker *self) {
  self->act = NULL;
  self->result = crowd_ask(&c, self->seen.name, 1);
}

static void wakers_acquire_again(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], ask_again);
    engine_sem_release(&c.sem, counts[i]);
    for (uint32_t j = 0; j < counts[i]; j++) {
      assert_result(c.wakers[j].result, VOLT_PENDING);
      crowd_expect(&c, j, VOLT_PENDING, 1);
    }
    crowd_expect_sem(&c, counts[i], 0);
    engine_sem_release(&c.sem, counts[i]);
    crowd_expect_run(&c, 0, counts[i], VOLT_OK, 2);
    crowd_destroy(&c, 0);
  }
}

/* What is left over is there when the wakers run; one of them takes it. */
static void try_and_look(hostile_waker *self) {
  (void)engine_sem_waiters(&c.sem);
  (void)engine_sem_is_closed(&c.sem);
  if (engine_sem_try_acquire(&c.sem, 1) == VOLT_OK) self->n += 1;
}

static void wakers_try(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], try_and_look);
    engine_sem_release(&c.sem, counts[i] + 1);
    uint32_t taken = 0;
    for (uint32_t j = 0; j < counts[i]; j++) taken += c.wakers[j].n;
    assert_int_equal(taken, 1);
    crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    crowd_destroy(&c, 0);
  }
}

static void block_for_the_surplus(hostile_waker *self) {
  self->result = engine_sem_acquire_until(&c.sem, 1, PAST_DEADLINE);
}

static void wakers_block(void **state) {
  (void)state;
  gather(1, block_for_the_surplus);
  engine_sem_release(&c.sem, 2);
  assert_result(c.wakers[0].result, VOLT_OK);
  engine_sem_release(&c.sem, 2);
  crowd_destroy(&c, 2);
  gather(1, block_for_the_surplus);
  engine_sem_release(&c.sem, 1);
  assert_result(c.wakers[0].result, VOLT_ETIMEDOUT);
  crowd_destroy(&c, 0);
}

/* ---- cancel ---- */

static void cancel_other(hostile_waker *self) {
  self->result = engine_sem_cancel(&c.sem, self->other) ? VOLT_ECANCELED : VOLT_OK;
}

/* The first waker cancels another waiter, which may have been served with it. */
static void cancel_from_the_first(uint32_t count, uint32_t victim, uint32_t released) {
  gather(count, NULL);
  c.wakers[0].act = cancel_other;
  c.wakers[0].other = &c.waiters[victim];
  engine_sem_release(&c.sem, released);

  bool cancelled = c.wakers[0].result == VOLT_ECANCELED;
  uint32_t others = count - (cancelled ? 1 : 0);
  uint32_t granted = released < others ? released : others;
  crowd_expect(&c, victim, cancelled ? VOLT_ECANCELED : VOLT_OK, cancelled ? 0 : 1);
  assert_int_equal(wake_log_count(&c.log), granted);
  for (uint32_t i = 0, seen = 0; i < count && seen < granted; i++) {
    if (i == victim && cancelled) continue;
    crowd_expect(&c, i, VOLT_OK, 1);
    seen += 1;
  }
  crowd_expect_sem(&c, others - granted, released - granted);
  engine_sem_release(&c.sem, others - granted);
  crowd_destroy(&c, released - granted);
}

static void wakers_cancel_others(void **state) {
  (void)state;
  cancel_from_the_first(2, 1, 1);
  cancel_from_the_first(2, 1, 2);
  cancel_from_the_first(33, 32, 33);
  cancel_from_the_first(33, 17, 33);
  cancel_from_the_first(33, 32, 1);
  cancel_from_the_first(CROWD_MAX, 1, CROWD_MAX);
  cancel_from_the_first(CROWD_MAX, 32, CROWD_MAX);
  cancel_from_the_first(CROWD_MAX, 99, CROWD_MAX);
  cancel_from_the_first(CROWD_MAX, 50, 40);
}

static void cancel_all_others(hostile_waker *self) {
  for (uint32_t i = 1; i < CROWD_MAX; i++) self->n += crowd_cancel(&c, i) ? 1 : 0;
}

/* Whoever is neither granted nor cancelled by then is served by the cancels. */
static void a_waker_cancels_everybody(void **state) {
  (void)state;
  gather(CROWD_MAX, NULL);
  c.wakers[0].act = cancel_all_others;
  engine_sem_release(&c.sem, CROWD_MAX);
  uint32_t cancelled = 0;
  for (uint32_t i = 0; i < CROWD_MAX; i++) {
    bool gave_up = crowd_result(&c, i) == VOLT_ECANCELED;
    crowd_expect(&c, i, gave_up ? VOLT_ECANCELED : VOLT_OK, gave_up ? 0 : 1);
    cancelled += gave_up ? 1 : 0;
  }
  assert_int_equal(cancelled, c.wakers[0].n);
  crowd_destroy(&c, cancelled);
}

/* A granted waiter gives up and hands its permit back from its own wake. */
static void cancel_self(hostile_waker *self) {
  self->result = crowd_result(&c, self->seen.name);
  REQUIRE(!crowd_cancel(&c, self->seen.name));
  engine_sem_release(&c.sem, 1);
}

static void wakers_cancel_themselves(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], cancel_self);
    engine_sem_release(&c.sem, 1);
    for (uint32_t j = 0; j < counts[i]; j++) assert_result(c.wakers[j].result, VOLT_OK);
    crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    crowd_destroy(&c, 1);
  }
}

/* ---- close and destroy ---- */

static void close_it(hostile_waker *self) {
  (void)self;
  engine_sem_close(&c.sem);
}

static void wakers_close(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], close_it);
    engine_sem_release(&c.sem, 1);
    crowd_expect(&c, 0, VOLT_OK, 1);
    crowd_expect_run(&c, 1, counts[i] - 1, VOLT_ECLOSED, 1);
    assert_int_equal(wake_log_count(&c.log), counts[i]);
    crowd_destroy(&c, 0);
  }
}

/* Closed in the middle of a release that serves all of them: everyone hears once, from one. */
static void wakers_close_in_a_release(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], close_it);
    engine_sem_release(&c.sem, counts[i]);
    uint32_t granted = 0;
    while (granted < counts[i] && crowd_result(&c, granted) == VOLT_OK) granted += 1;
    assert_true(granted > 0);
    crowd_expect_run(&c, 0, granted, VOLT_OK, 1);
    crowd_expect_run(&c, granted, counts[i] - granted, VOLT_ECLOSED, 1);
    crowd_destroy(&c, counts[i] - granted);
  }
}

static void use_the_closed(hostile_waker *self) {
  REQUIRE(engine_sem_is_closed(&c.sem));
  REQUIRE(engine_sem_try_acquire(&c.sem, 1) == VOLT_ECLOSED);
  REQUIRE(crowd_ask(&c, self->seen.name, 1) == VOLT_ECLOSED);
  engine_sem_close(&c.sem);
}

static void wakers_use_the_closed(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], use_the_closed);
    engine_sem_close(&c.sem);
    for (uint32_t j = 0; j < counts[i]; j++) {
      assert_int_not_equal(crowd_result(&c, j), VOLT_PENDING);
      assert_int_equal(hostile_waker_calls(&c.wakers[j]), 1);
    }
    assert_int_equal(wake_log_count(&c.log), counts[i]);
    crowd_destroy(&c, 0);
  }
}

/* Permits released while the closing is under way are not lost, and everyone hears once. */
static void wakers_release_to_the_closed(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather(counts[i], release_one);
    engine_sem_close(&c.sem);
    for (uint32_t j = 0; j < counts[i]; j++) crowd_expect(&c, j, VOLT_ECLOSED, 1);
    crowd_destroy(&c, counts[i]);
  }
}

/* Whoever receives the last permit may destroy it, while the release is still returning: this one
 * does not return before it is gone. */
static void destroy_it(void *arg, uint32_t index) {
  engine_sem *sem = (engine_sem *)arg;
  (void)index;
  engine_sem_destroy(sem);
  memset(sem, 0xee, sizeof *sem);
  free(sem);
}

static void destroy_it_elsewhere(hostile_waker *self) {
  thread_team_run(1, destroy_it, self->object);
}

static void destroy_it_here(hostile_waker *self) {
  destroy_it(self->object, 0);
}

static void release_and_destroy(uint32_t count, void (*act)(hostile_waker *)) {
  engine_sem *sem = (engine_sem *)malloc(sizeof *sem);
  assert_non_null(sem);
  crowd_init(&c, 0);
  engine_sem_init(sem, 0);
  for (uint32_t i = 0; i < count; i++) {
    if (i == count - 1) c.wakers[i].act = act;
    c.wakers[i].object = sem;
    volt_waker waker = hostile_waker_of(&c.wakers[i]);
    assert_result(engine_sem_acquire_waiter(sem, &c.waiters[i], 1, waker), VOLT_PENDING);
  }
  engine_sem_release(sem, count);
  crowd_expect_run(&c, 0, count, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void the_last_one_destroys(void **state) {
  (void)state;
  release_and_destroy(1, destroy_it_here);
  for (int i = 0; i < COUNTS; i++) release_and_destroy(counts[i], destroy_it_elsewhere);
}

/* ==== random operations ====
 *
 * Each is compared with a semaphore that is obviously right: a counter and an array. The seeds are
 * fixed. */

enum { PLAYERS = 12, STEPS = 2000, SEEDS = 20, FEW = 3, MANY = 40 };

/* The reference: what is free, who waits, oldest first, and what each still needs. */
typedef struct reference {
  uint32_t free;
  bool closed;
  uint32_t waiting;
  struct place {
    uint32_t who;
    uint32_t want;
    uint32_t need;
  } queue[PLAYERS];
  int result[PLAYERS]; /* what volt_waiter_result() is to say */
  uint32_t wakes[PLAYERS];
  uint32_t held[PLAYERS]; /* granted and not yet released */
  uint32_t loose;         /* taken by a try and not yet released */
  uint32_t logged;        /* wakes of the last step, in order */
  uint32_t log[PLAYERS];
} reference;

static reference ref;

static void ref_drop(uint32_t at) {
  ref.waiting -= 1;
  memmove(&ref.queue[at], &ref.queue[at + 1], (ref.waiting - at) * sizeof ref.queue[0]);
}

static void ref_complete_head(int result) {
  uint32_t who = ref.queue[0].who;
  ref.result[who] = result;
  ref.wakes[who] += 1;
  ref.log[ref.logged++] = who;
  if (result == VOLT_OK) ref.held[who] = ref.queue[0].want;
  ref_drop(0);
}

static void ref_release(uint32_t n) {
  while (ref.waiting > 0) {
    struct place *head = &ref.queue[0];
    uint32_t given = n < head->need ? n : head->need;
    head->need -= given;
    n -= given;
    if (head->need > 0) return;
    ref_complete_head(VOLT_OK);
  }
  ref.free += n;
}

static int ref_acquire(uint32_t who, uint32_t n) {
  if (n == 0) return VOLT_OK;
  if (ref.closed) return VOLT_ECLOSED;
  if (ref.waiting == 0 && ref.free >= n) {
    ref.free -= n;
    ref.held[who] = n;
    return VOLT_OK;
  }
  struct place place = {who, n, n - ref.free}; /* free is 0 if anybody waits */
  ref.free = 0;
  ref.queue[ref.waiting++] = place;
  ref.result[who] = VOLT_PENDING;
  return VOLT_PENDING;
}

static int ref_try(uint32_t n) {
  if (n == 0) return VOLT_OK;
  if (ref.closed) return VOLT_ECLOSED;
  if (ref.waiting > 0 || ref.free < n) return VOLT_EAGAIN;
  ref.free -= n;
  return VOLT_OK;
}

/* Returns what cancel() is to return. */
static bool ref_cancel(uint32_t who) {
  for (uint32_t at = 0; at < ref.waiting; at++) {
    if (ref.queue[at].who != who) continue;
    uint32_t gathered = ref.queue[at].want - ref.queue[at].need;
    ref_drop(at);
    ref.result[who] = VOLT_ECANCELED;
    ref_release(gathered);
    return true;
  }
  return ref.result[who] == VOLT_ECANCELED;
}

static void ref_close(void) {
  ref.closed = true;
  while (ref.waiting > 0) {
    ref.free += ref.queue[0].want - ref.queue[0].need;
    ref_complete_head(VOLT_ECLOSED);
  }
}

/* ---- one step of both ---- */

static void acquire_both(uint32_t who, uint32_t n) {
  if (ref.result[who] == VOLT_PENDING || ref.held[who] > 0) return;
  int want = ref_acquire(who, n);
  assert_result(crowd_ask(&c, who, n), want);
  /* a request that did not queue leaves the waiter unused: an older result may still stand */
  if (want != VOLT_PENDING) ref.result[who] = crowd_result(&c, who);
}

static void try_both(uint32_t n) {
  int want = ref_try(n);
  assert_result(engine_sem_try_acquire(&c.sem, n), want);
  if (want == VOLT_OK) ref.loose += n;
}

static void release_both(uint32_t n) {
  ref_release(n);
  engine_sem_release(&c.sem, n);
}

/* What a player or nobody in particular holds goes back. */
static void give_back_both(uint32_t who) {
  uint32_t n = ref.held[who] + ref.loose;
  ref.held[who] = 0;
  ref.loose = 0;
  release_both(n);
}

static void cancel_both(uint32_t who) {
  bool want = ref_cancel(who);
  assert_int_equal(crowd_cancel(&c, who), want);
}

static void set_waker_both(uint32_t who) {
  bool want = ref.result[who] == VOLT_PENDING;
  volt_waker waker = hostile_waker_of(&c.wakers[who]);
  assert_int_equal(engine_sem_set_waker(&c.sem, &c.waiters[who], waker), want);
}

static void step(rng *r, uint32_t most) {
  uint32_t who = rng_below(r, PLAYERS);
  uint32_t n = rng_below(r, most + 1);
  switch (rng_below(r, 8)) {
    case 0: try_both(n); break;
    case 1: cancel_both(who); break;
    case 2: set_waker_both(who); break;
    case 3:
    case 4: give_back_both(who); break;
    default: acquire_both(who, n); break;
  }
}

static void compare(void) {
  assert_int_equal(engine_sem_waiters(&c.sem), ref.waiting);
  assert_int_equal(engine_sem_available(&c.sem), ref.free);
  assert_int_equal(engine_sem_is_closed(&c.sem), ref.closed);
  for (uint32_t i = 0; i < PLAYERS; i++) crowd_expect(&c, i, ref.result[i], ref.wakes[i]);
  assert_int_equal(wake_log_count(&c.log), ref.logged);
  for (uint32_t i = 0; i < ref.logged; i++) assert_int_equal(wake_log_at(&c.log, i), ref.log[i]);
  wake_log_init(&c.log);
  ref.logged = 0;
}

static void play(uint64_t seed, uint32_t permits, uint32_t most) {
  rng r = rng_seeded(seed);
  memset(&ref, 0, sizeof ref);
  ref.free = permits;
  for (uint32_t i = 0; i < PLAYERS; i++) ref.result[i] = VOLT_ECANCELED;
  crowd_init(&c, permits);
  for (uint32_t i = 0; i < STEPS; i++) {
    step(&r, most);
    compare();
  }
  ref_close();
  engine_sem_close(&c.sem);
  compare();
  for (uint32_t i = 0; i < STEPS / 10; i++) {
    step(&r, most);
    compare();
  }
  for (uint32_t i = 0; i < PLAYERS; i++) give_back_both(i);
  compare();
  crowd_destroy(&c, permits);
}

static void few_permits(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) play(seed, 3, FEW);
}

static void one_permit(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) play(100 + seed, 1, 1);
}

static void many_permits(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) play(200 + seed, 50, MANY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wakers_release),
      cmocka_unit_test(wakers_of_one_release_release),
      cmocka_unit_test(wakers_acquire_again),
      cmocka_unit_test(wakers_try),
      cmocka_unit_test(wakers_block),
      cmocka_unit_test(wakers_cancel_others),
      cmocka_unit_test(a_waker_cancels_everybody),
      cmocka_unit_test(wakers_cancel_themselves),
      cmocka_unit_test(wakers_close),
      cmocka_unit_test(wakers_close_in_a_release),
      cmocka_unit_test(wakers_use_the_closed),
      cmocka_unit_test(wakers_release_to_the_closed),
      cmocka_unit_test(the_last_one_destroys),
      cmocka_unit_test(few_permits),
      cmocka_unit_test(one_permit),
      cmocka_unit_test(many_permits),
  };
  return cmocka_run_group_tests_name("hostile wakers of, and random operations on " ENGINE_NAME,
                                     tests, NULL, NULL);
}
