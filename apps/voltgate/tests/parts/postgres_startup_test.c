/* postgres_startup_test.c: packets before authentication. Each is read in each part of it, too: the
 * answer must be the same, and must not be given before it is certain. */
#include "unit.h"

#include <string.h>

#include "wire/postgres_startup.h"

static struct pg_startup read_parts(const char *bytes, size_t size, enum pg_first expected) {
  struct pg_startup s = {0};
  for (size_t part = 0; part <= size; part++) {
    struct pg_startup again = {0};
    enum pg_first first = pg_startup_read(&again, bytes, part);
    if (first == PG_FIRST_PART) continue;
    assert_int_equal(first, expected);
    s = again;
  }
  assert_int_equal(pg_startup_read(&(struct pg_startup){0}, bytes, size), expected);
  return s;
}

static void assert_text(struct pg_text text, const char *expected) {
  if (expected == NULL) {
    assert_null(text.at);
    return;
  }
  assert_int_equal(text.size, strlen(expected));
  assert_memory_equal(text.at, expected, text.size);
}

/* Build a startup packet of these parameters: "user=x;database=y". Returns its size. */
static size_t build(char *to, uint32_t version, const char *parameters) {
  size_t size = 8;
  for (const char *at = parameters; *at != 0; at++) to[size++] = *at == '=' || *at == ';' ? 0 : *at;
  if (size > 8) to[size++] = 0;
  to[size++] = 0;
  for (int i = 0; i < 4; i++) {
    to[i] = (char)(size >> (24 - 8 * i));
    to[4 + i] = (char)(version >> (24 - 8 * i));
  }
  return size;
}

