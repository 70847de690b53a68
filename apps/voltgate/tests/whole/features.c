/* features.c: a program of libpq that uses what PostgreSQL has for its clients, and prints
 * what it sees, so that what it prints is the same with and without something between.
 *
 *   voltgate_features all CONNINFO REPLICATION [name]...
 *   voltgate_features cancel TRIES NEIGHBOURS CONNINFO
 *
 * CONNINFO is of a superuser. What differs from run to run (process ids, positions in the log) is
 * checked here and not printed. Exit code 1: something is not what PostgreSQL says without a gate. */
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <libpq/libpq-fs.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 60000, BIG = 32 << 20 };

static const char *features_conninfo;
static const char *features_replication;
static int features_wrong;

static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("  WRONG: ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  features_wrong++;
}

#define EXPECT(condition)                                         \
  do {                                                            \
    if (!(condition)) wrong("line %d: %s", __LINE__, #condition); \
  } while (0)

/* ---- connections, results ---- */

static void print_notice(void *data, const PGresult *result) {
  (void)data;
  printf("  notice %s: %s\n", PQresultErrorField(result, PG_DIAG_SQLSTATE),
         PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

static PGconn *try_connect(const char *base, const char *more) {
  char text[2048];
  snprintf(text, sizeof text, "%s connect_timeout=60 %s", base, more);
  PGconn *c = PQconnectdb(text);
  PQsetNoticeReceiver(c, print_notice, NULL);
  return c;
}

static PGconn *connect_with(const char *more) {
  PGconn *c = try_connect(features_conninfo, more);
  if (PQstatus(c) != CONNECTION_OK) {
    wrong("connect %s: %s", more, PQerrorMessage(c));
    fflush(stdout);
    exit(1);
  }
  return c;
}

static PGconn *open_one(void) {
  return connect_with("");
}

static void print_error(const PGresult *r) {
  static const struct {
    int field;
    const char *name;
  } fields[] = {{PG_DIAG_SEVERITY, "severity"},       {PG_DIAG_SQLSTATE, "sqlstate"},
                {PG_DIAG_MESSAGE_PRIMARY, "message"}, {PG_DIAG_MESSAGE_DETAIL, "detail"},
                {PG_DIAG_MESSAGE_HINT, "hint"},       {PG_DIAG_STATEMENT_POSITION, "position"},
                {PG_DIAG_CONTEXT, "context"},         {PG_DIAG_SCHEMA_NAME, "schema"},
                {PG_DIAG_TABLE_NAME, "table"},        {PG_DIAG_CONSTRAINT_NAME, "constraint"}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const char *value = PQresultErrorField(r, fields[i].field);
    if (value && strncmp(value, "pg_temp_", 8) == 0) value = "pg_temp";
    if (value) printf("  %s: %s\n", fields[i].name, value);
  }
}

static uint64_t hash_bytes(uint64_t h, const char *data, size_t size) {
  uint64_t word;
  for (; size >= sizeof word; data += sizeof word, size -= sizeof word) {
    memcpy(&word, data, sizeof word);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 32;
  }
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)data[i]) * 1099511628211u;
  return h;
}

static void print_cells(const PGresult *r) {
  if (PQntuples(r) > 100) { /* more than somebody reads */
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < PQntuples(r) * PQnfields(r); i++) {
      const int row = i / PQnfields(r), column = i % PQnfields(r);
      h = hash_bytes(h, PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column));
    }
    printf("  %d rows %016llx\n", PQntuples(r), (unsigned long long)h);
    return;
  }
  for (int row = 0; row < PQntuples(r); row++) {
    printf("  |");
    for (int column = 0; column < PQnfields(r); column++) {
      const char *value = PQgetvalue(r, row, column);
      const int size = PQgetlength(r, row, column);
      if (PQgetisnull(r, row, column)) {
        printf(" null |");
      } else if (PQfformat(r, column) == 1 || size > 200) {
        printf(" %d bytes %016llx |", size,
               (unsigned long long)hash_bytes(14695981039346656037u, value, (size_t)size));
      } else {
        printf(" %s |", value);
      }
    }
    printf("\n");
  }
}

/* Prints it and clears it. */
static ExecStatusType show(PGresult *r) {
  const ExecStatusType status = PQresultStatus(r);
  printf("  %s %s\n", PQresStatus(status), PQcmdStatus(r));
  if (status == PGRES_TUPLES_OK || status == PGRES_SINGLE_TUPLE) {
    for (int i = 0; i < PQnfields(r); i++) {
      printf("  column %s type %u format %d\n", PQfname(r, i), PQftype(r, i), PQfformat(r, i));
    }
    print_cells(r);
  } else if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
    print_error(r);
  }
  PQclear(r);
  return status;
}

static ExecStatusType say(PGconn *c, const char *sql) {
  printf("  > %.100s\n", sql);
  return show(PQexec(c, sql));
}

/* Why a connection failed, without the address that libpq puts before it. */
static const char *reason_of(PGconn *c) {
  const char *reason = strstr(PQerrorMessage(c), "failed: ");
  return reason ? reason + strlen("failed: ") : PQerrorMessage(c);
}

/* One value of a statement that succeeds; the caller frees it. */
static char *value_of(PGconn *c, const char *sql) {
  PGresult *r = PQexec(c, sql);
  char *value = NULL;
  if (PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1) {
    value = strdup(PQgetvalue(r, 0, 0));
  } else {
    wrong("%s: %s", sql, PQerrorMessage(c));
  }
  PQclear(r);
  return value ? value : strdup("");
}

static void must(PGconn *c, const char *sql) {
  PGresult *r = PQexec(c, sql);
  const ExecStatusType status = PQresultStatus(r);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    wrong("%s: %s", sql, PQerrorMessage(c));
  }
  PQclear(r);
}

static bool readable(PGconn *c, int ms) {
  struct pollfd p = {.fd = PQsocket(c), .events = POLLIN};
  return poll(&p, 1, ms) == 1;
}

