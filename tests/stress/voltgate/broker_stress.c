/* broker_stress.c: clients of a permit gate, each a thread: they take and wait, are let into the gate's queue
 * when their tenant has as much, leave at any moment, give back in parts; some claim, and limits change. At
 * each grant no more is held than may be; at the end all is back. */
#include <stdio.h>
#include <string.h>
#include <volt/runtime.h>
#include <volt/time.h>

#include "config/kinds.h"
#include "gate/broker.h"
#include "gate/gate.h"
#include "subject.h"

enum { THREADS = 6, CORES = 6, MEMORY = 20 };

static const char *const labels[] = {"", "small", "large"};
static struct tenant_settings sections[] = {{.name = "large", .weight = 1, .cost = 1},
                                            {.name = "small", .weight = 1, .cost = 1}};
static struct gate gate;
static volt_rt *rt;
static bool has_claims;            /* in this round: then the limit is not compared */
static VOLT_ATOMIC(uint64_t) held; /* cores, of those that know that they have them */
static VOLT_ATOMIC(uint64_t) most; /* that may be held: the limit, and 256 for each change of it */
static VOLT_ATOMIC(uint64_t) checked;

static void read_amounts(const char *text, struct permit_amounts *to) {
  const char *why;
  STRESS_CHECK(kinds_read(text, true, to, &why));
}

/* ---- a client ---- */

/* If the limit does not change meanwhile, no more is held than it says. */
static void client_enters(const struct broker_entry *e) {
  uint64_t before = volt_fetch_add_acq_rel(&most, 0);
  uint64_t now = volt_fetch_add_acq_rel(&held, e->amounts.of[0]) + e->amounts.of[0];
  if (!has_claims && volt_fetch_add_acq_rel(&most, 0) == before) {
    STRESS_CHECK(now <= before % 256);
    volt_fetch_add_relaxed(&checked, 1);
  }
  stress_count_entry();
}

static void set_most(uint64_t limit) {
  uint64_t before = volt_load_relaxed(&most); /* one thread changes it */
  volt_fetch_add_acq_rel(&most, (before / 256 + 1) * 256 + limit - before);
}

static void client_gives(stress_worker *w, struct broker_entry *e) {
  volt_amounts part = {{0}};
  while (e->amounts.of[0] > 1 && stress_below(w, 2)) {
    part.of[0] = 1;
    volt_fetch_add_acq_rel(&held, UINT64_C(0) - 1);
    STRESS_CHECK(broker_give(gate.broker, e, &part));
  }
  part.of[0] = e->amounts.of[0] + 1;
  STRESS_CHECK(!broker_give(gate.broker, e, &part)); /* more than it has */
  volt_fetch_add_acq_rel(&held, UINT64_C(0) - e->amounts.of[0]);
  broker_give_all(gate.broker, e);
}

/* Wait for its place at the gate, or until it may be there. */
static int client_waits_once(struct broker_entry *e, uint64_t deadline_ns) {
  volt_future moved;
  volt_future *place = broker_future(gate.broker, e);
  if (place) return volt_future_wait_until(place, deadline_ns);
  int result = volt_future_wait_until(volt_notify_wait_future(&moved, &e->moved), deadline_ns);
  volt_future_cancel(&moved);
  return result;
}

/* Wait until it is granted, or leave. */
static enum broker_outcome client_waits(stress_worker *w, struct broker_entry *e) {
  char why[BROKER_WHY];
  enum broker_outcome outcome = BROKER_QUEUED;
  while (outcome == BROKER_QUEUED) {
    stress_progress(w, "its amounts");
    bool is_given_up = stress_below(w, 8) == 0;
    uint64_t deadline_ns = volt_now_ns() + stress_below(w, 200000);
    int result = client_waits_once(e, deadline_ns);
    if (is_given_up || (result != VOLT_OK && result != VOLT_EINVAL)) { /* perhaps with its grant */
      (void)broker_news(gate.broker, e);
      broker_leave(gate.broker, e);
      return BROKER_BUSY;
    }
    outcome = broker_ready(gate.broker, e, volt_now_ns(), why);
  }
  return outcome;
}

