/* ensemble_write.c: what a transaction does: the leader decides, in the order of the log. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ensemble.h"
#include "ensemble_link.h"
#include "ensemble_session.h"
#include "ensemble_tree.h"
#include "ensemble_write.h"

/* ---- what a client asks ---- */

ensemble_item *ensemble_item_new_(enum ensemble_item_kind kind) {
  ensemble_item *item = (ensemble_item *)ensemble_alloc_(1, sizeof *item);
  item->refs = 1;
  item->kind = kind;
  return item;
}

static void ensemble_action_copy(ensemble_action *to, const volt_cluster_action *from) {
  to->kind = from->kind;
  to->is_ephemeral = from->is_ephemeral;
  to->is_sequential = from->is_sequential;
  to->path = ensemble_copy_(from->path, strlen(from->path));
  to->data = ensemble_copy_(from->data, from->size);
  to->size = from->data ? from->size : 0;
  to->version = from->version;
}

ensemble_item *ensemble_item_of_(const volt_cluster_request *r) {
  ensemble_item *item = ensemble_item_new_(r->kind == VOLT_CLUSTER_WRITE ? ITEM_WRITE : ITEM_READ);
  item->read = r->kind;
  item->is_watched = r->watch != 0;
  if (r->kind != VOLT_CLUSTER_WRITE) {
    item->path = ensemble_copy_(r->path, strlen(r->path));
    return item;
  }
  item->count = r->count;
  item->actions = (ensemble_action *)ensemble_alloc_(r->count, sizeof *item->actions);
  for (uint32_t i = 0; i < r->count; i++) ensemble_action_copy(&item->actions[i], &r->actions[i]);
  return item;
}

void ensemble_item_drop_(ensemble_item *item) {
  if (!item || --item->refs > 0) return;
  for (uint32_t i = 0; i < item->count; i++) {
    free(item->actions[i].path);
    free(item->actions[i].data);
  }
  free(item->actions);
  free(item->path);
  if (item->link) ensemble_link_drop_(item->link);
  free(item);
}

/* ---- changes of the head ---- */

static ensemble_part *ensemble_part_new(ensemble_entry *entry, enum volt_cluster_action_kind kind,
                                        const char *path) {
  entry->parts =
      (ensemble_part *)ensemble_resize_(entry->parts, entry->count + 1, sizeof *entry->parts);
  ensemble_part *part = &entry->parts[entry->count++];
  memset(part, 0, sizeof *part);
  part->kind = kind;
  part->path = ensemble_copy_(path, strlen(path));
  return part;
}

/* ZooKeeper's number stays at the greatest one; a 32-bit counter wraps. */
static int32_t ensemble_after(const volt_ensemble *e, int32_t sequence) {
  if (sequence < INT32_MAX) return sequence + 1;
  return e->config.sequence_wraps ? INT32_MIN : INT32_MAX;
}

static void ensemble_number(ensemble_action *a, int32_t sequence) {
  size_t length = strlen(a->path);
  a->path = (char *)ensemble_resize_(a->path, length + 12, 1);
  snprintf(a->path + length, 12, "%010" PRId32, sequence);
}

static int ensemble_decide_create(volt_ensemble *e, ensemble_entry *entry, ensemble_action *a) {
  ensemble_node *parent = ensemble_parent_(&e->head, a->path);
  if (!parent || parent->stat.owner != 0) return VOLT_CLUSTER_ENONODE;
  if (a->is_sequential) ensemble_number(a, parent->sequence);
  if (strlen(a->path) >= VOLT_CLUSTER_PATH) return VOLT_EINVAL;
  if (ensemble_find_(&e->head, a->path)) return VOLT_CLUSTER_EEXISTS;
  ensemble_part *part = ensemble_part_new(entry, VOLT_CLUSTER_CREATE, a->path);
  part->data = ensemble_copy_(a->data ? a->data : "", a->size);
  part->size = a->size;
  part->node.created = part->node.changed = entry->transaction;
  part->node.owner = a->is_ephemeral ? entry->item->session : 0;
  part->sequence = ensemble_after(e, parent->sequence);
  part->parent_sequence_before = parent->sequence;
  part->sequence_before = e->config.sequence;
  part->touched_before = parent->touched;
  a->node = part->node;
  return VOLT_OK;
}

static int ensemble_decide_delete(volt_ensemble *e, ensemble_entry *entry, const char *path) {
  ensemble_node *n = ensemble_find_(&e->head, path);
  if (!n || !n->parent) return VOLT_CLUSTER_ENONODE;
  if (n->children > 0) return VOLT_CLUSTER_ENOTEMPTY;
  ensemble_part *part = ensemble_part_new(entry, VOLT_CLUSTER_DELETE, path);
  part->data_before = ensemble_copy_(n->data, n->size);
  part->size_before = n->size;
  part->node = part->node_before = n->stat;
  part->sequence_before = n->sequence;
  part->own_touched_before = n->touched;
  part->touched_before = n->parent->touched;
  return VOLT_OK;
}