static PGnotify *next_notify(PGconn *c, int ms) {
  for (;;) {
    PGnotify *n = PQnotifies(c);
    if (n || !readable(c, ms)) return n;
    if (!PQconsumeInput(c)) return NULL;
  }
}

static void show_all(PGconn *c) {
  for (PGresult *r; (r = PQgetResult(c)) != NULL;) show(r);
}

/* ---- the features ---- */

static void f_session(void) {
  PGconn *c = connect_with("application_name=a_program");
  static const char *const names[] = {"server_version",
                                      "server_encoding",
                                      "client_encoding",
                                      "application_name",
                                      "is_superuser",
                                      "session_authorization",
                                      "DateStyle",
                                      "IntervalStyle",
                                      "TimeZone",
                                      "integer_datetimes",
                                      "standard_conforming_strings"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = PQparameterStatus(c, names[i]);
    printf("  %s = %s\n", names[i], value ? value : "(none)");
  }
  char *pid = value_of(c, "SELECT pg_backend_pid()");
  EXPECT(atoi(pid) == PQbackendPID(c));
  free(pid);
  say(c, "SHOW application_name");
  say(c, "SET application_name = 'another'");
  printf("  reported: %s\n", PQparameterStatus(c, "application_name"));
  printf("  protocol %d, ping %d\n", PQprotocolVersion(c), (int)PQping(features_conninfo));
  PQreset(c);
  EXPECT(PQstatus(c) == CONNECTION_OK);
  say(c, "SHOW application_name");
  PQfinish(c);
}

static void f_authentication(void) {
  static const char *const who[] = {"user=by_scram password=secret1",
                                    "user=by_md5 password=secret2",
                                    "user=by_password password=secret3",
                                    "user=by_trust",
                                    "user=by_scram password=wrong",
                                    "user=by_md5 password=wrong",
                                    "user=by_scram",
                                    "user=nobody_knows password=x",
                                    "user=by_trust dbname=no_such_database"};
  for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
    PGconn *c = try_connect(features_conninfo, who[i]);
    printf("  %s: %d\n", who[i], (int)PQstatus(c));
    if (PQstatus(c) == CONNECTION_OK) {
      say(c, "SELECT current_user, session_user");
    } else {
      printf("  %s", reason_of(c));
    }
    printf("  needs a password %d, used one %d\n", PQconnectionNeedsPassword(c),
           PQconnectionUsedPassword(c));
    PQfinish(c);
  }
}

static void f_startup_options(void) {
  PGconn *c = connect_with(
      "options='-c statement_timeout=4321 -c search_path=pg_catalog' "
      "application_name=with_options client_encoding=LATIN1");
  say(c,
      "SELECT current_setting('statement_timeout'), current_setting('search_path'), "
      "current_setting('application_name'), current_setting('client_encoding')");
  PQfinish(c);
  c = try_connect(features_conninfo, "options='-c no_such_setting=1'");
  printf("  %s\n", reason_of(c));
  PQfinish(c);
}

static void f_simple(void) {
  PGconn *c = open_one();
  say(c, "SELECT 1 AS one, NULL AS nothing, 'text'::text AS text");
  say(c, "");
  say(c, ";");
  PQsendQuery(c, "SELECT 1; SELECT 2; SELECT 1/0; SELECT 3");
  show_all(c);
  PQsendQuery(c,
              "CREATE TEMP TABLE s (a int); INSERT INTO s SELECT generate_series(1, 3);"
              "SELECT sum(a) FROM s; BEGIN; SELECT 5");
  show_all(c);
  printf("  status %d\n", (int)PQtransactionStatus(c));
  say(c, "COMMIT");
  say(c, "COMMIT");
  PQfinish(c);
}

static void f_extended(void) {
  PGconn *c = open_one();
  const char *const values[] = {"41", "x", NULL};
  const Oid types[] = {23, 25, 25};
  show(PQexecParams(c, "SELECT $1 + 1, $2 || 'y', $3", 3, types, values, NULL, NULL, 0));
  show(PQexecParams(c, "SELECT $1 + 1, $2 || 'y', $3", 3, types, values, NULL, NULL, 1));
  const uint32_t number = __builtin_bswap32(1234);
  const char *const binary[] = {(const char *)&number};
  const int lengths[] = {4};
  const int formats[] = {1};
  show(PQexecParams(c, "SELECT $1 * 2", 1, types, binary, lengths, formats, 0));
  show(PQexecParams(c, "SELECT 1/$1", 1, types, (const char *const[]){"0"}, NULL, NULL, 0));
  show(PQexecParams(c, "SELECT $1::int", 1, NULL, (const char *const[]){"no"}, NULL, NULL, 0));
  show(PQexecParams(c, "SELECT 1; SELECT 2", 0, NULL, NULL, NULL, NULL, 0));
  show(PQexecParams(c, "", 0, NULL, NULL, NULL, NULL, 0));
  PQfinish(c);
}

static void f_prepared(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  show(PQprepare(c, "same", "SELECT $1::int + 100", 0, NULL));
  show(PQprepare(d, "same", "SELECT $1::text || ' of another'", 0, NULL));
  show(PQprepare(c, "same", "SELECT 1", 0, NULL));
  for (int i = 0; i < 3; i++) {
    show(PQexecPrepared(c, "same", 1, (const char *const[]){"7"}, NULL, NULL, 0));
    show(PQexecPrepared(d, "same", 1, (const char *const[]){"7"}, NULL, NULL, 0));
    must(c, "BEGIN");
    show(PQexecPrepared(c, "same", 1, (const char *const[]){"8"}, NULL, NULL, 1));
    must(c, i % 2 ? "ROLLBACK" : "COMMIT");
  }
  PGresult *r = PQdescribePrepared(c, "same");
  printf("  described: %d parameters of %u, %d columns\n", PQnparams(r), PQparamtype(r, 0),
         PQnfields(r));
  PQclear(r);
  show(PQexecPrepared(c, "none", 0, NULL, NULL, NULL, 0));
  say(c, "PREPARE by_sql (int) AS SELECT $1 * 3");
  say(c, "EXECUTE by_sql(5)");
  show(PQexecPrepared(c, "by_sql", 1, (const char *const[]){"6"}, NULL, NULL, 0));
  say(c, "SELECT name, from_sql FROM pg_prepared_statements ORDER BY 1");
  say(c, "DEALLOCATE same");
  show(PQexecPrepared(c, "same", 1, (const char *const[]){"7"}, NULL, NULL, 0));
  must(c, "DISCARD ALL");
  say(c, "SELECT count(*) FROM pg_prepared_statements");
  PQfinish(c);
  PQfinish(d);
}

