/* voltgate_stress.c: clients of voltgate's admission: tasks on some workers, and threads, of several
 * tenants; they hang up, run into deadlines, leave before their first poll; meanwhile limits and
 * costs change. At each admission no more is held than may be; at the end all is back. */
#include <stdio.h>
#include <volt/runtime.h>
#include <volt/time.h>

#include "gate/admission.h"
#include "subject.h"

enum { TASKS = 12, THREADS = 4, NAMES = 4 };

static const char *const names[NAMES] = {"a", "weighty", "small", "heavy"};
static struct tenant_settings sections[] = {
    {.name = "heavy", .weight = 1, .cost = 3},
    {.name = "small", .weight = 1, .cost = 1, .limit = 2},
    {.name = "weighty", .weight = 3, .cost = 1},
};
static struct gate gate;
static volt_rt *rt;
static VOLT_ATOMIC(uint32_t) stopping;
static VOLT_ATOMIC(uint32_t) held; /* permits, of those that know that they have them */
static VOLT_ATOMIC(uint32_t) most; /* that may be held: the limit, and 256 for each change of it */
static VOLT_ATOMIC(uint64_t) checked;

/* ---- a client ---- */

struct visitor {
  struct client client;
  struct admission admission;
  rng random;
  uint64_t place;
};

static void visitor_come(struct visitor *v, unsigned index) {
  v->random = rng_seeded(index * 7919u + (uint64_t)stress_entries());
  clients_add(&gate.clients, &v->client);
  struct tenants *tenants = gate_tenants(&gate);
  v->client.tenant = tenants ? tenants_enter(tenants, names[index % NAMES]) : NULL;
  admission_init(&v->admission, &gate, &v->client);
}

static void visitor_go(struct visitor *v) {
  clients_remove(&gate.clients, &v->client);
  if (v->client.tenant) tenant_leave(gate_tenants(&gate), v->client.tenant);
}

/* If the limit does not change meanwhile, no more is held than it says. */
static void visitor_enters(struct visitor *v) {
  uint32_t before = volt_fetch_add_acq_rel(&most, 0);
  uint32_t now = volt_fetch_add_acq_rel(&held, v->admission.cost) + v->admission.cost;
  if (volt_fetch_add_acq_rel(&most, 0) == before) {
    STRESS_CHECK(now <= before % 256);
    volt_fetch_add_relaxed(&checked, 1);
  }
  stress_count_entry();
}

static void set_most(uint32_t limit) {
  uint32_t before = volt_load_relaxed(&most); /* one thread changes it */
  volt_fetch_add_acq_rel(&most, (before / 256 + 1) * 256 + limit - before);
}

static void visitor_releases(struct visitor *v) {
  volt_fetch_add_acq_rel(&held, 0u - v->admission.cost);
  admission_release(&v->admission, volt_now_ns());
}

/* Returns whether it is queued, and will wait. */
static bool visitor_queues(struct visitor *v) {
  STRESS_CHECK(!admission_holds(&v->admission));
  if (admission_try(&v->admission, volt_now_ns()) == VOLT_OK) return false;
  if (admission_join(&v->admission, volt_now_ns()) != VOLT_OK) return false;
  if (rng_below(&v->random, 16) != 0) return true;
  if (rng_below(&v->random, 2)) volt_future_cancel(admission_future(&v->admission));
  if (admission_leave(&v->admission, volt_now_ns()))
    STRESS_CHECK(false && "granted without a poll");
  return false;
}

static uint64_t visitor_deadline_ns(struct visitor *v) {
  return volt_now_ns() + rng_below(&v->random, 100000);
}

/* ---- as a task ---- */

struct task_client {
  volt_task task;
  struct visitor visitor;
  volt_timeout timeout;
  volt_sleep_op sleep;
  int result;
};

