/* recipe_node.h: the node of a semaphore: read, made, changed. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_NODE_H
#define VOLT_CLUSTER_RECIPE_RECIPE_NODE_H

#include <volt/cluster_backend.h>

#include "names.h"

/* Returns whether it has submitted a request, or there is no node to go on with. */
bool node_check_(volt_cluster_lease *l);
/* Make a new generation of directories, if the numbers of this one have grown. Submits. */
bool node_turn_(volt_cluster_lease *l);
/* Delete the directory of the generation before, if it is empty. Submits. */
bool node_delete_old_(volt_cluster_lease *l, enum cluster_list place);
bool node_has_old_(const volt_cluster_lease *l, enum cluster_list place);
void node_read_(volt_cluster_lease *l, volt_cluster_request *r);
void node_statted_(volt_cluster_lease *l, volt_cluster_request *r);
void node_set_(volt_cluster_lease *l, int result);
void node_made_(volt_cluster_lease *l, int result);
/* A directory is not there. */
void node_lacks_(volt_cluster_lease *l);
/* A transaction of this number was carried out. */
void node_saw_(volt_cluster_lease *l, uint64_t transaction, bool is_new);

#endif
