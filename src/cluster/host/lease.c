/* lease.c: a lease as others see it: it is opened, rings, says what it knows, is closed.
 *
 * Algorithm
 *   Any thread may have something for the driver: a task waits, a slot was released, a limit is to be
 *   changed, the lease is new, or to be closed. It says no more than that there is something: it
 *   rings. A lease that has rung is put on a stack of the host, once. The driver takes the whole
 *   stack, and looks at each lease again, from the beginning.
 *
 * Race
 *   R1  Interleaving: the driver looks at a lease; a thread changes what it has looked at already,
 *       and rings; the lease has rung before, so the thread does nothing. Prevented by: the driver
 *       takes the mark off before it looks. Both change the mark by an exchange: the thread's comes
 *       first, and the driver sees what the thread did, or it finds no mark, and rings.
 *
 * Labels: lease */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../rt/sched/short_lock.h"
#include "../recipe/recipe.h"
#include "../recipe/recipe_view.h"
#include "../recipe/recipe_write.h"
#include "change.h"
#include "cluster.h"
#include "engine.h"
#include "lease.h"
#include "session.h"
#include "slots.h"

/* ---- the bell ---- */

void lease_ring_(volt_cluster_lease *l) {
  cluster_check_fork_(l->c, "volt_cluster");
  /* R1. lease:B1 <-> lease:D1: the driver sees what came before, or this finds no mark */
  if (volt_exchange_acq_rel(&l->is_rung, 1) != 0) return;
  volt_cluster *c = l->c;
  volt_cluster_lease *head = volt_load_relaxed(&c->rung); /* a guess: the CAS decides */
  do {
    l->rung_next = head;
    /* lease:P1 -> lease:T1: the driver sees rung_next, and a new lease whole */
  } while (!volt_cas_weak_release(&c->rung, &head, l));
  volt_notify_one(&c->bell);
}

static void lease_drive(volt_cluster *c, volt_cluster_lease *l) {
  l->is_driven = true;
  l->next_driven = c->driven;
  c->driven = l;
  if (host_session_is_connected_(c)) recipe_connected_(l, true);
}

void lease_take_rung_(volt_cluster *c) {
  /* lease:T1 <- lease:P1: the leases on the stack */
  volt_cluster_lease *l = volt_exchange_acquire(&c->rung, NULL);
  while (l) {
    volt_cluster_lease *next = l->rung_next;
    /* R1. lease:D1 <-> lease:B1: from here on it rings again */
    (void)volt_exchange_acq_rel(&l->is_rung, 0);
    if (!l->is_driven) lease_drive(c, l);
    l->is_dirty = true;
    l = next;
  }
}

void volt_cluster_lease_look(volt_cluster_lease *l) {
  lease_ring_(l);
}

/* ---- open ---- */

static bool lease_is_name(const char *name) {
  size_t length = strlen(name);
  if (length < 1 || length > ENGINE_NAME_MAX || name[0] == '.') return false;
  return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
         length;
}

static bool lease_is_config(const volt_cluster_sem_config *config) {
  uint64_t reserved = 0;
  for (size_t i = 0; i < sizeof config->reserved / sizeof *config->reserved; i++) {
    reserved |= config->reserved[i];
  }
  return config->limit <= VOLT_SEM_MAX && reserved == 0;
}

static volt_cluster_lease *lease_new(volt_cluster *c, const char *name,
                                     const volt_cluster_sem_config *config,
                                     const cluster_local *local) {
  volt_cluster_lease *l = (volt_cluster_lease *)calloc(1, sizeof *l);
  if (!l) return NULL;
  l->c = c;
  l->local = *local;
  l->config = *config;
  l->changes.lock = &c->lock;
  l->wake_ns = VOLT_NO_DEADLINE;
  l->cut_limit = UINT32_MAX;
  snprintf(l->name, sizeof l->name, "%s", name);
  snprintf(l->directory, sizeof l->directory, "%s/%s", c->root, name);
  for (int ask = 0; ask < ASK_COUNT; ask++) {
    l->calls[ask].c = c;
    l->calls[ask].lease = l;
    l->calls[ask].ask = (enum engine_ask)ask;
  }
  return l;
}

/* Under the lock. */
static bool lease_is_open(const volt_cluster *c, const char *name) {
  for (const volt_cluster_lease *l = c->leases; l; l = l->next) {
    /* lease:C1 <- lease:K1: one that is closed leaves its name to the next */
    if (strcmp(l->name, name) == 0 && !volt_load_acquire(&l->is_closing)) return true;
  }
  return false;
}

