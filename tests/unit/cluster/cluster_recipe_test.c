/* cluster_recipe_test.c: one host and one semaphore, on an ensemble by hand: what is written, and
 * when. Lost answers and ends are in cluster_lost_test.c. */
#include "cluster_scene.h"

/* ---- the first lease ---- */

static void test_the_first_lease_takes_three_writes(void **state) {
  (void)state;
  hand_make("/volt", "");
  scene_begin_with(&scene_limit_3);
  scene_want(&u, 2);
  scene_answer();
  assert_int_equal(u.held, 2);
  assert_int_equal(hand->writes, 3); /* with the one that made the node */
  expect_writes("+q0 | +s/0 +s/1 -q0 +h0 | ");
  assert_string_equal(hand_find("/volt/x")->data,
                      "volt-cluster 1\nlimit 3\nlease 0\nquantum_ms 0\nera 1\nqueue 0\nturn 0\n");
}

static void test_the_way_to_the_node_is_made(void **state) {
  (void)state;
  volt_cluster_config config = {.rt = h.rt, .kind = &hand_kind, .root = "/a/b"};
  assert_result(volt_cluster_open(&cluster, &config), VOLT_OK);
  scene_open_lease(&u, "x", &scene_limit_3);
  scene_run();
  hand_begin_session(1);
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_non_null(hand_find("/a/b/x/s/0"));
}

static void test_a_host_without_a_limit_waits_for_the_node(void **state) {
  (void)state;
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  assert_result(scene_stats(&u).result, VOLT_CLUSTER_ENONODE);
  uint32_t reads = hand->reads;
  scene_pass(900);
  assert_int_equal(hand->reads, reads); /* it is told */
  expect_writes("");
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_int_equal(scene_stats(&u).result, VOLT_OK);
}

static void test_directories_that_are_missing_are_made(void **state) {
  (void)state;
  hand_make("/volt", "");
  hand_make("/volt/x", "volt-cluster 1 limit 2");
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_non_null(hand_find("/volt/x/q0"));
}

/* ---- who holds, alone ---- */

static void test_a_busy_host_writes_nothing_but_heartbeats(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 3);
  scene_answer();
  expect_writes("+q0 | +s/0 +s/1 +s/2 -q0 +h0 | ");
  uint64_t until_ns = scene_host().valid_until_ns;
  scene_pass(1100);
  expect_writes("?/volt | ?/volt | "); /* each twelfth of the session */
  assert_true(scene_host().valid_until_ns > until_ns);
  scene_pass(4900);
  expect_writes(
      "?/volt | ?/volt | ?/volt | ?/volt | ?/volt | "
      "?/volt | ?/volt | ?/volt | ?/volt | ?/volt | ");
  assert_int_equal(u.lost, 0);
}

static void test_an_idle_host_gives_back_after_linger(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(&(volt_cluster_sem_config){.linger_ns = 200 * HAND_MS});
  scene_want(&u, 3);
  scene_answer();
  scene_release(&u, 2);
  hand->log[0] = '\0';
  scene_pass(190);
  expect_writes("");
  scene_pass(20);
  expect_writes("-s/1 -s/2 -h0 +h0 | ");
  scene_release(&u, 1);
  scene_pass(300);
  expect_writes("-s/0 -h0 | ");
  uint32_t writes = hand->writes;
  scene_pass(5000);
  assert_int_equal(hand->writes, writes);
  expect_nodes("/volt/x/s", 0);
  expect_nodes("/volt/x/h0", 0);
}

static void test_slots_that_are_used_now_and_then_stay(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  scene_begin_with(&(volt_cluster_sem_config){.linger_ns = 200 * HAND_MS});
  scene_want(&u, 2);
  scene_answer();
  hand->log[0] = '\0';
  for (int i = 0; i < 8; i++) {
    scene_release(&u, 2);
    scene_pass(60);
    scene_want(&u, 2);
    scene_pass(60);
  }
  expect_writes("?/volt | "); /* to hold the leases */
}

static void test_more_demand_takes_more(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("10"), 0);
  scene_begin_with(&(volt_cluster_sem_config){.lease_max = 4});
  scene_want(&u, 1);
  scene_answer();
  scene_want(&u, 9);
  scene_answer();
  assert_int_equal(u.count, 4); /* its own bound */
  expect_writes("+q0 | +s/0 -q0 +h0 | +q0 | +s/1 +s/2 +s/3 -q0 -h0 +h0 | ");
  assert_int_equal(scene_stats(&u).is_queued, 0);
}

