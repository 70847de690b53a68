/* permit_session_test.c: clients of a permit gate from accept to their end, on a network in memory: what
 * they are granted and in which order, what they are told, and claims. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/kinds.h"
#include "gate/broker.h"
#include "session/session.h"
#include "stage.h"
#include "unit.h"

static void begin(struct stage *s, const char *kinds) {
  const char *why;
  stage_begin(s, 1);
  s->settings.protocol = PROTOCOL_PERMIT;
  s->settings.refuse = REFUSE_PERMIT;
  s->settings.to = NULL;
  s->settings.queue_timeout_ns = 0;
  assert_true(kinds_read(kinds, true, &s->settings.kinds, &why));
}

static uint64_t held(struct stage *s, unsigned kind) {
  struct broker_view v;
  broker_read_view(s->gate->broker, &v);
  return v.of[kind].held;
}

/* Since it was asked last. */
static const char *heard(struct stage *s, struct peer *p) {
  p->size = 0;
  return stage_read(s, p);
}

#define HEARS(s, p, words) assert_string_equal(heard(s, p), words)

static void ask(struct stage *s, struct peer *p, const char *words) {
  stage_connect(s, p);
  stage_send(s, p, words);
}

static void test_takes_and_gives(void **state) {
  struct stage s;
  struct peer a;
  (void)state;
  begin(&s, "cores=2 memory=4G");
  stage_open(&s);
  ask(&s, &a, "hello 1\r\npi");
  HEARS(&s, &a, "hello 1 voltgate 1.0 main\n");
  stage_send(&s, &a, "ng\ntake cores=2 memory=1K\n");
  HEARS(&s, &a, "pong\ngranted cores=2 memory=1024 id=1 wait_ms=0\n");
  assert_int_equal(held(&s, 0), 2);
  stage_send(&s, &a, "give cores=1\n");
  HEARS(&s, &a, "given cores=1 memory=1024\n");
  assert_int_equal(held(&s, 0), 1);
  stage_send(&s, &a, "give cores=1 memory=1K\n"); /* all of it */
  HEARS(&s, &a, "given\n");
  stage_send(&s, &a, "give\ntake cores=1\n");
  HEARS(&s, &a, "given\ngranted cores=1 id=2 wait_ms=0\n");
  stage_close(&s, &a);
  assert_int_equal(held(&s, 0), 0);
  assert_int_equal(held(&s, 1), 0);
  stage_end(&s);
}

