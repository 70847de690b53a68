/* cluster_life_test.c: a host from open to destroy, in whichever state it is closed, and what aborts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/cluster.h>

#include "by_hand.h"
#include "death.h"
#include "ignore.h"
#include "rough_ensemble.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static const volt_waker nobody = {NULL, NULL};

typedef struct scene {
  by_hand h;
  rough_ensemble *ensemble;
  volt_cluster *host;
  volt_cluster_sem *sem;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_cluster_permit other, third;
  volt_cluster_acquire_op waiting;
} scene;

static rough_faults quick = {.delay_ns = 2000000};

static volt_cluster *open_host(scene *s) {
  volt_cluster *host;
  volt_cluster_config config = {.rt = s->h.rt,
                                .kind = rough_ensemble_kind(),
                                .of_kind = s->ensemble,
                                .servers = "rough:1",
                                .session_ns = 4 * SECOND};
  assert_result(volt_cluster_open(&host, &config), VOLT_OK);
  return host;
}

static volt_cluster_sem *open_sem(volt_cluster *host, const char *name) {
  volt_cluster_sem *sem;
  volt_cluster_sem_config config = {.limit = 2};
  assert_result(volt_cluster_sem_open(&sem, host, name, &config), VOLT_OK);
  return sem;
}

static void begin(scene *s, const rough_faults *faults) {
  memset((void *)s, 0, sizeof *s);
  by_hand_begin(&s->h);
  s->ensemble = rough_ensemble_new(faults, 3);
  s->host = open_host(s);
  s->sem = open_sem(s->host, "a");
}

static uint64_t after(scene *s, uint64_t ns) {
  return volt_rt_now_ns(s->h.rt) + ns;
}

static void pass(scene *s, uint64_t ns) {
  volt_sleep_op nap;
  assert_result(
      volt_rt_run_until(s->h.rt, volt_sleep_future(&nap, volt_rt_timers(s->h.rt), after(s, ns)),
                        VOLT_NO_DEADLINE),
      VOLT_OK);
  (void)by_hand_run(&s->h);
}

static int acquire_more(scene *s, volt_cluster_permit *p) {
  return volt_rt_run_until(s->h.rt, volt_cluster_acquire_future(&s->acquire, s->sem, p),
                           after(s, 5 * SECOND));
}

static int acquire(scene *s, uint64_t patience_ns) {
  return volt_rt_run_until(s->h.rt, volt_cluster_acquire_future(&s->acquire, s->sem, &s->permit),
                           after(s, patience_ns));
}

static int close_host(scene *s) {
  volt_future f;
  int result =
      volt_rt_run_until(s->h.rt, volt_cluster_close_future(&f, s->host), after(s, 5 * SECOND));
  (void)by_hand_run(&s->h);
  return result;
}

/* cancelled: tasks that the runtime's shutdown had to cancel. */
static void end_with(scene *s, uint64_t cancelled) {
  volt_cluster_destroy(s->host);
  assert_int_equal(rough_ensemble_count(s->ensemble, "/volt/a/s"), 0);
  rough_ensemble_free(s->ensemble);
  by_hand_end(&s->h, cancelled);
}

static void end(scene *s) {
  end_with(s, 0);
}

/* ---- an answer that comes late ---- */

typedef struct late {
  unsigned takes, heartbeats;
} late;

static enum rough_fate late_fate(const volt_cluster_request *r, uint64_t *delay_ns, void *arg) {
  late *l = (late *)arg;
  *delay_ns = 1 * MS;
  if (r->kind != VOLT_CLUSTER_WRITE) return ROUGH_ANSWER;
  bool is_take = strstr(r->actions[0].path, "/a/s/") != NULL;
  bool is_heartbeat = l->takes > 0 && r->actions[0].kind == VOLT_CLUSTER_CHECK;
  if (is_take && l->takes++ == 0) *delay_ns = 2100 * MS; /* more than half of the session's time */
  if (is_heartbeat && l->heartbeats++ < 2) *delay_ns = 2100 * MS; /* so are these */
  return ROUGH_ANSWER;
}