static void test_memory_is_a_bound(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("10"), 0);
  scene_begin_with(NULL);
  u.room = 2;
  scene_want(&u, 5);
  scene_answer();
  assert_int_equal(u.count, 2);
  assert_int_equal(scene_stats(&u).is_queued, 0); /* others are not kept waiting */
}

static void test_many_slots_come_in_several_transactions(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1000"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 200);
  scene_answer();
  assert_int_equal(u.held, 200);
  assert_int_equal(hand->writes, 3); /* queued once */
  scene_release(&u, 200);
  scene_pass(200);
  expect_nodes("/volt/x/s", 0);
  expect_nodes("/volt/x/h0", 0);
  expect_nodes("/volt/x/q0", 0);
}

/* ---- who waits ---- */

static void test_nobody_passes_the_queue(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  char first[VOLT_CLUSTER_PATH];
  snprintf(first, sizeof first, "%s", hand_enter('q', 7, ".0.1."));
  const char *second = hand_enter('q', 8, ".0.1.");
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  expect_writes("+q0 | ");
  assert_int_equal(scene_stats(&u).hosts_before, 2);
  assert_int_equal(hand->watch_count, 2); /* the data, the one before */
  uint32_t reads = hand->reads;
  hand_delete(first); /* not its predecessor */
  scene_pass(50);
  assert_int_equal(hand->reads, reads);
  hand_delete(second);
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_int_equal(scene_host().events, 1);
}

static void test_the_first_waits_for_a_slot(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 3);
  scene_begin_with(NULL);
  scene_want(&u, 2);
  scene_answer();
  expect_writes("+q0 | ");
  uint32_t reads = hand->reads;
  scene_pass(900);
  assert_int_equal(hand->reads, reads);
  hand_delete("/volt/x/s/1");
  scene_answer();
  expect_writes("+s/1 -q0 +q0 +h0 | "); /* and goes on waiting for the other */
  assert_int_equal(u.held, 1);
  assert_int_equal(scene_stats(&u).is_queued, 1);
}

/* Others had the slots for so long that its own writes of before prove nothing any more. */
static void test_a_lease_after_a_long_wait_is_valid_at_once(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 1);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  scene_pass(5000);
  assert_int_equal(u.held, 0);
  hand->log[0] = '\0';
  hand_delete("/volt/x/s/0");
  scene_answer(); /* no time passes */
  expect_writes("+s/0 -q0 +h0 | ?/volt | ");
  assert_int_equal(u.held, 1);
}

/* ---- who stands in the way ---- */

/* Another host queues first, and does nothing. Returns its path. */
static const char *behind_a_sleeper(void) {
  static char path[VOLT_CLUSTER_PATH];
  hand_make_semaphore(SCENE_DATA("3"), 0);
  snprintf(path, sizeof path, "%s", hand_enter('q', 7, ".0.1."));
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  expect_writes("+q0 | ");
  return path;
}

static void test_a_first_that_lets_slots_lie_is_marked_and_passed(void **state) {
  (void)state;
  const char *sleeper = behind_a_sleeper();
  scene_pass(200); /* four quanta */
  expect_writes("");
  scene_pass(150);
  expect_writes("=q0 | +s/0 -q0 +h0 | ");
  assert_int_equal(u.held, 1);
  assert_int_equal(scene_stats(&u).marks, 1);
  assert_int_equal(hand_find(sleeper)->stat.version, 1); /* it keeps its place */
}

static void test_a_marked_one_is_passed_at_once(void **state) {
  (void)state;
  const char *sleeper = behind_a_sleeper();
  hand_set(sleeper, "passed"); /* by another host */
  scene_answer();
  expect_writes("+s/0 -q0 +h0 | ");
  hand_enter('q', 8, ".0.1."); /* and one that is not */
  scene_want(&u, 1);
  scene_pass(100);
  expect_writes("+q0 | ");
  assert_int_equal(scene_stats(&u).marks, 0);
}

/* Many hosts have died at once. */
static void test_any_number_of_marked_ones_is_passed(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  for (uint32_t i = 0; i < 40; i++) {
    char path[VOLT_CLUSTER_PATH];
    snprintf(path, sizeof path, "%s", hand_enter('q', 100 + i, ".0.1."));
    hand_set(path, "passed");
  }
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer(); /* each is read once: it comes to rest */
  expect_writes("+q0 | +s/0 -q0 +h0 | ");
  assert_int_equal(u.held, 1);
}

static void test_a_slow_first_is_waited_for_as_it_asks(void **state) {
  (void)state;
  const char *sleeper = behind_a_sleeper();
  hand_node *n = hand_find(sleeper);
  n->size = (uint32_t)snprintf(n->data, sizeof n->data, "patience_ms 900");
  scene_pass(880);
  expect_writes("");
  scene_pass(200);
  expect_writes("=q0 | +s/0 -q0 +h0 | ");
}

