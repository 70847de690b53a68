/* tls_try_test.c: a stream without waiting: each operation as a try, on the simulated network.
 *
 * BACK ENDS: none */
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <volt/tls.h>

#include "death.h"
#include "tls_scene.h"

enum { TRY_MOST = 32768, TRY_ROUNDS = 1000 };

static scene s;
static char big[300000], back[sizeof big];

/* Let the network move. */
static void network(void) {
  volt_rt_advance(s.h.rt, 1000);
  (void)volt_rt_run(s.h.rt);
}

static void fill_big(void) {
  for (size_t i = 0; i < sizeof big; i++) big[i] = (char)(i * 7 + i / 251);
}

/* A try that is to leave errno alone. */
#define TRY(call) try_leaves_errno((errno = SCENE_ERRNO, (call)))

static int try_leaves_errno(int result) {
  REQUIRE(errno == SCENE_ERRNO);
  return result;
}

/* Both handshakes, by turns. */
static void shake_by_tries(void) {
  int results[2] = {VOLT_EAGAIN, VOLT_EAGAIN};
  for (int round = 0; round < TRY_ROUNDS && (results[0] || results[1]); round++) {
    for (int i = 0; i < 2; i++) {
      if (results[i] == VOLT_OK) continue;
      results[i] = TRY(volt_tls_try_handshake(&s.tls[i]));
      if (results[i] == VOLT_EAGAIN) assert_true(volt_tls_events(&s.tls[i]) & (POLLIN | POLLOUT));
    }
    network();
  }
  assert_result(results[0], VOLT_OK);
  assert_result(results[1], VOLT_OK);
}

static void begin_open(void) {
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  shake_by_tries();
}

static void send_whole(int side, const void *from, size_t size) {
  size_t n;
  assert_result(TRY(volt_tls_try_send(&s.tls[side], from, size, &n)), VOLT_OK);
  assert_int_equal(n, size);
  network();
}

static void a_handshake_goes_by_tries(void **state) {
  (void)state;
  begin_open();
  assert_string_equal(volt_tls_version(&s.tls[1]), "TLSv1.3");
  assert_result(TRY(volt_tls_try_handshake(&s.tls[1])), VOLT_EINVAL);
  scene_end(&s);
}

static void a_handshake_says_why_it_fails(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "other.org");
  int results[2] = {VOLT_EAGAIN, VOLT_EAGAIN};
  for (int round = 0; round < TRY_ROUNDS && results[1] == VOLT_EAGAIN; round++) {
    for (int i = 0; i < 2; i++) results[i] = TRY(volt_tls_try_handshake(&s.tls[i]));
    network();
  }
  assert_result(results[0], VOLT_TLS_ENAME);
  assert_result(results[1], VOLT_TLS_EREFUSED);
  assert_string_equal(volt_tls_why(&s.tls[0]), "hostname mismatch");
  scene_end(&s);
}

static void nothing_is_done_out_of_turn(void **state) {
  (void)state;
  size_t n = 9;
  char byte;
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], &byte, 1, &n)), VOLT_EINVAL);
  assert_int_equal(n, 0);
  assert_result(TRY(volt_tls_try_send(&s.tls[0], "x", 1, &n)), VOLT_EINVAL);
  assert_result(TRY(volt_tls_try_shutdown(&s.tls[0])), VOLT_EINVAL);
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], NULL, 1, &n)), VOLT_EINVAL);
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], &byte, 0, &n)), VOLT_EINVAL);
  assert_result(TRY(volt_tls_try_send(&s.tls[0], NULL, 1, &n)), VOLT_EINVAL);
  assert_result(TRY(volt_tls_try_handshake(&s.tls[0])), VOLT_EAGAIN);
  assert_int_equal(volt_tls_events(&s.tls[0]), POLLIN);
  volt_tls_close(&s.tls[0]);
  assert_result(TRY(volt_tls_try_handshake(&s.tls[0])), VOLT_ECLOSED);
  assert_int_equal(volt_tls_events(&s.tls[0]), 0); /* nothing comes any more */
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], &byte, 1, &n)), VOLT_ECLOSED);
  scene_end(&s);
}

static void a_recv_says_whether_there_may_be_more(void **state) {
  (void)state;
  char to[10];
  size_t n = 9;
  begin_open();
  assert_result(TRY(volt_tls_try_recv(&s.tls[1], to, sizeof to, &n)), VOLT_EAGAIN);
  assert_int_equal(n, 0);
  assert_int_equal(volt_tls_events(&s.tls[1]), POLLIN);
  send_whole(0, "hello", 5);
  assert_result(TRY(volt_tls_try_recv(&s.tls[1], to, 2, &n)), VOLT_OK);
  assert_int_equal(n, 2);
  assert_int_equal(volt_tls_events(&s.tls[1]), 0); /* "llo" is there */
  assert_result(TRY(volt_tls_try_recv(&s.tls[1], to + 2, sizeof to - 2, &n)), VOLT_OK);
  assert_int_equal(n, 3);
  assert_memory_equal(to, "hello", 5);
  send_whole(0, "again", 5);
  assert_result(TRY(volt_tls_try_recv(&s.tls[1], to, sizeof to, &n)), VOLT_OK);
  assert_int_equal(volt_tls_events(&s.tls[1]), POLLIN); /* the socket was found empty */
  scene_end(&s);
}

