/* postgres_session_test.c: PostgreSQL sessions from accept to their end, on a network in memory: when
 * they hold a permit, what they tell the client, and that every permit is given back, once the server
 * works no more. */
#include "pg_peer.h"

#include <stdlib.h>

#include "rng.h"

static void begin_seeded(struct stage *s, uint32_t limit, uint64_t seed) {
  stage_begin(s, seed);
  s->settings.protocol = PROTOCOL_POSTGRES;
  s->settings.refuse = REFUSE_POSTGRES;
  s->settings.limit = limit;
}

static void begin(struct stage *s, uint32_t limit) {
  begin_seeded(s, limit, 1);
}

static uint32_t held(struct stage *s) {
  return (uint32_t)gate_held(s->gate);
}

static void expect_end(struct stage *s, struct peer *p) {
  (void)stage_read(s, p);
  assert_true(p->has_ended || p->has_failed);
}

static void expect_open(struct stage *s, struct peer *p) {
  (void)stage_read(s, p);
  assert_false(p->has_ended || p->has_failed);
}

/* A field of the last message is this text. */
static bool has_words(const struct peer *p, const char *words) {
  const char *at = p->got + 5;
  while (*at && strcmp(at + 1, words) != 0) at += strlen(at) + 1;
  return *at != 0;
}

static void close_both(struct stage *s, struct peer *client, struct peer *server) {
  stage_close(s, client);
  stage_close(s, server);
}

/* ---- login ---- */

static void test_startup_comes_in_pieces(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client);
  for (size_t i = 0; i < PG_STARTUP_PACKET; i++) {
    assert_false(stage_accept(&s, &server));
    pg_say_bytes(&s, &client, pg_startup_packet + i, 1);
  }
  assert_true(stage_accept(&s, &server));
  (void)stage_read(&s, &server);
  assert_int_equal(server.size, PG_STARTUP_PACKET);
  assert_memory_equal(server.got, pg_startup_packet, PG_STARTUP_PACKET);
  pg_say(&s, &server, 'R', "\0\0\0\3", 4); /* it wants a password */
  pg_say(&s, &client, 'p', "secret", 7);
  assert_string_equal(pg_heard(&s, &server), "p");
  assert_int_equal(held(&s), 0);
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_requests_for_encryption_are_declined(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client);
  pg_say_bytes(&s, &client, pg_gssenc_request, 8);
  assert_string_equal(stage_read(&s, &client), "N");
  pg_say_bytes(&s, &client, pg_ssl_request, 8);
  assert_string_equal(stage_read(&s, &client), "NN");
  pg_say_bytes(&s, &client, pg_startup_packet, PG_STARTUP_PACKET);
  assert_true(stage_accept(&s, &server));
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_bytes_behind_a_request_for_encryption_are_refused(void **state) {
  struct stage s;
  struct peer client, server;
  char both[8 + PG_STARTUP_PACKET];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  memcpy(both, pg_ssl_request, 8);
  memcpy(both + 8, pg_startup_packet, PG_STARTUP_PACKET);
  stage_connect(&s, &client);
  pg_say_bytes(&s, &client, both, sizeof both);
  assert_string_equal(pg_heard(&s, &client), "E");
  pg_heard_fatal(&client, "08P01");
  assert_false(stage_accept(&s, &server));
  assert_int_equal(stage_refused(&s, REASON_PROTOCOL), 1);
  stage_close(&s, &client);
  stage_end(&s);
}

static void test_login_has_a_limit(void **state) {
  struct stage s;
  struct peer client[2], server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client[0]); /* says nothing */
  stage_connect(&s, &client[1]); /* never answers the server */
  pg_say_bytes(&s, &client[1], pg_startup_packet, PG_STARTUP_PACKET);
  assert_true(stage_accept(&s, &server));
  pg_say(&s, &server, 'R', "\0\0\0\3", 4);
  stage_pass(&s, 10 * STAGE_S - STAGE_MS);
  expect_open(&s, &client[0]);
  assert_string_equal(pg_heard(&s, &client[1]), "R");
  stage_pass(&s, STAGE_MS);
  expect_end(&s, &client[0]);
  assert_string_equal(pg_heard(&s, &client[1]), "E");
  expect_end(&s, &server);
  assert_int_equal(stage_refused(&s, REASON_LOGIN_TIMEOUT), 2);
  stage_close(&s, &client[0]);
  close_both(&s, &client[1], &server);
  stage_end(&s);
}

/* A server that accepts and says nothing: the client hears that it is the server, the gate's state says
 * so, and it is asked whether it speaks TLS until it answers. */
