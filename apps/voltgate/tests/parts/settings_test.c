/* settings_test.c: what options and files become, what is wrong with them, and what a reload
 * changes. A file is a row: its text, and the lines that must be said of it. */
#define _GNU_SOURCE /* mkdtemp */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/cluster.h>
#include <volt/tls.h>

#include "config/command.h"
#include "config/options.h"
#include "config/settings.h"

#define S UINT64_C(1000000000)

static char directory[] = "/tmp/voltgate-settings-XXXXXX";
static char config_path[64], token_path[64];

static void write_file(const char *path, const char *text, mode_t mode) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  assert_int_equal(chmod(path, mode), 0);
}

/* ---- reading ---- */

enum { WORDS = 32 };

/* Read these words, as a reload does. Returns what is wrong. */
static char *read_words(struct settings *s, const char *const *words) {
  char *argv[WORDS] = {(char *)(uintptr_t) "voltgate"};
  int argc = 1;
  for (; words[argc - 1] != NULL; argc++) argv[argc] = (char *)(uintptr_t)words[argc - 1];
  return settings_reread(s, argc, argv);
}

#define READ(s, ...) read_words(s, (const char *const[]){__VA_ARGS__, NULL})

static char *read_ini(struct settings *s, const char *text) {
  write_file(config_path, text, 0644);
  return READ(s, "--config", config_path);
}

static void ini_is_right(struct settings *s, const char *text) {
  char *wrong = read_ini(s, text);
  if (wrong != NULL) fail_msg("it is refused: %s", wrong);
}

/* Lines begin with the file's path; it is put in for "FILE:". */
static void expect_lines(const char *text, const char *expected) {
  char full[4096] = "";
  for (const char *at = expected; *at != '\0';) {
    bool is_file = strncmp(at, "FILE:", 5) == 0;
    size_t n = strlen(full);
    snprintf(full + n, sizeof full - n, is_file ? "%s" : "%.1s", is_file ? config_path : at);
    at += is_file ? 4 : 1;
  }
  assert_non_null(text);
  assert_string_equal(text, full);
}

static void ini_is_wrong(const char *text, const char *expected) {
  struct settings s;
  char *wrong = read_ini(&s, text);
  if (wrong == NULL) {
    settings_free(&s);
    fail_msg("it is taken: %s", text);
  }
  expect_lines(wrong, expected);
  free(wrong);
}

static void ini_is_warned_of(const char *text, const char *expected) {
  struct settings s;
  ini_is_right(&s, text);
  expect_lines(s.warnings, expected);
  settings_free(&s);
}

static void options_are_wrong_(const char *expected, const char *const *words) {
  struct settings s;
  char *wrong = read_words(&s, words);
  if (wrong == NULL) settings_free(&s);
  expect_lines(wrong, expected);
  free(wrong);
}
#define options_are_wrong(expected, ...) \
  options_are_wrong_(expected, (const char *const[]){__VA_ARGS__, NULL})

#define GATE "[gate main]\nlisten=:6432\nto=db:5432\n" /* three lines */

/* ---- what is right ---- */

static void one_gate_by_options(void **state) {
  (void)state;
  struct settings s;
  assert_null(READ(&s, "--listen", ":6432", "--to=127.0.0.1:5432", "--protocol", "postgres",
                   "--limit=16", "--queue-timeout", "1.5s", "--listen", "unix:/run/x"));
  assert_int_equal(s.gate_count, 1);
  const struct gate_settings *g = settings_gate(&s, "main");
  assert_non_null(g);
  assert_int_equal(g->listen_count, 2);
  assert_string_equal(g->listen[1], "unix:/run/x");
  assert_string_equal(g->to, "127.0.0.1:5432");
  assert_int_equal(g->protocol, PROTOCOL_POSTGRES);
  assert_int_equal(g->refuse, REFUSE_POSTGRES);
  assert_int_equal(g->limit, 16);
  assert_true(g->queue_timeout_ns == 3 * S / 2);
  assert_null(settings_gate(&s, "other"));
  settings_free(&s);
}

static void what_is_not_given_has_its_default(void **state) {
  (void)state;
  struct settings s;
  ini_is_right(&s, GATE);
  const struct gate_settings *g = &s.gates[0];
  assert_int_equal(g->protocol, PROTOCOL_TCP);
  assert_int_equal(g->limit, 100);
  assert_int_equal(g->queue, 1000);
  assert_int_equal(g->clients, 10000);
  assert_true(g->queue_timeout_ns == 5 * S && g->connect_timeout_ns == 5 * S);
  assert_true(g->server_timeout_ns == 0 && g->idle_timeout_ns == 0 && g->max_age_ns == 0);
  assert_true(g->idle_in_transaction_ns == 0 && g->login_timeout_ns == 10 * S);
  assert_true(g->drain_timeout_ns == 30 * S);
  assert_int_equal(g->refuse, REFUSE_CLOSE);
  assert_int_equal(g->half_close, HALF_CLOSE_LEAVE);
  assert_int_equal(g->breaker_failures, 3);
  assert_true(g->breaker_retry_ns == S / 4);
  assert_true(g->shed_target_ns == 0 && g->shed_interval_ns == S / 10);
  assert_int_equal(g->proxy_in, PROXY_HEADER_NO);
  assert_int_equal(g->tenant_by, TENANT_BY_NONE);
  assert_int_equal(g->tenant_ipv6_bits, 64);
  assert_int_equal(g->tenant_default.limit, 0);
  assert_int_equal(g->tenant_default.weight, 1);
  assert_int_equal(g->tenant_default.cost, 1);
  assert_int_equal(g->tenant_max, 1000);
  assert_int_equal(g->tls, TLS_MODE_OFF);
  assert_int_equal(g->tls_min, VOLT_TLS_1_2);
  assert_false(g->tls_required);
  assert_int_equal(s.workers, 0);
  assert_int_equal(s.io, IO_EPOLL);
  assert_null(s.metrics);
  assert_null(s.token);
  assert_string_equal(s.log.path, "-");
  assert_int_equal(s.log.level, LOG_INFO);
  assert_null(s.access.path);
  assert_int_equal(s.nofile, 0);
  assert_null(s.warnings);
  settings_free(&s);
}

