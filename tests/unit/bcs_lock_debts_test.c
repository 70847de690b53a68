/* bcs_lock_debts_test.c: sections that wait for nobody keep coming; who is owed a wake gets it. */
#include "bcs_holder.h"
#include "futex_hook.h"
#include "require.h"
#include "unit.h"

enum { LAPS = 1000000 };

static volt_bcs_lock lock;
static const volt_waker nobody = {NULL, NULL};

/* Two sections that submit each other until the wake has come, or for so many laps. */
static volt_bcs_section chain[2];
static uint32_t laps;
static uint32_t most; /* laps; 0: as many as it takes */
static volt_bcs_section owed;
static VOLT_ATOMIC(uint32_t) wakes;

static void go_on(void *arg) {
  (void)arg;
  laps += 1;
  bool is_over = volt_load_relaxed(&wakes) > 0 || laps == most; /* a poll */
  if (!is_over) volt_bcs_lock_submit(&lock, &chain[laps % 2], go_on, NULL, nobody);
}

static void note_wake(void *ctx) {
  (void)ctx;
  volt_fetch_add_relaxed(&wakes, 1); /* counted only */
}

static void nothing(void *arg) {
  (void)arg;
}

static void begin(void *arg) {
  (void)arg;
  volt_waker waker = {note_wake, NULL};
  volt_bcs_lock_submit(&lock, &owed, nothing, NULL, waker);
  volt_bcs_lock_submit(&lock, &chain[0], go_on, NULL, nobody);
}

static void a_waker_is_called_in_between(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    bcs_inits[form](&lock);
    volt_store_relaxed(&wakes, 0); /* no other thread */
    laps = 0;
    most = LAPS;
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, begin, NULL);
    assert_int_equal(volt_load_relaxed(&wakes), 1);
    assert_true(laps < LAPS);
    volt_bcs_lock_destroy(&lock);
  }
}

/* ---- the same for a thread that sleeps in run() ---- */

static _Thread_local bool is_runner;
static VOLT_ATOMIC(uint32_t) sleeps; /* of the thread in run() */

static void run_body(void *arg, uint32_t index) {
  (void)index;
  is_runner = true;
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, nothing, NULL);
  volt_fetch_add_relaxed(&wakes, 1); /* polled by the chain */
}

static futex_outcome note_sleep(void *arg, const futex_call *call) {
  (void)arg;
  if (is_runner && call->is_wait) volt_fetch_add_relaxed(&sleeps, 1); /* a poll */
  return FUTEX_REAL;
}

static void a_sleeper_is_woken_in_between(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    bcs_inits[form](&lock);
    volt_store_relaxed(&wakes, 0); /* no other thread yet */
    laps = 0;
    most = 0;
    bcs_holder holder;
    bcs_holder_start(&holder, &lock);
    volt_store_relaxed(&sleeps, 0); /* no runner yet */
    futex_hook_set(note_sleep, NULL);
    thread_team runner;
    thread_team_start(&runner, 1, run_body, &lock);
    uint64_t patience = volt_deadline_ns(PATIENCE_NS);
    while (volt_load_relaxed(&sleeps) == 0) REQUIRE(volt_now_ns() < patience); /* a poll */
    volt_bcs_lock_submit(&lock, &chain[0], go_on, NULL, nobody);
    bcs_holder_end(&holder);
    thread_team_join(&runner);
    futex_hook_set(NULL, NULL);
    assert_int_equal(volt_load_relaxed(&wakes), 1);
    volt_bcs_lock_destroy(&lock);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_waker_is_called_in_between),
      cmocka_unit_test(a_sleeper_is_woken_in_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