static void test_server_that_does_not_answer_the_login(void **state) {
  struct stage s;
  struct peer client, server, asked;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  stage_pass(&s, STAGE_S); /* the clock is not at 0 */
  stage_connect(&s, &client);
  pg_say_bytes(&s, &client, pg_startup_packet, PG_STARTUP_PACKET);
  assert_true(stage_accept(&s, &server));
  stage_pass(&s, 10 * STAGE_S - STAGE_MS);
  expect_open(&s, &client);
  assert_int_equal(breaker_silent_ns(&s.gate->breaker), 0);
  stage_pass(&s, STAGE_MS);
  assert_string_equal(pg_heard(&s, &client), "E");
  pg_heard_fatal(&client, "08006");
  assert_true(has_words(&client, "voltgate: the server does not answer within 10 s"));
  assert_int_equal(stage_refused(&s, REASON_SERVER_TIMEOUT), 1);
  assert_int_equal(stage_refused(&s, REASON_LOGIN_TIMEOUT), 0);
  assert_true(breaker_is_in_doubt(&s.gate->breaker));
  assert_false(breaker_is_open(&s.gate->breaker)); /* it was one login only */
  for (int i = 0; i < 2; i++) {                    /* and two questions */
    stage_pass(&s, 250 * STAGE_MS);
    assert_true(stage_accept(&s, &asked));
    (void)stage_read(&s, &asked);
    assert_int_equal(asked.size, 8);
    assert_memory_equal(asked.got, pg_ssl_request, 8);
    assert_false(breaker_is_open(&s.gate->breaker));
    stage_pass(&s, 5 * STAGE_S);
    stage_close(&s, &asked);
  }
  assert_true(breaker_is_open(&s.gate->breaker));
  stage_pass(&s, 250 * STAGE_MS);
  assert_true(stage_accept(&s, &asked));
  stage_send(&s, &asked, "N");
  assert_false(breaker_is_in_doubt(&s.gate->breaker));
  stage_close(&s, &asked);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* The server has asked for a password, and the client has just said it when the time is up: it is the
 * client's login that was too long. If the server had it for long, it is the server that hangs. */
static void test_login_that_waits_for_the_server_or_for_the_client(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  for (int is_late = 0; is_late < 2; is_late++) {
    begin(&s, 1);
    stage_open(&s);
    stage_connect(&s, &client);
    pg_say_bytes(&s, &client, pg_startup_packet, PG_STARTUP_PACKET);
    assert_true(stage_accept(&s, &server));
    pg_say(&s, &server, 'R', "\0\0\0\3", 4);
    stage_pass(&s, is_late ? 9 * STAGE_S : STAGE_S);
    pg_say(&s, &client, 'p', "secret", 7);
    stage_pass(&s, is_late ? STAGE_S : 9 * STAGE_S);
    assert_string_equal(pg_heard(&s, &client), "RE");
    assert_int_equal(stage_refused(&s, REASON_LOGIN_TIMEOUT), is_late);
    assert_int_equal(stage_refused(&s, REASON_SERVER_TIMEOUT), !is_late);
    if (!is_late) {
      assert_true(has_words(&client, "voltgate: the server does not answer within 9 s"));
    }
    close_both(&s, &client, &server);
    stage_end(&s);
  }
}

/* An ErrorResponse in answer to SSLRequest would not be shown. */
static void test_one_too_many_hears_why(void **state) {
  struct stage s;
  struct peer client[2], server, none;
  (void)state;
  begin(&s, 1);
  s.settings.clients = 1;
  stage_open(&s);
  pg_enter(&s, &client[0], &server, 1);
  stage_connect(&s, &client[1]);
  pg_say_bytes(&s, &client[1], pg_ssl_request, 8);
  assert_string_equal(stage_read(&s, &client[1]), "N");
  pg_say_bytes(&s, &client[1], pg_startup_packet, PG_STARTUP_PACKET);
  assert_string_equal(pg_heard(&s, &client[1]), "E");
  pg_heard_fatal(&client[1], "53300");
  assert_false(stage_accept(&s, &none));
  stage_close(&s, &client[1]);
  close_both(&s, &client[0], &server);
  stage_end(&s);
}

/* It is no client any more, also while it says nothing and so cannot be told why. */
static void test_one_too_many_takes_no_place(void **state) {
  struct stage s;
  struct peer client[3], server[3];
  (void)state;
  begin(&s, 1);
  s.settings.clients = 1;
  stage_open(&s);
  pg_enter(&s, &client[0], &server[0], 1);
  stage_connect(&s, &client[1]);
  assert_int_equal(atomic_load(&s.gate->clients.count), 1);
  close_both(&s, &client[0], &server[0]);
  pg_enter(&s, &client[2], &server[2], 2);
  assert_int_equal(stage_refused(&s, REASON_CLIENTS), 1);
  stage_close(&s, &client[1]);
  close_both(&s, &client[2], &server[2]);
  stage_end(&s);
}

static void test_server_that_refuses_is_said(void **state) {
  struct stage s;
  struct peer client;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  volt_fd_close(&s.server);
  stage_connect(&s, &client);
  pg_say_bytes(&s, &client, pg_startup_packet, PG_STARTUP_PACKET);
  assert_string_equal(pg_heard(&s, &client), "E");
  pg_heard_fatal(&client, "08006");
  assert_int_equal(stage_refused(&s, REASON_CONNECT), 1);
  stage_close(&s, &client);
  stage_end(&s);
}

/* ---- permits ---- */

static void test_permit_is_held_for_a_transaction(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 1);
  assert_int_equal(held(&s), 0);
  pg_query(&s, &client, "begin");
  assert_int_equal(held(&s), 1);
  assert_string_equal(pg_heard(&s, &server), "Q");
  pg_complete(&s, &server, 'T');
  assert_int_equal(held(&s), 1);
  pg_query(&s, &client, "oops");
  pg_ready(&s, &server, 'E');
  assert_int_equal(held(&s), 1);
  pg_query(&s, &client, "rollback");
  pg_complete(&s, &server, 'I');
  assert_int_equal(held(&s), 0);
  assert_string_equal(pg_heard(&s, &client), "CZZCZ");
  assert_int_equal(stage_counted(&s, COUNT_ADMITTED), 1);
  pg_terminate(&s, &client);
  assert_string_equal(pg_heard(&s, &server), "QQX");
  stage_close(&s, &server);
  expect_end(&s, &client);
  assert_string_equal(pg_heard(&s, &client), ""); /* no words about a server that has closed */
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_permit_goes_to_the_next_before_the_answer_is_sent_on(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
  pg_query(&s, &client[0], "one");
  pg_query(&s, &client[1], "two");
  assert_string_equal(pg_heard(&s, &server[0]), "Q");
  assert_string_equal(pg_heard(&s, &server[1]), "");
  assert_int_equal(atomic_load(&s.gate->queued), 1);
  pg_say(&s, &server[1], 'A', "\0\0\0\1ch\0\0", 8); /* NOTIFY while it is queued */
  assert_string_equal(pg_heard(&s, &client[1]), "A");
  pg_complete(&s, &server[0], 'I');
  assert_string_equal(pg_heard(&s, &server[1]), "Q");
  assert_int_equal(held(&s), 1);
  pg_complete(&s, &server[1], 'I');
  assert_string_equal(pg_heard(&s, &client[0]), "CZ");
  assert_string_equal(pg_heard(&s, &client[1]), "CZ");
  assert_int_equal(held(&s), 0);
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

/* The permit comes at the same moment as the answer to a Sync, which needed none. */
static void test_answer_to_a_sync_does_not_take_the_permit(void **state) {
  (void)state;
  for (int order = 0; order < 2; order++) {
    struct stage s;
    struct peer client[2], server[2];
    char both[64];
    begin(&s, 1);
    stage_open(&s);
    for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
    pg_query(&s, &client[0], "one");
    size_t size = pg_message(both, 'S', "", 0);
    size += pg_message(both + size, 'Q', "two", 4);
    pg_say_bytes(&s, &client[1], both, size);
    assert_string_equal(pg_heard(&s, &server[1]), "S");
    assert_int_equal(atomic_load(&s.gate->queued), 1);
    for (int i = 0; i < 2; i++) {
      size_t n;
      assert_result(volt_fd_try_send(&server[i ^ order].fd, "Z\0\0\0\5I", 6, 0, &n), VOLT_OK);
    }
    assert_string_equal(pg_heard(&s, &server[1]), "Q");
    assert_int_equal(stage_counted(&s, COUNT_ADMITTED), 2);
    assert_int_equal(held(&s), 1);
    pg_complete(&s, &server[1], 'I');
    assert_int_equal(held(&s), 0);
    for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
    stage_end(&s);
  }
}

static void test_deadline_of_the_queue(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
  pg_query(&s, &client[0], "one");
  pg_query(&s, &client[1], "two");
  stage_pass(&s, 5 * STAGE_S - STAGE_MS);
  assert_string_equal(pg_heard(&s, &client[1]), "");
  stage_pass(&s, STAGE_MS);
  assert_string_equal(pg_heard(&s, &client[1]), "E");
  pg_heard_fatal(&client[1], "53300");
  expect_end(&s, &client[1]);
  expect_end(&s, &server[1]);
  assert_string_equal(pg_heard(&s, &server[1]), "");
  assert_int_equal(stage_refused(&s, REASON_QUEUE_TIMEOUT), 1);
  assert_int_equal(held(&s), 1);
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

static void test_queue_that_is_full(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  s.settings.queue = 0;
  stage_open(&s);
  for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
  pg_query(&s, &client[0], "one");
  pg_query(&s, &client[1], "two");
  assert_string_equal(pg_heard(&s, &client[1]), "E");
  pg_heard_fatal(&client[1], "53300");
  expect_end(&s, &server[1]);
  assert_int_equal(stage_refused(&s, REASON_QUEUE_FULL), 1);
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

static void test_client_that_hangs_up_leaves_the_queue(void **state) {
  (void)state;
  for (int keeps = 0; keeps < 2; keeps++) {
    struct stage s;
    struct peer client[2], server[2];
    begin(&s, 1);
    s.settings.half_close = keeps ? HALF_CLOSE_KEEP : HALF_CLOSE_LEAVE;
    stage_open(&s);
    for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
    pg_query(&s, &client[0], "one");
    pg_query(&s, &client[1], "two");
    stage_shut(&s, &client[1]);
    assert_int_equal(atomic_load(&s.gate->queued), keeps);
    assert_int_equal(stage_counted(&s, COUNT_LEFT), 1 - keeps);
    if (keeps) {
      pg_complete(&s, &server[0], 'I');
      assert_string_equal(pg_heard(&s, &server[1]), "Q"); /* it is run for who listens still */
    } else {
      expect_end(&s, &server[1]);
      assert_string_equal(pg_heard(&s, &server[1]), "");
    }
    for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
    stage_end(&s);
  }
}

/* ---- CancelRequest ---- */

static void make_cancel(char to[16], uint32_t process) {
  pg_number(to, 16);
  pg_number(to + 4, 80877102);
  pg_backend_key(to + 8, process);
}

static void test_cancel_passes_at_once(void **state) {
  struct stage s;
  struct peer client, server, other, cancel;
  char packet[16];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "long");
  make_cancel(packet, 7);
  stage_connect(&s, &other);
  for (int i = 0; i < 16; i++) pg_say_bytes(&s, &other, packet + i, 1);
  assert_true(stage_accept(&s, &cancel));
  (void)stage_read(&s, &cancel);
  assert_int_equal(cancel.size, 16);
  assert_memory_equal(cancel.got, packet, 16);
  expect_open(&s, &other); /* until the server has acted */
  stage_close(&s, &cancel);
  expect_end(&s, &other);
  assert_int_equal(stage_counted(&s, COUNT_CANCELS), 1);
  assert_int_equal(held(&s), 1);
  stage_close(&s, &other);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* CancelRequests of clients, which need no password, and a server that does not act on them. */
static void test_flood_of_cancels_stops_none_of_ours(void **state) {
  enum { FLOOD = 64 + 6 };
  static struct peer other[FLOOD], cancel[FLOOD];
  struct stage s;
  struct peer client, server, own;
  char packet[16];
  unsigned passed = 0;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "long");
  make_cancel(packet, 9);
  for (int i = 0; i < FLOOD; i++) {
    stage_connect(&s, &other[i]);
    pg_say_bytes(&s, &other[i], packet, sizeof packet);
    if (stage_accept(&s, &cancel[passed])) passed++;
  }
  assert_int_equal(passed, 64);
  stage_close(&s, &client);
  assert_true(stage_accept(&s, &own));
  (void)stage_read(&s, &own);
  make_cancel(packet, 7);
  assert_int_equal(own.size, 16);
  assert_memory_equal(own.got, packet, 16);
  stage_close(&s, &own);
  stage_close(&s, &server);
  assert_int_equal(held(&s), 0);
  for (int i = 0; i < FLOOD; i++) stage_close(&s, &other[i]);
  for (unsigned i = 0; i < passed; i++) stage_close(&s, &cancel[i]);
  while (stage_accept(&s, &own)) stage_close(&s, &own);
  stage_end(&s);
}

/* ---- ends, while the server works ---- */

static void test_client_dies_while_its_query_runs(void **state) {
  struct stage s;
  struct peer client, server, cancel;
  char packet[16];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "long");
  stage_close(&s, &client);
  expect_end(&s, &server);
  for (int i = 0; i < 3; i++) { /* again and again: there may be queries behind the first */
    assert_true(stage_accept(&s, &cancel));
    (void)stage_read(&s, &cancel);
    make_cancel(packet, 7);
    assert_int_equal(cancel.size, 16);
    assert_memory_equal(cancel.got, packet, 16);
    stage_close(&s, &cancel);
    assert_int_equal(held(&s), 1); /* the server works still */
    stage_pass(&s, 500 * STAGE_MS);
  }
  assert_true(stage_accept(&s, &cancel));
  stage_close(&s, &cancel);
  stage_close(&s, &server);
  assert_int_equal(held(&s), 0);
  assert_int_equal(stage_counted(&s, COUNT_CANCELS), 0); /* none of a client */
  stage_end(&s);
}

static void test_server_that_never_closes_is_given_up(void **state) {
  struct stage s;
  struct peer client, server, cancel;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "long");
  stage_close(&s, &client);
  unsigned cancels = 0;
  for (int i = 0; i < 200 && held(&s) > 0; i++) {
    if (stage_accept(&s, &cancel)) {
      cancels += 1;
      stage_close(&s, &cancel);
    }
    stage_pass(&s, 100 * STAGE_MS);
  }
  assert_int_equal(held(&s), 0);
  assert_in_range(cancels, 4, 20);
  stage_close(&s, &server);
  stage_end(&s);
}

static void test_goodbye_behind_a_query_lets_it_finish(void **state) {
  struct stage s;
  struct peer client, server, none;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  char both[64];
  size_t size = pg_message(both, 'Q', "insert", 7);
  size += pg_message(both + size, 'X', "", 0);
  pg_say_bytes(&s, &client, both, size);
  assert_string_equal(pg_heard(&s, &server), "QX");
  stage_close(&s, &client);
  stage_pass(&s, 60 * STAGE_S);
  assert_false(stage_accept(&s, &none)); /* it is not cancelled */
  assert_int_equal(held(&s), 1);
  pg_complete(&s, &server, 'I');
  stage_close(&s, &server);
  assert_int_equal(held(&s), 0);
  stage_end(&s);
}

/* The client's socket takes nothing more, and what it sends is not read any more: the server's end is
 * what there is to wait for. */
static void test_goodbye_of_a_client_that_is_gone_ends_with_the_server(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  char all[64];
  size_t size = pg_message(all, 'Q', "one", 4);
  size += pg_message(all + size, 'Q', "two", 4);
  size += pg_message(all + size, 'X', "", 0);
  pg_say_bytes(&s, &client, all, size);
  assert_string_equal(pg_heard(&s, &server), "QQX");
  stage_close(&s, &client);
  pg_complete(&s, &server, 'T'); /* the first bytes are answered by a reset */
  pg_complete(&s, &server, 'T');
  assert_int_equal(held(&s), 1);
  stage_close(&s, &server);
  assert_int_equal(held(&s), 0);
  assert_int_equal(volt_group_count(&s.sessions), 0);
  stage_end(&s);
}

static void test_what_is_before_a_goodbye_is_answered(void **state) {
  struct stage s;
  struct peer client, server;
  char all[PG_STARTUP_PACKET + 64];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client); /* all at once, and the end behind it */
  memcpy(all, pg_startup_packet, PG_STARTUP_PACKET);
  size_t size = PG_STARTUP_PACKET;
  size += pg_message(all + size, 'Q', "insert", 7);
  size += pg_message(all + size, 'X', "", 0);
  pg_say_bytes(&s, &client, all, size);
  stage_shut(&s, &client);
  assert_true(stage_accept(&s, &server));
  pg_say(&s, &server, 'R', "\0\0\0", 4);
  pg_ready(&s, &server, 'I');
  (void)stage_read(&s, &server);
  assert_memory_equal(server.got, all, size);
  assert_int_equal(server.size, size);
  pg_complete(&s, &server, 'I');
  assert_string_equal(pg_heard(&s, &client), "RZCZ");
  expect_open(&s, &client);
  stage_close(&s, &server);
  expect_end(&s, &client);
  stage_close(&s, &client);
  stage_end(&s);
}

