/* ensemble_watch.c: watches: each server has those of its clients, and fires one, once, as it applies
 * a change. */
#include <stdlib.h>
#include <string.h>

#include "ensemble.h"
#include "ensemble_leader.h"
#include "ensemble_link.h"
#include "ensemble_message.h"
#include "ensemble_tree.h"
#include "ensemble_watch.h"

static ensemble_watch **ensemble_watch_bucket(ensemble_server *s, const char *path, size_t size) {
  uint32_t hash = UINT32_C(2166136261);
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)path[i]) * UINT32_C(16777619);
  return &s->watch[hash % ENSEMBLE_WATCH_BUCKETS];
}

static bool ensemble_watch_is(const ensemble_watch *w, const char *path, size_t size,
                              bool is_children) {
  return w->is_children == is_children && strncmp(w->path, path, size) == 0 && w->path[size] == 0;
}

void ensemble_watch_(volt_ensemble *e, ensemble_link *link, const char *path, bool is_children) {
  size_t size = strlen(path);
  ensemble_watch **bucket = ensemble_watch_bucket(&e->server[link->server], path, size);
  for (const ensemble_watch *w = *bucket; w; w = w->next) {
    if (w->link == link && ensemble_watch_is(w, path, size, is_children)) return;
  }
  ensemble_watch *w = (ensemble_watch *)ensemble_alloc_(1, sizeof *w);
  w->path = ensemble_copy_(path, size);
  w->is_children = is_children;
  w->link = link;
  w->next = *bucket;
  w->here = bucket;
  if (w->next) w->next->here = &w->next;
  *bucket = w;
  w->of_link = link->watches;
  w->here_of_link = &link->watches;
  if (w->of_link) w->of_link->here_of_link = &w->of_link;
  link->watches = w;
}

static void ensemble_watch_free(ensemble_watch *w) {
  *w->here = w->next;
  if (w->next) w->next->here = w->here;
  *w->here_of_link = w->of_link;
  if (w->of_link) w->of_link->here_of_link = w->here_of_link;
  free(w->path);
  free(w);
}

void ensemble_watches_free_(ensemble_link *link) {
  while (link->watches) ensemble_watch_free(link->watches);
}

/* ---- fire ---- */

static void ensemble_send_event(volt_ensemble *e, ensemble_link *link, const char *path,
                                size_t size, bool is_children) {
  ensemble_message *m = ensemble_message_new_(MESSAGE_EVENT);
  m->path = ensemble_copy_(path, size);
  m->is_children = is_children;
  e->counts.events += 1;
  ensemble_send_down_(e, link, m);
}

static void ensemble_fire(volt_ensemble *e, uint32_t server, const char *path, size_t size,
                          bool is_children) {
  ensemble_watch *w = *ensemble_watch_bucket(&e->server[server], path, size);
  while (w) {
    ensemble_watch *next = w->next;
    if (ensemble_watch_is(w, path, size, is_children)) {
      ensemble_send_event(e, w->link, path, size, is_children);
      ensemble_watch_free(w);
    }
    w = next;
  }
}

void ensemble_watches_fire_(volt_ensemble *e, uint32_t server, const ensemble_part *part) {
  size_t size = strlen(part->path);
  ensemble_fire(e, server, part->path, size, false);
  if (part->kind == VOLT_CLUSTER_SET) return;
  if (part->kind == VOLT_CLUSTER_DELETE) ensemble_fire(e, server, part->path, size, true);
  const char *slash = strrchr(part->path, '/');
  size_t parent = (size_t)(slash - part->path);
  ensemble_fire(e, server, parent > 0 ? part->path : "/", parent > 0 ? parent : 1, true);
}

/* ---- a client that has come back ---- */

static bool ensemble_has_changed(const volt_ensemble *e, const ensemble_link *link,
                                 const ensemble_action *watch, uint64_t seen) {
  const ensemble_node *n = ensemble_find_(&e->server[link->server].tree, watch->path);
  if (watch->is_children) return !n || n->touched > seen;
  if (!watch->was_there) return n != NULL;
  return !n || n->stat.changed > seen;
}

void ensemble_watches_refresh_(volt_ensemble *e, ensemble_link *link, const ensemble_item *item) {
  for (uint32_t i = 0; i < item->count; i++) {
    const ensemble_action *a = &item->actions[i];
    if (ensemble_has_changed(e, link, a, item->transaction)) {
      ensemble_send_event(e, link, a->path, strlen(a->path), a->is_children);
    } else {
      ensemble_watch_(e, link, a->path, a->is_children);
    }
  }
}
