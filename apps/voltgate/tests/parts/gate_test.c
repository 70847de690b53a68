/* gate_test.c: a gate as a whole: words for refusals, settings that change, and the probe, which
 * finds a server again. */
#include <sched.h>
#include <volt/io.h>
#include <volt/net.h>

#include "gate_kit.h"

static void a_refusal_has_values(void **state) {
  (void)state;
  kit_begin(2, NULL, 0);
  kit_settings.queue_timeout_ns = 5;
  kit_settings.login_timeout_ns = 6;
  for (int i = 0; i < 3; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_result(admission_try(&admission[1], now_ns), VOLT_OK);
  assert_result(queue_up(2), VOLT_PENDING);
  struct refusal_values values;
  gate_refusal_values(&gate, REASON_QUEUE_TIMEOUT, &values);
  assert_int_equal(values.limit, 2);
  assert_int_equal(values.held, 2);
  assert_int_equal(values.waiting, 1);
  assert_int_equal(values.queue, KIT_CLIENTS);
  assert_int_equal(values.time_ns, 5);
  assert_null(values.why);
  gate_refusal_values(&gate, REASON_LOGIN_TIMEOUT, &values);
  assert_int_equal(values.time_ns, 6);
  gate_connect_failed(&gate, "Connection refused");
  gate_refusal_values(&gate, REASON_CONNECT, &values);
  assert_string_equal(values.why, "Connection refused");
  assert_false(admission_leave(&admission[2], now_ns));
  admission_release(&admission[0], now_ns);
  admission_release(&admission[1], now_ns);
  kit_end();
}

static void a_refusal_is_counted(void **state) {
  (void)state;
  struct tenant_settings none;
  kit_begin(1, &none, 0);
  come(0, "app");
  gate_refused(&gate, client[0].tenant, REASON_QUEUE_FULL);
  gate_refused(&gate, NULL, REASON_CLIENTS);
  struct statistics_values values;
  statistics_read(&gate.statistics, &values);
  assert_int_equal(values.refused[REASON_QUEUE_FULL], 1);
  assert_int_equal(values.refused[REASON_CLIENTS], 1);
  assert_int_equal(client[0].tenant->refused, 1);
  kit_end();
}

static void new_settings_hold(void **state) {
  (void)state;
  kit_begin(2, NULL, 0);
  uint64_t version = volt_watch_version(&gate.news);
  struct gate_settings changed = kit_settings;
  changed.limit = 5;
  changed.queue = 3;
  assert_true(gate_set(&gate, &changed));
  assert_ptr_equal(gate_settings(&gate), &changed);
  assert_int_equal(volt_sem_limit(&gate.permits), 5);
  assert_int_equal(gate.queue_bound, 3);
  assert_int_equal(volt_watch_version(&gate.news), version + 1);
  kit_end();
}

static void the_breaker_opens_and_is_told(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  kit_settings.breaker_failures = 2;
  uint64_t version = volt_watch_version(&gate.news);
  gate_connect_failed(&gate, "Connection refused");
  assert_false(breaker_is_open(&gate.breaker));
  assert_int_equal(volt_watch_version(&gate.news), version);
  gate_connect_failed(&gate, "Connection refused");
  assert_true(breaker_is_open(&gate.breaker));
  assert_int_equal(volt_watch_version(&gate.news), version + 1);
  gate_answered(&gate);
  assert_false(breaker_is_open(&gate.breaker));
  assert_int_equal(volt_watch_version(&gate.news), version + 2);
  gate_answered(&gate);
  assert_int_equal(volt_watch_version(&gate.news), version + 2);
  gate_connect_failed(&gate, "x");
  gate_connect_failed(&gate, "x");
  struct gate_settings changed = kit_settings;
  changed.breaker_failures = 0;
  assert_true(gate_set(&gate, &changed)); /* without a breaker none is open */
  assert_false(breaker_is_open(&gate.breaker));
  struct statistics_values values;
  statistics_read(&gate.statistics, &values);
  assert_int_equal(values.counts[COUNT_CONNECT_FAILURES], 4);
  kit_end();
}

/* ---- the probe ---- */

static volt_rt *rt;
static volt_fd listener;
static volt_address address;
static char address_text[VOLT_ADDRESS_TEXT];

static void begin_with_a_server(enum protocol protocol) {
  const volt_rt_config config = {.workers = 2, .io = volt_io_epoll()};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  assert_result(volt_address_parse(&address, "127.0.0.1:0"), VOLT_OK);
  assert_result(volt_listen(&listener, rt, &address, 0, 0), VOLT_OK);
  assert_result(volt_fd_local(&listener, &address), VOLT_OK);
  volt_address_text(&address, address_text);
  kit_settings = (struct gate_settings){.name = "main",
                                        .to = address_text,
                                        .protocol = protocol,
                                        .limit = 1,
                                        .breaker_failures = 1,
                                        .connect_timeout_ns = 1000000000,
                                        .breaker_retry_ns = 2000000};
  assert_true(gate_init(&gate, NULL, rt, &kit_settings));
}

static void end_with_a_server(void) {
  gate_destroy(&gate);
  volt_fd_close(&listener);
  volt_rt_shutdown(rt, VOLT_NO_DEADLINE);
  (void)volt_rt_destroy(rt);
}

/* Wait until what has been said before has changed. */
static void await_news(uint64_t *seen) {
  assert_result(volt_watch_changed_until(&gate.news, seen, volt_deadline_ns(60000000000)), VOLT_OK);
}

static void the_probe_closes_the_breaker(void **state) {
  (void)state;
  begin_with_a_server(PROTOCOL_TCP);
  for (int i = 0; i < 20; i++) {
    uint64_t seen = volt_watch_version(&gate.news);
    gate_connect_failed(&gate, "Connection refused");
    await_news(&seen);
    while (breaker_is_open(&gate.breaker)) await_news(&seen);
  }
  end_with_a_server();
}

static uint64_t failures(void) {
  struct statistics_values values;
  statistics_read(&gate.statistics, &values);
  return values.counts[COUNT_CONNECT_FAILURES];
}

static void the_probe_goes_on_until_the_server_is_back(void **state) {
  (void)state;
  begin_with_a_server(PROTOCOL_TCP);
  volt_fd_close(&listener); /* nobody listens at its port */
  gate_connect_failed(&gate, "first");
  while (failures() < 4) sched_yield(); /* it has tried, and tried again */
  assert_true(breaker_is_open(&gate.breaker));
  char why[BREAKER_REASON_MAX];
  (void)breaker_reason(&gate.breaker, why);
  assert_non_null(strstr(why, "refused"));
  uint64_t seen = volt_watch_version(&gate.news);
  assert_result(volt_listen(&listener, rt, &address, 0, 0), VOLT_OK);
  while (breaker_is_open(&gate.breaker)) await_news(&seen);
  end_with_a_server();
}

/* The server accepts a probe, hears its question, and says so much of an answer before it closes. */
static void answer_a_probe(size_t question, const char *answer) {
  volt_fd from;
  volt_op op;
  char heard[64];
  const uint64_t deadline_ns = volt_deadline_ns(60000000000);
  assert_result(volt_future_wait_until(volt_fd_accept_future(&op, &listener, &from), deadline_ns),
                VOLT_OK);
  for (size_t n = 0; n < question; n += op.n) {
    assert_result(volt_future_wait_until(volt_fd_recv_future(&op, &from, heard, sizeof heard, 0),
                                         deadline_ns),
                  VOLT_OK);
    assert_true(op.n > 0);
  }
  size_t size = strlen(answer);
  assert_result(
      volt_future_wait_until(volt_fd_send_future(&op, &from, answer, size, 0), deadline_ns),
      VOLT_OK);
  volt_fd_close(&from);
}

/* As a balancer does whose servers are away: it accepts, and closes without a word. */
static void to_hang_up_is_no_answer(void **state) {
  (void)state;
  static const struct {
    enum protocol protocol;
    size_t question;
    const char *answer;
    unsigned allowed; /* failures */
  } cases[] = {{PROTOCOL_POSTGRES, 8, "N", 1},
               {PROTOCOL_REDIS, 6, "-", 1}, /* an error is an answer, too */
               {PROTOCOL_POSTGRES, 8, "N", 4}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char why[BREAKER_REASON_MAX];
    begin_with_a_server(cases[i].protocol);
    kit_settings.breaker_failures = cases[i].allowed;
    if (cases[i].allowed == 1) {
      gate_connect_failed(&gate, "first");
    } else { /* it is probed because it is silent, and not because the breaker is open */
      gate_unanswered(&gate, volt_now_ns());
    }
    for (unsigned n = 0; n < 3; n++) answer_a_probe(cases[i].question, "");
    while (failures() < (cases[i].allowed == 1 ? 4 : 3)) sched_yield();
    while (!breaker_is_open(&gate.breaker)) sched_yield();
    assert_true(breaker_is_open(&gate.breaker));
    (void)breaker_reason(&gate.breaker, why);
    assert_non_null(strstr(why, "closes them without an answer"));
    uint64_t seen = volt_watch_version(&gate.news);
    answer_a_probe(cases[i].question, cases[i].answer);
    while (breaker_is_open(&gate.breaker)) await_news(&seen);
    end_with_a_server();
  }
}

static void a_gate_ends_while_it_probes(void **state) {
  (void)state;
  begin_with_a_server(PROTOCOL_TCP);
  volt_fd_close(&listener);
  gate_connect_failed(&gate, "first");
  while (failures() < 2) sched_yield();
  end_with_a_server();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_refusal_has_values),
      cmocka_unit_test(a_refusal_is_counted),
      cmocka_unit_test(new_settings_hold),
      cmocka_unit_test(the_breaker_opens_and_is_told),
      cmocka_unit_test(the_probe_closes_the_breaker),
      cmocka_unit_test(the_probe_goes_on_until_the_server_is_back),
      cmocka_unit_test(to_hang_up_is_no_answer),
      cmocka_unit_test(a_gate_ends_while_it_probes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
