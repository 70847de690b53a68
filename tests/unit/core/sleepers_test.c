/* sleepers_test.c: which threads sleep in a blocking call, and for what
 * (src/core/inspect/sleepers.h). */
#define _DEFAULT_SOURCE /* fork */
#include <dirent.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/fiber.h>

#include "bcs_holder.h"
#include "core/inspect/sleepers.h"
#include "core/park/locals.h"
#include "described.h"
#include "require.h"
#include "sanitizer.h"
#include "thread_team.h"

static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rw;
static volt_cond cond;
static volt_latch latch;
static volt_parker parker;
static volt_sem pair[2];

static unsigned see_all(volt_sleeper_seen_ *seen, unsigned most) {
  uint64_t cursor = 0;
  unsigned count = 0;
  volt_sleeper_seen_ one;
  while (volt_sleepers_copy_(&one, 1, &cursor) != 0) {
    if (count < most) seen[count] = one;
    count += 1;
  }
  return count;
}

/* One thread sleeps by now. */
static volt_sleeper_seen_ see_one(void) {
  volt_sleeper_seen_ seen = {.call = ""};
  WAIT_UNTIL(see_all(&seen, 1) == 1);
  return seen;
}

/* A thread runs body, sleeps in it for what is said, until let_go() ends it. */
typedef struct scene {
  void (*body)(void);
  void (*let_go)(void);
  const char *call;
  const char *operation;
  const char *kind;
  const void *object;
  volt_ends_ ends;
  uint32_t wanted;
  bool for_write;
} scene;

static void acquire(void) {
  REQUIRE(volt_sem_acquire(&sem, 3) == VOLT_OK);
}

static void release(void) {
  volt_sem_release(&sem, 3);
}

static void lock(void) {
  volt_mutex_lock(&mutex);
  volt_mutex_unlock(&mutex);
}

static void unlock(void) {
  volt_mutex_unlock(&mutex);
}

static void write_lock(void) {
  volt_rwlock_write(&rw);
  volt_rwlock_write_unlock(&rw);
}

static void read_lock(void) {
  volt_rwlock_read(&rw);
  volt_rwlock_read_unlock(&rw);
}

static void write_unlock(void) {
  volt_rwlock_write_unlock(&rw);
}

static void await_signal(void) {
  volt_mutex own;
  volt_mutex_init(&own);
  volt_mutex_lock(&own);
  REQUIRE(volt_cond_wait(&cond, &own) == VOLT_OK);
  volt_mutex_unlock(&own);
}

static void signal_one(void) {
  volt_cond_signal(&cond);
}

static void await_latch(void) {
  REQUIRE(volt_latch_wait_until(&latch, VOLT_NO_DEADLINE) == VOLT_OK);
}

static void count_down(void) {
  (void)volt_latch_count_down(&latch, 1);
}

static void park(void) {
  REQUIRE(volt_park_until(&parker, 1, VOLT_NO_DEADLINE) == VOLT_OK);
}

static void unpark(void) {
  volt_unpark(&parker);
}

static void await_either(void) {
  volt_future f[2];
  volt_select s;
  volt_future *const branches[] = {volt_sem_acquire_future(&f[0], &pair[0], 1),
                                   volt_sem_acquire_future(&f[1], &pair[1], 1)};
  volt_future *either = volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
  REQUIRE(volt_future_wait(either) == VOLT_OK);
}

static void release_second(void) {
  volt_sem_release(&pair[1], 1);
}

static const scene scenes[] = {
    {acquire, release, "volt_sem", "volt_sem_acquire", "semaphore", &sem, VOLT_ENDS_HOLDERS_, 3,
     false},
    {lock, unlock, "volt_mutex", "volt_mutex_lock", "mutex", &mutex, VOLT_ENDS_HOLDERS_, 0, false},
    {read_lock, write_unlock, "volt_rwlock", "volt_rwlock_read", "rwlock", &rw, VOLT_ENDS_HOLDERS_,
     0, false},
    {write_lock, write_unlock, "volt_rwlock", "volt_rwlock_write", "rwlock", &rw,
     VOLT_ENDS_HOLDERS_, 0, true},
    {await_signal, signal_one, "volt_cond_wait_until", "volt_cond_wait", "cond", &cond,
     VOLT_ENDS_UNKNOWN_, 0, false},
    {await_latch, count_down, "volt_future_wait_until", "volt_latch_wait", "latch", &latch,
     VOLT_ENDS_UNKNOWN_, 0, false},
    {park, unpark, "volt_park_until", "volt_park_until", "parker", &parker, VOLT_ENDS_UNKNOWN_, 0,
     false},
    {await_either, release_second, "volt_future_wait_until", "volt_select", "", NULL,
     VOLT_ENDS_ANY_, 0, false},
};

