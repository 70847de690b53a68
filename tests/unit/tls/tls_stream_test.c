/* tls_stream_test.c: a stream on the simulated network: what each operation does, and what a cancel
 * leaves behind at each step.
 *
 * BACK ENDS: none */
#include <errno.h>
#include <openssl/ssl.h>
#include <volt/tls.h>

#include "tls_scene.h"

static scene s;

static void begin_open(void) {
  scene_begin(&s, NULL, NULL);
  scene_shake(&s);
}

/* ---- handshake and what it says ---- */

static void a_handshake_says_what_was_chosen(void **state) {
  (void)state;
  volt_tls_config client = scene_client_config(), server = scene_server_config();
  client.alpn = "h3,http/1.1";
  server.alpn = "h2,http/1.1";
  scene_begin(&s, &client, &server);
  char text[100];
  scene_init(&s, "example.org");
  assert_string_equal(volt_tls_version(&s.tls[0]), "");
  assert_string_equal(volt_tls_peer(&s.tls[0], text, sizeof text), "");
  volt_tls_close(&s.tls[0]);
  volt_tls_close(&s.tls[1]);
  assert_result(volt_pair_open(&s.fd[0], &s.fd[1], s.h.rt, SOCK_STREAM), VOLT_OK);
  scene_shake(&s);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(volt_tls_version(&s.tls[i]), "TLSv1.3");
    assert_string_equal(volt_tls_alpn(&s.tls[i], text, sizeof text), "http/1.1");
    assert_string_equal(volt_tls_asked(&s.tls[i]), "example.org");
    assert_non_null(strstr(volt_tls_cipher(&s.tls[i]), "TLS_"));
    assert_string_equal(volt_tls_why(&s.tls[i]), "");
    assert_false(volt_tls_is_resumed(&s.tls[i]));
  }
  assert_string_equal(volt_tls_peer(&s.tls[0], text, sizeof text), "CN=server");
  assert_string_equal(volt_tls_peer(&s.tls[0], text, 4), "CN=");
  assert_string_equal(volt_tls_peer(&s.tls[1], text, sizeof text), "");
  scene_end(&s);
}

static void versions_are_bounded(void **state) {
  (void)state;
  volt_tls_config client = scene_client_config();
  client.most = VOLT_TLS_1_2;
  scene_begin(&s, &client, NULL);
  scene_shake(&s);
  assert_string_equal(volt_tls_version(&s.tls[1]), "TLSv1.2");
  char to[10];
  scene_send(&s, SCENE_CLIENT, "hello", 5);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
  scene_end(&s);
  volt_tls_config server = scene_server_config();
  server.least = VOLT_TLS_1_3;
  scene_begin(&s, &client, &server);
  int of_server;
  assert_result(scene_shake_as(&s, "example.org", &of_server), VOLT_TLS_EREFUSED);
  assert_result(of_server, VOLT_TLS_EPROTOCOL);
  assert_non_null(strstr(volt_tls_why(&s.tls[1]), "unsupported protocol"));
  scene_end(&s);
}

static void no_protocol_in_common_is_refused(void **state) {
  (void)state;
  volt_tls_config client = scene_client_config(), server = scene_server_config();
  client.alpn = "h3";
  server.alpn = "h2";
  scene_begin(&s, &client, &server);
  int of_server;
  assert_result(scene_shake_as(&s, "example.org", &of_server), VOLT_TLS_EREFUSED);
  assert_result(of_server, VOLT_TLS_EPROTOCOL);
  scene_end(&s);
}

static void what_is_no_handshake_is_refused(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  volt_op plain;
  volt_tls_op op;
  char byte;
  assert_result(volt_tls_init(&s.tls[1], s.context[1], &s.fd[1], NULL), VOLT_OK);
  assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[1], &byte, 1)), VOLT_EINVAL);
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[1], "x", 1)), VOLT_EINVAL);
  assert_result(scene_run(&s, volt_tls_shutdown_future(&op, &s.tls[1])), VOLT_EINVAL);
  assert_result(scene_run(&s, volt_fd_send_future(&plain, &s.fd[0], "GET / HTTP/1.1\r\n", 16, 0)),
                VOLT_OK);
  assert_result(scene_run(&s, volt_tls_handshake_future(&op, &s.tls[1])), VOLT_TLS_EPROTOCOL);
  assert_non_null(strstr(volt_tls_why(&s.tls[1]), "http request"));
  assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[1], &byte, 1)), VOLT_TLS_EPROTOCOL);
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[1], "x", 1)), VOLT_TLS_EPROTOCOL);
  scene_end(&s);
}

