/* answer_test.c: which request is answered and how, without a socket; the history of a gate; the
 * policy of the page. A program is put together by hand: its gates are polled by no worker. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/answer.h"
#include "admin/guard.h"
#include "admin/metrics.h"
#include "admin/numbers.h"
#include "admin/page.h"
#include "admin/status.h"
#include "gate/admission.h"
#include "program/site.h"
#include "unit.h"

/* ---- a program ---- */

static struct program program;
static struct settings settings;
static struct answers answers;
static struct site *sites[2];
static struct gate_settings gate_settings_of[2];

static struct site *site_by_hand(int i, const char *name, enum tenant_by tenant_by) {
  struct gate_settings *s = &gate_settings_of[i];
  *s = (struct gate_settings){.name = (char *)(uintptr_t)name,
                              .to = (char *)(uintptr_t) "127.0.0.1:1",
                              .limit = 4,
                              .queue = 10,
                              .clients = 100,
                              .tenant_by = tenant_by,
                              .tenant_default = {.weight = 1, .cost = 1},
                              .tenant_max = 10};
  struct site *site = aligned_alloc(64, (sizeof *site + 63) / 64 * 64);
  assert_non_null(site);
  memset(site, 0, sizeof *site);
  assert_true(gate_init(&site->gate, &program.host, NULL, s));
  site->program = &program;
  return site;
}

static int set_up(void **state) {
  (void)state;
  program = (struct program){.began_ns = 1};
  settings = (struct settings){.token = (char *)(uintptr_t) "secret"};
  volt_rt_config config = {.workers = 1, .flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK};
  assert_result(volt_rt_create(&program.rt, &config), VOLT_OK);
  pthread_mutex_init(&program.lock, NULL);
  atomic_store(&program.settings, &settings);
  sites[0] = site_by_hand(0, "main", TENANT_BY_USER);
  sites[1] = site_by_hand(1, "other-1", TENANT_BY_NONE);
  sites[0]->next = sites[1];
  program.first = sites[0];
  admin_answers_init(&answers, &program);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  admin_answers_destroy(&answers);
  for (int i = 0; i < 2; i++) {
    gate_destroy(&sites[i]->gate);
    free(sites[i]);
  }
  pthread_mutex_destroy(&program.lock);
  volt_rt_destroy(program.rt);
  return 0;
}

/* ---- requests ---- */

static const struct limits limits = {.head_bytes = 8192, .fields = 64, .body_bytes = 4096};
static char bytes[8192];
static struct request request;

static void parse(const char *text) {
  assert_true(strlen(text) < sizeof bytes);
  memcpy(bytes, text, strlen(text));
  request_begin(&request);
  assert_int_equal(request_parse(&request, bytes, strlen(text), &limits), PARSED_WHOLE);
}

/* The status of the answer to "METHOD PATH" with these fields and this body. *answer: its text. */
static int ask(const char *line, const char *fields, const char *body, char answer[65536]) {
  char text[4096];
  struct answer a = {.client = "127.0.0.1:5"};
  snprintf(text, sizeof text, "%s HTTP/1.1\r\n%s\r\n", line, fields);
  parse(text);
  if (admin_answer_begin(&a, &answers, &request, (struct text){body, strlen(body)}))
    admin_answer_work(&a);
  int status = a.status;
  assert_non_null(a.type);
  assert_true(a.text.size < 65536);
  memcpy(answer, a.text.at, a.text.size);
  answer[a.text.size] = '\0';
  char head[ANSWER_HEAD_MAX];
  size_t size = admin_answer_head(&a, head, 1700000000, false);
  assert_true(size > 100 && size < sizeof head);
  assert_memory_equal(head + size - 4, "\r\n\r\n", 4);
  admin_answer_end(&a);
  assert_null(a.text.at);
  return status;
}

#define HOST "Host: 127.0.0.1:9090\r\n"
#define TOKEN_FIELD HOST "Authorization: Bearer secret\r\n"

