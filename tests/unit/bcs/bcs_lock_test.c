/* bcs_lock_test.c: the lock that runs closures, over either queue: run and submit. Its futures are
 * in bcs_lock_future_test.c. */
#include "alloc_count.h"
#include "bcs_holder.h"
#include "core/os/check.h"
#include "death.h"
#include "fake_waker.h"
#include "require.h"
#include "unit.h"

#define BOTH_FORMS(i) for (int i = 0; i < 2; i++)

static volt_bcs_lock lock;
static bcs_holder holder;
static wake_log ran; /* the names of the sections, as they run */
static wake_log woken;
static const volt_waker nobody = {NULL, NULL};

static void set_up(int form) {
  memset((void *)&lock, 0xee, sizeof lock); /* init overwrites it */
  bcs_inits[form](&lock);
  wake_log_init(&ran);
  wake_log_init(&woken);
}

static void tear_down(void) {
  assert_false(volt_bcs_lock_is_busy(&lock));
  volt_bcs_lock_destroy(&lock);
}

/* A section with a name. */
struct named {
  volt_bcs_section section;
  uint32_t name;
};

static void note(void *arg) {
  wake_log_add(&ran, ((struct named *)arg)->name);
}

static void submit_named(struct named *n, uint32_t name, volt_waker waker) {
  n->name = name;
  volt_bcs_lock_submit(&lock, &n->section, note, n, waker);
}

static void run_named(uint32_t name) {
  volt_bcs_node node;
  memset((void *)&node, 0xee, sizeof node); /* its content is overwritten */
  struct named n = {.name = name};
  volt_bcs_lock_run(&lock, &node, note, &n);
}

/* ---- nobody else there ---- */

static void run_runs_at_once(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    for (uint32_t j = 0; j < 3; j++) {
      run_named(j);
      assert_true(wake_log_is_run(&ran, 0, j + 1));
      assert_false(volt_bcs_lock_is_busy(&lock));
    }
    tear_down();
  }
}

static void every_way_to_make_one(void **state) {
  (void)state;
  volt_bcs_lock made[3] = {VOLT_BCS_LOCK_INIT, VOLT_BCS_LOCK_LOCKFREE_INIT};
  memset((void *)&made[2], 0, sizeof made[2]);
  wake_log_init(&ran);
  for (uint32_t i = 0; i < 3; i++) {
    struct named n = {.name = i};
    volt_bcs_node node;
    volt_bcs_lock_run(&made[i], &node, note, &n);
    assert_true(wake_log_is_run(&ran, 0, i + 1));
    volt_bcs_lock_destroy(&made[i]);
  }
}

/* The waker comes before the call returns, and with nothing held. */
static void expect_free(hostile_waker *self) {
  self->result = volt_bcs_lock_is_busy(&lock) ? VOLT_PENDING : VOLT_OK;
  memset(self->object, 0xa5, sizeof(struct named)); /* it is the caller's again */
}

static void submit_runs_at_once_and_wakes(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    struct named n;
    memset((void *)&n, 0xee, sizeof n);
    hostile_waker h;
    hostile_waker_init(&h, 0, NULL, expect_free, &n);
    submit_named(&n, 0, hostile_waker_of(&h));
    assert_int_equal(hostile_waker_calls(&h), 1);
    assert_result(h.result, VOLT_OK);
    struct named silent;
    submit_named(&silent, 1, nobody);
    assert_true(wake_log_is_run(&ran, 0, 2));
    tear_down();
  }
}

/* ---- from inside a section ---- */

enum { INNER = 10 };
static struct named inner[INNER];
static fake_waker inner_wakers[INNER];

static void submit_more(void *arg) {
  note(arg);
  for (uint32_t i = 0; i < INNER; i++) {
    fake_waker_init(&inner_wakers[i], i, &woken);
    submit_named(&inner[i], 1 + i, i % 2 ? nobody : fake_waker_of(&inner_wakers[i]));
  }
  REQUIRE(wake_log_count(&ran) == 1); /* later, not now */
  REQUIRE(volt_bcs_lock_is_busy(&lock));
}

