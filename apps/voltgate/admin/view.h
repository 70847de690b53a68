/* view.h: the gates at one moment, copied so that text can be written of them in peace. */
#ifndef VOLTGATE_ADMIN_VIEW_H
#define VOLTGATE_ADMIN_VIEW_H

#include "gate/gate.h"
#include "program/program.h"

struct gate_view {
  struct gate *gate;
  const struct gate_settings *settings;
  uint32_t limit, held, excess; /* permits: there are, are held, are held above the limit */
  uint32_t away;                /* permits that another process has, while one takes over */
  uint32_t queued, bound;
  uint32_t clients, servers;
  bool is_leased; /* the limit is that of a cluster's gates together; see `lease` */
  struct lease_view lease;
  bool is_draining, is_broken; /* broken: its breaker is open */
  bool is_silent;              /* its server accepts, and does not answer */
  uint64_t silent_ns;          /* since when; 0: it does */
  struct statistics_values statistics;
};

/* Fill in one. Any thread. It reads all counters: some microseconds. */
void top_view_read_gate(struct gate_view *v, struct gate *gate);

/* A tenant at one moment, without its times. */
struct tenant_view {
  uint32_t limit, leased, weight, held, queued;
  bool is_leased; /* its limit is that of a cluster's gates together */
  uint64_t admitted, refused;
};

void top_view_read_tenant(struct tenant_view *v, struct tenant *tenant);

struct view {
  struct gate_view *gates;
  size_t count;
};

/* Look at all gates. Returns false: no memory. Free with top_view_free(). */
bool top_view_read(struct view *view, struct program *p);
void top_view_free(struct view *view);

#endif
