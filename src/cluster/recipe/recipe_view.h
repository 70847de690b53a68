/* recipe_view.h: the lists that were read, and what they say. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_VIEW_H
#define VOLT_CLUSTER_RECIPE_RECIPE_VIEW_H

#include <volt/cluster_backend.h>

#include "../host/session.h"
#include "names.h"

/* Entries of both generations, in the order of their age. */
typedef struct engine_list {
  cluster_entry *at;
  uint32_t count;
  uint32_t capacity;
  uint32_t old; /* names in the older directory, ours or not */
} engine_list;

/* Slots by their numbers. */
typedef struct engine_numbers {
  uint32_t *at;
  uint32_t count;
  uint32_t capacity;
} engine_numbers;

/* Have these lists (bits of ASK_QUEUE, ASK_HOLDERS, ASK_SLOTS) be of now. Submits. */
bool view_need_(volt_cluster_lease *l, uint32_t lists);
/* Read a list with a watch, also if it is of now. Submits. */
bool view_watch_(volt_cluster_lease *l, enum engine_ask list);
/* Read an entry, with a watch on it if it is the one before. Submits. */
bool view_watch_entry_(volt_cluster_lease *l, enum engine_ask ask, const cluster_entry *e);
void view_listed_(volt_cluster_lease *l, enum engine_ask ask, volt_cluster_request *r);
void view_entry_read_(volt_cluster_lease *l, enum engine_ask ask, const volt_cluster_request *r);
/* The place of an entry; UINT32_MAX: it is not there. */
uint32_t view_place_(const engine_list *list, const cluster_entry *e);
/* An entry of this host; NULL: none. */
const cluster_entry *view_own_(const volt_cluster_lease *l, const engine_list *list);
/* The entry right before this place that is not this host's; NULL: none. */
const cluster_entry *view_before_(const volt_cluster_lease *l, const engine_list *list,
                                  uint32_t place);
/* How many slots a host leases, by the list of holders. */
uint32_t view_has_(const volt_cluster_lease *l, const cluster_guid *guid);
bool view_is_taken_(const volt_cluster_lease *l, uint32_t slot);
/* Slots below the limit that no host leases. */
uint32_t view_free_count_(const volt_cluster_lease *l);
/* The lowest of them, count at most. Returns how many. */
uint32_t view_free_slots_(const volt_cluster_lease *l, uint32_t *slots, uint32_t count);
/* How many hosts have or want slots. */
uint32_t view_hosts_(volt_cluster_lease *l);
/* Add an entry at the end. Without memory it is left out, and the lease pauses. */
void view_append_(volt_cluster_lease *l, engine_list *list, const cluster_entry *e);
bool view_reserve_(engine_numbers *numbers, uint32_t count);
void view_release_(volt_cluster_lease *l);

#endif