static void a_section_submits_to_its_own_lock(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    struct named outer = {.name = 0};
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, submit_more, &outer);
    assert_true(wake_log_is_run(&ran, 0, 1 + INNER)); /* first come, first served */
    assert_int_equal(wake_log_count(&woken), INNER / 2);
    for (uint32_t j = 0; j < INNER; j++) {
      assert_int_equal(fake_waker_calls(&inner_wakers[j]), j % 2 ? 0 : 1);
    }
    tear_down();
  }
}

/* Told nobody, it is its owner's when a section that came later has begun. */
static void poison_the_first(void *arg) {
  note(arg);
  memset((void *)&inner[0], 0xa5, sizeof inner[0]);
}

static void submit_and_poison(void *arg) {
  note(arg);
  submit_named(&inner[0], 1, nobody);
  inner[1].name = 2;
  volt_bcs_lock_submit(&lock, &inner[1].section, poison_the_first, &inner[1], nobody);
  submit_named(&inner[2], 3, nobody);
}

static void told_nobody_and_gone(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    struct named outer = {.name = 0};
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, submit_and_poison, &outer);
    assert_true(wake_log_is_run(&ran, 0, 4));
    tear_down();
  }
}

/* ---- while somebody holds the role ---- */

static void what_comes_meanwhile_runs_in_order(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    assert_true(volt_bcs_lock_is_busy(&lock));
    for (uint32_t j = 0; j < INNER; j++) {
      fake_waker_init(&inner_wakers[j], j, &woken);
      submit_named(&inner[j], j, fake_waker_of(&inner_wakers[j]));
    }
    assert_int_equal(wake_log_count(&ran), 0); /* submit does not wait */
    bcs_holder_let_go(&holder);
    run_named(INNER); /* this one does */
    assert_int_equal(wake_log_at(&ran, INNER), INNER);
    assert_int_equal(wake_log_count(&ran), INNER + 1);
    thread_team_join(&holder.team);
    assert_true(wake_log_is_run(&ran, 0, INNER + 1));
    assert_int_equal(wake_log_count(&woken), INNER); /* each exactly once */
    tear_down();
  }
}

/* ---- handover ---- */

/* No thread runs more sections than this, its own among them, while others wait in run(). */
enum { BOUND = 64, THREADS = 100, SILENT = 200 };

static struct runner {
  thread_team team;
  uint32_t name;
  uint32_t ran_here; /* how many sections this thread has run */
  pthread_t self;
} runners[THREADS];
static uint32_t run_by_holder;
static pthread_t ran_on[THREADS]; /* by whom, in the order in which they ran */

static void note_thread(void *arg) {
  struct runner *r = (struct runner *)arg;
  ran_on[wake_log_count(&ran)] = pthread_self();
  wake_log_add(&ran, r->name);
}

static void run_one(void *arg, uint32_t index) {
  struct runner *r = (struct runner *)arg;
  (void)index;
  r->self = pthread_self();
  volt_bcs_node node;
  volt_bcs_lock_run(&lock, &node, note_thread, r);
}

/* Runner i has its place in the queue when this returns. */
static void start_runner(uint32_t i) {
  uintptr_t last = bcs_lock_last(&lock);
  runners[i].name = i;
  thread_team_start(&runners[i].team, 1, run_one, &runners[i]);
  WAIT_UNTIL(bcs_lock_last(&lock) != last);
}

static void count_sections_per_thread(void) {
  run_by_holder = 0;
  for (uint32_t i = 0; i < THREADS; i++) {
    runners[i].ran_here = 0;
    for (uint32_t j = 0; j < THREADS; j++) {
      if (pthread_equal(ran_on[j], runners[i].self)) runners[i].ran_here += 1;
    }
    if (pthread_equal(ran_on[i], holder.thread)) run_by_holder += 1;
  }
}

