/* describe_cluster_test.c: as describe_test.c: what waits for a cluster. */
#include <volt/cluster.h>

#include "by_hand.h"
#include "described.h"
#include "rough_ensemble.h"

#define SECOND UINT64_C(1000000000)

static by_hand h;
static rough_ensemble *ensemble;
static rough_faults quick = {.delay_ns = 2000000};
static volt_cluster *host;
static volt_cluster_sem *sem;
static poller p;
static volt_future f;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  poller_init(&p);
  ensemble = rough_ensemble_new(&quick, 3);
  const volt_cluster_config config = {.rt = h.rt,
                                      .kind = rough_ensemble_kind(),
                                      .of_kind = ensemble,
                                      .servers = "rough:1",
                                      .session_ns = 4 * SECOND};
  const volt_cluster_sem_config of_sem = {.limit = 2};
  assert_result(volt_cluster_open(&host, &config), VOLT_OK);
  assert_result(volt_cluster_sem_open(&sem, host, "a", &of_sem), VOLT_OK);
  return 0;
}

static int run(volt_future *future) {
  int result = volt_rt_run_until(h.rt, future, volt_rt_now_ns(h.rt) + 10 * SECOND);
  (void)by_hand_run(&h);
  return result;
}

static int tear_down(void **state) {
  (void)state;
  assert_result(run(volt_cluster_close_future(&f, host)), VOLT_OK);
  volt_cluster_destroy(host);
  rough_ensemble_free(ensemble);
  by_hand_end(&h, 0);
  return 0;
}

static void volt_cluster_acquire_future_is_described(void **state) {
  (void)state;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_future_made(volt_cluster_acquire_future(&acquire, sem, &permit));
  assert_null(volt_future_inside_(&acquire.future, 0)); /* there is none before it has begun */
  volt_description_ description = described_waiting(&p, &acquire.future);
  described_expect(&description, "volt_cluster_acquire", "cluster_sem", sem, VOLT_ENDS_INNER_);
  assert_int_equal(description.wanted, 1);
  volt_describe_(volt_future_inside_(&acquire.future, 0), &description);
  assert_string_equal(description.operation, "volt_sem_acquire");
  assert_null(volt_future_inside_(&acquire.future, 1));
  described_end(&p, &acquire.future);
}

static void volt_cluster_permit_lost_future_is_described(void **state) {
  (void)state;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  assert_result(run(volt_cluster_acquire_future(&acquire, sem, &permit)), VOLT_OK);
  volt_description_ description =
      described_waiting(&p, volt_cluster_permit_lost_future(&f, &permit));
  assert_string_equal(description.operation, "volt_latch_wait");
  assert_string_equal(description.state, "1 to go");
  described_end(&p, &f);
  volt_cluster_release(&permit);
}

static void volt_cluster_changed_future_is_described(void **state) {
  (void)state;
  uint64_t seen = 0;
  assert_result(run(volt_cluster_changed_future(&f, host, &seen)), VOLT_OK); /* the state so far */
  volt_description_ description =
      described_waiting(&p, volt_cluster_changed_future(&f, host, &seen));
  assert_string_equal(description.operation, "volt_watch_changed");
  assert_int_equal(description.kind, VOLT_KIND_WATCH_);
  described_end(&p, &f);
}

static void check_change(volt_future *future, const volt_cluster_change *change) {
  volt_description_ description = described_waiting(&p, future);
  described_expect(&description, "volt_cluster_lease_set_limit", "cluster_lease", change->lease,
                   VOLT_ENDS_UNKNOWN_);
  assert_string_equal(description.state, "to 7");
  assert_result(run(future), VOLT_OK);
}

static void volt_cluster_lease_set_limit_future_is_described(void **state) {
  (void)state;
  volt_cluster_change change;
  volt_future_made(volt_cluster_sem_set_limit_future(&change, sem, 7)); /* says which lease */
  check_change(volt_cluster_lease_set_limit_future(&change, change.lease, 7), &change);
}

static void volt_cluster_sem_set_limit_future_is_described(void **state) {
  (void)state;
  volt_cluster_change change;
  check_change(volt_cluster_sem_set_limit_future(&change, sem, 7), &change);
}

static void volt_cluster_close_future_is_described(void **state) {
  (void)state;
  volt_description_ description = described_waiting(&p, volt_cluster_close_future(&f, host));
  described_expect(&description, "volt_cluster_close", "cluster", host, VOLT_ENDS_UNKNOWN_);
  assert_result(run(&f), VOLT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(volt_cluster_acquire_future_is_described),
      TEST(volt_cluster_permit_lost_future_is_described),
      TEST(volt_cluster_lease_set_limit_future_is_described),
      TEST(volt_cluster_sem_set_limit_future_is_described),
      TEST(volt_cluster_changed_future_is_described),
      TEST(volt_cluster_close_future_is_described),
  };
  int failed = 0;
  for (described_how = DESCRIBED_CANCELLED; described_how < DESCRIBED_WAYS;
       described_how = (described_way)(described_how + 1))
    failed += cmocka_run_group_tests_name("look_cluster", tests, NULL, NULL);
  return failed;
}
