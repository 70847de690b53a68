/* bcs_lock_future_test.c: a section of a volt_bcs_lock as a future, over either queue. The lock
 * is held by a thread whose section waits for a go of the test's. Then wakes that are owed. */
#include "alloc_count.h"
#include "bcs_holder.h"
#include "core/os/check.h"
#include "core/wait/grant.h"
#include "death.h"
#include "fake_waker.h"
#include "futex_hook.h"
#include "require.h"
#include "unit.h"

#define BOTH_FORMS(i) for (int i = 0; i < 2; i++)

static volt_bcs_lock lock;
static bcs_holder holder;
static volt_future future;
static volt_bcs_section section;
static uint32_t ran;
static fake_waker a;
static fake_waker b;
static const volt_waker nobody = {NULL, NULL};

static void count(void *arg) {
  *(uint32_t *)arg += 1;
}

static void set_up(int form) {
  bcs_inits[form](&lock);
  memset((void *)&future, 0xee, sizeof future); /* content is overwritten */
  memset((void *)&section, 0xee, sizeof section);
  ran = 0;
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  assert_ptr_equal(volt_bcs_lock_run_future(&future, &lock, &section, count, &ran), &future);
}

static int poll_with(fake_waker *waker) {
  return volt_future_poll(&future, fake_waker_of(waker));
}

/* The memory is the caller's again: nobody may read it any more. */
static void poison(void) {
  memset((void *)&section, 0xa5, sizeof section);
  memset((void *)&future.waiter, 0xa5, sizeof future.waiter);
}

static void tear_down(void) {
  poison();
  assert_false(volt_bcs_lock_is_busy(&lock));
  volt_bcs_lock_destroy(&lock);
}

static void expect_calls(uint32_t calls_of_a, uint32_t calls_of_b) {
  assert_int_equal(fake_waker_calls(&a), calls_of_a);
  assert_int_equal(fake_waker_calls(&b), calls_of_b);
}

/* ---- poll ---- */

static void nothing_happens_before_the_first_poll(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    assert_int_equal(ran, 0);
    assert_false(volt_bcs_lock_is_busy(&lock));
    volt_future_cancel(&future);
    assert_result(poll_with(&a), VOLT_ECANCELED);
    assert_int_equal(ran, 0);
    expect_calls(0, 0);
    tear_down();
  }
}

static void ready_at_once(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    uint64_t allocations = alloc_count_allocations();
    for (int j = 0; j < 3; j++) assert_result(poll_with(j ? &b : &a), VOLT_OK);
    assert_int_equal(ran, 1);
    expect_calls(0, 0);
    volt_future_cancel(&future); /* too late, and the result stands */
    assert_result(poll_with(&a), VOLT_OK);
    assert_int_equal(alloc_count_allocations(), allocations);
    tear_down();
  }
}

static void pending_while_somebody_holds_it(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    for (int j = 0; j < 5; j++) assert_result(poll_with(&a), VOLT_PENDING);
    assert_int_equal(ran, 0);
    bcs_holder_end(&holder);
    assert_int_equal(ran, 1); /* queued once */
    expect_calls(1, 0);
    assert_result(poll_with(&b), VOLT_OK);
    expect_calls(1, 0);
    tear_down();
  }
}

static void the_waker_is_replaced(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    assert_result(poll_with(&a), VOLT_PENDING);
    assert_result(poll_with(&b), VOLT_PENDING);
    assert_result(poll_with(&a), VOLT_PENDING);
    assert_result(poll_with(&b), VOLT_PENDING);
    bcs_holder_end(&holder);
    expect_calls(0, 1); /* the last waker given, no other */
    assert_result(poll_with(&a), VOLT_OK);
    tear_down();
  }
}

static void a_zero_waker_wakes_nobody(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    assert_result(poll_with(&a), VOLT_PENDING);
    assert_result(volt_future_poll(&future, nobody), VOLT_PENDING);
    bcs_holder_end(&holder);
    expect_calls(0, 0);
    assert_result(volt_future_poll(&future, nobody), VOLT_OK);
    assert_int_equal(ran, 1);
    tear_down();
  }
}

static void used_again(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    for (uint32_t j = 0; j < 3; j++) {
      bcs_holder_start(&holder, &lock);
      assert_result(poll_with(&a), VOLT_PENDING);
      bcs_holder_end(&holder);
      assert_result(poll_with(&a), VOLT_OK);
      expect_calls(j + 1, 0);
      poison();
      volt_future_made(volt_bcs_lock_run_future(&future, &lock, &section, count, &ran));
    }
    assert_int_equal(ran, 3);
    tear_down();
  }
}

