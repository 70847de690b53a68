/* leased.c: the leases of this process.
 *
 * A name is opened at the ensemble once, and stays open. A gate or a tenant that needs it becomes one
 * of its users. There are two when a reload has taken a gate away that still drains, and another
 * reload brings it back: then the first has the permits until it is over. One that has no user wants
 * nothing, so that others lease its slots.
 *
 * The driver of the engine calls named_wanted() and those below it, on its task; the follower calls
 * leases_follow(); workers look, and see whether a release is awaited. Only the first two set limits,
 * each under the name's lock, so that what is set last is what was decided last. A limit that is set
 * wakes clients, and may deal turns (gate/turns.c): these call look and is_waiting only, which take no
 * lock.
 *
 * Locks: leases->lock before a name's. */
#define _GNU_SOURCE /* strdup */
#include "cluster/leased.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/cluster_name.h"
#include "process/log.h"

enum { LEASES_ROOM_GATE = 4096, LEASES_ROOM_TENANT = 256 };

/* Of one gate or tenant. */
struct leased {
  struct lease lease; /* first */
  struct leased *next;
  struct named *named;
  struct lease_target target;
};

struct named {
  struct named *next;
  struct leases *all_names;
  struct engine *engine;
  volt_cluster_lease *handle;
  char name[CLUSTER_NAME_MAX + 1];
  char *gate;           /* for the log */
  atomic_uint all;      /* the limit of all gates together */
  pthread_mutex_t lock; /* of what follows */
  struct leased *first; /* users, the oldest first; those that have ended are in `ended` */
  struct leased *ended;
  struct away away;
  enum cluster_away choice;
  uint32_t configured;
  uint32_t differs; /* the limit of which was said that it is not the configured one */
  int result;       /* that was logged */
};

/* ---- the limit in force ---- */

static uint32_t named_wants(const struct leased *user) {
  volt_sem *permits = user->target.permits;
  uint32_t waiters = volt_sem_waiters(permits);
  if (!user->target.wants) return waiters;
  /* relaxed: the thread that has changed it has called look since. Clients from before the gate had tenants
   * wait at the permits themselves */
  uint32_t wants = atomic_load_explicit(user->target.wants, memory_order_relaxed);
  return wants > waiters ? wants : waiters;
}

/* What was acquired, and not released. Read twice, it may be too much, and is never less than what is
 * held above the limit: only we change that. */
static uint32_t named_holds(const struct leased *user) {
  const volt_sem *permits = user->target.permits;
  int64_t excess = volt_sem_excess(permits);
  int64_t held = (int64_t)volt_sem_limit(permits) + excess - volt_sem_available(permits);
  return held > 0 ? (uint32_t)held : 0;
}

/* Under the lock. */
static void named_apply(struct named *n) {
  uint32_t limit = away_limit(&n->away, n->choice);
  for (struct leased *user = n->first; user; user = user->next) {
    if (volt_sem_limit(user->target.permits) != limit) {
      volt_sem_set_limit(user->target.permits, limit);
    }
    limit = 0;
  }
}

/* ---- what the engine asks and says ---- */

static uint32_t named_wanted(void *ctx) {
  struct named *n = (struct named *)ctx;
  pthread_mutex_lock(&n->lock);
  uint32_t wanted = n->first ? named_holds(n->first) + named_wants(n->first) : 0;
  pthread_mutex_unlock(&n->lock);
  return wanted;
}

static uint32_t named_held(void *ctx) {
  struct named *n = (struct named *)ctx;
  pthread_mutex_lock(&n->lock);
  uint32_t held = n->first ? named_holds(n->first) : 0;
  pthread_mutex_unlock(&n->lock);
  return held;
}

static void named_set_limit(uint32_t limit, void *ctx) {
  struct named *n = (struct named *)ctx;
  pthread_mutex_lock(&n->lock);
  away_leased(&n->away, limit);
  named_apply(n);
  pthread_mutex_unlock(&n->lock);
}

