/* postgres_fuzz_test.c: sessions that no one has thought of. Two ways to read the same bytes:
 *
 * bytes: pieces of both directions as they are. Whatever comes, no memory is touched that is not the
 * tracker's (under ./x asan), what is passed on is what has come, a permit is not given back while
 * something is outstanding, and how the bytes are cut changes nothing.
 *
 * played: what a client sends, and what becomes of it at a server that does what PostgreSQL does
 * (postgres.c, R1 to R5; framing_test.c compares PostgreSQL itself). A permit must not be given back
 * while the server works or is to work, and must be given back when it has done everything.
 *
 * As a test: random bytes from a seed, a fixed number of times: VOLT_TEST_SEED and VOLTGATE_FUZZ_RUNS
 * change both. With libFuzzer, which also sees what is covered:
 *
 *   cd apps/voltgate && clang -D_GNU_SOURCE -DVOLTGATE_LIBFUZZER -g -O1 -I. \
 *     -fsanitize=fuzzer,address,undefined \
 *     tests/parts/{postgres_fuzz_test,pg_script}.c wire/postgres*.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg_script.h"
#include "wire/postgres_startup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const uint8_t *input;
static size_t input_size;

static void fail(const char *what) {
  fprintf(stderr, "%s; the bytes:\n", what);
  for (size_t i = 0; i < input_size; i++) fprintf(stderr, "\\x%02x", input[i]);
  fprintf(stderr, "\n");
  abort();
}

/* ---- bytes ---- */

static void check_idle(const struct pg_gate *g) {
  const struct pg *p = &g->pg;
  if (!pg_may_release(p)) return;
  if (!p->is_copying_both && (p->status != 'I' || p->count > 0 || p->current != 0)) {
    fail("idle while something is outstanding");
  }
}

/* Records: a byte that says the direction and how many bytes follow. */
static bool run_bytes(struct pg_gate *g, const uint8_t *bytes, size_t count, size_t piece) {
  pg_gate_begin(g);
  while (count > 0) {
    bool is_client = bytes[0] & 1;
    size_t size = bytes[0] >> 1;
    bytes++;
    count--;
    if (size > count) size = count;
    const char *at = (const char *)bytes;
    if (!(is_client ? pg_gate_client : pg_gate_server)(g, at, size, piece)) return false;
    check_idle(g);
    bytes += size;
    count -= size;
  }
  return true;
}

static void fuzz_bytes(const uint8_t *bytes, size_t count) {
  struct pg_gate whole, cut;
  size_t piece = count > 0 ? bytes[count - 1] % 7 + 1u : 1;
  bool fine = run_bytes(&whole, bytes, count, SIZE_MAX);
  if (fine != run_bytes(&cut, bytes, count, piece)) fail("pieces are malformed, the whole is not");
  if (memcmp(&whole.pg, &cut.pg, sizeof whole.pg) != 0) fail("pieces are understood otherwise");
  if (strcmp(whole.events, cut.events) != 0) fail("pieces have other events");
  if (whole.to_server.size != cut.to_server.size || whole.to_client.size != cut.to_client.size) {
    fail("pieces are passed on otherwise");
  }
  pg_gate_free(&whole);
  pg_gate_free(&cut);
}

static void fuzz_startup(const uint8_t *bytes, size_t count) {
  struct pg_startup s = {0}, again = {0};
  char why[96];
  char *exact = malloc(count + 1);
  if (exact == NULL) abort();
  memcpy(exact, bytes, count);
  enum pg_first first = pg_startup_read(&s, exact, count);
  for (size_t size = 0; size <= count; size++) { /* the answer does not depend on what follows */
    enum pg_first part = pg_startup_read(&again, exact, size);
    if (part != PG_FIRST_PART && part != first) fail("a part is read otherwise");
    if (part != PG_FIRST_PART) break;
  }
  if (first == PG_FIRST_MALFORMED) pg_startup_why(&s, why, sizeof why);
  if (first == PG_FIRST_STARTUP) {
    if (s.bytes > count || s.user.size == 0 || s.user.size > PG_NAME_MAX) fail("startup");
    if (s.database.at < exact || s.database.at + s.database.size > exact + count) fail("database");
  }
  free(exact);
}

/* ---- a server that does what PostgreSQL does ---- */

