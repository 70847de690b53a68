/* tls_test.c: links that speak TLS: with a client of OpenSSL at the far end of a network in memory. */
#include "tls_peer.h"

#include <poll.h>
#include <sys/socket.h>

#include "gate/certificates.h"
#include "link/link.h"

static struct test_files files;

static int make_files(void **state) {
  (void)state;
  test_files_make(&files);
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  test_files_remove(&files);
  return 0;
}

/* ---- a link and its client ---- */

struct scene {
  volt_rt *rt;
  volt_tls_context *context;
  struct link link;
  volt_fd far;
  struct tls_peer peer;
  int handshake; /* VOLT_EAGAIN until it is over */
};

static struct gate_settings settings_of(char *cert, char *key, enum volt_tls_protocol minimum,
                                        enum protocol protocol) {
  return (struct gate_settings){.tls = TLS_MODE_SERVER,
                                .tls_cert = cert,
                                .tls_key = key,
                                .tls_min = (int)minimum,
                                .protocol = protocol};
}

static volt_tls_context *context_of(enum volt_tls_protocol minimum, enum protocol protocol) {
  struct certificates c;
  struct gate_settings settings = settings_of(files.cert, files.key, minimum, protocol);
  assert_null(certificates_read(&c, &settings));
  assert_non_null(c.clients);
  assert_null(c.servers);
  return c.clients;
}

static void scene_begin(struct scene *s, uint64_t seed, const volt_simulated_faults *faults,
                        enum volt_tls_protocol minimum, enum protocol protocol, int version,
                        const char *offered) {
  memset(s, 0, sizeof *s);
  s->rt = network_begin(seed, faults);
  s->context = context_of(minimum, protocol);
  s->handshake = VOLT_EAGAIN;
  assert_result(volt_pair_open(&s->far, &s->link.fd, s->rt, SOCK_STREAM), VOLT_OK);
  assert_result(link_begin_tls(&s->link, s->context, NULL, NULL, 0), VOLT_OK);
  tls_peer_begin(&s->peer, &s->far, version, offered);
}

static void scene_plain(struct scene *s) {
  scene_begin(s, 1, NULL, VOLT_TLS_1_2, PROTOCOL_TCP, 0, NULL);
}

static void scene_end(struct scene *s) {
  tls_peer_end(&s->peer);
  link_close(&s->link);
  volt_fd_close(&s->far);
  volt_tls_context_drop(s->context);
  network_settle(s->rt, VOLT_NO_DEADLINE);
  network_end(s->rt);
}

/* Let both go on. */
static void scene_step(struct scene *s) {
  ERR_clear_error();
  if (!SSL_is_init_finished(s->peer.ssl)) (void)SSL_do_handshake(s->peer.ssl);
  (void)tls_peer_move(&s->peer);
  network_settle(s->rt, volt_rt_now_ns(s->rt) + 1000);
  if (link_is_full(&s->link)) (void)link_flush(&s->link);
  if (s->handshake == VOLT_EAGAIN) s->handshake = link_shake_hands(&s->link);
  network_settle(s->rt, volt_rt_now_ns(s->rt) + 1000);
  volt_rt_advance(s->rt, 1000);
}

static void scene_shake_hands(struct scene *s) {
  for (int i = 0; i < 100000; i++) {
    scene_step(s);
    if (s->handshake != VOLT_EAGAIN && SSL_is_init_finished(s->peer.ssl)) break;
    if (s->handshake != VOLT_EAGAIN && s->handshake != VOLT_OK) break;
  }
}

static void scene_connect(struct scene *s) {
  scene_shake_hands(s);
  assert_result(s->handshake, VOLT_OK);
  assert_true(SSL_is_init_finished(s->peer.ssl));
}

/* Receive, as a caller does that is told that the socket is ready. */
static int scene_take(struct scene *s, void *to, size_t size, size_t *n) {
  int result = link_recv(&s->link, to, size, n);
  return result == VOLT_EAGAIN ? link_recv(&s->link, to, size, n) : result;
}

/* ---- the handshake ---- */

static void test_versions(void **state) {
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  (void)state;
  for (int i = 0; i < 2; i++) {
    struct scene s;
    scene_begin(&s, 1, NULL, VOLT_TLS_1_2, PROTOCOL_TCP, versions[i], NULL);
    scene_connect(&s);
    assert_string_equal(volt_tls_version(s.link.tls), i ? "TLSv1.3" : "TLSv1.2");
    assert_string_equal(SSL_get_version(s.peer.ssl), volt_tls_version(s.link.tls));
    scene_end(&s);
  }
}

