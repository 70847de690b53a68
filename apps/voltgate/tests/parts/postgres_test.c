/* postgres_test.c: following a session. A row is a script: what the client (>) and the server (<) send,
 * one message each, and what comes of it:
 *
 *   =n  a permit was needed, and given    =r  the permit was given back    =w  it has to wait
 *   =e  the client says goodbye
 *
 * ReadyForQuery has its status behind it: <ZI; <E is an error, <F a fatal one, <K BackendKeyData. The
 * expected answers of the server are those of PostgreSQL 15, which framing_test.c compares.
 *
 * Each row is run in whole messages, byte by byte, with each message cut at each place, and with all
 * messages of one side that follow each other in one piece: the result must be equal. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "pg_script.h"

static const char *const rows[] = {
    /* login: no permit, and nothing else of the client before it is over */
    "<R >p <R <S <K <ZI",
    "<R >Q=w <R <ZI=n <T <D <C <ZI=r",
    "<R >X=e",

    /* simple queries */
    "<ZI >Q=n <T <D <C <ZI=r",
    "<ZI >Q=n <C <T <D <C <I <ZI=r >Q=n <E <ZI=r",
    "<ZI >F=n <V <ZI=r >F=n <E <ZI=r",
    "<ZI >Q=n <C <ZT >Q <T <D <C <ZT >Q <E <ZE >Q <C <ZI=r",
    "<ZI >Q=n >Q >Q <C <ZI <C <ZI <C <ZI=r",
    "<ZI >Q=n <N <S <A <C <ZI=r <A <N <S",
    "<ZI >X=e",

    /* the extended protocol */
    "<ZI >P=n >B >D >E >S <1 <2 <T <D <C <ZI=r",
    "<ZI >P=n >D >S <1 <t <n <ZI=r >B=n >E >S <2 <s <ZI=r >E=n >C >S <C <3 <ZI=r",
    "<ZI >P=n >B >E >S <1 <2 <I <ZI=r",
    "<ZI >B=n >E >S >B >E >S >B >E >S <2 <C <ZI <2 <C <ZI <2 <C <ZI=r",

    /* Flush: all is answered, but the transaction is open until the Sync */
    "<ZI >P=n >B >E >H <1 <2 <C >S <ZI=r",
    "<ZI >P=n >B >E >H <1 <2 <C >Q <C <ZI=r",
    "<ZI >B=n >E >S >P >D >H <E <ZI <1 <T >S <ZI=r", /* PgBouncer #759 */

    /* an error skips up to the Sync; Query and FunctionCall, too */
    "<ZI >P=n >B >E >S <E <ZI=r",
    "<ZI >P=n >Q >P >S <E <ZI=r",
    "<ZI >P=n >F >S <E <ZI=r",
    "<ZI >P=n >Q <E >Q >F >B >E >S <ZI=r",
    "<ZI >P=n >H <E >Q >Q >S >Q <ZI <C <ZI=r",
    "<ZI >P=n >B >E >Q <1 <2 <C <E <ZI=r", /* the Query has failed, not the batch */
    "<ZI >P=n >B >E >S >P >B >E >S <1 <E <ZI <1 <2 <C <ZI=r",
    "<ZI >B=n >E >S <2 <C <E <ZI=r", /* at the Sync: a deferred constraint */
    "<ZI >Q=n <C <ZT >P >B >S <E <ZE >Q <C <ZI=r",

    /* Sync and what is ignored: an idle server does no work for them */
    "<ZI >S <ZI >S >S <ZI <ZI",
    "<ZI >c >d >f >H",
    "<ZI >S >Q=n <ZI <C <ZI=r",

    /* COPY, simple */
    "<ZI >Q=n <G >d >d >c <C <ZI=r",
    "<ZI >Q=n <H <d <d <c <C <ZI=r",
    "<ZI >Q=n >d >c <G <C <ZI=r",
    "<ZI >Q=n <G >d >f <E <ZI=r",
    "<ZI >Q=n <G >d <E <ZI=r >d >d >c", /* late: PgBouncer #1470 */
    "<ZI >Q=n <G >d >S >H >c <C <ZI=r", /* Sync is swallowed */
    "<ZI >Q=n <G >d >c >S <C <ZI <ZI=r",
    "<ZI >Q=n <G >d >c <C <G >d >c <C <C <ZI=r",
    "<ZI >Q=n >d >c >S >d >c >S <G <C <G <C <ZI <ZI=r",
    "<ZI >Q=n <G >c >Q >c <C <ZI <G <C <ZI=r",
    "<ZI >Q=n <G >S >S >d <E <ZI=r",         /* both may be swallowed */
    "<ZI >Q=n <G >S >S >d <E <ZI=r <ZI <ZI", /* or none */
    "<ZI >Q=n <G >S >d <E <ZI=r >Q=n <ZI <C <ZI=r",
    "<ZI >Q=n <G >S >d <E <ZI=r >Q=n <C <ZI=r",

    /* COPY, extended, as libpq does it: a Sync behind the Execute, and one behind CopyDone */
    "<ZI >P=n >B >D >E >S <1 <2 <n <G >d >c >S <C <ZI=r",
    "<ZI >P=n >B >E >S <1 <2 <G >d <E >c >S <ZI=r", /* pgdog #886 */
    "<ZI >P=n >B >E >S <1 <2 <G <E <ZI=r >d >c >S <ZI",
    "<ZI >P=n >B >E >S <1 <2 <G <E >d >c >S <ZI=r <ZI",
    "<ZI >P=n >B >E >S <1 <2 <G >d >f >S <E <ZI=r >B=n >E >S <2 <C <ZI=r",
    "<ZI >P=n >B >E >S <1 <2 <G >d >c >S >B >E >S <E <ZI <2 <C <ZI=r",
    "<ZI >P=n >B >E >H <1 <2 <G >d >c >S <C <ZI=r",
    "<ZI >P=n >B >E >H <1 <2 <G >d <E >d >c >Q >S <ZI=r",
    "<ZI >P=n >B >E >d >c >P >B >E >d >c >S <1 <2 <G <C <1 <2 <G <C <ZI=r",
    "<ZI >P=n >B >E >d >c >P >B >E >S <1 <2 <G <C <1 <2 <C <ZI=r",
    "<ZI >P=n >B >E >S >d >c >P >B >E >S <1 <2 <G <C <1 <2 <C <ZI=r",
    "<ZI >P=n >B >E >S >d >c >S >P >B >E >S <1 <2 <G <C <ZI <1 <2 <C <ZI=r",
    "<ZI >P=n >B >E >S <1 <2 <H <d <c <C <ZI=r",
    "<ZI >Q=n <C <ZT >P >B >E >S <1 <2 <G >d <E >c >S <ZE >Q <C <ZI=r",

    /* replication */
    "<ZI >Q=n <W=r <d >d <d >d",
    "<ZI >Q=n <W=r <d >d >c <c <C <C <ZI >Q=n <C <ZI=r",
    "<ZI >Q=n <W=r <E <ZI >Q=n <C <ZI=r",
    "<ZI >Q=n <W=r >c >Q=n <c <C <ZI <T <C <ZI=r",
    "<ZI >Q=n >c >Q <W <c <C <ZI <T <C <ZI=r", /* sent ahead of CopyBothResponse: a permit, too */
    "<ZI >Q=n >d >c >Q >Q <W <c <C <ZI <C <ZI <C <ZI=r",
    "<ZI >P=n >S <E <ZI=r >F=n >S <E <ZI <ZI=r",

    /* the end */
    "<ZI >Q=n <C <ZI=r <F",
    "<ZI >Q=n <F",
    "<ZI >Q=n >X=e <C <ZI=r",
};