static void hosts_that_are_ours_are_answered(void **state) {
  static const struct {
    const char *host;
    int status, with_name; /* with the name gate.example, too */
  } hosts[] = {
      {"127.0.0.1", 0, 0},
      {"127.0.0.1:1", 0, 0},
      {"[::1]", 0, 0},
      {"[::1]:80", 0, 0},
      {"[fe80::1]:80", 0, 0},
      {"localhost", 0, 0},
      {"LOCALHOST:9", 0, 0},
      {"gate.example", 403, 0},
      {"Gate.Example:9", 403, 0},
      {"a.gate.example", 403, 403},
      {"gate.example.a", 403, 403},
      {"localhost.a", 403, 403},
      {"127.0.0.1.a", 403, 403},
      {"1", 403, 403},
      {"127.0.0.256", 403, 403},
  };
  (void)state;
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    char text[256];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i].host);
    parse(text);
    assert_int_equal(guard_host(&request, NULL), hosts[i].status);
    assert_int_equal(guard_host(&request, "gate.example"), hosts[i].with_name);
  }
  parse("GET / HTTP/1.0\r\n\r\n");
  assert_int_equal(guard_host(&request, NULL), 400);
}

static void a_change_needs_the_token_and_our_own_page(void **state) {
  static const struct {
    const char *fields;
    int status;
  } cases[] = {
      {"", 401},
      {"Authorization: Bearer secret\r\n", 0},
      {"Authorization: bearer  secret \r\n", 0},
      {"Authorization: Bearer secre\r\n", 401},
      {"Authorization: Bearer secrets\r\n", 401},
      {"Authorization: Bearer SECRET\r\n", 401},
      {"Authorization: Bearer\r\n", 401},
      {"Authorization: Basic secret\r\n", 401},
      {"Authorization: secret\r\n", 401},
      {"Authorization: Bearer secret\r\nAuthorization: Bearer secret\r\n", 401},
      {"Authorization: Bearer secret\r\nOrigin: http://127.0.0.1:9090\r\n", 0},
      {"Authorization: Bearer secret\r\nOrigin: HTTP://127.0.0.1:9090\r\n", 0},
      {"Authorization: Bearer secret\r\nOrigin: http://127.0.0.1:9091\r\n", 403},
      {"Authorization: Bearer secret\r\nOrigin: http://127.0.0.1\r\n", 403},
      {"Authorization: Bearer secret\r\nOrigin: https://127.0.0.1:9090\r\n", 403},
      {"Authorization: Bearer secret\r\nOrigin: null\r\n", 403},
      {"Authorization: Bearer secret\r\nOrigin: \r\n", 403},
      {"Origin: http://127.0.0.1:9090\r\n", 401},
      {"Origin: http://evil.example\r\n", 403},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    snprintf(text, sizeof text, "PUT /x HTTP/1.1\r\n" HOST "%s\r\n", cases[i].fields);
    parse(text);
    if (guard_change(&request, "secret") != cases[i].status) fail_msg("%s", cases[i].fields);
    assert_int_equal(guard_change(&request, NULL), 403);
    assert_int_equal(guard_change(&request, ""), 403);
  }
}