static void a_peer_that_goes_in_the_handshake_truncates_it(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  volt_tls_op op;
  assert_result(volt_tls_init(&s.tls[1], s.context[1], &s.fd[1], NULL), VOLT_OK);
  volt_fd_close(&s.fd[0]);
  assert_result(scene_run(&s, volt_tls_handshake_future(&op, &s.tls[1])), VOLT_TLS_ETRUNCATED);
  scene_end(&s);
}

static void both_sides_have_one_end_point(void **state) {
  (void)state;
  unsigned char ends[2][64], own[32];
  size_t size, other = 0;
  unsigned digest = 0;
  begin_open();
  assert_result(volt_tls_end_point(&s.tls[0], ends[0], 64, &size), VOLT_EINVAL); /* Ed25519 */
  scene_end(&s);
  ca_one root = ca_make(NULL, (ca_want){.name = "root", .is_ca = true, .rsa_bits = 2048});
  ca_one one = ca_make(&root, (ca_want){.name = "server", .dns = "DNS:example.org"});
  volt_tls_config client = scene_client_config(), server = scene_server_config();
  client.trust = root.pem;
  server.certificates = one.pem;
  server.key = one.key_pem;
  scene_begin(&s, &client, &server);
  scene_shake(&s);
  for (int i = 0; i < 2; i++)
    assert_result(volt_tls_end_point(&s.tls[i], ends[i], 64, &size), VOLT_OK);
  assert_int_equal(size, 32);
  assert_memory_equal(ends[0], ends[1], 32);
  assert_int_equal(X509_digest(one.x509, EVP_sha256(), own, &digest), 1);
  assert_memory_equal(ends[0], own, 32);
  assert_result(volt_tls_end_point(&s.tls[0], ends[0], 31, &other), VOLT_EINVAL);
  assert_int_equal(other, 32);
  scene_end(&s);
  ca_free(&one);
  ca_free(&root);
}

static void a_handshake_is_made_once(void **state) {
  (void)state;
  begin_open();
  volt_tls_op op;
  assert_result(scene_run(&s, volt_tls_handshake_future(&op, &s.tls[0])), VOLT_EINVAL);
  scene_end(&s);
}

static void init_refuses_a_name_that_is_none(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  volt_tls *t = &s.tls[0];
  assert_result(volt_tls_init(t, s.context[0], &s.fd[0], NULL), VOLT_EINVAL);
  assert_result(volt_tls_init(t, s.context[0], &s.fd[0], ""), VOLT_EINVAL);
  char name[300];
  memset(name, 'a', sizeof name);
  name[254] = '\0';
  assert_result(volt_tls_init(t, s.context[0], &s.fd[0], name), VOLT_EINVAL);
  assert_result(volt_tls_init(t, s.context[1], &s.fd[0], "example.org"), VOLT_EINVAL);
  const char *bad[] = {".",
                       ".org",
                       "example..org",
                       "*.wild.org",
                       "example.org..",
                       "b\xc3\xbc.org",
                       "a b.c",
                       "https://wild.org",
                       "a.org:443",
                       "*"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) /* some are patterns to OpenSSL */
    assert_result(volt_tls_init(t, s.context[0], &s.fd[0], bad[i]), VOLT_EINVAL);
  assert_null(t->context);
  scene_end(&s);
}

static void a_dot_at_the_end_of_a_name_is_left_out(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  int of_server;
  assert_result(scene_shake_as(&s, "example.org.", &of_server), VOLT_OK);
  assert_string_equal(volt_tls_asked(&s.tls[1]), "example.org");
  scene_end(&s);
}

/* ---- data ---- */

static char big[300000], back[sizeof big];

static void fill_big(void) {
  for (size_t i = 0; i < sizeof big; i++) big[i] = (char)(i * 7 + i / 251);
}

