/* group_next_test.c: groups that go on after a failure, whose results are kept until they are taken,
 * and whose tasks are cancelled alone. */
#include "by_hand.h"

#include <volt/channel.h>
#include <volt/select.h>

#include "thread_team.h"

/* Waits for a permit of its own, then returns what it is to return. */
typedef struct job {
  volt_task task;
  volt_future permit;
  volt_sem go;
  int returns;
  int returns_if_cancelled;
  int result; /* of its await */
} job;

static by_hand h;
static volt_group g;
static bool is_over; /* the group has been destroyed by the test */
static fake_waker a;
static fake_waker b;
static volt_future f;
static volt_task *t;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_group_init_how(&g, VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS);
  is_over = false;
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (!is_over) volt_group_destroy(&g);
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

static int waits(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->permit, &self->go, 1));
  VOLT_RETURN(self, self->result == VOLT_OK ? self->returns : self->returns_if_cancelled);
  VOLT_TASK_END(self);
}

/* More than a pool's block: its memory is seen to be freed. */
static job *new_job(int returns) {
  job *j = (job *)volt_task_new(h.rt, sizeof *j + 2000, waits);
  assert_non_null(j);
  volt_sem_init(&j->go, 0);
  j->returns = returns;
  j->returns_if_cancelled = VOLT_ECANCELED;
  return j;
}

static job *spawn(int returns) {
  job *j = new_job(returns);
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  return j;
}

static job *spawn_member(int returns, volt_group_member *m) {
  job *j = new_job(returns);
  assert_result(volt_group_spawn_member(&g, h.rt, &j->task, m), VOLT_OK);
  by_hand_run(&h);
  return j;
}

/* It ends, with what it returns. */
static void let_end(job *j) {
  volt_sem_release(&j->go, 1);
  by_hand_run(&h);
}

/* The next one is j: it is the test's now. */
static void expect_next(job *j, int result) {
  assert_result(volt_group_try_next(&g, &t), VOLT_OK);
  assert_ptr_equal(t, &j->task);
  assert_result(volt_task_result(t), result);
  volt_task_detach(t);
}

static void expect_no_next(int result) {
  t = (volt_task *)(void *)&h;
  assert_result(volt_group_try_next(&g, &t), result);
  assert_null(t);
}

static void begin_again(unsigned how) {
  volt_group_destroy(&g);
  volt_group_init_how(&g, how);
}

/* ---- policy ---- */

static void a_failure_is_its_tasks_alone(void **state) {
  (void)state;
  job *fails = spawn(VOLT_EINVAL);
  job *stays = spawn(3);
  let_end(fails);
  assert_false(volt_group_is_cancelled(&g));
  assert_result(volt_group_result(&g), VOLT_EINVAL);
  assert_int_equal(volt_group_count(&g), 1);
  job *late = spawn(VOLT_OK); /* it takes more */
  let_end(late);
  let_end(stays);
  expect_next(fails, VOLT_EINVAL);
  expect_next(late, VOLT_OK);
  expect_next(stays, 3);
  assert_result(volt_group_wait_until(&g, PAST_DEADLINE), VOLT_EINVAL);
}

static void a_failure_cancels_the_others_and_all_are_kept(void **state) {
  (void)state;
  begin_again(VOLT_GROUP_FAIL_FAST | VOLT_GROUP_KEEP_RESULTS);
  job *waiting = spawn(VOLT_OK);
  job *fails = spawn(VOLT_EINVAL);
  let_end(fails);
  assert_true(volt_group_is_cancelled(&g));
  expect_next(fails, VOLT_EINVAL);
  expect_next(waiting, VOLT_ECANCELED);
  expect_no_next(VOLT_EEMPTY);
}

/* However many have come and gone, and failed. */
static void results_that_nobody_wants_take_no_memory(void **state) {
  (void)state;
  begin_again(VOLT_GROUP_KEEP_GOING);
  spawn(VOLT_OK);
  uint64_t held = by_hand_held(&h);
  for (int i = 0; i < 100000; i++) let_end(spawn(i % 2 ? VOLT_EINVAL : VOLT_OK));
  assert_true(by_hand_held(&h) == held);
  assert_int_equal(volt_group_count(&g), 1);
  volt_group_cancel(&g);
  by_hand_run(&h);
  assert_true(volt_group_is_empty(&g));
  assert_true(by_hand_held(&h) < held);
}

/* ---- the next ---- */