static void test_half_closed_client_is_answered(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  s.settings.half_close = HALF_CLOSE_KEEP;
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "select");
  stage_shut(&s, &client);
  assert_string_equal(pg_heard(&s, &server), "Q");
  assert_true(server.has_ended);
  pg_complete(&s, &server, 'I');
  assert_string_equal(pg_heard(&s, &client), "CZ");
  stage_close(&s, &server);
  expect_end(&s, &client);
  stage_close(&s, &client);
  stage_end(&s);
}

static void test_goodbye_of_an_idle_client(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_terminate(&s, &client);
  assert_string_equal(pg_heard(&s, &server), "X");
  expect_open(&s, &server);
  stage_pass(&s, 5 * STAGE_S); /* it should have closed at once */
  expect_end(&s, &server);
  expect_end(&s, &client);
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_idle_in_a_transaction(void **state) {
  struct stage s;
  struct peer client, server, none;
  (void)state;
  begin(&s, 1);
  s.settings.idle_in_transaction_ns = 2 * STAGE_S;
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "begin");
  stage_pass(&s, 10 * STAGE_S); /* it is the server's turn */
  pg_complete(&s, &server, 'T');
  assert_string_equal(pg_heard(&s, &client), "CZ");
  stage_pass(&s, 2 * STAGE_S - STAGE_MS);
  assert_string_equal(pg_heard(&s, &client), "");
  stage_pass(&s, STAGE_MS);
  assert_string_equal(pg_heard(&s, &client), "E"); /* at once, though the server has not closed */
  pg_heard_fatal(&client, "25P03");
  expect_end(&s, &server);
  assert_int_equal(held(&s), 1); /* it has not rolled back yet */
  assert_false(stage_accept(&s, &none));
  stage_close(&s, &server);
  assert_int_equal(held(&s), 0);
  expect_end(&s, &client);
  assert_int_equal(stage_refused(&s, REASON_IDLE_IN_TRANSACTION), 1);
  stage_close(&s, &client);
  stage_end(&s);
}