static void f_pipeline(void) {
  PGconn *c = open_one();
  must(c, "CREATE TEMP TABLE p (a int PRIMARY KEY)");
  EXPECT(PQenterPipelineMode(c));
  for (int part = 0; part < 3; part++) {
    for (int i = 0; i < 4; i++) {
      char sql[64];
      snprintf(sql, sizeof sql, "INSERT INTO p VALUES (%d)",
               part == 1 && i == 2 ? 0 : part * 10 + i);
      EXPECT(PQsendQueryParams(c, sql, 0, NULL, NULL, NULL, NULL, 0));
    }
    EXPECT(PQpipelineSync(c));
  }
  for (int i = 0; i < 3 * 5; i++) {
    PGresult *r = PQgetResult(c);
    if (!r) r = PQgetResult(c);
    if (!r) {
      wrong("a result is missing");
      break;
    }
    show(r);
  }
  EXPECT(PQgetResult(c) == NULL);
  EXPECT(PQexitPipelineMode(c));
  say(c, "SELECT array_agg(a ORDER BY a) FROM p");
  /* A transaction over several syncs, and a flush in the middle. */
  EXPECT(PQenterPipelineMode(c));
  static const char *const steps[] = {"BEGIN", "INSERT INTO p VALUES (100)", "SELECT 1/0",
                                      "INSERT INTO p VALUES (101)", "ROLLBACK"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    EXPECT(PQsendQueryParams(c, steps[i], 0, NULL, NULL, NULL, NULL, 0));
    EXPECT(PQpipelineSync(c));
  }
  EXPECT(PQsendQueryParams(c, "SELECT 'flushed'", 0, NULL, NULL, NULL, NULL, 0));
  EXPECT(PQsendFlushRequest(c));
  EXPECT(PQflush(c) == 0);
  for (int i = 0; i < 11; i++) {
    PGresult *r = PQgetResult(c);
    if (!r) r = PQgetResult(c);
    if (!r) break;
    show(r);
  }
  EXPECT(PQgetResult(c) == NULL);
  printf("  inside: %d\n", (int)PQtransactionStatus(c));
  EXPECT(PQpipelineSync(c));
  show(PQgetResult(c));
  EXPECT(PQexitPipelineMode(c));
  say(c, "SELECT count(*) FROM p WHERE a >= 100");
  PQfinish(c);
}

/* Many in one pipeline, with answers far larger than every buffer between. */
static void f_long_pipeline(void) {
  enum { COUNT = 400 };
  PGconn *c = open_one();
  EXPECT(PQenterPipelineMode(c));
  PQsetnonblocking(c, 1);
  uint64_t h = 14695981039346656037u;
  long long total = 0;
  int sent = 0, got = 0;
  while (got < COUNT) {
    while (sent < COUNT && PQflush(c) == 0) {
      const char *const values[] = {sent % 2 ? "100000" : "10"};
      EXPECT(PQsendQueryParams(c, "SELECT repeat('x', $1::int)", 1, NULL, values, NULL, NULL, 0));
      sent++;
      if (sent % 50 == 0) EXPECT(PQpipelineSync(c));
    }
    const int left = PQflush(c);
    struct pollfd p = {.fd = PQsocket(c), .events = (short)(POLLIN | (left == 1 ? POLLOUT : 0))};
    if (poll(&p, 1, PATIENCE_MS) != 1) {
      wrong("nothing more after %d results", got);
      break;
    }
    if (!PQconsumeInput(c)) {
      wrong("%s", PQerrorMessage(c));
      break;
    }
    while (!PQisBusy(c)) {
      PGresult *r = PQgetResult(c);
      if (!r) {
        if (PQisBusy(c)) break;
        r = PQgetResult(c);
        if (!r) break;
      }
      if (PQresultStatus(r) == PGRES_TUPLES_OK) {
        got++;
        total += PQgetlength(r, 0, 0);
        h = hash_bytes(h, PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0));
      } else if (PQresultStatus(r) != PGRES_PIPELINE_SYNC) {
        wrong("%s", PQresultErrorMessage(r));
      }
      PQclear(r);
    }
  }
  printf("  %d results, %lld bytes, %016llx\n", got, total, (unsigned long long)h);
  PQfinish(c);
}

static void copy_out(PGconn *c, const char *sql) {
  printf("  > %s\n", sql);
  PGresult *r = PQexec(c, sql);
  printf("  %s, %d columns, binary %d\n", PQresStatus(PQresultStatus(r)), PQnfields(r),
         PQbinaryTuples(r));
  PQclear(r);
  char *data;
  int size, rows = 0;
  long long total = 0;
  uint64_t h = 14695981039346656037u;
  while ((size = PQgetCopyData(c, &data, 0)) > 0) {
    rows++;
    total += size;
    h = hash_bytes(h, data, (size_t)size);
    PQfreemem(data);
  }
  printf("  %d rows, %lld bytes, %016llx, then %d\n", rows, total, (unsigned long long)h, size);
  show_all(c);
}

