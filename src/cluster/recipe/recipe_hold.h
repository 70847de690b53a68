/* recipe_hold.h: a host that holds slots: gives. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_HOLD_H
#define VOLT_CLUSTER_RECIPE_RECIPE_HOLD_H

#include <volt/cluster_backend.h>

bool hold_check_(volt_cluster_lease *l); /* submits */
/* Delete the nodes of what is to be returned, and have the entry among the holders be true. Submits. */
bool hold_give_(volt_cluster_lease *l);
/* How many slots a host with `has` has to give, if another one that queues has fewer. */
uint32_t hold_must_(const volt_cluster_lease *l, uint32_t has);
uint32_t hold_share_low_(const volt_cluster_lease *l);
uint32_t hold_share_high_(const volt_cluster_lease *l);

#endif