/* The message at *at, which is moved behind it. */
static struct pg_side message_of(const char **at, bool *is_client) {
  static const char failed[] = "SFEHLER\0VERROR\0C42P01\0Mno\0",
                    over[] = "SFATAL\0VFATAL\0C57P01\0";
  struct pg_side message = {0};
  *is_client = **at == '>';
  char type = (*at)[1];
  *at += 2;
  if (*is_client) {
    bool is_bare = strchr("SHcX", type) != NULL;
    pg_side_message(&message, type, "select\0", is_bare ? 0 : 7);
  } else if (type == 'Z') {
    pg_side_message(&message, type, *at, 1);
    (*at)++;
  } else if (type == 'E' || type == 'F') {
    bool is_error = type == 'E';
    pg_side_message(&message, 'E', is_error ? failed : over,
                    is_error ? sizeof failed : sizeof over);
  } else if (type == 'K') {
    pg_side_message(&message, type, "\0\0\1\2key!", 8);
  } else {
    pg_side_message(&message, type, "row", 3);
  }
  if (**at == '=') *at += 2;
  while (**at == ' ') (*at)++;
  return message;
}

enum { EVENTS_MAX = 64, WHOLE = 10000 };

static void come(struct pg_gate *g, bool is_client, const char *bytes, size_t size, size_t piece) {
  assert_true((is_client ? pg_gate_client : pg_gate_server)(g, bytes, size, piece));
}