static void nobody_serves_for_ever(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_holder_start(&holder, &lock);
    for (uint32_t j = 0; j < THREADS; j++) start_runner(j);
    bcs_holder_let_go(&holder);
    for (uint32_t j = 0; j < THREADS; j++) thread_team_join(&runners[j].team);
    thread_team_join(&holder.team);
    assert_true(wake_log_is_run(&ran, 0, THREADS)); /* the order stays */
    count_sections_per_thread();
    uint32_t sum = run_by_holder;
    assert_in_range(run_by_holder + 1, 1, BOUND);
    for (uint32_t j = 0; j < THREADS; j++) {
      assert_in_range(runners[j].ran_here, 0, BOUND);
      sum += runners[j].ran_here;
    }
    assert_int_equal(sum, THREADS); /* nobody else has run one */
    tear_down();
  }
}

static uint32_t on_the_holder;

static void count_on_the_holder(void *arg) {
  (void)arg;
  on_the_holder += pthread_equal(pthread_self(), holder.thread) ? 1 : 0;
}

static void behind_submit_nobody_waits(void **state) {
  (void)state;
  static volt_bcs_section sections[SILENT];
  BOTH_FORMS(i) {
    set_up(i);
    on_the_holder = 0;
    bcs_holder_start(&holder, &lock);
    for (uint32_t j = 0; j < SILENT; j++) {
      volt_bcs_lock_submit(&lock, &sections[j], count_on_the_holder, NULL, nobody);
    }
    bcs_holder_end(&holder);
    assert_int_equal(on_the_holder, SILENT);
    tear_down();
  }
}

/* ---- R7: wakers that run sections of the same lock ---- */

enum { MANY = 200 };
static struct named many[MANY];
static hostile_waker many_wakers[MANY];
static uint32_t how_many;
static VOLT_ATOMIC(uint32_t) run_by_wakers;
static VOLT_ATOMIC(uint32_t) all_returned;

static void count_run(void *arg) {
  (void)arg;
  (void)volt_fetch_add_relaxed(&run_by_wakers, 1); /* a count */
}

static void run_in_the_waker(hostile_waker *self) {
  (void)self;
  uint32_t before = volt_load_relaxed(&run_by_wakers);
  volt_bcs_node node;
  volt_bcs_lock_run(&lock, &node, count_run, NULL);
  REQUIRE(volt_load_relaxed(&run_by_wakers) > before);
}

static void submit_many(void *arg) {
  (void)arg;
  for (uint32_t i = 0; i < how_many; i++) {
    hostile_waker_init(&many_wakers[i], i, &woken, run_in_the_waker, NULL);
    submit_named(&many[i], i, hostile_waker_of(&many_wakers[i]));
  }
}

static void run_submit_many(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_bcs_node node;
  volt_bcs_lock_run(&lock, &node, submit_many, NULL);
  (void)volt_fetch_add_release(&all_returned, 1);
}

static void more_wakers_than_there_is_room_for(void **state) {
  (void)state;
  const uint32_t counts[] = {31, 32, 33, 40, 88, MANY};
  static thread_team t;
  BOTH_FORMS(i) {
    for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
      set_up(i);
      how_many = counts[j];
      volt_store_relaxed(&run_by_wakers, 0);
      volt_store_relaxed(&all_returned, 0);
      thread_team_start(&t, 1, run_submit_many, NULL);
      uint64_t deadline_ns = volt_deadline_ns(PATIENCE_NS);
      WAIT_UNTIL(volt_load_acquire(&all_returned) != 0 || volt_now_ns() > deadline_ns);
      assert_int_equal(volt_load_acquire(&all_returned), 1);
      thread_team_join(&t);
      assert_true(wake_log_is_run(&ran, 0, how_many));
      assert_int_equal(wake_log_count(&woken), how_many);
      assert_int_equal(volt_load_relaxed(&run_by_wakers), how_many);
      tear_down();
    }
  }
}

