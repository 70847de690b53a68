/* lease.h: a limit that several gates have together. This gate leases its part of it: cluster/ says
 * by volt_sem_set_limit() how many permits that is now, and asks what the gate could use. */
#ifndef VOLTGATE_GATE_LEASE_H
#define VOLTGATE_GATE_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <volt/future.h>
#include <volt/semaphore.h>

struct gate_settings;

/* Where the limit that is in force comes from. */
enum lease_mode {
  LEASE_LEASED, /* the leases */
  LEASE_KEEP,   /* the ensemble is away: what was leased */
  LEASE_SHARE,  /* it is away: this gate's share, if as much was leased */
  LEASE_CLOSED  /* it is away, or was never reached: 0 */
};

/* A lease as it is shown. */
struct lease_view {
  char name[104];    /* at the ensemble */
  const char *wrong; /* why nothing is leased; NULL: nothing is wrong */
  const char *away;  /* cluster-away, as it is written */
  enum lease_mode mode;
  uint32_t limit;    /* of all gates together */
  uint32_t leased;   /* of these, this process's */
  uint32_t in_force; /* clients that this gate may serve at once now */
  uint32_t unproved; /* that it has besides, and that nothing can use: not known to be valid */
  uint32_t used, owed, lost;
  uint32_t hosts, hosts_before;
  bool is_queued;
  uint32_t era;
  uint64_t epoch;
  uint64_t quantum_ns;
  uint64_t leases, returns, revoked, lost_ever, given_up, marks, rests; /* so far */
};

struct lease;
struct lease_calls {
  void (*look)(struct lease *l);
  void (*released)(struct lease *l);
  uint32_t (*limit)(const struct lease *l);
  void (*read)(struct lease *l, struct lease_view *v);
};

struct lease {
  const struct lease_calls *calls;
};

/* Clients may be able to use more permits than they could. Any thread, also within a wake. */
static inline void gate_lease_look(struct lease *l) {
  l->calls->look(l);
}

/* Permits were released. l: NULL: nothing is leased. Any thread. */
static inline void gate_lease_released(struct lease *l) {
  if (l) l->calls->released(l);
}

/* A client queues for one permit: its future is new. */
static inline void gate_lease_queue(struct lease *l, volt_future *f) {
  static const volt_waker none = {NULL, NULL};
  (void)volt_future_poll(f, none); /* it is counted before the driver looks */
  gate_lease_look(l);
}

/* The limit of all gates together. */
static inline uint32_t gate_lease_limit(const struct lease *l) {
  return l->calls->limit(l);
}

/* As it is shown now. */
static inline void gate_lease_read(struct lease *l, struct lease_view *v) {
  l->calls->read(l, v);
}

/* What a lease is for. The limit of `permits` is the lease's alone to set until it ends. */
struct lease_target {
  volt_sem *permits;
  const atomic_uint *wants; /* permits that clients which queue elsewhere could use, or NULL: all
                             * that could use one are queued at `permits` */
};

/* Where leases come from: the cluster. */
struct lessor {
  /* The lease for the gate of these settings, or for a tenant of it. limit: as configured. No client
   * is admitted before something is leased. If the target has one, it takes the new settings.
   * Returns NULL: no memory. Any thread. */
  struct lease *(*lease)(struct lessor *from, const struct gate_settings *settings,
                         const char *tenant, uint32_t limit, const struct lease_target *target);
  /* It sets no limit any more, and wants nothing. l: NULL is fine. Its memory stays. Any thread. */
  void (*end)(struct lease *l);
};

#endif