static void take_all_slots(void) {
  for (int i = 0; i < 3; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%d", i);
    hand_make_by(999, path);
  }
}

static void test_none_is_marked_while_no_slot_is_free(void **state) {
  (void)state;
  (void)behind_a_sleeper();
  take_all_slots();
  scene_pass(900);
  expect_writes("");
}

/* Only what lies now counts: it was taken in between. */
static void test_what_was_taken_lies_anew(void **state) {
  (void)state;
  (void)behind_a_sleeper();
  scene_pass(150);
  take_all_slots();
  scene_pass(200);
  hand_delete("/volt/x/s/0");
  scene_pass(200); /* less than four quanta */
  expect_writes("");
  scene_pass(250);
  expect_writes("=q0 | +s/0 -q0 +h0 | ");
}

static void test_two_that_let_slots_lie_are_marked_one_by_one(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 0);
  hand_enter('q', 7, ".0.1.");
  hand_enter('q', 8, ".0.1.");
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  hand->log[0] = '\0';
  scene_pass(1500);
  expect_writes("=q0 | =q0 | +s/0 -q0 +h0 | ?/volt | ");
  assert_int_equal(scene_stats(&u).marks, 2);
}

/* It was stopped, and another host has passed it. */
static void marked_and_passed(void) {
  hand_make_semaphore(SCENE_DATA("1"), 1);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  expect_writes("+q0 | ");
  for (uint32_t i = 0; i < hand->node_count; i++) {
    if (strncmp(hand->nodes[i].path, "/volt/x/q0/", 11) == 0) hand->nodes[i].stat.version = 1;
  }
  hand_delete("/volt/x/s/0");
  hand_make_by(999, "/volt/x/s/0");
  scene_answer();
}

static void test_one_that_was_marked_queues_anew(void **state) {
  (void)state;
  marked_and_passed();
  expect_writes("-q0 +q0 | ");
  hand_delete("/volt/x/s/0");
  scene_answer();
  assert_int_equal(u.held, 1);
}

static bool lose_the_second_write(void) {
  static uint32_t writes;
  if (hand->asked[0]->kind != VOLT_CLUSTER_WRITE) return false;
  if (++writes < 2) return false;
  scene_interfere = NULL;
  hand_lose(HAND_DONE);
  return true;
}

/* It has queued anew, and does not hear of it. */
static void test_the_mark_of_an_older_entry_does_not_count(void **state) {
  (void)state;
  scene_interfere = lose_the_second_write;
  marked_and_passed();
  hand->log[0] = '\0';
  hand_say(VOLT_CLUSTER_SESSION_AGAIN);
  scene_answer();
  scene_pass(200);
  expect_writes("?/volt | ");
  expect_nodes("/volt/x/q0", 1);
}

static void test_with_others_behind_it_takes_its_share(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("6"), 6);
  scene_begin_with(NULL);
  scene_want(&u, 6);
  scene_answer();
  hand_enter('q', 7, ".0.6.");
  hand_enter('q', 8, ".0.6.");
  for (int i = 0; i < 6; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%d", i);
    hand_delete(path);
  }
  scene_answer();
  assert_int_equal(u.held, 2);   /* 6 slots, 3 hosts */
  expect_nodes("/volt/x/q0", 2); /* it does not get into the way of those that have none */
  for (uint32_t i = hand->node_count; i-- > 0;) {
    if (strncmp(hand->nodes[i].path, "/volt/x/q0/", 11) == 0) hand_drop(&hand->nodes[i]);
  }
  scene_pass(60);
  assert_int_equal(u.held, 6);
}

static void test_who_needs_nothing_any_more_leaves_the_queue(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 3);
  scene_begin_with(&(volt_cluster_sem_config){.linger_ns = 100 * HAND_MS});
  const char *other = hand_enter('q', 7, ".0.1.");
  scene_want(&u, 1);
  scene_answer();
  u.waiting = 0;
  lease_ring_(u.lease);
  scene_pass(90);
  expect_writes("+q0 | ");
  scene_pass(20);
  expect_writes("-q0 | ");
  scene_want(&u, 1);
  scene_answer();
  u.waiting = 0;
  hand->log[0] = '\0';
  hand_delete(other); /* it is the first, and in the way */
  scene_answer();
  expect_writes("-q0 | ");
}