static void f_copy(void) {
  PGconn *c = open_one();
  must(c, "CREATE TEMP TABLE t (a int, b text)");
  show(PQexec(c, "COPY t FROM STDIN"));
  for (int i = 0; i < 50000; i++) {
    char line[64];
    const int size = snprintf(line, sizeof line, "%d\tline %d of many\n", i, i * 7);
    if (PQputCopyData(c, line, size) != 1) wrong("put: %s", PQerrorMessage(c));
  }
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  say(c, "SELECT count(*), sum(a), md5(string_agg(b, ',' ORDER BY a)) FROM t");
  copy_out(c, "COPY t TO STDOUT");
  copy_out(c, "COPY (SELECT * FROM t ORDER BY a LIMIT 1000) TO STDOUT (FORMAT csv)");
  copy_out(c, "COPY t TO STDOUT (FORMAT binary)");
  show(PQexec(c, "COPY t FROM STDIN (FORMAT binary)"));
  static const char binary[] =
      "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0"
      "\0\2\0\0\0\4\0\0\0\7\0\0\0\3abc"
      "\377\377";
  EXPECT(PQputCopyData(c, binary, (int)sizeof binary - 1) == 1);
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  say(c, "SELECT * FROM t WHERE b = 'abc'");
  PQfinish(c);
}

static void f_copy_fails(void) {
  PGconn *c = open_one();
  must(c, "CREATE TEMP TABLE t (a int)");
  show(PQexec(c, "COPY t FROM STDIN"));
  EXPECT(PQputCopyData(c, "1\nnot a number\n", 15) == 1);
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  show(PQexec(c, "COPY t FROM STDIN"));
  EXPECT(PQputCopyData(c, "1\n", 2) == 1);
  EXPECT(PQputCopyEnd(c, "the client has changed its mind") == 1);
  show_all(c);
  /* The server finds the error while the client goes on sending. */
  show(PQexec(c, "COPY t FROM STDIN"));
  EXPECT(PQputCopyData(c, "bad\n", 4) == 1);
  for (int i = 0; i < 20000; i++) PQputCopyData(c, "123456789\n", 10);
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  say(c, "COPY no_such_table FROM STDIN");
  must(c, "BEGIN");
  show(PQexec(c, "COPY t FROM STDIN"));
  EXPECT(PQputCopyData(c, "5\n", 2) == 1);
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  say(c, "ROLLBACK");
  say(c, "SELECT count(*) FROM t");
  /* Two of them in one query, and a query behind. */
  PQsendQuery(c, "COPY (SELECT 1) TO STDOUT; COPY t FROM STDIN; SELECT count(*) FROM t");
  PGresult *r;
  while ((r = PQgetResult(c)) != NULL) {
    const ExecStatusType status = PQresultStatus(r);
    show(r);
    if (status == PGRES_COPY_OUT) {
      char *data;
      while (PQgetCopyData(c, &data, 0) > 0) {
        printf("  copied: %s", data);
        PQfreemem(data);
      }
    } else if (status == PGRES_COPY_IN) {
      PQputCopyData(c, "77\n", 3);
      PQputCopyEnd(c, NULL);
    }
  }
  /* By the extended protocol: the Sync that follows Execute is passed over while it copies. */
  EXPECT(PQsendQueryParams(c, "COPY t FROM STDIN", 0, NULL, NULL, NULL, NULL, 0));
  show(PQgetResult(c));
  EXPECT(PQputCopyData(c, "78\n", 3) == 1);
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  EXPECT(PQsendQueryParams(c, "COPY t FROM STDIN", 0, NULL, NULL, NULL, NULL, 0));
  show(PQgetResult(c));
  EXPECT(PQputCopyData(c, "bad\n", 4) == 1);
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  show_all(c);
  say(c, "SELECT array_agg(a) FROM t");
  PQfinish(c);
}

static void f_cursors(void) {
  PGconn *c = open_one();
  must(c, "BEGIN");
  say(c, "DECLARE k SCROLL CURSOR FOR SELECT generate_series(1, 100)");
  say(c, "FETCH 3 FROM k");
  say(c, "FETCH LAST FROM k");
  say(c, "FETCH BACKWARD 2 FROM k");
  PGresult *r = PQdescribePortal(c, "k");
  printf("  portal: %s, %d columns\n", PQresStatus(PQresultStatus(r)), PQnfields(r));
  PQclear(r);
  say(c, "DECLARE h CURSOR WITH HOLD FOR SELECT generate_series(1, 5)");
  say(c, "COMMIT");
  say(c, "FETCH 2 FROM h");
  say(c, "FETCH 9 FROM h");
  say(c, "FETCH 1 FROM k");
  say(c, "CLOSE h");
  PQfinish(c);
}

static void f_savepoints(void) {
  PGconn *c = open_one();
  must(c, "CREATE TEMP TABLE s (a int)");
  static const char *const steps[] = {"BEGIN",           "INSERT INTO s VALUES (1)",
                                      "SAVEPOINT x",     "INSERT INTO s VALUES (2)",
                                      "SELECT 1/0",      "SELECT 1",
                                      "ROLLBACK TO x",   "INSERT INTO s VALUES (3)",
                                      "RELEASE x",       "COMMIT",
                                      "SELECT * FROM s", "ROLLBACK TO x"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    say(c, steps[i]);
    printf("  status %d\n", (int)PQtransactionStatus(c));
  }
  PQfinish(c);
}

static void f_listen(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  say(c, "LISTEN news");
  must(d, "SELECT 1");
  for (int i = 0; i < 3; i++) {
    char sql[64];
    snprintf(sql, sizeof sql, "NOTIFY news, 'number %d'", i);
    must(d, sql);
    PGnotify *n = next_notify(c, PATIENCE_MS); /* while c is idle */
    printf("  %s: %s\n", n ? n->relname : "nothing", n ? n->extra : "");
    EXPECT(n && n->be_pid == PQbackendPID(d));
    PQfreemem(n);
  }
  must(c, "BEGIN");
  must(d, "NOTIFY news, 'within a transaction'");
  must(c, "SELECT 1");
  EXPECT(next_notify(c, 20) == NULL);
  must(c, "COMMIT");
  PGnotify *n = next_notify(c, PATIENCE_MS);
  printf("  %s: %s\n", n ? n->relname : "nothing", n ? n->extra : "");
  PQfreemem(n);
  say(c, "UNLISTEN *");
  must(d, "NOTIFY news, 'to nobody'");
  must(c, "SELECT 1");
  EXPECT(next_notify(c, 20) == NULL);
  PQfinish(c);
  PQfinish(d);
}

