/* recipe.h: what one host does next at the ensemble. A function of the recipe that is said to submit
 * returns whether it has submitted a request. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_H
#define VOLT_CLUSTER_RECIPE_RECIPE_H

#include <volt/cluster_backend.h>

#include "../host/session.h"

/* What was said last that is wrong. */
typedef struct engine_complaint {
  int result;
  uint64_t again_ns; /* when to say the same again */
  uint64_t step_ns;
} engine_complaint;

/* Look what is to be done, and begin it, if the lease is dirty and nothing is under way. */
void recipe_check_(volt_cluster_lease *l);
/* The request of call was answered in this session. */
void recipe_answered_(volt_cluster_lease *l, enum engine_ask ask, volt_cluster_request *r);
void recipe_watch_fired_(volt_cluster_lease *l, enum engine_ask ask);
/* The session is connected: new, or again. */
void recipe_connected_(volt_cluster_lease *l, bool is_new);
/* The session has ended, and all nodes of this host with it. */
void recipe_expired_(volt_cluster_lease *l);
/* The leases of this host are void. The nodes are to be deleted. */
void recipe_lose_(volt_cluster_lease *l);

#define RECIPE_PAUSE_NS UINT64_C(1000000000)

void recipe_wake_at_(volt_cluster_lease *l, uint64_t ns);
/* Do nothing for so long. */
void recipe_pause_(volt_cluster_lease *l, uint64_t ns);
/* Nothing more is leased for a while, because the ensemble refuses it. */
void recipe_refused_(volt_cluster_lease *l, int result);
/* Whether to say that this is wrong: it is another thing than before, or was last said some time ago;
 * the time becomes longer. */
bool recipe_complains_(volt_cluster_lease *l, int result);
uint64_t recipe_quantum_(const volt_cluster_lease *l);
uint64_t recipe_linger_(const volt_cluster_lease *l);
/* Slots that this host means to keep: not those that tasks still have, and that will be given. */
uint32_t recipe_active_(const volt_cluster_lease *l);
/* Idle slots that are kept for a task that tries again: 1, or 0. */
uint32_t recipe_reserved_(const volt_cluster_lease *l);
/* Slots whose nodes stay if nothing else is given. */
uint32_t recipe_kept_(const volt_cluster_lease *l);
/* Slots that were taken back, and that tasks still have. */
uint32_t recipe_owed_(const volt_cluster_lease *l);
/* How many more slots could be used; 0 while the host may not lease. */
uint32_t recipe_want_(volt_cluster_lease *l);
/* Ask the host's half for so many slots, and see which it has given. */
void recipe_take_back_(volt_cluster_lease *l, uint32_t count);
/* All lists are to be read again. Watches whose lists were not decided upon count as not set. */
void recipe_forget_lists_(volt_cluster_lease *l);

/* ---- recipe_queue.c ---- */

bool queue_check_(volt_cluster_lease *l); /* submits */

#endif