static void test_a_slot_that_is_not_free_is_no_end(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_run();
  while (hand->asked_count && hand->asked[0]->count < 2) { /* up to the TAKE */
    hand_answer();
    scene_run();
  }
  hand_make_by(999, "/volt/x/s/0");
  scene_answer();
  assert_int_equal(u.held, 1);
  expect_writes("+q0 | failed | +s/1 -q0 +h0 | ");
}

static void test_foreign_names_are_ignored(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  hand_make("/volt/x/q0/lock-0000000001", "");
  hand_make("/volt/x/h0/x", "");
  hand_make("/volt/x/s/x", "");
  scene_begin_with(NULL);
  scene_want(&u, 2);
  scene_answer();
  assert_int_equal(u.held, 2);
}

static void test_its_own_stray_does_not_stop_it(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 2);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  char stray[VOLT_CLUSTER_PATH] = "";
  for (uint32_t i = 0; i < hand->node_count; i++) {
    if (strncmp(hand->nodes[i].path, "/volt/x/q0/", 11) == 0) {
      snprintf(stray, sizeof stray, "%.60s", hand->nodes[i].path);
    }
  }
  char *sequence = strrchr(stray, '.');
  memcpy(sequence, ".-000000009", 12); /* before its own */
  hand_make_by(1, stray);
  hand_delete("/volt/x/s/0");
  scene_answer();
  assert_int_equal(u.held, 1);
  expect_nodes("/volt/x/q0", 0);
}

static void test_a_thousand_hosts(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("100"), 100);
  for (uint32_t i = 0; i < 1000; i++) hand_enter('q', 10 + i, ".0.1.");
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(scene_stats(&u).hosts_before, 1000);
  assert_int_equal(hand->watch_count, 2);
  assert_int_equal(u.held, 0);
}

/* ---- who holds what others need ---- */

static void hold_all(uint32_t tasks) {
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, tasks);
  scene_answer();
  scene_pass(60); /* it has looked once, and found nobody */
  hand->log[0] = '\0';
}

static void test_who_has_more_gives_after_the_quantum(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 4);
  scene_answer();
  hand->log[0] = '\0';
  hand_enter('q', 7, ".0.4.");
  scene_pass(48);
  assert_int_equal(u.owed, 0);
  scene_pass(4);
  assert_int_equal(u.owed, 2);
  expect_writes(""); /* tasks have them */
  scene_release(&u, 1);
  scene_answer();
  expect_writes("-s/3 -h0 +h0 | ");
  scene_release(&u, 1);
  scene_answer();
  expect_writes("-s/2 -h0 +h0 | ");
  scene_pass(200);
  assert_int_equal(u.owed, 0); /* it has its share */
  assert_int_equal(scene_stats(&u).leased, 2);
}

static void test_the_first_holder_is_woken_by_who_queues(void **state) {
  (void)state;
  hold_all(4);
  uint32_t reads = hand->reads;
  scene_pass(150);
  assert_int_equal(hand->reads, reads);
  hand_enter('q', 7, ".0.1.");
  scene_answer();
  assert_int_equal(u.owed, 1); /* what is needed */
  scene_release(&u, 1);
  scene_answer();
  expect_writes("-s/3 -h0 +h0 | ");
}

static void test_idle_slots_go_at_once(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(&(volt_cluster_sem_config){.linger_ns = 5000 * HAND_MS});
  scene_want(&u, 4);
  scene_answer();
  scene_release(&u, 4);
  scene_pass(60);
  hand->log[0] = '\0';
  hand_enter('q', 7, ".0.3.");
  scene_answer();
  expect_writes("-s/1 -s/2 -s/3 -h0 +h0 | ");
}

static void test_slots_that_nobody_takes_are_enough(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("16"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 16);
  scene_answer();
  hand->log[0] = '\0';
  hand_enter('q', 7, ".0.16."); /* it is dead, and takes none */
  scene_pass(60);
  assert_int_equal(u.owed, 8);
  scene_release(&u, 8);
  scene_answer();
  expect_nodes("/volt/x/s", 8);
  hand_enter('q', 8, ".0.16.");
  scene_pass(300);
  assert_int_equal(u.owed, 0); /* although 16 slots, 3 hosts make 6 */
  for (uint32_t i = 0; i < 7; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%u", 8 + (unsigned)i);
    hand_make_by(999, path);
  }
  hand_enter('h', 999, ".7.");
  scene_pass(100);
  assert_int_equal(u.owed, 4); /* 16 slots, 4 hosts */
}