static void a_file_has_gates_and_tenants(void **state) {
  (void)state;
  struct settings s;
  ini_is_right(&s,
               "[tenant shop/web]\nweight = 3\n" /* before its gate */
               "[voltgate]\nworkers = 2\nmetrics = :9090\naccess-log = -\nlog = none\n"
               "[gate main]\nlisten = 127.0.0.1:1, [::1]:1\nto = unix:/run/pg\nqueue = 0\n"
               "[gate shop]\nlisten = :2\nlisten = :3\nto = db:5432\nprotocol = postgres\n"
               "tenant-by = user\ntenant-limit = 4\n"
               "[tenant shop/batch]\nlimit = 1\ncost = 1\n"
               "[tenant shop/a/b c]\n");
  assert_int_equal(s.gate_count, 2);
  assert_int_equal(s.workers, 2);
  assert_string_equal(s.metrics, "127.0.0.1:9090");
  assert_string_equal(s.access.path, "-");
  assert_null(s.log.path);
  assert_int_equal(settings_gate(&s, "main")->listen_count, 2);
  assert_string_equal(settings_gate(&s, "main")->listen[1], "[::1]:1");
  const struct gate_settings *g = settings_gate(&s, "shop");
  assert_int_equal(g->listen_count, 2);
  assert_int_equal(g->tenant_count, 3);
  assert_int_equal(settings_tenant(g, "web")->weight, 3);
  assert_int_equal(settings_tenant(g, "web")->limit, 0);
  assert_int_equal(settings_tenant(g, "batch")->limit, 1);
  assert_string_equal(settings_tenant(g, "a/b c")->name, "a/b c");
  assert_ptr_equal(settings_tenant(g, "nobody"), &g->tenant_default);
  assert_ptr_equal(settings_tenant(g, ""), &g->tenant_default);
  assert_int_equal(settings_tenant(g, "x")->limit, 4);
  settings_free(&s);
}

static void each_of_many_tenants_is_found(void **state) {
  (void)state;
  enum { MANY = 999 };
  struct settings s;
  char *text = malloc(100 * MANY);
  assert_non_null(text);
  size_t n = (size_t)sprintf(text, GATE "tenant-by=source\n");
  for (unsigned i = 0; i < MANY; i++) {
    n += (size_t)sprintf(text + n, "[tenant main/t%u]\nlimit=%u\n", i * 7919 % MANY,
                         i * 7919 % MANY % 90 + 1);
  }
  ini_is_right(&s, text);
  free(text);
  for (unsigned i = 0; i < MANY; i++) {
    char name[16];
    sprintf(name, "t%u", i);
    assert_string_equal(settings_tenant(&s.gates[0], name)->name, name);
    assert_int_equal(settings_tenant(&s.gates[0], name)->limit, i % 90 + 1);
  }
  assert_null(settings_tenant(&s.gates[0], "t999")->name);
  settings_free(&s);
}

static void options_go_before_the_file(void **state) {
  (void)state;
  struct settings s;
  write_file(config_path,
             "[voltgate]\nlog-level=debug\nworkers=3\n"
             "[gate main]\nlisten=:1\nto=db:5432\nlimit=5\nqueue=7\n"
             "[gate other]\nlisten=:2\nto=db:5432\nlimit=6\n",
             0644);
  assert_null(
      READ(&s, "--workers", "1", "--config", config_path, "--limit", "9", "--listen", ":3"));
  assert_int_equal(s.workers, 1);
  assert_int_equal(s.log.level, LOG_DEBUG);
  const struct gate_settings *g = settings_gate(&s, "main");
  assert_int_equal(g->limit, 9);
  assert_int_equal(g->queue, 7);
  assert_int_equal(g->listen_count, 1);
  assert_string_equal(strrchr(g->listen[0], ':'), ":3");
  assert_int_equal(settings_gate(&s, "other")->limit, 6);
  settings_free(&s);
}

static void tenant_by_source_has_bits(void **state) {
  (void)state;
  struct settings s;
  ini_is_right(&s, GATE "tenant-by = source/24\ntenant-by-ipv6-bits = 48\n");
  assert_int_equal(s.gates[0].tenant_by, TENANT_BY_SOURCE);
  assert_int_equal(s.gates[0].tenant_ipv4_bits, 24);
  assert_int_equal(s.gates[0].tenant_ipv6_bits, 48);
  settings_free(&s);
  ini_is_right(&s, GATE "tenant-by = source\n");
  assert_int_equal(s.gates[0].tenant_ipv4_bits, 32);
  settings_free(&s);
}

static void tls_is_required_where_it_cannot_be_asked_for(void **state) {
  (void)state;
  struct settings s;
  char text[512];
  write_file(token_path, "x", 0600); /* a file that is there */
  snprintf(text, sizeof text, GATE "tls=server\ntls-cert=%s\ntls-key=%s\ntls-min=1.3\n", token_path,
           token_path);
  ini_is_right(&s, text);
  assert_true(s.gates[0].tls_required);
  assert_int_equal(s.gates[0].tls_min, VOLT_TLS_1_3);
  settings_free(&s);
  strcat(text, "protocol=postgres\n");
  ini_is_right(&s, text);
  assert_false(s.gates[0].tls_required);
  settings_free(&s);
}

/* ---- what is wrong ---- */

