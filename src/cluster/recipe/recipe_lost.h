/* recipe_lost.h: an answer is lost: what was done? */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_LOST_H
#define VOLT_CLUSTER_RECIPE_RECIPE_LOST_H

#include <volt/cluster_backend.h>

/* What this host has at the ensemble is not known: read it. */
void again_begin_(volt_cluster_lease *l);
/* Returns whether it has submitted a request; false: it is known again. */
bool again_check_(volt_cluster_lease *l);
void again_slot_read_(volt_cluster_lease *l, const volt_cluster_request *r);
/* By a list of slots that is of now: those that are not there were deleted by hand. */
void again_drop_missing_(volt_cluster_lease *l);

#endif