static void test_with_more_hosts_than_slots_each_goes_round(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 5);
  scene_answer();
  hand->log[0] = '\0';
  const char *other = hand_enter('q', 7, ".0.1.");
  scene_pass(60);
  assert_int_equal(u.owed, 1);
  scene_release(&u, 1);
  scene_answer();
  expect_writes("-s/0 +q0 -h0 | "); /* behind the other */
  assert_int_equal(scene_stats(&u).hosts_before, 1);
  hand_make_by(1007, "/volt/x/s/0");
  hand_delete(other);
  scene_answer();
  hand_delete("/volt/x/s/0");
  scene_answer();
  assert_int_equal(u.held, 1);
}

static void test_who_gives_nothing_lets_the_next_look(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  scene_pass(60);
  hand_make_by(1007, "/volt/x/s/1");
  char rich[VOLT_CLUSTER_PATH]; /* has too much, and is not first */
  snprintf(rich, sizeof rich, "%s", hand_enter('h', 7, ".3."));
  hand->log[0] = '\0';
  hand_enter('q', 8, ".0.1.");
  scene_answer();
  expect_writes("-h0 +h0 | ");
  scene_pass(500);
  hand_delete(rich);
  hand_enter('h', 7, ".3."); /* and now this one is the first again */
  scene_pass(300);
  expect_writes("?/volt | "); /* once for each newcomer */
  hand_enter('q', 9, ".0.1.");
  scene_pass(300);
  expect_writes("-h0 +h0 | ");
}

static void test_who_needs_some_lets_the_next_look(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  for (int i = 1; i < 4; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%d", i);
    hand_make_by(999, path);
  }
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  scene_pass(60);
  hand_enter('h', 999, ".3.");
  hand->log[0] = '\0';
  scene_want(&u, 1);
  scene_pass(300);
  expect_writes("+q0 | -h0 +h0 | ");
}

static void test_debts_that_nobody_pays_are_no_writes(void **state) {
  (void)state;
  hold_all(4);
  hand_enter('q', 7, ".0.4.");
  scene_pass(900);
  assert_int_equal(u.owed, 2);
  expect_writes("?/volt | ");
}

static void test_who_has_its_share_steps_back(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  hand_make_by(999, "/volt/x/s/2");
  hand_make_by(999, "/volt/x/s/3");
  hand_enter('h', 999, ".2.");
  scene_begin_with(NULL);
  scene_want(&u, 5);
  scene_answer(); /* has 2, and is the first in the queue for more */
  assert_int_equal(u.held, 2);
  assert_int_equal(scene_stats(&u).is_queued, 1);
  hand->log[0] = '\0';
  const char *other = hand_enter('q', 7, ".0.4.");
  hand_delete("/volt/x/s/2");
  scene_answer();
  expect_writes("-q0 +q0 | ");
  hand_delete(other);
  scene_answer();
  expect_writes("+s/2 -q0 +q0 -h0 +h0 | "); /* nobody needs it more */
}

static void test_who_gives_goes_behind(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  hand_make_by(999, "/volt/x/s/2");
  hand_make_by(999, "/volt/x/s/3");
  hand_enter('h', 999, ".2.");
  scene_begin_with(NULL);
  scene_want(&u, 3);
  scene_answer(); /* has 2 of 4 among 2 hosts, and is in the queue for one more */
  assert_int_equal(u.held, 2);
  hand->log[0] = '\0';
  hand_enter('q', 7, ".0.1.");
  scene_pass(120);
  assert_int_equal(u.owed, 1); /* 4 slots, 3 hosts */
  scene_release(&u, 1);
  scene_answer();
  expect_writes("-s/1 -q0 +q0 -h0 +h0 | ");
  assert_int_equal(scene_stats(&u).hosts_before, 1);
}

/* ---- the limit ---- */

static int set_limit(uint32_t limit) {
  volt_cluster_change change;
  fake_waker w;
  fake_waker_init(&w, 0, NULL);
  volt_future *f = volt_cluster_lease_set_limit_future(&change, u.lease, limit);
  if (volt_future_poll(f, fake_waker_of(&w)) == VOLT_PENDING) {
    scene_answer();
    assert_int_equal(fake_waker_calls(&w), 1);
  }
  return volt_future_poll(f, fake_waker_of(&w));
}

static void test_a_higher_limit_is_used(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 3);
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_result(set_limit(3), VOLT_OK);
  assert_int_equal(u.held, 3);
  assert_int_equal(scene_stats(&u).limit, 3);
}