static void names_that_are_not_known(void **state) {
  (void)state;
  ini_is_wrong(GATE "limt = 5\n", "FILE:4: limt: there is no such key; is limit meant?");
  ini_is_wrong(GATE "workers = 5\n", "FILE:4: workers: it belongs in a section [voltgate]");
  ini_is_wrong("[voltgate]\nqueue = 5\n" GATE,
               "FILE:2: queue: it belongs in a section [gate NAME]");
  ini_is_wrong(GATE "xyzzy = 5\n", "FILE:4: xyzzy: there is no such key");
  ini_is_wrong("limit = 5\n" GATE, "FILE:1: limit: it stands before the first section");
  ini_is_wrong(GATE "[gates x]\nlimit = x\n",
               "FILE:4: [gates x]: there is no such section: want [voltgate], [gate NAME] or "
               "[tenant GATE/NAME]");
  ini_is_wrong("[voltgate]\nconfig = x\n" GATE,
               "FILE:2: config: it is an option of the command line only");
  ini_is_wrong("[voltgate]\ntoken = x\n" GATE,
               "FILE:2: token: there is no such key; is token-file meant?");
  options_are_wrong("voltgate: --qeue: there is no such option; is --queue meant?", "--listen",
                    ":1", "--to", "db:1", "--qeue", "5");
  options_are_wrong("voltgate: --token: there is no such option; is --token-file meant?",
                    "--listen", ":1", "--to", "db:1", "--token", "secret");
  options_are_wrong("voltgate: 'x' is no option", "--listen", ":1", "--to", "db:1", "x");
  options_are_wrong("voltgate: -l: options begin with --", "--listen", ":1", "--to", "db:1", "-l");
  options_are_wrong(
      "voltgate: --limit: it needs a value: a number from 1 to 1000000\n"
      "voltgate: --queue: it needs a value: a number from 0 to 1000000",
      "--listen", ":1", "--to", "db:1", "--limit", "--queue");
}

static void values_that_are_not_allowed(void **state) {
  (void)state;
  ini_is_wrong(GATE
               "limit = 0\nprotocol = http\nqueue-timeout = 5\nbreaker-retry = 1ms\n"
               "half-close =\ntenant-by = source/33\ntls-required = true\n",
               "FILE:4: limit: '0' is not allowed: want a number from 1 to 1000000\n"
               "FILE:5: protocol: 'http' is not allowed: want one of tcp, postgres, redis, permit\n"
               "FILE:6: queue-timeout: '5': a time needs a unit, as 5ms or 5s\n"
               "FILE:7: breaker-retry: '1ms' is not allowed: want a time, as 250ms, 1.5s, 2m or "
               "1h, at least 10ms, at most 365d\n"
               "FILE:8: half-close: '' is not allowed: want one of leave, keep\n"
               "FILE:9: tenant-by: 'source/33' is not allowed: want one of none, source[/1 to 32], "
               "port, user, database, label, cgroup\n"
               "FILE:10: tls-required: 'true' is not allowed: want yes or no\n"
               "FILE:10: tls-required: it has no effect without tls = server");
  ini_is_wrong("[gate main]\nlisten=:1, x\nto=db\n",
               "FILE:2: listen: 'x': want :PORT, IPV4:PORT, [IPV6]:PORT, unix:PATH, unix:@NAME or "
               "fd:NAME\n"
               "FILE:3: to: 'db': want HOST:PORT, [IPV6]:PORT or unix:PATH");
}

static void permit_gates(void **state) {
  static const char permit[] = "[gate j]\nprotocol=permit\nlisten=unix:/run/j.sock\n";
  char text[1024];
  (void)state;
#define PERMIT_IS_WRONG(lines, words)                   \
  do {                                                  \
    snprintf(text, sizeof text, "%s%s", permit, lines); \
    ini_is_wrong(text, words);                          \
  } while (0)
  PERMIT_IS_WRONG("", "FILE:1: gate j: kinds is missing: what there is, as cores=8 memory=16G");
  PERMIT_IS_WRONG(
      "kinds=cores\nmost=x=0\n",
      "FILE:4: kinds: 'cores' is not allowed: want KIND=NUMBER, 1 to 8 of them behind blanks "
      "or commas, as cores=auto memory=16G; a number is at most 1T\n"
      "FILE:5: most: 'x=0' is not allowed: want KIND=NUMBER, 1 to 8 of them behind blanks or "
      "commas, as cores=2 memory=4G; a number is 1 to 1T");
  PERMIT_IS_WRONG("kinds=a=1,a=2\n", "FILE:4: kinds: 'a=1,a=2': a kind is named twice");
  PERMIT_IS_WRONG("kinds=gpu=auto\n",
                  "FILE:4: kinds: 'gpu=auto': only cores and memory can be auto");
  PERMIT_IS_WRONG("kinds=wait=1\n", "FILE:4: kinds: 'wait=1': this is no name of a kind");
  PERMIT_IS_WRONG("kinds=a=1\nto=db:1\nlimit=5\nbreaker=1\n",
                  "FILE:5: to: it has no effect with protocol = permit\n"
                  "FILE:6: limit: it has no effect with protocol = permit\n"
                  "FILE:7: breaker: it has no effect with protocol = permit");
  PERMIT_IS_WRONG("kinds=a=1\nmost=b=1\n",
                  "FILE:5: most: there is no kind b: gate j does not name it in kinds");
  PERMIT_IS_WRONG("kinds=a=1\nusers=no-such-user\n",
                  "FILE:5: users: 'no-such-user': there is no such user");
  PERMIT_IS_WRONG("kinds=a=1\nusers=0,@no-such\n",
                  "FILE:5: users: '@no-such': there is no such group");
  PERMIT_IS_WRONG("kinds=a=1\ntenant-by=source\n",
                  "FILE:5: tenant-by: with protocol = permit, it is none, user, cgroup or label");
  PERMIT_IS_WRONG(
      "kinds=a=1\nlisten=:1,127.0.0.1:2\n",
      "FILE:3: listen: '[::]:1': other machines can ask there, and all is sent in the clear: "
      "want a unix socket, 127.0.0.1, or tls = server");
  PERMIT_IS_WRONG(
      "kinds=a=1\nusers=0\nlisten=127.0.0.1:2\n",
      "FILE:3: listen: '127.0.0.1:2': whose process a client is, is only known at a unix "
      "socket: that is what users needs");
  PERMIT_IS_WRONG(
      "kinds=a=1\ntenant-by=cgroup\nlisten=127.0.0.1:2\n",
      "FILE:3: listen: '127.0.0.1:2': whose process a client is, is only known at a unix "
      "socket: that is what tenant-by = cgroup needs");
  PERMIT_IS_WRONG("kinds=a=1\ntenant-by=user\n[tenant j/no-such-user]\nlimit=1\nkinds=b=1\n",
                  "FILE:7: limit: it has no effect with protocol = permit: want kinds\n"
                  "FILE:8: kinds: there is no kind b: gate j does not name it in kinds\n"
                  "FILE:6: [tenant j/no-such-user]: there is no such user");
  PERMIT_IS_WRONG(
      "kinds=a=1\n[voltgate]\ncluster=zk:1\n",
      "FILE:2: protocol: 'permit': its limits are of one process: gate j cannot be in a "
      "cluster");
#undef PERMIT_IS_WRONG
  ini_is_wrong(
      GATE "tenant-by=cgroup\n",
      "FILE:4: tenant-by: 'cgroup': only a request at a gate with protocol = permit has one");
  ini_is_wrong(
      GATE "kinds=a=1\nbypass=1\ntenant-by=label\n[tenant main/x]\nkinds=a=1\n",
      "FILE:4: kinds: it has no effect without protocol = permit\n"
      "FILE:5: bypass: it has no effect without protocol = permit\n"
      "FILE:6: tenant-by: 'label': only a request at a gate with protocol = permit has one\n"
      "FILE:8: kinds: it has no effect without protocol = permit");
}