/* Run a row, and take one event for each message.
 * number, at: this message is cut there; number WHOLE: none is. Returns how many messages there are. */
static size_t run(struct pg_gate *g, const char *script, size_t piece, size_t number, size_t at,
                  char *events) {
  size_t count = 0;
  pg_gate_begin(g);
  while (*script != 0) {
    bool is_client;
    struct pg_side message = message_of(&script, &is_client);
    size_t before = g->event_count;
    size_t first = count == number && at < message.size ? at : message.size;
    assert_true(count < EVENTS_MAX - 1);
    come(g, is_client, message.bytes, first, piece);
    come(g, is_client, message.bytes + first, message.size - first, piece);
    events[count++] = g->event_count > before ? g->events[g->event_count - 1] : '.';
    pg_side_free(&message);
  }
  events[count] = 0;
  return count;
}

/* All messages of a side that follow each other are one piece. */
static void run_glued(struct pg_gate *g, const char *script) {
  struct pg_side glued = {0};
  bool was_client = false;
  pg_gate_begin(g);
  while (*script != 0) {
    bool is_client;
    struct pg_side message = message_of(&script, &is_client);
    if (is_client != was_client) {
      come(g, was_client, glued.bytes, glued.size, WHOLE);
      glued.size = 0;
    }
    was_client = is_client;
    pg_side_add(&glued, message.bytes, message.size);
    pg_side_free(&message);
  }
  come(g, was_client, glued.bytes, glued.size, WHOLE);
  pg_side_free(&glued);
}

static void assert_equal(const struct pg_gate *a, const struct pg_gate *b, const char *script) {
  if (strcmp(a->events, b->events) != 0) fail_msg("%s: %s, %s", script, a->events, b->events);
  assert_memory_equal(&a->pg, &b->pg, sizeof a->pg);
  assert_int_equal(a->to_server.size, b->to_server.size);
  assert_int_equal(a->to_client.size, b->to_client.size);
  if (a->to_server.size > 0) {
    assert_memory_equal(a->to_server.bytes, b->to_server.bytes, a->to_server.size);
  }
}

/* What the row says of each message. */
static void expected_of(const char *script, char *events) {
  for (; *script != 0; script++) {
    if (*script == '<' || *script == '>') *events++ = '.';
    if (*script == '=') events[-1] = script[1];
  }
  *events = 0;
}

static void each_row_has_its_events(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct pg_gate g;
    char events[EVENTS_MAX];
    run(&g, rows[i], WHOLE, WHOLE, 0, events);
    char expected[EVENTS_MAX] = "";
    expected_of(rows[i], expected);
    if (strcmp(events, expected) != 0) {
      print_error("%s: %s, not %s\n", rows[i], events, expected);
      fail();
    }
    assert_false(g.pg.is_lost);
    pg_gate_free(&g);
  }
}