static void client(stress_worker *w) {
  struct broker_entry e;
  char why[BROKER_WHY];
  memset(&e, 0, sizeof e);
  broker_entry_init(&e);
  while (!stress_stopping()) {
    stress_progress(w, "a permit");
    memset(&e.amounts, 0, sizeof e.amounts);
    e.amounts.of[0] = 1 + stress_below(w, 3);
    e.amounts.of[1] = stress_below(w, 8);
    snprintf(e.label, sizeof e.label, "%s", labels[stress_below(w, 3)]);
    enum broker_outcome outcome = BROKER_GRANTED;
    if (!has_claims || !broker_claim(gate.broker, &e, volt_now_ns())) {
      outcome = broker_take(gate.broker, &e, stress_below(w, 4) != 0, volt_now_ns(), why);
      if (outcome == BROKER_QUEUED) outcome = client_waits(w, &e);
    }
    if (outcome != BROKER_GRANTED) {
      STRESS_CHECK(e.stand == BROKER_IDLE && !e.tenant);
      w->gave_up += 1;
      continue;
    }
    w->acquired += 1;
    client_enters(&e);
    if (stress_below(w, 4) == 0) sched_yield();
    client_gives(w, &e);
  }
  volt_notify_destroy(&e.moved);
}

/* ---- limits that change, and eyes ---- */

static void change(stress_worker *w) {
  struct broker_view v;
  while (!stress_stopping()) {
    uint64_t limit = 1 + stress_below(w, CORES);
    stress_progress(w, "another limit");
    broker_read_view(gate.broker, &v);
    uint64_t before = v.of[0].limit;
    if (limit > before) set_most(limit);
    broker_set_limit(gate.broker, 0, limit);
    while (limit < before) { /* what was held before may be above it */
      broker_read_view(gate.broker, &v);
      if (v.of[0].excess == 0) break;
      if (stress_stopping()) return;
      sched_yield();
    }
    if (limit < before) set_most(limit);
    for (unsigned i = stress_below(w, 50); i > 0; i--) sched_yield();
    struct broker_seen seen[4];
    struct broker_cursor at = {.order = 0};
    size_t all;
    (void)broker_look(gate.broker, stress_below(w, 2), &at, seen, 4, &all);
    STRESS_CHECK(all < THREADS);
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    change(w);
  } else {
    client(w);
  }
}

/* ---- */

static void expect_all_back(void) {
  struct broker_view v;
  struct broker_cursor at = {.order = 0};
  size_t all;
  broker_read_view(gate.broker, &v);
  STRESS_CHECK(volt_load_relaxed(&held) == 0 && v.holders == 0 && v.waiters == 0);
  STRESS_CHECK(v.of[0].held == 0 && v.of[1].held == 0 && gate.queued == 0);
  STRESS_CHECK(broker_look(gate.broker, true, &at, NULL, 0, &all) == 0 && all == 0);
  for (struct broker_tenant *t = gate.broker->tenants; t; t = t->next) {
    STRESS_CHECK(t->held.of[0] == 0 && t->held.of[1] == 0 && t->outside.count == 0);
  }
}

static void one_round(uint32_t round) {
  struct gate_settings settings = {.name = "main",
                                   .protocol = PROTOCOL_PERMIT,
                                   .queue = 3,
                                   .bypass = round % 2,
                                   .tenant_by = TENANT_BY_LABEL,
                                   .tenants = sections,
                                   .tenant_count = 2};
  has_claims = round % 3 == 2;
  settings.claim_period_ns = has_claims ? 2000000 : 0;
  char kinds[64];
  snprintf(kinds, sizeof kinds, "cores=%d memory=%d", CORES, MEMORY);
  read_amounts(kinds, &settings.kinds);
  const volt_rt_config config = {.workers = 2};
  STRESS_CHECK(volt_rt_create(&rt, &config) == VOLT_OK);
  STRESS_CHECK(gate_init(&gate, NULL, rt, &settings));
  volt_store_release(&held, 0);
  set_most(CORES);
  stress_round(THREADS, 30000000, body, NULL);
  expect_all_back();
  gate_destroy(&gate);
  STRESS_CHECK(volt_rt_shutdown(rt, VOLT_NO_DEADLINE) == VOLT_OK);
  (void)volt_rt_destroy(rt);
}

int main(void) {
  stress_begin("broker", "permits", NULL);
  read_amounts("cores=2", &sections[1].kinds);
  read_amounts("memory=9", &sections[0].kinds);
  for (uint32_t round = 0; stress_time_left(); round++) one_round(round);
  uint64_t looked_at = volt_load_relaxed(&checked);
  printf("%llu grants, at %llu of them the limit was compared\n",
         (unsigned long long)stress_entries(), (unsigned long long)looked_at);
  STRESS_CHECK(looked_at > 0);
  return stress_end();
}