static void what_is_given_twice(void **state) {
  (void)state;
  ini_is_wrong(GATE "limit=5\nlimit=5\n", "FILE:5: limit: it is given in line 4 already");
  ini_is_wrong(GATE GATE,
               "FILE:4: [gate main]: it has begun in line 1 already\n"
               "FILE:6: to: it is given in line 3 already\n"
               "FILE:2: listen: '[::]:6432': gate main listens at [::]:6432");
  ini_is_wrong("[voltgate]\n[voltgate]\n" GATE,
               "FILE:2: [voltgate]: it has begun in line 1 already");
  ini_is_wrong(GATE "tenant-by=source\n[tenant main/a]\n[tenant main/b]\n[tenant main/a]\n",
               "FILE:7: [tenant main/a]: it has begun in line 5 already");
  options_are_wrong("voltgate: --limit: it is given twice", "--listen", ":1", "--to", "db:1",
                    "--limit", "1", "--limit=2");
}

static void what_is_missing(void **state) {
  (void)state;
  ini_is_wrong("[gate a]\n[gate b]\nlisten=:1\n",
               "FILE:1: gate a: listen is missing: where clients come to, as :6432\n"
               "FILE:1: gate a: to is missing: the server, as 127.0.0.1:5432\n"
               "FILE:2: gate b: to is missing: the server, as 127.0.0.1:5432");
  ini_is_wrong("[voltgate]\n",
               "voltgate: there is no gate: want --listen ADDRESS --to ADDRESS, or "
               "--config FILE");
  options_are_wrong(
      "voltgate: there is no gate: want --listen ADDRESS --to ADDRESS, or "
      "--config FILE",
      "--workers", "1");
  options_are_wrong("voltgate: gate main: to is missing: the server, as 127.0.0.1:5432", "--listen",
                    ":1");
  options_are_wrong("voltgate: --config: '/nowhere/x.ini': No such file or directory", "--config",
                    "/nowhere/x.ini");
  options_are_wrong("voltgate: --config: '/': it is not a file", "--config", "/");
}

static void names_that_cannot_be(void **state) {
  (void)state;
  const char *what = ": a gate's name has letters, digits, '_', '.' and '-', at most 63";
  char expected[256];
  snprintf(expected, sizeof expected, "FILE:4: [gate a b]%s\nFILE:5: [gate ]%s", what, what);
  ini_is_wrong(GATE "[gate a b]\n[gate]\n", expected);
  ini_is_wrong(
      GATE "[tenant main]\n[tenant main/]\n[tenant /x]\n",
      "FILE:4: [tenant main]: want [tenant GATE/NAME], where a name has at most 63 bytes\n"
      "FILE:5: [tenant main/]: want [tenant GATE/NAME], where a name has at most 63 bytes\n"
      "FILE:6: [tenant /x]: want [tenant GATE/NAME], where a name has at most 63 bytes");
}

static void gates_that_clash(void **state) {
  (void)state;
  ini_is_wrong(GATE "[gate b]\nlisten=127.0.0.1:1, 127.0.0.1:6432\nto=db:1\n",
               "FILE:5: listen: '127.0.0.1:6432': gate main listens at [::]:6432");
  ini_is_wrong("[gate a]\nlisten=unix:/x, unix:/x\nto=db:1\n",
               "FILE:2: listen: 'unix:/x': gate a listens at unix:/x");
  ini_is_wrong("[voltgate]\nmetrics=:6432\n" GATE,
               "FILE:2: metrics: '127.0.0.1:6432': gate main listens at [::]:6432");
  ini_is_wrong("[gate a]\nlisten=127.0.0.1:1\nto=127.0.0.1:1\n",
               "FILE:3: to: '127.0.0.1:1': the gate listens there itself");
  struct settings s;
  ini_is_right(&s,
               "[gate a]\nlisten=127.0.0.1:0, 127.0.0.1:0\nto=db:1\n"
               "[gate b]\nlisten=127.0.0.1:0\nto=db:1\n");
  settings_free(&s);
}