static void a_limit_is_set(void **state) {
  char said[65536];
  (void)state;
  assert_int_equal(ask("PUT /gates/main/limit", TOKEN_FIELD, "9", said), 200);
  assert_string_equal(said, "{\"gate\":\"main\",\"limit\":9,\"excess\":0}\n");
  assert_int_equal(volt_sem_limit(&sites[0]->gate.permits), 9);
  assert_int_equal(volt_sem_limit(&sites[1]->gate.permits), 4);
  assert_int_equal(ask("PUT /gates/other-1/limit", TOKEN_FIELD, " 1000000\r\n", said), 200);
  assert_int_equal(volt_sem_limit(&sites[1]->gate.permits), 1000000);
  assert_int_equal(ask("PUT /gates/main/queue", TOKEN_FIELD, "0", said), 200);
  assert_int_equal(atomic_load(&sites[0]->gate.queue_bound), 0);
  static const char *const wrong[] = {"", "0", "1000001", "-1", "+1", "1.5", "1 2", "x", "0x1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(ask("PUT /gates/main/limit", TOKEN_FIELD, wrong[i], said), 400);
  }
  assert_int_equal(ask("PUT /gates/main/limit", HOST, "3", said), 401);
  assert_int_equal(ask("PUT /gates/none/limit", TOKEN_FIELD, "3", said), 404);
  settings.token = NULL;
  assert_int_equal(ask("PUT /gates/main/limit", TOKEN_FIELD, "3", said), 403);
  assert_int_equal(volt_sem_limit(&sites[0]->gate.permits), 9);
}

static void a_tenants_limit_is_set_whatever_its_name(void **state) {
  static const struct {
    const char *name, *path;
  } names[] = {{"app", "app"},
               {"10.0.0.0/24", "10.0.0.0%2F24"},
               {"10.1.0.0/16", "10.1.0.0/16"},
               {"2001:db8::/64", "2001:db8::%2f64"},
               {"limit", "limit"},
               {"a b<\"", "a%20b%3C%22"},
               {".hidden", ".hidden"}};
  char said[65536], line[128];
  (void)state;
  struct tenants *tenants = gate_tenants(&sites[0]->gate);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct tenant *tenant = tenants_enter(tenants, names[i].name);
    assert_non_null(tenant);
    snprintf(line, sizeof line, "PUT /gates/main/tenants/%s/limit", names[i].path);
    assert_int_equal(ask(line, TOKEN_FIELD, "3", said), 200);
    assert_int_equal(tenant_limit(tenant), 3);
    assert_int_equal(ask(line, TOKEN_FIELD, "0", said), 200);
    assert_int_equal(tenant_limit(tenant), 0);
    tenant_leave(tenants, tenant);
  }
  assert_int_equal(ask("PUT /gates/main/tenants/none/limit", TOKEN_FIELD, "3", said), 404);
  assert_int_equal(ask("PUT /gates/other-1/tenants/app/limit", TOKEN_FIELD, "3", said), 404);
}

static void a_query_names_a_gate(void **state) {
  static const struct {
    const char *line;
    int status;
  } cases[] = {{"GET /queue?gate=main", 200},
               {"GET /queue?limit=3&gate=other%2D1", 200},
               {"GET /queue", 400}, /* there are two */
               {"GET /queue?gate=", 404},
               {"GET /queue?gate=none", 404},
               {"GET /queue?xgate=main", 400},
               {"GET /queue?gate", 400},
               {"GET /queue?gate=%00", 400},
               {"GET /queue?gate=main&limit=10000", 200},
               {"GET /queue?gate=main&limit=10001", 400},
               {"GET /queue?gate=main&limit=", 400},
               {"GET /history?gate=main&since=12.000000001", 200},
               {"GET /history?gate=main&since=12.", 400},
               {"GET /history?gate=main&since=99999999999999999999", 400},
               {"GET /status?anything", 200},
               {"GET /nothing", 404}};
  char said[65536];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (ask(cases[i].line, HOST, "", said) != cases[i].status) {
      fail_msg("%s: %s", cases[i].line, said);
    }
  }
  static const struct {
    const char *line;
    size_t lists; /* of tenants */
  } statuses[] = {{"GET /status", 2}, {"GET /status?tenants=main", 1}, {"GET /status?tenants=", 0}};
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    size_t lists = 0;
    assert_int_equal(ask(statuses[i].line, HOST, "", said), 200);
    for (const char *at = said; (at = strstr(at, "\"tenants\":[")) != NULL; at++) lists++;
    assert_int_equal(lists, statuses[i].lists);
  }
  assert_int_equal(ask("GET /status", HOST, "", said), 200); /* no client was ever a spare one */
  assert_null(strstr(said, "\"name\":\"other\""));
  struct tenant *other = tenants_enter(gate_tenants(&sites[0]->gate), "other");
  gate_refused(&sites[0]->gate, other, REASON_CLIENTS);
  assert_int_equal(ask("GET /status", HOST, "", said), 200);
  assert_non_null(strstr(said, "\"name\":\"other\""));
  tenant_leave(gate_tenants(&sites[0]->gate), other);
  assert_int_equal(ask("GET /queue?gate=other-1", HOST, "", said), 200);
  assert_non_null(strstr(said, "\"gate\":\"other-1\",\"length\":0,\"bound\":10,"));
}