static void bytes_arrive_in_order(void **state) {
  (void)state;
  begin_open();
  fill_big();
  job sender;
  job_start(&s.h, &sender,
            volt_tls_send_all_future(&sender.op, &s.tls[SCENE_CLIENT], big, sizeof big));
  for (size_t have = 0; have < sizeof big;)
    have += scene_recv(&s, SCENE_SERVER, back + have, sizeof big - have);
  assert_result(job_finish(&s.h, &sender), VOLT_OK);
  assert_int_equal(sender.op.n, sizeof big);
  assert_memory_equal(big, back, sizeof big);
  scene_end(&s);
}

/* The one before has found the end of what there was, so no step is made before more comes. */
static void a_recv_of_an_empty_socket_waits_first(void **state) {
  (void)state;
  begin_open();
  job recv;
  char to[10];
  scene_send(&s, SCENE_CLIENT, "one", 3);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 3);
  enum { UNTOUCHED = 77 };
  s.tls[SCENE_SERVER].reads = UNTOUCHED; /* a step sets it to 0 */
  job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[SCENE_SERVER], to, sizeof to));
  (void)by_hand_run(&s.h);
  assert_int_equal(s.tls[SCENE_SERVER].reads, UNTOUCHED);
  scene_send(&s, SCENE_CLIENT, "more", 4);
  assert_result(job_finish(&s.h, &recv), VOLT_OK);
  assert_int_equal(recv.op.n, 4);
  assert_memory_equal(to, "more", 4);
  scene_end(&s);
}

/* What was decrypted with a part that was received, and an end that came with it, are not waited for. */
static void a_recv_waits_for_nothing_that_has_come(void **state) {
  (void)state;
  for (size_t room = 1; room <= 8; room++) {
    begin_open();
    char to[8];
    volt_tls_op op;
    scene_send(&s, SCENE_CLIENT, "four", 4);
    assert_result(scene_run(&s, volt_tls_shutdown_future(&op, &s.tls[SCENE_CLIENT])), VOLT_OK);
    for (size_t left = 4; left > 0;) left -= scene_recv(&s, SCENE_SERVER, to, room);
    for (int i = 0; i < 2; i++) assert_int_equal(scene_recv(&s, SCENE_SERVER, to, room), 0);
    scene_end(&s);
  }
}

static void send_sends_one_record(void **state) {
  (void)state;
  begin_open();
  volt_tls_op op;
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[0], big, sizeof big)), VOLT_OK);
  assert_int_equal(op.n, 16384);
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[0], "", 0)), VOLT_OK);
  assert_int_equal(op.n, 0);
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[0], NULL, 1)), VOLT_EINVAL);
  assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[0], NULL, 1)), VOLT_EINVAL);
  assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[0], big, 0)), VOLT_EINVAL);
  scene_end(&s);
}

static void both_sides_send_and_receive_at_once(void **state) {
  (void)state;
  begin_open();
  fill_big();
  job senders[2];
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &senders[i],
              volt_tls_send_all_future(&senders[i].op, &s.tls[i], big, sizeof big));
  for (int i = 0; i < 2; i++) {
    memset(back, 0, sizeof back);
    for (size_t have = 0; have < sizeof big;)
      have += scene_recv(&s, i, back + have, sizeof big - have);
    assert_memory_equal(big, back, sizeof big);
  }
  for (int i = 0; i < 2; i++) assert_result(job_finish(&s.h, &senders[i]), VOLT_OK);
  scene_end(&s);
}

/* ---- the end ---- */

static void a_shutdown_is_half_of_a_close(void **state) {
  (void)state;
  begin_open();
  volt_tls_op op;
  char to[10];
  assert_result(scene_run(&s, volt_tls_shutdown_future(&op, &s.tls[0])), VOLT_OK);
  assert_result(scene_run(&s, volt_tls_shutdown_future(&op, &s.tls[0])), VOLT_OK);
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[0], "x", 1)), VOLT_ECLOSED);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 0);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 0);
  scene_send(&s, SCENE_SERVER, "still", 5); /* the other direction is open */
  assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 5);
  scene_end(&s);
}

