/* cluster_lost_test.c: answers that are lost, sessions and hosts that end: at every request of a run
 * through all that a host does. */
#include "cluster_scene.h"

/* ---- one run, in which something happens before the answer to request number `at` ---- */

enum event { NOTHING, LOST_DONE, LOST_NOT_DONE, LOST_LATE, EXPIRED, EVENTS };

static struct {
  enum event event;
  uint32_t at;
  uint32_t count; /* requests so far */
  bool has_happened;
} plan;

static bool interfere(void) {
  static const enum hand_fate fates[] = {
      [LOST_DONE] = HAND_DONE, [LOST_NOT_DONE] = HAND_NOT_DONE, [LOST_LATE] = HAND_LATE};
  if (plan.event == NOTHING || plan.count++ != plan.at) return false;
  plan.has_happened = true;
  if (plan.event == EXPIRED) {
    hand_lose(HAND_DONE);
    hand_end_session(1);
    uint32_t connects = hand->connects;
    hand_say(VOLT_CLUSTER_SESSION_EXPIRED);
    scene_run();
    assert_int_equal(hand->connects, connects + 1);
    hand_begin_session(2);
  } else {
    hand_lose(fates[plan.event]);
    scene_run();
    scene_wait(5);
    hand_say(VOLT_CLUSTER_SESSION_AGAIN);
  }
  return true;
}

/* Nodes and what the host's half has agree, and nothing is there twice. */
static void check(void) {
  assert_true(hand_children("/volt/x/s") >= u.count);
  for (uint32_t i = 0; i < u.count; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%u", (unsigned)u.slots[i].slot);
    hand_node *n = hand_find(path);
    assert_non_null(n);
    assert_int_equal(n->stat.owner, hand->session);
    assert_int_equal(n->stat.created, u.slots[i].epoch);
  }
  assert_true(hand_children("/volt/x/h0") <= 1);
}

static void release_all(void) {
  if (u.held > 0) scene_release(&u, u.held);
}

/* Takes, is asked to give, steps back, takes again, gives up waiting, gives all back. */
static void run_through(void) {
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_open();
  scene_open_lease(&u, "x", NULL);
  scene_run();
  hand_begin_session(1);
  plan.count = 0;
  plan.has_happened = false;
  scene_interfere = interfere;
  scene_want(&u, 3);
  scene_pass(80);
  check();
  assert_true(plan.event == EXPIRED ? u.held + u.lost == 3 : u.held == 3);
  char other[VOLT_CLUSTER_PATH];
  snprintf(other, sizeof other, "%s", hand_enter('q', 7, ".0.4."));
  scene_pass(80);
  release_all();
  scene_pass(20);
  check();
  for (int i = 0; i < 4; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%d", i);
    if (!hand_find(path)) hand_make_by(999, path); /* the other takes what is free */
  }
  scene_want(&u, 4);
  scene_pass(20);
  u.waiting = 0; /* they give up */
  lease_ring_(u.lease);
  release_all();
  scene_pass(120);
  check();
  hand_delete(other);
  hand_end_session(999);
  hand_news();
  scene_want(&u, 2);
  scene_pass(80);
  check();
  assert_true(u.held >= 2 || plan.event == EXPIRED);
  release_all();
  scene_pass(300);
  expect_nodes("/volt/x/s", 0);
  expect_nodes("/volt/x/h0", 0);
  expect_nodes("/volt/x/q0", 0);
}

static void try_everywhere(enum event event) {
  for (plan.at = 0;; plan.at++) {
    if (plan.at > 0) {
      assert_int_equal(scene_tear_down(NULL), 0);
      assert_int_equal(scene_set_up(NULL), 0);
    }
    plan.event = event;
    run_through();
    if (!plan.has_happened) break;
    assert_int_equal(event == EXPIRED || u.lost == 0, 1);
  }
  assert_true(plan.at > 20);
}

static void test_answers_of_what_was_done(void **state) {
  (void)state;
  try_everywhere(LOST_DONE);
}

static void test_answers_of_what_was_not_done(void **state) {
  (void)state;
  try_everywhere(LOST_NOT_DONE);
}

static void test_writes_that_are_done_after_the_reconnect(void **state) {
  (void)state;
  try_everywhere(LOST_LATE);
}

static void test_sessions_that_expire(void **state) {
  (void)state;
  try_everywhere(EXPIRED);
}