/* The leases are not valid any more as the answer of TAKE arrives, and are again later. */
static void test_slots_whose_answer_was_late_are_offered(void **state) {
  (void)state;
  late l = {0, 0};
  rough_faults faults = {.delay_ns = 1000000, .fate = late_fate, .arg = &l};
  scene s;
  begin(&s, &faults);
  assert_result(acquire(&s, 20 * SECOND), VOLT_OK);
  assert_true(volt_cluster_permit_is_valid(&s.permit));
  volt_cluster_release(&s.permit);
  assert_result(close_host(&s), VOLT_OK);
  end(&s);
}

/* ---- closing ---- */

/* After so many milliseconds, with a task that waits, or has a permit, or neither. */
static void test_close_at_any_time(void **state) {
  (void)state;
  for (unsigned ms = 0; ms < 60; ms++) {
    for (int keeps = 0; keeps < 3; keeps++) {
      scene s;
      begin(&s, &quick);
      volt_future *f = volt_cluster_acquire_future(&s.acquire, s.sem, &s.permit);
      int result = keeps ? volt_future_poll(f, nobody) : VOLT_PENDING;
      if (ms) pass(&s, ms * MS);
      if (keeps && result == VOLT_PENDING && ms % 2) result = volt_future_poll(f, nobody);
      if (keeps == 2 && result == VOLT_OK) volt_cluster_release(&s.permit);
      int closed = close_host(&s);
      assert_true(closed == VOLT_OK || closed == VOLT_CLUSTER_EAWAY);
      assert_result(close_host(&s), closed);
      if (keeps && result == VOLT_PENDING) {
        result = volt_future_poll(f, nobody);
        assert_true(result == VOLT_ECLOSED || result == VOLT_OK);
        keeps = result == VOLT_OK ? 1 : keeps;
      }
      if (keeps == 1 && result == VOLT_OK) {
        assert_false(volt_cluster_permit_is_valid(&s.permit));
        volt_cluster_release(&s.permit);
      }
      end(&s);
    }
  }
}

static void test_a_runtime_that_shuts_down(void **state) {
  (void)state;
  for (unsigned ms = 0; ms < 40; ms += 3) {
    scene s;
    begin(&s, &quick);
    volt_future *f = volt_cluster_acquire_future(&s.acquire, s.sem, &s.permit);
    int result = volt_future_poll(f, nobody);
    if (ms) pass(&s, ms * MS);
    (void)volt_rt_shutdown(s.h.rt, volt_deadline_ns(1));
    for (int i = 0; i < 10; i++) {
      volt_rt_advance(s.h.rt, 10 * MS);
      (void)by_hand_run(&s.h);
    }
    assert_result(volt_rt_shutdown(s.h.rt, volt_deadline_ns(60 * SECOND)), VOLT_OK);
    if (result == VOLT_PENDING) result = volt_future_poll(f, nobody);
    if (result == VOLT_OK) {
      assert_false(volt_cluster_permit_is_valid(&s.permit));
      volt_cluster_release(&s.permit);
    } else {
      assert_result(result, VOLT_ECLOSED);
    }
    volt_cluster_sem *other;
    assert_result(volt_cluster_sem_open(&other, s.host, "b", NULL), VOLT_ECLOSED);
    assert_null(other);
    end_with(&s, 1);
  }
}

/* ---- giving up ---- */

static void test_cancel_at_any_time(void **state) {
  (void)state;
  for (unsigned ms = 0; ms < 60; ms++) {
    scene s;
    begin(&s, &quick);
    volt_future *f = volt_cluster_acquire_future(&s.acquire, s.sem, &s.permit);
    (void)volt_future_poll(f, nobody);
    pass(&s, ms * MS);
    volt_future_cancel(f);
    pass(&s, SECOND); /* longer than linger */
    volt_cluster_lease_stats stats;
    volt_cluster_sem_stats(s.sem, &stats);
    assert_int_equal(stats.leased, 0);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(rough_ensemble_count(s.ensemble, "/volt/a/s"), 0);
    assert_int_equal(rough_ensemble_count(s.ensemble, "/volt/a/q0"), 0);
    assert_result(acquire(&s, 5 * SECOND), VOLT_OK);
    volt_cluster_release(&s.permit);
    assert_result(close_host(&s), VOLT_OK);
    end(&s);
  }
}

/* ---- many ---- */

