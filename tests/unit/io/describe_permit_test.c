/* describe_permit_test.c: what a client of permits waits for, as an inspector sees it; and that nothing is
 * left behind, however that ends.
 *
 * BACK ENDS: none */
#include "described.h"
#include "permit_gate.h"

static const volt_simulated_faults no_faults;
static const volt_permit_request all = {.text = "cores=3"};
static volt_permit_client c, other;

static void let_run(void) {
  (void)by_hand_run(&g.h);
}

/* f waits for the gate: it awaits the function that talks to it. */
static void expect_asks(volt_future *f, const char *operation, const char *state) {
  poller p;
  poller_init(&p);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  if (*state) settle_all(); /* the gate answers */
  volt_description_ description = described_waiting(&p, f);
  assert_string_equal(description.operation, operation);
  assert_string_equal(description.state, state);
  assert_int_equal(description.ends, VOLT_ENDS_INNER_);
  volt_describe_(volt_future_inside_(f, 0), &description);
  assert_string_equal(description.operation, "volt_async");
  assert_null(volt_future_inside_(f, 1));
  described_end(&p, f);
}

static void begin_connected(void) {
  begin(1, &no_faults);
  described_run = let_run;
  connect_to(&c);
}

static void end(void) {
  volt_permit_client_close(&c);
  finish();
}

static void volt_permit_client_connect_future_is_described(void **state) {
  (void)state;
  begin(1, &no_faults);
  described_run = let_run;
  volt_permit_client_init(&c, g.h.rt);
  expect_asks(volt_permit_client_connect_future(&c, "unix:/permits"), "volt_permit_client_connect",
              "");
  end();
}

static void volt_permit_client_acquire_future_is_described(void **state) {
  (void)state;
  begin_connected();
  hold(&other, "cores=1");
  g.says_places = true;
  expect_asks(volt_permit_client_acquire_future(&c, &all), "volt_permit_client_acquire",
              "place 1 at the gate");
  assert_false(volt_permit_client_holds(&c));
  volt_permit_client_close(&other);
  end();
}

static void volt_permit_client_settle_future_is_described(void **state) {
  (void)state;
  begin_connected();
  hold(&other, "cores=1");
  volt_future *f = volt_permit_client_acquire_future(&c, &all);
  assert_result(run_for(f, UINT64_C(1000000000)), VOLT_ETIMEDOUT);
  expect_asks(volt_permit_client_settle_future(&c), "volt_permit_client_settle", "");
  volt_permit_client_close(&other);
  end();
}

static void volt_permit_client_lost_future_is_described(void **state) {
  (void)state;
  begin_connected();
  assert_result(run(volt_permit_client_acquire_future(&c, &all)), VOLT_OK);
  expect_asks(volt_permit_client_lost_future(&c), "volt_permit_client_lost", "");
  assert_true(volt_permit_client_holds(&c));
  end();
}

static void volt_permit_client_release_future_is_described(void **state) {
  (void)state;
  begin_connected();
  assert_result(run(volt_permit_client_acquire_future(&c, &all)), VOLT_OK);
  expect_asks(volt_permit_client_release_future(&c, NULL), "volt_permit_client_release", "");
  assert_result(run(volt_permit_client_settle_future(&c)), VOLT_OK);
  assert_int_equal(g.held, 0);
  end();
}

static void volt_permit_client_place_future_is_described(void **state) {
  (void)state;
  volt_future f;
  uint64_t seen = 0;
  begin_connected();
  assert_result(volt_watch_try_changed(&c.places, &seen), VOLT_OK); /* the first: none */
  described_check(volt_permit_client_place_future(&f, &c, &seen), "volt_watch_changed", "watch",
                  &c.places, VOLT_ENDS_UNKNOWN_, "");
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(volt_permit_client_connect_future_is_described),
      cmocka_unit_test(volt_permit_client_acquire_future_is_described),
      cmocka_unit_test(volt_permit_client_settle_future_is_described),
      cmocka_unit_test(volt_permit_client_lost_future_is_described),
      cmocka_unit_test(volt_permit_client_release_future_is_described),
      cmocka_unit_test(volt_permit_client_place_future_is_described),
  };
  int failed = 0;
  for (described_how = DESCRIBED_CANCELLED; described_how < DESCRIBED_WAYS;
       described_how = (described_way)(described_how + 1))
    failed += cmocka_run_group_tests_name("look_permits", tests, NULL, NULL);
  return failed;
}