/* ---- nothing is allocated ---- */

static void nothing_is_allocated(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    uint64_t before = alloc_count_allocations();
    run_named(0);
    struct named outer = {.name = 0};
    volt_bcs_node node;
    wake_log_init(&ran);
    volt_bcs_lock_run(&lock, &node, submit_more, &outer);
    assert_int_equal(alloc_count_allocations(), before);
    tear_down();
  }
}

/* ---- misuse ---- */

static void destroy_it(void *arg) {
  volt_bcs_lock_destroy((volt_bcs_lock *)arg);
}

static void run_destroy(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, destroy_it, arg);
}

static void destroyed_while_a_section_runs(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    assert_death(run_destroy, &lock, "volt_bcs_lock_destroy", death_address(&lock));
    tear_down();
  }
}

static volt_bcs_section twice;

static void submit_it_twice(void *arg) {
  volt_bcs_lock *l = (volt_bcs_lock *)arg;
  volt_bcs_lock_submit(l, &twice, count_run, NULL, nobody);
  volt_bcs_lock_submit(l, &twice, count_run, NULL, nobody);
}

static void run_submit_it_twice(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, submit_it_twice, arg);
}

static void submitted_twice_in_a_row(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
#if VOLT_DEBUG
    assert_death(run_submit_it_twice, &lock, "volt_bcs_lock_submit", death_address(&twice));
#else
    if (i == 0) {
      assert_death(run_submit_it_twice, &lock, "volt_bcs_lock", death_address(&lock),
                   death_address(&twice.node));
    }
#endif
    tear_down();
  }
}

static volt_bcs_node shared;

static void run_with_the_same_node(void *arg, uint32_t index) {
  (void)index;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &shared, count_run, NULL);
}

static void have_another_run_with_it(void *arg) {
  thread_team team;
  thread_team_start(&team, 1, run_with_the_same_node, arg);
  thread_team_join(&team);
}

static void run_have_another_run_with_it(void *arg) {
  volt_bcs_lock_run((volt_bcs_lock *)arg, &shared, have_another_run_with_it, arg);
}

static void two_run_with_one_node(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    assert_death(run_have_another_run_with_it, &lock, "volt_bcs_lock", death_address(&lock),
                 death_address(&shared));
    tear_down();
  }
}

#if VOLT_DEBUG
static volt_bcs_section after;

static void submit_it_with_another_between(void *arg) {
  volt_bcs_lock *l = (volt_bcs_lock *)arg;
  volt_bcs_lock_submit(l, &twice, count_run, NULL, nobody);
  volt_bcs_lock_submit(l, &after, count_run, NULL, nobody);
  volt_bcs_lock_submit(l, &twice, count_run, NULL, nobody);
}

static void run_submit_it_with_another_between(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, submit_it_with_another_between, arg);
}

static void poll_two_futures_of_it(void *arg) {
  volt_bcs_lock *l = (volt_bcs_lock *)arg;
  volt_future f[2];
  for (int i = 0; i < 2; i++)
    volt_future_made(volt_bcs_lock_run_future(&f[i], l, &twice, count_run, NULL));
  for (int i = 0; i < 2; i++) (void)volt_future_poll(&f[i], nobody);
}

static void run_poll_two_futures_of_it(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, poll_two_futures_of_it, arg);
}

static void make_a_future_of_a_queued_one(void *arg) {
  volt_bcs_lock *l = (volt_bcs_lock *)arg;
  volt_future f;
  volt_bcs_lock_submit(l, &twice, count_run, NULL, nobody);
  volt_future_made(volt_bcs_lock_run_future(&f, l, &twice, count_run, NULL));
}

static void run_make_a_future_of_a_queued_one(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, make_a_future_of_a_queued_one, arg);
}