/* The one client that holds a permit, as it is seen from outside. */
static struct client_seen holder(struct stage *s) {
  struct client_seen seen[2];
  assert_int_equal(clients_oldest(&s->gate->clients, CLIENT_HOLDS, seen, 2), 1);
  return seen[0];
}

static void test_what_a_holder_does_is_seen(void **state) {
  struct stage s;
  struct peer client, server;
  struct client_seen seen[1];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  stage_pass(&s, STAGE_S);
  pg_enter(&s, &client, &server, 1);
  assert_int_equal(clients_oldest(&s.gate->clients, CLIENT_HOLDS, seen, 1), 0);
  pg_query(&s, &client, "BEGIN"); /* 11 bytes */
  stage_pass(&s, STAGE_S);
  struct client_seen one = holder(&s);
  assert_int_equal(one.work, CLIENT_ACTIVE);
  assert_int_equal(one.since_ns, STAGE_S);
  assert_int_equal(one.asked_ns, STAGE_S);
  assert_int_equal(one.up, 11);
  assert_int_equal(one.down, 0);
  assert_string_equal(one.user, "ann");
  assert_string_equal(one.database, "shop");
  pg_complete(&s, &server, 'T'); /* 8 + 6 bytes */
  stage_pass(&s, STAGE_S);
  one = holder(&s);
  assert_int_equal(one.work, CLIENT_RESTS);
  assert_int_equal(one.since_ns, STAGE_S);
  assert_int_equal(one.rests_ns, 2 * STAGE_S);
  assert_int_equal(one.down, 14);
  pg_query(&s, &client, "SELECT 1");
  one = holder(&s);
  assert_int_equal(one.work, CLIENT_ACTIVE);
  assert_int_equal(one.since_ns, STAGE_S); /* it is the same permit */
  assert_int_equal(one.asked_ns, 3 * STAGE_S);
  pg_complete(&s, &server, 'I');
  assert_int_equal(clients_oldest(&s.gate->clients, CLIENT_HOLDS, seen, 1), 0);
  pg_query(&s, &client, "SELECT"); /* 12 bytes: of this permit only */
  one = holder(&s);
  assert_int_equal(one.up, 12);
  assert_int_equal(one.down, 0);
  pg_complete(&s, &server, 'I');
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_idle_and_silent(void **state) {
  struct stage s;
  struct peer client[2], server[2], cancel;
  (void)state;
  begin(&s, 2);
  s.settings.idle_timeout_ns = 3 * STAGE_S;
  s.settings.server_timeout_ns = 5 * STAGE_S;
  stage_open(&s);
  for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
  pg_query(&s, &client[1], "long");
  stage_pass(&s, 3 * STAGE_S);
  assert_string_equal(pg_heard(&s, &client[0]), "E");
  pg_heard_fatal(&client[0], "57P05");
  assert_string_equal(pg_heard(&s, &client[1]), ""); /* it waits for the server */
  stage_pass(&s, 2 * STAGE_S);
  assert_string_equal(pg_heard(&s, &client[1]), "E");
  assert_true(stage_accept(&s, &cancel));
  assert_int_equal(held(&s), 1);
  stage_close(&s, &server[1]);
  stage_close(&s, &cancel);
  assert_int_equal(held(&s), 0);
  assert_int_equal(stage_refused(&s, REASON_SERVER_TIMEOUT), 1);
  for (int i = 0; i < 2; i++) stage_close(&s, &client[i]);
  stage_close(&s, &server[0]);
  stage_end(&s);
}

/* The deadline of the login passes while a query runs that has no deadline: stage_pass() finds no
 * timer that has fired, and that no poll looks at. */
static void test_query_that_outlasts_an_old_deadline(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 1);
  pg_query(&s, &client, "long");
  stage_pass(&s, 32 * STAGE_S);
  assert_string_equal(pg_heard(&s, &server), "Q");
  pg_complete(&s, &server, 'I');
  assert_string_equal(pg_heard(&s, &client), "CZ");
  assert_int_equal(held(&s), 0);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* ---- ends of the server ---- */

static void test_last_words_of_the_server(void **state) {
  (void)state;
  for (int speaks = 0; speaks < 2; speaks++) {
    struct stage s;
    struct peer client, server;
    static const char fatal[] = "SFATAL\0VFATAL\0C57P01\0Mgoodbye\0";
    begin(&s, 1);
    stage_open(&s);
    pg_enter(&s, &client, &server, 7);
    pg_query(&s, &client, "long");
    if (speaks) pg_say(&s, &server, 'E', fatal, sizeof fatal);
    stage_close(&s, &server);
    assert_string_equal(pg_heard(&s, &client), "E");
    pg_heard_fatal(&client, speaks ? "57P01" : "08006");
    expect_end(&s, &client);
    assert_int_equal(held(&s), 0);
    stage_close(&s, &client);
    stage_end(&s);
  }
}

static void test_no_words_inside_of_a_message(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "select");
  pg_say_bytes(&s, &server, "D\0\0\0\x20row", 8);
  stage_close(&s, &server);
  assert_string_equal(pg_heard(&s, &client), "~");
  assert_int_equal(client.size, 8);
  expect_end(&s, &client);
  stage_close(&s, &client);
  stage_end(&s);
}