static void test_a_slot_that_was_given_and_is_anothers(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 2);
  scene_answer();
  hand_enter('q', 7, ".0.2.");
  scene_wait(60);
  scene_answer();
  scene_release(&u, 1);
  scene_run();
  hand_lose(HAND_DONE);
  hand_make_by(999, "/volt/x/s/1"); /* another host was quick */
  hand_say(VOLT_CLUSTER_SESSION_AGAIN);
  scene_answer();
  assert_int_equal(hand_find("/volt/x/s/1")->stat.owner, 999);
  assert_int_equal(u.count, 1);
  scene_release(&u, 1);
  scene_pass(200);
  assert_int_equal(hand_find("/volt/x/s/1")->stat.owner, 999);
  expect_nodes("/volt/x/s", 1);
}

static void test_a_take_that_is_found_late_is_of_this_era(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_run();
  while (hand->asked_count && hand->asked[0]->count < 2) { /* up to the TAKE */
    hand_answer();
    scene_run();
  }
  hand_lose(HAND_DONE);
  hand_set("/volt/x", SCENE_DATA("3")); /* a younger transaction */
  hand_say(VOLT_CLUSTER_SESSION_AGAIN);
  scene_answer();
  assert_int_equal(scene_stats(&u).result, VOLT_OK);
  assert_int_equal(u.held, 1);
}

/* ---- ends ---- */

static uint32_t end_at;

static bool interfere_with_end(void) {
  if (plan.count++ < end_at || plan.has_happened) return false;
  plan.has_happened = true;
  assert_result(scene_close(), VOLT_OK);
  return true;
}

static void test_a_host_closes_at_any_time(void **state) {
  (void)state;
  for (end_at = 0; end_at < 14; end_at++) {
    if (end_at > 0) assert_int_equal(scene_set_up(NULL), 0);
    hand_make_semaphore(SCENE_DATA("2"), 0);
    scene_open();
    scene_open_lease(&u, "x", NULL);
    scene_run();
    hand_begin_session(1);
    plan.count = 0;
    plan.has_happened = false;
    scene_interfere = interfere_with_end;
    scene_want(&u, 3);
    for (int i = 0; i < 100 && !plan.has_happened; i++) scene_pass(1);
    if (!plan.has_happened) assert_result(scene_close(), VOLT_OK);
    scene_interfere = NULL;
    assert_int_equal(u.closed, 1);
    assert_int_equal(u.waiting, 0);
    assert_int_equal(u.count, 0);
    assert_int_equal(scene_host().state, VOLT_CLUSTER_CLOSED);
    if (end_at < 13) assert_int_equal(scene_tear_down(NULL), 0);
  }
}

static void test_a_runtime_that_shuts_down_ends_the_host(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 3);
  scene_answer();
  assert_int_equal(u.held, 2);
  assert_result(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(u.closed, 1);
  assert_int_equal(u.lost, 2);
  assert_int_equal(scene_host().valid_until_ns, 0);
  volt_future f;
  assert_result(volt_future_wait_until(volt_cluster_close_future(&f, cluster), PAST_DEADLINE),
                VOLT_OK);
  u.held = 0;
  volt_cluster_destroy(cluster);
  cluster = NULL;
  by_hand_end(&h, 1);
  by_hand_begin(&h);
}

static void test_a_host_that_has_never_connected_closes(void **state) {
  (void)state;
  scene_open();
  scene_open_lease(&u, "x", &scene_limit_3);
  scene_want(&u, 1);
  volt_cluster_change change;
  fake_waker w;
  fake_waker_init(&w, 0, NULL);
  volt_future *f = volt_cluster_lease_set_limit_future(&change, u.lease, 9);
  assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_PENDING);
  scene_run();
  assert_result(scene_close(), VOLT_OK);
  assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_ECLOSED);
  assert_int_equal(u.closed, 1);
  user late = {.room = 1};
  cluster_local local = user_local(&late);
  volt_cluster_lease *l;
  assert_result(lease_open_(&l, cluster, "y", NULL, &local), VOLT_ECLOSED);
}

static void test_a_close_that_is_given_up_goes_on(void **state) {
  (void)state;
  scene_begin_with(&scene_limit_3);
  volt_future f;
  fake_waker w;
  fake_waker_init(&w, 0, NULL);
  volt_future_made(volt_cluster_close_future(&f, cluster));
  assert_result(volt_future_poll(&f, fake_waker_of(&w)), VOLT_PENDING);
  volt_future_cancel(&f);
  scene_run();
  assert_int_equal(scene_host().state, VOLT_CLUSTER_CLOSED);
}

