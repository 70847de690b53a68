/* cluster_path.c: see cluster_path.h. The lease is a fake one, which nobody rings while slots are
 * leased: what is counted is what a task does. */
#include <stdlib.h>
#include <string.h>

#include "cluster_path.h"
#include "fake_lease.h"

static volt_cluster_sem *sem;
static volt_cluster_permit *permits;
static volt_cluster_acquire_op acquire;
static volt_ctx ctx;

void cluster_path_init(unsigned slots) {
  const volt_waker nobody = {NULL, NULL};
  const volt_ctx fresh = VOLT_CTX_INIT(nobody);
  const volt_cluster_sem_config config = {.capacity = slots};
  ctx = fresh;
  permits = calloc(slots, sizeof *permits);
  if (!permits || volt_cluster_sem_open(&sem, &fake_cluster, "path", &config) != VOLT_OK) abort();
  for (unsigned i = 0; i < slots; i++) {
    const cluster_slot slot = {.slot = i, .era = 1, .epoch = 1};
    fake_local()->add(sem, &slot, 1);
  }
}

static inline void take(volt_cluster_permit *p) {
  ctx.budget = VOLT_CTX_BUDGET;
  if (volt_future_poll_ctx(volt_cluster_acquire_future(&acquire, sem, p), &ctx) != VOLT_OK) abort();
}

void cluster_path_take(unsigned count) {
  for (volt_cluster_permit *p = permits, *end = p + count; p != end; p++) {
    VOLT_FORGET_(p);
    take(p);
  }
}

void cluster_path_pair(unsigned count) {
  for (volt_cluster_permit *p = permits, *end = p + count; p != end; p++) {
    VOLT_FORGET_(p);
    take(p);
    VOLT_FORGET_(p);
    volt_cluster_release(p);
  }
}