static void test_order_and_places(void **state) {
  struct stage s;
  struct peer p[5];
  (void)state;
  begin(&s, "cores=2");
  stage_open(&s);
  ask(&s, &p[0], "take cores=2\n");
  ask(&s, &p[1], "take cores=2\n");
  for (int i = 2; i < 5; i++) ask(&s, &p[i], "take cores=1\n");
  HEARS(&s, &p[0], "granted cores=2 id=1 wait_ms=0\n");
  HEARS(&s, &p[1], "queued 1\n");
  HEARS(&s, &p[4], "queued 4\n");
  stage_send(&s, &p[0], "give cores=1\n"); /* enough for the second, but not its turn */
  HEARS(&s, &p[2], "queued 2\n");
  stage_close(&s, &p[0]);
  HEARS(&s, &p[1], "granted cores=2 id=2 wait_ms=0\n");
  HEARS(&s, &p[2], ""); /* not at once */
  stage_pass(&s, 100 * STAGE_MS);
  HEARS(&s, &p[2], "queued 1\n");
  HEARS(&s, &p[4], "queued 3\n");
  stage_pass(&s, STAGE_S);
  HEARS(&s, &p[4], ""); /* it has not moved */
  stage_close(&s, &p[1]);
  HEARS(&s, &p[2], "granted cores=1 id=3 wait_ms=1100\n");
  HEARS(&s, &p[3], "queued 3\nqueued 2\ngranted cores=1 id=4 wait_ms=1100\n");
  stage_pass(&s, 100 * STAGE_MS);
  HEARS(&s, &p[4], "queued 1\n");
  stage_send(&s, &p[3], "give\n");
  HEARS(&s, &p[4], "granted cores=1 id=5 wait_ms=1200\n");
  for (int i = 2; i < 5; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

static void test_who_leaves_the_queue(void **state) {
  struct stage s;
  struct peer p[5];
  (void)state;
  begin(&s, "cores=1");
  stage_open(&s);
  for (int i = 0; i < 5; i++) ask(&s, &p[i], "take cores=1\n");
  assert_int_equal(atomic_load(&s.gate->queued), 4);
  stage_close(&s, &p[1]); /* hangs up */
  stage_shut(&s, &p[2]);  /* sends no more, which is the same */
  assert_int_equal(atomic_load(&s.gate->queued), 2);
  assert_int_equal(stage_counted(&s, COUNT_LEFT), 2);
  HEARS(&s, &p[3], "queued 3\n");
  stage_send(&s, &p[3], "give\n");
  HEARS(&s, &p[3], "given\n");
  stage_close(&s, &p[0]);
  HEARS(&s, &p[4], "queued 4\ngranted cores=1 id=5 wait_ms=0\n");
  stage_send(&s, &p[3], "take cores=1 wait=30ms\n");
  stage_pass(&s, 30 * STAGE_MS);
  HEARS(&s, &p[3], "queued 1\nrefused timeout: nothing within 30 ms\n");
  stage_send(&s, &p[3], "take cores=1 wait=0\n");
  HEARS(&s, &p[3], "refused busy: cores: 1 asked for, 0 of 1 free\n");
  for (int i = 2; i < 5; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

static void test_bypass(void **state) {
  struct stage s;
  struct peer p[4];
  (void)state;
  begin(&s, "cores=2 gpu=1");
  s.settings.bypass = 1;
  stage_open(&s);
  ask(&s, &p[0], "take gpu=1\n");
  ask(&s, &p[1], "take gpu=1\n");
  ask(&s, &p[2], "take cores=1\n");
  HEARS(&s, &p[2], "granted cores=1 id=3 wait_ms=0\n");
  ask(&s, &p[3], "take cores=1\n"); /* one has passed it */
  HEARS(&s, &p[3], "queued 2\n");
  for (int i = 0; i < 4; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

/* ---- what is refused ---- */

static void test_refusals_that_stay(void **state) {
  struct stage s;
  struct peer a;
  const char *why;
  (void)state;
  begin(&s, "cores=2 memory=4G");
  assert_true(kinds_read("memory=1G", false, &s.settings.most, &why));
  stage_open(&s);
  ask(&s, &a, "take gpu=1\n");
  HEARS(&s, &a, "refused kind: there is no kind gpu here, but cores memory\n");
  stage_send(&s, &a, "take cores=3\n");
  HEARS(&s, &a, "refused impossible: cores: 3 asked for, the limit is 2\n");
  stage_send(&s, &a, "take memory=2G\n");
  HEARS(&s, &a,
        "refused never: memory: 2147483648 asked for, one request may ask for 1073741824\n");
  stage_send(&s, &a, "give cores=1\n");
  HEARS(&s, &a, "refused state: it does not hold as much\n");
  stage_send(&s, &a, "give gpu=1\n");
  HEARS(&s, &a, "refused kind: there is no kind gpu here, but cores memory\n");
  stage_send(&s, &a, "take cores=2\ntake cores=1\ngive cores=3\ngive memory=1\n");
  HEARS(&s, &a,
        "granted cores=2 id=1 wait_ms=0\nrefused state: it holds already: give first\n"
        "refused state: it does not hold as much\nrefused state: it does not hold as much\n");
  assert_int_equal(held(&s, 0), 2);
  assert_int_equal(stage_refused(&s, REASON_IMPOSSIBLE), 1);
  assert_int_equal(stage_refused(&s, REASON_NEVER), 1);
  assert_false(a.has_ended);
  stage_close(&s, &a);
  stage_end(&s);
}

static void ends_with(struct stage *s, const char *words, const char *answer) {
  struct peer p;
  ask(s, &p, words);
  HEARS(s, &p, answer);
  assert_true(p.has_ended);
  stage_close(s, &p);
}

static void test_refusals_that_close(void **state) {
  struct stage s;
  struct peer p[2];
  (void)state;
  begin(&s, "cores=1");
  s.settings.queue = 1;
  s.settings.clients = 3;
  stage_open(&s);
  ends_with(&s, "hello 2\n", "refused version: version 1 is spoken here\n");
  ends_with(
      &s, "quit\n",
      "refused syntax: the protocol is violated: the first word is none of hello, take, claim, "
      "give, list, ping\n");
  ask(&s, &p[0], "take cores=1\n");
  ask(&s, &p[1], "take cores=1\n");
  ends_with(&s, "take cores=1\n", "refused full: the queue of 1 is full, and no permit is free\n");
  struct peer third;
  stage_connect(&s, &third);
  ends_with(&s, "", "refused full: too many clients: 3 may be connected\n");
  stage_close(&s, &third);
  for (int i = 0; i < 2; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

static void test_no_user_no_tenant(void **state) {
  struct stage s;
  (void)state;
  begin(&s, "cores=1");
  s.settings.tenant_by = TENANT_BY_USER;
  stage_open(&s);
  ends_with(
      &s, "",
      "refused who: this user may not ask: tenants are users here, and whose process this is, "
      "is only known at a unix socket\n");
  stage_end(&s);
}

static void test_drain(void **state) {
  struct stage s;
  struct peer holder, waiter, idle;
  (void)state;
  begin(&s, "cores=1");
  stage_open(&s);
  ask(&s, &holder, "take cores=1\n");
  ask(&s, &waiter, "take cores=1\n");
  ask(&s, &idle, "ping\n");
  HEARS(&s, &idle, "pong\n");
  atomic_store(&s.gate->is_draining, true);
  gate_tell(s.gate);
  stage_run(&s);
  HEARS(&s, &idle, "refused draining: shutting down\n");
  assert_true(idle.has_ended);
  HEARS(&s, &waiter, "queued 1\nrefused draining: shutting down\n");
  assert_true(waiter.has_ended);
  HEARS(&s, &holder, "granted cores=1 id=1 wait_ms=0\n");
  stage_send(&s, &holder, "ping\n");
  HEARS(&s, &holder, "pong\n");
  stage_send(&s, &holder, "give\n");
  HEARS(&s, &holder, "given\nrefused draining: shutting down\n");
  assert_true(holder.has_ended);
  stage_close(&s, &holder);
  stage_close(&s, &waiter);
  stage_close(&s, &idle);
  stage_end(&s);
}

/* Each line is a sign that the client is there: only silence is rest. */
static void test_who_asks_is_not_idle(void **state) {
  struct stage s;
  struct peer a;
  (void)state;
  begin(&s, "cores=1");
  s.settings.idle_timeout_ns = STAGE_S;
  stage_open(&s);
  ask(&s, &a, "hello 1\n");
  for (int i = 0; i < 3; i++) {
    stage_pass(&s, 900 * STAGE_MS);
    stage_send(&s, &a, i == 1 ? "list\n" : "ping\n");
    assert_false(a.has_ended);
  }
  (void)heard(&s, &a);
  stage_pass(&s, 900 * STAGE_MS);
  stage_send(&s, &a, "\n"); /* says nothing */
  stage_pass(&s, 100 * STAGE_MS);
  HEARS(&s, &a, "refused timeout: idle for 1 s\n");
  assert_true(a.has_ended);
  stage_close(&s, &a);
  stage_end(&s);
}

static void test_rest_has_an_end(void **state) {
  struct stage s;
  struct peer idle, holder, old;
  (void)state;
  begin(&s, "cores=1");
  s.settings.idle_timeout_ns = STAGE_S;
  s.settings.max_age_ns = 10 * STAGE_S;
  stage_open(&s);
  ask(&s, &holder, "take cores=1\n");
  ask(&s, &idle, "ping\n");
  stage_pass(&s, STAGE_S);
  HEARS(&s, &idle, "pong\nrefused timeout: idle for 1 s\n");
  assert_true(idle.has_ended);
  stage_connect(&s, &old);
  stage_send(&s, &old, "take cores=1\n");
  stage_pass(&s, 20 * STAGE_S);
  HEARS(&s, &holder, "granted cores=1 id=1 wait_ms=0\n");
  stage_send(&s, &holder, "give\n"); /* it may stay as long as it holds, and no longer */
  HEARS(&s, &holder, "given\nrefused draining: the connection has reached its age of 10 s\n");
  HEARS(&s, &old, "queued 1\ngranted cores=1 id=2 wait_ms=20000\n");
  stage_close(&s, &idle);
  stage_close(&s, &holder);
  stage_close(&s, &old);
  stage_end(&s);
}

/* ---- who does not read ---- */

/* Say so much that no answer has room any more. */
static void fill(struct stage *s, struct peer *p, const char *line) {
  static char words[16384];
  words[0] = '\0';
  while (strlen(words) + strlen(line) < 8000) strcat(words, line);
  for (int i = 0; i < 100; i++) {
    size_t n;
    int result = volt_fd_try_send(&p->fd, words, strlen(words), 0, &n);
    stage_run(s);
    if (result == VOLT_EAGAIN || n < strlen(words)) return;
  }
  assert_true(false);
}

/* All that it is told. Returns the last line that begins so, in memory of its own. */
static const char *last(struct stage *s, struct peer *p, const char *word) {
  static char line[256], rest[256];
  const char *at;
  size_t size = 0;
  line[0] = '\0';
  while (*(at = heard(s, p))) {
    for (; *at; at++) {
      if (*at != '\n') {
        if (size + 1 < sizeof rest) rest[size++] = *at;
        continue;
      }
      rest[size] = '\0';
      if (strncmp(rest, word, strlen(word)) == 0) strcpy(line, rest);
      size = 0;
    }
  }
  return line;
}

static void test_newest_place_is_said_late(void **state) {
  struct stage s;
  struct peer p[4];
  (void)state;
  begin(&s, "cores=1");
  stage_open(&s);
  for (int i = 0; i < 4; i++) ask(&s, &p[i], "take cores=1\n");
  HEARS(&s, &p[3], "queued 3\n");
  fill(&s, &p[3], "ping\n");
  stage_close(&s, &p[1]);
  stage_close(&s, &p[2]);
  stage_pass(&s, STAGE_S); /* there is no room for "queued 1" */
  assert_string_equal(last(&s, &p[3], "queued"), "queued 1");
  stage_close(&s, &p[0]);
  stage_close(&s, &p[3]);
  stage_end(&s);
}

/* Bytes that are in memory because clients do not read. */
static uint32_t kept_for_clients(struct stage *s) {
  uint32_t kept = 0;
  for (int i = 0; i < CLIENTS_SHARDS; i++) {
    const struct client *client = s->gate->clients.shards[i].first; /* nothing runs */
    for (; client; client = client->next) {
      const struct session *one = volt_container_of(client, struct session, entry);
      kept += one->client.kept_until - one->client.kept_from;
    }
  }
  return kept;
}

/* A client that does not read its list costs a piece of it, and has all of it when it does. */
static void test_list_in_pieces(void **state) {
  enum { HOLDERS = 40 };
  struct stage s;
  static struct peer p[HOLDERS];
  struct peer reader;
  char label[200], words[256];
  (void)state;
  begin(&s, "cores=1000");
  stage_open(&s);
  memset(label, 'x', sizeof label);
  label[PERMIT_LABEL_BYTES - 1] = '\0';
  for (int i = 0; i < HOLDERS; i++) {
    snprintf(words, sizeof words, "take cores=1 label=%s\n", label);
    ask(&s, &p[i], words);
  }
  stage_connect(&s, &reader);
  fill(&s, &reader, "list\n");
  uint32_t kept = kept_for_clients(&s);
  assert_true(kept > 0 && kept < 8000); /* the list has 12,000 */
  assert_true(strncmp(last(&s, &reader, "holder"), "holder id=40 ", 13) == 0);
  assert_int_equal(held(&s, 0), HOLDERS);
  for (int i = 0; i < HOLDERS; i++) stage_close(&s, &p[i]);
  stage_close(&s, &reader);
  stage_end(&s);
}

/* ---- limits, tenants, claims ---- */

static void test_limits_change(void **state) {
  struct stage s;
  struct peer p[3];
  (void)state;
  begin(&s, "cores=4");
  stage_open(&s);
  ask(&s, &p[0], "take cores=4\n");
  ask(&s, &p[1], "take cores=3\n");
  ask(&s, &p[2], "take cores=2\n");
  broker_set_limit(s.gate->broker, 0, 2);
  HEARS(&s, &p[1], "queued 1\nrefused impossible: cores: 3 asked for, the limit is 2\n");
  stage_send(&s, &p[0], "give cores=2\n"); /* to the excess */
  HEARS(&s, &p[2], "queued 2\n");
  assert_int_equal(held(&s, 0), 2);
  stage_pass(&s, 200 * STAGE_MS);
  broker_set_limit(s.gate->broker, 0, 4);
  HEARS(&s, &p[2], "queued 1\ngranted cores=2 id=3 wait_ms=200\n");
  assert_int_equal(held(&s, 0), 4);
  for (int i = 0; i < 3; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

static void test_tenants(void **state) {
  struct stage s;
  struct peer p[5];
  const char *why;
  struct tenant_settings tenant = {.name = (char *)"ci", .weight = 1, .cost = 1};
  (void)state;
  begin(&s, "cores=2");
  assert_true(kinds_read("cores=1", false, &tenant.kinds, &why));
  s.settings.tenant_by = TENANT_BY_LABEL;
  s.settings.tenants = &tenant;
  s.settings.tenant_count = 1;
  stage_open(&s);
  ask(&s, &p[0], "take cores=1 label=ci\n");
  ask(&s, &p[1], "take cores=1 label=ci\n"); /* its tenant has no more */
  ask(&s, &p[2], "take cores=1 label=me\n");
  ask(&s, &p[3], "take cores=1\n");
  ask(&s, &p[4], "take cores=2 label=ci\n");
  HEARS(&s, &p[0], "granted cores=1 id=1 wait_ms=0\n");
  HEARS(&s, &p[1], "queued 1\n");
  HEARS(&s, &p[2], "granted cores=1 id=3 wait_ms=0\n");
  HEARS(&s, &p[3], "queued 1\n"); /* at the gate: before all that wait for their tenant */
  HEARS(&s, &p[4], "refused never: cores: 2 asked for, the limit is 1\n");
  stage_close(&s, &p[0]);
  HEARS(&s, &p[3], "granted cores=1 id=4 wait_ms=0\n");
  stage_pass(&s, 100 * STAGE_MS); /* it has its tenant's, and waits at the gate */
  stage_close(&s, &p[2]);
  HEARS(&s, &p[1], "granted cores=1 id=2 wait_ms=100\n");
  stage_send(&s, &p[4], "take cores=1 label=ci\n");
  stage_close(&s, &p[1]);
  HEARS(&s, &p[4], "queued 1\ngranted cores=1 id=5 wait_ms=0\n");
  stage_close(&s, &p[3]);
  stage_close(&s, &p[4]);
  stage_end(&s);
}

/* A limit of the gate is lowered below what one asks for that waits for its tenant: it hears that at once. */
static void test_limit_is_lowered_below_one_of_a_tenant(void **state) {
  struct stage s;
  struct peer p[3];
  const char *why;
  struct tenant_settings tenant = {.name = (char *)"ci", .weight = 1, .cost = 1};
  (void)state;
  begin(&s, "cores=4");
  assert_true(kinds_read("cores=3", false, &tenant.kinds, &why));
  s.settings.tenant_by = TENANT_BY_LABEL;
  s.settings.tenants = &tenant;
  s.settings.tenant_count = 1;
  stage_open(&s);
  ask(&s, &p[0], "take cores=2 label=ci\n");
  ask(&s, &p[1], "take cores=3 label=ci\n");
  ask(&s, &p[2], "take cores=1 label=ci\n");
  HEARS(&s, &p[1], "queued 1\n");
  HEARS(&s, &p[2], "queued 2\n");
  broker_set_limit(s.gate->broker, 0, 2);
  HEARS(&s, &p[1], "refused impossible: cores: 3 asked for, the limit is 2\n");
  stage_send(&s, &p[1], "ping\n"); /* it stays */
  HEARS(&s, &p[1], "pong\n");
  stage_close(&s, &p[0]); /* and the next is the first of its tenant */
  HEARS(&s, &p[2], "granted cores=1 id=3 wait_ms=0\n");
  for (int i = 1; i < 3; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

static void test_claims(void **state) {
  struct stage s;
  struct peer p[6];
  (void)state;
  begin(&s, "cores=2");
  s.settings.claim_period_ns = 2 * STAGE_S;
  stage_open(&s);
  ask(&s, &p[0], "take cores=1\n");
  ask(&s, &p[1], "claim cores=2\n");
  ask(&s, &p[2], "claim cores=1\n");
  HEARS(&s, &p[0], "queued 1\n");
  HEARS(&s, &p[1], "granted cores=2 id=2 wait_ms=0\n");
  HEARS(&s, &p[2], "granted cores=1 id=3 wait_ms=0\n"); /* above the limit */
  assert_int_equal(held(&s, 0), 3);
  ask(&s, &p[3], "claim cores=1\ngive\n"); /* what it gives back is not free yet */
  HEARS(&s, &p[3], "granted cores=1 id=4 wait_ms=0\ngiven\n");
  stage_send(&s, &p[3], "take cores=1 wait=0\n");
  HEARS(&s, &p[3], "refused busy: cores: 1 asked for, 0 of 2 free\n");
  stage_pass(&s, 2 * STAGE_S);
  HEARS(&s, &p[0], "");
  ask(&s, &p[4], "claim cores=1\n"); /* too late */
  HEARS(&s, &p[4], "queued 2\n");
  stage_close(&s, &p[2]); /* what is above the limit is not granted again */
  HEARS(&s, &p[0], "");
  assert_int_equal(held(&s, 0), 2);
  stage_send(&s, &p[1], "give cores=1\n");
  HEARS(&s, &p[0], "granted cores=1 id=1 wait_ms=2000\n");
  assert_int_equal(held(&s, 0), 2);
  stage_send(&s, &p[1], "give\n");
  HEARS(&s, &p[4], "granted cores=1 id=5 wait_ms=0\n");
  stage_close(&s, &p[0]);
  stage_close(&s, &p[1]);
  stage_close(&s, &p[3]);
  stage_close(&s, &p[4]);
  stage_end(&s);
}

/* While clients can claim, what one gives back is for the next that claims, and for no request. */
static void test_what_claims_give_back(void **state) {
  struct stage s;
  struct peer p[3];
  (void)state;
  begin(&s, "cores=2");
  s.settings.claim_period_ns = 2 * STAGE_S;
  stage_open(&s);
  ask(&s, &p[0], "take cores=1\n");
  ask(&s, &p[1], "claim cores=2\ngive\n");
  HEARS(&s, &p[0], "queued 1\n");
  HEARS(&s, &p[1], "granted cores=2 id=2 wait_ms=0\ngiven\n");
  assert_int_equal(held(&s, 0), 0);
  ask(&s, &p[2], "claim cores=2\n");
  HEARS(&s, &p[2], "granted cores=2 id=3 wait_ms=0\n");
  assert_int_equal(held(&s, 0), 2);
  stage_pass(&s, 2 * STAGE_S);
  HEARS(&s, &p[0], "");
  stage_send(&s, &p[2], "give cores=1\n");
  HEARS(&s, &p[0], "granted cores=1 id=1 wait_ms=2000\n");
  for (int i = 0; i < 3; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

/* A limit that changes while clients can claim holds afterwards. */
static void test_limit_changes_while_clients_claim(void **state) {
  struct stage s;
  struct peer p[3];
  (void)state;
  begin(&s, "cores=2");
  s.settings.claim_period_ns = 2 * STAGE_S;
  stage_open(&s);
  ask(&s, &p[0], "claim cores=1\n");
  ask(&s, &p[1], "take cores=1\n");
  ask(&s, &p[2], "take cores=1\n");
  broker_set_limit(s.gate->broker, 0, 3);
  HEARS(&s, &p[1], "queued 1\n");
  broker_set_limit(s.gate->broker, 0, 1);
  stage_pass(&s, 2 * STAGE_S);
  HEARS(&s, &p[1], "");
  stage_close(&s, &p[0]);
  HEARS(&s, &p[1], "granted cores=1 id=2 wait_ms=2000\n");
  HEARS(&s, &p[2], "queued 2\n");
  for (int i = 1; i < 3; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

/* More is claimed than there is, and the limit is raised: what is above it counts, until it is back. */
static void limit_is_raised_above_claims(bool while_they_claim) {
  struct stage s;
  struct peer p[4];
  begin(&s, "cores=2");
  s.settings.claim_period_ns = 2 * STAGE_S;
  stage_open(&s);
  ask(&s, &p[0], "claim cores=2\n");
  ask(&s, &p[1], "claim cores=1\n");
  if (while_they_claim) broker_set_limit(s.gate->broker, 0, 4);
  stage_pass(&s, 2 * STAGE_S);
  ask(&s, &p[2], "take cores=2\n");
  ask(&s, &p[3], "take cores=1\n");
  broker_set_limit(s.gate->broker, 0, 4);
  HEARS(&s, &p[2], "queued 1\n");
  assert_int_equal(held(&s, 0), 3);
  broker_set_limit(s.gate->broker, 0, 3); /* and back: nothing is free */
  broker_set_limit(s.gate->broker, 0, 4);
  HEARS(&s, &p[2], "");
  stage_close(&s, &p[1]);
  HEARS(&s, &p[2], "granted cores=2 id=3 wait_ms=0\n");
  assert_int_equal(held(&s, 0), 4);
  stage_send(&s, &p[0], "give cores=1\n");
  HEARS(&s, &p[3], "queued 2\ngranted cores=1 id=4 wait_ms=0\n");
  assert_int_equal(held(&s, 0), 4);
  stage_close(&s, &p[0]);
  stage_close(&s, &p[2]);
  stage_close(&s, &p[3]);
  stage_end(&s);
}

static void test_limit_is_raised_above_claims(void **state) {
  (void)state;
  limit_is_raised_above_claims(false);
  limit_is_raised_above_claims(true);
}

static void test_no_claim_is_more_than_there_can_be(void **state) {
  struct stage s;
  struct peer p;
  (void)state;
  begin(&s, "cores=2");
  s.settings.claim_period_ns = 2 * STAGE_S;
  stage_open(&s);
  ask(&s, &p, "claim cores=18446744073709551615\n");
  HEARS(&s, &p, "refused impossible: cores: more than 1T asked for\n");
  assert_int_equal(held(&s, 0), 0);
  stage_close(&s, &p);
  stage_end(&s);
}

/* ---- what is listed ---- */

static void test_list(void **state) {
  struct stage s;
  struct peer p[3];
  (void)state;
  begin(&s, "cores=2 memory=1K");
  stage_open(&s);
  ask(&s, &p[0], "take cores=1 memory=1K label=\"a b\" command=\"x \\\"y\\\"\"\n");
  stage_pass(&s, 250 * STAGE_MS);
  ask(&s, &p[1], "take cores=2 memory=1\n");
  ask(&s, &p[2], "take cores=1\nlist\n");
  HEARS(&s, &p[2],
        "queued 2\n"
        "kind cores limit=2 held=1 free=1\n"
        "kind memory limit=1024 held=1024 free=0\n"
        "holder id=1 since_ms=250 cores=1 memory=1024 label=\"a b\" command=\"x \\\"y\\\"\"\n"
        "waiter place=1 since_ms=0 cores=2 memory=1 lacks=cores,memory\n"
        "waiter place=2 since_ms=0 cores=1\n"
        "end\n");
  for (int i = 0; i < 3; i++) stage_close(&s, &p[i]);
  stage_end(&s);
}

/* ---- any order ---- */

enum { CROWD = 12, STEPS = 400, LIMIT = 5 };

/* What the test itself knows of a client, by what it has heard. */
struct one {
  struct peer peer;
  bool is_there, waits;
  unsigned asked, holds;
  uint64_t ticket; /* in the order in which they asked */
};

static void hear(struct stage *s, struct one *one) {
  const char *at = heard(s, &one->peer);
  for (; *at; at = strchr(at, '\n') + 1) {
    unsigned n = 0;
    if (sscanf(at, "granted cores=%u", &n) == 1) {
      assert_int_equal(n, one->asked);
      one->holds = n;
      one->waits = false;
    } else if (strncmp(at, "given", 5) == 0) {
      one->holds = sscanf(at, "given cores=%u", &n) == 1 ? n : 0;
      one->waits = false;
    } else if (strncmp(at, "refused timeout", 15) == 0) {
      one->waits = false;
    } else {
      assert_memory_equal(at, "queued ", 7);
    }
  }
}

/* Never above the limit, nothing lost, and nobody waits behind an oldest one that fits. */
static void crowd_is_right(struct stage *s, struct one *all) {
  unsigned sum = 0;
  const struct one *oldest = NULL;
  for (int i = 0; i < CROWD; i++) {
    if (!all[i].is_there) continue;
    hear(s, &all[i]);
    sum += all[i].holds;
    if (all[i].waits && (!oldest || all[i].ticket < oldest->ticket)) oldest = &all[i];
  }
  assert_true(sum <= LIMIT);
  assert_int_equal(held(s, 0), sum);
  if (oldest) assert_true(oldest->asked > LIMIT - sum);
}

static void crowd_step(struct stage *s, struct one *one, unsigned choice, uint64_t *tickets) {
  char words[64];
  if (!one->is_there) {
    memset(one, 0, sizeof *one);
    stage_connect(s, &one->peer);
    one->is_there = true;
  } else if (choice % 4 == 0) {
    stage_close(s, &one->peer);
    one->is_there = false;
  } else if (one->waits) {
    if (choice % 4 == 1) stage_send(s, &one->peer, "give\n");
    if (choice % 4 == 2) stage_pass(s, 20 * STAGE_MS);
  } else if (one->holds > 1 && choice % 4 == 1) {
    stage_send(s, &one->peer, "give cores=1\n");
  } else if (one->holds) {
    stage_send(s, &one->peer, "give\n");
  } else {
    one->asked = 1 + choice / 4 % LIMIT;
    one->waits = true;
    one->ticket = ++*tickets;
    snprintf(words, sizeof words, "take cores=%u%s\n", one->asked,
             choice % 4 == 3 ? " wait=50ms" : "");
    stage_send(s, &one->peer, words);
  }
}

static void test_any_order(void **state) {
  static struct one all[CROWD];
  (void)state;
  for (uint32_t seed = 1; seed <= 20; seed++) {
    struct stage s;
    uint32_t random = seed;
    uint64_t tickets = 0;
    memset(all, 0, sizeof all);
    begin(&s, "cores=5");
    s.settings.half_close = HALF_CLOSE_LEAVE;
    stage_open(&s);
    for (int i = 0; i < STEPS; i++) {
      random = random * 1664525 + 1013904223;
      crowd_step(&s, &all[(random >> 24) % CROWD], random >> 8 & 0xffff, &tickets);
      crowd_is_right(&s, all);
    }
    for (int i = 0; i < CROWD; i++) {
      if (all[i].is_there) stage_close(&s, &all[i].peer);
    }
    assert_int_equal(held(&s, 0), 0);
    stage_end(&s);
  }
}

/* Ended from outside while one holds and one waits. */
static void test_cut_off(void **state) {
  struct stage s;
  struct peer holder, waiter;
  (void)state;
  begin(&s, "cores=1");
  stage_open(&s);
  ask(&s, &holder, "take cores=1\n");
  ask(&s, &waiter, "take cores=1\n");
  volt_group_cancel(&s.sessions);
  stage_run(&s);
  HEARS(&s, &holder, "granted cores=1 id=1 wait_ms=0\nrefused draining: shutting down\n");
  HEARS(&s, &waiter, "queued 1\nrefused draining: shutting down\n");
  assert_int_equal(held(&s, 0), 0);
  stage_close(&s, &holder);
  stage_close(&s, &waiter);
  stage_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_takes_and_gives),
      cmocka_unit_test(test_order_and_places),
      cmocka_unit_test(test_who_leaves_the_queue),
      cmocka_unit_test(test_bypass),
      cmocka_unit_test(test_refusals_that_stay),
      cmocka_unit_test(test_refusals_that_close),
      cmocka_unit_test(test_drain),
      cmocka_unit_test(test_rest_has_an_end),
      cmocka_unit_test(test_who_asks_is_not_idle),
      cmocka_unit_test(test_newest_place_is_said_late),
      cmocka_unit_test(test_list_in_pieces),
      cmocka_unit_test(test_no_user_no_tenant),
      cmocka_unit_test(test_limits_change),
      cmocka_unit_test(test_tenants),
      cmocka_unit_test(test_limit_is_lowered_below_one_of_a_tenant),
      cmocka_unit_test(test_claims),
      cmocka_unit_test(test_what_claims_give_back),
      cmocka_unit_test(test_limit_changes_while_clients_claim),
      cmocka_unit_test(test_limit_is_raised_above_claims),
      cmocka_unit_test(test_no_claim_is_more_than_there_can_be),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_any_order),
      cmocka_unit_test(test_cut_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
