/* redis_session_test.c: redis sessions from accept to their end, on a network in memory: when they
 * hold a permit, and what they tell the client. */
#include <stdlib.h>
#include <string.h>

#include "stage.h"
#include "unit.h"

static void begin(struct stage *s, uint32_t limit) {
  stage_begin(s, 1);
  s->settings.protocol = PROTOCOL_REDIS;
  s->settings.refuse = REFUSE_REDIS;
  s->settings.limit = limit;
}

static uint32_t held(struct stage *s) {
  return (uint32_t)gate_held(s->gate);
}

/* Since it was asked last. */
static const char *heard(struct stage *s, struct peer *p) {
  p->size = 0;
  return stage_read(s, p);
}

static void enter(struct stage *s, struct peer *client, struct peer *server) {
  stage_connect(s, client);
  assert_true(stage_accept(s, server));
}

static void close_both(struct stage *s, struct peer *client, struct peer *server) {
  stage_close(s, client);
  stage_close(s, server);
}

static void test_permit_is_held_for_a_burst(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  enter(&s, &client, &server);
  assert_int_equal(held(&s), 0);
  stage_send(&s, &client, "GET a\r\nGET b\r\nGE");
  assert_int_equal(held(&s), 1);
  assert_string_equal(heard(&s, &server), "GET a\r\nGET b\r\nGE");
  stage_send(&s, &server, "$1\r\nx\r\n$1\r\n");
  assert_int_equal(held(&s), 1);
  stage_send(&s, &server, "y\r\n");
  assert_int_equal(held(&s), 0); /* the next command is not whole: redis has nothing to do */
  stage_send(&s, &client, "T c\r\n");
  assert_int_equal(held(&s), 1);
  stage_send(&s, &server, "$-1\r\n");
  assert_int_equal(held(&s), 0);
  assert_string_equal(heard(&s, &client), "$1\r\nx\r\n$1\r\ny\r\n$-1\r\n");
  assert_string_equal(heard(&s, &server), "T c\r\n");
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_bursts_take_turns(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  for (int i = 0; i < 2; i++) enter(&s, &client[i], &server[i]);
  stage_send(&s, &client[0], "MULTI\r\n");
  stage_send(&s, &client[1], "PING\r\n");
  assert_string_equal(heard(&s, &server[1]), "");
  stage_send(&s, &server[0], "+OK\r\n");
  assert_int_equal(atomic_load(&s.gate->queued), 1); /* the transaction goes on */
  stage_send(&s, &client[0], "EXEC\r\n");
  stage_send(&s, &server[0], "*0\r\n");
  assert_string_equal(heard(&s, &server[1]), "PING\r\n");
  assert_string_equal(heard(&s, &client[0]), "+OK\r\n*0\r\n");
  stage_send(&s, &server[1], "+PONG\r\n");
  assert_string_equal(heard(&s, &client[1]), "+PONG\r\n");
  assert_int_equal(held(&s), 0);
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

/* The permit comes at the same moment as a message that was not asked for: it is not lost again. */
static void test_a_push_does_not_take_the_permit(void **state) {
  (void)state;
  for (int order = 0; order < 2; order++) {
    struct stage s;
    struct peer client[2], server[2];
    static const char *const says[] = {"+PONG\r\n", ">2\r\n+message\r\n+news\r\n"};
    begin(&s, 1);
    stage_open(&s);
    for (int i = 0; i < 2; i++) enter(&s, &client[i], &server[i]);
    for (int i = 0; i < 2; i++) stage_send(&s, &client[i], "PING\r\n");
    assert_int_equal(atomic_load(&s.gate->queued), 1);
    for (int i = 0; i < 2; i++) {
      int who = i ^ order;
      size_t n;
      assert_result(volt_fd_try_send(&server[who].fd, says[who], strlen(says[who]), 0, &n),
                    VOLT_OK);
    }
    assert_string_equal(heard(&s, &server[1]), "PING\r\n");
    assert_string_equal(heard(&s, &client[1]), says[1]);
    assert_int_equal(stage_counted(&s, COUNT_ADMITTED), 2);
    assert_int_equal(held(&s), 1);
    stage_send(&s, &server[1], "+PONG\r\n");
    assert_int_equal(held(&s), 0);
    for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
    stage_end(&s);
  }
}

static void test_a_command_that_blocks_holds_none(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  enter(&s, &client, &server);
  stage_send(&s, &client, "BLPOP q 0\r\nGET a\r\n");
  assert_string_equal(heard(&s, &server), "BLPOP q 0\r\n");
  assert_int_equal(held(&s), 0);
  assert_int_equal(stage_counted(&s, COUNT_BLOCKING), 1);
  stage_pass(&s, 3600 * STAGE_S);
  assert_string_equal(heard(&s, &server), "");
  stage_send(&s, &server, "*2\r\n$1\r\nq\r\n$1\r\nx\r\n");
  assert_string_equal(heard(&s, &server), "GET a\r\n");
  assert_int_equal(held(&s), 1);
  stage_send(&s, &server, "$-1\r\n");
  assert_int_equal(held(&s), 0);
  close_both(&s, &client, &server);
  stage_end(&s);
}

static void test_refusals_are_said(void **state) {
  struct stage s;
  struct peer client[3], server[3];
  (void)state;
  begin(&s, 1);
  s.settings.queue = 1;
  stage_open(&s);
  for (int i = 0; i < 3; i++) enter(&s, &client[i], &server[i]);
  for (int i = 0; i < 3; i++) stage_send(&s, &client[i], "PING\r\n");
  assert_ptr_equal(strstr(heard(&s, &client[2]), "-ERR max number of clients"), client[2].got);
  assert_true(client[2].has_ended);
  stage_pass(&s, 5 * STAGE_S);
  assert_ptr_equal(strstr(heard(&s, &client[1]), "-ERR max number of clients"), client[1].got);
  assert_int_equal(stage_refused(&s, REASON_QUEUE_FULL), 1);
  assert_int_equal(stage_refused(&s, REASON_QUEUE_TIMEOUT), 1);
  assert_string_equal(heard(&s, &server[1]), "");
  assert_true(server[1].has_ended);
  for (int i = 0; i < 3; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

static void test_malformed_command(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  enter(&s, &client, &server);
  stage_send(&s, &client, "*1\r\n$x\r\n");
  assert_ptr_equal(strstr(heard(&s, &client), "-ERR Protocol error"), client.got);
  assert_int_equal(stage_refused(&s, REASON_PROTOCOL), 1);
  close_both(&s, &client, &server);
  stage_end(&s);
}

/* Without a password, and for ever: a permit for each 18 bytes. */
static void test_a_part_of_a_command_holds_none(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  for (int i = 0; i < 2; i++) enter(&s, &client[i], &server[i]);
  stage_send(&s, &client[0], "*1\r\n$4\r\nPI");
  assert_int_equal(held(&s), 0);
  stage_send(&s, &client[1], "PING\r\n");
  assert_int_equal(held(&s), 1);
  stage_send(&s, &client[0], "NG\r\n");
  assert_int_equal(atomic_load(&s.gate->queued), 1);
  stage_send(&s, &server[1], "+PONG\r\n");
  assert_int_equal(held(&s), 1);
  assert_string_equal(heard(&s, &server[0]), "*1\r\n$4\r\nPING\r\n");
  stage_send(&s, &server[0], "+PONG\r\n");
  assert_int_equal(held(&s), 0);
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

static void test_what_cannot_be_counted_ends(void **state) {
  static const struct {
    const char *sent, *answered;
  } cases[] = {
      {"CLIENT REPLY OFF\r\nPING\r\n", "-NOAUTH Authentication required.\r\n"},
      {"MULTI\r\nSUBSCRIBE a\r\n", ""},
      {"PING\r\n", "+PONG\r\n+more than was asked\r\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct stage s;
    struct peer client, server;
    begin(&s, 1);
    stage_open(&s);
    enter(&s, &client, &server);
    stage_send(&s, &client, cases[i].sent);
    stage_send(&s, &server, cases[i].answered);
    assert_non_null(strstr(heard(&s, &client), "-ERR Protocol error"));
    assert_int_equal(stage_refused(&s, REASON_PROTOCOL), 1);
    stage_close(&s, &server); /* it has done what it was sent */
    (void)heard(&s, &client);
    assert_true(client.has_ended);
    assert_int_equal(held(&s), 0);
    stage_close(&s, &client);
    stage_end(&s);
  }
}

static void test_client_dies_before_the_reply(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  enter(&s, &client, &server);
  stage_send(&s, &client, "EVAL long 0\r\n");
  stage_close(&s, &client);
  (void)heard(&s, &server);
  assert_true(server.has_ended);
  assert_int_equal(held(&s), 1); /* the server runs it still */
  stage_send(&s, &server, "+OK\r\n");
  stage_close(&s, &server);
  assert_int_equal(held(&s), 0);
  stage_end(&s);
}

static void test_half_closed_client_is_answered(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  enter(&s, &client, &server);
  stage_send(&s, &client, "PING\r\n");
  stage_shut(&s, &client);
  assert_string_equal(heard(&s, &server), "PING\r\n");
  assert_true(server.has_ended);
  stage_send(&s, &server, "+PONG\r\n");
  stage_close(&s, &server);
  assert_string_equal(heard(&s, &client), "+PONG\r\n");
  assert_true(client.has_ended);
  stage_close(&s, &client);
  stage_end(&s);
}

static void test_queued_client_hangs_up(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  for (int i = 0; i < 2; i++) enter(&s, &client[i], &server[i]);
  for (int i = 0; i < 2; i++) stage_send(&s, &client[i], "PING\r\n");
  stage_close(&s, &client[1]);
  assert_int_equal(atomic_load(&s.gate->queued), 0);
  assert_int_equal(stage_counted(&s, COUNT_LEFT), 1);
  assert_string_equal(heard(&s, &server[1]), "");
  stage_close(&s, &server[1]);
  close_both(&s, &client[0], &server[0]);
  stage_end(&s);
}

static void test_drain(void **state) {
  struct stage s;
  struct peer client[2], server[2];
  (void)state;
  begin(&s, 2);
  stage_open(&s);
  for (int i = 0; i < 2; i++) enter(&s, &client[i], &server[i]);
  stage_send(&s, &client[1], "PING\r\n");
  atomic_store(&s.gate->is_draining, true);
  gate_tell(s.gate);
  assert_ptr_equal(strstr(heard(&s, &client[0]), "-ERR "), client[0].got);
  assert_true(client[0].has_ended);
  assert_string_equal(heard(&s, &client[1]), "");
  stage_send(&s, &server[1], "+PONG\r\n");
  assert_ptr_equal(strstr(heard(&s, &client[1]), "+PONG\r\n-ERR "), client[1].got);
  for (int i = 0; i < 2; i++) close_both(&s, &client[i], &server[i]);
  stage_end(&s);
}

static void test_server_closes(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  begin(&s, 1);
  stage_open(&s);
  enter(&s, &client, &server);
  stage_send(&s, &client, "QUIT\r\n");
  stage_send(&s, &server, "+OK\r\n");
  stage_close(&s, &server);
  assert_string_equal(heard(&s, &client), "+OK\r\n");
  assert_true(client.has_ended);
  assert_int_equal(held(&s), 0);
  stage_close(&s, &client);
  stage_end(&s);
}

/* It is ended from outside, as by drain-timeout. */
static void test_cut_off_inside_of_a_reply_or_between(void **state) {
  (void)state;
  for (int inside = 0; inside < 2; inside++) {
    struct stage s;
    struct peer client, server;
    begin(&s, 1);
    stage_open(&s);
    enter(&s, &client, &server);
    stage_send(&s, &client, "GET a\r\n");
    stage_send(&s, &server, inside ? "$1000\r\nx" : "$1\r\nx\r\n");
    volt_group_cancel(&s.sessions);
    if (inside) {
      assert_string_equal(heard(&s, &client), "$1000\r\nx");
    } else {
      assert_ptr_equal(strstr(heard(&s, &client), "$1\r\nx\r\n-ERR voltgate"), client.got);
    }
    assert_true(client.has_ended);
    assert_int_equal(held(&s), 0);
    close_both(&s, &client, &server);
    stage_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_permit_is_held_for_a_burst),
      cmocka_unit_test(test_bursts_take_turns),
      cmocka_unit_test(test_a_push_does_not_take_the_permit),
      cmocka_unit_test(test_a_command_that_blocks_holds_none),
      cmocka_unit_test(test_refusals_are_said),
      cmocka_unit_test(test_a_part_of_a_command_holds_none),
      cmocka_unit_test(test_what_cannot_be_counted_ends),
      cmocka_unit_test(test_malformed_command),
      cmocka_unit_test(test_client_dies_before_the_reply),
      cmocka_unit_test(test_half_closed_client_is_answered),
      cmocka_unit_test(test_queued_client_hangs_up),
      cmocka_unit_test(test_drain),
      cmocka_unit_test(test_server_closes),
      cmocka_unit_test(test_cut_off_inside_of_a_reply_or_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