static void pieces_change_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *script = rows[i];
    struct pg_gate whole, cut;
    char events[EVENTS_MAX];
    size_t count = run(&whole, script, WHOLE, WHOLE, 0, events);
    run(&cut, script, 1, WHOLE, 0, events);
    assert_equal(&whole, &cut, script);
    pg_gate_free(&cut);
    for (size_t number = 0; number < count; number++) {
      for (size_t at = 0; at < 32; at++) {
        run(&cut, script, WHOLE, number, at, events);
        assert_equal(&whole, &cut, script);
        pg_gate_free(&cut);
      }
    }
    if (strstr(script, "=w") == NULL) { /* the server answers what waits, and nothing before */
      run_glued(&cut, script);
      assert_equal(&whole, &cut, script);
      pg_gate_free(&cut);
    }
    pg_gate_free(&whole);
  }
}

/* ---- what is not a row ---- */

static struct pg logged_in(void) {
  struct pg p;
  size_t n;
  pg_init(&p);
  assert_int_equal(pg_from_server(&p, "Z\0\0\0\5I", 6, &n), PG_GOES_ON);
  assert_int_equal(n, 6);
  return p;
}

static void a_permit_is_asked_for_until_it_is_there(void **state) {
  (void)state;
  struct pg p = logged_in();
  size_t n;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pg_from_client(&p, "S\0\0\0\4Q\0\0\0\5", i == 0 ? 10 : 5, &n),
                     i == 0 ? PG_NEEDS_PERMIT : PG_GOES_ON);
    assert_int_equal(n, 5);
  }
  assert_int_equal(pg_from_client(&p, "Q\0\0\0\5", 5, &n), PG_NEEDS_PERMIT);
  assert_int_equal(n, 0);
  pg_granted(&p);
  assert_false(pg_may_release(&p));
  assert_int_equal(pg_from_client(&p, "Q\0\0\0\5", 5, &n), PG_GOES_ON);
  assert_int_equal(n, 5);
  assert_false(pg_may_release(&p));
}

static void bodies_are_not_looked_at(void **state) {
  (void)state;
  struct pg p = logged_in();
  size_t n;
  static const char body[70000] = "ZZZZZ";
  pg_granted(&p);
  assert_int_equal(pg_from_client(&p, "Q\0\1\x11\x74", 5, &n), PG_GOES_ON); /* 70004 */
  assert_int_equal(pg_from_client(&p, body, sizeof body, &n), PG_GOES_ON);
  assert_int_equal(n, sizeof body);
  assert_int_equal(pg_from_server(&p, "D\0\1\x11\x74", 5, &n), PG_GOES_ON);
  assert_false(pg_is_between(&p));
  assert_int_equal(pg_from_server(&p, body, sizeof body, &n), PG_GOES_ON);
  assert_true(pg_is_between(&p));
  assert_true(pg_is_asked(&p));
}

static void errors_are_read(void **state) {
  (void)state;
  struct pg_gate g;
  char events[EVENTS_MAX];
  run(&g, "<R <K <ZI >Q <E <ZI", 3, WHOLE, 0, events);
  assert_int_equal(g.pg.errors, 1);
  assert_string_equal(g.pg.severity, "ERROR");
  assert_string_equal(g.pg.sqlstate, "42P01");
  assert_false(g.pg.has_failed);
  assert_int_equal(g.pg.backend, 0x102);
  assert_int_equal(g.pg.transactions, 1);
  pg_gate_free(&g);
  run(&g, "<ZI <F", 1, WHOLE, 0, events);
  assert_true(g.pg.has_failed);
  assert_string_equal(g.pg.sqlstate, "57P01");
  pg_gate_free(&g);
}

