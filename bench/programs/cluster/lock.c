/* lock.c: beside it: a semaphore as Curator's InterProcessSemaphoreV2 makes it of the same ensemble. For
 * each permit a client takes the mutex (a node in a queue, waits for the one before it), makes a node
 * for its lease, counts the leases, waits for one to go if there are too many, and gives the mutex
 * back; and at the end it deletes its lease: four writes. Each host has one client, with as many
 * permits under way as it has tasks.
 *
 * The recipe "writes" makes the same four writes, and waits for nobody: no recipe of four writes can
 * be faster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "require.h"

typedef struct lock_task {
  volt_cluster_request r; /* first */
  volt_cluster_action a;
  struct lock_host *h;
  void (*next)(struct lock_task *t, int result);
  char queued[64], lease[64], before[64];
  uint32_t number;
  uint64_t since_ns, until_ns; /* it wants one; the section ends */
  bool is_in_section;
} lock_task;

typedef struct lock_host {
  volt_ensemble *e;
  const plan_config *config;
  plan_result *result;
  volt_cluster_backend *b;
  uint32_t number;
  bool is_connected;
  bool waits; /* for its turn */
  lock_task *tasks;
  uint64_t permits, writes, reads, events;
} lock_host;

static const volt_cluster_kind *kind;

static void lock_begins(lock_task *t);

/* ---- asking ---- */

static void lock_done(volt_cluster_request *r) {
  lock_task *t = (lock_task *)(void *)r;
  t->next(t, r->result); /* nothing goes wrong here, before lock_is_over() */
}

static void lock_write(lock_task *t, enum volt_cluster_action_kind action, const char *path,
                       void (*next)(lock_task *t, int result)) {
  memset(&t->r, 0, sizeof t->r);
  memset(&t->a, 0, sizeof t->a);
  t->a.kind = action;
  t->a.is_ephemeral = t->a.is_sequential = action == VOLT_CLUSTER_CREATE;
  t->a.version = -1;
  snprintf(t->a.path, sizeof t->a.path, "%s", path);
  t->r.kind = VOLT_CLUSTER_WRITE;
  t->r.actions = &t->a;
  t->r.count = 1;
  t->r.done = lock_done;
  t->next = next;
  t->h->writes += 1;
  kind->submit(t->h->b, &t->r);
}

static void lock_read(lock_task *t, enum volt_cluster_request_kind request, const char *path,
                      bool is_watched, void (*next)(lock_task *t, int result)) {
  memset(&t->r, 0, sizeof t->r);
  t->r.kind = request;
  t->r.watch = is_watched ? t->number + 1 : 0;
  t->r.done = lock_done;
  snprintf(t->r.path, sizeof t->r.path, "%s", path);
  t->next = next;
  t->h->reads += 1;
  kind->submit(t->h->b, &t->r);
}

/* ---- the lease ---- */

static void lock_released(lock_task *t, int result) {
  (void)result;
  lock_begins(t);
}

static void lock_has_permit(lock_task *t, int result) {
  (void)result;
  uint64_t now_ns = volt_ensemble_now_ns(t->h->e);
  plan_note_wait(t->h->result, now_ns - t->since_ns);
  t->h->permits += 1;
  t->is_in_section = true;
  t->until_ns = now_ns + t->h->config->section_ns;
}

static void lock_count_leases(lock_task *t, int result);

static void lock_counted(lock_task *t, int result) {
  REQUIRE(result == VOLT_OK);
  if (t->r.name_count <= t->h->config->limit) { /* else its watch fires */
    lock_write(t, VOLT_CLUSTER_DELETE, t->queued, lock_has_permit);
  } else {
    t->next = lock_count_leases;
  }
}

static void lock_count_leases(lock_task *t, int result) {
  (void)result;
  lock_read(t, VOLT_CLUSTER_CHILDREN, "/leases", true, lock_counted);
}

static void lock_has_lease(lock_task *t, int result) {
  REQUIRE(result == VOLT_OK);
  snprintf(t->lease, sizeof t->lease, "%.60s", t->a.path);
  if (t->h->waits) {
    lock_count_leases(t, VOLT_OK);
  } else {
    lock_write(t, VOLT_CLUSTER_DELETE, t->queued, lock_has_permit);
  }
}

/* ---- the mutex ---- */