static void what_has_no_effect(void **state) {
  (void)state;
  ini_is_wrong(GATE
               "idle-in-transaction=5s\ntls-cert=/x\ntls-key=/x\ntenant-limit=5\n"
               "tenant-by-ipv6-bits=56\nbreaker=0\nbreaker-retry=1s\nshed-interval=1s\n"
               "queue=0\nqueue-timeout=1s\n",
               "FILE:5: tls-cert: it has no effect without tls = server\n"
               "FILE:6: tls-key: it has no effect without tls = server\n"
               "FILE:7: tenant-limit: it has no effect without tenant-by\n"
               "FILE:8: tenant-by-ipv6-bits: it has no effect without tenant-by = source\n"
               "FILE:4: idle-in-transaction: it has no effect without protocol = postgres\n"
               "FILE:10: breaker-retry: it has no effect without breaker\n"
               "FILE:11: shed-interval: it has no effect without shed-target\n"
               "FILE:13: queue-timeout: it has no effect without a queue");
  ini_is_wrong(GATE "[tenant main/x]\n[tenant mian/x]\n",
               "FILE:4: [tenant main/x]: gate main has no tenant-by\n"
               "FILE:5: [tenant mian/x]: there is no gate mian");
}

static void what_does_not_go_together(void **state) {
  (void)state;
  ini_is_wrong(GATE "tls=server\n",
               "FILE:4: tls: 'server' needs tls-cert\n"
               "FILE:4: tls: 'server' needs tls-key");
  ini_is_wrong(GATE "tls=server\ntls-cert=/nowhere/c\ntls-key=/\n",
               "FILE:5: tls-cert: '/nowhere/c': No such file or directory\n"
               "FILE:6: tls-key: '/': it is not a file");
  ini_is_wrong(GATE "tls=pass\n",
               "FILE:4: tls: 'pass' is for protocol = postgres; with tcp, TLS "
               "passes as any bytes do");
  ini_is_wrong(GATE "tenant-by=user\n",
               "FILE:4: tenant-by: only protocol = postgres says which "
               "user and database a client wants");
  ini_is_wrong(GATE "protocol=redis\nrefuse=http\n",
               "FILE:5: refuse: a client of protocol redis does not understand it");
  ini_is_wrong(GATE
               "limit=5\ntenant-by=source\n[tenant main/a]\ncost=6\n"
               "[tenant main/b]\nlimit=2\ncost=3\n",
               "FILE:7: cost: 6 is above the limit, 5: no client of it could be admitted\n"
               "FILE:10: cost: 3 is above the limit, 2: no client of it could be admitted");
  ini_is_wrong("[voltgate]\nlog=/nowhere/x\n" GATE,
               "FILE:2: log: '/nowhere/x': there is no directory /nowhere");
}

static void what_looks_wrong(void **state) {
  (void)state;
  ini_is_warned_of(GATE "limit=11\nclients=10\n",
                   "FILE:4: limit: warning: 11 is above clients, 10: permits stay unused");
  ini_is_warned_of(GATE "shed-target=1s\n",
                   "FILE:4: shed-target: warning: 1s is longer than "
                   "shed-interval, 100ms");
  ini_is_warned_of("[voltgate]\nmetrics=0.0.0.0:9090\n" GATE,
                   "FILE:2: metrics: warning: '0.0.0.0:9090': other machines can look at it, and "
                   "all is sent in the clear");
  ini_is_warned_of(GATE "limit=5\ntenant-by=source\ntenant-limit=6\n[tenant main/a]\nlimit=7\n",
                   "FILE:6: tenant-limit: warning: 6 is above the gate's limit, 5\n"
                   "FILE:7: warning: [tenant main/a]: it is no address\n"
                   "FILE:8: limit: warning: 7 is above the gate's limit, 5");
}

static void tenants_that_no_client_can_be_of(void **state) {
  (void)state;
  ini_is_warned_of(GATE
                   "tenant-by=source/20\n[tenant main/10.1.31.0/20]\n"
                   "[tenant main/10.1.16.0/20]\n[tenant main/2001:db8:0:0:1::/64]\n"
                   "[tenant main/2001:db8::/64]\n[tenant main/10.1.2.3]\n[tenant main/unix]\n",
                   "FILE:9: warning: [tenant main/10.1.2.3]: clients from there are the tenant "
                   "10.1.0.0/20\n"
                   "FILE:5: warning: [tenant main/10.1.31.0/20]: clients from there are the tenant "
                   "10.1.16.0/20\n"
                   "FILE:7: warning: [tenant main/2001:db8:0:0:1::/64]: clients from there are the "
                   "tenant 2001:db8::/64");
  ini_is_warned_of(GATE "tenant-by=port\n[tenant main/6432]\n[tenant main/x]\n",
                   "FILE:6: warning: [tenant main/x]: it is no port");
  ini_is_warned_of(GATE "tenant-by=source\n[tenant main/10.0.0.1]\n[tenant main/10.0.0.0/8]\n",
                   "FILE:6: warning: [tenant main/10.0.0.0/8]: clients from there are the tenant "
                   "10.0.0.0");
}

static void users_that_are_not_there(void **state) {
  (void)state;
  struct settings s;
  char *argv[] = {(char *)(uintptr_t) "voltgate", (char *)(uintptr_t) "--user=no-such-user-here",
                  (char *)(uintptr_t) "--listen=:1", (char *)(uintptr_t) "--to=db:1"};
  fflush(stderr);
  int kept = dup(2), null = open("/dev/null", O_WRONLY);
  dup2(null, 2);
  enum settings_result result = settings_read(&s, 4, argv);
  fflush(stderr);
  dup2(kept, 2);
  close(kept);
  close(null);
  assert_int_equal(result, SETTINGS_WRONG);
  assert_null(settings_reread(&s, 4, argv)); /* a reload does not look it up again */
  settings_free(&s);
}