static void they_are_taken_in_the_order_in_which_they_ended(void **state) {
  (void)state;
  expect_no_next(VOLT_EEMPTY);
  assert_true(volt_group_is_empty(&g));
  job *jobs[4];
  for (int i = 0; i < 4; i++) jobs[i] = spawn(10 + i);
  expect_no_next(VOLT_EAGAIN);
  static const int order[] = {2, 0, 3, 1};
  for (int i = 0; i < 4; i++) let_end(jobs[order[i]]);
  assert_int_equal(volt_group_count(&g), 0);
  assert_false(volt_group_is_empty(&g));
  for (int i = 0; i < 4; i++) expect_next(jobs[order[i]], 10 + order[i]);
  expect_no_next(VOLT_EEMPTY);
  assert_true(volt_group_is_empty(&g));
}

static void whoever_waits_for_the_next_is_told_of_one(void **state) {
  (void)state;
  job *first = spawn(11);
  job *second = spawn(2);
  assert_result(volt_future_poll(volt_group_next_future(&f, &g, &t), fake_waker_of(&a)),
                VOLT_PENDING);
  assert_result(volt_future_poll(&f, fake_waker_of(&b)), VOLT_PENDING);
  let_end(second);
  let_end(first);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_OK);
  assert_ptr_equal(t, &second->task);
  volt_task_detach(t);
  assert_result(volt_group_next_until(&g, &t, PAST_DEADLINE), VOLT_OK); /* at once */
  assert_ptr_equal(t, &first->task);
  volt_task_detach(t);
  assert_result(volt_group_next(&g, &t), VOLT_EEMPTY);
  spawn(3);
  assert_result(volt_group_next_until(&g, &t, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_null(t);
  volt_group_cancel(&g);
  by_hand_run(&h);
}

/* Taken by a future that is given up: it is the oldest again, and whoever waits by then gets it. */
static void what_is_given_back_is_the_next_again(void **state) {
  (void)state;
  job *first = spawn(11);
  job *second = spawn(2);
  volt_future again;
  volt_task *other;
  assert_result(volt_future_poll(volt_group_next_future(&f, &g, &t), fake_waker_of(&a)),
                VOLT_PENDING);
  let_end(first);
  assert_int_equal(fake_waker_calls(&a), 1);
  volt_future_made(volt_group_next_future(&again, &g, &other));
  assert_result(volt_future_poll(&again, fake_waker_of(&b)), VOLT_PENDING); /* one is taken */
  volt_future_cancel(&f);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_ECANCELED);
  assert_null(t);
  assert_int_equal(fake_waker_calls(&b), 1);
  let_end(second);
  volt_future_cancel(&again); /* it is before the second */
  expect_next(first, 11);
  expect_next(second, 2);
}

