/* refusal_test.c: the words of a refusal, in each protocol. */
#include "wire/refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/postgres.h"

#define SECOND UINT64_C(1000000000)

static const struct refusal_values some = {.limit = 16,
                                           .held = 16,
                                           .waiting = 212,
                                           .queue = 1000,
                                           .clients = 10000,
                                           .time_ns = 5 * SECOND,
                                           .retry_ns = 1500 * 1000000ull,
                                           .why = "connection refused"};

/* The field of an ErrorResponse, or NULL. The message is checked on the way. */
static const char *field(const char *at, size_t size, char letter) {
  const char *found = NULL;
  size_t length = 0;
  assert_int_equal(at[0], 'E');
  for (int i = 1; i < 5; i++) length = length << 8 | (unsigned char)at[i];
  assert_int_equal(length + 1, size);
  size_t i = 5;
  while (at[i] != 0) {
    if (at[i] == letter) found = at + i + 1;
    i += strlen(at + i) + 1;
    assert_true(i < size);
  }
  assert_int_equal(i + 1, size);
  return found;
}

static void sentences(void **state) {
  (void)state;
  char words[256];
  assert_string_equal(refusal_words(REASON_QUEUE_TIMEOUT, &some, words, sizeof words),
                      "no permit within 5 s: 16 of 16 are held, 212 clients wait");
  assert_string_equal(refusal_words(REASON_BREAKER, &some, words, sizeof words),
                      "the server is away: connection refused");
  struct refusal_values v = {.time_ns = 250 * 1000000ull};
  assert_string_equal(refusal_words(REASON_IDLE, &v, words, sizeof words), "idle for 250 ms");
  v.time_ns = 1500 * 1000000ull;
  assert_string_equal(refusal_words(REASON_IDLE, &v, words, sizeof words), "idle for 1.5 s");
  v = (struct refusal_values){.limit = 1, .held = 1, .waiting = 1};
  assert_string_equal(refusal_words(REASON_QUEUE_FULL, &v, words, sizeof words),
                      "no permit is free: 1 of 1 are held, 1 client waits");
  v.why = "a\r\nb\x1b[1m";
  assert_string_equal(refusal_words(REASON_PROTOCOL, &v, words, sizeof words),
                      "the protocol is violated: a  b [1m");
  assert_string_equal(refusal_words(REASON_DRAINING, &v, words, 5), "shut");
}

static void postgres(void **state) {
  (void)state;
  static const char *const states[REASON_KINDS] = {[REASON_QUEUE_FULL] = "53300",
                                                   [REASON_QUEUE_TIMEOUT] = "53300",
                                                   [REASON_CLIENTS] = "53300",
                                                   [REASON_SHED] = "53300",
                                                   [REASON_BREAKER] = "08006",
                                                   [REASON_CONNECT] = "08006",
                                                   [REASON_DRAINING] = "57P03",
                                                   [REASON_PROTOCOL] = "08P01",
                                                   [REASON_LOGIN_TIMEOUT] = "57014",
                                                   [REASON_IDLE_IN_TRANSACTION] = "25P03",
                                                   [REASON_IDLE] = "57P05",
                                                   [REASON_MAX_AGE] = "57P01",
                                                   [REASON_SERVER_TIMEOUT] = "08006",
                                                   [REASON_IMPOSSIBLE] = "53300",
                                                   [REASON_NEVER] = "53300",
                                                   [REASON_BUSY] = "53300",
                                                   [REASON_WHO] = "28000"};
  char at[REFUSAL_MAX];
  for (int i = 0; i < REASON_KINDS; i++) {
    size_t size = refusal_bytes(REFUSE_POSTGRES, (enum gate_reason)i, &some, at, sizeof at);
    assert_string_equal(field(at, size, 'S'), "FATAL");
    assert_string_equal(field(at, size, 'V'), "FATAL");
    assert_string_equal(field(at, size, 'C'), states[i]);
    assert_memory_equal(field(at, size, 'M'), "voltgate: ", 10);
  }
  size_t size = refusal_bytes(REFUSE_POSTGRES, REASON_QUEUE_TIMEOUT, &some, at, sizeof at);
  assert_string_equal(field(at, size, 'M'),
                      "voltgate: no permit within 5 s: 16 of 16 are held, 212 clients wait");
  assert_non_null(field(at, size, 'H'));
}