struct server {
  size_t read;        /* of what was passed on to it */
  struct pg_side out; /* said, and not flushed */
  struct pg_side sent;
  bool is_skipping, has_ended, is_copying_in, is_by_query;
  char status;    /* of the transaction block: 'I', 'T', 'E' */
  bool has_work;  /* an implicit transaction is open */
  unsigned more;  /* copies that the Query still has */
  unsigned reads; /* messages of the copy-in until it fails; 0: it does not */
};

/* The first byte of each message's body says what becomes of it. */
enum {
  FATE_FAILS = 1,
  FATE_COPIES = 2,
  FATE_COPY_FAILS = 4,
  FATE_MORE = 8,
  FATE_BEGINS = 16,
  FATE_COMMITS = 32,
  FATE_FAILS_LATE = 64
};

static void say(struct server *s, char type) {
  pg_side_message(&s->out, type, "", 0);
}

static void flush(struct server *s) {
  pg_side_add(&s->sent, s->out.bytes, s->out.size);
  s->out.size = 0;
}

static void say_ready(struct server *s) {
  s->has_work = false;
  pg_side_message(&s->out, 'Z', &s->status, 1);
  flush(s);
}

static void say_error(struct server *s, const char *severity) {
  char body[32];
  int size = snprintf(body, sizeof body, "S%s%cV%s%cC42000", severity, 0, severity, 0);
  pg_side_message(&s->out, 'E', body,
                  (size_t)size + 2 > sizeof body ? sizeof body : (size_t)size + 1);
  if (s->status == 'T') s->status = 'E';
  s->has_work = false;
  flush(s);
}

static void copy_begins(struct server *s, uint8_t fate) {
  s->is_copying_in = true;
  s->has_work = true;
  say(s, 'G');
  flush(s);
  if (fate & FATE_COPY_FAILS) {
    s->reads = 1u + (fate >> 6); /* 1: at once */
  } else {
    s->reads = 0;
  }
}

static void copy_fails(struct server *s) {
  s->is_copying_in = false;
  s->more = 0;
  say_error(s, "ERROR");
  if (s->is_by_query) {
    say_ready(s);
  } else {
    s->is_skipping = true;
  }
}

static void block(struct server *s, uint8_t fate) {
  if (fate & FATE_BEGINS && s->status == 'I')
    s->status = 'T';
  else if (fate & FATE_COMMITS)
    s->status = 'I';
}

static void copy_reads(struct server *s, char type, uint8_t fate) {
  switch (type) {
    case 'S':
    case 'H':
    case 'd': break;
    case 'f': copy_fails(s); return;
    case 'c':
      s->is_copying_in = false;
      if (fate & FATE_FAILS_LATE) {
        copy_fails(s);
        return;
      }
      say(s, 'C');
      if (!s->is_by_query) return;
      if (s->more > 0) {
        s->more--;
        copy_begins(s, fate);
      } else {
        say_ready(s);
      }
      return;
    default:
      say_error(s, "FATAL");
      s->has_ended = true;
      return;
  }
  if (s->reads > 1 && --s->reads == 1) copy_fails(s);
}

static void query(struct server *s, uint8_t fate) {
  s->has_work = true;
  if (fate & FATE_FAILS) {
    say_error(s, "ERROR");
  } else if (fate & FATE_COPIES) {
    s->is_by_query = true;
    s->more = fate & FATE_MORE ? 2 : 0;
    say(s, 'C');
    copy_begins(s, fate);
    if (s->reads == 1) copy_fails(s);
    return;
  } else {
    say(s, 'T');
    say(s, 'D');
    say(s, 'C');
    if (fate & FATE_MORE) say(s, 'I');
    block(s, fate);
  }
  say_ready(s);
}

static void execute(struct server *s, uint8_t fate) {
  if (fate & FATE_COPIES) {
    s->is_by_query = false;
    copy_begins(s, fate);
    if (s->reads == 1) copy_fails(s);
    return;
  }
  say(s, 'D');
  say(s, fate & FATE_MORE ? 's' : 'C');
  block(s, fate);
}

static void extended(struct server *s, char type, uint8_t fate) {
  s->has_work = true;
  if (fate & FATE_FAILS) {
    say_error(s, "ERROR");
    s->is_skipping = true;
    return;
  }
  switch (type) {
    case 'P': say(s, '1'); break;
    case 'B': say(s, '2'); break;
    case 'C': say(s, '3'); break;
    case 'D':
      if (fate & FATE_MORE) say(s, 't');
      say(s, fate & FATE_COPIES ? 'n' : 'T');
      break;
    default: execute(s, fate); break;
  }
}