static void holders_are_said(void **state) {
  (void)state;
  char said[65536];
  struct gate *gate = &sites[1]->gate;
  struct client client = {.ticket = 0};
  struct client_details details = {.user = "ann", .database = "a\"b", .down = 7};
  struct admission admission;
  clients_add(&gate->clients, &client);
  admission_init(&admission, gate, &client);
  assert_int_equal(ask("GET /holders?gate=other-1", HOST, "", said), 200);
  assert_non_null(strstr(said, "\"held\":0,\"limit\":4,"));
  assert_non_null(strstr(said, "\"holders\":[]"));
  assert_result(admission_try(&admission, volt_rt_now_ns(program.rt)), VOLT_OK);
  volt_rt_advance(program.rt, 1500000000);
  assert_int_equal(ask("GET /holders?gate=other-1", HOST, "", said), 200);
  assert_non_null(strstr(said, "\"held\":1,\"limit\":4,"));
  assert_non_null(strstr(said,
                         "[{\"position\":1,\"client\":\"unix\",\"tenant\":\"\",\"user\":\"\","
                         "\"database\":\"\",\"held_s\":1.5,\"state\":\"connecting\","
                         "\"state_s\":null,\"query_s\":null,\"up\":0,\"down\":0}]"));
  client_begins(&details, 500000000);
  details.down = 107;
  client_rests(&details, true, 1000000000);
  client.details = &details;
  assert_int_equal(ask("GET /holders?gate=other-1&limit=1", HOST, "", said), 200);
  assert_non_null(strstr(said,
                         "\"user\":\"ann\",\"database\":\"a\\u0022b\",\"held_s\":1.5,"
                         "\"state\":\"idle in transaction\",\"state_s\":0.5,\"query_s\":1,"
                         "\"up\":0,\"down\":100}"));
  assert_int_equal(ask("GET /holders?gate=other-1&limit=0", HOST, "", said), 200);
  assert_non_null(strstr(said, "\"holders\":[]"));
  assert_int_equal(ask("GET /holders?gate=other-1&limit=10001", HOST, "", said), 400);
  assert_int_equal(ask("GET /holders", HOST, "", said), 400);
  assert_int_equal(ask("POST /holders", HOST, "", said), 405);
  admission_release(&admission, 2000000000);
  clients_remove(&gate->clients, &client);
}

static void health_is_the_worst_of_all_gates(void **state) {
  char said[65536];
  (void)state;
  assert_int_equal(ask("GET /health", HOST, "", said), 200);
  assert_string_equal(said, "ok\n");
  breaker_failed(&sites[0]->gate.breaker, 3, 5, "it accepts", 4);
  assert_int_equal(ask("GET /health", HOST, "", said), 503);
  assert_string_equal(said, "silent: main\n");
  assert_int_equal(ask("GET /status", HOST, "", said), 200);
  assert_non_null(strstr(said, "\"state\":\"silent\",\"reason\":\"it accepts\",\"reason_s\":"));
  assert_int_equal(ask("GET /metrics", HOST, "", said), 200);
  assert_non_null(strstr(said, "voltgate_server_silent{gate=\"main\"} 1\n"));
  breaker_failed(&sites[1]->gate.breaker, 1, 5, "refused", 0);
  assert_int_equal(ask("GET /health", HOST, "", said), 503);
  assert_string_equal(said, "breaker: other-1\n");
  atomic_store(&program.is_draining, true);
  assert_int_equal(ask("GET /health", HOST, "", said), 503);
  assert_string_equal(said, "draining\n");
}