static void redis(void **state) {
  (void)state;
  char at[REFUSAL_MAX];
  for (int i = 0; i < REASON_KINDS; i++) {
    size_t size = refusal_bytes(REFUSE_REDIS, (enum gate_reason)i, &some, at, sizeof at);
    assert_memory_equal(at, "-ERR ", 5);
    assert_ptr_equal(memchr(at, '\r', size), at + size - 2);
    assert_ptr_equal(memchr(at, '\n', size), at + size - 1);
  }
  size_t size = refusal_bytes(REFUSE_REDIS, REASON_SHED, &some, at, sizeof at);
  assert_true(size > 0);
  assert_memory_equal(at, "-ERR max number of clients reached (voltgate: ", 46);
}

static void http(void **state) {
  (void)state;
  char at[REFUSAL_MAX + 1];
  for (int i = 0; i < REASON_KINDS; i++) {
    size_t size = refusal_bytes(REFUSE_HTTP, (enum gate_reason)i, &some, at, REFUSAL_MAX);
    at[size] = 0;
    assert_memory_equal(at, "HTTP/1.1 503 ", 13);
    assert_non_null(strstr(at, "\r\nRetry-After: 2\r\n"));
    assert_non_null(strstr(at, "\r\nConnection: close\r\n"));
    const char *body = strstr(at, "\r\n\r\n") + 4;
    const char *length = strstr(at, "\r\nContent-Length: ") + 18;
    assert_int_equal(strtoul(length, NULL, 10), strlen(body));
    assert_int_equal(at[size - 1], '\n');
  }
}

static void close_says_nothing(void **state) {
  (void)state;
  char at[REFUSAL_MAX];
  assert_int_equal(refusal_bytes(REFUSE_CLOSE, REASON_SHED, &some, at, sizeof at), 0);
}

/* A last error that is far too long. */
static void too_long(void **state) {
  (void)state;
  char why[5000], at[REFUSAL_MAX + 1];
  memset(why, 'x', sizeof why - 1);
  why[sizeof why - 1] = 0;
  struct refusal_values v = {.why = why};
  size_t size = refusal_bytes(REFUSE_POSTGRES, REASON_CONNECT, &v, at, REFUSAL_MAX);
  assert_non_null(field(at, size, 'M'));
  size = refusal_bytes(REFUSE_REDIS, REASON_PROTOCOL, &v, at, REFUSAL_MAX);
  assert_memory_equal(at + size - 3, ")\r\n", 3);
  size = refusal_bytes(REFUSE_HTTP, REASON_CONNECT, &v, at, REFUSAL_MAX);
  assert_int_equal(at[size - 1], '\n');
}

static void errors_are_cut(void **state) {
  (void)state;
  char at[512];
  struct pg_error e = {.severity = "ERROR",
                       .sqlstate = "42000",
                       .message = "m\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
                       .detail = "detail",
                       .hint = "hint"};
  for (size_t room = PG_ERROR_ROOM_MIN; room < 100; room++) {
    size_t size = pg_error_bytes(&e, at, room);
    assert_true(size <= room);
    assert_string_equal(field(at, size, 'M'), e.message);
  }
  e.message =
      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
  size_t size = pg_error_bytes(&e, at, PG_ERROR_ROOM_MIN + 1);
  assert_int_equal(strlen(field(at, size, 'M')) % 2, 0); /* no half of a letter */
}

static void names(void **state) {
  (void)state;
  assert_string_equal(refusal_reason_name(REASON_QUEUE_FULL), "queue-full");
  assert_string_equal(refusal_reason_name(REASON_IDLE_IN_TRANSACTION), "idle-in-transaction");
  for (int i = 0; i < REASON_KINDS; i++) {
    assert_non_null(refusal_reason_name((enum gate_reason)i));
    for (int k = 0; k < i; k++)
      assert_string_not_equal(refusal_reason_name((enum gate_reason)i),
                              refusal_reason_name((enum gate_reason)k));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sentences), cmocka_unit_test(postgres),           cmocka_unit_test(redis),
      cmocka_unit_test(http),      cmocka_unit_test(close_says_nothing), cmocka_unit_test(too_long),
      cmocka_unit_test(names),     cmocka_unit_test(errors_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
