/* ensemble_tree.h: the nodes of the ensemble: a tree for each server, and one of what is proposed. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_TREE_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_TREE_H

#include <volt/ensemble.h>

typedef struct ensemble_node {
  struct ensemble_node *hash_next;
  struct ensemble_node *parent, *child, *next, *before; /* siblings: next, before */
  char *path;
  const char *name; /* the end of path */
  char *data;
  uint32_t size;
  uint32_t children;
  int32_t sequence; /* of the next sequential child */
  uint64_t touched; /* the transaction that has made or deleted a child last */
  volt_cluster_node stat;
} ensemble_node;

typedef struct ensemble_tree {
  ensemble_node **bucket;
  uint32_t buckets, count;
} ensemble_tree;

struct ensemble_part;

ensemble_node *ensemble_find_(const ensemble_tree *t, const char *path);
ensemble_node *ensemble_parent_(const ensemble_tree *t, const char *path); /* NULL: there is none */
void ensemble_tree_init_(ensemble_tree *t);
void ensemble_tree_clear_(ensemble_tree *t);
void ensemble_tree_copy_(ensemble_tree *to, const ensemble_tree *from);
ensemble_node *ensemble_add_(ensemble_tree *t, const char *path, const char *data, uint32_t size);
void ensemble_remove_(ensemble_tree *t, ensemble_node *n);
void ensemble_set_(ensemble_node *n, const char *data, uint32_t size);
void ensemble_do_(ensemble_tree *t, const struct ensemble_part *part, uint64_t transaction);
void ensemble_undo_(ensemble_tree *t, const struct ensemble_part *part);

#endif
