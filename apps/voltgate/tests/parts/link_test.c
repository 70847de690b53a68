/* link_test.c: links in the clear: what is kept, in its order, and the end behind it. (By TLS:
 * tls_test.c.) */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "link/link.h"
#include "network.h"

enum { BUFFER = 1000 };

struct scene {
  volt_rt *rt;
  struct link link;
  volt_fd far;
};

static void scene_begin(struct scene *s) {
  volt_simulated_faults faults = {.buffer_size = BUFFER};
  memset(s, 0, sizeof *s);
  s->rt = network_begin(1, &faults);
  assert_result(volt_pair_open(&s->far, &s->link.fd, s->rt, SOCK_STREAM), VOLT_OK);
}

static void scene_end(struct scene *s) {
  link_close(&s->link);
  link_close(&s->link); /* twice is fine */
  volt_fd_close(&s->far);
  network_settle(s->rt, VOLT_NO_DEADLINE);
  network_end(s->rt);
}

static void test_receive(void **state) {
  struct scene s;
  char got[16];
  size_t n;
  (void)state;
  scene_begin(&s);
  assert_result(link_recv(&s.link, got, sizeof got, &n), VOLT_EAGAIN);
  assert_true(s.link.is_drained);
  far_say_text(&s.far, "12345678");
  network_run(s.rt);
  assert_result(link_recv(&s.link, got, 8, &n), VOLT_OK);
  assert_int_equal(n, 8);
  assert_false(s.link.is_drained); /* it was filled: there may be more */
  far_say_text(&s.far, "9");
  network_run(s.rt);
  assert_result(link_recv(&s.link, got, 8, &n), VOLT_OK);
  assert_int_equal(n, 1);
  assert_true(s.link.is_drained);
  assert_false(s.link.has_ended);
  assert_int_equal(link_events(&s.link, true), POLLIN);
  assert_result(volt_fd_shutdown(&s.far, SHUT_WR), VOLT_OK);
  network_run(s.rt);
  assert_result(link_recv(&s.link, got, 8, &n), VOLT_OK);
  assert_int_equal(n, 0);
  assert_true(s.link.has_ended);
  assert_int_equal(link_events(&s.link, true), 0);
  scene_end(&s);
}

/* Bytes from..until of a pattern. */
static void send_pattern(struct scene *s, size_t from, size_t until) {
  uint8_t bytes[8 * BUFFER];
  for (size_t i = from; i < until; i++) bytes[i - from] = (uint8_t)(i * 7);
  assert_result(link_send(&s->link, bytes, until - from), VOLT_OK);
}

static size_t take_pattern(struct scene *s, size_t from, bool *ended) {
  uint8_t bytes[BUFFER];
  size_t n = far_take(&s->far, bytes, sizeof bytes, ended);
  for (size_t i = 0; i < n; i++) assert_int_equal(bytes[i], (uint8_t)((from + i) * 7));
  return n;
}

static void test_what_there_is_no_room_for_is_kept(void **state) {
  struct scene s;
  bool ended = false;
  (void)state;
  scene_begin(&s);
  send_pattern(&s, 0, BUFFER / 2);
  assert_false(link_is_full(&s.link));
  send_pattern(&s, BUFFER / 2, 3 * BUFFER);
  assert_true(link_is_full(&s.link));
  assert_int_equal(link_events(&s.link, false), POLLOUT);
  assert_int_equal(link_events(&s.link, true), POLLOUT | POLLIN);
  send_pattern(&s, 3 * BUFFER, 4 * BUFFER); /* behind the rest */
  assert_result(link_shut(&s.link), VOLT_OK);
  size_t taken = 0;
  for (int i = 0; i < 10 && !ended; i++) {
    network_run(s.rt);
    taken += take_pattern(&s, taken, &ended);
    network_run(s.rt);
    assert_result(link_flush(&s.link), VOLT_OK);
  }
  assert_int_equal(taken, 4 * BUFFER);
  assert_true(ended); /* behind the last byte */
  assert_false(link_is_full(&s.link));
  assert_result(link_flush(&s.link), VOLT_OK);
  assert_result(link_shut(&s.link), VOLT_OK); /* again: nothing */
  scene_end(&s);
}

static void test_what_is_kept_can_be_dropped(void **state) {
  struct scene s;
  bool ended;
  (void)state;
  scene_begin(&s);
  send_pattern(&s, 0, 3 * BUFFER);
  link_drop_kept(&s.link);
  assert_false(link_is_full(&s.link));
  assert_result(link_shut(&s.link), VOLT_OK);
  network_run(s.rt);
  assert_int_equal(take_pattern(&s, 0, &ended), BUFFER);
  far_hears_end(&s.far);
  scene_end(&s);
}

static void test_closing_forgets_what_is_kept(void **state) {
  struct scene s;
  (void)state;
  scene_begin(&s);
  send_pattern(&s, 0, 3 * BUFFER);
  scene_end(&s);
}

static void test_a_peer_that_is_gone(void **state) {
  struct scene s;
  char got[16];
  size_t n;
  (void)state;
  scene_begin(&s);
  send_pattern(&s, 0, 3 * BUFFER);
  volt_fd_close(&s.far); /* with bytes that nobody has read: a reset */
  network_run(s.rt);
  int flushed = link_flush(&s.link);
  assert_true(volt_errno(flushed) == ECONNRESET || volt_errno(flushed) == EPIPE);
  int received = link_recv(&s.link, got, sizeof got, &n);
  assert_true(received != VOLT_EAGAIN);
  assert_int_equal(n, 0);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_receive),
      cmocka_unit_test(test_what_there_is_no_room_for_is_kept),
      cmocka_unit_test(test_what_is_kept_can_be_dropped),
      cmocka_unit_test(test_closing_forgets_what_is_kept),
      cmocka_unit_test(test_a_peer_that_is_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