static void test_handshake_byte_by_byte(void **state) {
  struct scene s;
  (void)state;
  scene_plain(&s);
  s.peer.piece = 1;
  scene_connect(&s);
  scene_end(&s);
}

static void test_handshake_without_room(void **state) {
  struct scene s;
  volt_simulated_faults faults = {.buffer_size = 64};
  (void)state;
  scene_begin(&s, 1, &faults, VOLT_TLS_1_2, PROTOCOL_TCP, 0, NULL);
  scene_connect(&s);
  scene_end(&s);
}

static void test_bytes_that_came_before(void **state) {
  struct scene s;
  char early[2000];
  (void)state;
  scene_plain(&s);
  SSL_free(s.link.tls->ssl); /* begun anew on the same socket */
  volt_tls_context_drop(s.link.tls->context);
  free(s.link.tls);
  s.link.tls = NULL;
  (void)SSL_do_handshake(s.peer.ssl); /* ClientHello */
  int size = BIO_read(s.peer.out, early, sizeof early);
  assert_in_range(size, 100, sizeof early);
  assert_result(link_begin_tls(&s.link, s.context, NULL, early, (size_t)size), VOLT_OK);
  scene_connect(&s);
  scene_end(&s);
}

static void test_a_version_that_is_too_old(void **state) {
  struct scene s;
  (void)state;
  scene_begin(&s, 1, NULL, VOLT_TLS_1_3, PROTOCOL_TCP, TLS1_2_VERSION, NULL);
  scene_shake_hands(&s);
  assert_result(s.handshake, VOLT_TLS_EPROTOCOL);
  assert_string_equal(volt_tls_why(s.link.tls), "unsupported protocol");
  scene_end(&s);
}

static void test_a_client_without_tls(void **state) {
  struct scene s;
  (void)state;
  scene_plain(&s);
  far_say_text(&s.far, "GET / HTTP/1.0\r\n\r\n");
  network_run(s.rt);
  s.handshake = link_shake_hands(&s.link);
  assert_result(s.handshake, VOLT_TLS_EPROTOCOL);
  assert_string_equal(volt_tls_why(s.link.tls), "http request");
  assert_result(link_shake_hands(&s.link), s.handshake); /* and stays so */
  scene_end(&s);
}

static void test_a_client_that_goes(void **state) {
  struct scene s;
  (void)state;
  scene_plain(&s);
  far_say(&s.far, "\x16\x03\x01", 3);
  assert_result(volt_fd_shutdown(&s.far, SHUT_WR), VOLT_OK);
  network_run(s.rt);
  assert_result(link_shake_hands(&s.link), VOLT_EAGAIN); /* the bytes */
  assert_result(link_shake_hands(&s.link), VOLT_ECLOSED);
  scene_end(&s);
}

static void test_alpn(void **state) {
  static const struct {
    const char *offered;
    bool is_fine;
    const char *chosen;
  } cases[] = {{NULL, true, ""}, {"postgresql", true, "postgresql"}, {"http/1.1", false, ""}};
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct scene s;
    char chosen[100];
    scene_begin(&s, 1, NULL, VOLT_TLS_1_2, PROTOCOL_POSTGRES, 0, cases[i].offered);
    scene_shake_hands(&s);
    assert_int_equal(s.handshake == VOLT_OK, cases[i].is_fine);
    assert_string_equal(volt_tls_alpn(s.link.tls, chosen, sizeof chosen), cases[i].chosen);
    scene_end(&s);
  }
}

/* ---- bytes ---- */

static uint8_t pattern(size_t at) {
  return (uint8_t)(at * 2654435761u >> 13);
}

/* The link's side of a transfer: as the pump does it. */
struct flow {
  size_t sent, received;
};

static void flow_link(struct scene *s, struct flow *f, size_t all) {
  static uint8_t chunk[65536];
  if (link_is_full(&s->link)) assert_result(link_flush(&s->link), VOLT_OK);
  if (!link_is_full(&s->link) && f->sent < all) {
    size_t size = all - f->sent < sizeof chunk ? all - f->sent : sizeof chunk;
    for (size_t i = 0; i < size; i++) chunk[i] = pattern(f->sent + i);
    assert_result(link_send(&s->link, chunk, size), VOLT_OK);
    f->sent += size;
  }
  size_t n;
  int result = link_recv(&s->link, chunk, sizeof chunk, &n);
  assert_true(result == VOLT_OK || result == VOLT_EAGAIN);
  for (size_t i = 0; i < n; i++) assert_int_equal(chunk[i], pattern(f->received + i));
  f->received += n;
}