static void set_up(uint32_t bypass) {
  volt_sem_init(&sem, 0);
  volt_mutex_init_bypass(&mutex, bypass);
  volt_rwlock_init_bypass(&rw, bypass);
  volt_cond_init(&cond);
  volt_latch_init(&latch, 1);
  volt_sem_init(&pair[0], 0);
  volt_sem_init(&pair[1], 0);
  memset((void *)&parker, 0, sizeof parker);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
}

static VOLT_ATOMIC(int32_t) tid_of_body;

static void run_body(void *arg, uint32_t index) {
  (void)index;
  volt_store_relaxed(&tid_of_body, (int32_t)syscall(SYS_gettid));
  ((const scene *)arg)->body();
}

static void expect_scene(const scene *s, const volt_sleeper_seen_ *seen) {
  described_expect(&seen->description, s->operation, s->kind, s->object, s->ends);
  assert_string_equal(seen->call, s->call);
  assert_int_equal(seen->description.for_write, s->for_write);
  if (s->wanted) assert_int_equal(seen->description.wanted, s->wanted);
  assert_string_equal(seen->description.state, "");
  assert_int_equal(seen->tid, volt_load_relaxed(&tid_of_body));
  assert_true(seen->deadline_ns == VOLT_NO_DEADLINE);
  assert_true(seen->since_ns <= volt_now_ns());
  assert_int_equal(seen->wait % 2, 1);
}

static void a_thread_that_sleeps_is_seen(void **state) {
  (void)state;
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    for (unsigned i = 0; i < sizeof scenes / sizeof *scenes; i++) {
      const scene *s = &scenes[i];
      volt_sleeper_seen_ seen, again;
      thread_team t;
      set_up(bypass);
      thread_team_start(&t, 1, run_body, (void *)(uintptr_t)s);
      seen = see_one();
      expect_scene(s, &seen);
      again = see_one();
      assert_int_equal(again.wait, seen.wait); /* it is the same wait */
      assert_int_equal(again.since_ns, seen.since_ns);
      s->let_go();
      thread_team_join(&t);
      assert_int_equal(see_all(NULL, 0), 0);
    }
  }
}

/* ---- one after another ---- */

static void wait_twice(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  REQUIRE(volt_sem_acquire(&pair[0], 1) == VOLT_OK);
  REQUIRE(volt_sem_acquire(&pair[1], 1) == VOLT_OK);
}

static void the_next_wait_is_another(void **state) {
  (void)state;
  volt_sleeper_seen_ first, second;
  thread_team t;
  set_up(0);
  thread_team_start(&t, 1, wait_twice, NULL);
  first = see_one();
  assert_ptr_equal(first.description.object, &pair[0]);
  volt_sem_release(&pair[0], 1);
  do {
    second = see_one();
  } while (second.description.object == &pair[0]);
  assert_ptr_equal(second.description.object, &pair[1]);
  assert_int_not_equal(second.wait, first.wait);
  assert_int_equal(second.number, first.number);
  volt_sem_release(&pair[1], 1);
  thread_team_join(&t);
}

static void wait_for_an_hour(void *arg, uint32_t index) {
  (void)index;
  REQUIRE(volt_sem_acquire_until(&sem, 1, *(const uint64_t *)arg) == VOLT_OK);
}

