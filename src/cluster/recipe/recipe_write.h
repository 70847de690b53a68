/* recipe_write.h: transactions, and what their answers change. */
#ifndef VOLT_CLUSTER_RECIPE_RECIPE_WRITE_H
#define VOLT_CLUSTER_RECIPE_RECIPE_WRITE_H

#include <volt/cluster_backend.h>

#include "names.h"

/* What an action of a transaction does to what the lease knows. */
enum engine_effect {
  EFFECT_NONE,
  EFFECT_TAKE_SLOT,
  EFFECT_GIVE_SLOT,
  EFFECT_ENTER_QUEUE,
  EFFECT_LEAVE_QUEUE,
  EFFECT_ENTER_HOLDERS,
  EFFECT_LEAVE_HOLDERS,
  EFFECT_MARK,
  EFFECT_SET_DATA,
  EFFECT_MAKE, /* a directory or a node: EEXISTS is as good */
  EFFECT_DELETE_OLD_QUEUE,
  EFFECT_DELETE_OLD_HOLDERS,
  EFFECT_DELETE_STRAY
};

typedef struct engine_action {
  enum engine_effect effect;
  uint32_t slot;
} engine_action;

/* The transaction that is being built, or under way. */
typedef struct engine_write {
  volt_cluster_action *actions;
  engine_action *effects;
  uint32_t count;
  uint32_t capacity;
  uint32_t generation; /* that entries are made in */
} engine_write;

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

#endif