static void whose_turn_it_is(void **state) {
  (void)state;
  static const struct {
    const char *script;
    bool is_asked, is_idle_in_transaction;
  } turns[] = {
      {"<R", false, false},
      {"<ZI", false, false},
      {"<ZI >Q", true, false},
      {"<ZI >Q <C <ZT", false, true},
      {"<ZI >Q <C <ZT >Q", true, false},
      {"<ZI >P >B >E", false, true}, /* the client has not asked for an answer */
      {"<ZI >P >B >E >H", true, false},
      {"<ZI >P >B >E >H <1 <2 <C", false, true},
      {"<ZI >P >B >E >S <1", true, false},
      {"<ZI >P >H <E", false, true}, /* until it sends a Sync */
      {"<ZI >Q <G >d", false, true},
      {"<ZI >Q <G >d >c", true, false},
      {"<ZI >Q <G >d >c <C", true, false},
      {"<ZI >Q <W <d", false, false},
  };
  for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
    struct pg_gate g;
    char events[EVENTS_MAX];
    run(&g, turns[i].script, WHOLE, WHOLE, 0, events);
    if (pg_is_asked(&g.pg) != turns[i].is_asked ||
        pg_is_idle_in_transaction(&g.pg) != turns[i].is_idle_in_transaction) {
      fail_msg("%s", turns[i].script);
    }
    pg_gate_free(&g);
  }
}

/* A client that has sent a part of a message holds its permit for nothing. */
static void part_of_a_message_asks_for_nothing(void **state) {
  (void)state;
  static const char *const parts[] = {"Q\0\0\1\0sel", "F\0\0\1\0\0\0\0", "S\0\0\1\0\0\0\0"};
  char rest[1024] = "";
  size_t n;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    struct pg p = logged_in();
    pg_granted(&p);
    assert_int_equal(pg_from_client(&p, parts[i], 8, &n), PG_GOES_ON);
    assert_int_equal(n, 8);
    assert_false(pg_is_asked(&p));
    assert_true(pg_is_idle_in_transaction(&p));
    assert_int_equal(pg_from_client(&p, rest, 257 - 8, &n), PG_GOES_ON); /* the rest of it */
    assert_true(pg_is_asked(&p));
    assert_int_equal(pg_from_client(&p, parts[i], 8, &n), PG_GOES_ON);
    assert_true(pg_is_asked(&p)); /* for the first one */
    assert_int_equal(pg_from_server(&p, "Z\0\0\0\5I", 6, &n), PG_GOES_ON);
    assert_false(pg_may_release(&p));
    assert_false(pg_is_asked(&p));
  }
}

