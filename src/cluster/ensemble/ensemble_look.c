/* ensemble_look.c: what a test sees of the ensemble. */
#include <stdlib.h>

#include "ensemble_internal.h"

int volt_ensemble_look(volt_ensemble *e, const char *path, volt_cluster_node *node,
                       const char **data, uint32_t *size) {
  const ensemble_node *n = ensemble_find_(ensemble_newest_tree_(e), path);
  if (!n) return VOLT_CLUSTER_ENONODE;
  *node = n->stat;
  if (data) *data = n->data;
  if (size) *size = n->size;
  return VOLT_OK;
}

uint32_t volt_ensemble_children(volt_ensemble *e, const char *path,
                                void (*each)(void *ctx, const char *name,
                                             const volt_cluster_node *node),
                                void *ctx) {
  const ensemble_node *n = ensemble_find_(ensemble_newest_tree_(e), path);
  if (!n) return 0;
  for (const ensemble_node *child = n->child; child; child = child->next) {
    if (each) each(ctx, child->name, &child->stat);
  }
  return n->children;
}

/* In every tree, as if it had always been so. */
int volt_ensemble_set_sequence(volt_ensemble *e, const char *path, int32_t sequence) {
  bool is_there = false;
  for (uint32_t i = 0; i <= e->config.servers; i++) {
    ensemble_tree *t = i < e->config.servers ? &e->server[i].tree : &e->head;
    ensemble_node *n = ensemble_find_(t, path);
    if (!n) continue;
    n->sequence = sequence;
    is_there = true;
  }
  return is_there ? VOLT_OK : (int)VOLT_CLUSTER_ENONODE;
}
