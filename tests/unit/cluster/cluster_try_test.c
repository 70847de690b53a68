/* cluster_try_test.c: tasks that try, and do not wait: a leader that is elected by polling; and what a
 * host does while nothing changes. */
#include <volt/cluster.h>

#include "by_hand.h"
#include "rough_ensemble.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

enum { HOSTS = 3 };

static by_hand h;
static rough_ensemble *ensemble;
static volt_cluster *hosts[HOSTS];
static volt_cluster_sem *sems[HOSTS];

static rough_faults quick = {.delay_ns = 2000000};

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_rt_advance(h.rt, SECOND);
  ensemble = rough_ensemble_new(&quick, 3);
  for (int i = 0; i < HOSTS; i++) {
    volt_cluster_config config = {.rt = h.rt,
                                  .kind = rough_ensemble_kind(),
                                  .of_kind = ensemble,
                                  .servers = "rough:1",
                                  .session_ns = 6 * SECOND};
    assert_result(volt_cluster_open(&hosts[i], &config), VOLT_OK);
    volt_cluster_sem_config of_sem = {.limit = 1};
    assert_result(volt_cluster_sem_open(&sems[i], hosts[i], "a", &of_sem), VOLT_OK);
  }
  return 0;
}

static void pass(uint64_t ns) {
  volt_sleep_op nap;
  uint64_t until_ns = volt_rt_now_ns(h.rt) + ns;
  assert_result(volt_rt_run_until(h.rt, volt_sleep_future(&nap, volt_rt_timers(h.rt), until_ns),
                                  VOLT_NO_DEADLINE),
                VOLT_OK);
  (void)by_hand_run(&h);
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < HOSTS; i++) {
    volt_future f;
    assert_result(volt_rt_run_until(h.rt, volt_cluster_close_future(&f, hosts[i]),
                                    volt_rt_now_ns(h.rt) + 5 * SECOND),
                  VOLT_OK);
    (void)by_hand_run(&h);
    volt_cluster_destroy(hosts[i]);
  }
  rough_ensemble_free(ensemble);
  by_hand_end(&h, 0);
  return 0;
}

static volt_cluster_lease_stats stats_of(int host) {
  volt_cluster_lease_stats stats;
  volt_cluster_sem_stats(sems[host], &stats);
  return stats;
}

/* Try each so many ns. Returns after how many tries there was a permit; above `most`: none. */
static int tries_until(int host, uint64_t each_ns, int most) {
  volt_cluster_permit p;
  for (int i = 1; i <= most; i++) {
    int result = volt_cluster_try_acquire(sems[host], &p);
    if (result == VOLT_OK) volt_cluster_release(&p);
    if (result == VOLT_OK) return i;
    assert_result(result, VOLT_EAGAIN);
    pass(each_ns);
  }
  return most + 1;
}

static void test_polling_succeeds(void **state) {
  (void)state;
  pass(SECOND);
  static const uint64_t each_ms[] = {1, 10, 100, 1000, 5000};
  for (size_t i = 0; i < sizeof each_ms / sizeof *each_ms; i++) {
    int most = each_ms[i] < 100 ? 100 : 3;
    assert_in_range(tries_until(0, each_ms[i] * MS, most), 1, most);
    pass(30 * SECOND); /* nothing is left of it */
    assert_int_equal(rough_ensemble_count(ensemble, "/volt/a/s"), 0);
  }
}

static void test_a_deadline_that_has_passed_is_a_try(void **state) {
  (void)state;
  volt_cluster_permit p;
  int result = VOLT_ETIMEDOUT;
  pass(SECOND);
  for (int i = 0; i < 100 && result == VOLT_ETIMEDOUT; i++) {
    result = volt_cluster_acquire_until(sems[0], &p, 0);
    if (result == VOLT_ETIMEDOUT) pass(10 * MS);
  }
  assert_result(result, VOLT_OK);
  volt_cluster_release(&p);
}

/* It does not come again: the slot is given back, and the place in the queue, too. */
static void test_one_try_keeps_nothing(void **state) {
  (void)state;
  pass(SECOND);
  assert_int_equal(tries_until(0, 200 * MS, 1), 2);
  pass(200 * MS);
  assert_int_equal(stats_of(0).leased, 0);
  assert_int_equal(stats_of(0).is_queued, 0);
  assert_int_equal(stats_of(0).leases, 1); /* there was one */
  uint64_t writes = rough_ensemble_writes(ensemble);
  pass(20 * SECOND);
  assert_int_equal(rough_ensemble_writes(ensemble), writes);
}

/* ... and does not delay a task of another host that waits. */
static void test_one_try_delays_no_other(void **state) {
  (void)state;
  volt_cluster_acquire_op a;
  volt_cluster_permit p;
  pass(SECOND);
  assert_int_equal(tries_until(0, 30 * MS, 1), 2);
  assert_result(volt_rt_run_until(h.rt, volt_cluster_acquire_future(&a, sems[1], &p),
                                  volt_rt_now_ns(h.rt) + 300 * MS),
                VOLT_OK);
  volt_cluster_release(&p);
}

/* Three hosts poll for one slot, each at its own moment of the same second, hold it for three
 * seconds, and poll on. */
static void test_hosts_that_poll_have_it_by_turns(void **state) {
  (void)state;
  volt_cluster_permit permits[HOSTS];
  int held[HOSTS] = {0}, got[HOSTS] = {0};
  for (int second = 0; second < 120; second++) {
    for (int i = 0; i < HOSTS; i++) {
      pass(SECOND / HOSTS);
      if (held[i] > 0 && --held[i] == 0) {
        volt_cluster_release(&permits[i]);
      } else if (held[i] == 0 && volt_cluster_try_acquire(sems[i], &permits[i]) == VOLT_OK) {
        held[i] = 3;
        got[i] += 1;
      }
    }
  }
  for (int i = 0; i < HOSTS; i++) {
    assert_in_range(got[i], 3, 40);
    if (held[i] > 0) volt_cluster_release(&permits[i]);
  }
}

/* A slot that is held for long: the host sends what renews the lease, and does nothing else. */
static void test_a_held_slot_is_not_polled(void **state) {
  (void)state;
  volt_cluster_acquire_op a;
  volt_cluster_permit p;
  assert_result(volt_rt_run_until(h.rt, volt_cluster_acquire_future(&a, sems[0], &p),
                                  volt_rt_now_ns(h.rt) + 5 * SECOND),
                VOLT_OK);
  pass(SECOND);
  uint64_t polls = by_hand_worker(&h).polls;
  pass(60 * SECOND);
  polls = by_hand_worker(&h).polls - polls;
  assert_in_range(polls, 100, 1000); /* 24 messages in 6 s; looks each 50 ms were 1,200 more */
  volt_cluster_release(&p);
  pass(200 * MS);
  assert_int_equal(stats_of(0).leased, 0); /* the release has rung */
}

#define try_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      try_test(test_polling_succeeds),
      try_test(test_a_deadline_that_has_passed_is_a_try),
      try_test(test_one_try_keeps_nothing),
      try_test(test_one_try_delays_no_other),
      try_test(test_hosts_that_poll_have_it_by_turns),
      try_test(test_a_held_slot_is_not_polled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
