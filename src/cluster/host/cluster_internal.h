/* cluster_internal.h: the host, and what its leases and semaphores need of each other.
 *
 * One task of the runtime, the driver, runs everything of this room but the functions that tasks and
 * threads call: acquire, release, look, stats, open, close, set_limit, destroy. Those reach the
 * driver by lease_ring_() alone.
 *
 *   cluster.c, session.c, lease.c, change.c   the host, and one semaphore of it
 *   recipe.c, recipe_*.c, slots.c             ... at the ensemble: queue, holders, slots
 *   names.c, validity.c                       what the two need and that is pure
 *   wiped.c                                   what is zero in a child of fork()
 *   sem.c ..    the host's half: volt_sem, slots as a stack, permits, fences
 *   share.c     the host's half of volt_cluster_lease: counts only */
#ifndef VOLT_CLUSTER_HOST_CLUSTER_INTERNAL_H
#define VOLT_CLUSTER_HOST_CLUSTER_INTERNAL_H

#include <volt/cluster_backend.h>

/* A slot that this host leases. */
typedef struct cluster_slot {
  uint32_t slot;
  uint32_t era;
  uint64_t epoch;
} cluster_slot;

/* What tasks have done that do not wait. */
enum cluster_tries {
  CLUSTER_TRIES_NONE,  /* none; or the last try has got a permit */
  CLUSTER_TRIES_ASKED, /* one was in vain */
  CLUSTER_TRIES_HEARD  /* the driver knows it */
};

/* The host's half: how the recipe serves and asks the users of the slots. The driver calls. */
typedef struct cluster_local {
  uint32_t (*wanted)(void *ctx); /* slots that could be used now: held and waiting for */
  /* These are leased now. What does not fit (capacity) is not offered: count <= room(). */
  void (*add)(void *ctx, const cluster_slot *slots, uint32_t count);
  uint32_t (*room)(void *ctx); /* how many more could be added */
  /* Stop using that many: idle ones at once, the others as they are released. */
  void (*take_back)(void *ctx, uint32_t count);
  /* Stop using slots with a number of at least this: the limit was lowered. Those that are idle at
   * once, the others as they are released. Returns how many that are. */
  uint32_t (*take_back_from)(void *ctx, uint32_t first_slot);
  /* Which of those that were taken back are free now, and so may be given to others. */
  uint32_t (*collect)(void *ctx, cluster_slot *slots, uint32_t max);
  /* This lease is void, or all of them (slot NULL): permits of it are lost; it will not be
   * collected. */
  void (*lose)(void *ctx, const cluster_slot *slot);
  uint32_t (*idle)(void *ctx); /* slots that no task holds, and that are not taken back */
  /* The same. on: whatever is released from now on is rung for, until this is called with false. */
  uint32_t (*watch_idle)(void *ctx, bool on);
  /* Whether tasks have tried in vain, without waiting. hears: the next such try rings again. May be
   * NULL. */
  enum cluster_tries (*tries)(void *ctx, bool hears);
  /* What it knows: used, waiting, lost, and `owed`: all that were taken back and not collected.
   * Called by any thread. */
  void (*count)(void *ctx, volt_cluster_lease_stats *stats);
  /* Nothing will be leased, for this reason, until this is called again; VOLT_OK: something may be.
   * Those that wait now get the reason. May be NULL. */
  void (*refuse)(void *ctx, int result);
  void (*close)(void *ctx);   /* waiters get VOLT_ECLOSED; all slots are taken back */
  bool (*is_free)(void *ctx); /* no permit is out, lost ones included */
  void (*destroy)(void *ctx);
  void *ctx;
} cluster_local;

/* Of lease.c. If this fails, *local is still the caller's; else volt_cluster_destroy() calls
 * local->destroy(). *l is set before the driver calls anything of *local. */
int lease_open_(volt_cluster_lease **l, volt_cluster *c, const char *name,
                const volt_cluster_sem_config *config, const cluster_local *local);
/* Say to the driver that local's answers may have changed. Any thread; once until it has looked. */
void lease_ring_(volt_cluster_lease *l);
/* Have the driver call local->close(), give all back as it is released, and take no more. */
void lease_close_(volt_cluster_lease *l);
/* Abort if this process is a child of the one that opened the host. where: the function. */
void cluster_check_fork_(const volt_cluster *c, const char *where);
/* local->ctx */
void *lease_ctx_(const volt_cluster_lease *l);
/* valid_until of the host's leases: written by the driver, read by any thread. 0: none is valid. It
 * is 0 before local->lose(NULL) is called. So a reader of whether a permit is valid reads this first,
 * then whether the permit is lost, then the clock. */
uint64_t cluster_valid_until_(const volt_cluster *c);

#endif