static void a_next_that_loses_a_select_takes_nothing(void **state) {
  (void)state;
  job *j = spawn(11);
  volt_sem sem;
  volt_future permit;
  volt_select select;
  volt_sem_init(&sem, 0);
  volt_future *either[] = {volt_sem_acquire_future(&permit, &sem, 1),
                           volt_group_next_future(&f, &g, &t)};
  volt_future_made(volt_select_future(&select, either, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&select.future, fake_waker_of(&a)), VOLT_PENDING);
  let_end(j);
  volt_sem_release(&sem, 1);
  assert_result(volt_future_poll(&select.future, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(volt_select_winner(&select), 0);
  assert_null(t);
  expect_next(j, 11);
  volt_sem_destroy(&sem);
}

static void destroy_gives_back_what_was_not_taken(void **state) {
  (void)state;
  uint64_t before = by_hand_held(&h);
  job own;
  memset((void *)&own, 0, sizeof own);
  volt_task_init(&own.task, waits);
  volt_sem_init(&own.go, 1);
  assert_result(volt_group_spawn(&g, h.rt, &own.task), VOLT_OK);
  for (int i = 0; i < 3; i++) let_end(spawn(10 + i));
  assert_true(by_hand_held(&h) > before);
  volt_group_destroy(&g);
  is_over = true;
  assert_true(by_hand_held(&h) == before);
  memset((void *)&own, 0xa5, sizeof own);
}

static void the_group_is_cancelled_and_its_results_taken(void **state) {
  (void)state;
  job *jobs[100];
  for (int i = 0; i < 100; i++) jobs[i] = spawn(VOLT_OK);
  assert_result(volt_future_poll(volt_group_next_future(&f, &g, &t), fake_waker_of(&a)),
                VOLT_PENDING);
  volt_group_cancel(&g);
  by_hand_run(&h);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_OK);
  assert_ptr_equal(t, &jobs[0]->task);
  volt_task_detach(t);
  for (int i = 1; i < 100; i++) expect_next(jobs[i], VOLT_ECANCELED);
  expect_no_next(VOLT_EEMPTY);
}

static int returned; /* to the thread */

static void take_in_thread(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  returned = volt_group_next(&g, &t);
}

static void a_thread_takes_it(void **state) {
  (void)state;
  job *j = spawn(5);
  thread_team team;
  thread_team_start(&team, 1, take_in_thread, NULL);
  let_end(j);
  thread_team_join(&team);
  assert_result(returned, VOLT_OK);
  assert_result(volt_task_result(t), 5);
  volt_task_detach(t);
}

/* ---- one alone ---- */

static void one_is_cancelled_alone(void **state) {
  (void)state;
  volt_group_member m[3];
  job *jobs[3];
  for (int i = 0; i < 3; i++) jobs[i] = spawn_member(VOLT_OK, &m[i]);
  assert_true(volt_group_member_cancel(&m[1]));
  assert_false(volt_group_member_cancel(&m[1])); /* asked before */
  by_hand_run(&h);
  assert_int_equal(volt_group_count(&g), 2);
  expect_next(jobs[1], VOLT_ECANCELED);
  assert_result(volt_group_result(&g), VOLT_OK); /* no failure of it */
  assert_false(volt_group_member_cancel(&m[1])); /* and its memory is gone */
  memset((void *)&m[1], 0xa5, sizeof m[1]);
  let_end(jobs[0]);
  assert_false(volt_group_member_cancel(&m[0]));
  expect_next(jobs[0], VOLT_OK);
  assert_false(volt_group_member_cancel(&m[0]));
  volt_group_cancel(&g);
  assert_false(volt_group_member_cancel(&m[2])); /* asked with all */
  by_hand_run(&h);
  expect_next(jobs[2], VOLT_ECANCELED);
}

static void one_that_is_cancelled_alone_does_not_fail_the_group(void **state) {
  (void)state;
  begin_again(VOLT_GROUP_FAIL_FAST);
  volt_group_member m[2];
  spawn_member(VOLT_OK, &m[0]);
  spawn_member(VOLT_OK, &m[1])->returns_if_cancelled = VOLT_EINVAL;
  assert_true(volt_group_member_cancel(&m[0]));
  by_hand_run(&h);
  assert_false(volt_group_is_cancelled(&g));
  assert_true(volt_group_member_cancel(&m[1]));
  by_hand_run(&h);
  assert_true(volt_group_is_cancelled(&g)); /* another failure is one, asked or not */
  assert_result(volt_group_wait_until(&g, PAST_DEADLINE), VOLT_EINVAL);
}

static void a_handle_that_was_given_up(void **state) {
  (void)state;
  volt_group_member m[2];
  memset(&m, 0, sizeof m);
  assert_false(volt_group_member_cancel(&m[0])); /* of no task */
  volt_group_member_drop(&m[0]);
  job *first = spawn_member(11, &m[0]);
  job *second = spawn_member(2, &m[1]);
  volt_group_member_drop(&m[0]);
  assert_false(volt_group_member_cancel(&m[0]));
  memset((void *)&m[0], 0xa5, sizeof m[0]);
  let_end(first);
  let_end(second);
  volt_group_member_drop(&m[1]);
  expect_next(first, 11);
  expect_next(second, 2);
}

static void a_spawn_that_was_refused_has_no_member(void **state) {
  (void)state;
  volt_group_member m;
  assert_result(volt_group_spawn_member(&g, h.rt, NULL, &m), VOLT_ENOMEM);
  assert_false(volt_group_member_cancel(&m));
  volt_group_cancel(&g);
  job *j = new_job(VOLT_OK);
  assert_result(volt_group_spawn_member(&g, h.rt, &j->task, &m), VOLT_ECANCELED);
  assert_false(volt_group_member_cancel(&m));
  volt_group_member_drop(&m);
  volt_task_detach(&j->task);
}

/* ---- a task of the group ---- */

static int spawns_another(volt_task *task, volt_ctx *ctx) {
  (void)ctx;
  job *child = (job *)volt_task_new(h.rt, sizeof *child, waits);
  REQUIRE(child);
  volt_sem_init(&child->go, 1);
  child->returns = job_of(task)->returns + 1;
  REQUIRE(volt_group_spawn(&g, h.rt, &child->task) == VOLT_OK);
  return job_of(task)->returns;
}

static void a_task_of_it_spawns_into_it(void **state) {
  (void)state;
  job *j = VOLT_TASK_NEW(h.rt, job, spawns_another);
  j->returns = 11;
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  expect_next(j, 11);
  assert_result(volt_group_try_next(&g, &t), VOLT_OK);
  assert_result(volt_task_result(t), 12);
  volt_task_detach(t);
  expect_no_next(VOLT_EEMPTY);
}

/* ---- the server of volt/task.h ---- */

struct request {
  volt_task task;
  int fd;
};

struct server {
  volt_task task;
  volt_rt *rt;
  volt_group group;
  volt_chan *connections;
  volt_future accept;
  volt_future next;
  volt_future *either[2];
  volt_select select;
  volt_task *ended;
  int fd;
  int result;
  unsigned failed;
  unsigned served;
};

static int request_poll(volt_task *task, volt_ctx *ctx) {
  struct request *self = volt_container_of(task, struct request, task);
  (void)ctx;
  return self->fd % 3 == 0 ? VOLT_EINVAL : VOLT_OK;
}

static void refuse(int fd, struct request *r, int why) {
  (void)fd;
  if (r) volt_task_detach(&r->task);
  REQUIRE(why != VOLT_OK);
}

static int serve_poll(volt_task *task, volt_ctx *ctx) {
  struct server *self = volt_container_of(task, struct server, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    self->either[0] = volt_chan_recv_future(&self->accept, self->connections, &self->fd);
    self->either[1] = volt_group_is_empty(&self->group)
                          ? NULL
                          : volt_group_next_future(&self->next, &self->group, &self->ended);
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_select_future(&self->select, self->either, 2, VOLT_SELECT_FAIR));
    if (self->result != VOLT_OK) break;
    if (volt_select_winner(&self->select) == 0) {
      struct request *r = VOLT_TASK_NEW(self->rt, struct request, request_poll);
      if (r) r->fd = self->fd;
      int spawned = volt_group_spawn(&self->group, self->rt, r ? &r->task : NULL);
      if (spawned != VOLT_OK) refuse(self->fd, r, spawned);
    } else {
      if (volt_task_result(self->ended) < 0) self->failed += 1;
      volt_task_detach(self->ended);
      self->served += 1;
    }
  }
  VOLT_FINALLY(self);
  volt_group_cancel(&self->group);
  VOLT_AWAIT_RESULT(self, self->result, volt_group_wait_future(&self->next, &self->group));
  volt_group_destroy(&self->group);
  VOLT_TASK_END(self);
}

