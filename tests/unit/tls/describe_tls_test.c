/* describe_tls_test.c: as describe_test.c: what waits for a stream of TLS says its name, and the wait for
 * the socket within.
 *
 * BACK ENDS: none */
#include <volt/tls.h>

#include "described.h"
#include "tls_scene.h"

static scene s;
static char big[300000];

static void run_all(void) {
  (void)by_hand_run(&s.h);
}

/* f waits, and within it the socket. */
static void expect(volt_future *f, const char *operation) {
  poller p;
  poller_init(&p);
  assert_null(volt_future_inside_(f, 0)); /* there is none before it has begun */
  volt_description_ description = described_waiting(&p, f);
  described_expect(&description, operation, "", NULL, VOLT_ENDS_INNER_);
  volt_describe_(volt_future_inside_(f, 0), &description);
  assert_string_equal(description.operation, "volt_fd_ready");
  assert_null(volt_future_inside_(f, 1));
  described_end(&p, f);
}

static void begin(void) {
  described_run = run_all;
  scene_begin(&s, NULL, NULL);
}

static void volt_tls_handshake_future_is_described(void **state) {
  (void)state;
  volt_tls_op op;
  begin();
  scene_init(&s, "example.org");
  expect(volt_tls_handshake_future(&op, &s.tls[0]), "volt_tls_handshake");
  scene_end(&s);
}

static void volt_tls_recv_future_is_described(void **state) {
  (void)state;
  volt_tls_op op;
  char to[10];
  begin();
  scene_shake(&s);
  expect(volt_tls_recv_future(&op, &s.tls[1], to, sizeof to), "volt_tls_recv");
  scene_end(&s);
}

/* No room is left for what is sent. */
static void begin_full(void) {
  job send;
  begin();
  scene_shake(&s);
  job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[0], big, sizeof big));
  (void)by_hand_run(&s.h);
  assert_result(job_cancel(&s.h, &send), VOLT_ECANCELED);
}

static void volt_tls_send_future_is_described(void **state) {
  (void)state;
  volt_tls_op op;
  begin_full();
  expect(volt_tls_send_future(&op, &s.tls[0], big, 1), "volt_tls_send");
  assert_int_equal(op.n, 0);
  scene_end(&s);
}

static void volt_tls_send_all_future_is_described(void **state) {
  (void)state;
  volt_tls_op op;
  begin_full();
  expect(volt_tls_send_all_future(&op, &s.tls[0], big, 1), "volt_tls_send_all");
  scene_end(&s);
}

static void volt_tls_shutdown_future_is_described(void **state) {
  (void)state;
  volt_tls_op op;
  begin_full();
  expect(volt_tls_shutdown_future(&op, &s.tls[0]), "volt_tls_shutdown");
  scene_end(&s);
}

/* It seldom waits: before it has begun. */
static void volt_tls_close_future_is_described(void **state) {
  (void)state;
  volt_tls_op op;
  begin();
  scene_init(&s, "example.org");
  volt_description_ description;
  volt_future *f = volt_tls_close_future(&op, &s.tls[0]);
  volt_describe_(f, &description);
  described_expect(&description, "volt_tls_close", "", NULL, VOLT_ENDS_UNKNOWN_);
  volt_future_cancel(f);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(volt_tls_handshake_future_is_described),
      cmocka_unit_test(volt_tls_recv_future_is_described),
      cmocka_unit_test(volt_tls_send_future_is_described),
      cmocka_unit_test(volt_tls_send_all_future_is_described),
      cmocka_unit_test(volt_tls_shutdown_future_is_described),
      cmocka_unit_test(volt_tls_close_future_is_described),
  };
  int failed = 0;
  scene_make_ca();
  for (int way = 0; way < DESCRIBED_WAYS; way++) {
    described_how = (described_way)way;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  scene_free_ca();
  return failed;
}