static void many_errors_end(void **state) {
  (void)state;
  enum { MANY = 5000 };
  struct settings s;
  char *text = malloc(20 * MANY);
  assert_non_null(text);
  size_t n = (size_t)sprintf(text, GATE);
  for (unsigned i = 0; i < MANY; i++) n += (size_t)sprintf(text + n, "x%u=1\n", i);
  char *wrong = read_ini(&s, text);
  free(text);
  assert_non_null(wrong);
  assert_non_null(strstr(wrong, "\nvoltgate: and so on"));
  assert_true(strlen(wrong) < 40000);
  free(wrong);
}

/* ---- a cluster ---- */

#define CLUSTER "[voltgate]\ncluster = zk1:2181, zk2:2181,[::1]:2181\n"

#ifdef VOLTGATE_CLUSTER

static void a_cluster_has_servers_and_names(void **state) {
  (void)state;
  struct settings s;
  char text[512];
  write_file(token_path, "digest:gates:pass:word\n", 0600);
  snprintf(text, sizeof text,
           CLUSTER
           "cluster-auth-file = %s\ncluster-acl = creator\ncluster-era = 2\n"
           "cluster-session = 2s\n[gate main]\nlisten = :1\nto = db:1\n"
           "cluster-name = shop.db-1_a\ncluster-away = share\n",
           token_path);
  ini_is_right(&s, text);
  assert_string_equal(s.cluster, "zk1:2181,zk2:2181,[::1]:2181");
  assert_string_equal(s.cluster_auth, "digest:gates:pass:word");
  assert_string_equal(s.cluster_root, "/volt");
  assert_int_equal(s.cluster_acl, CLUSTER_ACL_CREATOR);
  assert_int_equal(s.cluster_era, 2);
  assert_int_equal(s.cluster_session_ns, 2 * S);
  assert_string_equal(s.gates[0].cluster_name, "shop.db-1_a");
  assert_int_equal(s.gates[0].cluster_away, CLUSTER_AWAY_SHARE);
  assert_null(s.warnings);
  settings_free(&s);
  ini_is_right(&s, CLUSTER GATE);
  assert_null(s.gates[0].cluster_name);
  assert_int_equal(s.gates[0].cluster_away, CLUSTER_AWAY_CLOSED);
  assert_int_equal(s.cluster_session_ns, 10 * S);
  assert_int_equal(s.cluster_acl, CLUSTER_ACL_USUAL);
  settings_free(&s);
}

static void a_cluster_that_cannot_be(void **state) {
  (void)state;
  const char *want = "want HOST:PORT or [IPV6]:PORT; several behind commas";
  static const char *const wrong[] = {"zk1", "zk1:2181,", ":2181", "unix:/x", "zk1:2181,,zk2:2181"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char expected[256];
    snprintf(expected, sizeof expected, "voltgate: --cluster: '%s' is not allowed: %s", wrong[i],
             want);
    options_are_wrong(expected, "--listen", ":1", "--to", "db:1", "--cluster", wrong[i]);
  }
  ini_is_wrong(
      CLUSTER "cluster-root = volt\n" GATE "cluster-name = .x\n",
      "FILE:3: cluster-root: 'volt': want a path as /volt, of at most 64 bytes\n"
      "FILE:7: cluster-name: '.x': want 1 to 100 letters, digits, '_', '.' and '-', and no "
      "dot first");
#define ROOT_OF_64 "/123456789/123456789/123456789/123456789/123456789/123456789/123"
  struct settings s; /* the library takes so many bytes, and no more */
  ini_is_right(&s, CLUSTER "cluster-root = " ROOT_OF_64 "\n" GATE);
  assert_int_equal(strlen(s.cluster_root), VOLT_CLUSTER_ROOT_MAX);
  settings_free(&s);
  ini_is_wrong(CLUSTER "cluster-root = " ROOT_OF_64 "4\n" GATE,
               "FILE:3: cluster-root: '" ROOT_OF_64
               "4': want a path as /volt, of at most 64 bytes");
  ini_is_wrong(
      CLUSTER GATE "cluster-name = x\n[gate x]\nlisten = :2\nto = db:1\n",
      "FILE:7: cluster-name: gate main has the name x, too: two gates of one process cannot "
      "share a limit");
  ini_is_wrong(CLUSTER GATE "tenant-by = source\n[gate main.x]\nlisten = :2\nto = db:1\n",
               "FILE:7: cluster-name: main.x is how a tenant of gate main would be called: want "
               "another cluster-name");
  ini_is_wrong(CLUSTER GATE "tenant-by = source\n[tenant main/10.0.0.1]\ncost = 2\n",
               "FILE:7: cost: 2: with a cluster each client takes one permit");
  ini_is_warned_of(CLUSTER GATE "tenant-by = source\ntenant-limit = 2\n",
                   "FILE:7: tenant-limit: warning: with a cluster each source that ever came has "
                   "nodes at the ensemble");
}

static void a_clusters_secret_is_a_digest(void **state) {
  (void)state;
  static const char *const wrong[] = {"gates:password\n", "digest:gates\n", "digest::x\n",
                                      "digest:gates:\n", "world:a:b\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char expected[256];
    write_file(token_path, wrong[i], 0600);
    snprintf(expected, sizeof expected,
             "voltgate: --cluster-auth-file: '%s': want digest:USER:PASSWORD", token_path);
    options_are_wrong(expected, "--listen", ":1", "--to", "db:1", "--cluster", "zk:1",
                      "--cluster-auth-file", token_path);
  }
  write_file(token_path, "digest:a:b\n", 0600);
  assert_int_equal(chmod(token_path, 0644), 0);
  char expected[256];
  snprintf(
      expected, sizeof expected,
      "voltgate: --cluster-auth-file: '%s': others may read or change it (mode 0644): want 0600",
      token_path);
  options_are_wrong(expected, "--listen", ":1", "--to", "db:1", "--cluster", "zk:1",
                    "--cluster-auth-file", token_path);
}