/* The deadline of the queue passes while the server is in the middle of a notice. */
static void test_words_wait_for_the_rest_of_a_message(void **state) {
  (void)state;
  for (int comes = 0; comes < 2; comes++) {
    struct stage s;
    struct peer client[2], server[2];
    static const char notify[] = "A\0\0\0\x0c\0\0\0\1ch\0\0";
    begin(&s, 1);
    stage_open(&s);
    for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
    pg_query(&s, &client[0], "one");
    pg_query(&s, &client[1], "two");
    client[1].size = 0;
    pg_say_bytes(&s, &server[1], notify, 9);
    stage_pass(&s, 5 * STAGE_S);
    (void)stage_read(&s, &client[1]);
    assert_int_equal(client[1].size, 9);
    pg_query(&s, &client[1], "three"); /* nothing of it goes on any more */
    if (comes) {
      char rest[64];
      memcpy(rest, notify + 9, 4);
      memcpy(rest + 4, notify, 13); /* and another, which comes too late */
      pg_say_bytes(&s, &server[1], rest, 17);
      (void)stage_read(&s, &client[1]);
      assert_memory_equal(client[1].got, notify, 13);
      assert_int_equal(client[1].got[13], 'E');
    } else {
      stage_pass(&s, STAGE_S);
      (void)stage_read(&s, &client[1]);
      assert_int_equal(client[1].size, 9);
    }
    expect_end(&s, &client[1]);
    assert_string_equal(pg_heard(&s, &server[1]), "");
    assert_int_equal(stage_refused(&s, REASON_QUEUE_TIMEOUT), 1);
    for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
    stage_end(&s);
  }
}