static void lock_look(lock_task *t, int result);

static void lock_looked_before(lock_task *t, int result) {
  if (result == VOLT_OK) {
    t->next = lock_look; /* its watch fires */
  } else {
    lock_look(t, VOLT_OK);
  }
}

static uint32_t lock_place(const char *name) {
  return (uint32_t)strtoul(strrchr(name, '-') + 1, NULL, 10);
}

static void lock_looked(lock_task *t, int result) {
  REQUIRE(result == VOLT_OK);
  uint32_t mine = lock_place(t->queued), best = 0;
  const char *before = NULL;
  for (uint32_t i = 0; i < t->r.name_count; i++) {
    uint32_t place = lock_place(t->r.names[i]);
    if (place >= mine || (before && place <= best)) continue;
    before = t->r.names[i];
    best = place;
  }
  if (!before) {
    lock_write(t, VOLT_CLUSTER_CREATE, "/leases/lease-", lock_has_lease);
    return;
  }
  snprintf(t->before, sizeof t->before, "/locks/%.50s", before);
  lock_read(t, VOLT_CLUSTER_READ, t->before, true, lock_looked_before);
}

static void lock_look(lock_task *t, int result) {
  (void)result;
  lock_read(t, VOLT_CLUSTER_CHILDREN, "/locks", false, lock_looked);
}

static void lock_queued(lock_task *t, int result) {
  REQUIRE(result == VOLT_OK);
  snprintf(t->queued, sizeof t->queued, "%.60s", t->a.path);
  if (!t->h->waits) {
    lock_write(t, VOLT_CLUSTER_CREATE, "/leases/lease-", lock_has_lease);
    return;
  }
  lock_look(t, VOLT_OK);
}

static void lock_begins(lock_task *t) {
  t->since_ns = volt_ensemble_now_ns(t->h->e);
  lock_write(t, VOLT_CLUSTER_CREATE, "/locks/lock-", lock_queued);
}

/* ---- a host ---- */

static void lock_on_session(void *ctx, enum volt_cluster_session_event event, uint64_t session,
                            uint64_t session_ns, uint64_t since_ns) {
  (void)session, (void)session_ns, (void)since_ns;
  ((lock_host *)ctx)->is_connected = event == VOLT_CLUSTER_SESSION_NEW;
}

static void lock_on_event(void *ctx, uint32_t watch) {
  lock_host *h = (lock_host *)ctx;
  h->events += 1;
  lock_task *t = &h->tasks[watch - 1];
  if (t->next == lock_look || t->next == lock_count_leases) t->next(t, VOLT_OK);
}

static void lock_log(void *ctx, enum volt_cluster_level level, const char *text) {
  (void)ctx, (void)level, (void)text;
}

/* A task of the runtime drives the client. */
typedef struct lock_driver {
  volt_task task;
  lock_host *h;
} lock_driver;

static uint64_t lock_run_sections(lock_host *h) {
  uint64_t next_ns = UINT64_MAX, now_ns = volt_ensemble_now_ns(h->e);
  for (uint32_t i = 0; i < h->config->tasks; i++) {
    lock_task *t = &h->tasks[i];
    if (!t->is_in_section) continue;
    if (t->until_ns <= now_ns) {
      t->is_in_section = false;
      lock_write(t, VOLT_CLUSTER_DELETE, t->lease, lock_released);
    } else if (t->until_ns < next_ns) {
      next_ns = t->until_ns;
    }
  }
  return next_ns == UINT64_MAX ? VOLT_NO_DEADLINE : kind->now_ns(h->b) + (next_ns - now_ns);
}

static int lock_driver_poll(volt_task *task, volt_ctx *ctx) {
  lock_driver *self = volt_container_of(task, lock_driver, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, kind->wait_future(self->h->b, lock_run_sections(self->h)));
    kind->process(self->h->b);
  }
  VOLT_TASK_END(self);
}

static void lock_is_over(lock_task *t, int result) {
  (void)t, (void)result;
}

