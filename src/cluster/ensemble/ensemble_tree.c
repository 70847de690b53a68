/* ensemble_tree.c: nodes, found by their paths. */
#include <stdlib.h>
#include <string.h>

#include "ensemble.h"
#include "ensemble_tree.h"
#include "ensemble_write.h"

enum { BUCKETS_FIRST = 64 };

static uint32_t ensemble_hash(const char *path, size_t size) {
  uint32_t hash = UINT32_C(2166136261);
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)path[i]) * UINT32_C(16777619);
  return hash ^ hash >> 15;
}

static ensemble_node *ensemble_find_part(const ensemble_tree *t, const char *path, size_t size) {
  ensemble_node *n = t->bucket[ensemble_hash(path, size) & (t->buckets - 1)];
  while (n && (strncmp(n->path, path, size) != 0 || n->path[size] != 0)) n = n->hash_next;
  return n;
}

ensemble_node *ensemble_find_(const ensemble_tree *t, const char *path) {
  return ensemble_find_part(t, path, strlen(path));
}

ensemble_node *ensemble_parent_(const ensemble_tree *t, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash[1] == 0) return NULL;
  return slash == path ? ensemble_find_part(t, "/", 1)
                       : ensemble_find_part(t, path, (size_t)(slash - path));
}

/* ---- add and remove ---- */

static void ensemble_hash_in(ensemble_tree *t, ensemble_node *n) {
  ensemble_node **bucket = &t->bucket[ensemble_hash(n->path, strlen(n->path)) & (t->buckets - 1)];
  n->hash_next = *bucket;
  *bucket = n;
}

static void ensemble_grow(ensemble_tree *t) {
  ensemble_node **before = t->bucket;
  uint32_t count = t->buckets;
  t->buckets = 2 * count;
  t->bucket = (ensemble_node **)ensemble_alloc_(t->buckets, sizeof *t->bucket);
  for (uint32_t i = 0; i < count; i++) {
    for (ensemble_node *n = before[i], *next; n; n = next) {
      next = n->hash_next;
      ensemble_hash_in(t, n);
    }
  }
  free(before);
}

ensemble_node *ensemble_add_(ensemble_tree *t, const char *path, const char *data, uint32_t size) {
  if (t->count >= t->buckets) ensemble_grow(t);
  ensemble_node *n = (ensemble_node *)ensemble_alloc_(1, sizeof *n);
  n->path = ensemble_copy_(path, strlen(path));
  n->name = strrchr(n->path, '/') + 1;
  n->data = ensemble_copy_(data, size);
  n->size = size;
  n->parent = ensemble_parent_(t, path);
  if (n->parent) {
    n->next = n->parent->child;
    if (n->next) n->next->before = n;
    n->parent->child = n;
    n->parent->children += 1;
  }
  ensemble_hash_in(t, n);
  t->count += 1;
  return n;
}

static void ensemble_node_free(ensemble_node *n) {
  free(n->path);
  free(n->data);
  free(n);
}

void ensemble_remove_(ensemble_tree *t, ensemble_node *n) {
  ensemble_node **at = &t->bucket[ensemble_hash(n->path, strlen(n->path)) & (t->buckets - 1)];
  while (*at != n) at = &(*at)->hash_next;
  *at = n->hash_next;
  if (n->before) n->before->next = n->next;
  if (n->next) n->next->before = n->before;
  if (n->parent && n->parent->child == n) n->parent->child = n->next;
  if (n->parent) n->parent->children -= 1;
  t->count -= 1;
  ensemble_node_free(n);
}

void ensemble_set_(ensemble_node *n, const char *data, uint32_t size) {
  free(n->data);
  n->data = ensemble_copy_(data, size);
  n->size = size;
}

/* ---- whole trees ---- */

void ensemble_tree_init_(ensemble_tree *t) {
  t->buckets = BUCKETS_FIRST;
  t->count = 0;
  t->bucket = (ensemble_node **)ensemble_alloc_(t->buckets, sizeof *t->bucket);
  ensemble_add_(t, "/", "", 0);
}

void ensemble_tree_clear_(ensemble_tree *t) {
  for (uint32_t i = 0; i < t->buckets; i++) {
    for (ensemble_node *n = t->bucket[i], *next; n; n = next) {
      next = n->hash_next;
      ensemble_node_free(n);
    }
  }
  free(t->bucket);
  t->bucket = NULL;
  t->buckets = 0;
}

static void ensemble_copy_below(ensemble_tree *to, const ensemble_node *from) {
  ensemble_node *n = ensemble_find_(to, from->path);
  if (!n) n = ensemble_add_(to, from->path, from->data, from->size);
  n->stat = from->stat;
  n->sequence = from->sequence;
  n->touched = from->touched;
  const ensemble_node *child = from->child;
  while (child && child->next) child = child->next; /* the oldest first, as they were added */
  for (; child; child = child->before) ensemble_copy_below(to, child);
}

void ensemble_tree_copy_(ensemble_tree *to, const ensemble_tree *from) {
  ensemble_tree_clear_(to);
  ensemble_tree_init_(to);
  ensemble_copy_below(to, ensemble_find_(from, "/"));
}

/* ---- changes ---- */

void ensemble_do_(ensemble_tree *t, const ensemble_part *part, uint64_t transaction) {
  ensemble_node *n = ensemble_find_(t, part->path);
  ensemble_node *parent = ensemble_parent_(t, part->path);
  if (part->kind == VOLT_CLUSTER_CREATE) {
    n = ensemble_add_(t, part->path, part->data, part->size);
    n->stat = part->node;
    parent->sequence = part->sequence;
    n->sequence = part->sequence_before;
    parent->touched = transaction;
  } else if (part->kind == VOLT_CLUSTER_DELETE) {
    ensemble_remove_(t, n);
    parent->touched = transaction;
  } else {
    ensemble_set_(n, part->data, part->size);
    n->stat = part->node;
  }
}

void ensemble_undo_(ensemble_tree *t, const ensemble_part *part) {
  ensemble_node *n = ensemble_find_(t, part->path);
  ensemble_node *parent = ensemble_parent_(t, part->path);
  if (part->kind == VOLT_CLUSTER_CREATE) {
    ensemble_remove_(t, n);
    parent->sequence = part->parent_sequence_before;
  } else if (part->kind == VOLT_CLUSTER_DELETE) {
    n = ensemble_add_(t, part->path, part->data_before, part->size_before);
    n->stat = part->node_before;
    n->sequence = part->sequence_before;
    n->touched = part->own_touched_before;
  } else {
    ensemble_set_(n, part->data_before, part->size_before);
    n->stat = part->node_before;
  }
  if (part->kind != VOLT_CLUSTER_SET) parent->touched = part->touched_before;
}
