/* recipe_pass.h: hosts that stand in the way of others in the queue, and slow ones. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_PASS_H
#define VOLT_CLUSTER_RECIPE_RECIPE_PASS_H

#include <volt/cluster_backend.h>

#include "names.h"

/* What a lease knows of it. */
typedef struct pass_state {
  cluster_entry before;    /* the one that is watched */
  cluster_entry first;     /* for which all wait, though slots are free */
  uint64_t first_since_ns; /* so seen; 0: it is not so */
  uint64_t patience_ns;    /* that it has asked for; UINT64_MAX: not known */
  uint64_t poll_ns;        /* when to look again */
  bool is_marked;          /* its own entry is */
  uint64_t rests_until_ns; /* not to queue before, if others do */
  uint64_t rest_check_ns;  /* when to look whether they do */
  bool rest_saw_free;      /* slots, then */
  char asks[32];           /* the data of its entry */
} pass_state;

/* Those that say so return whether they have submitted a request. */

/* Its entry is another one, or may be: nothing is known of it. */
void pass_begin_(volt_cluster_lease *l);
/* Whether this host knows that the entry is marked. */
bool pass_is_marked_(const volt_cluster_lease *l, const cluster_entry *e);
/* The entry right before this place that is not this host's, and not marked; NULL: none. */
const cluster_entry *pass_before_(const volt_cluster_lease *l, uint32_t place);
/* The host waits for another one: look now and then whether that stands in the way. Submits. */
bool pass_check_(volt_cluster_lease *l);
/* The entry before, or the first one, was read. Returns whether it is marked. */
bool pass_read_(volt_cluster_lease *l, bool is_before, const volt_cluster_request *r);
/* The transaction that marks was answered. */
void pass_marked_(volt_cluster_lease *l, bool is_marked);
/* What this host's entry asks for, as its data; NULL: nothing. */
const char *pass_asks_(volt_cluster_lease *l);
/* Whether this host rests, because it would cost the others too much. It looks whether they want any. Submits. */
bool pass_rests_(volt_cluster_lease *l, bool *has_asked);
/* Others want the slots that the host has had. */
void pass_begin_rest_(volt_cluster_lease *l);
bool pass_is_resting_(const volt_cluster_lease *l);
/* The first finds no slot: read its own entry, for a mark. Submits. */
void pass_check_own_(volt_cluster_lease *l);

#endif