static void an_end_without_close_notify_is_a_truncation(void **state) {
  (void)state;
  begin_open();
  volt_tls_op op;
  char to[10];
  scene_send(&s, SCENE_CLIENT, "last", 4);
  assert_result(volt_fd_shutdown(&s.fd[0], SHUT_WR), VOLT_OK);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 4);
  for (int i = 0; i < 2; i++)
    assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[1], to, sizeof to)),
                  VOLT_TLS_ETRUNCATED);
  scene_end(&s);
}

static void a_close_says_that_it_is_one(void **state) {
  (void)state;
  begin_open();
  volt_tls_op op;
  char to[10];
  assert_result(scene_run(&s, volt_tls_close_future(&op, &s.tls[0])), VOLT_OK);
  assert_result(scene_run(&s, volt_tls_close_future(&op, &s.tls[0])), VOLT_EINVAL);
  assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[0], to, 1)), VOLT_ECLOSED);
  assert_int_equal(volt_fd_number(&s.fd[0]), -1);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 0);
  scene_end(&s);
}

static void a_close_ends_what_is_under_way(void **state) {
  (void)state;
  begin_open();
  job recv, send;
  char to[10];
  volt_tls_op op;
  fill_big();
  job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[0], to, sizeof to));
  job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[0], big, sizeof big));
  (void)by_hand_run(&s.h);
  assert_result(scene_run(&s, volt_tls_close_future(&op, &s.tls[0])), VOLT_OK);
  assert_result(job_finish(&s.h, &recv), VOLT_ECLOSED);
  assert_result(job_finish(&s.h, &send), VOLT_ECLOSED);
  assert_true(send.op.n > 0 && send.op.n < sizeof big);
  scene_end(&s);
}

static void a_reset_is_an_error_of_the_socket(void **state) {
  (void)state;
  begin_open();
  volt_tls_op op;
  char to[10];
  assert_int_equal(volt_simulated_reset_all(s.h.rt), 1);
  int result = scene_run(&s, volt_tls_recv_future(&op, &s.tls[0], to, sizeof to));
  assert_result(result, VOLT_ERRNO(ECONNRESET));
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[1], "x", 1)),
                VOLT_ERRNO(ECONNRESET));
  scene_end(&s);
}

/* ---- cancel ---- */

static void a_recv_that_is_cancelled_has_moved_nothing(void **state) {
  (void)state;
  begin_open();
  job recv;
  char to[10];
  job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[1], to, sizeof to));
  (void)by_hand_run(&s.h);
  assert_result(job_cancel(&s.h, &recv), VOLT_ECANCELED);
  assert_int_equal(recv.op.n, 0);
  scene_send(&s, SCENE_CLIENT, "hello", 5);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
  volt_tls_op op; /* dropped by hand */
  volt_future *f = volt_tls_recv_future(&op, &s.tls[1], to, sizeof to);
  static const volt_waker none = {NULL, NULL};
  assert_result(volt_future_poll(f, none), VOLT_PENDING);
  volt_future_cancel(f);
  assert_result(volt_future_poll(f, none), VOLT_ECANCELED);
  scene_send(&s, SCENE_CLIENT, "again", 5);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
  scene_end(&s);
}

static void a_recv_that_loses_a_select_has_moved_nothing(void **state) {
  (void)state;
  begin_open();
  volt_sem sem;
  volt_sem_init(&sem, 0);
  char to[10];
  volt_tls_op op;
  volt_select select;
  volt_future acquire;
  for (int sem_first = 0; sem_first < 2; sem_first++) { /* both are ready */
    scene_send(&s, SCENE_CLIENT, "hello", 5);
    (void)by_hand_run(&s.h);
    volt_sem_release(&sem, 1);
    volt_future *recv = volt_tls_recv_future(&op, &s.tls[1], to, sizeof to);
    volt_future *other = volt_sem_acquire_future(&acquire, &sem, 1);
    volt_future *branches[2] = {sem_first ? other : recv, sem_first ? recv : other};
    volt_future *f = volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED);
    assert_result(scene_run(&s, f), VOLT_OK);
    assert_int_equal(volt_select_winner(&select), 0);
    assert_int_equal(op.n, sem_first ? 0 : 5);
    if (sem_first) assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
    if (!sem_first) assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
  }
  volt_sem_destroy(&sem);
  scene_end(&s);
}