/* ---- block_on ---- */

static void block_on_a_free_lock(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    assert_result(volt_future_wait_until(&future, PAST_DEADLINE),
                  VOLT_OK); /* it does not have to wait */
    assert_int_equal(ran, 1);
    tear_down();
  }
}

static void let_go(void *arg, uint32_t index) {
  (void)index;
  bcs_holder_let_go((bcs_holder *)arg);
}

static void block_on_waits(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    thread_team t;
    thread_team_start(&t, 1, let_go, &holder);
    assert_result(volt_future_wait(&future), VOLT_OK);
    assert_int_equal(ran, 1);
    thread_team_join(&t);
    thread_team_join(&holder.team);
    tear_down();
  }
}

/* Its deadline has passed, but cancel has to wait until the queue is past the section. */
struct blocked {
  thread_team team;
  int result;
};

static void block_until_the_past(void *arg, uint32_t index) {
  (void)index;
  ((struct blocked *)arg)->result = volt_future_wait_until(&future, PAST_DEADLINE);
}

static void block_on_with_a_passed_deadline(void **state) {
  (void)state;
  static struct blocked s;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    thread_team_start(&s.team, 1, block_until_the_past, &s);
    /* it has given up: that is how the waiter looks while its owner waits for the queue */
    WAIT_UNTIL(volt_load_acquire(&future.waiter.state) == VOLT_WAITER_AWAITED_);
    bcs_holder_end(&holder);
    thread_team_join(&s.team);
    assert_result(s.result, VOLT_ETIMEDOUT);
    assert_result(volt_future_poll(&future, nobody), VOLT_ETIMEDOUT);
    assert_int_equal(ran, 0);
    tear_down();
  }
}

/* ---- cancel ---- */

static void cancel_future(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_future_cancel(&future);
}

static void cancelled_before_it_has_begun(void **state) {
  (void)state;
  static thread_team t;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    assert_result(poll_with(&a), VOLT_PENDING);
    thread_team_start(&t, 1, cancel_future, NULL);
    WAIT_UNTIL(volt_load_acquire(&future.waiter.state) == VOLT_WAITER_AWAITED_);
    bcs_holder_end(&holder);
    thread_team_join(&t);
    assert_int_equal(ran, 0);
    expect_calls(0, 0); /* no wake will come */
    volt_future_cancel(&future);
    assert_result(poll_with(&a), VOLT_ECANCELED);
    tear_down();
  }
}

/* A section that lets itself be watched: running, and told to end. */
struct watched {
  volt_parker runs;
  volt_parker may_end;
};

static void run_watched(void *arg) {
  struct watched *s = (struct watched *)arg;
  volt_unpark(&s->runs);
  volt_park_until(&s->may_end, 1, VOLT_NO_DEADLINE);
  ran += 1;
}

static void cancelled_too_late(void **state) {
  (void)state;
  static thread_team t;
  BOTH_FORMS(i) {
    set_up(i);
    struct watched s = {{0}, {0}};
    volt_future_made(volt_bcs_lock_run_future(&future, &lock, &section, run_watched, &s));
    bcs_holder_start(&holder, &lock);
    assert_result(poll_with(&a), VOLT_PENDING);
    bcs_holder_let_go(&holder);
    volt_park_until(&s.runs, 1, VOLT_NO_DEADLINE);
    thread_team_start(&t, 1, cancel_future, NULL);
    WAIT_UNTIL(volt_load_acquire(&future.waiter.state) == VOLT_WAITER_AWAITED_);
    volt_unpark(&s.may_end);
    thread_team_join(&t);
    assert_int_equal(ran, 1); /* it has run when cancel returns */
    thread_team_join(&holder.team);
    expect_calls(1, 0); /* its one wake has come */
    assert_result(poll_with(&a), VOLT_ECANCELED);
    tear_down();
  }
}

static void dropped_when_it_is_ready(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    assert_result(poll_with(&a), VOLT_PENDING);
    bcs_holder_end(&holder);
    volt_future_cancel(&future); /* nobody has polled it: the section has run all the same */
    volt_future_cancel(&future);
    assert_int_equal(ran, 1);
    expect_calls(1, 0);
    assert_result(poll_with(&a), VOLT_ECANCELED);
    tear_down();
  }
}

/* ---- cancel waits for those that came before, at most ---- */

struct late_cancel {
  volt_bcs_section later;
  VOLT_ATOMIC(uint32_t) cancel_returned;
  bool in_time; /* the section that came later has seen cancel return */
};

