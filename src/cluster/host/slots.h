/* slots.h: the slots whose nodes are this host's. At the end of engine.h. */
#ifndef VOLT_CLUSTER_HOST_SLOTS_H
#define VOLT_CLUSTER_HOST_SLOTS_H

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