static void submitted_while_it_is_queued(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    const char *at = death_address(&twice);
    assert_death(run_submit_it_with_another_between, &lock, "volt_bcs_lock_submit", at);
    assert_death(run_poll_two_futures_of_it, &lock, "volt_future_poll", at);
    assert_death(run_make_a_future_of_a_queued_one, &lock, "volt_bcs_lock_run_future", at);
    tear_down();
  }
}

static void submit_and_copy(void *arg) {
  volt_bcs_section copy;
  volt_bcs_lock_submit(&lock, &twice, count_run, NULL, nobody);
  memcpy((void *)&copy, (void *)&twice, sizeof copy);
  volt_bcs_lock_submit(&lock, &after, count_run, NULL, nobody);
  memcpy(arg, (void *)&copy, sizeof copy);
}

/* What it was once is no obstacle, nor is a copy of what one is. */
static void memory_that_was_a_section(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    volt_bcs_section copy;
    volt_bcs_node node;
    volt_store_relaxed(&run_by_wakers, 0);
    volt_bcs_lock_run(&lock, &node, submit_and_copy, &copy);
    volt_bcs_lock_submit(&lock, &copy, count_run, NULL, nobody);
    volt_bcs_lock_submit(&lock, &twice, count_run, NULL, nobody);
    volt_bcs_lock_submit(&lock, &after, count_run, NULL, nobody);
    assert_int_equal(volt_load_relaxed(&run_by_wakers), 5);
    tear_down();
  }
}

static void run_nothing(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, count_run, arg);
}

static void run_within_run(void *arg) {
  volt_bcs_node node;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, run_nothing, arg);
}

static void run_within_submit(void *arg) {
  volt_bcs_section section;
  volt_bcs_lock_submit((volt_bcs_lock *)arg, &section, run_nothing, arg, nobody);
}

static void run_from_inside_a_section(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    assert_death(run_within_run, &lock, "volt_bcs_lock_run", death_address(&lock));
    assert_death(run_within_submit, &lock, "volt_bcs_lock_run", death_address(&lock));
    tear_down();
  }
}
#endif

/* Another lock's section is no obstacle. */
static volt_bcs_lock other;

static void run_on_the_other(void *arg) {
  volt_bcs_node node;
  note(arg);
  struct named n = {.name = 1};
  volt_bcs_lock_run(&other, &node, note, &n);
}

static void locks_nest(void **state) {
  (void)state;
  BOTH_FORMS(i) {
    set_up(i);
    bcs_inits[1 - i](&other);
    struct named outer = {.name = 0};
    volt_bcs_node node;
    volt_bcs_lock_run(&lock, &node, run_on_the_other, &outer);
    assert_true(wake_log_is_run(&ran, 0, 2));
    volt_bcs_lock_destroy(&other);
    tear_down();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(run_runs_at_once),
    cmocka_unit_test(every_way_to_make_one),
    cmocka_unit_test(submit_runs_at_once_and_wakes),
    cmocka_unit_test(a_section_submits_to_its_own_lock),
    cmocka_unit_test(told_nobody_and_gone),
    cmocka_unit_test(what_comes_meanwhile_runs_in_order),
    cmocka_unit_test(nobody_serves_for_ever),
    cmocka_unit_test(behind_submit_nobody_waits),
    cmocka_unit_test(more_wakers_than_there_is_room_for),
    cmocka_unit_test(nothing_is_allocated),
    cmocka_unit_test(destroyed_while_a_section_runs),
    cmocka_unit_test(submitted_twice_in_a_row),
    cmocka_unit_test(two_run_with_one_node),
#if VOLT_DEBUG
    cmocka_unit_test(submitted_while_it_is_queued),
    cmocka_unit_test(memory_that_was_a_section),
    cmocka_unit_test(run_from_inside_a_section),
#endif
    cmocka_unit_test(locks_nest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
