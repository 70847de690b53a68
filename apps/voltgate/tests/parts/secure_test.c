/* secure_test.c: TLS towards the server, up to the handshake: what goes before it, and that no step waits for
 * longer than connect-timeout. */
#include "gate/secure.h"

#include <string.h>

#include "network.h"

#define TIMEOUT_NS UINT64_C(200000000)

static struct gate_settings settings;

struct scene {
  volt_rt *rt;
  struct gate gate;
  volt_fd far, near;
  struct secure secure;
};

static void ignore(void *arg) {
  (void)arg;
}

static void scene_begin(struct scene *s) {
  struct certificates certificates;
  memset(s, 0, sizeof *s);
  settings = (struct gate_settings){.name = "main",
                                    .to = "127.0.0.1:1",
                                    .limit = 1,
                                    .clients = 1,
                                    .server_tls = SERVER_TLS_REQUIRE,
                                    .proxy_out = PROXY_HEADER_V2,
                                    .connect_timeout_ns = TIMEOUT_NS,
                                    .tenant_default = {.weight = 1, .cost = 1}};
  s->rt = network_begin(1, NULL);
  assert_true(gate_init(&s->gate, NULL, s->rt, &settings));
  assert_null(certificates_read(&certificates, &settings));
  gate_set_certificates(&s->gate, &certificates);
  network_connect(s->rt, &s->far, &s->near);
}

static void scene_end(struct scene *s) {
  volt_fd_close(&s->near);
  volt_fd_close(&s->far);
  gate_destroy(&s->gate);
  network_end(s->rt);
}

/* What it comes to when nothing is done at the far end. */
static void expect_late(struct scene *s, const char *why) {
  volt_waker waker = {ignore, NULL};
  uint64_t begun_ns = volt_rt_now_ns(s->rt);
  volt_future *f = secure_probe_future(&s->secure, &s->gate, &s->near);
  assert_result(volt_future_poll(f, waker), VOLT_PENDING);
  network_settle(s->rt, begun_ns + 10 * TIMEOUT_NS);
  assert_result(volt_future_poll(f, waker), VOLT_ETIMEDOUT);
  assert_string_equal(s->secure.why, why);
  assert_null(s->secure.tls);
}

static void a_header_goes_first(void **state) {
  (void)state;
  static struct scene s;
  char header[PROXY_OUT_MAX], came[2048];
  bool ended;
  scene_begin(&s);
  expect_late(&s, "no TLS handshake within connect-timeout");
  size_t size = secure_header(&s.gate, header);
  assert_true(size > 0);
  assert_true(far_take(&s.far, came, sizeof came, &ended) > size);
  assert_memory_equal(came, header, size);
  assert_int_equal(came[size], 0x16); /* a record of a handshake */
  scene_end(&s);
}

static void a_header_that_is_not_taken_has_a_deadline(void **state) {
  (void)state;
  static struct scene s;
  static char filler[4096];
  scene_begin(&s);
  while (far_say_some(&s.near, filler, sizeof filler) > 0) continue;
  expect_late(&s, "no PROXY header could be sent within connect-timeout");
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_header_goes_first),
      cmocka_unit_test(a_header_that_is_not_taken_has_a_deadline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