static void named_say_lost(const struct named *n, uint32_t had) {
  enum lease_mode mode = away_mode(&n->away, n->choice);
  log_line(LOG_WARN, n->gate,
           "%s: leases lost: %" PRIu32
           "; clients that have permits keep them, and the limit is "
           "%" PRIu32 " (%s)",
           n->name, had, away_limit(&n->away, n->choice), leased_mode_name(mode));
}

static void named_lost(void *ctx) {
  struct named *n = (struct named *)ctx;
  struct away_sees sees;
  volt_cluster_lease_stats s;
  n->engine->calls->sees(n->engine, &sees);
  n->engine->calls->stats(n->handle, &s);
  pthread_mutex_lock(&n->lock);
  uint32_t had = n->away.before;
  away_lost(&n->away, &sees, s.limit, s.hosts);
  named_apply(n);
  bool is_closing = atomic_load_explicit(&n->all_names->is_closing, memory_order_relaxed);
  if (had > 0 && !is_closing) named_say_lost(n, had); /* relaxed: for the log */
  pthread_mutex_unlock(&n->lock);
}

/* ---- what a gate calls ---- */

static struct leased *leased_of(const struct lease *l) {
  return volt_container_of(l, struct leased, lease);
}

static void leased_look(struct lease *l) {
  struct named *n = leased_of(l)->named;
  n->engine->calls->look(n->handle);
}

static void leased_released(struct lease *l) {
  struct named *n = leased_of(l)->named;
  if (n->engine->calls->is_waiting(n->handle)) n->engine->calls->look(n->handle);
}

static uint32_t leased_limit(const struct lease *l) {
  const struct named *n = leased_of(l)->named;
  return atomic_load_explicit(&n->all, memory_order_relaxed); /* shown */
}

static const char *named_wrong(int result) {
  switch (result) {
    case VOLT_OK: return NULL;
    case VOLT_CLUSTER_ENONODE: return "the node was deleted";
    case VOLT_CLUSTER_EDATA: return "the node's data is not volt's";
    case VOLT_CLUSTER_EERA: return "the ensemble is older than what this host has seen: raise era";
    case VOLT_CLUSTER_EAUTH: return "not allowed";
    default: return volt_strerror(result);
  }
}

static const char *named_choice(const struct named *n) {
  return leased_mode_name(n->choice == CLUSTER_AWAY_KEEP    ? LEASE_KEEP
                          : n->choice == CLUSTER_AWAY_SHARE ? LEASE_SHARE
                                                            : LEASE_CLOSED);
}

/* Permits that clients hold by leases that were lost. What was leased just now is in `away` first. */
static uint32_t named_lost_held(const struct named *n, uint32_t held, uint32_t leased) {
  if (leased < n->away.leased) leased = n->away.leased;
  return held > leased ? held - leased : 0;
}

static void leased_read(struct lease *l, struct lease_view *v) {
  struct leased *user = leased_of(l);
  struct named *n = user->named;
  volt_cluster_lease_stats s;
  n->engine->calls->stats(n->handle, &s);
  pthread_mutex_lock(&n->lock);
  uint32_t held = n->first == user ? named_holds(user) : 0;
  *v = (struct lease_view){.wrong = named_wrong(s.result),
                           .away = named_choice(n),
                           .mode = away_mode(&n->away, n->choice),
                           .limit = leased_limit(l),
                           .leased = s.leased,
                           .unproved = s.unproved,
                           .in_force = n->first == user ? away_limit(&n->away, n->choice) : 0,
                           .used = held,
                           .owed = s.owed,
                           .lost = named_lost_held(n, held, s.leased),
                           .hosts = s.hosts,
                           .hosts_before = s.hosts_before,
                           .is_queued = s.is_queued != 0,
                           .era = s.era,
                           .epoch = s.epoch,
                           .quantum_ns = s.quantum_ns,
                           .leases = s.leases,
                           .returns = s.returns,
                           .revoked = s.revoked,
                           .lost_ever = s.lost_ever,
                           .given_up = s.given_up,
                           .marks = s.marks,
                           .rests = s.rests};
  pthread_mutex_unlock(&n->lock);
  memcpy(v->name, n->name, sizeof n->name);
}