/* It is ended from outside, as by drain-timeout. */
static void test_cut_off_inside_of_a_message_or_between(void **state) {
  (void)state;
  for (int inside = 0; inside < 2; inside++) {
    struct stage s;
    struct peer client, server;
    begin(&s, 1);
    stage_open(&s);
    pg_enter(&s, &client, &server, 7);
    pg_query(&s, &client, "select");
    client.size = 0;
    pg_say_bytes(&s, &server, "D\0\0\0\x20row", inside ? 8 : 0);
    volt_group_cancel(&s.sessions);
    stage_run(&s);
    (void)stage_read(&s, &client);
    if (inside) {
      assert_int_equal(client.size, 8); /* a row is not made whole by words of ours */
    } else {
      client.size = 0;
      assert_int_equal(client.got[0], 'E');
    }
    expect_end(&s, &client);
    assert_int_equal(held(&s), 0);
    close_both(&s, &client, &server);
    stage_end(&s);
  }
}

/* A reload sets a timeout: it begins then, for connections that were there before. */
static void test_idle_timeout_that_comes_later(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 1);
  stage_pass(&s, 100 * STAGE_S);
  struct gate_settings with = s.settings;
  with.idle_timeout_ns = 10 * STAGE_S;
  assert_true(gate_set(s.gate, &with));
  stage_pass(&s, 10 * STAGE_S - 1);
  expect_open(&s, &client);
  stage_pass(&s, 1);
  assert_string_equal(pg_heard(&s, &client), "E");
  expect_end(&s, &client);
  assert_int_equal(stage_refused(&s, REASON_IDLE), 1);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* ---- drain and age ---- */

static void drain(struct stage *s) {
  atomic_store(&s->gate->is_draining, true);
  gate_tell(s->gate);
  stage_run(s);
}

static void test_drain(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 2);
  stage_open(&s);
  for (int i = 0; i < 2; i++) pg_enter(&s, &client[i], &server[i], (uint32_t)i + 1);
  pg_query(&s, &client[1], "begin");
  pg_complete(&s, &server[1], 'T');
  assert_string_equal(pg_heard(&s, &client[1]), "CZ");
  drain(&s);
  assert_string_equal(pg_heard(&s, &client[0]), "E");
  pg_heard_fatal(&client[0], "57P01");
  expect_open(&s, &client[1]);
  pg_query(&s, &client[1], "commit");
  pg_complete(&s, &server[1], 'I');
  assert_string_equal(pg_heard(&s, &client[1]), "CZE");
  pg_heard_fatal(&client[1], "57P01");
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