static int task_client_poll(volt_task *t, volt_ctx *ctx) {
  struct task_client *self = volt_container_of(t, struct task_client, task);
  struct visitor *v = &self->visitor;
  VOLT_TASK_BEGIN(self);
  while (!volt_load_acquire(&stopping)) {
    if (visitor_queues(v)) {
      volt_future *f = admission_future(&v->admission);
      if (rng_below(&v->random, 2)) { /* as the accepting task does */
        (void)volt_future_poll(f, (volt_waker){NULL, NULL});
      }
      if (rng_below(&v->random, 2)) {
        f = volt_timeout_future(&self->timeout, f, volt_rt_timers(rt), visitor_deadline_ns(v));
      }
      VOLT_AWAIT_RESULT(self, self->result, f);
      bool holds = admission_leave(&v->admission, volt_now_ns());
      STRESS_CHECK(holds == (self->result == VOLT_OK));
    }
    if (admission_holds(&v->admission)) {
      visitor_enters(v);
      if (rng_below(&v->random, 2)) VOLT_YIELD(self);
      visitor_releases(v);
    }
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

/* ---- as a thread ---- */

static void thread_client(stress_worker *w, struct visitor *v) {
  while (!stress_stopping()) {
    stress_progress(w, "a permit");
    if (visitor_queues(v)) {
      int result = volt_future_wait_until(admission_future(&v->admission), visitor_deadline_ns(v));
      bool holds = admission_leave(&v->admission, volt_now_ns());
      STRESS_CHECK(holds == (result == VOLT_OK));
    }
    if (!admission_holds(&v->admission)) {
      w->gave_up += 1;
      continue;
    }
    w->acquired += 1;
    visitor_enters(v);
    visitor_releases(v);
  }
}

/* ---- limits that change ---- */

static void change(stress_worker *w) {
  while (!stress_stopping()) {
    uint32_t limit = 1 + stress_below(w, 6), before = volt_sem_limit(&gate.permits);
    stress_progress(w, "another limit");
    if (limit > before) set_most(limit);
    gate_set_limit(&gate, limit);
    if (limit < before) {
      /* what was held before may be above it */
      while (volt_sem_excess(&gate.permits) > 0 && !stress_stopping()) sched_yield();
      if (volt_sem_excess(&gate.permits) > 0) return;
      set_most(limit);
    }
    struct tenants *tenants = gate_tenants(&gate);
    if (tenants && stress_below(w, 4) == 0) {
      const char *name = names[stress_below(w, NAMES)];
      STRESS_CHECK(tenants_set_limit(tenants, name, stress_below(w, 4)));
    }
    for (unsigned i = stress_below(w, 50); i > 0; i--) sched_yield();
  }
}

static void body(stress_worker *w, void *arg) {
  struct visitor *visitors = (struct visitor *)arg;
  if (w->index == 0) {
    change(w);
  } else {
    thread_client(w, &visitors[w->index]);
  }
}

/* ---- */

static void expect_all_back(void) {
  STRESS_CHECK(volt_load_relaxed(&held) == 0 && gate_held(&gate) == 0);
  STRESS_CHECK(volt_sem_available(&gate.permits) == volt_sem_limit(&gate.permits));
  STRESS_CHECK(volt_sem_waiters(&gate.permits) == 0 && gate.queued == 0);
  STRESS_CHECK(gate.turns.notes == NULL);
}

static void spawn(volt_group *group, struct task_client *clients) {
  volt_group_init_how(group, VOLT_GROUP_KEEP_GOING);
  for (unsigned i = 0; i < TASKS; i++) {
    volt_task_init(&clients[i].task, task_client_poll);
    visitor_come(&clients[i].visitor, i);
    STRESS_CHECK(volt_group_spawn(group, rt, &clients[i].task) == VOLT_OK);
  }
}

static void one_round(bool has_tenants, uint32_t workers) {
  const struct gate_settings settings = {
      .name = "main",
      .limit = 3,
      .queue = 10,
      .tenant_by = has_tenants ? TENANT_BY_USER : TENANT_BY_NONE,
      .tenant_default = {.weight = 1, .cost = 1},
      .tenant_max = 10,
      .tenants = sections,
      .tenant_count = 3,
  };
  const volt_rt_config config = {.workers = workers};
  static struct task_client clients[TASKS];
  static struct visitor visitors[THREADS];
  memset(clients, 0, sizeof clients);
  memset(visitors, 0, sizeof visitors);
  STRESS_CHECK(volt_rt_create(&rt, &config) == VOLT_OK);
  STRESS_CHECK(gate_init(&gate, NULL, rt, &settings));
  volt_store_release(&stopping, 0);
  volt_store_release(&held, 0);
  set_most(3);
  volt_group group;
  spawn(&group, clients);
  for (unsigned i = 1; i < THREADS; i++) visitor_come(&visitors[i], i);
  stress_round(THREADS, 30000000, body, visitors);
  volt_store_release(&stopping, 1);
  STRESS_CHECK(volt_group_wait_until(&group, volt_deadline_s(120)) == VOLT_OK);
  volt_group_destroy(&group);
  expect_all_back();
  for (unsigned i = 0; i < TASKS; i++) visitor_go(&clients[i].visitor);
  for (unsigned i = 1; i < THREADS; i++) visitor_go(&visitors[i]);
  gate_destroy(&gate);
  STRESS_CHECK(volt_rt_shutdown(rt, VOLT_NO_DEADLINE) == VOLT_OK);
  (void)volt_rt_destroy(rt);
}

int main(void) {
  stress_begin("voltgate", "permits", NULL);
  for (uint32_t round = 0; stress_time_left(); round++) one_round(round % 3 != 0, 2 + round % 3);
  uint64_t looked_at = volt_load_relaxed(&checked);
  printf("%llu admissions, at %llu of them the limit was compared\n",
         (unsigned long long)stress_entries(), (unsigned long long)looked_at);
  STRESS_CHECK(looked_at > 0);
  return stress_end();
}