static void test_a_thousand_semaphores(void **state) {
  (void)state;
  enum { MANY = 1000 };
  static volt_cluster_sem *sems[MANY];
  static volt_cluster_acquire_op acquires[MANY];
  static volt_cluster_permit permits[MANY];
  scene s;
  begin(&s, &quick);
  for (unsigned i = 0; i < MANY; i++) {
    char name[20];
    (void)snprintf(name, sizeof name, "many-%u", i);
    sems[i] = open_sem(s.host, name);
    (void)volt_future_poll(volt_cluster_acquire_future(&acquires[i], sems[i], &permits[i]), nobody);
  }
  for (unsigned i = 0; i < MANY; i++) {
    assert_result(volt_rt_run_until(s.h.rt, &acquires[i].future, after(&s, 100 * SECOND)), VOLT_OK);
  }
  for (unsigned i = 0; i < MANY; i++) volt_cluster_release(&permits[i]);
  pass(&s, SECOND);
  uint64_t writes = rough_ensemble_writes(s.ensemble);
  pass(&s, 10 * SECOND);
  assert_int_equal(rough_ensemble_writes(s.ensemble), writes); /* idle: none */
  assert_result(close_host(&s), VOLT_OK);
  end(&s);
}

/* A name may be used again while its last permit is still out. */
static void test_a_name_again(void **state) {
  (void)state;
  scene s;
  begin(&s, &quick);
  assert_result(acquire(&s, 5 * SECOND), VOLT_OK);
  volt_cluster_sem *other;
  assert_result(volt_cluster_sem_open(&other, s.host, "a", NULL), VOLT_EINVAL);
  volt_cluster_sem_close(s.sem);
  volt_cluster_permit before = s.permit, p;
  volt_cluster_acquire_op more[2];
  assert_result(volt_cluster_try_acquire(s.sem, &p), VOLT_ECLOSED);
  s.sem = open_sem(s.host, "a");
  assert_result(acquire(&s, 5 * SECOND), VOLT_OK);
  assert_int_not_equal(volt_cluster_permit_fence(&before).slot,
                       volt_cluster_permit_fence(&s.permit).slot);
  volt_future *f = volt_cluster_acquire_future(&more[0], s.sem, &p);
  assert_result(volt_rt_run_until(s.h.rt, f, after(&s, 2 * SECOND)), VOLT_ETIMEDOUT);
  volt_cluster_release(&before);
  f = volt_cluster_acquire_future(&more[1], s.sem, &p);
  assert_result(volt_rt_run_until(s.h.rt, f, after(&s, 2 * SECOND)), VOLT_OK);
  volt_cluster_release(&p);
  volt_cluster_release(&s.permit);
  assert_result(close_host(&s), VOLT_OK);
  end(&s);
}

/* ---- what is refused, and what aborts ---- */

static void test_what_is_refused(void **state) {
  (void)state;
  scene s;
  begin(&s, &quick);
  static const char *const names[] = {"", ".x", "a/b", "a b", "\xc3\xa4", "a\n"};
  volt_cluster_sem *sem;
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    assert_result(volt_cluster_sem_open(&sem, s.host, names[i], NULL), VOLT_EINVAL);
    assert_null(sem);
  }
  char longest[102];
  memset(longest, 'x', sizeof longest);
  longest[101] = '\0';
  assert_result(volt_cluster_sem_open(&sem, s.host, longest, NULL), VOLT_EINVAL);
  longest[100] = '\0';
  assert_result(volt_cluster_sem_open(&sem, s.host, longest, NULL), VOLT_OK);
  assert_result(
      volt_cluster_sem_open(&sem, s.host, "r", &(volt_cluster_sem_config){.reserved = {0, 1}}),
      VOLT_EINVAL);
  assert_result(volt_cluster_sem_open(&sem, s.host, "l",
                                      &(volt_cluster_sem_config){.limit = VOLT_SEM_MAX + 1u}),
                VOLT_EINVAL);
  volt_cluster *host;
  static const char *const roots[] = {"", "volt", "/volt/", "//", "/a//b"};
  for (unsigned i = 0; i < sizeof roots / sizeof *roots; i++) {
    volt_cluster_config config = {.rt = s.h.rt,
                                  .kind = rough_ensemble_kind(),
                                  .of_kind = s.ensemble,
                                  .servers = "x:1",
                                  .root = roots[i]};
    assert_result(volt_cluster_open(&host, &config), VOLT_EINVAL);
    assert_null(host);
  }
  assert_result(volt_cluster_open(&host, &(volt_cluster_config){.kind = rough_ensemble_kind()}),
                VOLT_EINVAL);
  volt_cluster_change change;
  assert_result(volt_rt_run_until(
                    s.h.rt, volt_cluster_sem_set_limit_future(&change, s.sem, VOLT_SEM_MAX + 1u),
                    after(&s, SECOND)),
                VOLT_EINVAL);
  assert_result(volt_rt_run_until(s.h.rt, volt_cluster_sem_set_limit_future(&change, s.sem, 7),
                                  after(&s, SECOND)),
                VOLT_OK);
  volt_cluster_destroy(NULL);
  assert_result(close_host(&s), VOLT_OK);
  end(&s);
}

