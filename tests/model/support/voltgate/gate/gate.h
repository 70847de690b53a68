// gate.h: what admission.c uses of a gate, without what it only counts, for a model.
#ifndef VOLT_MODEL_GATE_H
#define VOLT_MODEL_GATE_H

#include <stdatomic.h>
#include <volt/semaphore.h>

#include "gate/clients.h"
#include "gate/turns.h"

struct gate_settings {
  uint64_t queue_timeout_ns, shed_target_ns, shed_interval_ns;
};

enum count { COUNT_WAITED };
struct not_counted {};
struct statistics {
  not_counted wait, hold;
};
inline void volt_shared_histogram_add_(not_counted *, uint64_t, uint32_t) {
}
inline struct statistics *statistics_mine(struct statistics *s) {
  return s;
}
inline void statistics_count(struct statistics *, enum count, uint64_t) {
}

struct shed {};
inline bool shed_decide(struct shed *, uint64_t, uint64_t, uint64_t, uint64_t) {
  return false;
}

struct tenant {
  struct turns_member turns;
  quiet<uint32_t> held;
  not_counted wait, hold;
};

struct tenants {};

struct gate {
  const struct gate_settings *settings;
#ifdef VOLT_MODEL_LOANS
  _Atomic(struct loan *) loan;
  struct tenants *tenants;
#endif
  volt_sem permits;
  quiet<uint32_t> away; // written by the thread of the handover only
  struct turns turns;
  struct lease *lease;
  atomic_uint queued;
  quiet<uint32_t> queue_bound;
  quiet<uint64_t> tickets;
  struct shed shed;
  struct statistics statistics;
};

#ifdef VOLT_MODEL_LOANS

inline struct loan *gate_loan(const struct gate *g) {
  return atomic_load_explicit(&g->loan, memory_order_acquire);
}

inline struct tenants *gate_tenants(const struct gate *g) {
  return g->tenants;
}

#else

inline struct loan *gate_loan(const struct gate *) {
  return nullptr; // permits come from another process only while one takes over
}

#endif

inline struct lease *gate_lease(const struct gate *g) {
  return g->lease;
}

inline const struct gate_settings *gate_settings(const struct gate *g) {
  return g->settings;
}

#endif