/* ---- history ---- */

static void a_second_is_what_was_counted_in_it(void **state) {
  struct gate *gate = &sites[1]->gate;
  struct client client = {.ticket = 0};
  struct admission admission;
  struct statistics_values last;
  (void)state;
  uint64_t second = 1000000000, now_ns = second;
  assert_int_equal(history_last(&answers.history, gate, now_ns, &last), 0);
  history_sample(&answers.history, &program, now_ns);
  clients_add(&gate->clients, &client);
  admission_init(&admission, gate, &client);
  for (int i = 1; i <= 320; i++) { /* more seconds than are kept; i % 3 permits in each */
    for (int k = 0; k < i % 3; k++) {
      assert_result(admission_try(&admission, now_ns), VOLT_OK);
      admission_release(&admission, now_ns + 3000000);
    }
    now_ns += second;
    history_sample(&answers.history, &program, now_ns);
  }
  assert_int_equal(history_last(&answers.history, gate, now_ns, &last), 10 * second);
  assert_int_equal(last.counts[COUNT_ADMITTED], 2 + 0 + 1 + 2 + 0 + 1 + 2 + 0 + 1 + 2);
  assert_int_equal(last.hold.count, 11);
  struct output to = {.size = 0};
  history_write(&to, &answers.history, gate, now_ns - 2 * second, now_ns);
  OUTPUT(&to, "");
  output_bytes(&to, "", 1);
  /* seconds 319 and 320: one permit, two permits; each held for 3 ms */
  assert_non_null(strstr(to.at,
                         "\"columns\":[\"at_s\",\"limit\",\"held\",\"queued\",\"clients\","
                         "\"admitted\",\"refused\",\"left\",\"bytes_up\",\"bytes_down\","
                         "\"wait_p50_s\","));
  const char *rows = strstr(to.at, "\"seconds\":[[320,4,0,0,1,1,0,0,0,0,");
  if (rows == NULL) fail_msg("%s", to.at);
  assert_non_null(strstr(rows, "],[321,4,0,0,1,2,0,0,0,0,"));
  to.size = 0;
  history_write(&to, &answers.history, gate, 0, now_ns);
  size_t count = 0;
  for (size_t i = 0; i < to.size; i++) count += to.at[i] == '[';
  assert_int_equal(count, 2 + HISTORY_SECONDS); /* columns, all rows, and each */
  output_free(&to);
  clients_remove(&gate->clients, &client);
}

/* ---- what is exact ---- */

/* The value of a series in Prometheus' text, which must be there once. */
static const char *value_of(const struct output *text, const char *series) {
  const char *found = strstr(text->at, series);
  if (found == NULL) fail_msg("%s is not there", series);
  assert_true(found == text->at || found[-1] == '\n');
  assert_null(strstr(found + 1, series));
  return found + strlen(series);
}

