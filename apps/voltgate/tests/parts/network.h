/* network.h: a runtime by hand with a network in memory, and what a test does at the far end of a
 * connection. */
#ifndef VOLTGATE_TEST_NETWORK_H
#define VOLTGATE_TEST_NETWORK_H

#include <stdlib.h>
#include <volt/net.h>
#include <volt/simulated.h>

#include "unit.h"

static inline volt_rt *network_begin(uint64_t seed, const volt_simulated_faults *faults) {
  volt_rt *rt;
  volt_rt_config config = {
      .flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK, .seed = seed, .io = volt_io_simulated()};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  assert_result(volt_simulated_set_faults(rt, faults), VOLT_OK);
  return rt;
}

/* Until nothing is ready. Returns the next deadline. */
static inline uint64_t network_run(volt_rt *rt) {
  uint64_t deadline_ns;
  do {
    deadline_ns = volt_rt_run(rt);
  } while (deadline_ns == 0);
  return deadline_ns;
}

/* Until nothing happens any more by itself, or until_ns. */
static inline void network_settle(volt_rt *rt, uint64_t until_ns) {
  uint64_t deadline_ns;
  while ((deadline_ns = network_run(rt)) < until_ns) {
    volt_rt_advance(rt, deadline_ns - volt_rt_now_ns(rt));
  }
}

static inline void network_end(volt_rt *rt) {
  assert_int_equal(volt_simulated_open(rt), 0);
  assert_int_equal(volt_rt_destroy(rt), 0);
}

/* Two ends of a connection by TCP, of a runtime by hand. */
static inline void network_connect(volt_rt *rt, volt_fd *far, volt_fd *near) {
  volt_fd listener;
  volt_address at;
  volt_op ops[2];
  assert_result(volt_address_parse(&at, "127.0.0.1:0"), VOLT_OK);
  assert_result(volt_listen(&listener, rt, &at, 0, 0), VOLT_OK);
  assert_result(volt_fd_local(&listener, &at), VOLT_OK);
  assert_result(volt_socket_open(far, rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  volt_future *connected = volt_fd_connect_future(&ops[0], far, &at.as.any, at.size);
  (void)volt_future_poll(connected, (volt_waker){NULL, NULL});
  volt_future *accepted = volt_fd_accept_future(&ops[1], &listener, near);
  assert_result(volt_rt_run_until(rt, accepted, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_rt_run_until(rt, connected, VOLT_NO_DEADLINE), VOLT_OK);
  volt_fd_close(&listener);
}

/* What the far end does. */

static inline size_t far_say_some(volt_fd *far, const void *bytes, size_t size) {
  size_t sent = 0;
  int result = volt_fd_try_send(far, bytes, size, 0, &sent);
  assert_true(result == VOLT_OK || result == VOLT_EAGAIN);
  return sent;
}

static inline void far_say(volt_fd *far, const void *bytes, size_t size) {
  assert_int_equal(far_say_some(far, bytes, size), size);
}

static inline void far_say_text(volt_fd *far, const char *text) {
  far_say(far, text, strlen(text));
}

/* Take what has come, up to room. Returns how much; *ended: whether the end has come. */
static inline size_t far_take(volt_fd *far, void *to, size_t room, bool *ended) {
  size_t all = 0;
  *ended = false;
  while (all < room) {
    size_t n;
    int result = volt_fd_try_recv(far, (char *)to + all, room - all, 0, &n);
    if (result != VOLT_OK || n == 0) {
      *ended = result == VOLT_OK;
      break;
    }
    all += n;
  }
  return all;
}

static inline void far_hears(volt_fd *far, const char *text) {
  char got[4096];
  bool ended;
  size_t n = far_take(far, got, sizeof got - 1, &ended);
  got[n] = 0;
  assert_string_equal(got, text);
}

static inline void far_hears_end(volt_fd *far) {
  char got[16];
  bool ended;
  assert_int_equal(far_take(far, got, sizeof got, &ended), 0);
  assert_true(ended);
}

#endif
