/* shed.h: controlled delay. While even the shortest wait of an interval was above the target, a client
 * that has waited twice the target is refused. */
#ifndef VOLTGATE_GATE_SHED_H
#define VOLTGATE_GATE_SHED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All-zero at first. */
struct shed {
  atomic_uint_fast64_t interval_end_ns;
  atomic_uint_fast64_t shortest_ns; /* wait of this interval */
  atomic_bool is_overloaded;
};

/* A client got a permit after wait_ns. Returns whether it is to be refused instead. */
bool shed_decide(struct shed *s, uint64_t target_ns, uint64_t interval_ns, uint64_t now_ns,
                 uint64_t wait_ns);

#endif