static void flow_peer(struct scene *s, struct flow *f, size_t all) {
  uint8_t chunk[5000];
  size_t size = all - f->sent < sizeof chunk ? all - f->sent : sizeof chunk;
  char *unused;
  if (size > 0 && BIO_get_mem_data(s->peer.out, &unused) < 50000) {
    for (size_t i = 0; i < size; i++) chunk[i] = pattern(f->sent + i);
    assert_int_equal(SSL_write(s->peer.ssl, chunk, (int)size), size);
    f->sent += size;
  }
  int n = tls_peer_take(&s->peer, chunk, sizeof chunk);
  for (int i = 0; i < n; i++) assert_int_equal(chunk[i], pattern(f->received + (size_t)i));
  if (n > 0) f->received += (size_t)n;
  (void)tls_peer_move(&s->peer);
}

static void test_bytes_survive_a_bad_network(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    struct scene s;
    volt_simulated_faults faults = {.delay_max_ns = seed % 3 * 1000,
                                    .short_per_million = 300000,
                                    .buffer_size = 700 + (uint32_t)(seed * 9973 % 90000)};
    scene_begin(&s, seed, &faults, VOLT_TLS_1_2, PROTOCOL_TCP,
                seed % 2 ? TLS1_2_VERSION : TLS1_3_VERSION, NULL);
    scene_connect(&s);
    const size_t all = 300000;
    struct flow link = {0}, peer = {0};
    for (int turn = 0; link.received < all || peer.received < all; turn++) {
      assert_true(turn < 1000000);
      flow_link(&s, &link, all);
      network_settle(s.rt, volt_rt_now_ns(s.rt) + 1000);
      flow_peer(&s, &peer, all);
      network_settle(s.rt, volt_rt_now_ns(s.rt) + 1000);
      volt_rt_advance(s.rt, 1000);
    }
    scene_end(&s);
  }
}

/* Nothing is left inside when a receive says that it has taken all: else nobody would be woken for
 * it. */
static void test_drained_means_drained(void **state) {
  struct scene s;
  char got[65536];
  (void)state;
  scene_plain(&s);
  scene_connect(&s);
  while (link_recv(&s.link, got, sizeof got, &(size_t){0}) == VOLT_OK) continue;
  for (int i = 0; i < 10; i++) assert_int_equal(SSL_write(s.peer.ssl, "0123456789", 10), 10);
  while (tls_peer_move(&s.peer)) continue;
  network_run(s.rt);
  size_t n, all = 0;
  while (link_recv(&s.link, got, 7, &n) == VOLT_OK) { /* in small pieces of all sizes */
    all += n;
    if (s.link.is_drained) break;
    assert_in_range(n, 1, 7);
  }
  assert_int_equal(all, 100);
  assert_true(s.link.is_drained);
  scene_end(&s);
}

/* ---- ends ---- */

static void test_our_end_is_told(void **state) {
  struct scene s;
  char got[64];
  (void)state;
  scene_plain(&s);
  scene_connect(&s);
  assert_result(link_send(&s.link, "last", 4), VOLT_OK);
  assert_result(link_shut(&s.link), VOLT_OK);
  for (int i = 0; i < 10; i++) scene_step(&s);
  assert_int_equal(tls_peer_take(&s.peer, got, sizeof got), 4);
  assert_int_equal(tls_peer_take(&s.peer, got, sizeof got), 0); /* by an alert */
  assert_true(s.peer.is_cut);                                   /* and by FIN */
  scene_end(&s);
}

static void test_our_end_waits_for_what_is_kept(void **state) {
  struct scene s;
  static char much[60000];
  volt_simulated_faults faults = {.buffer_size = 5000};
  (void)state;
  scene_begin(&s, 1, &faults, VOLT_TLS_1_2, PROTOCOL_TCP, 0, NULL);
  scene_connect(&s);
  assert_result(link_send(&s.link, much, sizeof much), VOLT_OK);
  assert_true(link_is_full(&s.link));
  assert_int_equal(link_events(&s.link, false), POLLOUT);
  assert_result(link_shut(&s.link), VOLT_OK);
  size_t all = 0;
  int n = -1;
  for (int i = 0; i < 1000 && n != 0; i++) {
    scene_step(&s);
    while ((n = tls_peer_take(&s.peer, much, sizeof much)) > 0) all += (size_t)n;
  }
  assert_int_equal(all, sizeof much);
  assert_int_equal(n, 0);
  for (int i = 0; i < 10; i++) scene_step(&s);
  assert_true(s.peer.is_cut);
  scene_end(&s);
}