static const struct lease_calls leased_calls = {leased_look, leased_released, leased_limit,
                                                leased_read};

/* ---- names ---- */

static void named_free(struct named *n) {
  for (struct leased *user = n->ended; user;) {
    struct leased *next = user->next;
    free(user);
    user = next;
  }
  pthread_mutex_destroy(&n->lock);
  free(n->gate);
  free(n);
}

static struct named *leases_find(const struct leases *all, const char *name) {
  struct named *n = all->first;
  while (n && strcmp(n->name, name) != 0) n = n->next;
  return n;
}

static struct named *leases_make(struct leases *all, const char *name, const char *gate,
                                 const char *tenant, uint32_t limit) {
  struct named *n = (struct named *)calloc(1, sizeof *n);
  if (!n) return NULL;
  pthread_mutex_init(&n->lock, NULL);
  n->engine = all->engine;
  n->all_names = all;
  snprintf(n->name, sizeof n->name, "%s", name);
  n->gate = strdup(gate);
  n->configured = limit;
  atomic_init(&n->all, limit);
  const uint32_t least = tenant ? LEASES_ROOM_TENANT : LEASES_ROOM_GATE;
  const volt_cluster_sem_config config = {
      .limit = limit, .capacity = limit * 2 > least ? limit * 2 : least, .era = all->era};
  const volt_cluster_lease_user user = {.wanted = named_wanted,
                                        .held = named_held,
                                        .set_limit = named_set_limit,
                                        .lost = named_lost,
                                        .ctx = n};
  int result = n->gate ? all->engine->calls->open(all->engine, &n->handle, name, &config, &user)
                       : VOLT_ENOMEM;
  if (result != VOLT_OK) {
    log_line(LOG_ERROR, gate, "%s cannot be leased: %s", name, volt_strerror(result));
    named_free(n);
    return NULL;
  }
  n->next = all->first;
  all->first = n;
  return n;
}

/* ---- users ---- */

/* Where the list leads to the user for that target, or ends. */
static struct leased **named_find(struct leased **link, const struct lease_target *target) {
  while (*link && (*link)->target.permits != target->permits) link = &(*link)->next;
  return link;
}

static struct leased *named_user(struct named *n, const struct lease_target *target) {
  struct leased **link = named_find(&n->first, target), **ended = named_find(&n->ended, target);
  if (*link) return *link;
  struct leased *user = *ended;
  if (user) *ended = user->next;
  if (!user) user = (struct leased *)calloc(1, sizeof *user);
  if (!user) return NULL;
  *user = (struct leased){.lease = {&leased_calls}, .named = n, .target = *target};
  *link = user;
  return user;
}

static struct lease *leases_lease(struct lessor *from, const struct gate_settings *settings,
                                  const char *tenant, uint32_t limit,
                                  const struct lease_target *target) {
  struct leases *all = volt_container_of(from, struct leases, lessor);
  char name[CLUSTER_NAME_MAX + 1];
  struct leased *user = NULL;
  cluster_name(name, settings, tenant);
  pthread_mutex_lock(&all->lock);
  struct named *n = leases_find(all, name);
  if (!n) n = leases_make(all, name, settings->name, tenant, limit);
  if (n) {
    pthread_mutex_lock(&n->lock);
    user = named_user(n, target);
    n->choice = settings->cluster_away;
    if (n->configured != limit) n->differs = 0;
    n->configured = limit;
    named_apply(n);
    pthread_mutex_unlock(&n->lock);
  }
  pthread_mutex_unlock(&all->lock);
  if (user) leased_look(&user->lease);
  return user ? &user->lease : NULL;
}