static void see_cancel_return(void *arg) {
  struct late_cancel *s = (struct late_cancel *)arg;
  uint64_t deadline_ns = volt_deadline_ns(PATIENCE_NS);
  WAIT_UNTIL(volt_load_acquire(&s->cancel_returned) != 0 || volt_now_ns() > deadline_ns);
  s->in_time = volt_load_acquire(&s->cancel_returned) != 0;
}

static void cancel_does_not_wait_for_later_sections(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    struct late_cancel s;
    memset((void *)&s, 0, sizeof s);
    bcs_holder_start(&holder, &lock);
    assert_result(poll_with(&a), VOLT_PENDING);
    volt_bcs_lock_submit(&lock, &s.later, see_cancel_return, &s, nobody);
    bcs_holder_let_go(&holder);
    volt_future_cancel(&future); /* the section before it is about to end */
    (void)volt_fetch_add_release(&s.cancel_returned, 1);
    thread_team_join(&holder.team);
    assert_true(s.in_time);
    tear_down();
  }
}

/* ---- a waker runs with nothing held: it may cancel another future of the same lock ---- */

static volt_future second;
static volt_bcs_section second_section;
static hostile_waker dropper;
static VOLT_ATOMIC(uint32_t) returned;

/* The first is ready: the second is not wanted any more. */
static void drop_the_second(hostile_waker *self) {
  volt_future_cancel((volt_future *)self->object);
}

static void poll_both(void *arg) {
  (void)arg;
  volt_future_made(volt_bcs_lock_run_future(&second, &lock, &second_section, count, &ran));
  REQUIRE(volt_future_poll(&future, hostile_waker_of(&dropper)) == VOLT_PENDING);
  REQUIRE(volt_future_poll(&second, nobody) == VOLT_PENDING);
}

static void run_poll_both(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_bcs_node node;
  volt_bcs_lock_run(&lock, &node, poll_both, NULL);
  (void)volt_fetch_add_release(&returned, 1);
}

static void a_waker_may_cancel_another_future(void **state) {
  (void)state;
  static thread_team t;
  BOTH_FORMS(i) {
    set_up(i);
    hostile_waker_init(&dropper, 0, NULL, drop_the_second, &second);
    volt_store_relaxed(&returned, 0); /* published by the start of the thread */
    thread_team_start(&t, 1, run_poll_both, NULL);
    uint64_t deadline_ns = volt_deadline_ns(PATIENCE_NS);
    WAIT_UNTIL(volt_load_acquire(&returned) != 0 || volt_now_ns() > deadline_ns);
    assert_int_equal(volt_load_acquire(&returned), 1);
    thread_team_join(&t);
    assert_int_equal(hostile_waker_calls(&dropper), 1);
    assert_int_equal(ran, 2); /* both sections had begun: too late to cancel */
    tear_down();
  }
}

/* ---- misuse ---- */

#if VOLT_DEBUG
static void cancel_from_inside(void *arg) {
  (void)volt_future_poll((volt_future *)arg, nobody);
  volt_future_cancel((volt_future *)arg);
}

static void run_cancel_from_inside(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run(&lock, &node, cancel_from_inside, arg);
}

static void cancelled_from_a_section_of_the_lock(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    assert_death(run_cancel_from_inside, &future, "volt_future_cancel", death_address(&lock));
    tear_down();
  }
}
#endif

/* ==== sections that wait for nobody keep coming: a wake that is owed is made ==== */

enum { LAPS = 1000000 };

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
    cmocka_unit_test(nothing_happens_before_the_first_poll),
    cmocka_unit_test(ready_at_once),
    cmocka_unit_test(pending_while_somebody_holds_it),
    cmocka_unit_test(the_waker_is_replaced),
    cmocka_unit_test(a_zero_waker_wakes_nobody),
    cmocka_unit_test(used_again),
    cmocka_unit_test(block_on_a_free_lock),
    cmocka_unit_test(block_on_waits),
    cmocka_unit_test(block_on_with_a_passed_deadline),
    cmocka_unit_test(cancelled_before_it_has_begun),
    cmocka_unit_test(cancelled_too_late),
    cmocka_unit_test(dropped_when_it_is_ready),
    cmocka_unit_test(cancel_does_not_wait_for_later_sections),
    cmocka_unit_test(a_waker_may_cancel_another_future),
#if VOLT_DEBUG
    cmocka_unit_test(cancelled_from_a_section_of_the_lock),
#endif
    cmocka_unit_test(a_waker_is_called_in_between),
    cmocka_unit_test(a_sleeper_is_woken_in_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
