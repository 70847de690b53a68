/* slots.h: the slots whose nodes are this host's. */
#ifndef VOLT_CLUSTER_HOST_SLOTS_H
#define VOLT_CLUSTER_HOST_SLOTS_H

#include <volt/cluster_backend.h>

#include "local.h"

/* A slot whose node is this host's. */
enum engine_slot_state {
  SLOT_NEW,      /* the host's half does not have it yet */
  SLOT_IN_USE,   /* it has */
  SLOT_RETURNING /* it has not any more: the node is to be deleted */
};

typedef struct engine_slot {
  cluster_slot slot;
  enum engine_slot_state state;
  uint64_t since_ns; /* its TAKE was sent */
} engine_slot;

engine_slot *slots_find_(volt_cluster_lease *l, uint32_t slot);
/* There is room: slots_reserve_(). */
void slots_add_(volt_cluster_lease *l, uint32_t slot, uint64_t epoch, uint64_t since_ns);
void slots_set_(volt_cluster_lease *l, engine_slot *s, enum engine_slot_state state);
void slots_remove_(volt_cluster_lease *l, engine_slot *s);
void slots_clear_(volt_cluster_lease *l);
bool slots_reserve_(volt_cluster_lease *l, uint32_t more);
/* Give the host's half those that it does not have, if they are valid. */
void slots_offer_(volt_cluster_lease *l);
/* Those that have not become valid in time are to be returned. */
void slots_give_up_(volt_cluster_lease *l);
/* Those that the host's half does not use any more are to be returned. */
void slots_collect_(volt_cluster_lease *l);
/* All leases are void. */
void slots_lose_(volt_cluster_lease *l);

#endif