/* How many bytes are under way to that side. */
static size_t under_way_to(int side) {
  static char bytes[100000];
  size_t n = 0;
  int result = volt_fd_try_recv(&s.fd[side], bytes, sizeof bytes, MSG_PEEK, &n);
  REQUIRE(result == VOLT_OK || result == VOLT_EAGAIN);
  return n;
}

static void two_records_are_committed_at_most(void **state) {
  (void)state;
  size_t n;
  fill_big();
  begin_open();
  assert_result(TRY(volt_tls_try_send(&s.tls[0], big, sizeof big, &n)), VOLT_OK);
  assert_int_equal(n, TRY_MOST);
  assert_int_equal(volt_tls_events(&s.tls[0]), 0); /* all of it has gone */
  assert_null(s.tls[0].rest);
  network();
  assert_in_range(under_way_to(1), TRY_MOST + 2 * 5, TRY_MOST + 2 * 64);
  for (size_t have = 0; have < TRY_MOST; have += n) {
    assert_result(TRY(volt_tls_try_recv(&s.tls[1], back + have, sizeof back - have, &n)), VOLT_OK);
    network();
  }
  assert_memory_equal(big, back, TRY_MOST);
  scene_end(&s);
}

static void what_has_no_room_is_sent_by_the_next_try(void **state) {
  (void)state;
  size_t n = 0, sent = 0, have = 0;
  fill_big();
  begin_open();
  while (volt_tls_try_send(&s.tls[0], big + sent, sizeof big - sent, &n) == VOLT_OK) {
    sent += n;
    network();
  }
  assert_true(sent < sizeof big && sent > TRY_MOST);
  assert_int_equal(n, 0);
  assert_true(volt_tls_events(&s.tls[0]) & POLLOUT);
  assert_non_null(s.tls[0].rest);
  assert_result(TRY(volt_tls_try_send(&s.tls[0], "", 0, &n)), VOLT_EAGAIN);
  assert_result(TRY(volt_tls_try_shutdown(&s.tls[0])), VOLT_EAGAIN);
  char to[4];
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], to, sizeof to, &n)), VOLT_EAGAIN);
  assert_int_equal(volt_tls_events(&s.tls[0]), POLLIN | POLLOUT);
  while (have < sent) {
    network();
    int result = volt_tls_try_recv(&s.tls[1], back + have, sizeof back - have, &n);
    REQUIRE(result == VOLT_OK || result == VOLT_EAGAIN);
    have += n;
    result = volt_tls_try_send(&s.tls[0], "", 0, &n);
    REQUIRE(result == VOLT_OK || result == VOLT_EAGAIN);
  }
  assert_result(TRY(volt_tls_try_send(&s.tls[0], "", 0, &n)), VOLT_OK);
  assert_null(s.tls[0].rest);
  assert_int_equal(have, sent);
  assert_memory_equal(big, back, sent);
  scene_end(&s);
}

static void an_end_is_said_or_not(void **state) {
  (void)state;
  char to[10];
  size_t n = 9;
  for (int is_cut = 0; is_cut < 2; is_cut++) {
    begin_open();
    send_whole(0, "last", 4);
    assert_result(TRY(volt_tls_try_recv(&s.tls[0], to, sizeof to, &n)), VOLT_EAGAIN); /* tickets */
    if (is_cut) {
      volt_tls_cut_off(&s.tls[0]);
    } else {
      assert_result(TRY(volt_tls_try_shutdown(&s.tls[0])), VOLT_OK);
      assert_result(TRY(volt_tls_try_send(&s.tls[0], "x", 1, &n)), VOLT_ECLOSED);
    }
    network();
    assert_result(TRY(volt_tls_try_recv(&s.tls[1], to, sizeof to, &n)), VOLT_OK);
    assert_int_equal(n, 4);
    int result = TRY(volt_tls_try_recv(&s.tls[1], to, sizeof to, &n));
    assert_int_equal(n, 0);
    assert_result(result, is_cut ? VOLT_TLS_ETRUNCATED : VOLT_OK);
    scene_end(&s);
  }
}

