/* cluster_refused_test.c: what waiting cannot mend reaches the callers of acquire, is said, but not
 * again and again, and ends when it is mended; and what else is said. */
#include "cluster_scene.h"
#include "unit.h"

static volt_cluster_sem *sem;
static volt_cluster_acquire_op waiting[2];
static volt_cluster_permit permits[2];

static const volt_waker nobody = {NULL, NULL};

/* What was said as an error, and what was said last. */
static struct {
  uint32_t errors;
  char last[256];
} said;

static void say(enum volt_cluster_level level, const char *text, void *ctx) {
  (void)ctx;
  if (level <= VOLT_CLUSTER_WARN) snprintf(said.last, sizeof said.last, "%s", text);
  said.errors += level == VOLT_CLUSTER_ERROR;
}

static void begin(const char *servers, uint32_t limit) {
  memset(&said, 0, sizeof said);
  volt_cluster_config config = {
      .rt = h.rt, .kind = &hand_kind, .name = "here", .servers = servers, .log = say};
  assert_result(volt_cluster_open(&cluster, &config), VOLT_OK);
  volt_cluster_sem_config of_sem = {.limit = limit, .capacity = 4};
  assert_result(volt_cluster_sem_open(&sem, cluster, "x", &of_sem), VOLT_OK);
  scene_run();
}

static void connect(void) {
  hand_begin_session(1);
  scene_answer();
}

static int poll_acquire(int i) {
  return volt_future_poll(&waiting[i].future, nobody);
}

/* Begin to acquire; answer all that this asks. Returns what it polls as then. */
static int acquire(int i) {
  volt_future_made(volt_cluster_acquire_future(&waiting[i], sem, &permits[i]));
  int result = poll_acquire(i);
  scene_answer();
  return result == VOLT_PENDING ? poll_acquire(i) : result;
}

static int result_now(void) {
  volt_cluster_lease_stats stats;
  volt_cluster_sem_stats(sem, &stats);
  return stats.result;
}

/* Waiters have gone, and those that come are told; so is one that does not wait. */
static void expect_refused(int result) {
  volt_cluster_permit p;
  assert_result(acquire(0), result);
  assert_result(volt_cluster_try_acquire(sem, &p), result);
  assert_result(result_now(), result);
}

static void expect_mended(void) {
  scene_pass(2100);
  assert_result(result_now(), VOLT_OK);
  assert_result(acquire(0), VOLT_OK);
  volt_cluster_release(&permits[0]);
}

static void test_a_node_that_is_missing(void **state) {
  (void)state;
  begin(NULL, 0);
  volt_future_made(volt_cluster_acquire_future(&waiting[1], sem, &permits[1]));
  assert_result(poll_acquire(1), VOLT_PENDING); /* no server was asked yet */
  scene_wait(1000);
  assert_result(poll_acquire(1), VOLT_PENDING);
  connect();
  assert_result(poll_acquire(1), VOLT_CLUSTER_ENONODE); /* one that waits */
  expect_refused(VOLT_CLUSTER_ENONODE);
  scene_pass(10000);
  hand_make_semaphore(SCENE_DATA("1"), 0);
  scene_answer();
  expect_mended();
}

static void test_data_of_another_program(void **state) {
  (void)state;
  hand_make_semaphore("hello", 0);
  begin(NULL, 2);
  connect();
  expect_refused(VOLT_CLUSTER_EDATA);
  hand_set("/volt/x", SCENE_DATA("1"));
  scene_answer();
  expect_mended();
  assert_result(acquire(0), VOLT_OK);
  assert_result(acquire(1), VOLT_PENDING);
  hand_set("/volt/x", "garbled");
  scene_answer();
  assert_result(poll_acquire(1), VOLT_CLUSTER_EDATA); /* while it holds a permit that is good */
  assert_true(volt_cluster_permit_is_valid(&permits[0]));
  volt_cluster_release(&permits[0]);
}

/* The ensemble lets this host make nothing. */
static int creates_fail_with;

static bool refuse_creates(void) {
  volt_cluster_request *r = hand->asked[0];
  if (r->kind != VOLT_CLUSTER_WRITE || r->actions[0].kind != VOLT_CLUSTER_CREATE) return false;
  for (uint32_t i = 0; i < r->count; i++) r->actions[i].result = VOLT_CLUSTER_EUNDONE;
  r->actions[0].result = creates_fail_with;
  hand_answer_as(0, creates_fail_with);
  return true;
}

