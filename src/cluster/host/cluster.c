/* cluster.c: a host: it is opened, driven by one task, closed.
 *
 * Algorithm
 *   The driver is a task of the caller's runtime. It alone uses the back end, the recipe and what
 *   they know. It sleeps until one of three things: the back end has something, a time that it has
 *   asked for has come, a lease has rung (lease.c). Then it looks at everything that may have
 *   changed, begins what is to be done, and sleeps again. It never waits for an answer.
 *   Its end: a close was asked for, or the runtime shuts down, which cancels it. Either way the
 *   waiters of the host's semaphores get VOLT_ECLOSED, all leases are void, and the session is ended
 *   at the ensemble, which deletes all nodes of this host at once.
 *
 * Race
 *   R1  Interleaving: the driver has looked whether to close, and goes to sleep; a thread asks for it
 *       and notifies. Prevented by: a notify is stored if no future waits (volt/notify.h).
 *
 * Labels: host */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../core/os/check.h"
#include "../../rt/sched/short_lock.h"
#include "../recipe/recipe.h"
#include "change.h"
#include "cluster.h"
#include "engine.h"
#include "lease.h"
#include "session.h"
#include "slots.h"
#include "wiped.h"

/* ---- what others ask ---- */

uint64_t cluster_now_(const volt_cluster *c) {
  return c->kind->now_ns(c->backend);
}

uint64_t volt_cluster_now_ns(const volt_cluster *c) {
  return cluster_now_(c);
}

static bool cluster_is_here(const volt_cluster *c) {
  return volt_load_relaxed(c->is_here) != 0; /* before *c is known, or by the kernel */
}

uint64_t cluster_valid_until_(const volt_cluster *c) {
  if (!cluster_is_here(c)) return 0; /* the parent has the permits */
  /* host:A1 <- session:U1: a thread that reads a time of new leases sees that the old ones are
   * lost */
  return volt_load_acquire(&c->valid_until_ns);
}

void cluster_check_fork_(const volt_cluster *c, const char *where) {
  VOLT_CHECK(cluster_is_here(c), where, "%p was opened by process %d, of which this one is a child",
             (const void *)c, c->pid);
}

void volt_cluster_stats(const volt_cluster *c, volt_cluster_stats_of *stats) {
  volt_cluster *host = (volt_cluster *)(uintptr_t)c;
  cluster_check_fork_(c, "volt_cluster_stats");
  volt_short_lock_lock_(&host->lock);
  *stats = c->published;
  volt_short_lock_unlock_(&host->lock);
  stats->valid_until_ns = cluster_valid_until_(c);
}

volt_future *volt_cluster_changed_future(volt_future *f, volt_cluster *c, uint64_t *seen) {
  cluster_check_fork_(c, "volt_cluster_changed_future");
  return volt_watch_changed_future(f, &c->changes, seen);
}

void cluster_log_(volt_cluster *c, enum volt_cluster_level level, const char *format, ...) {
  if (!c->config.log) return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  c->config.log(level, text, c->config.log_ctx);
}

/* ---- the driver ---- */

void cluster_publish_(volt_cluster *c) {
  volt_short_lock_lock_(&c->lock);
  bool is_changed = c->published.state != c->stats.state;
  c->published = c->stats;
  volt_short_lock_unlock_(&c->lock);
  if (is_changed) (void)volt_watch_send(&c->changes, NULL);
}

/* How much later than it wanted does the driver run? A task may block its worker, or the process is
 * stopped. */
static void cluster_note_late(volt_cluster *c) {
  uint64_t now_ns = cluster_now_(c);
  uint64_t late_ns = now_ns > c->due_ns ? now_ns - c->due_ns : 0;
  if (late_ns < c->late_ns && now_ns < c->late_at_ns + c->stats.session_ns) return;
  c->late_ns = late_ns;
  c->late_at_ns = now_ns;
}

/* Look at everything. Returns when to look again at the latest. */
static uint64_t cluster_check(volt_cluster *c) {
  cluster_note_late(c);
  lease_take_rung_(c);
  uint64_t until_ns = host_session_check_(c);
  uint64_t now_ns = cluster_now_(c);
  bool may_lease = host_session_may_lease_(c), is_other = may_lease != c->could_lease;
  c->could_lease = may_lease;
  for (volt_cluster_lease *l = c->driven; l; l = l->next_driven) {
    if (l->wake_ns <= now_ns || is_other) l->is_dirty = true;
    if (l->in_state[SLOT_NEW] > 0 && host_session_stays_valid_(c)) l->is_dirty = true;
    bool is_checked = l->is_dirty;
    if (is_checked) recipe_check_(l);
    lease_refuse_(l, is_checked);
    if (is_checked) lease_publish_(l);
    if (l->wake_ns < until_ns) until_ns = l->wake_ns;
  }
  uint64_t session_ns = host_session_check_(c); /* it may have leases now, or none */
  cluster_publish_(c);
  c->due_ns = session_ns < until_ns ? session_ns : until_ns;
  return c->due_ns;
}

static void cluster_end_leases(volt_cluster *c) {
  lease_take_rung_(c);
  host_session_lose_(c);
  for (volt_cluster_lease *l = c->driven; l; l = l->next_driven) {
    if (!l->is_closed) l->local.close(l->local.ctx);
    l->is_closed = true;
    lease_publish_(l);
  }
}

static void cluster_ended(volt_cluster *c, int result) {
  c->stats.state = VOLT_CLUSTER_CLOSED;
  c->stats.session = 0;
  cluster_publish_(c);
  volt_watch_close(&c->changes);
  change_ended_(c, result == VOLT_OK ? (int)VOLT_OK : (int)VOLT_CLUSTER_EAWAY);
}