static void a_send_that_is_cancelled_says_what_is_committed(void **state) {
  (void)state;
  begin_open();
  fill_big();
  job send;
  job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[0], big, sizeof big));
  (void)by_hand_run(&s.h);
  assert_result(job_cancel(&s.h, &send), VOLT_ECANCELED);
  size_t committed = send.op.n;
  assert_true(committed > 0 && committed < sizeof big);
  job_start(&s.h, &send,
            volt_tls_send_all_future(&send.op, &s.tls[0], big + committed, sizeof big - committed));
  for (size_t have = 0; have < sizeof big;)
    have += scene_recv(&s, SCENE_SERVER, back + have, sizeof big - have);
  assert_result(job_finish(&s.h, &send), VOLT_OK);
  assert_memory_equal(big, back, sizeof big);
  scene_end(&s);
}

static void committed_bytes_are_sent_by_a_recv(bool waits_first) {
  begin_open();
  fill_big();
  job send, recv;
  char to[10];
  if (waits_first) {
    scene_send(&s, SCENE_SERVER, "x", 1);
    assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 1);
    assert_true(s.tls[SCENE_CLIENT].is_dry);
  }
  job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[0], big, sizeof big));
  (void)by_hand_run(&s.h);
  assert_result(job_cancel(&s.h, &send), VOLT_ECANCELED);
  size_t committed = send.op.n;
  assert_non_null(s.tls[0].rest);
  job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[0], to, sizeof to));
  for (size_t have = 0; have < committed;)
    have += scene_recv(&s, SCENE_SERVER, back + have, committed - have);
  assert_memory_equal(big, back, committed);
  assert_null(s.tls[0].rest);
  scene_send(&s, SCENE_SERVER, "hello", 5);
  assert_result(job_finish(&s.h, &recv), VOLT_OK);
  assert_int_equal(recv.op.n, 5);
  scene_end(&s);
}

static void what_is_committed_is_sent_by_any_operation(void **state) {
  (void)state;
  committed_bytes_are_sent_by_a_recv(false);
  committed_bytes_are_sent_by_a_recv(true);
}

static void a_handshake_that_is_cancelled_ends_the_stream(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  job shake;
  job_start(&s.h, &shake, volt_tls_handshake_future(&shake.op, &s.tls[0]));
  (void)by_hand_run(&s.h);
  assert_result(job_cancel(&s.h, &shake), VOLT_ECANCELED);
  assert_string_equal(volt_tls_why(&s.tls[0]), "the handshake was cancelled");
  volt_tls_op op;
  char to[10];
  assert_result(scene_run(&s, volt_tls_handshake_future(&op, &s.tls[0])), VOLT_ECANCELED);
  assert_result(scene_run(&s, volt_tls_recv_future(&op, &s.tls[0], to, 1)), VOLT_ECANCELED);
  assert_result(scene_run(&s, volt_tls_send_future(&op, &s.tls[0], to, 1)), VOLT_ECANCELED);
  scene_end(&s);
}

/* It takes the decision before it ends; one that was under way and loses ends its stream. */
static void a_handshake_may_be_a_branch_of_a_select(void **state) {
  (void)state;
  for (int wins = 0; wins < 2; wins++) {
    scene_begin(&s, NULL, NULL);
    scene_init(&s, "example.org");
    volt_sem sem;
    volt_sem_init(&sem, 0);
    job shake, of_server;
    volt_select select;
    volt_future acquire;
    volt_future *branches[2] = {volt_tls_handshake_future(&shake.op, &s.tls[0]),
                                volt_sem_acquire_future(&acquire, &sem, 1)};
    job_start(&s.h, &shake, volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED));
    (void)by_hand_run(&s.h);
    if (!wins) volt_sem_release(&sem, 1);
    job_start(&s.h, &of_server, volt_tls_handshake_future(&of_server.op, &s.tls[1]));
    if (wins) assert_result(job_finish(&s.h, &of_server), VOLT_OK);
    assert_result(job_finish(&s.h, &shake), VOLT_OK);
    assert_int_equal(volt_select_winner(&select), wins ? 0 : 1);
    if (wins) volt_sem_release(&sem, 1);
    assert_result(volt_sem_try_acquire(&sem, 1), wins ? VOLT_OK : VOLT_EAGAIN);
    volt_tls_op op;
    int result = scene_run(&s, volt_tls_send_future(&op, &s.tls[0], "x", 1));
    assert_result(result, wins ? VOLT_OK : VOLT_ECANCELED);
    if (!wins) (void)job_cancel(&s.h, &of_server);
    volt_sem_destroy(&sem);
    scene_end(&s);
  }
}