static void test_age_ends_at_an_idle_moment(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  s.settings.max_age_ns = 10 * STAGE_S;
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_query(&s, &client, "long");
  stage_pass(&s, 20 * STAGE_S);
  expect_open(&s, &client);
  pg_complete(&s, &server, 'I');
  assert_string_equal(pg_heard(&s, &client), "CZE");
  pg_heard_fatal(&client, "57P01");
  assert_int_equal(stage_refused(&s, REASON_MAX_AGE), 1);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* ---- what is wrong ---- */

static void test_malformed_message(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  pg_enter(&s, &client, &server, 7);
  pg_say_bytes(&s, &client, "Q\0\0\0\3", 5);
  assert_string_equal(pg_heard(&s, &client), "E");
  pg_heard_fatal(&client, "08P01");
  assert_string_equal(pg_heard(&s, &server), "");
  expect_end(&s, &server);
  assert_int_equal(stage_refused(&s, REASON_PROTOCOL), 1);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* ---- TLS with the server itself ---- */

static void test_opaque_session_holds_a_permit(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  s.settings.tls = TLS_MODE_PASS;
  stage_open(&s);
  for (int i = 0; i < 2; i++) {
    stage_connect(&s, &client[i]);
    pg_say_bytes(&s, &client[i], pg_ssl_request, 8);
  }
  assert_int_equal(held(&s), 1);
  assert_int_equal(atomic_load(&s.gate->queued), 1);
  assert_true(stage_accept(&s, &server[0]));
  assert_false(stage_accept(&s, &server[1]));
  (void)stage_read(&s, &server[0]);
  assert_int_equal(server[0].size, 8);
  assert_memory_equal(server[0].got, pg_ssl_request, 8);
  stage_send(&s, &server[0], "S");
  assert_string_equal(stage_read(&s, &client[0]), "S");
  stage_send(&s, &client[0], "hello");
  (void)stage_read(&s, &server[0]);
  assert_memory_equal(server[0].got + 8, "hello", 5);
  close_both(&s, &client[0], &server[0]);
  assert_true(stage_accept(&s, &server[1]));
  assert_int_equal(held(&s), 1);
  close_both(&s, &client[1], &server[1]);
  assert_int_equal(held(&s), 0);
  stage_end(&s);
}

/* ---- by chance ----
 *
 * Clients come, ask, begin, commit, say goodbye, die; the network is slow, cuts calls short and
 * resets connections. A model of the server counts which of its sessions work: never more than the
 * limit, not even for a moment after a client has died. */

enum { CROWD = 12, CROWD_LIMIT = 3 };

struct worker { /* the server's side of a connection */
  struct peer peer;
  bool is_open, is_in, works, is_in_transaction;
  uint32_t process;
  size_t at;     /* in peer.got: what was answered */
  unsigned left; /* turns that the query takes */
};

struct crowd {
  struct stage s;
  struct peer clients[CROWD];
  bool is_here[CROWD], is_in[CROWD];
  struct worker workers[4 * CROWD];
  uint32_t processes;
  unsigned most, queries, cancels;
  rng random;
};

/* All of it, in several calls if they are cut short. If it is reset: so it is. */
static void crowd_say(struct peer *p, const char *bytes, size_t size) {
  for (size_t at = 0, n; at < size; at += n) {
    if (volt_fd_try_send(&p->fd, bytes + at, size - at, 0, &n) != VOLT_OK) return;
  }
}

static void crowd_close_worker(struct worker *w) {
  volt_fd_close(&w->peer.fd);
  *w = (struct worker){.is_open = false};
}

/* Returns whether there is a whole message in what has come, and it was taken. */
static char crowd_take(struct worker *w) {
  size_t left = w->peer.size - w->at;
  if (left < 5) return 0;
  size_t size = 1 + pg_number_at(w->peer.got + w->at + 1);
  if (left < size) return 0;
  char type = w->peer.got[w->at];
  w->is_in_transaction = type == 'Q' ? w->peer.got[w->at + 5] == 'b' : w->is_in_transaction;
  w->at += size;
  return type;
}

static void crowd_cancel(struct crowd *c, uint32_t process) {
  c->cancels += 1;
  for (int i = 0; i < 4 * CROWD; i++) {
    if (c->workers[i].process == process) c->workers[i].left = 0;
  }
}

/* The startup packet, or a CancelRequest. */
static void crowd_let_in(struct crowd *c, struct worker *w) {
  static const char ok[] = "R\0\0\0\x08\0\0\0\0K\0\0\0\x0c";
  char answer[sizeof ok - 1 + 8 + 6];
  if (w->peer.size < 16) return;
  if (pg_number_at(w->peer.got + 4) == 80877102) {
    crowd_cancel(c, pg_number_at(w->peer.got + 8));
    crowd_close_worker(w);
    return;
  }
  if (w->peer.size < PG_STARTUP_PACKET) return;
  w->at = PG_STARTUP_PACKET;
  w->is_in = true;
  w->process = ++c->processes;
  memcpy(answer, ok, sizeof ok - 1);
  pg_backend_key(answer + sizeof ok - 1, w->process);
  memcpy(answer + sizeof ok - 1 + 8, "Z\0\0\0\5I", 6);
  crowd_say(&w->peer, answer, sizeof answer);
}

static void crowd_work(struct crowd *c, struct worker *w) {
  if (w->works) {
    if (w->left-- > 0) return;
    w->works = false;
    char answer[] = "C\0\0\0\7OK\0Z\0\0\0\5I";
    if (w->is_in_transaction) answer[13] = 'T';
    crowd_say(&w->peer, answer, sizeof answer - 1);
    w->left = 0;
  }
  char type = crowd_take(w);
  if (type == 'Q') {
    w->works = true;
    w->left = rng_below(&c->random, 6);
    c->queries += 1;
  } else if (type == 'X' || (type == 0 && w->peer.has_ended)) {
    crowd_close_worker(w);
  }
}

static void crowd_serve(struct crowd *c) {
  unsigned busy = 0;
  for (int i = 0; i < 4 * CROWD; i++) {
    struct worker *w = &c->workers[i];
    if (!w->is_open) {
      w->is_open = stage_accept(&c->s, &w->peer);
      continue;
    }
    (void)stage_read(&c->s, &w->peer);
    if (w->peer.has_failed || (w->peer.has_ended && !w->is_in)) {
      crowd_close_worker(w); /* a reset: the gate cannot know what it does still */
    } else if (w->is_in) {
      crowd_work(c, w);
    } else {
      crowd_let_in(c, w);
    }
    busy += w->is_open && (w->works || w->is_in_transaction);
  }
  if (busy > c->most) c->most = busy;
  assert_in_range(busy, 0, CROWD_LIMIT);
}

static void crowd_act(struct crowd *c, int i) {
  struct peer *p = &c->clients[i];
  static const char query[] = "Q\0\0\0\7ab", begins[] = "Q\0\0\0\7bb";
  if (!c->is_here[i]) {
    volt_op op;
    memset(p, 0, sizeof *p);
    assert_result(volt_socket_open(&p->fd, c->s.rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
    volt_future *f = volt_fd_connect_future(&op, &p->fd, &c->s.gate_at.as.any, c->s.gate_at.size);
    c->is_here[i] = volt_rt_run_until(c->s.rt, f, VOLT_NO_DEADLINE) == VOLT_OK;
    if (!c->is_here[i]) volt_fd_close(&p->fd);
    if (c->is_here[i]) crowd_say(p, pg_startup_packet, PG_STARTUP_PACKET);
    return;
  }
  p->size = 0;
  (void)stage_read(&c->s, p);
  unsigned what = rng_below(&c->random, 16);
  bool is_over = p->has_ended || p->has_failed || what == 0;
  if (what == 1) crowd_say(p, "X\0\0\0\4", 5);
  if (is_over || what == 1) {
    volt_fd_close(&p->fd);
    c->is_here[i] = false;
  } else if (what < 6) {
    crowd_say(p, what < 3 ? begins : query, sizeof query - 1);
  }
}

static void crowd_clean(struct crowd *c) {
  for (int i = 0; i < CROWD; i++) {
    if (c->is_here[i]) volt_fd_close(&c->clients[i].fd);
  }
  stage_stop_accepting(&c->s);
  for (int i = 0; i < 400 && gate_held(c->s.gate) > 0; i++) {
    crowd_serve(c);
    stage_pass(&c->s, 20 * STAGE_MS);
  }
  assert_int_equal(gate_held(c->s.gate), 0); /* by itself, without a cancel */
  for (int i = 0; i < 4 * CROWD; i++) {
    struct worker *w = &c->workers[i];
    if (!w->is_open && !stage_accept(&c->s, &w->peer)) continue;
    crowd_close_worker(w);
  }
}

static void crowd_run(uint64_t seed, bool ends_early, unsigned *most) {
  static struct crowd c;
  memset(&c, 0, sizeof c);
  c.random = rng_seeded(seed);
  begin_seeded(&c.s, CROWD_LIMIT, seed);
  stage_open(&c.s);
  volt_simulated_faults faults = {.delay_max_ns = seed % 2 * STAGE_MS,
                                  .short_per_million = (uint32_t)(seed % 3 * 200000),
                                  .reset_per_million = (uint32_t)(seed % 5 * 1000)};
  assert_result(volt_simulated_set_faults(c.s.rt, &faults), VOLT_OK);
  for (unsigned turn = 0; turn < 400; turn++) {
    for (int i = 0; i < CROWD; i++) crowd_act(&c, i);
    crowd_serve(&c);
    stage_pass(&c.s, STAGE_MS);
  }
  assert_int_not_equal(c.queries, 0);
  if (c.most > *most) *most = c.most;
  if (ends_early) {
    for (int i = 0; i < CROWD; i++) {
      if (c.is_here[i]) volt_fd_close(&c.clients[i].fd);
    }
    for (int i = 0; i < 4 * CROWD; i++) {
      if (c.workers[i].is_open) crowd_close_worker(&c.workers[i]);
    }
  } else {
    crowd_clean(&c);
  }
  stage_end(&c.s);
}

static void test_crowd(void **state) {
  (void)state;
  unsigned most = 0;
  for (uint64_t seed = 1; seed <= 30; seed++) crowd_run(seed, seed % 4 == 0, &most);
  assert_int_equal(most, CROWD_LIMIT); /* or it would show nothing */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_startup_comes_in_pieces),
      cmocka_unit_test(test_requests_for_encryption_are_declined),
      cmocka_unit_test(test_bytes_behind_a_request_for_encryption_are_refused),
      cmocka_unit_test(test_login_has_a_limit),
      cmocka_unit_test(test_server_that_does_not_answer_the_login),
      cmocka_unit_test(test_login_that_waits_for_the_server_or_for_the_client),
      cmocka_unit_test(test_one_too_many_hears_why),
      cmocka_unit_test(test_one_too_many_takes_no_place),
      cmocka_unit_test(test_server_that_refuses_is_said),
      cmocka_unit_test(test_permit_is_held_for_a_transaction),
      cmocka_unit_test(test_permit_goes_to_the_next_before_the_answer_is_sent_on),
      cmocka_unit_test(test_answer_to_a_sync_does_not_take_the_permit),
      cmocka_unit_test(test_deadline_of_the_queue),
      cmocka_unit_test(test_queue_that_is_full),
      cmocka_unit_test(test_client_that_hangs_up_leaves_the_queue),
      cmocka_unit_test(test_cancel_passes_at_once),
      cmocka_unit_test(test_flood_of_cancels_stops_none_of_ours),
      cmocka_unit_test(test_client_dies_while_its_query_runs),
      cmocka_unit_test(test_server_that_never_closes_is_given_up),
      cmocka_unit_test(test_goodbye_behind_a_query_lets_it_finish),
      cmocka_unit_test(test_goodbye_of_a_client_that_is_gone_ends_with_the_server),
      cmocka_unit_test(test_what_is_before_a_goodbye_is_answered),
      cmocka_unit_test(test_half_closed_client_is_answered),
      cmocka_unit_test(test_goodbye_of_an_idle_client),
      cmocka_unit_test(test_idle_in_a_transaction),
      cmocka_unit_test(test_what_a_holder_does_is_seen),
      cmocka_unit_test(test_idle_and_silent),
      cmocka_unit_test(test_query_that_outlasts_an_old_deadline),
      cmocka_unit_test(test_last_words_of_the_server),
      cmocka_unit_test(test_no_words_inside_of_a_message),
      cmocka_unit_test(test_words_wait_for_the_rest_of_a_message),
      cmocka_unit_test(test_cut_off_inside_of_a_message_or_between),
      cmocka_unit_test(test_idle_timeout_that_comes_later),
      cmocka_unit_test(test_drain),
      cmocka_unit_test(test_age_ends_at_an_idle_moment),
      cmocka_unit_test(test_malformed_message),
      cmocka_unit_test(test_opaque_session_holds_a_permit),
      cmocka_unit_test(test_crowd),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