static void test_a_semaphore_closes_and_gives_back(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 5);
  scene_answer();
  hand->log[0] = '\0';
  lease_close_(u.lease);
  scene_answer();
  assert_int_equal(u.closed, 1);
  expect_writes(""); /* tasks have them */
  user again;
  scene_open_lease(&again, "x", NULL); /* its name is free */
  scene_want(&again, 1);
  scene_answer();
  assert_int_equal(again.held, 0);
  scene_release(&u, 2);
  scene_answer();
  assert_int_equal(again.held, 1);
  scene_release(&u, 1);
  scene_answer();
  expect_nodes("/volt/x/s", 1);
  scene_release(&again, 1);
  scene_pass(200);
  expect_nodes("/volt/x/s", 0);
  expect_nodes("/volt/x/h0", 0);
  assert_result(scene_close(), VOLT_OK);
  assert_int_equal(again.closed, 1);
  volt_cluster_destroy(cluster);
  cluster = NULL;
  assert_int_equal(u.destroyed, 1);
  assert_int_equal(again.destroyed, 1);
}

/* ---- several ---- */

static void test_several_semaphores(void **state) {
  (void)state;
  user others[3];
  static const char *const names[] = {"a", "b", "c"};
  hand_make("/volt", "");
  scene_open();
  for (int i = 0; i < 2; i++) scene_open_lease(&others[i], names[i], &scene_limit_3);
  scene_want(&others[0], 2);
  scene_run();
  hand_begin_session(1);
  scene_answer();
  scene_open_lease(&others[2], names[2], &scene_limit_3);
  scene_want(&others[1], 2);
  scene_want(&others[2], 2);
  scene_answer();
  for (int i = 0; i < 3; i++) assert_int_equal(others[i].held, 2);
  cluster_local local = user_local(&u);
  volt_cluster_lease *l;
  assert_result(lease_open_(&l, cluster, "a", NULL, &local), VOLT_EINVAL);
  static const char *const wrong[] = {"", ".a", "a/b", "a b"};
  for (int i = 0; i < 4; i++) {
    assert_result(lease_open_(&l, cluster, wrong[i], NULL, &local), VOLT_EINVAL);
  }
  assert_result(scene_close(), VOLT_OK);
  for (int i = 0; i < 3; i++) others[i].held = 0;
  volt_cluster_destroy(cluster);
  cluster = NULL;
}

/* ---- until when ---- */

static void test_leases_are_void_in_time(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 2);
  scene_answer();
  uint64_t until_ns = scene_host().valid_until_ns;
  assert_true(until_ns > volt_rt_now_ns(h.rt));
  assert_true(until_ns <= volt_rt_now_ns(h.rt) + HAND_SESSION_NS / 2);
  hand_lose(HAND_NOT_DONE);
  scene_wait((until_ns - volt_rt_now_ns(h.rt)) / HAND_MS - 1);
  assert_int_equal(u.lost, 0);
  scene_wait(2);
  assert_int_equal(u.lost, 2);
  assert_int_equal(scene_host().valid_until_ns, 0);
  scene_want(&u, 1);
  hand_say(VOLT_CLUSTER_SESSION_AGAIN); /* the session lives */
  hand->log[0] = '\0';
  scene_answer();
  assert_int_equal(u.held, 1);
  /* the old ones are deleted before one is leased again */
  expect_writes("-s/0 -s/1 +q0 -h0 | +s/0 -q0 +h0 | ");
}

static void test_an_answer_that_comes_late_gives_nothing_that_is_void(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_run();
  while (hand->asked_count && hand->asked[0]->count < 2) { /* up to the TAKE */
    hand_answer();
    scene_run();
  }
  hand_transact(hand->asked[0]);
  volt_rt_advance(h.rt, HAND_SESSION_NS); /* the process was stopped */
  hand_answer_as(0, VOLT_OK);
  scene_run();
  assert_int_equal(u.held, 0); /* it is leased, but until when? */
  scene_pass(3000);
  assert_int_equal(u.held, 1); /* heartbeats have told */
  assert_int_equal(u.lost, 0);
}

/* Each answer takes so long, and no request waits for one before it. */
static void slow_link(uint64_t round_ms, uint64_t for_ms) {
  static uint64_t due_ns[HAND_REQUESTS];
  static uint32_t known; /* of those that are asked, from one call to the next */
  if (known > hand->asked_count) known = 0;
  for (uint64_t ms = 0; ms < for_ms; ms++) {
    while (known < hand->asked_count) due_ns[known++] = volt_rt_now_ns(h.rt) + round_ms * HAND_MS;
    scene_wait(1);
    while (known > 0 && due_ns[0] <= volt_rt_now_ns(h.rt)) {
      hand_answer();
      memmove(due_ns, due_ns + 1, --known * sizeof *due_ns);
      scene_run();
    }
  }
}

static void test_heartbeats_do_not_wait_for_each_other(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  uint64_t session_ms = HAND_SESSION_NS / HAND_MS, round_ms = session_ms * 11 / 100;
  slow_link(round_ms, 3 * session_ms);
  assert_int_equal(u.held, 1);
  slow_link(round_ms, 20 * session_ms);
  assert_int_equal(u.lost, 0);
  assert_int_equal(scene_host().doubts, 0);
}