static void reads(struct server *s, char type, uint8_t fate) {
  if (s->is_copying_in) {
    copy_reads(s, type, fate);
  } else if (type == 'X') {
    s->has_ended = true;
  } else if (type == 'S') {
    s->is_skipping = false;
    if (s->has_work && fate & FATE_FAILS) say_error(s, "ERROR");
    say_ready(s);
  } else if (!s->is_skipping) {
    switch (type) {
      case 'd':
      case 'c':
      case 'f': break;
      case 'H': flush(s); break;
      case 'Q': query(s, fate); break;
      case 'F':
        s->has_work = true;
        if (fate & FATE_FAILS)
          say_error(s, "ERROR");
        else
          say(s, 'V');
        say_ready(s);
        break;
      default: extended(s, type, fate); break;
    }
  }
}

/* It reads one whole message. Returns false if there is none, or it has ended. */
static bool server_step(struct server *s, const struct pg_side *from) {
  if (s->has_ended || from->size - s->read < 5) return false;
  const uint8_t *at = (const uint8_t *)from->bytes + s->read;
  size_t whole = (size_t)at[4] + 1;
  if (from->size - s->read < whole) return false;
  s->read += whole;
  reads(s, (char)at[0], whole > 5 ? at[5] : 0);
  return true;
}

/* Whether what it has not read makes it work: Syncs do not, nor what is ignored. */
static bool is_to_work(const struct server *s, const struct pg_side *from) {
  if (s->has_work || s->is_copying_in || s->is_skipping || s->status != 'I') return true;
  for (size_t i = s->read; i + 5 <= from->size; i += (size_t)(uint8_t)from->bytes[i + 4] + 1) {
    if (strchr("SHdcf", from->bytes[i]) == NULL) return true;
  }
  return false;
}

/* ---- played ---- */

static struct pg_gate gate;
static struct server server;
static unsigned copies; /* that a polite client is to end */

/* VOLTGATE_FUZZ_SHOW: what is played, for who has to understand a failure. */
static void show(const char *what, const struct pg_side *messages) {
  static int is_shown = -1;
  if (is_shown < 0) is_shown = getenv("VOLTGATE_FUZZ_SHOW") != NULL;
  if (!is_shown) return;
  for (size_t i = 0; i + 5 <= messages->size; i += (size_t)(uint8_t)messages->bytes[i + 4] + 1) {
    fprintf(stderr, "%s%c:%02x ", what, messages->bytes[i], (uint8_t)messages->bytes[i + 5]);
  }
}

static void hear(size_t piece) {
  show("<", &server.sent);
  uint32_t before = gate.released;
  if (!pg_gate_server(&gate, server.sent.bytes, server.sent.size, piece)) fail("malformed answer");
  server.sent.size = 0;
  bool is_over = server.has_ended;
  if (!is_over && gate.released != before && is_to_work(&server, &gate.to_server) &&
      !gate.pg.has_permit) {
    fail("the permit was given back while the server is to work");
  }
}

static void send(char type, uint8_t fate) {
  struct pg_side message = {0};
  bool is_bare = strchr("SHX", type) != NULL;
  pg_side_message(&message, type, &fate, is_bare ? 0 : 1);
  show(">", &message);
  if (!pg_gate_client(&gate, message.bytes, message.size, SIZE_MAX)) fail("malformed");
  pg_side_free(&message);
}

static void settle(void) {
  do {
    while (server_step(&server, &gate.to_server)) {
    }
    hear(SIZE_MAX);
  } while (server_step(&server, &gate.to_server));
  hear(SIZE_MAX);
}

/* What a polite client sends: while a COPY FROM STDIN is on its way, nothing but what belongs to it,
 * as a server gives up the connection otherwise; and a Sync behind its end. */
static void send_politely(char type, uint8_t fate) {
  if (copies > 0 && strchr("SHdcf", type) == NULL) type = 'd';
  send(type, fate);
  bool is_copy = (type == 'E' || type == 'Q') && fate & FATE_COPIES && !(fate & FATE_FAILS);
  if (is_copy) copies = type == 'Q' && fate & FATE_MORE ? 3 : 1;
  if (copies == 0 || (type != 'c' && type != 'f')) return;
  copies = type == 'f' ? 0 : copies - 1;
  if (copies == 0) send('S', 0);
}