static void a_server_goes_on_after_requests_that_fail(void **state) {
  (void)state;
  enum { REQUESTS = 300 };
  volt_chan connections;
  uint64_t places[16];
  struct server *s = VOLT_TASK_NEW(h.rt, struct server, serve_poll);
  assert_non_null(s);
  assert_result(volt_chan_init(&connections, 4, sizeof(int), places, sizeof places), VOLT_OK);
  volt_group_init_how(&s->group, VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS);
  s->rt = h.rt;
  s->connections = &connections;
  assert_result(volt_spawn(h.rt, &s->task), VOLT_OK);
  for (int fd = 0; fd < REQUESTS; fd++) {
    assert_result(volt_chan_try_send(&connections, &fd), VOLT_OK);
    by_hand_run(&h);
    by_hand_expect_live(&h, 1); /* the server, nobody else */
  }
  volt_chan_close(&connections);
  by_hand_run(&h);
  assert_result(volt_task_result(&s->task), VOLT_OK);
  assert_int_equal(s->served, REQUESTS);
  assert_int_equal(s->failed, REQUESTS / 3);
  volt_task_detach(&s->task);
  volt_chan_destroy(&connections, NULL, NULL);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_failure_is_its_tasks_alone),
      A_TEST(a_failure_cancels_the_others_and_all_are_kept),
      A_TEST(results_that_nobody_wants_take_no_memory),
      A_TEST(they_are_taken_in_the_order_in_which_they_ended),
      A_TEST(whoever_waits_for_the_next_is_told_of_one),
      A_TEST(what_is_given_back_is_the_next_again),
      A_TEST(a_next_that_loses_a_select_takes_nothing),
      A_TEST(destroy_gives_back_what_was_not_taken),
      A_TEST(the_group_is_cancelled_and_its_results_taken),
      A_TEST(a_thread_takes_it),
      A_TEST(one_is_cancelled_alone),
      A_TEST(one_that_is_cancelled_alone_does_not_fail_the_group),
      A_TEST(a_handle_that_was_given_up),
      A_TEST(a_spawn_that_was_refused_has_no_member),
      A_TEST(a_task_of_it_spawns_into_it),
      A_TEST(a_server_goes_on_after_requests_that_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