static void test_a_wrong_password(void **state) {
  (void)state;
  begin(NULL, 2);
  scene_interfere = refuse_creates;
  creates_fail_with = VOLT_CLUSTER_EAUTH;
  connect();
  expect_refused(VOLT_CLUSTER_EAUTH);
  volt_cluster_change change;
  volt_future_made(volt_cluster_sem_set_limit_future(&change, sem, 3));
  assert_result(volt_future_poll(&change.future, nobody), VOLT_PENDING);
  scene_answer();
  assert_result(volt_future_poll(&change.future, nobody), VOLT_CLUSTER_EAUTH);
  for (int s = 0; s < 100; s++) { /* what is said becomes rare */
    scene_pass(1000);
    assert_result(result_now(), VOLT_CLUSTER_EAUTH);
  }
  assert_in_range(said.errors, 2, 8);
  assert_non_null(strstr(said.last, "x: cannot be made (VOLT_CLUSTER_EAUTH)"));
  expect_refused(VOLT_CLUSTER_EAUTH);
  hand_make_semaphore(SCENE_DATA("1"), 0); /* by one who may: it is read again */
  scene_interfere = NULL;
  expect_mended();
}

static void test_a_chroot_that_is_missing(void **state) {
  (void)state;
  begin("zk:2181/apps/shop", 2);
  scene_interfere = refuse_creates;
  creates_fail_with = VOLT_CLUSTER_ENONODE;
  connect();
  expect_refused(VOLT_CLUSTER_ENONODE);
  assert_non_null(strstr(said.last, "the chroot /apps/shop of the servers is not there"));
  scene_interfere = NULL;
  expect_mended();
}

static void test_slots_that_may_not_be_made(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 0);
  begin(NULL, 1);
  connect();
  scene_interfere = refuse_creates;
  creates_fail_with = VOLT_CLUSTER_EAUTH;
  assert_result(acquire(0), VOLT_CLUSTER_EAUTH);
  scene_pass(100000);
  assert_in_range(said.errors, 1, 8);
  scene_interfere = NULL;
  scene_pass(11000);
  expect_mended();
}

static void test_an_authentication_that_is_refused(void **state) {
  (void)state;
  begin(NULL, 1);
  volt_future_made(volt_cluster_acquire_future(&waiting[1], sem, &permits[1]));
  assert_result(poll_acquire(1), VOLT_PENDING);
  hand_say(VOLT_CLUSTER_SESSION_REFUSED);
  scene_run();
  assert_result(poll_acquire(1), VOLT_CLUSTER_EAUTH);
  expect_refused(VOLT_CLUSTER_EAUTH);
}

/* It is not known for how long. */
static void test_an_ensemble_that_is_away(void **state) {
  (void)state;
  hand_make_semaphore("hello", 0);
  begin(NULL, 1);
  connect();
  expect_refused(VOLT_CLUSTER_EDATA);
  hand_lose(HAND_NOT_DONE);
  scene_run();
  assert_result(acquire(0), VOLT_PENDING);
  scene_wait(60000);
  assert_result(poll_acquire(0), VOLT_PENDING);
  hand_set("/volt/x", SCENE_DATA("1"));
  hand_say(VOLT_CLUSTER_SESSION_AGAIN);
  scene_answer();
  scene_pass(2000);
  assert_result(poll_acquire(0), VOLT_OK);
  volt_cluster_release(&permits[0]);
}