static void play(const uint8_t *bytes, size_t count, bool is_polite) {
  static const char types[] = "PBDECQFSHdcfQEES";
  memset(&server, 0, sizeof server);
  server.status = 'I';
  copies = 0;
  pg_gate_begin(&gate);
  say_ready(&server);
  hear(SIZE_MAX);
  for (size_t i = 0; i + 1 < count && !server.has_ended; i += 2) {
    char type = types[bytes[i] & 15];
    (is_polite ? send_politely : send)(type, bytes[i + 1]);
    unsigned steps = bytes[i] >> 4; /* 0: what follows is sent with it */
    if (steps == 15) settle();
    for (unsigned k = 0; k < steps % 8; k++) server_step(&server, &gate.to_server);
    if (steps >= 8) hear(steps == 9 ? 1 : SIZE_MAX);
  }
  settle();
  while (!server.has_ended && server.is_copying_in) { /* a Query may have several */
    send('c', 0);
    settle();
  }
  if (server.has_ended) return;
  send('S', 0);
  settle();
  send('Q', FATE_COMMITS);
  settle();
  if (server.has_ended) return;
  if (gate.want != PG_GOES_ON || gate.up.size > 0) fail("the client is stuck");
  if (server.read != gate.to_server.size) fail("the server has not read everything");
  if (is_polite && gate.pg.has_permit) fail("the permit was kept");
  if (is_polite && gate.pg.is_lost) fail("the session is lost");
  if (gate.pg.status != server.status) fail("the status is another one");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count == 0) return 0;
  input = bytes;
  input_size = count;
  uint8_t way = *bytes++;
  count--;
  switch (way % 4) {
    case 0: fuzz_bytes(bytes, count); break;
    case 1: fuzz_startup(bytes, count); break;
    default:
      play(bytes, count, way % 4 == 2);
      pg_gate_free(&gate);
      pg_side_free(&server.out);
      pg_side_free(&server.sent);
      break;
  }
  return 0;
}

#ifndef VOLTGATE_LIBFUZZER

static uint64_t state;

static uint64_t next(void) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

/* Bytes that look like messages: records of the first way need types and lengths. */
static size_t make(uint8_t *bytes, size_t most) {
  static const char types[] = "PBDECQFSHdcfXp123CEGHIKRTVWZntsDANS";
  size_t count = 1;
  bytes[0] = (uint8_t)next();
  size_t want = 2 + next() % (most - 40);
  while (count < want) {
    if (bytes[0] % 4 != 0) {
      bytes[count++] = (uint8_t)next();
      continue;
    }
    bool is_client = next() % 2;
    uint8_t body = (uint8_t)(next() % 6);
    uint8_t size = (uint8_t)(5 + body);
    char type = types[next() % (sizeof types - 1)];
    if (!is_client && next() % 4 == 0) {
      type = 'Z';
      body = 1;
      size = 6;
    }
    if (next() % 8 == 0) size = (uint8_t)(next() % 12);
    bytes[count++] = (uint8_t)(size << 1 | is_client);
    uint8_t message[16] = {(uint8_t)type, 0, 0, 0, (uint8_t)(body + 4), 'I', 'T', 'E'};
    memcpy(bytes + count, message, size);
    count += size;
  }
  return count;
}

int main(int count_of, char **arguments) {
  if (count_of > 1) { /* a failure's bytes, as they are printed */
    uint8_t again[512];
    size_t size = 0;
    for (char *at = arguments[1]; size < sizeof again && (at = strchr(at, 'x')) != NULL;) {
      again[size++] = (uint8_t)strtoul(at + 1, &at, 16);
    }
    return LLVMFuzzerTestOneInput(again, size);
  }
  const char *seed = getenv("VOLT_TEST_SEED"), *runs = getenv("VOLTGATE_FUZZ_RUNS");
  uint8_t bytes[512];
  unsigned long long most = runs == NULL ? 60000 : strtoull(runs, NULL, 0);
  state = seed == NULL ? 1 : strtoull(seed, NULL, 0) | 1;
  for (unsigned long long i = 0; i < most; i++) {
    size_t count = make(bytes, i % 3 == 0 ? sizeof bytes : 64);
    LLVMFuzzerTestOneInput(bytes, count);
  }
  printf("%llu runs\n", most);
  return 0;
}

#endif