static void a_deadline_is_said(void **state) {
  (void)state;
  thread_team t;
  set_up(0);
  uint64_t deadline_ns = volt_deadline_s(3600);
  thread_team_start(&t, 1, wait_for_an_hour, &deadline_ns);
  volt_sleeper_seen_ seen = see_one();
  assert_int_equal(seen.deadline_ns, deadline_ns);
  assert_int_equal(seen.description.deadline_ns, deadline_ns);
  volt_sem_release(&sem, 1);
  thread_team_join(&t);
}

/* ---- many ---- */

enum { MANY = 8 };

static void wait_for_one(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  REQUIRE(volt_sem_acquire(&sem, 1) == VOLT_OK);
}

static void each_is_seen_once_in_batches(void **state) {
  (void)state;
  thread_team t;
  set_up(0);
  thread_team_start(&t, MANY, wait_for_one, NULL);
  WAIT_UNTIL(see_all(NULL, 0) == MANY);
  volt_sleeper_seen_ batch[3];
  int32_t tids[MANY];
  unsigned count = 0, got;
  for (uint64_t cursor = 0; (got = volt_sleepers_copy_(batch, 3, &cursor)) != 0;) {
    for (unsigned i = 0; i < got; i++) {
      for (unsigned k = 0; k < count; k++) assert_int_not_equal(tids[k], batch[i].tid);
      REQUIRE(count < MANY);
      tids[count++] = batch[i].tid;
    }
  }
  assert_int_equal(count, MANY);
  volt_sem_release(&sem, MANY);
  thread_team_join(&t);
  assert_int_equal(see_all(NULL, 0), 0);
}

/* As if a thread were stopped with the lock held. */
static void a_list_whose_lock_is_taken_is_left_alone(void **state) {
  (void)state;
  volt_sleeper_seen_ one;
  uint64_t cursor = 0, word;
  volt_sleeper_list_ *list = volt_sleepers_of_process_();
  volt_fifo_lock_(&list->lock, &word);
  assert_int_equal(volt_sleepers_copy_(&one, 1, &cursor), 0);
  assert_true(cursor == VOLT_SLEEPERS_BUSY_);
  volt_fifo_unlock_exact_(&list->lock, word);
  cursor = 0;
  assert_int_equal(volt_sleepers_copy_(&one, 1, &cursor), 0);
  assert_true(cursor != VOLT_SLEEPERS_BUSY_);
}

/* ---- the end of a thread, a fork ---- */

static pthread_key_t key;

static void sleeps_in_its_destructor(void *arg) {
  (void)arg;
  (void)volt_park_until(&parker, 1, volt_deadline_ms(1));
}

static void begins_to_end(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_sleeper_slot_ *s = volt_sleeper_here_();
  REQUIRE(s && s->id != 0 && s->tid == (int32_t)syscall(SYS_gettid));
  REQUIRE(pthread_setspecific(key, &key) == 0);
}

/* Its slot is not linked again: that memory is about to be freed. */
static void a_destructor_of_a_thread_may_sleep(void **state) {
  (void)state;
  thread_team t;
  set_up(0);
  REQUIRE(pthread_key_create(&key, sleeps_in_its_destructor) == 0);
  thread_team_start(&t, 4, begins_to_end, NULL);
  thread_team_join(&t);
  assert_int_equal(see_all(NULL, 0), 0);
  REQUIRE(pthread_key_delete(key) == 0);
}

static void in_the_child(void) {
  thread_team t;
  volt_sleeper_slot_ *own = volt_sleeper_here_();
  bool is_new = own && own->tid == (int32_t)syscall(SYS_gettid);
  if (see_all(NULL, 0) != 0 || !is_new) _exit(1); /* the others are not there */
  if (UNDER_TSAN) _exit(0);                       /* which starts no threads in a child */
  set_up(0);
  thread_team_start(&t, 1, wait_for_one, NULL);
  volt_sleeper_seen_ seen = see_one();
  if (seen.description.object != &sem) _exit(2);
  volt_sem_release(&sem, 1);
  thread_team_join(&t);
  _exit(see_all(NULL, 0) == 0 ? 0 : 3);
}

