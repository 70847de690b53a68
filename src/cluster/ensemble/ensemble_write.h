/* ensemble_write.h: what a client asks, and what of it becomes a transaction. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_WRITE_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_WRITE_H

#include <volt/ensemble.h>

/* One change, with what is needed to undo it. */
typedef struct ensemble_part {
  enum volt_cluster_action_kind kind;
  char *path;
  char *data, *data_before;
  uint32_t size, size_before;
  volt_cluster_node node, node_before; /* as it is afterwards, and was before */
  int32_t sequence;                    /* CREATE: of the parent afterwards */
  int32_t parent_sequence_before;
  int32_t sequence_before; /* of the node: as it begins, as it was */
  uint64_t touched_before; /* of the parent */
  uint64_t own_touched_before;
} ensemble_part;

/* An action of a request, copied; then its outcome. Of ITEM_REFRESH: a watch. */
typedef struct ensemble_action {
  enum volt_cluster_action_kind kind;
  bool is_children, was_there; /* of a watch */
  bool is_ephemeral, is_sequential;
  char *path;
  char *data;
  uint32_t size;
  int64_t version;
  int result;
  volt_cluster_node node;
} ensemble_action;

enum ensemble_item_kind { ITEM_WRITE, ITEM_READ, ITEM_OPEN, ITEM_CLOSE, ITEM_REFRESH };

/* What a client asks; ITEM_CLOSE also what the leader decides. */
typedef struct ensemble_item {
  uint32_t refs;
  enum ensemble_item_kind kind;
  enum volt_cluster_request_kind read; /* ITEM_READ: of which kind */
  bool is_watched;
  char *path;
  ensemble_action *actions;
  uint32_t count;
  struct ensemble_link *link; /* NULL: of no client */
  uint64_t session;
  uint64_t session_ns; /* ITEM_OPEN */
  bool is_done;
  int result;
  uint64_t transaction;       /* ITEM_REFRESH: the newest that the client has seen */
  struct ensemble_item *next; /* of those that a link has not answered */
} ensemble_item;

/* A transaction of the log. */
typedef struct ensemble_entry {
  uint64_t transaction;
  ensemble_item *item;
  ensemble_part *parts;
  uint32_t count;
  uint64_t events; /* that it has fired */
} ensemble_entry;

ensemble_item *ensemble_item_new_(enum ensemble_item_kind kind);
ensemble_item *ensemble_item_of_(const volt_cluster_request *r);
void ensemble_item_drop_(ensemble_item *item);
/* Decide what it does, and do it to the head. Returns NULL: its session has ended, or moved. */
ensemble_entry *ensemble_decide_(volt_ensemble *e, ensemble_item *item);
void ensemble_entry_free_(ensemble_entry *entry);

#endif