static void f_advisory(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  say(c, "SELECT pg_advisory_lock(42)");
  must(c, "SELECT 1");
  say(d, "SELECT pg_try_advisory_lock(42)");
  say(c, "SELECT pg_advisory_unlock(42)");
  say(d, "SELECT pg_try_advisory_lock(42)");
  say(c, "SELECT pg_try_advisory_lock(42)");
  PQfinish(d);
  say(c, "SELECT pg_advisory_lock(42)"); /* once the other's session has ended */
  d = open_one();
  must(c, "BEGIN");
  say(c, "SELECT pg_try_advisory_xact_lock(43)");
  say(d, "SELECT pg_try_advisory_lock(43)");
  must(c, "ROLLBACK");
  say(d, "SELECT pg_try_advisory_lock(43)");
  PQfinish(c);
  PQfinish(d);
}

static void f_temporary(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  must(c, "CREATE TEMP TABLE mine (a int)");
  must(c, "INSERT INTO mine VALUES (1), (2)");
  say(c, "SELECT count(*) FROM mine");
  say(d, "SELECT count(*) FROM mine");
  must(c, "CREATE TEMP TABLE short (a int) ON COMMIT DELETE ROWS");
  must(c, "INSERT INTO short VALUES (1)");
  say(c, "SELECT count(*) FROM short");
  say(c, "SELECT count(*) FROM mine");
  PQfinish(c);
  PQfinish(d);
}

static void f_settings(void) {
  PGconn *c = open_one();
  say(c, "SET statement_timeout = 12345");
  say(c, "SET search_path = nowhere");
  say(c, "SHOW statement_timeout");
  must(c, "BEGIN");
  must(c, "SET LOCAL work_mem = '1MB'");
  say(c, "SHOW work_mem");
  must(c, "COMMIT");
  say(c, "SHOW work_mem");
  say(c, "SET ROLE by_trust");
  say(c, "SELECT current_user, session_user");
  for (int i = 0; i < 4; i++) { /* none of them shows up elsewhere */
    PGconn *d = open_one();
    say(d,
        "SELECT current_setting('statement_timeout'), current_setting('search_path'), "
        "current_user");
    PQfinish(d);
  }
  say(c,
      "SELECT current_setting('statement_timeout'), current_setting('search_path'), current_user");
  PQfinish(c);
}

static void f_large_objects(void) {
  PGconn *c = open_one();
  must(c, "BEGIN");
  const Oid object = lo_creat(c, INV_READ | INV_WRITE);
  EXPECT(object != InvalidOid);
  const int fd = lo_open(c, object, INV_READ | INV_WRITE);
  char *block = malloc(1 << 20);
  for (int i = 0; i < 1 << 20; i++) block[i] = (char)(i * 31 >> 3);
  for (int i = 0; i < 3; i++) EXPECT(lo_write(c, fd, block, 1 << 20) == 1 << 20);
  printf("  at %lld\n", (long long)lo_tell64(c, fd));
  printf("  to %lld\n", (long long)lo_lseek64(c, fd, 12345, SEEK_SET));
  char part[64];
  const int count = lo_read(c, fd, part, sizeof part);
  printf("  read %d, %016llx\n", count, (unsigned long long)hash_bytes(1, part, (size_t)count));
  EXPECT(memcmp(part, block + 12345, sizeof part) == 0);
  EXPECT(lo_truncate64(c, fd, 100) == 0);
  printf("  ends at %lld\n", (long long)lo_lseek64(c, fd, 0, SEEK_END));
  EXPECT(lo_close(c, fd) == 0);
  must(c, "COMMIT");
  must(c, "BEGIN");
  EXPECT(lo_unlink(c, object) == 1);
  printf("  again: %d\n", lo_unlink(c, object));
  must(c, "ROLLBACK");
  must(c, "BEGIN");
  EXPECT(lo_unlink(c, object) == 1);
  must(c, "COMMIT");
  free(block);
  PQfinish(c);
}

static void f_function_call(void) {
  PGconn *c = open_one();
  const PQArgBlock arguments[] = {{.len = 4, .isint = 1, .u.integer = 40},
                                  {.len = 4, .isint = 1, .u.integer = 2}};
  int result = 0, length = 0;
  for (int i = 0; i < 3; i++) { /* int4pl is 177 in every PostgreSQL */
    show(PQfn(c, 177, &result, &length, 1, arguments, 2));
    printf("  %d of %d bytes\n", result, length);
  }
  show(PQfn(c, 999999, &result, &length, 1, arguments, 2));
  say(c, "SELECT 'after it'");
  PQfinish(c);
}

static void f_large(void) {
  PGconn *c = open_one();
  char *big = malloc(BIG + 1);
  for (int i = 0; i < 1 << 15; i++) big[i] = (char)('a' + i * 7 % 26);
  for (int size = 1 << 15; size < BIG; size *= 2) memcpy(big + size, big, (size_t)size);
  big[BIG] = '\0';
  const char *const values[] = {big};
  show(PQexecParams(c, "SELECT length($1::text), md5($1::text)", 1, NULL, values, NULL, NULL, 0));
  char sql[64];
  snprintf(sql, sizeof sql, "SELECT repeat('y', %d), 1", BIG);
  say(c, sql);
  show(PQexecParams(c, "SELECT $1::text", 1, NULL, values, NULL, NULL, 0));
  show(PQexecParams(c, "SELECT generate_series(1, 200000), 'row'", 0, NULL, NULL, NULL, NULL, 1));
  free(big);
  PQfinish(c);
}

