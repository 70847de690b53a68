/* fake_lease.h: what a semaphore, or a lease, of the cluster knows of its host: it is opened, it rings,
 * it asks until when leases are valid. The test is the driver, and calls fake_local() by hand. Included
 * by one file of a program, it takes the place of the library's lease.c and cluster.c. */
#ifndef VOLT_TEST_FAKE_LEASE_H
#define VOLT_TEST_FAKE_LEASE_H

#include <volt/cluster.h>

#include "cluster/host/local_sem.h"

struct volt_cluster {
  VOLT_ATOMIC(uint64_t) valid_until_ns;
  VOLT_ATOMIC(uint64_t) now_ns;
};

struct volt_cluster_lease {
  cluster_local local;
  volt_cluster_sem_config config; /* as it was opened */
  VOLT_ATOMIC(uint32_t) is_rung;
  VOLT_ATOMIC(uint32_t) is_closed;
  uint32_t limit; /* that was set last */
  int opens_with; /* the result of opening the next one */
  void (*on_ring)(void *arg);
  void *arg;
};

static volt_cluster fake_cluster;
static volt_cluster_lease fake_lease;

static inline const cluster_local *fake_local(void) {
  return &fake_lease.local;
}

/* Take the ring, as the driver does before it looks. Returns whether there was one. */
static inline bool fake_lease_take_ring(void) {
  /* pairs with that of lease_ring_() */
  return volt_exchange_acq_rel(&fake_lease.is_rung, 0) != 0;
}

int lease_open_(volt_cluster_lease **l, volt_cluster *c, const char *name,
                const volt_cluster_sem_config *config, const cluster_local *local) {
  (void)c;
  (void)name;
  if (fake_lease.opens_with != VOLT_OK) return fake_lease.opens_with;
  fake_lease.local = *local;
  fake_lease.config = *config;
  volt_store_relaxed(&fake_lease.is_rung, 0);
  volt_store_relaxed(&fake_lease.is_closed, 0);
  *l = &fake_lease;
  return VOLT_OK;
}

void *lease_ctx_(const volt_cluster_lease *l) {
  return l->local.ctx;
}

void lease_ring_(volt_cluster_lease *l) {
  /* pairs with that of fake_lease_take_ring() */
  if (volt_exchange_acq_rel(&l->is_rung, 1) == 0 && l->on_ring) l->on_ring(l->arg);
}

void cluster_check_fork_(const volt_cluster *c, const char *where) {
  (void)c;
  (void)where;
}

uint64_t cluster_valid_until_(const volt_cluster *c) {
  /* as cluster.c: with what the driver did before it wrote it */
  return volt_load_acquire(&c->valid_until_ns);
}

uint64_t volt_cluster_now_ns(const volt_cluster *c) {
  return volt_load_relaxed(&c->now_ns);
}

void volt_cluster_lease_close(volt_cluster_lease *l) {
  volt_store_relaxed(&l->is_closed, 1);
  lease_ring_(l);
}

volt_future *volt_cluster_lease_set_limit_future(volt_cluster_change *change, volt_cluster_lease *l,
                                                 uint32_t limit) {
  l->limit = limit;
  change->lease = l;
  return &change->future;
}

void volt_cluster_lease_stats_get(const volt_cluster_lease *l, volt_cluster_lease_stats *stats) {
  memset(stats, 0, sizeof *stats);
  l->local.count(l->local.ctx, stats);
}

#endif
