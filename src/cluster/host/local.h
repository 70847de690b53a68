/* local.h: the host's half of a lease, as the recipe calls it: sem.c, or share.c. */
#ifndef VOLT_CLUSTER_HOST_LOCAL_H
#define VOLT_CLUSTER_HOST_LOCAL_H

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

#endif