static void a_child_has_its_own_thread_only(void **state) {
  (void)state;
  for (int linked = 0; linked < 2; linked++) {
    thread_team t;
    int status;
    set_up(0);
    if (linked) assert_non_null(volt_sleeper_here_());
    thread_team_start(&t, 2, wait_for_one, NULL);
    WAIT_UNTIL(see_all(NULL, 0) == 2);
    pid_t child = fork();
    if (child == 0) in_the_child();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(see_all(NULL, 0), 2);
    volt_sem_release(&sem, 2);
    thread_team_join(&t);
  }
}

/* ---- the calls that sleep in their own way ---- */

static void does_nothing(void *arg) {
  (void)arg;
}

static void run_section(void *arg, uint32_t index) {
  volt_bcs_node node;
  (void)index;
  volt_bcs_lock_run((volt_bcs_lock *)arg, &node, does_nothing, NULL);
}

static const volt_sleeper_seen_ *find(const volt_sleeper_seen_ *seen, unsigned count,
                                      const char *kind) {
  for (unsigned i = 0; i < count; i++) {
    if (strcmp(volt_kind_name_(seen[i].description.kind), kind) == 0) return &seen[i];
  }
  return NULL;
}

static void wait_for_kind(volt_sleeper_seen_ *found, const char *kind) {
  volt_sleeper_seen_ seen[8];
  const volt_sleeper_seen_ *one;
  while ((one = find(seen, see_all(seen, 8), kind)) == NULL) sched_yield();
  *found = *one;
}

static void a_section_that_is_queued_is_seen(void **state) {
  (void)state;
  volt_bcs_lock lock_of_sections;
  bcs_holder holder;
  thread_team t;
  volt_sleeper_seen_ seen;
  volt_bcs_lock_init(&lock_of_sections);
  bcs_holder_start(&holder, &lock_of_sections);
  thread_team_start(&t, 1, run_section, &lock_of_sections);
  wait_for_kind(&seen, "bcs_lock");
  assert_ptr_equal(seen.description.object, &lock_of_sections);
  assert_string_equal(seen.call, "volt_bcs_lock_run");
  bcs_holder_end(&holder);
  thread_team_join(&t);
  volt_bcs_lock_destroy(&lock_of_sections);
}

static void handle_none(volt_bcs_node *node, void *ctx) {
  (void)node;
  (void)ctx;
}

static void run_actor(void *arg, uint32_t index) {
  (void)index;
  volt_actor_run((volt_actor *)arg, handle_none, NULL);
}

static void an_actor_that_sleeps_is_seen(void **state) {
  (void)state;
  volt_actor actor;
  thread_team t;
  volt_sleeper_seen_ seen;
  volt_actor_init(&actor);
  thread_team_start(&t, 1, run_actor, &actor);
  wait_for_kind(&seen, "actor");
  assert_ptr_equal(seen.description.object, &actor);
  volt_actor_stop(&actor);
  thread_team_join(&t);
}

/* Workers and idle threads of the pool wait for work. */
static int returns_ok(void *arg) {
  (void)arg;
  return VOLT_OK;
}

static void threads_that_wait_for_work_are_not_seen(void **state) {
  (void)state;
  volt_rt *rt;
  volt_blocking b;
  const volt_rt_config config = {.workers = 2};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  assert_result(volt_future_wait(volt_blocking_future(&b, rt, returns_ok, NULL)), VOLT_OK);
  for (unsigned i = 0; i < 1000; i++) {
    assert_int_equal(see_all(NULL, 0), 0);
    sched_yield();
  }
  assert_int_equal(volt_rt_destroy(rt), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_has_its_own_thread_only), /* first: it has not slept yet */
      cmocka_unit_test(a_thread_that_sleeps_is_seen),
      cmocka_unit_test(the_next_wait_is_another),
      cmocka_unit_test(a_deadline_is_said),
      cmocka_unit_test(each_is_seen_once_in_batches),
      cmocka_unit_test(a_list_whose_lock_is_taken_is_left_alone),
      cmocka_unit_test(a_destructor_of_a_thread_may_sleep),
      cmocka_unit_test(a_section_that_is_queued_is_seen),
      cmocka_unit_test(an_actor_that_sleeps_is_seen),
      cmocka_unit_test(threads_that_wait_for_work_are_not_seen),
  };
  return cmocka_run_group_tests_name("sleepers", tests, NULL, NULL);
}