/* In pieces of any size: what had come, and what comes by the socket. */
static void bytes_that_had_come_are_read_first(void **state) {
  (void)state;
  static char early[1000];
  for (size_t size = 1; size < 200; size = size * 3 + 1) {
    scene_begin(&s, NULL, NULL);
    scene_init(&s, "example.org");
    assert_result(TRY(volt_tls_try_handshake(&s.tls[0])), VOLT_EAGAIN);
    network();
    size_t n;
    assert_result(volt_fd_try_recv(&s.fd[1], early, size, 0, &n), VOLT_OK);
    assert_int_equal(n, size);
    assert_result(TRY(volt_tls_feed(&s.tls[1], early, n)), VOLT_OK);
    assert_result(TRY(volt_tls_feed(&s.tls[1], early, n)), VOLT_EINVAL); /* once */
    shake_by_tries();
    assert_null(s.tls[1].early);
    assert_result(TRY(volt_tls_feed(&s.tls[1], early, n)), VOLT_EINVAL); /* too late */
    scene_end(&s);
  }
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  assert_result(TRY(volt_tls_feed(&s.tls[1], NULL, 0)), VOLT_OK);
  assert_result(TRY(volt_tls_feed(&s.tls[1], NULL, 1)), VOLT_EINVAL);
  assert_result(TRY(volt_tls_feed(&s.tls[1], "GET / HTTP/1.1\r\n", 16)), VOLT_OK);
  assert_result(TRY(volt_tls_try_handshake(&s.tls[1])), VOLT_TLS_EPROTOCOL);
  assert_string_equal(volt_tls_why(&s.tls[1]), "http request");
  scene_end(&s); /* with bytes that were never read */
}

/* As begin_open(), of sockets with much room. */
static void begin_wide(void) {
  static const volt_simulated_faults wide = {.buffer_size = 4 << 20};
  volt_tls_config client = scene_client_config(), server = scene_server_config();
  scene_begin_with(&s, 1, &wide);
  s.context[0] = scene_context(VOLT_TLS_CLIENT, &client);
  s.context[1] = scene_context(VOLT_TLS_SERVER, &server);
  scene_init(&s, "example.org");
  shake_by_tries();
}

static void flood(void) {
  for (int i = 0; i < 20000; i++) {
    REQUIRE(SSL_key_update(s.tls[1].ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
    REQUIRE(SSL_do_handshake(s.tls[1].ssl) == 1);
  }
}

/* A flood of records without data ends a try, not the stream. */
static void a_flood_does_not_keep_a_try(void **state) {
  (void)state;
  begin_wide();
  flood();
  send_whole(1, "data", 4);
  char to[10];
  size_t n = 0;
  unsigned tries = 0;
  int result = VOLT_EAGAIN;
  for (; tries < TRY_ROUNDS && result == VOLT_EAGAIN; tries++) {
    result = TRY(volt_tls_try_recv(&s.tls[0], to, sizeof to, &n));
    if (result == VOLT_EAGAIN) assert_int_equal(volt_tls_events(&s.tls[0]), POLLIN);
  }
  assert_true(tries > 2);
  assert_result(result, VOLT_OK);
  assert_memory_equal(to, "data", 4);
  scene_end(&s);
}

/* A try reads the socket a few times at most. What it leaves there is not waited for. */
static void a_recv_that_leaves_bytes_does_not_wait_for_more(void **state) {
  (void)state;
  char to[10];
  size_t n;
  begin_wide();
  send_whole(1, "data", 4);
  flood();
  send_whole(1, "behind", 6);
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], to, sizeof to, &n)), VOLT_OK);
  assert_int_equal(n, 4);
  assert_int_equal(volt_tls_events(&s.tls[0]), 0); /* "behind" may be there, and is */
  scene_end(&s);
}

/* One after the other, futures and tries go on with the same stream. */
static void tries_and_futures_take_turns(void **state) {
  (void)state;
  char to[10];
  size_t n;
  scene_begin(&s, NULL, NULL);
  scene_shake(&s);
  send_whole(0, "one", 3);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 3);
  scene_send(&s, SCENE_SERVER, "four", 4);
  network();
  assert_result(TRY(volt_tls_try_recv(&s.tls[0], to, sizeof to, &n)), VOLT_OK);
  assert_int_equal(n, 4);
  scene_end(&s);
}

static void try_beside_a_future(void *arg) {
  char byte;
  size_t n;
  job recv;
  (void)arg;
  begin_open();
  job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[0], &byte, 1));
  network();
  if (volt_tls_try_recv(&s.tls[0], &byte, 1, &n) == VOLT_OK) exit(EXIT_FAILURE);
}

static void a_try_beside_a_future_aborts(void **state) {
  (void)state;
  assert_death(try_beside_a_future, NULL, "volt_tls_try_recv", "1 operations are under way");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_handshake_goes_by_tries),
      cmocka_unit_test(a_handshake_says_why_it_fails),
      cmocka_unit_test(nothing_is_done_out_of_turn),
      cmocka_unit_test(a_recv_says_whether_there_may_be_more),
      cmocka_unit_test(two_records_are_committed_at_most),
      cmocka_unit_test(what_has_no_room_is_sent_by_the_next_try),
      cmocka_unit_test(an_end_is_said_or_not),
      cmocka_unit_test(bytes_that_had_come_are_read_first),
      cmocka_unit_test(a_flood_does_not_keep_a_try),
      cmocka_unit_test(a_recv_that_leaves_bytes_does_not_wait_for_more),
      cmocka_unit_test(tries_and_futures_take_turns),
      cmocka_unit_test(a_try_beside_a_future_aborts),
  };
  scene_make_ca();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scene_free_ca();
  return failed;
}
