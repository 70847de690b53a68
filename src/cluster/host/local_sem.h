/* local_sem.h: a semaphore of the cluster on this host (sem.c says how it works), or a lease alone
 * (share.c). */
#ifndef VOLT_CLUSTER_HOST_LOCAL_SEM_H
#define VOLT_CLUSTER_HOST_LOCAL_SEM_H

#include <volt/notify.h>

#include "lease.h"
#include "local.h"
#include "slot_stack.h"

struct volt_cluster_sem {
  volt_sem local;                 /* tasks wait here; its limit: sem.c I1 */
  VOLT_ATOMIC(uint32_t) asked;    /* slots that the driver waits for: a releaser has to ring */
  VOLT_ATOMIC(uint32_t) returned; /* list of places that were marked when they were released */
  volt_notify changed;            /* where tasks wait that have a permit and found no slot */
  VOLT_ATOMIC(uint32_t) slotless; /* how many these are */
  VOLT_ATOMIC(uint32_t) refused;  /* the result for those that would wait; VOLT_OK: they may */
  VOLT_ATOMIC(uint32_t) tried;    /* enum cluster_tries; hints: tries are repeated */
  VOLT_ATOMIC(uint32_t) was_cut;  /* 1 once a place was taken out that a permit may have needed */
  volt_cluster_lease *lease;      /* rung for the driver */
  const volt_cluster *cluster;
  uint32_t capacity;                   /* places */
  VOLT_ATOMIC(uint32_t) back_snapshot; /* for any thread that counts: recalled, retired and ready */
  VOLT_ATOMIC(uint32_t) lost_snapshot;
  /* The driver's. Lists are an index plus 1, or 0. */
  uint32_t usable;        /* slots, those that are recalled or retired included */
  uint32_t recalled;      /* of these: to be collected as any of them becomes free */
  uint32_t retired;       /* of these: to be collected as these become free */
  uint32_t ready;         /* taken out, and not collected yet */
  uint32_t lost;          /* permits that are lost and not released yet */
  bool watches;           /* a release is to be rung for (sem.c R10) */
  uint32_t slotless_seen; /* what csem_ask() has found of slotless */
  uint32_t beyond;        /* above the number of each slot that is leased and not retired */
  uint32_t unused;
  uint32_t unused_list;
  uint32_t ready_list;
  slot_stack stack; /* slots that no permit has. The last: its head is wiped in a child */
};

/* A lease alone. All is the driver's but what is atomic. */
typedef struct cluster_share {
  volt_cluster_lease_user user;
  VOLT_ATOMIC(uint32_t) waits; /* for how many slots the driver waits: recalled; the highest bit: it
                                * waits for any release */
  VOLT_ATOMIC(uint32_t) held;  /* as the driver has seen it last */
  VOLT_ATOMIC(uint32_t) wanted;
  cluster_slot *slot; /* the last ones are collected first */
  uint32_t capacity;
  uint32_t slots;
  uint32_t recalled;
  uint32_t marked;
  bool watches; /* a release is to be rung for */
  bool is_closed;
} cluster_share;

/* Make *s one without slots. places: zeroed. */
void cluster_sem_init_(volt_cluster_sem *s, const volt_cluster *c, cluster_place *places,
                       uint32_t capacity);

/* Of permit.c: cluster_local.tries. */
enum cluster_tries cluster_sem_tries_(void *ctx, bool hears);

/* How the driver calls a semaphore, or a lease alone; without ctx and destroy. */
extern const cluster_local cluster_sem_local_;
extern const cluster_local cluster_share_local_;

/* A thread has released something: ring, if the driver waits for that. */
static inline void cluster_sem_released_(volt_cluster_sem *s) {
  /* relaxed: ordered by the release before it (sem.c R1) */
  if (volt_load_relaxed(&s->asked) != 0) lease_ring_(s->lease);
}

#endif