static void what_of_a_cluster_needs_a_restart(void **state) {
  (void)state;
  struct settings old, now;
  struct settings_difference d;
  write_file(token_path, "digest:a:b\n", 0600);
  char text[512];
  const char *format = CLUSTER "cluster-auth-file = %s\n%s" GATE "%s";
  snprintf(text, sizeof text, format, token_path, "", "");
  ini_is_right(&old, text);
  write_file(token_path, "digest:a:c\n", 0600);
  snprintf(text, sizeof text, format, token_path, "cluster-session = 4s\ncluster-era = 1\n",
           "cluster-away = keep\ncluster-name = x\n");
  ini_is_right(&now, text);
  assert_true(settings_compare(&d, &old, &now));
  assert_string_equal(d.summary, "cluster-away of gate main");
  assert_string_equal(d.restart,
                      "cluster-session, cluster-era, what cluster-auth-file says, cluster-name of "
                      "gate main");
  settings_difference_free(&d);
  settings_free(&old);
  settings_free(&now);
}

#else

static void a_cluster_needs_its_library(void **state) {
  (void)state;
  ini_is_wrong(CLUSTER GATE, "FILE:2: cluster: this voltgate was built without libvolt-cluster");
}

#endif

static void without_a_cluster_its_options_have_no_effect(void **state) {
  (void)state;
  ini_is_wrong("[voltgate]\ncluster-session = 2s\ncluster-host = x\n" GATE
               "cluster-name = x\ncluster-away = keep\n",
               "FILE:7: cluster-name: it has no effect without cluster\n"
               "FILE:8: cluster-away: it has no effect without cluster\n"
               "FILE:2: cluster-session: it has no effect without cluster\n"
               "FILE:3: cluster-host: it has no effect without cluster");
}

/* ---- secrets ---- */

static char *read_with_token(struct settings *s) {
  return READ(s, "--listen", ":1", "--to", "db:1", "--metrics", ":9090", "--token-file",
              token_path);
}

static void token_is_wrong(const char *words) {
  struct settings s;
  char expected[512];
  char *wrong = read_with_token(&s);
  if (wrong == NULL) settings_free(&s);
  snprintf(expected, sizeof expected, "voltgate: --token-file: '%s': %s", token_path, words);
  expect_lines(wrong, expected);
  free(wrong);
}

static void a_token_comes_from_a_private_file(void **state) {
  (void)state;
  struct settings s;
  write_file(token_path, "s3cret-of-the-file\n", 0600);
  setenv("VOLTGATE_TOKEN", "of-the-environment", 1);
  assert_null(read_with_token(&s));
  assert_string_equal(s.token, "s3cret-of-the-file");
  settings_free(&s);
  assert_null(READ(&s, "--listen", ":1", "--to", "db:1", "--metrics", ":9090"));
  assert_string_equal(s.token, "of-the-environment");
  settings_free(&s);
  unsetenv("VOLTGATE_TOKEN");
}

static void a_token_that_others_can_read_is_refused(void **state) {
  (void)state;
  static const mode_t loose[] = {0640, 0604, 0660, 0644, 0601};
  write_file(token_path, "s3cret\n", 0600);
  for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
    char words[128];
    snprintf(words, sizeof words, "others may read or change it (mode %04o): want 0600",
             (unsigned)loose[i]);
    assert_int_equal(chmod(token_path, loose[i]), 0);
    token_is_wrong(words);
  }
}

static void a_token_is_one_word(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "\n", "two words\n", "two\nlines\n", "\x01\n"};
  const char *what = "want one line of 1 to 255 printable characters, without a blank";
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    write_file(token_path, wrong[i], 0600);
    token_is_wrong(what);
  }
  char text[400];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  write_file(token_path, text, 0600);
  token_is_wrong(what);
  unlink(token_path);
  token_is_wrong("No such file or directory");
}

static void a_secret_is_never_printed(void **state) {
  (void)state; /* not even where it is wrong */
  struct settings s;
  write_file(token_path, "s3cret with blanks\n", 0600);
  char *wrong = read_with_token(&s);
  assert_non_null(wrong);
  assert_null(strstr(wrong, "s3cret"));
  free(wrong);
}

/* ---- a reload ---- */

static struct settings_difference compare(const char *before, const char *after) {
  struct settings old, now;
  struct settings_difference d;
  static char names[8][16];
  ini_is_right(&old, before);
  ini_is_right(&now, after);
  assert_true(settings_compare(&d, &old, &now));
  for (size_t i = 0; i < d.gate_count; i++) { /* they last as long as the settings */
    snprintf(names[i], sizeof names[i], "%s", d.gates[i].name);
    d.gates[i].name = names[i];
  }
  settings_free(&old);
  settings_free(&now);
  return d;
}

static void the_same_settings_have_no_difference(void **state) {
  (void)state;
  struct settings_difference d = compare(GATE, GATE);
  assert_int_equal(d.gate_count, 1);
  assert_int_equal(d.gates[0].change, GATE_SAME);
  assert_null(d.summary);
  assert_null(d.restart);
  settings_difference_free(&d);
}

static void each_gate_has_its_change(void **state) {
  (void)state;
  struct settings_difference d = compare(
      "[gate same]\nlisten=:1\nto=db:1\n[gate gone]\nlisten=:2\nto=db:1\n"
      "[gate set]\nlisten=:3\nto=db:1\n[gate moved]\nlisten=:4\nto=db:1\n",
      "[gate moved]\nlisten=:5\nto=db:1\nlimit=5\n[gate new]\nlisten=:6\nto=db:1\n"
      "[gate set]\nlisten=:3\nto=db:2\nqueue=5\n[gate same]\nlisten=:1\nto=db:1\n");
  static const struct gate_difference expected[] = {{"moved", GATE_REBOUND},
                                                    {"new", GATE_ADDED},
                                                    {"set", GATE_CHANGED},
                                                    {"same", GATE_SAME},
                                                    {"gone", GATE_REMOVED}};
  assert_int_equal(d.gate_count, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_string_equal(d.gates[i].name, expected[i].name);
    assert_int_equal(d.gates[i].change, expected[i].change);
  }
  assert_string_equal(d.summary,
                      "listen of gate moved, limit of gate moved, gate new added, "
                      "to of gate set, queue of gate set, gate gone removed");
  assert_null(d.restart);
  settings_difference_free(&d);
}