static void test_what_does_not_become_valid_is_given_back(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  uint64_t session_ms = HAND_SESSION_NS / HAND_MS, useless_ms = 0, most_ms = 0;
  scene_pass(3 * session_ms);
  scene_want(&u, 1);
  scene_run();
  hand_answer(); /* it is in the queue; and then its link becomes slow */
  for (uint64_t ms = 0; ms < 20 * session_ms; ms += 10) {
    slow_link(session_ms * 23 / 100, 10);
    useless_ms = hand_children("/volt/x/s") > u.count ? useless_ms + 10 : 0;
    if (useless_ms > most_ms) most_ms = useless_ms;
  }
  assert_in_range(most_ms, session_ms / 4, session_ms / 2);
  assert_true(scene_stats(&u).given_up == 1 && scene_host().doubts == 1);
  assert_int_equal(u.added, 0);
  expect_nodes("/volt/x/q0", 0); /* it is in the way of none */
  slow_link(1, 2 * session_ms);  /* the link is good again */
  assert_int_equal(u.held, 1);
}

/* Others queue, and the only slot is asked back after a quantum; another host takes it. */
static void give_to_others(uint32_t others, uint64_t round_ms) {
  for (uint32_t i = 0; i < others; i++) hand_enter('q', 100 + i, ".0.1.");
  while (u.owed == 0) slow_link(round_ms, 1);
  scene_release(&u, 1);
  scene_want(&u, 1);
  while (hand_children("/volt/x/s") > 0) slow_link(round_ms, 1);
  hand_make_by(999, "/volt/x/s/0");
}

static void test_a_slow_host_rests_for_eight_sessions_at_most(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  uint64_t session_ms = HAND_SESSION_NS / HAND_MS, round_ms = session_ms / 10, rest_ms = 0;
  slow_link(round_ms, 2 * session_ms);
  assert_int_equal(u.held, 1);
  const uint32_t others = 50; /* for each of them it would rest eight stays */
  give_to_others(others, round_ms);
  assert_int_equal(scene_stats(&u).rests, 1);
  for (; hand_children("/volt/x/q0") == others && rest_ms < 10 * session_ms; rest_ms += 10) {
    hand->log[0] = '\0';
    slow_link(round_ms, 10);
  }
  assert_in_range(rest_ms, 7 * session_ms, 8 * session_ms + 2 * round_ms);
  expect_nodes("/volt/x/q0", others + 1);
}

/* Many hosts have come at once, and their writes have waited for each other. */
static void test_a_host_whose_ensemble_was_busy_does_not_rest(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  while (!scene_stats(&u).is_queued) slow_link(300, 1);
  slow_link(1, 100);
  assert_int_equal(u.held, 1);
  assert_true(scene_host().round_ns > 100 * HAND_MS); /* two quanta */
  hand->log[0] = '\0';
  give_to_others(2, 1);
  expect_writes("-s/0 +q0 -h0 | ");
  assert_int_equal(scene_stats(&u).rests, 0);
}

static void test_heartbeats_keep_leases_valid(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  for (int i = 0; i < 60000; i += 100) {
    scene_pass(100);
    assert_true(u.held == 1 && scene_host().valid_until_ns > volt_rt_now_ns(h.rt));
  }
  assert_int_equal(u.lost, 0);
  assert_in_range(scene_host().heartbeats, 110, 130);
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      scene_test(test_answers_of_what_was_done),
      scene_test(test_answers_of_what_was_not_done),
      scene_test(test_writes_that_are_done_after_the_reconnect),
      scene_test(test_sessions_that_expire),
      scene_test(test_a_slot_that_was_given_and_is_anothers),
      scene_test(test_a_take_that_is_found_late_is_of_this_era),
      scene_test(test_a_host_closes_at_any_time),
      scene_test(test_a_runtime_that_shuts_down_ends_the_host),
      scene_test(test_a_host_that_has_never_connected_closes),
      scene_test(test_a_close_that_is_given_up_goes_on),
      scene_test(test_a_semaphore_closes_and_gives_back),
      scene_test(test_several_semaphores),
      scene_test(test_leases_are_void_in_time),
      scene_test(test_an_answer_that_comes_late_gives_nothing_that_is_void),
      scene_test(test_heartbeats_do_not_wait_for_each_other),
      scene_test(test_what_does_not_become_valid_is_given_back),
      scene_test(test_a_slow_host_rests_for_eight_sessions_at_most),
      scene_test(test_a_host_whose_ensemble_was_busy_does_not_rest),
      scene_test(test_heartbeats_keep_leases_valid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