/* A row of the table is shown wherever it says, under that name, and with the gate's own number. */
static void check_number(const struct number *n, const struct gate_view *v,
                         const char status[65536], const struct output *metrics) {
  char line[256], number[32];
  snprintf(number, sizeof number, "%" PRIu64, number_of(n, v));
  if (n->status != NULL) {
    const char *group = strstr(status, "\"totals\":{");
    if (strcmp(n->group, "queue") == 0) group = strstr(status, "\"queue\":{");
    if (n->group[0] == '\0') group = status;
    assert_non_null(group);
    snprintf(line, sizeof line, "\"%s\":%s,", n->status, number);
    if (strstr(group, line) == NULL) fail_msg("/status has no %s", line);
  }
  if (n->metric == NULL) return;
  bool is_counter = n->kind == NUMBER_COUNTER;
  snprintf(line, sizeof line, "# HELP %s %s\n# TYPE %s %s\n%s{gate=\"main\"", n->metric, n->help,
           n->metric, number_type(n), n->metric);
  if (strstr(metrics->at, line) == NULL) fail_msg("/metrics has no %s", line);
  snprintf(line, sizeof line, "%s{gate=\"main\"%s%s} ", n->metric, n->label ? "," : "",
           n->label ? n->label : "");
  const char *value = value_of(metrics, line);
  assert_memory_equal(value, number, strlen(number));
  assert_int_equal(value[strlen(number)], '\n');
  size_t size = strlen(n->metric);
  assert_int_equal(size > 6 && strcmp(n->metric + size - 6, "_total") == 0, is_counter);
}

static void each_number_is_shown_where_the_table_says(void **state) {
  static char status[65536];
  struct gate *gate = &sites[0]->gate;
  struct gate_view v;
  struct output metrics = {.size = 0};
  size_t columns = 0;
  (void)state;
  gate_set_queue(gate, 77);
  atomic_store(&gate->servers, 5);
  atomic_store(&gate->away, 6);
  for (int kind = 0; kind < COUNT_KINDS; kind++) { /* each has a number of its own */
    statistics_count(&gate->statistics, (enum count)kind, 1000 + (uint64_t)kind);
  }
  statistics_refused(&gate->statistics, REASON_SHED);
  top_view_read_gate(&v, gate);
  assert_int_equal(ask("GET /status", HOST, "", status), 200);
  assert_true(metrics_write(&metrics, &program, &answers.resources));
  output_bytes(&metrics, "", 1);
  bool is_shown[COUNT_KINDS] = {false};
  for (size_t i = 0; i < gate_numbers.count; i++) {
    const struct number *n = &gate_numbers.at[i];
    check_number(n, &v, status, &metrics);
    columns += n->history != NULL;
    size_t first = offsetof(struct gate_view, statistics.counts);
    if (n->offset >= first && n->offset < first + sizeof v.statistics.counts) {
      is_shown[(n->offset - first) / sizeof v.statistics.counts[0]] = true;
    }
  }
  for (int kind = 0; kind < COUNT_KINDS; kind++) assert_true(is_shown[kind]);
  assert_true(columns <= HISTORY_NUMBERS_MOST);
  output_free(&metrics);
}

static void each_number_of_a_tenant_is_shown(void **state) {
  static char status[65536];
  char line[256];
  struct gate *gate = &sites[0]->gate;
  struct tenant_view v;
  struct output metrics = {.size = 0};
  (void)state;
  struct tenant *tenant = tenants_enter(gate_tenants(gate), "ann");
  assert_non_null(tenant);
  atomic_store(&tenant->held, 3);
  atomic_store(&tenant->refused, 5);
  top_view_read_tenant(&v, tenant);
  assert_int_equal(v.held, 3);
  assert_int_equal(v.refused, 5);
  assert_int_equal(ask("GET /status?tenants=main", HOST, "", status), 200);
  const char *row = strstr(status, "\"name\":\"ann\",");
  assert_non_null(row);
  assert_true(metrics_write(&metrics, &program, &answers.resources));
  output_bytes(&metrics, "", 1);
  for (size_t i = 0; i < tenant_numbers.count; i++) {
    const struct number *n = &tenant_numbers.at[i];
    snprintf(line, sizeof line, "\"%s\":%" PRIu64 ",", n->status ? n->status : "",
             number_of(n, &v));
    bool is_there = n->status != NULL && strstr(row, line) != NULL;
    if (n->status != NULL && is_there == n->is_leased) fail_msg("/status and the row of %s", line);
    if (n->metric == NULL) continue;
    snprintf(line, sizeof line, "%s{gate=\"main\",tenant=\"ann\"} ", n->metric);
    assert_int_equal(strtoull(value_of(&metrics, line), NULL, 10), number_of(n, &v));
    snprintf(line, sizeof line, "# TYPE %s %s\n", n->metric, number_type(n));
    assert_non_null(strstr(metrics.at, line));
  }
  atomic_store(&tenant->held, 0);
  tenant_leave(gate_tenants(gate), tenant);
  output_free(&metrics);
}