static void parameters_are_found(void **state) {
  (void)state;
  static const struct {
    const char *parameters, *user, *database, *options, *application, *replication;
    bool is_replication;
  } cases[] = {
      {"user=app", "app", "app", NULL, NULL, NULL, false},
      {"user=app;database=shop", "app", "shop", NULL, NULL, NULL, false},
      {"database=;user=app", "app", "app", NULL, NULL, NULL, false},
      {"database=shop;user=app;options=-c x;application_name=psql;client_encoding=UTF8", "app",
       "shop", "-c x", "psql", NULL, false},
      {"user=a;user=b;database=c;database=d", "b", "d", NULL, NULL, NULL, false},
      {"USER=a;user=b", "b", "b", NULL, NULL, NULL, false},
      {"user=a;_pq_.x=1;replication=true", "a", "a", NULL, NULL, "true", true},
      {"user=a;replication=database;database=d", "a", "d", NULL, NULL, "database", true},
      {"user=a;replication=ON", "a", "a", NULL, NULL, "ON", true},
      {"user=a;replication=t", "a", "a", NULL, NULL, "t", true},
      {"user=a;replication=0", "a", "a", NULL, NULL, "0", false},
      {"user=a;replication=of", "a", "a", NULL, NULL, "of", false},
      {"user=a;replication=No", "a", "a", NULL, NULL, "No", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (uint32_t version = 0x30000; version < 0x30003; version++) {
      char bytes[256];
      size_t size = build(bytes, version, cases[i].parameters);
      struct pg_startup s = read_parts(bytes, size, PG_FIRST_STARTUP);
      assert_int_equal(s.bytes, size);
      assert_int_equal(s.version, version);
      assert_text(s.user, cases[i].user);
      assert_text(s.database, cases[i].database);
      assert_text(s.options, cases[i].options);
      assert_text(s.application_name, cases[i].application);
      assert_text(s.replication, cases[i].replication);
      assert_int_equal(s.is_replication, cases[i].is_replication);
    }
  }
}

/* Two long names that PostgreSQL cuts to the same one must not be two tenants. */
static void names_are_cut_as_postgresql_cuts_them(void **state) {
  (void)state;
  char parameters[400] = "user=", bytes[500];
  memset(parameters + 5, 'u', 100);
  strcat(parameters, ";database=");
  memset(parameters + strlen(parameters), 'd', 64);
  struct pg_startup s = read_parts(bytes, build(bytes, 0x30000, parameters), PG_FIRST_STARTUP);
  assert_int_equal(s.user.size, 63);
  assert_int_equal(s.database.size, 63);
}

static void requests_come_once_each(void **state) {
  (void)state;
  static const char ssl[] = "\0\0\0\10\4\xd2\x16\x2f", gss[] = "\0\0\0\10\4\xd2\x16\x30";
  struct pg_startup s = {0};
  char why[96];
  read_parts(ssl, 8, PG_FIRST_SSL);
  read_parts(gss, 8, PG_FIRST_GSSENC);
  assert_int_equal(pg_startup_read(&s, gss, 8), PG_FIRST_GSSENC);
  assert_int_equal(pg_startup_read(&s, ssl, 8), PG_FIRST_SSL);
  assert_int_equal(s.bytes, 8);
  assert_int_equal(pg_startup_read(&s, ssl, 8), PG_FIRST_MALFORMED);
  assert_string_equal(pg_startup_why(&s, why, sizeof why), "a second request for SSL encryption");
  assert_int_equal(pg_startup_read(&s, gss, 8), PG_FIRST_MALFORMED);
  assert_string_equal(pg_startup_why(&s, why, sizeof why),
                      "a second request for GSSAPI encryption");
  char bytes[64];
  size_t size = build(bytes, 0x30000, "user=a");
  assert_int_equal(pg_startup_read(&s, bytes, size), PG_FIRST_STARTUP);
}

static void tls_may_begin_at_once(void **state) {
  (void)state;
  struct pg_startup s = {0};
  assert_int_equal(pg_startup_read(&s, "\x16", 1), PG_FIRST_TLS);
  assert_int_equal(s.bytes, 0);
  assert_int_equal(pg_startup_read(&s, "\x16\3\1\2", 4), PG_FIRST_MALFORMED); /* not in itself */
}

static void cancel_requests_are_read(void **state) {
  (void)state;
  char bytes[300] = "\0\0\0\20\4\xd2\x16\x2e\0\1\0\2key!";
  struct pg_startup s = read_parts(bytes, 16, PG_FIRST_CANCEL);
  assert_int_equal(s.process, 0x10002);
  assert_text(s.key, "key!");
  bytes[2] = 1; /* 268 bytes: a key of 256, protocol 3.2 */
  bytes[3] = 12;
  s = read_parts(bytes, 268, PG_FIRST_CANCEL);
  assert_int_equal(s.key.size, 256);
}

static void what_is_malformed_is_said(void **state) {
  (void)state;
  static const struct {
    const char bytes[24];
    size_t size;
    const char *sqlstate, *why;
  } cases[] = {
      {"\0\0\0\7", 4, "08P01", "a startup packet of 7 bytes: it has between 8 and 10004"},
      {"\0\0\x27\x15", 4, "08P01", "a startup packet of 10005 bytes: it has between 8 and 10004"},
      {"GET / HTTP/1.1", 14, "08P01", "an HTTP request: this is a PostgreSQL port"},
      {"\0\0\0\x10\0\2\0\0user\0\0\0", 16, "0A000",
       "unsupported frontend protocol 2.0: only 3.x is understood"},
      {"\0\0\0\x10\0\4\0\1", 8, "0A000",
       "unsupported frontend protocol 4.1: only 3.x is understood"},
      {"\0\0\0\x0f\4\xd2\x16\x2ekey!key", 15, "08P01",
       "a cancel request of 15 bytes: it has between 16 and 268"},
      {"\0\0\0\10\0\3\0\0", 8, "08P01",
       "the parameters in a startup packet of 8 bytes do not end where it ends"},
      {"\0\0\0\x0f\0\3\0\0user\0ab", 15, "08P01",
       "the parameters in a startup packet of 15 bytes do not end where it ends"},
      {"\0\0\0\x10\0\3\0\0user\0a\0", 15 + 1, "28000", NULL}, /* fine: see below */
      {"\0\0\0\x12\0\3\0\0user\0a\0\0x\0", 18, "08P01",
       "the parameters in a startup packet of 18 bytes do not end where it ends"},
      {"\0\0\0\x0d\0\3\0\0user", 13, "08P01",
       "the parameters in a startup packet of 13 bytes do not end where it ends"},
      {"\0\0\0\11\0\3\0\0\0", 9, "28000", "the startup packet has no user"},
      {"\0\0\0\x0f\0\3\0\0user\0\0\0", 15, "28000", "the startup packet has no user"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (cases[i].why == NULL) {
      read_parts(cases[i].bytes, cases[i].size, PG_FIRST_STARTUP);
      continue;
    }
    struct pg_startup s = read_parts(cases[i].bytes, cases[i].size, PG_FIRST_MALFORMED);
    char why[128], tiny[8];
    assert_string_equal(pg_startup_why(&s, why, sizeof why), cases[i].why);
    assert_string_equal(s.sqlstate, cases[i].sqlstate);
    assert_memory_equal(pg_startup_why(&s, tiny, sizeof tiny), why, 7);
    assert_int_equal(tiny[7], 0);
  }
  char bytes[64], why[128];
  size_t size = build(bytes, 0x30000, "user=a;replication=maybe");
  struct pg_startup s = read_parts(bytes, size, PG_FIRST_MALFORMED);
  assert_string_equal(s.sqlstate, "22023");
  assert_string_equal(
      pg_startup_why(&s, why, sizeof why),
      "the parameter \"replication\" is \"maybe\": neither a boolean nor \"database\"");
}

/* The largest that is let in, and what follows is not looked at. */
static void a_large_packet_is_whole(void **state) {
  (void)state;
  static char bytes[PG_STARTUP_MAX + 10], parameters[PG_STARTUP_MAX];
  strcpy(parameters, "user=a;options=");
  size_t rest = PG_STARTUP_MAX - 8 - 2 - strlen(parameters);
  memset(parameters + strlen(parameters), 'x', rest);
  assert_int_equal(build(bytes, 0x30000, parameters), PG_STARTUP_MAX);
  struct pg_startup s = {0};
  assert_int_equal(pg_startup_read(&s, bytes, PG_STARTUP_MAX - 1), PG_FIRST_PART);
  assert_int_equal(pg_startup_read(&s, bytes, PG_STARTUP_MAX + 10), PG_FIRST_STARTUP);
  assert_int_equal(s.bytes, PG_STARTUP_MAX);
  assert_int_equal(s.options.size, rest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_are_found),
      cmocka_unit_test(names_are_cut_as_postgresql_cuts_them),
      cmocka_unit_test(requests_come_once_each),
      cmocka_unit_test(tls_may_begin_at_once),
      cmocka_unit_test(cancel_requests_are_read),
      cmocka_unit_test(what_is_malformed_is_said),
      cmocka_unit_test(a_large_packet_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
