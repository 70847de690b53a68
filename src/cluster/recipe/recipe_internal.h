/* recipe_internal.h: what the recipe's files need of each other: lists, transactions, lost answers.
 * A part of engine.h, which includes it. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_INTERNAL_H
#define VOLT_CLUSTER_RECIPE_RECIPE_INTERNAL_H

#include "../host/engine.h"

/* ---- recipe_view.c ---- */

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

/* ---- recipe_write.c ---- */

/* Begin a transaction of at most count actions. Returns false if there is no memory. */
bool write_begin_(volt_cluster_lease *l, uint32_t count);
void write_make_(volt_cluster_lease *l, const char *path, const char *data, uint32_t size);
void write_take_slot_(volt_cluster_lease *l, uint32_t slot);
void write_give_slot_(volt_cluster_lease *l, uint32_t slot);
/* Leave the queue, if in it; enter it, if want > 0. */
void write_queue_(volt_cluster_lease *l, uint32_t has, uint32_t want);
/* Mark an entry of the queue. */
void write_mark_(volt_cluster_lease *l, const cluster_entry *e);
/* The same for the holders. */
void write_holders_(volt_cluster_lease *l, uint32_t count);
void write_delete_(volt_cluster_lease *l, enum engine_effect effect, const char *path);
void write_set_(volt_cluster_lease *l, uint32_t size); /* to new_text */
void write_check_(volt_cluster_lease *l);
/* Submit it. Returns true. */
bool write_submit_(volt_cluster_lease *l);
void write_answered_(volt_cluster_lease *l, volt_cluster_request *r);
void write_release_(volt_cluster_lease *l);
/* The path of a directory, of an entry, of a slot. to: VOLT_CLUSTER_PATH bytes. */
void write_directory_(const volt_cluster_lease *l, char *to, enum cluster_list place,
                      uint32_t generation);
void write_entry_path_(const volt_cluster_lease *l, char *to, enum cluster_list place,
                       const cluster_entry *e);
void write_slot_path_(const volt_cluster_lease *l, char *to, uint32_t slot);

/* ---- recipe_lost.c ---- */

/* What this host has at the ensemble is not known: read it. */
void again_begin_(volt_cluster_lease *l);
/* Returns whether it has submitted a request; false: it is known again. */
bool again_check_(volt_cluster_lease *l);
void again_slot_read_(volt_cluster_lease *l, const volt_cluster_request *r);
/* By a list of slots that is of now: those that are not there were deleted by hand. */
void again_drop_missing_(volt_cluster_lease *l);

#endif