static void leases_end(struct lease *l) {
  if (!l) return;
  struct leased *user = leased_of(l);
  struct named *n = user->named;
  pthread_mutex_lock(&n->lock);
  struct leased **link = &n->first;
  while (*link && *link != user) link = &(*link)->next;
  bool is_there = *link != NULL;
  if (is_there) {
    *link = user->next;
    user->next = n->ended;
    n->ended = user;
    named_apply(n);
  }
  pthread_mutex_unlock(&n->lock);
  if (is_there) n->engine->calls->look(n->handle);
}

void leases_init(struct leases *all, struct engine *engine, uint32_t era) {
  *all = (struct leases){
      .lessor = {.lease = leases_lease, .end = leases_end}, .engine = engine, .era = era};
  pthread_mutex_init(&all->lock, NULL);
}

void leases_begin_close(struct leases *all) {
  atomic_store_explicit(&all->is_closing, true, memory_order_relaxed);
}

void leases_destroy(struct leases *all) {
  while (all->first) {
    struct named *n = all->first;
    all->first = n->next;
    for (struct leased **link = &n->ended;; link = &(*link)->next) {
      if (*link) continue;
      *link = n->first; /* users that have not ended */
      break;
    }
    named_free(n);
  }
  pthread_mutex_destroy(&all->lock);
}

/* ---- follow ---- */

/* That the limit at the ensemble is another one is said once each time that it becomes another. */
static void named_say_limit(struct named *n, uint32_t limit) {
  if (limit == 0 || limit == n->differs) return;
  bool is_said = n->differs != 0;
  n->differs = limit;
  if (limit != n->configured) {
    log_line(LOG_INFO, n->gate,
             "the limit of %s is %" PRIu32 " at the ensemble, and that holds; %" PRIu32
             " is configured",
             n->name, limit, n->configured);
  } else if (is_said) {
    log_line(LOG_INFO, n->gate, "the limit of %s is %" PRIu32 ", as configured", n->name, limit);
  }
}

static void named_say_result(struct named *n, int result) {
  if (result == n->result) return;
  n->result = result;
  if (result == VOLT_OK) {
    log_line(LOG_INFO, n->gate, "%s can be leased again", n->name);
  } else {
    log_line(LOG_ERROR, n->gate, "%s: nothing is leased: %s", n->name, named_wrong(result));
  }
}

static void named_follow(struct named *n) {
  struct away_sees sees;
  volt_cluster_lease_stats s;
  n->engine->calls->sees(n->engine, &sees);
  pthread_mutex_lock(&n->lock);
  n->engine->calls->stats(n->handle, &s); /* under the lock: leased_is_set() is not overwritten */
  if (s.limit) atomic_store_explicit(&n->all, s.limit, memory_order_relaxed);
  bool was_reached = n->away.is_reached, was_here = n->away.is_here;
  away_look(&n->away, &sees, s.limit, s.hosts);
  named_apply(n);
  if (was_reached && !was_here && n->away.is_here) {
    log_line(LOG_INFO, n->gate, "%s: the ensemble is back: permits are leased anew", n->name);
  }
  named_say_limit(n, s.limit);
  named_say_result(n, s.result);
  pthread_mutex_unlock(&n->lock);
}

void leases_follow(struct leases *all) {
  pthread_mutex_lock(&all->lock);
  struct named *first = all->first; /* names stay, and new ones come before it */
  pthread_mutex_unlock(&all->lock);
  for (struct named *n = first; n; n = n->next) named_follow(n);
}

/* ---- */

volt_cluster_lease *leased_handle(struct lease *l) {
  return leased_of(l)->named->handle;
}

void leased_is_set(struct lease *l, uint32_t limit) {
  struct named *n = leased_of(l)->named;
  pthread_mutex_lock(&n->lock);
  atomic_store_explicit(&n->all, limit, memory_order_relaxed);
  n->differs = limit;
  pthread_mutex_unlock(&n->lock);
}

const char *leased_mode_name(enum lease_mode mode) {
  switch (mode) {
    case LEASE_LEASED: return "leased";
    case LEASE_KEEP: return "keep";
    case LEASE_SHARE: return "share";
    case LEASE_CLOSED: break;
  }
  return "closed";
}