static void a_cancel_before_the_first_poll_does_nothing(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  volt_tls_op op;
  volt_future *f = volt_tls_handshake_future(&op, &s.tls[0]);
  volt_future_cancel(f);
  volt_tls_close(&s.tls[0]);
  volt_tls_close(&s.tls[1]);
  assert_result(volt_pair_open(&s.fd[0], &s.fd[1], s.h.rt, SOCK_STREAM), VOLT_OK);
  scene_shake(&s);
  scene_end(&s);
}

/* A peer that wants answers, and does not read them, makes nothing grow without bounds. */
static void answers_that_are_not_read_are_bounded(void **state) {
  (void)state;
  begin_open();
  fill_big();
  job send, recv;
  static char to[100];
  volt_tls_op op;
  job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[0], big, sizeof big));
  (void)by_hand_run(&s.h);
  for (int i = 0; i < 5000; i++) {
    if (SSL_key_update(s.tls[1].ssl, SSL_KEY_UPDATE_REQUESTED) != 1) break; /* it cannot send */
    (void)scene_run(&s, volt_tls_send_future(&op, &s.tls[1], "", 1));
    if (i < 10) assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, 1), 1);
    if (i == 10) job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[0], to, sizeof to));
    if (i > 10 && volt_task_result(&recv.task) == VOLT_OK)
      job_start(&s.h, &recv, volt_tls_recv_future(&recv.op, &s.tls[0], to, sizeof to));
    (void)by_hand_run(&s.h);
    assert_true(s.tls[0].rest_until - s.tls[0].rest_from < 49152 + 17000);
  }
  assert_true(s.tls[0].rest_until - s.tls[0].rest_from > 49152); /* it came so far */
  for (size_t have = 0; have < sizeof big;)
    have += scene_recv(&s, SCENE_SERVER, back + have, sizeof big - have);
  assert_memory_equal(big, back, sizeof big);
  assert_result(job_finish(&s.h, &send), VOLT_OK);
  (void)job_cancel(&s.h, &recv);
  scene_end(&s);
}

/* A peer that sends records without data does not keep one poll going: what is bounded is how much it
 * reads. With answers that it does not read (requested) nothing grows without bounds, either. */
static void a_flood_of_key_updates_does_not_keep_a_poll(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  for (int asks = 0; asks < 2; asks++) {
    static const volt_simulated_faults wide = {.buffer_size = 4 << 20};
    static char all[5 << 20], to[100];
    scene_begin_with(&s, 1, &wide);
    volt_tls_config client = scene_client_config(), server = scene_server_config();
    s.context[0] = scene_context(VOLT_TLS_CLIENT, &client);
    s.context[1] = scene_context(VOLT_TLS_SERVER, &server);
    scene_shake(&s);
    job send;
    volt_tls_op op;
    if (asks)
      job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[0], all, sizeof all));
    (void)by_hand_run(&s.h);
    int how = asks ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
    for (int i = 0; i < COUNT; i++) {
      REQUIRE(SSL_key_update(s.tls[1].ssl, how) == 1);
      REQUIRE(SSL_do_handshake(s.tls[1].ssl) == 1);
    }
    scene_send(&s, SCENE_SERVER, "data", 4);
    volt_future *f = volt_tls_recv_future(&op, &s.tls[0], to, sizeof to);
    static const volt_waker none = {NULL, NULL};
    unsigned polls = 0;
    int result = VOLT_PENDING;
    while (result == VOLT_PENDING && polls < 1000) {
      volt_ctx ctx = VOLT_CTX_INIT(none);
      result = volt_future_poll_ctx(f, &ctx);
      polls++;
      assert_true(s.tls[0].rest_until - s.tls[0].rest_from < 49152 + 34000);
      if (result == VOLT_PENDING && !ctx.yield) break; /* it waits */
    }
    if (!asks) assert_result(result, VOLT_OK);
    if (!asks) assert_int_equal(op.n, 4);
    if (!asks) assert_true(polls > 1);
    if (asks) assert_result(result, VOLT_PENDING);
    if (asks) volt_future_cancel(f);
    if (asks) (void)job_cancel(&s.h, &send);
    scene_end(&s);
  }
}