static int lease_link(volt_cluster *c, volt_cluster_lease *l) {
  int result = VOLT_OK;
  volt_short_lock_lock_(&c->lock);
  if (c->is_ended || volt_load_relaxed(&c->is_closing)) { /* a hint; is_ended counts */
    result = VOLT_ECLOSED;
  } else if (lease_is_open(c, l->name)) {
    result = VOLT_EINVAL;
  } else {
    l->number = ++c->lease_count;
    l->next = c->leases;
    c->leases = l;
  }
  volt_short_lock_unlock_(&c->lock);
  return result;
}

int lease_open_(volt_cluster_lease **l, volt_cluster *c, const char *name,
                const volt_cluster_sem_config *config, const cluster_local *local) {
  static const volt_cluster_sem_config defaults = {.limit = 0};
  *l = NULL;
  cluster_check_fork_(c, "volt_cluster_sem_open");
  if (!config) config = &defaults;
  if (!lease_is_name(name) || !lease_is_config(config)) return VOLT_EINVAL;
  volt_cluster_lease *lease = lease_new(c, name, config, local);
  if (!lease) return VOLT_ENOMEM;
  int result = lease_link(c, lease);
  if (result != VOLT_OK) {
    free(lease);
    return result;
  }
  *l = lease; /* before the driver can know it */
  lease_ring_(lease);
  return VOLT_OK;
}

void lease_free_(volt_cluster_lease *l) {
  l->local.destroy(l->local.ctx);
  view_release_(l);
  write_release_(l);
  free(l->slots);
  free(l);
}

/* ---- close ---- */

void lease_close_(volt_cluster_lease *l) {
  cluster_check_fork_(l->c, "volt_cluster_sem_close");
  /* lease:K1 -> lease:C1, change:C1, recipe:C1: the driver sees what this thread did before */
  volt_store_release(&l->is_closing, 1);
  lease_ring_(l);
}

void volt_cluster_lease_close(volt_cluster_lease *l) {
  lease_close_(l);
}

/* ---- what it says ---- */

void *lease_ctx_(const volt_cluster_lease *l) {
  return l->local.ctx;
}

/* Why no task needs to wait: because nothing will be leased before a person has changed something. */
static int lease_error(const volt_cluster_lease *l) {
  if (l->c->stats.state == VOLT_CLUSTER_REFUSED) return VOLT_CLUSTER_EAUTH;
  if (!host_session_is_connected_(l->c) || l->is_closed) return VOLT_OK;
  bool may_be_made = l->config.limit > 0 && l->cannot_make == VOLT_OK;
  if (l->result == VOLT_CLUSTER_ENONODE && may_be_made) return VOLT_OK;
  return l->result == VOLT_ENOMEM ? (int)VOLT_OK : l->result;
}

void lease_refuse_(volt_cluster_lease *l, bool is_checked) {
  int result = lease_error(l);
  if (l->refused == result && (result == VOLT_OK || !is_checked)) return;
  bool is_new = l->refused != result;
  l->refused = result;
  if (l->local.refuse) l->local.refuse(l->local.ctx, result);
  bool has_data = host_session_is_connected_(l->c) && (l->watched & ENGINE_BIT(ASK_DATA));
  if (result != VOLT_OK && !has_data) change_refuse_(l, result); /* there is no limit to change */
  if (is_new && !is_checked) lease_publish_(l);
}

void lease_publish_(volt_cluster_lease *l) {
  volt_cluster_lease_stats *stats = &l->stats;
  int before = l->published.result; /* the driver alone writes it */
  stats->result = l->refused != VOLT_OK ? l->refused : l->result;
  stats->limit = l->data.limit;
  stats->leased = l->in_state[SLOT_IN_USE];
  stats->unproved = l->in_state[SLOT_NEW];
  stats->is_queued = l->in_queue;
  if (!l->in_queue) stats->hosts_before = 0;
  stats->era = l->data.era;
  stats->quantum_ns = recipe_quantum_(l);
  volt_short_lock_lock_(&l->c->lock);
  l->published = *stats;
  volt_short_lock_unlock_(&l->c->lock);
  if (before != stats->result) (void)volt_watch_send(&l->c->changes, NULL);
}

void volt_cluster_lease_stats_get(const volt_cluster_lease *l, volt_cluster_lease_stats *stats) {
  cluster_check_fork_(l->c, "volt_cluster_sem_stats");
  volt_short_lock_lock_(&l->c->lock);
  *stats = l->published;
  volt_short_lock_unlock_(&l->c->lock);
  l->local.count(l->local.ctx, stats);
}