/* Each begins a scene of its own, because a child must not use what its parent has opened. */
static void begin_with_permit(scene *s) {
  begin(s, &quick);
  if (acquire(s, 5 * SECOND) != VOLT_OK) exit(1);
}

static void release_none(void *arg) {
  volt_cluster_permit none = {.sem = NULL};
  (void)arg;
  volt_cluster_release(&none);
}

static void release_twice(void *arg) {
  scene s;
  (void)arg;
  begin_with_permit(&s);
  volt_cluster_permit copy = s.permit;
  volt_cluster_release(&s.permit);
  if (acquire(&s, SECOND) == VOLT_OK) volt_cluster_release(&copy);
}

static void look_at_none(void *arg) {
  volt_cluster_permit none = {.sem = NULL};
  (void)arg;
  (void)volt_cluster_permit_fence(&none);
}

static void destroy_open(void *arg) {
  scene s;
  (void)arg;
  begin(&s, &quick);
  volt_cluster_destroy(s.host);
}

static void destroy_with_permit(void *arg) {
  scene s;
  (void)arg;
  begin_with_permit(&s);
  if (close_host(&s) == VOLT_OK) volt_cluster_destroy(s.host);
}

static void release_while_lost_is_awaited(void *arg) {
  volt_future lost;
  scene s;
  (void)arg;
  begin_with_permit(&s);
  (void)volt_future_poll(volt_cluster_permit_lost_future(&lost, &s.permit), nobody);
  volt_cluster_release(&s.permit);
}

/* ---- a child of fork() ---- */

static void child_opens(scene *s) {
  volt_cluster_sem *sem;
  ignore_result(volt_cluster_sem_open(&sem, s->host, "child", NULL));
}

static void child_closes(scene *s) {
  volt_future f;
  (void)volt_future_poll(volt_cluster_close_future(&f, s->host), nobody);
}

static void child_destroys(scene *s) {
  volt_cluster_destroy(s->host);
}

static void child_looks(scene *s) {
  volt_cluster_stats_of stats;
  volt_cluster_stats(s->host, &stats);
}

static void child_looks_at_sem(scene *s) {
  volt_cluster_lease_stats stats;
  volt_cluster_sem_stats(s->sem, &stats);
}

static void child_closes_sem(scene *s) {
  volt_cluster_sem_close(s->sem);
}

static void child_tries(scene *s) {
  volt_cluster_permit p;
  ignore_result(volt_cluster_try_acquire(s->sem, &p));
}

static void child_acquires(scene *s) {
  volt_cluster_permit p;
  volt_cluster_acquire_op a;
  (void)volt_future_poll(volt_cluster_acquire_future(&a, s->sem, &p), nobody);
}

static void child_acquires_twice(scene *s) {
  volt_cluster_permit p[2];
  for (int i = 0; i < 2; i++) ignore_result(volt_cluster_acquire_until(s->sem, &p[i], 0));
}

static void child_polls(scene *s) {
  (void)volt_future_poll(&s->waiting.future, nobody);
}

static void child_cancels(scene *s) {
  (void)volt_future_cancel(&s->waiting.future);
}

static void child_releases(scene *s) {
  volt_cluster_release(&s->permit);
}

static void child_awaits_loss(scene *s) {
  volt_future f;
  (void)volt_future_poll(volt_cluster_permit_lost_future(&f, &s->permit), nobody);
}

static void child_changes_limit(scene *s) {
  volt_cluster_change change;
  (void)volt_future_poll(volt_cluster_sem_set_limit_future(&change, s->sem, 5), nobody);
}

static void child_drives(scene *s) {
  pass(s, SECOND);
}

typedef struct child {
  void (*act)(scene *s);
  bool is_free;  /* a slot is, as the child begins */
  bool is_plain; /* no handler of pthread_atfork() runs */
} child;

