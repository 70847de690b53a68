/* ensemble_log.h: the log: proposed, logged by a majority, committed, applied. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_LOG_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_LOG_H

#include "ensemble_message.h"
#include "ensemble_tree.h"
#include "ensemble_write.h"

/* The leader puts it into the log. */
void ensemble_propose_(volt_ensemble *e, ensemble_item *item);
void ensemble_log_arrived_(volt_ensemble *e, const ensemble_message *m); /* LOGGED .. SYNCED */
void ensemble_apply_upto_(volt_ensemble *e, uint32_t server, uint64_t count);
void ensemble_log_to_head_(volt_ensemble *e);             /* what is not committed, too */
void ensemble_log_cut_(volt_ensemble *e, uint64_t count); /* to so many entries */
void ensemble_log_sync_(volt_ensemble *e, uint32_t server);
void ensemble_log_clear_(volt_ensemble *e);
const ensemble_tree *ensemble_newest_tree_(const volt_ensemble *e);

#endif
