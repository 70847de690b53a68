/* semaphore_reference_test.c: random operations, each compared with a semaphore that is obviously
 * right: a counter and an array. The seeds are fixed.
 * ENGINE: all */
#include "crowd.h"
#include "rng.h"

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

static crowd c;
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
      cmocka_unit_test(few_permits),
      cmocka_unit_test(one_permit),
      cmocka_unit_test(many_permits),
  };
  return cmocka_run_group_tests_name("random operations on " ENGINE_NAME, tests, NULL, NULL);
}