/* The size of a record, with its head. */
static size_t record_size(const char *at) {
  return 5 + ((size_t)(unsigned char)at[3] << 8 | (unsigned char)at[4]);
}

static char wire[20000];

/* A session ticket in several records, of which the client has received the first. Returns how many bytes
 * of wire there are; *first: how many it has. The client is on a pair of its own then: pair. */
static size_t begin_half_ticket(ca_one *with, job *recv, char *to, size_t room, size_t *first,
                                volt_fd pair[2]) {
  volt_tls_config client = scene_client_config(), server = scene_server_config();
  *with = ca_make(&the_ca.root, (ca_want){.name = "big", .rsa_bits = 2048, .serial = 9});
  client.certificates = with->pem, client.key = with->key_pem;
  server.flags = VOLT_TLS_REQUIRE_CLIENT, server.trust = the_ca.root.pem;
  scene_begin(&s, &client, &server);
  scene_init(&s, "example.org");
  SSL_set_max_send_fragment(s.tls[1].ssl, 512);
  job jobs[2];
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s.tls[i]));
  for (int i = 0; i < 2; i++) assert_result(job_finish(&s.h, &jobs[i]), VOLT_OK);
  scene_send(&s, SCENE_SERVER, "data", 4);
  size_t n = 0;
  for (size_t got = 0; volt_fd_try_recv(&s.fd[0], wire + n, sizeof wire - n, 0, &got) == VOLT_OK;)
    n += got;
  *first = record_size(wire);
  assert_result(volt_pair_open(&pair[0], &pair[1], s.h.rt, SOCK_STREAM), VOLT_OK);
  s.tls[0].fd = &pair[0];
  volt_op plain;
  assert_result(scene_run(&s, volt_fd_send_future(&plain, &pair[1], wire, *first, 0)), VOLT_OK);
  job_start(&s.h, recv, volt_tls_recv_future(&recv->op, &s.tls[0], to, room));
  (void)by_hand_run(&s.h);
  assert_true(SSL_in_init(s.tls[0].ssl));
  return n;
}

/* What cannot be sent while half a message was received waits for the other half, and is sent; data that
 * comes with that is received. */
static void a_send_waits_for_the_other_half_of_a_ticket(void **state) {
  (void)state;
  for (int shuts = 0; shuts < 2; shuts++) {
    ca_one with;
    job recv, send;
    char to[10], sent[100];
    size_t first, n;
    volt_fd pair[2];
    memset((void *)pair, 0, sizeof pair);
    size_t all = begin_half_ticket(&with, &recv, to, sizeof to, &first, pair);
    volt_tls *t = &s.tls[0];
    job_start(&s.h, &send,
              shuts ? volt_tls_shutdown_future(&send.op, t)
                    : volt_tls_send_all_future(&send.op, t, "hello", 5));
    (void)by_hand_run(&s.h);
    assert_result(volt_task_result(&send.task), VOLT_PENDING);
    assert_result(volt_fd_try_recv(&pair[1], sent, sizeof sent, 0, &n), VOLT_EAGAIN);
    volt_op plain;
    volt_future *f = volt_fd_send_future(&plain, &pair[1], wire + first, all - first, 0);
    assert_result(scene_run(&s, f), VOLT_OK);
    assert_result(job_finish(&s.h, &send), VOLT_OK);
    assert_int_equal(send.op.n, shuts ? 0 : 5);
    assert_result(volt_fd_try_recv(&pair[1], sent, sizeof sent, 0, &n), VOLT_OK);
    assert_int_equal(n, record_size(sent));
    assert_result(job_finish(&s.h, &recv), VOLT_OK);
    assert_int_equal(recv.op.n, 4);
    volt_tls_close(t);
    volt_fd_close(&pair[1]);
    scene_end(&s);
    ca_free(&with);
  }
}