static void f_notices(void) {
  PGconn *c = open_one();
  say(c,
      "DO $$ BEGIN FOR i IN 1..3 LOOP RAISE NOTICE 'number %', i; END LOOP; "
      "RAISE WARNING 'the last' USING HINT = 'none', ERRCODE = '01234'; END $$");
  say(c, "DROP TABLE IF EXISTS there_is_none");
  say(c, "ROLLBACK");
  PQfinish(c);
}

static void f_errors(void) {
  PGconn *c = open_one();
  say(c, "SELECT 1/0");
  say(c, "SELEC 1");
  say(c, "SELECT * FROM there_is_none");
  must(c, "CREATE TEMP TABLE e (a int PRIMARY KEY CHECK (a > 0))");
  say(c, "INSERT INTO e VALUES (-1)");
  say(c, "INSERT INTO e VALUES (1), (1)");
  say(c, "DO $$ BEGIN RAISE 'own' USING DETAIL = 'd', HINT = 'h', ERRCODE = 'ZZ123'; END $$");
  must(c, "BEGIN");
  say(c, "SELECT 1/0");
  printf("  status %d\n", (int)PQtransactionStatus(c));
  say(c, "SELECT 1");
  say(c, "COMMIT");
  printf("  status %d\n", (int)PQtransactionStatus(c));
  say(c, "SET statement_timeout = 20");
  say(c, "SELECT pg_sleep(60)");
  say(c, "SET statement_timeout = 0");
  say(c, "SELECT 'goes on'");
  PQfinish(c);
}

static void f_single_row(void) {
  PGconn *c = open_one();
  EXPECT(PQsendQuery(c, "SELECT i, repeat('z', i % 100) FROM generate_series(1, 20000) i"));
  EXPECT(PQsetSingleRowMode(c));
  int rows = 0;
  uint64_t h = 14695981039346656037u;
  for (PGresult *r; (r = PQgetResult(c)) != NULL; PQclear(r)) {
    if (PQresultStatus(r) == PGRES_SINGLE_TUPLE) {
      rows++;
      h = hash_bytes(h, PQgetvalue(r, 0, 1), (size_t)PQgetlength(r, 0, 1));
    } else {
      printf("  %s %s\n", PQresStatus(PQresultStatus(r)), PQcmdStatus(r));
    }
  }
  printf("  %d rows %016llx\n", rows, (unsigned long long)h);
  EXPECT(PQsendQuery(c, "SELECT 10 / (3 - i) FROM generate_series(1, 5) i"));
  EXPECT(PQsetSingleRowMode(c));
  show_all(c);
  PQfinish(c);
}

static void f_cancel(void) {
  PGconn *c = open_one();
  PGcancel *cancel = PQgetCancel(c);
  char error[256];
  for (int i = 0; i < 3; i++) {
    must(c, i ? "BEGIN" : "SELECT 1");
    EXPECT(PQsendQuery(c, "SELECT pg_sleep(60)"));
    EXPECT(PQflush(c) == 0);
    while (!readable(c, 30)) { /* it may come before the query has begun: ask again */
      if (!PQcancel(cancel, error, sizeof error)) wrong("%s", error);
    }
    show_all(c);
    if (i) must(c, "ROLLBACK");
  }
  PQfreeCancel(cancel);
  PQfinish(c);
}

static void f_idle_in_transaction(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  must(c, "BEGIN");
  must(c, "CREATE TABLE it (a int)");
  for (int i = 0; i < 5; i++) say(d, "SELECT to_regclass('it')");
  printf("  status %d\n", (int)PQtransactionStatus(c));
  must(c, "COMMIT");
  say(d, "SELECT to_regclass('it')");
  must(d, "DROP TABLE it");
  must(c, "BEGIN");
  PQfinish(c); /* in the middle of it */
  say(d, "SELECT 'goes on'");
  PQfinish(d);
}

static void f_locks(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  must(c, "CREATE TABLE locked (a int PRIMARY KEY, b int)");
  must(c, "INSERT INTO locked VALUES (1, 0), (2, 0)");
  must(c, "SET deadlock_timeout = '50ms'");
  must(d, "SET deadlock_timeout = '10s'");
  must(c, "BEGIN");
  must(d, "BEGIN");
  must(c, "UPDATE locked SET b = 1 WHERE a = 1");
  must(d, "UPDATE locked SET b = 1 WHERE a = 2");
  EXPECT(PQsendQuery(d, "UPDATE locked SET b = 2 WHERE a = 1"));
  EXPECT(PQflush(d) == 0);
  for (bool waits = false; !waits;) {
    char *count = value_of(c, "SELECT count(*) FROM pg_locks WHERE NOT granted");
    waits = atoi(count) > 0;
    free(count);
  }
  PGresult *r = PQexec(c, "UPDATE locked SET b = 2 WHERE a = 2");
  printf("  %s %s\n", PQresStatus(PQresultStatus(r)), PQresultErrorField(r, PG_DIAG_SQLSTATE));
  PQclear(r);
  must(c, "ROLLBACK");
  show_all(d);
  must(d, "COMMIT");
  say(c, "SELECT * FROM locked ORDER BY 1");
  must(c, "DROP TABLE locked");
  PQfinish(c);
  PQfinish(d);
}

static void f_two_phase(void) {
  PGconn *c = open_one();
  must(c, "CREATE TABLE two (a int)");
  must(c, "BEGIN");
  must(c, "INSERT INTO two VALUES (1)");
  say(c, "PREPARE TRANSACTION 'first'");
  PQfinish(c);
  c = open_one();
  say(c, "SELECT count(*) FROM two");
  say(c, "COMMIT PREPARED 'first'");
  say(c, "SELECT count(*) FROM two");
  must(c, "DROP TABLE two");
  PQfinish(c);
}

static void f_procedures(void) {
  PGconn *c = open_one();
  must(c, "CREATE TABLE proc (a int)");
  must(c,
       "CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..4 LOOP "
       "INSERT INTO proc VALUES (i); IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF; "
       "END LOOP; END $$");
  say(c, "CALL fill()");
  say(c, "SELECT array_agg(a) FROM proc");
  say(c, "BEGIN; CALL fill(); COMMIT");
  say(c, "ROLLBACK");
  must(c, "DROP PROCEDURE fill");
  must(c, "DROP TABLE proc");
  PQfinish(c);
}