static void lock_open(lock_host *h, lock_driver *driver) {
  h->number = volt_ensemble_host_add(h->e);
  volt_cluster_config config = {.rt = volt_ensemble_host_rt(h->e, h->number),
                                .of_kind = h->e,
                                .session_ns = 10 * PLAN_SECOND};
  volt_cluster_client client = {
      .on_session = lock_on_session, .on_event = lock_on_event, .log = lock_log, .ctx = h};
  REQUIRE(kind->open(&h->b, &config, &client) == VOLT_OK);
  kind->connect(h->b);
  h->tasks = (lock_task *)calloc(h->config->tasks, sizeof *h->tasks);
  REQUIRE(h->tasks);
  driver->h = h;
  volt_task_init(&driver->task, lock_driver_poll);
  REQUIRE(volt_spawn(config.rt, &driver->task) == VOLT_OK);
}

static void lock_close(lock_host *h, lock_driver *driver) {
  (void)volt_task_cancel(&driver->task);
  volt_ensemble_run(h->e, volt_ensemble_now_ns(h->e));
  volt_task_detach(&driver->task);
  for (uint32_t i = 0; i < h->config->tasks; i++) h->tasks[i].next = lock_is_over;
  volt_future *f = kind->close_future(h->b);
  (void)volt_ensemble_run_future(h->e, f, volt_ensemble_now_ns(h->e) + PLAN_SECOND);
  kind->destroy(h->b);
  volt_ensemble_host_remove(h->e, h->number);
  free(h->tasks);
}

/* ---- a run ---- */

static void lock_add(const lock_host *hosts, uint32_t count, int sign, plan_result *r) {
  for (uint32_t i = 0; i < count; i++) {
    r->permits += (uint64_t)sign * hosts[i].permits;
    r->writes += (uint64_t)sign * hosts[i].writes;
    r->reads += (uint64_t)sign * hosts[i].reads;
    r->events += (uint64_t)sign * hosts[i].events;
  }
}

static void lock_start(volt_ensemble *e, lock_host *hosts, const plan_config *config) {
  REQUIRE(volt_ensemble_create_node(e, "/locks", "", 0) == VOLT_OK);
  REQUIRE(volt_ensemble_create_node(e, "/leases", "", 0) == VOLT_OK);
  volt_ensemble_run(e, volt_ensemble_now_ns(e) + PLAN_SECOND);
  for (uint32_t i = 0; i < config->hosts; i++) {
    REQUIRE(hosts[i].is_connected);
    for (uint32_t j = 0; j < config->tasks; j++) {
      hosts[i].tasks[j].h = &hosts[i];
      hosts[i].tasks[j].number = j;
      lock_begins(&hosts[i].tasks[j]);
    }
  }
}

static void lock_find_extremes(const lock_host *hosts, const uint64_t *before, uint32_t count,
                               plan_result *r) {
  r->slowest = UINT64_MAX;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t permits = hosts[i].permits - before[i];
    if (permits < r->slowest) r->slowest = permits;
    if (permits > r->fastest) r->fastest = permits;
  }
}

void plan_run_lock(const plan_config *config, plan_result *r) {
  volt_ensemble *e = plan_ensemble(config, NULL, NULL);
  lock_host *hosts = (lock_host *)calloc(config->hosts, sizeof *hosts);
  lock_driver *drivers = (lock_driver *)calloc(config->hosts, sizeof *drivers);
  uint64_t *before = (uint64_t *)calloc(config->hosts, sizeof *before);
  REQUIRE(hosts && drivers && before);
  kind = volt_cluster_simulated();
  for (uint32_t i = 0; i < config->hosts; i++) {
    hosts[i].e = e;
    hosts[i].config = config;
    hosts[i].result = r;
    hosts[i].waits = strcmp(config->recipe, "writes") != 0;
    lock_open(&hosts[i], &drivers[i]);
  }
  lock_start(e, hosts, config);
  volt_ensemble_run(e, volt_ensemble_now_ns(e) + config->warm_ns);
  memset(r, 0, sizeof *r);
  lock_add(hosts, config->hosts, -1, r);
  for (uint32_t i = 0; i < config->hosts; i++) before[i] = hosts[i].permits;
  volt_ensemble_run(e, volt_ensemble_now_ns(e) + config->run_ns);
  lock_add(hosts, config->hosts, 1, r);
  lock_find_extremes(hosts, before, config->hosts, r);
  for (uint32_t i = 0; i < config->hosts; i++) lock_close(&hosts[i], &drivers[i]);
  free(before);
  free(drivers);
  free(hosts);
  volt_ensemble_destroy(e);
}