static void what_is_malformed_is_said(void **state) {
  (void)state;
  static const struct {
    bool is_client;
    const char bytes[8];
    size_t size;
    const char *why;
  } cases[] = {
      {true, "z\0\0\0\4", 5, "the client sent a message of type 'z'"},
      {true, "\1\0\0\0\4", 5, "the client sent a message of type 0x01"},
      {true, "p\0\0\0\4", 5, "the client sent a message of type 'p'"},
      {true, "Q\0\0\0\3", 5, "the client sent a message of type 'Q' with a length of 3"},
      {true, "d\x40\0\0\0", 5, "the client sent a message of type 'd' with a length of 1073741824"},
      {true, "H\0\0\0\5", 5, "the client sent a message of type 'H' with a length of 5"},
      {false, "\0\0\0\0\4", 5, "the server sent a message of type 0x00"},
      {false, "D\x80\0\0\0", 5,
       "the server sent a message of type 'D' with a length of 2147483648"},
      {false, "Z\0\0\0\6", 5, "the server sent a message of type 'Z' with a length of 6"},
      {false, "Z\0\0\0\5Q", 6, "the server sent a ReadyForQuery with a status of 0x51"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct pg p = logged_in();
    size_t n = 1;
    char why[PG_WHY_MAX];
    enum pg_want want = (cases[i].is_client ? pg_from_client : pg_from_server)(&p, cases[i].bytes,
                                                                               cases[i].size, &n);
    assert_int_equal(want, PG_MALFORMED);
    assert_int_equal(n, 0);
    assert_string_equal(pg_why(&p, why, sizeof why), cases[i].why);
  }
}

/* A client that sends more kinds than the queue holds has to wait, and goes on. */
static void a_full_queue_waits_for_the_server(void **state) {
  (void)state;
  struct pg_gate g;
  char events[EVENTS_MAX];
  run(&g, "<ZI", WHOLE, WHOLE, 0, events);
  for (int i = 0; i < 1000; i++) { /* a Query and a batch, in turn: two entries */
    struct pg_side m = {0};
    pg_side_message(&m, 'Q', "x", 2);
    pg_side_message(&m, 'P', "x", 2);
    pg_side_message(&m, 'S', "", 0);
    come(&g, true, m.bytes, m.size, WHOLE);
    pg_side_free(&m);
  }
  assert_int_equal(g.want, PG_WAITS);
  size_t sent = 0;
  for (int i = 0; i < 1000; i++) {
    assert_true(g.pg.has_permit);
    assert_true(g.to_server.size >= sent + 19); /* the server has what it is to answer */
    sent += 19;
    come(&g, false, "C\0\0\0\4Z\0\0\0\5I1\0\0\0\4Z\0\0\0\5I", 22, WHOLE);
  }
  assert_int_equal(g.up.size, 0);
  assert_false(g.pg.has_permit);
  assert_int_equal(g.released, 1);
  pg_gate_free(&g);
}

/* Batches of any number are one entry. */
static void deep_pipelines_do_not_wait(void **state) {
  (void)state;
  struct pg_gate g;
  char events[EVENTS_MAX];
  run(&g, "<ZI", WHOLE, WHOLE, 0, events);
  for (int i = 0; i < 100000; i++) {
    come(&g, true, "B\0\0\0\4E\0\0\0\4S\0\0\0\4", 15, WHOLE);
    g.to_server.size = 0;
  }
  assert_int_equal(g.want, PG_GOES_ON);
  for (int i = 0; i < 100000; i++) {
    assert_true(g.pg.has_permit);
    come(&g, false, "2\0\0\0\4C\0\0\0\4Z\0\0\0\5I", 16, WHOLE);
    g.to_client.size = 0;
  }
  assert_false(g.pg.has_permit);
  pg_gate_free(&g);
}

/* A server answers none of these before a Sync, so none may wait for it; CopyDone is ignored by it, or
 * ends a COPY each, of one batch. */
static void copy_done_in_a_batch_needs_no_room(void **state) {
  (void)state;
  struct pg_gate g;
  char events[EVENTS_MAX];
  run(&g, "<ZI", WHOLE, WHOLE, 0, events);
  for (int i = 0; i < 1000; i++) {
    come(&g, true, "E\0\0\0\4c\0\0\0\4", 10, WHOLE);
    assert_int_equal(g.want, PG_GOES_ON);
  }
  come(&g, true, "S\0\0\0\4", 5, WHOLE);
  for (int i = 0; i < 1000; i++) {
    assert_true(g.pg.has_permit);
    const char *answers = "G\0\0\0\4C\0\0\0\4"; /* each second one is no COPY */
    come(&g, false, i % 2 == 0 ? answers : answers + 5, i % 2 == 0 ? 10 : 5, WHOLE);
  }
  assert_true(g.pg.has_permit);
  come(&g, false, "Z\0\0\0\5I", 6, WHOLE);
  assert_false(g.pg.is_lost);
  assert_false(g.pg.has_permit);
  pg_gate_free(&g);
}

/* What a server may skip or not behind a COPY that has failed, and answers that nothing has asked for:
 * the permit is kept. */
static void a_lost_session_keeps_its_permit(void **state) {
  (void)state;
  static const char *const scripts[] = {
      "<ZI >P >B >E >S <1 <2 <G >d >P >S <E <ZI",  "<ZI >P >B >E >S <1 <2 <G >d <E >Q >S <ZI",
      "<ZI >Q <C <ZI >Q <C <ZI <1 >Q <C <ZI",      "<ZI >P >B >S <1 <ZI <2 >Q <C <ZI",
      "<ZI >Q <G <C >S <G <G <C <ZI <C >Q <C <ZI",
  };
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
    struct pg_gate g;
    char events[EVENTS_MAX];
    run(&g, scripts[i], WHOLE, WHOLE, 0, events);
    if (!g.pg.is_lost || !g.pg.has_permit) fail_msg("%s: %s", scripts[i], events);
    come(&g, true, "Q\0\0\0\4S\0\0\0\4", 10, WHOLE);
    come(&g, false, "C\0\0\0\4Z\0\0\0\5IZ\0\0\0\5I", 17, WHOLE);
    assert_true(g.pg.has_permit);
    assert_int_equal(g.want, PG_GOES_ON);
    pg_gate_free(&g);
  }
}