static void f_terminated(void) {
  PGconn *c = open_one();
  PGconn *d = open_one();
  char sql[64];
  must(c, "SELECT 1");
  snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d)", PQbackendPID(c));
  must(d, sql);
  EXPECT(readable(c, PATIENCE_MS)); /* c is idle */
  say(c, "SELECT 1");
  EXPECT(PQstatus(c) == CONNECTION_BAD);
  PQfinish(c);
  c = open_one();
  must(c, "BEGIN");
  EXPECT(PQsendQuery(c, "SELECT pg_sleep(60)"));
  snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d)", PQbackendPID(c));
  must(d, sql);
  PGresult *r = PQgetResult(c);
  printf("  %s\n", PQresultErrorField(r, PG_DIAG_SQLSTATE) ? PQresultErrorField(r, PG_DIAG_SQLSTATE)
                                                           : PQresultErrorMessage(r));
  PQclear(r);
  PQfinish(c);
  PQfinish(d);
}

static void f_many(void) {
  PGconn *c = open_one();
  long sum = 0;
  for (int i = 0; i < 1000; i++) {
    PGresult *r =
        i % 2 ? PQexec(c, "SELECT 3") : PQexecParams(c, "SELECT 4", 0, NULL, NULL, NULL, NULL, 0);
    if (PQresultStatus(r) == PGRES_TUPLES_OK) sum += atoi(PQgetvalue(r, 0, 0));
    PQclear(r);
  }
  printf("  sum %ld\n", sum);
  PQfinish(c);
}

/* ---- replication ---- */

static PGconn *open_replication(const char *kind) {
  PGconn *c = try_connect(features_replication, kind);
  if (PQstatus(c) != CONNECTION_OK) wrong("replication: %s", PQerrorMessage(c));
  return c;
}

static void put_u64(char *at, uint64_t value) {
  for (int i = 0; i < 8; i++) at[i] = (char)(value >> (56 - 8 * i));
}

static void send_status(PGconn *c) {
  char status[34] = {'r'};
  put_u64(status + 1, 1);
  put_u64(status + 9, 1);
  put_u64(status + 17, 1);
  EXPECT(PQputCopyData(c, status, sizeof status) == 1 && PQflush(c) == 0);
}

/* The next message of the log, 0 if there is none; keepalives are passed over. */
static int next_log(PGconn *c, char **data) {
  for (;;) {
    const int size = PQgetCopyData(c, data, 1);
    if (size == 0) {
      if (!readable(c, PATIENCE_MS) || !PQconsumeInput(c)) return 0;
    } else if (size < 0 || **data == 'w') {
      return size < 0 ? 0 : size;
    } else {
      PQfreemem(*data);
    }
  }
}

static void f_logical(void) {
  PGconn *d = open_one();
  must(d, "CREATE TABLE r (a int PRIMARY KEY, b text)");
  must(d, "CREATE PUBLICATION pub FOR TABLE r");
  PGconn *c = open_replication("replication=database");
  PGresult *r = PQexec(c, "IDENTIFY_SYSTEM");
  printf("  IDENTIFY_SYSTEM: %s, %d columns, database %s\n", PQresStatus(PQresultStatus(r)),
         PQnfields(r), PQgetvalue(r, 0, 3));
  PQclear(r);
  r = PQexec(c, "CREATE_REPLICATION_SLOT slot TEMPORARY LOGICAL pgoutput");
  printf("  slot %s by %s\n", PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 3));
  PQclear(r);
  r = PQexec(c,
             "START_REPLICATION SLOT slot LOGICAL 0/0 "
             "(proto_version '1', publication_names 'pub')");
  printf("  %s\n", PQresStatus(PQresultStatus(r)));
  PQclear(r);
  send_status(c);
  for (int i = 0; i < 3; i++) { /* while it copies, others have their transactions */
    char sql[96];
    snprintf(sql, sizeof sql, "INSERT INTO r VALUES (%d, 'row %d')", i, i);
    must(d, sql);
    for (bool committed = false; !committed;) {
      char *data;
      const int size = next_log(c, &data);
      if (!size) {
        wrong("the log ended: %s", PQerrorMessage(c));
        break;
      }
      printf("  log: %c\n", data[25]);
      committed = data[25] == 'C';
      PQfreemem(data);
    }
    send_status(c);
  }
  EXPECT(PQputCopyEnd(c, NULL) == 1);
  char *data;
  while (PQgetCopyData(c, &data, 0) > 0) PQfreemem(data);
  show_all(c);
  r = PQexec(c, "SHOW wal_level"); /* and the connection goes on */
  printf("  %s\n", PQgetvalue(r, 0, 0));
  PQclear(r);
  say(c, "SELECT count(*) FROM r");
  PQfinish(c);
  must(d, "DROP PUBLICATION pub");
  must(d, "DROP TABLE r");
  PQfinish(d);
}

static void f_physical(void) {
  PGconn *d = open_one();
  PGconn *c = open_replication("replication=true");
  PGresult *r = PQexec(c, "IDENTIFY_SYSTEM");
  char sql[128];
  snprintf(sql, sizeof sql, "START_REPLICATION PHYSICAL %s TIMELINE %s", PQgetvalue(r, 0, 2),
           PQgetvalue(r, 0, 1));
  printf("  IDENTIFY_SYSTEM: %s, %d columns\n", PQresStatus(PQresultStatus(r)), PQnfields(r));
  PQclear(r);
  r = PQexec(c, sql);
  printf("  %s\n", PQresStatus(PQresultStatus(r)));
  PQclear(r);
  must(d, "CREATE TABLE w AS SELECT generate_series(1, 10000) a");
  must(d, "SELECT pg_switch_wal()");
  long long total = 0;
  while (total < 200000) {
    char *data;
    const int size = next_log(c, &data);
    if (!size) break;
    total += size - 25;
    PQfreemem(data);
  }
  EXPECT(total >= 200000);
  PQfinish(c); /* without a goodbye to the copy */
  must(d, "DROP TABLE w");
  PQfinish(d);
}