static int cluster_poll(volt_task *t, volt_ctx *ctx) {
  volt_cluster *self = volt_container_of(t, volt_cluster, task);
  cluster_check_fork_(self, "volt_cluster"); /* the connection is the parent's */
  VOLT_TASK_BEGIN(self);
  /* host:C1 <- change:K1: a driver that ends sees what came before the call to close */
  while (!volt_load_acquire(&self->is_closing)) {
    self->either[0] = volt_notify_wait_future(&self->bell_future, &self->bell);
    self->either[1] = self->kind->wait_future(self->backend, cluster_check(self));
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED));
    if (self->result == VOLT_ECANCELED) break;
    self->kind->process(self->backend);
  }
  VOLT_FINALLY(self);
  volt_store_relaxed(&self->is_closing, 1); /* a cancel, too; change.c asks under the lock */
  cluster_end_leases(self);
  VOLT_AWAIT_RESULT(self, self->result, self->kind->close_future(self->backend));
  cluster_ended(self, self->result);
  VOLT_TASK_END(self);
}

/* ---- open ---- */

static const char *cluster_root_of(const volt_cluster_config *config) {
  const char *root = config->root ? config->root : "/volt";
  size_t length = strlen(root);
  bool is_path = root[0] == '/' && length <= ENGINE_ROOT_MAX && !strstr(root, "//");
  if (!is_path || (length > 1 && root[length - 1] == '/')) return NULL;
  return length == 1 ? "" : root;
}

static bool cluster_is_config(const volt_cluster_config *config) {
  uint64_t reserved = 0;
  for (size_t i = 0; i < sizeof config->reserved / sizeof *config->reserved; i++) {
    reserved |= config->reserved[i];
  }
  return config->rt && reserved == 0 && cluster_root_of(config);
}

/* Copy the strings that config points to. */
static bool cluster_copy(volt_cluster *c) {
  const char **strings[] = {&c->config.servers, &c->config.root, &c->config.auth,
                            &c->config.acl,     &c->config.tls,  &c->config.name};
  size_t size = 1;
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    if (*strings[i]) size += strlen(*strings[i]) + 1;
  }
  char *to = (char *)malloc(size);
  c->strings = to;
  if (!to) return false;
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    if (!*strings[i]) continue;
    size_t length = strlen(*strings[i]) + 1;
    memcpy(to, *strings[i], length);
    *strings[i] = to;
    to += length;
  }
  return true;
}

static void cluster_host_name(volt_cluster *c) {
  struct utsname machine;
  const char *name = c->config.name;
  if (!name) name = uname(&machine) == 0 ? machine.nodename : "";
  snprintf(c->host, sizeof c->host, "%.*s", ENGINE_HOST_MAX, name);
  for (char *p = c->host; *p; p++) {
    if (*p == '\n' || *p == '\r') *p = ' ';
  }
}

static void cluster_free(volt_cluster *c) {
  if (c->backend) c->kind->destroy(c->backend);
  free(c->strings);
  wiped_free_((void *)(uintptr_t)c->is_here, 0);
  free(c);
}

static int cluster_begin(volt_cluster *c) {
  volt_cluster_client client;
  host_session_open_(c, &client);
  int result = c->kind->open(&c->backend, &c->config, &client);
  if (result != VOLT_OK) {
    c->backend = NULL;
    return result;
  }
  cluster_publish_(c);
  volt_task_init(&c->task, cluster_poll);
  return volt_spawn(c->rt, &c->task);
}

int volt_cluster_open(volt_cluster **c, const volt_cluster_config *config) {
  *c = NULL;
  if (!cluster_is_config(config)) return VOLT_EINVAL;
  volt_cluster *host = (volt_cluster *)calloc(1, sizeof *host);
  if (!host) return VOLT_ENOMEM;
  host->config = *config;
  host->rt = config->rt;
  host->kind = config->kind ? config->kind : volt_cluster_zookeeper();
  host->pid = (int)getpid();
  host->is_here = (VOLT_ATOMIC(uint32_t) *)wiped_new_(0);
  snprintf(host->root, sizeof host->root, "%s", cluster_root_of(config));
  volt_short_lock_init_(&host->lock);
  host->due_ns = VOLT_NO_DEADLINE;
  volt_notify_init(&host->bell);
  volt_watch_init(&host->changes, 0, NULL, NULL);
  host->closers.lock = &host->lock;
  int result = host->is_here && cluster_copy(host) ? (int)VOLT_OK : (int)VOLT_ENOMEM;
  if (result == VOLT_OK) volt_store_relaxed(host->is_here, 1); /* no thread knows it yet */
  if (result == VOLT_OK) {
    cluster_host_name(host);
    result = cluster_begin(host);
  }
  if (result == VOLT_OK) {
    *c = host;
  } else {
    cluster_free(host);
  }
  return result;
}

/* ---- destroy ---- */

void volt_cluster_destroy(volt_cluster *c) {
  if (!c) return;
  cluster_check_fork_(c, "volt_cluster_destroy");
  volt_short_lock_lock_(&c->lock);
  bool is_ended = c->is_ended;
  volt_short_lock_unlock_(&c->lock);
  VOLT_CHECK(is_ended, "volt_cluster_destroy", "%p: it has not been closed", (void *)c);
  (void)volt_task_join(&c->task);
  for (volt_cluster_lease *l = c->leases, *next; l; l = next) {
    next = l->next;
    VOLT_CHECK(l->local.is_free(l->local.ctx), "volt_cluster_destroy", "%p: a permit of %s is out",
               (void *)c, l->name);
    lease_free_(l);
  }
  volt_notify_destroy(&c->bell);
  volt_watch_destroy(&c->changes);
  cluster_free(c);
}