static void test_their_end(void **state) {
  (void)state;
  for (int says = 0; says < 2; says++) {
    struct scene s;
    char got[64];
    size_t n;
    scene_plain(&s);
    scene_connect(&s);
    assert_int_equal(SSL_write(s.peer.ssl, "bye", 3), 3);
    if (says) (void)SSL_shutdown(s.peer.ssl);
    while (tls_peer_move(&s.peer)) continue;
    assert_result(volt_fd_shutdown(&s.far, SHUT_WR), VOLT_OK);
    network_run(s.rt);
    assert_result(scene_take(&s, got, sizeof got, &n), VOLT_OK);
    assert_int_equal(n, 3);
    int result = scene_take(&s, got, sizeof got, &n);
    assert_int_equal(n, 0);
    assert_int_equal(s.link.has_ended, says);
    assert_int_equal(result, says ? VOLT_OK : VOLT_TLS_ETRUNCATED); /* it may have been cut */
    scene_end(&s);
  }
}

static void test_renegotiation_is_refused(void **state) {
  struct scene s;
  char got[64];
  size_t n;
  (void)state;
  scene_begin(&s, 1, NULL, VOLT_TLS_1_2, PROTOCOL_TCP, TLS1_2_VERSION, NULL);
  scene_connect(&s);
  assert_int_equal(SSL_renegotiate(s.peer.ssl), 1);
  (void)SSL_do_handshake(s.peer.ssl);
  while (tls_peer_move(&s.peer)) continue;
  network_run(s.rt);
  (void)link_recv(&s.link, got, sizeof got, &n);
  assert_int_equal(n, 0);
  for (int i = 0; i < 10; i++) scene_step(&s);
  assert_int_equal(SSL_do_handshake(s.peer.ssl) == 1 && SSL_num_renegotiations(s.peer.ssl) > 1, 0);
  scene_end(&s);
}

/* ---- contexts ---- */

static void expect_wrong(char *cert, char *key, const char *words) {
  struct certificates c;
  struct gate_settings settings = settings_of(cert, key, VOLT_TLS_1_2, PROTOCOL_TCP);
  char *why = certificates_read(&c, &settings);
  assert_null(c.clients);
  assert_non_null(why);
  if (!strstr(why, words)) assert_string_equal(why, words);
  free(why);
}

static void test_what_is_wrong_is_said(void **state) {
  (void)state;
  static char nowhere[] = "/nonexistent";
  expect_wrong(nowhere, files.key, "/nonexistent: No such file or directory");
  expect_wrong(files.cert, nowhere, "the file of the key: No such file or directory");
  expect_wrong(files.garbage, files.key, "certificate in ");
  expect_wrong(files.garbage, files.key, "there is none in it");
  expect_wrong(files.cert, files.garbage, "key in ");
  expect_wrong(files.cert, files.other_key, "it cannot be used with the certificate");
  expect_wrong(files.cert, files.locked_key, "passphrase");
}

static void test_sessions_outlive_their_context(void **state) {
  struct scene s;
  char got[64];
  size_t n;
  (void)state;
  scene_plain(&s);
  scene_connect(&s);
  volt_tls_context_drop(s.context); /* a reload */
  s.context = NULL;
  assert_int_equal(SSL_write(s.peer.ssl, "still", 5), 5);
  while (tls_peer_move(&s.peer)) continue;
  network_run(s.rt);
  assert_result(scene_take(&s, got, sizeof got, &n), VOLT_OK);
  assert_int_equal(n, 5);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_handshake_byte_by_byte),
      cmocka_unit_test(test_handshake_without_room),
      cmocka_unit_test(test_bytes_that_came_before),
      cmocka_unit_test(test_a_version_that_is_too_old),
      cmocka_unit_test(test_a_client_without_tls),
      cmocka_unit_test(test_a_client_that_goes),
      cmocka_unit_test(test_alpn),
      cmocka_unit_test(test_bytes_survive_a_bad_network),
      cmocka_unit_test(test_drained_means_drained),
      cmocka_unit_test(test_our_end_is_told),
      cmocka_unit_test(test_our_end_waits_for_what_is_kept),
      cmocka_unit_test(test_their_end),
      cmocka_unit_test(test_renegotiation_is_refused),
      cmocka_unit_test(test_what_is_wrong_is_said),
      cmocka_unit_test(test_sessions_outlive_their_context),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
