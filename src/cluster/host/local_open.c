/* local_open.c: the memory of a semaphore of the cluster, or of a lease alone; and what a semaphore
 * hands on to its lease.
 *
 * The memory of a semaphore is one piece, whose last word, the head of the stack of free slots, is 0
 * in a child of fork() (wiped.h). So no acquire and no release of a child is quick (slot_stack.h), and
 * those that are not quick ask first whose the host is: permit.c, lease_ring_(). */
#include <stdlib.h>

#include "lease.h"
#include "local.h"
#include "local_sem.h"
#include "wiped.h"

static const volt_cluster_sem_config local_open_defaults = {0};

/* How many slots it has memory for. 0: the config is wrong. */
static uint32_t local_open_capacity(const volt_cluster_sem_config *config) {
  uint32_t most = SLOT_STACK_PLACES;
  if (config->capacity) return config->capacity <= most ? config->capacity : 0;
  uint32_t usual = config->limit > 256 ? config->limit : 256;
  return usual < most ? usual : most;
}

/* ---- a semaphore ---- */

/* Before the page that is wiped: the places, the semaphore but for the head of its stack. */
static size_t local_open_kept(uint32_t capacity) {
  return capacity * sizeof(cluster_place) + offsetof(volt_cluster_sem, stack.head);
}

static volt_cluster_sem *local_open_new_sem(volt_cluster *c, uint32_t capacity) {
  cluster_place *places = (cluster_place *)wiped_new_(local_open_kept(capacity));
  if (!places) return NULL;
  volt_cluster_sem *s = (volt_cluster_sem *)(void *)(places + capacity);
  cluster_sem_init_(s, c, places, capacity);
  return s;
}

static void local_open_free_sem(volt_cluster_sem *s) {
  wiped_free_(s->stack.places, local_open_kept(s->capacity));
}

static void local_open_destroy_sem(void *ctx) {
  volt_cluster_sem *s = (volt_cluster_sem *)ctx;
  volt_sem_destroy(&s->local);
  volt_notify_destroy(&s->changed);
  for (uint32_t i = 0; i < s->capacity; i++) volt_latch_destroy(&s->stack.places[i].lost);
  local_open_free_sem(s);
}

int volt_cluster_sem_open(volt_cluster_sem **out, volt_cluster *c, const char *name,
                          const volt_cluster_sem_config *config) {
  *out = NULL;
  if (!config) config = &local_open_defaults;
  uint32_t capacity = local_open_capacity(config);
  if (!c || capacity == 0) return VOLT_EINVAL;
  volt_cluster_sem *s = local_open_new_sem(c, capacity);
  if (!s) return VOLT_ENOMEM;
  cluster_local local = cluster_sem_local_;
  local.destroy = local_open_destroy_sem;
  local.ctx = s;
  int result = lease_open_(&s->lease, c, name, config, &local);
  if (result != VOLT_OK) {
    local_open_free_sem(s);
  } else {
    *out = s;
  }
  return result;
}

void volt_cluster_sem_close(volt_cluster_sem *s) {
  volt_sem_close(&s->local);
  volt_cluster_lease_close(s->lease);
}

volt_future *volt_cluster_sem_set_limit_future(volt_cluster_change *change, volt_cluster_sem *s,
                                               uint32_t limit) {
  return volt_cluster_lease_set_limit_future(change, s->lease, limit);
}

void volt_cluster_sem_stats(const volt_cluster_sem *s, volt_cluster_lease_stats *stats) {
  volt_cluster_lease_stats_get(s->lease, stats);
}

/* ---- a lease alone ---- */

static void local_open_destroy_share(void *ctx) {
  cluster_share *s = (cluster_share *)ctx;
  free(s->slot);
  free(s);
}

int volt_cluster_lease_open(volt_cluster_lease **l, volt_cluster *c, const char *name,
                            const volt_cluster_sem_config *config,
                            const volt_cluster_lease_user *user) {
  *l = NULL;
  if (!config) config = &local_open_defaults;
  uint32_t capacity = local_open_capacity(config);
  if (!c || capacity == 0 || !user || !user->wanted || !user->held || !user->set_limit)
    return VOLT_EINVAL;
  cluster_share *s = calloc(1, sizeof *s);
  if (!s) return VOLT_ENOMEM;
  s->slot = calloc(capacity, sizeof *s->slot);
  if (!s->slot) {
    free(s);
    return VOLT_ENOMEM;
  }
  s->user = *user;
  s->capacity = capacity;
  cluster_local local = cluster_share_local_;
  local.destroy = local_open_destroy_share;
  local.ctx = s;
  int result = lease_open_(l, c, name, config, &local);
  if (result != VOLT_OK) local_open_destroy_share(s);
  return result;
}