/* One future tells of the host's state and of results; as often as they change. */
static void test_changes_are_told(void **state) {
  (void)state;
  uint64_t seen = 0;
  volt_future f;
  hand_make_semaphore("hello", 0);
  begin(NULL, 1);
  assert_result(volt_future_poll(volt_cluster_changed_future(&f, cluster, &seen), nobody), VOLT_OK);
  static const enum volt_cluster_session_event events[] = {
      VOLT_CLUSTER_SESSION_NEW, VOLT_CLUSTER_SESSION_AWAY, VOLT_CLUSTER_SESSION_AGAIN};
  static const enum volt_cluster_state states[] = {VOLT_CLUSTER_CONNECTED, VOLT_CLUSTER_AWAY,
                                                   VOLT_CLUSTER_CONNECTED};
  for (int i = 0; i < 3; i++) {
    while (volt_future_poll(volt_cluster_changed_future(&f, cluster, &seen), nobody) == VOLT_OK)
      continue;
    hand->session = 1;
    hand_say(events[i]);
    scene_run();
    assert_result(volt_future_poll(&f, nobody), VOLT_OK);
    assert_int_equal(scene_host().state, states[i]);
    scene_answer();
  }
  assert_result(result_now(), VOLT_CLUSTER_EDATA);
  while (volt_future_poll(volt_cluster_changed_future(&f, cluster, &seen), nobody) == VOLT_OK)
    continue;
  scene_pass(1000);
  assert_result(volt_future_poll(&f, nobody), VOLT_PENDING); /* nothing changes */
  hand_set("/volt/x", SCENE_DATA("1"));
  scene_answer();
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_result(result_now(), VOLT_OK);
  volt_future_made(volt_cluster_changed_future(&f, cluster, &seen));
  while (volt_future_poll(&f, nobody) == VOLT_OK)
    volt_future_made(volt_cluster_changed_future(&f, cluster, &seen));
  assert_result(scene_close(), VOLT_OK);
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(scene_host().state, VOLT_CLUSTER_CLOSED);
  volt_future_made(volt_cluster_changed_future(&f, cluster, &seen));
  assert_result(volt_future_poll(&f, nobody), VOLT_ECLOSED);
}

/* ---- what is said of others, and of oneself ---- */

#define GUID "abababababababababababababababab"

/* Entries that no session has made: at the head of the queue, and of the holders. */
static void test_entries_of_a_copied_tree(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 0);
  hand_make("/volt/x/q0/" GUID ".0.1.0000000000", "");
  hand_make("/volt/x/q0/" GUID ".0.1.0000000001", "");
  hand_make("/volt/x/h0/" GUID ".1.0000000000", "");
  hand_find("/volt/x/q0")->sequence = 2;
  hand_find("/volt/x/h0")->sequence = 1;
  begin(NULL, 0);
  connect();
  assert_result(acquire(0), VOLT_OK);
  assert_non_null(strstr(said.last, "q0/" GUID ".0.1.0000000000 has no owner"));
  scene_pass(1000);
  assert_non_null(strstr(said.last, "h0/" GUID ".1.0000000000 has no owner"));
  const char *other = hand_enter('q', 7, ".0.1."); /* one that waits is seen all the same */
  scene_pass(1000);
  volt_cluster_release(&permits[0]);
  scene_pass(100);
  expect_nodes("/volt/x/s", 0);
  hand_delete(other);
}

static void acquire_and_forget_log(void) {
  hand_make_semaphore(SCENE_DATA("1"), 0);
  begin(NULL, 0);
  connect();
  assert_result(acquire(0), VOLT_OK);
  scene_pass(6000);
  said.last[0] = '\0';
}

static void test_a_host_that_was_late_says_so(void **state) {
  (void)state;
  acquire_and_forget_log();
  volt_rt_advance(h.rt, 4000 * HAND_MS); /* nothing runs: a task blocks the worker */
  scene_answer();
  assert_false(volt_cluster_permit_is_valid(&permits[0]));
  assert_non_null(strstr(said.last, "this host did not run its client for"));
  volt_cluster_release(&permits[0]);
}

static void test_an_ensemble_that_does_not_answer_is_said(void **state) {
  (void)state;
  acquire_and_forget_log();
  scene_wait(4000);
  assert_non_null(strstr(said.last, "the ensemble has not answered in time"));
  scene_answer();
  volt_cluster_release(&permits[0]);
}

static int tear_down(void **state) {
  scene_interfere = NULL;
  for (int i = 0; i < 2; i++) volt_future_cancel(&waiting[i].future);
  memset(waiting, 0, sizeof waiting);
  return scene_tear_down(state);
}

#define refused_test(name) cmocka_unit_test_setup_teardown(name, scene_set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      refused_test(test_a_node_that_is_missing),
      refused_test(test_data_of_another_program),
      refused_test(test_a_wrong_password),
      refused_test(test_a_chroot_that_is_missing),
      refused_test(test_slots_that_may_not_be_made),
      refused_test(test_an_authentication_that_is_refused),
      refused_test(test_an_ensemble_that_is_away),
      refused_test(test_changes_are_told),
      refused_test(test_entries_of_a_copied_tree),
      refused_test(test_a_host_that_was_late_says_so),
      refused_test(test_an_ensemble_that_does_not_answer_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