/* Answer one request after the other until the future is ready. The node was not read again then. */
static void test_the_stats_say_a_limit_as_soon_as_it_is_set(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  static const uint32_t limits[] = {9, 2};
  for (int i = 0; i < 2; i++) {
    uint32_t limit = limits[i];
    volt_cluster_change change;
    fake_waker w;
    fake_waker_init(&w, 0, NULL);
    volt_future *f = volt_cluster_lease_set_limit_future(&change, u.lease, limit);
    assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_PENDING);
    scene_run();
    while (fake_waker_calls(&w) == 0) {
      assert_true(hand->asked_count > 0);
      hand_answer();
      scene_run();
    }
    assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_OK);
    assert_int_equal(scene_stats(&u).limit, limit);
    assert_true(hand->asked_count > 0); /* the node's data */
    scene_answer();
    assert_int_equal(scene_stats(&u).limit, limit);
  }
}

static void test_a_lower_limit_is_a_debt(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 3);
  scene_answer();
  hand->log[0] = '\0';
  hand_set("/volt/x", SCENE_DATA("1"));
  scene_answer();
  expect_writes("");
  assert_int_equal(u.owed, 2);
  scene_release(&u, 1);
  scene_answer();
  scene_release(&u, 1);
  scene_answer();
  assert_int_equal(u.count, 1);
  expect_nodes("/volt/x/s", 1);
  hand_set("/volt/x", SCENE_DATA("0"));
  scene_answer();
  scene_release(&u, 1);
  scene_answer();
  expect_nodes("/volt/x/s", 0);
  scene_want(&u, 1);
  scene_pass(100);
  expect_nodes("/volt/x/q0", 0);
  hand_set("/volt/x", SCENE_DATA("1"));
  scene_answer();
  assert_int_equal(u.held, 1);
}

static void test_two_that_change_the_limit(void **state) {
  (void)state;
  hand_make_semaphore("volt-cluster 1 limit 4 owner shop", 0);
  scene_begin_with(NULL);
  volt_cluster_change change;
  fake_waker w;
  fake_waker_init(&w, 0, NULL);
  volt_future *f = volt_cluster_lease_set_limit_future(&change, u.lease, 9);
  assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_PENDING);
  scene_run();
  assert_int_equal(hand->asked_count, 1);
  hand_set("/volt/x", "volt-cluster 1 limit 5 owner shop2"); /* between the read and the SET */
  scene_answer();
  assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_OK);
  assert_int_equal(scene_stats(&u).limit, 9);
  assert_non_null(strstr(hand_find("/volt/x")->data, "owner shop2"));
}

static void test_a_change_that_is_given_up(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  volt_cluster_change change;
  fake_waker w;
  fake_waker_init(&w, 0, NULL);
  volt_future *f = volt_cluster_lease_set_limit_future(&change, u.lease, 9);
  assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_PENDING);
  volt_future_cancel(f);
  memset(&change, 0x55, sizeof change);
  scene_answer();
  assert_int_equal(scene_stats(&u).limit, 4);
  f = volt_cluster_lease_set_limit_future(&change, u.lease, 9);
  assert_result(volt_future_poll(f, fake_waker_of(&w)), VOLT_PENDING);
  scene_run(); /* it is under way */
  volt_future_cancel(f);
  memset(&change, 0x55, sizeof change);
  scene_answer();
  assert_int_equal(scene_stats(&u).limit, 9);
  assert_result(set_limit(VOLT_SEM_MAX + 1u), VOLT_EINVAL);
}

/* ---- what people do ---- */

static void test_the_node_is_deleted_by_hand(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(&(volt_cluster_sem_config){.limit = 2});
  scene_want(&u, 2);
  scene_answer();
  for (uint32_t i = hand->node_count; i-- > 0;) {
    if (strncmp(hand->nodes[i].path, "/volt/x", 7) == 0) hand_drop(&hand->nodes[i]);
  }
  hand_news();
  scene_answer();
  assert_int_equal(u.lost, 2);
  assert_non_null(hand_find("/volt/x"));
  scene_want(&u, 2);
  scene_answer();
  assert_int_equal(u.held, 2);
  assert_int_equal(scene_stats(&u).limit, 2);
}

static void test_a_slot_is_deleted_by_hand(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 3);
  scene_answer();
  hand_delete("/volt/x/s/1");
  hand_set("/volt/x", SCENE_DATA("0"));
  scene_answer();
  scene_release(&u, 3);
  scene_answer();
  expect_nodes("/volt/x/s", 0);
  expect_nodes("/volt/x/h0", 0);
  assert_int_equal(scene_stats(&u).leased, 0);
}

static void test_entries_are_deleted_by_hand(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 2);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  for (uint32_t i = hand->node_count; i-- > 0;) {
    if (strncmp(hand->nodes[i].path, "/volt/x/q0/", 11) == 0) hand_drop(&hand->nodes[i]);
  }
  hand_delete("/volt/x/s/0");
  scene_answer();
  assert_int_equal(u.held, 1);
  for (uint32_t i = hand->node_count; i-- > 0;) {
    if (strncmp(hand->nodes[i].path, "/volt/x/h0/", 11) == 0) hand_drop(&hand->nodes[i]);
  }
  scene_release(&u, 1);
  scene_pass(200);
  assert_null(hand_find("/volt/x/s/0"));
  expect_nodes("/volt/x/h0", 0);
}