/* The parent has a permit of two, and a task waits, or a slot is free. */
static void be_child(void *arg) {
  const child *c = (const child *)arg;
  scene s;
  begin_with_permit(&s);
  if (acquire_more(&s, &s.other) != VOLT_OK) exit(1);
  if (c->is_free) volt_cluster_release(&s.other);
  volt_future *f = volt_cluster_acquire_future(&s.waiting, s.sem, &s.third);
  if (!c->is_free && volt_future_poll(f, nobody) != VOLT_PENDING) exit(1);
  (void)fflush(NULL);
  pid_t id = c->is_plain ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
  if (id == 0) {
    c->act(&s);
    _exit(0);
  }
  int status;
  if (waitpid(id, &status, 0) != id || !WIFSIGNALED(status)) _exit(1);
  if (WTERMSIG(status) == SIGABRT) abort();
  _exit(1);
}

static void test_what_aborts_in_a_child(void **state) {
  (void)state;
  static const child children[] = {
      {child_opens, true, false},         {child_closes, true, false},
      {child_destroys, true, false},      {child_looks, true, false},
      {child_looks_at_sem, true, false},  {child_closes_sem, true, false},
      {child_tries, true, false},         {child_tries, true, true},
      {child_tries, false, true},         {child_acquires, true, false},
      {child_acquires, true, true},       {child_acquires, false, true},
      {child_acquires_twice, true, true}, {child_acquires_twice, false, false},
      {child_polls, false, true},         {child_cancels, false, true},
      {child_releases, false, false},     {child_releases, false, true},
      {child_awaits_loss, false, true},   {child_changes_limit, false, true},
      {child_drives, false, true},
  };
  for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
    assert_death(be_child, (void *)(uintptr_t)&children[i], "was opened by process");
  }
}

/* Exits with 0 if its copy of a permit is worth nothing. */
static void child_asks(const scene *s, const volt_cluster_fence *fence) {
  volt_cluster_fence own = volt_cluster_permit_fence(&s->permit);
  volt_cluster_permit copy = s->permit;
  bool is_lost = !volt_cluster_permit_is_valid(&s->permit) &&
                 volt_cluster_permit_valid_until_ns(&copy) == 0 && volt_cluster_now_ns(s->host) > 0;
  _exit(is_lost && volt_cluster_fence_compare(&own, fence) == 0 ? 0 : 1);
}

static void test_a_permit_is_not_valid_in_a_child(void **state) {
  (void)state;
  scene s;
  begin(&s, &quick);
  assert_result(acquire(&s, 5 * SECOND), VOLT_OK);
  volt_cluster_fence fence = volt_cluster_permit_fence(&s.permit);
  for (int is_plain = 0; is_plain < 2; is_plain++) {
    pid_t id = is_plain ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (id == 0) child_asks(&s, &fence);
    int status;
    assert_int_equal(waitpid(id, &status, 0), id);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(volt_cluster_permit_is_valid(&s.permit)); /* here it is */
  }
  volt_cluster_release(&s.permit);
  assert_result(acquire(&s, 5 * SECOND), VOLT_OK);
  volt_cluster_release(&s.permit);
  assert_result(close_host(&s), VOLT_OK);
  end(&s);
}

static void test_what_aborts(void **state) {
  (void)state;
  assert_death(release_none, NULL, "volt_cluster_release", "is no permit");
  assert_death(release_twice, NULL, "volt_cluster_release", "was released already");
  assert_death(look_at_none, NULL, "volt_cluster_permit_fence", "is no permit");
  assert_death(destroy_open, NULL, "volt_cluster_destroy", "has not been closed");
  assert_death(destroy_with_permit, NULL, "volt_cluster_destroy", "a permit of a is out");
  assert_death(release_while_lost_is_awaited, NULL, "a lost future still waits");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slots_whose_answer_was_late_are_offered),
      cmocka_unit_test(test_close_at_any_time),
      cmocka_unit_test(test_a_runtime_that_shuts_down),
      cmocka_unit_test(test_cancel_at_any_time),
      cmocka_unit_test(test_a_thousand_semaphores),
      cmocka_unit_test(test_a_name_again),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_what_aborts),
      cmocka_unit_test(test_what_aborts_in_a_child),
      cmocka_unit_test(test_a_permit_is_not_valid_in_a_child),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