static void buckets_are_exact_at_powers_of_two(void **state) {
  struct gate *gate = &sites[0]->gate;
  struct output to = {.size = 0};
  (void)state;
  struct tenant *tenant = tenants_enter(gate_tenants(gate), "a\"b\\c\nd\xff\x1b\xc2\x9b");
  assert_non_null(tenant);
  for (int power = 10; power < 40; power++) {
    volt_shared_histogram_add_(&statistics_mine(&gate->statistics)->hold,
                               (UINT64_C(1) << power) - 1, 1);
    volt_shared_histogram_add_(&statistics_mine(&gate->statistics)->hold,
                               (UINT64_C(1) << power) + 1, 1);
  }
  assert_true(metrics_write(&to, &program, &answers.resources));
  output_bytes(&to, "", 1);
  /* up to 2^20: 10 powers below it with 2 each, and 2^20 - 1 */
  assert_memory_equal(
      value_of(&to, "voltgate_hold_seconds_bucket{gate=\"main\",le=\"0.001048576\"} "), "21\n", 3);
  assert_memory_equal(
      value_of(&to, "voltgate_hold_seconds_bucket{gate=\"main\",le=\"68.719476736\"} "), "53\n", 3);
  assert_memory_equal(value_of(&to, "voltgate_hold_seconds_bucket{gate=\"main\",le=\"+Inf\"} "),
                      "60\n", 3);
  assert_memory_equal(value_of(&to, "voltgate_hold_seconds_count{gate=\"main\"} "), "60\n", 3);
  assert_memory_equal(value_of(&to,
                               "voltgate_tenant_held{gate=\"main\",tenant="
                               "\"a\\\"b\\\\c\\nd\\\\xff\\\\x1b\\\\xc2\\\\x9b\"} "),
                      "0\n", 2);
  assert_null(strstr(to.at, "NaN"));
  output_free(&to);
  tenant_leave(gate_tenants(gate), tenant);
}

static void the_policy_allows_what_is_in_the_page_and_nothing_else(void **state) {
  char policy[PAGE_POLICY_MAX];
  (void)state;
  /* printf 'x' | openssl dgst -sha256 -binary | base64, and the same of "y" */
  static const char page[] = "<style>y</style><script>x</script><script>z</script>";
  page_policy_write(policy, sizeof policy, page, sizeof page - 1);
  assert_non_null(
      strstr(policy, "script-src 'sha256-LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=';"));
  assert_non_null(
      strstr(policy, "style-src 'sha256-ofzkNjhU/4iM/0uOeHXWAMJoI5BBKoz3mzfQsRFIsPo=';"));
  assert_memory_equal(policy, "default-src 'none';", 19);
  page_policy_write(policy, sizeof policy, page_html, page_html_size);
  assert_null(strstr(policy, "''"));
  assert_null(strstr(policy, "sha256-'"));
  assert_true(strlen(policy) + 1 < sizeof policy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(hosts_that_are_ours_are_answered),
      TEST(a_change_needs_the_token_and_our_own_page),
      TEST(a_limit_is_set),
      TEST(a_tenants_limit_is_set_whatever_its_name),
      TEST(a_query_names_a_gate),
      TEST(holders_are_said),
      TEST(health_is_the_worst_of_all_gates),
      TEST(a_second_is_what_was_counted_in_it),
      TEST(each_number_is_shown_where_the_table_says),
      TEST(each_number_of_a_tenant_is_shown),
      TEST(buckets_are_exact_at_powers_of_two),
      TEST(the_policy_allows_what_is_in_the_page_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