static void tenants_are_compared(void **state) {
  (void)state;
  struct settings_difference d =
      compare(GATE "tenant-by=source/8\n[tenant main/a]\nlimit=1\n[tenant main/b]\n",
              GATE "tenant-by=source/9\n[tenant main/b]\n[tenant main/a]\nlimit=2\n");
  assert_int_equal(d.gates[0].change, GATE_CHANGED);
  assert_string_equal(d.summary, "tenant-by of gate main, tenants of gate main");
  settings_difference_free(&d);
}

static void what_needs_a_restart_is_named(void **state) {
  (void)state;
  struct settings_difference d =
      compare("[voltgate]\nworkers=1\nio=epoll\nlog-level=info\n" GATE,
              "[voltgate]\nworkers=2\nio=auto\nlog-level=warn\nmetrics=:9\nnofile=100\n" GATE
              "protocol=redis\n");
  assert_string_equal(d.restart, "workers, io, metrics, nofile, protocol of gate main");
  assert_string_equal(d.summary, "log-level, refuse of gate main");
  settings_difference_free(&d);
}

static void a_token_that_has_changed_is_not_shown(void **state) {
  (void)state;
  struct settings old, now;
  struct settings_difference d;
  write_file(token_path, "one-secret\n", 0600);
  assert_null(read_with_token(&old));
  write_file(token_path, "other-secret\n", 0600);
  assert_null(read_with_token(&now));
  assert_true(settings_compare(&d, &old, &now));
  assert_string_equal(d.summary, "the token");
  settings_difference_free(&d);
  settings_free(&old);
  settings_free(&now);
}

/* ---- the table ---- */

static void the_table_is_in_order(void **state) {
  (void)state;
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    assert_ptr_equal(options_find(o->name, o->owner), o); /* its name is its own */
    assert_true(strlen(o->help) > 0 && strlen(o->help) <= 70);
    size_t length = strlen(o->manual);
    assert_true(length > strlen(o->help) / 2 && o->manual[length - 1] == '.');
    assert_true(o->kind != OPTION_NUMBER || o->least < o->most);
    assert_true((o->kind == OPTION_WORD || o->kind == OPTION_TENANT_BY) == (o->words != NULL));
  }
}

static void the_nearest_name(void **state) {
  (void)state;
  static const struct {
    const char *name, *nearest;
  } cases[] = {{"limt", "limit"},
               {"qeuue", "queue"},
               {"queue-timout", "queue-timeout"},
               {"tenant", "tenant-by"},
               {"acces-log", "access-log"},
               {"x", NULL},
               {"nothing-like-it", NULL},
               {"", NULL},
               {"worker", "workers"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *nearest = options_nearest(cases[i].name, OPTIONS_SERVING);
    if (cases[i].nearest == NULL) assert_null(nearest);
    if (cases[i].nearest != NULL) assert_string_equal(nearest, cases[i].nearest);
  }
}

/* ---- the fixture ---- */

static int begin(void **state) {
  (void)state;
  unsetenv("VOLTGATE_TOKEN");
  if (mkdtemp(directory) == NULL) return -1;
  snprintf(config_path, sizeof config_path, "%s/voltgate.ini", directory);
  snprintf(token_path, sizeof token_path, "%s/token", directory);
  return 0;
}

static int end(void **state) {
  (void)state;
  unlink(config_path);
  unlink(token_path);
  return rmdir(directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_gate_by_options),
      cmocka_unit_test(what_is_not_given_has_its_default),
      cmocka_unit_test(a_file_has_gates_and_tenants),
      cmocka_unit_test(each_of_many_tenants_is_found),
      cmocka_unit_test(options_go_before_the_file),
      cmocka_unit_test(tenant_by_source_has_bits),
      cmocka_unit_test(tls_is_required_where_it_cannot_be_asked_for),
      cmocka_unit_test(names_that_are_not_known),
      cmocka_unit_test(values_that_are_not_allowed),
      cmocka_unit_test(permit_gates),
      cmocka_unit_test(what_is_given_twice),
      cmocka_unit_test(what_is_missing),
      cmocka_unit_test(names_that_cannot_be),
      cmocka_unit_test(gates_that_clash),
      cmocka_unit_test(what_has_no_effect),
      cmocka_unit_test(what_does_not_go_together),
      cmocka_unit_test(what_looks_wrong),
      cmocka_unit_test(tenants_that_no_client_can_be_of),
      cmocka_unit_test(users_that_are_not_there),
      cmocka_unit_test(many_errors_end),
#ifdef VOLTGATE_CLUSTER
      cmocka_unit_test(a_cluster_has_servers_and_names),
      cmocka_unit_test(a_cluster_that_cannot_be),
      cmocka_unit_test(a_clusters_secret_is_a_digest),
      cmocka_unit_test(what_of_a_cluster_needs_a_restart),
#else
      cmocka_unit_test(a_cluster_needs_its_library),
#endif
      cmocka_unit_test(without_a_cluster_its_options_have_no_effect),
      cmocka_unit_test(a_token_comes_from_a_private_file),
      cmocka_unit_test(a_token_that_others_can_read_is_refused),
      cmocka_unit_test(a_token_is_one_word),
      cmocka_unit_test(a_secret_is_never_printed),
      cmocka_unit_test(the_same_settings_have_no_difference),
      cmocka_unit_test(each_gate_has_its_change),
      cmocka_unit_test(tenants_are_compared),
      cmocka_unit_test(what_needs_a_restart_is_named),
      cmocka_unit_test(a_token_that_has_changed_is_not_shown),
      cmocka_unit_test(the_table_is_in_order),
      cmocka_unit_test(the_nearest_name),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