/* A send that finds the end of the stream in the other half wakes a recv that waits. */
static void a_send_that_finds_an_end_wakes_a_recv(void **state) {
  (void)state;
  ca_one with;
  job recv;
  char to[10], nonsense[30] = {23, 3, 3, 0, 25};
  size_t first;
  volt_fd pair[2];
  volt_tls_op op;
  memset((void *)pair, 0, sizeof pair);
  (void)begin_half_ticket(&with, &recv, to, sizeof to, &first, pair);
  static const volt_waker none = {NULL, NULL};
  volt_future *f = volt_tls_send_future(&op, &s.tls[0], "x", 1);
  volt_op plain; /* it is sent, and the receiver is not run before the sender */
  volt_future *nonsense_f = volt_fd_send_future(&plain, &pair[1], nonsense, sizeof nonsense, 0);
  assert_result(volt_future_poll(nonsense_f, none), VOLT_OK);
  int result = volt_future_poll(f, none);
  if (result == VOLT_PENDING) result = scene_run(&s, f);
  assert_result(result, VOLT_TLS_EPROTOCOL);
  assert_string_not_equal(volt_tls_why(&s.tls[0]), "");
  assert_result(job_finish(&s.h, &recv), VOLT_TLS_EPROTOCOL);
  volt_tls_close(&s.tls[0]);
  volt_fd_close(&pair[1]);
  scene_end(&s);
  ca_free(&with);
}

/* ---- memory ---- */

static void a_stream_that_waits_keeps_no_rest(void **state) {
  (void)state;
  begin_open();
  char to[10];
  scene_send(&s, SCENE_CLIENT, "hello", 5);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
  assert_null(s.tls[0].rest);
  assert_null(s.tls[1].rest);
  assert_false(SSL_has_pending(s.tls[1].ssl));
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_handshake_says_what_was_chosen),
      cmocka_unit_test(versions_are_bounded),
      cmocka_unit_test(no_protocol_in_common_is_refused),
      cmocka_unit_test(what_is_no_handshake_is_refused),
      cmocka_unit_test(a_peer_that_goes_in_the_handshake_truncates_it),
      cmocka_unit_test(both_sides_have_one_end_point),
      cmocka_unit_test(a_handshake_is_made_once),
      cmocka_unit_test(init_refuses_a_name_that_is_none),
      cmocka_unit_test(a_dot_at_the_end_of_a_name_is_left_out),
      cmocka_unit_test(bytes_arrive_in_order),
      cmocka_unit_test(a_recv_of_an_empty_socket_waits_first),
      cmocka_unit_test(a_recv_waits_for_nothing_that_has_come),
      cmocka_unit_test(send_sends_one_record),
      cmocka_unit_test(both_sides_send_and_receive_at_once),
      cmocka_unit_test(a_shutdown_is_half_of_a_close),
      cmocka_unit_test(an_end_without_close_notify_is_a_truncation),
      cmocka_unit_test(a_close_says_that_it_is_one),
      cmocka_unit_test(a_close_ends_what_is_under_way),
      cmocka_unit_test(a_reset_is_an_error_of_the_socket),
      cmocka_unit_test(a_recv_that_is_cancelled_has_moved_nothing),
      cmocka_unit_test(a_recv_that_loses_a_select_has_moved_nothing),
      cmocka_unit_test(a_send_that_is_cancelled_says_what_is_committed),
      cmocka_unit_test(what_is_committed_is_sent_by_any_operation),
      cmocka_unit_test(a_handshake_that_is_cancelled_ends_the_stream),
      cmocka_unit_test(a_handshake_may_be_a_branch_of_a_select),
      cmocka_unit_test(a_cancel_before_the_first_poll_does_nothing),
      cmocka_unit_test(answers_that_are_not_read_are_bounded),
      cmocka_unit_test(a_flood_of_key_updates_does_not_keep_a_poll),
      cmocka_unit_test(a_send_waits_for_the_other_half_of_a_ticket),
      cmocka_unit_test(a_send_that_finds_an_end_wakes_a_recv),
      cmocka_unit_test(a_stream_that_waits_keeps_no_rest),
  };
  scene_make_ca();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scene_free_ca();
  return failed;
}