/* ---- sessions of real clients ---- */

enum { SESSION_MAX = 16384 };

/* A line of postgres_sessions.hex: a name, and records: a byte whose lowest bit says that the client
 * sends, and the others how many bytes follow. Returns the size; 0: the file ends. */
static size_t read_session(FILE *file, char *name, uint8_t *to) {
  size_t size = 0;
  unsigned byte;
  if (fscanf(file, "%63s", name) != 1) return 0;
  while (fgetc(file) == ' ') {
  }
  fseek(file, -1, SEEK_CUR);
  while (size < SESSION_MAX && fscanf(file, "%2x", &byte) == 1) {
    to[size++] = (uint8_t)byte;
    int next = fgetc(file);
    if (next == '\n' || next == EOF) break;
    ungetc(next, file);
  }
  return size;
}

static void replay(struct pg_gate *g, const uint8_t *bytes, size_t size, size_t piece) {
  pg_gate_begin(g);
  for (size_t at = 0; at < size; at += (size_t)(bytes[at] >> 1) + 1) {
    come(g, bytes[at] & 1, (const char *)bytes + at + 1, bytes[at] >> 1, piece);
  }
}

/* psql, pgbench in its modes and pg_receivewal, recorded between them and PostgreSQL 15. */
static void sessions_of_real_clients_give_their_permits_back(void **state) {
  (void)state;
  FILE *file = fopen("postgres_sessions.hex", "r");
  static uint8_t bytes[SESSION_MAX];
  char name[64];
  unsigned sessions = 0, released = 0;
  assert_non_null(file);
  for (size_t size; (size = read_session(file, name, bytes)) > 0; sessions++) {
    struct pg_gate whole, cut;
    replay(&whole, bytes, size, WHOLE);
    if (whole.pg.is_lost || whole.pg.has_permit) fail_msg("%s", name);
    assert_int_equal(whole.down.size + whole.up.size, 0);
    assert_int_equal(whole.pg.backend == 0, 0);
    released += whole.released;
    for (size_t piece = 1; piece < 8; piece++) {
      replay(&cut, bytes, size, piece);
      assert_equal(&whole, &cut, name);
      pg_gate_free(&cut);
    }
    pg_gate_free(&whole);
  }
  fclose(file);
  assert_int_equal(sessions, 15);
  assert_int_equal(released, 29); /* ReadyForQuery with I, but for the first of each session */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_row_has_its_events),
      cmocka_unit_test(pieces_change_nothing),
      cmocka_unit_test(a_permit_is_asked_for_until_it_is_there),
      cmocka_unit_test(part_of_a_message_asks_for_nothing),
      cmocka_unit_test(bodies_are_not_looked_at),
      cmocka_unit_test(errors_are_read),
      cmocka_unit_test(whose_turn_it_is),
      cmocka_unit_test(what_is_malformed_is_said),
      cmocka_unit_test(a_full_queue_waits_for_the_server),
      cmocka_unit_test(deep_pipelines_do_not_wait),
      cmocka_unit_test(copy_done_in_a_batch_needs_no_room),
      cmocka_unit_test(a_lost_session_keeps_its_permit),
      cmocka_unit_test(sessions_of_real_clients_give_their_permits_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