static void test_data_that_are_not_ours(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 2);
  scene_answer();
  hand_set("/volt/x", "hello");
  scene_answer();
  assert_result(scene_stats(&u).result, VOLT_CLUSTER_EDATA);
  assert_int_equal(u.held, 2); /* what it has, it has */
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.held, 2);
  assert_result(set_limit(5), VOLT_CLUSTER_EDATA);
  scene_release(&u, 2);
  scene_pass(300);
  assert_int_equal(u.held, 1);
  hand_set("/volt/x", SCENE_DATA("3"));
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.held, 2);
}

static void test_an_older_ensemble_is_refused(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  scene_release(&u, 1);
  scene_pass(200);
  hand->transaction = 5; /* it was replaced */
  hand_find("/volt/x")->stat.created = 1;
  scene_want(&u, 1);
  scene_pass(100);
  assert_int_equal(u.held, 0);
  assert_result(scene_stats(&u).result, VOLT_CLUSTER_EERA);
  expect_nodes("/volt/x/q0", 0); /* it does not stand in the way */
  hand_set("/volt/x", "volt-cluster 1 limit 4 era 2");
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_int_equal(u.slots[0].era, 2);
}

static void test_a_config_raises_the_era(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("4"), 0);
  scene_begin_with(&(volt_cluster_sem_config){.era = 7});
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.slots[0].era, 7);
  assert_non_null(strstr(hand_find("/volt/x")->data, "era 7\n"));
}

/* ---- generations ---- */

static void test_the_directories_turn(void **state) {
  (void)state;
  hand_make_semaphore("volt-cluster 1 limit 2 turn 3", 0);
  hand_find("/volt/x/q0")->sequence = 2;
  scene_begin_with(NULL);
  for (int i = 0; i < 5; i++) {
    scene_want(&u, 1);
    scene_answer();
    assert_int_equal(u.held, 1);
    scene_release(&u, 1);
    scene_pass(200);
  }
  assert_null(hand_find("/volt/x/q0"));
  assert_null(hand_find("/volt/x/h0"));
  scene_want(&u, 1);
  scene_pass(2500);
  expect_nodes("/volt/x", 3); /* one of each */
}

static void test_who_queues_in_an_old_directory_is_first(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  const char *other = hand_enter('q', 7, ".0.1.");
  hand_make("/volt/x/q1", "");
  hand_make("/volt/x/h1", "");
  hand_set("/volt/x", "volt-cluster 1 limit 2 queue 1");
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  expect_writes("+q1 | ");
  assert_int_equal(u.held, 0);
  hand_delete(other);
  scene_answer();
  assert_int_equal(u.held, 1);
  scene_pass(2500);
  assert_null(hand_find("/volt/x/q0"));
  assert_null(hand_find("/volt/x/h0"));
}

static void test_old_directories_go_while_others_wait(void **state) {
  (void)state;
  hand_make_semaphore("volt-cluster 1 limit 2 turn 5 quantum_ms 50", 0);
  hand_make_by(999, "/volt/x/s/1");
  hand_find("/volt/x/h0")->sequence = 5;
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.held, 1);
  assert_non_null(hand_find("/volt/x/q1"));
  hand_make_by(7, "/volt/x/q1/00000000000000000000000000000007.0.1.0000000007");
  scene_pass(200);
  assert_null(hand_find("/volt/x/q0"));
  assert_null(hand_find("/volt/x/h0"));
}

static void test_a_free_slot_that_it_has_is_lost(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("2"), 0);
  scene_begin_with(NULL);
  scene_want(&u, 1);
  scene_answer();
  hand_delete("/volt/x/s/0");
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(u.lost, 1);
  assert_int_equal(u.added, 2);
  expect_nodes("/volt/x/s", 1);
}

static void test_numbers_that_wrap_are_in_order(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("1"), 1);
  hand_find("/volt/x/q0")->sequence = INT32_MAX;
  const char *first = hand_enter('q', 7, ".0.1.");
  hand_find("/volt/x/q0")->sequence = INT32_MIN;
  scene_begin_with(&(volt_cluster_sem_config){.linger_ns = HAND_MS});
  scene_want(&u, 1);
  scene_answer();
  assert_int_equal(scene_stats(&u).hosts_before, 1);
  hand_delete(first);
  hand_delete("/volt/x/s/0");
  scene_answer();
  assert_int_equal(u.held, 1);
}