static int ensemble_decide_set(volt_ensemble *e, ensemble_entry *entry, const ensemble_action *a) {
  ensemble_node *n = ensemble_find_(&e->head, a->path);
  if (!n) return VOLT_CLUSTER_ENONODE;
  if (a->version >= 0 && (uint64_t)a->version != n->stat.version) return VOLT_CLUSTER_EVERSION;
  ensemble_part *part = ensemble_part_new(entry, VOLT_CLUSTER_SET, a->path);
  part->data = ensemble_copy_(a->data ? a->data : "", a->size);
  part->size = a->size;
  part->data_before = ensemble_copy_(n->data, n->size);
  part->size_before = n->size;
  part->node = part->node_before = n->stat;
  part->node.changed = entry->transaction;
  part->node.version += 1;
  return VOLT_OK;
}

static int ensemble_decide_action(volt_ensemble *e, ensemble_entry *entry, ensemble_action *a) {
  uint32_t count = entry->count;
  int result = VOLT_OK;
  switch (a->kind) {
    case VOLT_CLUSTER_CREATE: result = ensemble_decide_create(e, entry, a); break;
    case VOLT_CLUSTER_DELETE: result = ensemble_decide_delete(e, entry, a->path); break;
    case VOLT_CLUSTER_SET: result = ensemble_decide_set(e, entry, a); break;
    case VOLT_CLUSTER_CHECK:
      result = ensemble_find_(&e->head, a->path) ? VOLT_OK : (int)VOLT_CLUSTER_ENONODE;
      break;
  }
  if (entry->count > count) ensemble_do_(&e->head, &entry->parts[count], entry->transaction);
  return result;
}

/* ---- transactions ---- */

static void ensemble_part_free(ensemble_part *part) {
  free(part->path);
  free(part->data);
  free(part->data_before);
}

/* All, or nothing. */
static void ensemble_decide_write(volt_ensemble *e, ensemble_entry *entry) {
  ensemble_item *item = entry->item;
  uint32_t i = 0;
  for (; i < item->count && item->result == VOLT_OK; i++) {
    item->result = item->actions[i].result = ensemble_decide_action(e, entry, &item->actions[i]);
  }
  if (item->result == VOLT_OK) return;
  for (uint32_t other = 0; other < item->count; other++) {
    if (other + 1 != i) item->actions[other].result = VOLT_CLUSTER_EUNDONE;
  }
  while (entry->count > 0) {
    ensemble_part *last = &entry->parts[--entry->count];
    ensemble_undo_(&e->head, last);
    ensemble_part_free(last);
  }
}

/* All nodes of the session go. */
static void ensemble_decide_close(volt_ensemble *e, ensemble_entry *entry) {
  for (uint32_t i = 0; i < e->head.buckets; i++) {
    for (const ensemble_node *n = e->head.bucket[i]; n; n = n->hash_next) {
      if (n->stat.owner == entry->item->session) ensemble_decide_delete(e, entry, n->path);
    }
  }
  for (uint32_t i = 0; i < entry->count; i++) {
    ensemble_do_(&e->head, &entry->parts[i], entry->transaction);
  }
}

static bool ensemble_may_decide(volt_ensemble *e, const ensemble_item *item) {
  bool is_by_hand = !item->link && item->kind == ITEM_WRITE;
  return is_by_hand || item->kind == ITEM_OPEN || ensemble_session_may_(e, item);
}

ensemble_entry *ensemble_decide_(volt_ensemble *e, ensemble_item *item) {
  if (!ensemble_may_decide(e, item)) return NULL;
  ensemble_entry *entry = (ensemble_entry *)ensemble_alloc_(1, sizeof *entry);
  entry->transaction = item->transaction = ++e->transaction;
  entry->item = item;
  item->refs += 1;
  if (item->kind == ITEM_WRITE) ensemble_decide_write(e, entry);
  if (item->kind == ITEM_OPEN) item->session = ensemble_session_open_(e, item->session_ns);
  if (item->kind == ITEM_CLOSE) {
    ensemble_decide_close(e, entry);
    ensemble_session *s = ensemble_session_find_(e, item->session);
    VOLT_ASSUME(s); /* ensemble_may_decide() has found it */
    s->closed = e->log_count;
  }
  return entry;
}

void ensemble_entry_free_(ensemble_entry *entry) {
  for (uint32_t i = 0; i < entry->count; i++) ensemble_part_free(&entry->parts[i]);
  free(entry->parts);
  ensemble_item_drop_(entry->item);
  free(entry);
}