/* ---- all of them ---- */

static const struct {
  const char *name;
  void (*run)(void);
} features_all[] = {
    {"session", f_session},
    {"authentication", f_authentication},
    {"startup_options", f_startup_options},
    {"simple", f_simple},
    {"extended", f_extended},
    {"prepared", f_prepared},
    {"pipeline", f_pipeline},
    {"long_pipeline", f_long_pipeline},
    {"copy", f_copy},
    {"copy_fails", f_copy_fails},
    {"cursors", f_cursors},
    {"savepoints", f_savepoints},
    {"listen", f_listen},
    {"advisory", f_advisory},
    {"temporary", f_temporary},
    {"settings", f_settings},
    {"large_objects", f_large_objects},
    {"function_call", f_function_call},
    {"large", f_large},
    {"notices", f_notices},
    {"errors", f_errors},
    {"single_row", f_single_row},
    {"cancel", f_cancel},
    {"idle_in_transaction", f_idle_in_transaction},
    {"locks", f_locks},
    {"two_phase", f_two_phase},
    {"procedures", f_procedures},
    {"terminated", f_terminated},
    {"many", f_many},
    {"logical", f_logical},
    {"physical", f_physical},
};

static bool asked_for(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return count == 0;
}

static void run_all(int count, char **names) {
  for (size_t i = 0; i < sizeof features_all / sizeof *features_all; i++) {
    if (!asked_for(features_all[i].name, count, names)) continue;
    printf("%s\n", features_all[i].name);
    fflush(stdout);
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    features_all[i].run();
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    fprintf(stderr, "%s: %.3f s\n", features_all[i].name,
            (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec));
  }
}

/* ---- cancel among neighbours ---- */

static atomic_bool cancel_over;
static atomic_long cancel_neighbours_queries;
static atomic_int cancel_neighbours_hit;

/* A query that says that it runs, and then runs for long. */
#define SAY_AND_SLEEP "DO $$ BEGIN RAISE NOTICE 'runs'; PERFORM pg_sleep(%s); END $$"

static void note_that_it_runs(void *runs, const PGresult *result) {
  (void)result;
  *(bool *)runs = true;
}

static void *neighbour(void *conninfo) {
  PGconn *c = PQconnectdb(conninfo);
  bool runs = false;
  PQsetNoticeReceiver(c, note_that_it_runs, &runs);
  char sql[128];
  snprintf(sql, sizeof sql, SAY_AND_SLEEP, "0.002");
  while (!atomic_load(&cancel_over)) {
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK) {
      atomic_fetch_add(&cancel_neighbours_hit, 1);
      fprintf(stderr, "a neighbour: %s", PQresultErrorMessage(r));
    }
    PQclear(r);
    atomic_fetch_add(&cancel_neighbours_queries, 1);
  }
  PQfinish(c);
  return NULL;
}

static bool cancel_once(PGconn *c, bool *runs) {
  char sql[128], error[256];
  snprintf(sql, sizeof sql, SAY_AND_SLEEP, "60");
  *runs = false;
  if (!PQsendQuery(c, sql)) return false;
  while (!*runs) { /* it has its permit, and is at work */
    if (!readable(c, PATIENCE_MS) || !PQconsumeInput(c)) return false;
    if (!PQisBusy(c)) break;
  }
  PGcancel *cancel = PQgetCancel(c);
  const bool sent = PQcancel(cancel, error, sizeof error);
  PQfreeCancel(cancel);
  if (!sent) fprintf(stderr, "cancel: %s\n", error);
  bool hit = false;
  for (PGresult *r; (r = PQgetResult(c)) != NULL; PQclear(r)) {
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    hit = hit || (state && strcmp(state, "57014") == 0);
  }
  return sent && hit;
}

static int cancel_many(int tries, int neighbours, char *conninfo) {
  pthread_t threads[64];
  if (neighbours > 64) neighbours = 64;
  for (int i = 0; i < neighbours; i++) pthread_create(&threads[i], NULL, neighbour, conninfo);
  PGconn *c = PQconnectdb(conninfo);
  bool runs = false;
  PQsetNoticeReceiver(c, note_that_it_runs, &runs);
  int hits = 0;
  for (int i = 0; i < tries; i++) hits += cancel_once(c, &runs);
  /* One that comes too late hits nothing. */
  PGcancel *cancel = PQgetCancel(c);
  char error[256];
  for (int i = 0; i < 5; i++) {
    if (!PQcancel(cancel, error, sizeof error)) fprintf(stderr, "cancel: %s\n", error);
  }
  PQfreeCancel(cancel);
  atomic_store(&cancel_over, true);
  for (int i = 0; i < neighbours; i++) pthread_join(threads[i], NULL);
  PQfinish(c);
  printf("%d of %d hit; %ld queries of neighbours, %d of them hit\n", hits, tries,
         atomic_load(&cancel_neighbours_queries), atomic_load(&cancel_neighbours_hit));
  return hits == tries && atomic_load(&cancel_neighbours_hit) == 0 &&
                 atomic_load(&cancel_neighbours_queries) > neighbours
             ? 0
             : 1;
}

int main(int count, char **arguments) {
  if (count >= 4 && strcmp(arguments[1], "all") == 0) {
    features_conninfo = arguments[2];
    features_replication = arguments[3];
    run_all(count - 4, arguments + 4);
    return features_wrong ? 1 : 0;
  }
  if (count == 5 && strcmp(arguments[1], "cancel") == 0) {
    return cancel_many(atoi(arguments[2]), atoi(arguments[3]), arguments[4]);
  }
  fprintf(stderr,
          "usage: %s all CONNINFO REPLICATION [name]...\n"
          "       %s cancel TRIES NEIGHBOURS CONNINFO\n",
          arguments[0], arguments[0]);
  return 2;
}