/* While the slots are read with a watch: one becomes free, and the directories turn. */
static bool turn_as_a_slot_is_free(void) {
  const volt_cluster_request *r = hand->asked[0];
  if (r->kind != VOLT_CLUSTER_CHILDREN || strcmp(r->path, "/volt/x/s") != 0 || !r->watch) {
    return false;
  }
  scene_interfere = NULL;
  hand_delete("/volt/x/s/1");
  hand_make("/volt/x/q1", "");
  hand_make("/volt/x/h1", "");
  hand_set("/volt/x", "volt-cluster 1 limit 3 queue 1");
  return false;
}

/* recipe.c R5: the answer is there, and the data come first. */
static void test_a_free_slot_is_seen_as_the_directories_turn(void **state) {
  (void)state;
  hand_make_semaphore(SCENE_DATA("3"), 3);
  scene_begin_with(NULL);
  scene_interfere = turn_as_a_slot_is_free;
  scene_want(&u, 1);
  scene_answer();
  assert_null(scene_interfere);
  assert_int_equal(u.held, 1);
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      scene_test(test_the_first_lease_takes_three_writes),
      scene_test(test_the_way_to_the_node_is_made),
      scene_test(test_a_host_without_a_limit_waits_for_the_node),
      scene_test(test_directories_that_are_missing_are_made),
      scene_test(test_a_busy_host_writes_nothing_but_heartbeats),
      scene_test(test_an_idle_host_gives_back_after_linger),
      scene_test(test_slots_that_are_used_now_and_then_stay),
      scene_test(test_more_demand_takes_more),
      scene_test(test_memory_is_a_bound),
      scene_test(test_many_slots_come_in_several_transactions),
      scene_test(test_nobody_passes_the_queue),
      scene_test(test_the_first_waits_for_a_slot),
      scene_test(test_a_lease_after_a_long_wait_is_valid_at_once),
      scene_test(test_a_first_that_lets_slots_lie_is_marked_and_passed),
      scene_test(test_a_marked_one_is_passed_at_once),
      scene_test(test_any_number_of_marked_ones_is_passed),
      scene_test(test_a_slow_first_is_waited_for_as_it_asks),
      scene_test(test_none_is_marked_while_no_slot_is_free),
      scene_test(test_what_was_taken_lies_anew),
      scene_test(test_two_that_let_slots_lie_are_marked_one_by_one),
      scene_test(test_one_that_was_marked_queues_anew),
      scene_test(test_the_mark_of_an_older_entry_does_not_count),
      scene_test(test_with_others_behind_it_takes_its_share),
      scene_test(test_who_needs_nothing_any_more_leaves_the_queue),
      scene_test(test_a_slot_that_is_not_free_is_no_end),
      scene_test(test_foreign_names_are_ignored),
      scene_test(test_its_own_stray_does_not_stop_it),
      scene_test(test_a_thousand_hosts),
      scene_test(test_who_has_more_gives_after_the_quantum),
      scene_test(test_the_first_holder_is_woken_by_who_queues),
      scene_test(test_idle_slots_go_at_once),
      scene_test(test_slots_that_nobody_takes_are_enough),
      scene_test(test_with_more_hosts_than_slots_each_goes_round),
      scene_test(test_who_gives_nothing_lets_the_next_look),
      scene_test(test_who_needs_some_lets_the_next_look),
      scene_test(test_debts_that_nobody_pays_are_no_writes),
      scene_test(test_who_has_its_share_steps_back),
      scene_test(test_who_gives_goes_behind),
      scene_test(test_a_higher_limit_is_used),
      scene_test(test_the_stats_say_a_limit_as_soon_as_it_is_set),
      scene_test(test_a_lower_limit_is_a_debt),
      scene_test(test_two_that_change_the_limit),
      scene_test(test_a_change_that_is_given_up),
      scene_test(test_the_node_is_deleted_by_hand),
      scene_test(test_a_slot_is_deleted_by_hand),
      scene_test(test_entries_are_deleted_by_hand),
      scene_test(test_data_that_are_not_ours),
      scene_test(test_an_older_ensemble_is_refused),
      scene_test(test_a_config_raises_the_era),
      scene_test(test_the_directories_turn),
      scene_test(test_who_queues_in_an_old_directory_is_first),
      scene_test(test_old_directories_go_while_others_wait),
      scene_test(test_a_free_slot_that_it_has_is_lost),
      scene_test(test_numbers_that_wrap_are_in_order),
      scene_test(test_a_free_slot_is_seen_as_the_directories_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
