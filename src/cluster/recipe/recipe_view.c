/* recipe_view.c: the lists of a semaphore, as they were read, and what they say.
 *
 * Invariant
 *   I1  a list is of now (a bit of seen) if it was read after the last write of this lease was
 *       answered, and no watch of it has fired since. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../host/cluster.h"
#include "../host/engine.h"
#include "recipe.h"
#include "recipe_node.h"
#include "recipe_pass.h"
#include "recipe_view.h"
#include "recipe_write.h"

/* ---- reading ---- */

static void view_ask(volt_cluster_lease *l, enum engine_ask ask,
                     enum volt_cluster_request_kind kind, const char *path, bool is_watched) {
  engine_call *call = &l->calls[ask];
  call->request = (volt_cluster_request){.kind = kind, .watch = is_watched ? (uint32_t)ask : 0};
  call->is_watched = is_watched;
  snprintf(call->request.path, sizeof call->request.path, "%s", path);
  host_session_ask_(call);
}

static void view_ask_entries(volt_cluster_lease *l, enum cluster_list place, bool is_watched) {
  char path[VOLT_CLUSTER_PATH];
  engine_list *list = place == CLUSTER_QUEUE ? &l->queue : &l->holders;
  list->count = 0;
  list->old = 0;
  write_directory_(l, path, place, l->data.queue);
  view_ask(l, place == CLUSTER_QUEUE ? ASK_QUEUE : ASK_HOLDERS, VOLT_CLUSTER_CHILDREN, path,
           is_watched);
  if (!node_has_old_(l, place)) return;
  write_directory_(l, path, place, l->data.queue - 1);
  view_ask(l, place == CLUSTER_QUEUE ? ASK_QUEUE_OLD : ASK_HOLDERS_OLD, VOLT_CLUSTER_CHILDREN, path,
           false);
}

static void view_ask_slots(volt_cluster_lease *l, bool is_watched) {
  char path[VOLT_CLUSTER_PATH];
  l->taken.count = 0;
  snprintf(path, sizeof path, "%s/s", l->directory);
  view_ask(l, ASK_SLOTS, VOLT_CLUSTER_CHILDREN, path, is_watched);
}

static void view_ask_list(volt_cluster_lease *l, enum engine_ask list, bool is_watched) {
  l->seen &= ~ENGINE_BIT(list);
  if (list == ASK_SLOTS) {
    view_ask_slots(l, is_watched);
  } else {
    view_ask_entries(l, list == ASK_QUEUE ? CLUSTER_QUEUE : CLUSTER_HOLDERS, is_watched);
  }
}

static bool view_is_seen(const volt_cluster_lease *l, enum engine_ask list) {
  if (!(l->seen & ENGINE_BIT(list))) return false;
  if (list == ASK_QUEUE && node_has_old_(l, CLUSTER_QUEUE)) {
    return (l->seen & ENGINE_BIT(ASK_QUEUE_OLD)) != 0;
  }
  if (list == ASK_HOLDERS && node_has_old_(l, CLUSTER_HOLDERS)) {
    return (l->seen & ENGINE_BIT(ASK_HOLDERS_OLD)) != 0;
  }
  return true;
}

bool view_need_(volt_cluster_lease *l, uint32_t lists) {
  static const enum engine_ask all[] = {ASK_QUEUE, ASK_HOLDERS, ASK_SLOTS};
  bool is_asked = false;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!(lists & ENGINE_BIT(all[i])) || view_is_seen(l, all[i])) continue;
    view_ask_list(l, all[i], false);
    is_asked = true;
  }
  return is_asked;
}

bool view_watch_(volt_cluster_lease *l, enum engine_ask list) {
  view_ask_list(l, list, true);
  return true;
}

bool view_watch_entry_(volt_cluster_lease *l, enum engine_ask ask, const cluster_entry *e) {
  char path[VOLT_CLUSTER_PATH];
  write_entry_path_(l, path, ask == ASK_BEFORE_IN_HOLDERS ? CLUSTER_HOLDERS : CLUSTER_QUEUE, e);
  if (ask == ASK_BEFORE_IN_QUEUE) l->pass.before = *e;
  view_ask(l, ask, VOLT_CLUSTER_READ, path, ask != ASK_FIRST_IN_QUEUE);
  return true;
}

/* ---- answers ---- */

static bool view_grow(engine_list *list, uint32_t count) {
  if (count <= list->capacity) return true;
  uint32_t capacity = count + count / 2 + 8;
  cluster_entry *at = (cluster_entry *)realloc(list->at, capacity * sizeof *at);
  if (!at) return false;
  list->at = at;
  list->capacity = capacity;
  return true;
}

bool view_reserve_(engine_numbers *numbers, uint32_t count) {
  if (count <= numbers->capacity) return true;
  uint32_t capacity = count + count / 2 + 8;
  uint32_t *at = (uint32_t *)realloc(numbers->at, capacity * sizeof *at);
  if (!at) return false;
  numbers->at = at;
  numbers->capacity = capacity;
  return true;
}

void view_release_(volt_cluster_lease *l) {
  free(l->queue.at);
  free(l->holders.at);
  free(l->by_guid.at);
  free(l->marked.at);
  for (int i = 0; i < 2; i++) free(l->strays[i].at);
  free(l->taken.at);
  free(l->doubtful.at);
}

static void view_no_memory(volt_cluster_lease *l) {
  cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: no memory", l->name);
  recipe_pause_(l, RECIPE_PAUSE_NS);
}

void view_append_(volt_cluster_lease *l, engine_list *list, const cluster_entry *e) {
  if (view_grow(list, list->count + 1)) {
    list->at[list->count++] = *e;
  } else {
    view_no_memory(l);
  }
}

static void view_foreign(volt_cluster_lease *l, const char *path, const char *name) {
  if (!l->has_seen_foreign) {
    cluster_log_(l->c, VOLT_CLUSTER_WARN, "%s/%s is not of volt_cluster: ignored", path, name);
  }
  l->has_seen_foreign = true;
}

static bool view_is_stray(const volt_cluster_lease *l, enum cluster_list place,
                          const cluster_entry *e) {
  return view_place_(&l->strays[place], e) != UINT32_MAX;
}

static bool view_take_entries(volt_cluster_lease *l, enum cluster_list place, bool is_old,
                              const volt_cluster_request *r) {
  engine_list *list = place == CLUSTER_QUEUE ? &l->queue : &l->holders;
  if (!view_grow(list, list->count + r->name_count)) return false;
  for (uint32_t i = 0; i < r->name_count; i++) {
    cluster_entry e;
    if (!cluster_entry_read_(&e, r->names[i], place)) {
      view_foreign(l, r->path, r->names[i]);
      continue;
    }
    e.generation = l->data.queue - (is_old ? 1 : 0);
    if (!view_is_stray(l, place, &e)) list->at[list->count++] = e;
  }
  if (is_old) list->old = r->name_count;
  if (list->count > 1) qsort(list->at, list->count, sizeof *list->at, cluster_entry_by_age_);
  if (place == CLUSTER_QUEUE) return true;
  if (!view_grow(&l->by_guid, list->count)) return false;
  l->by_guid.count = list->count;
  if (list->count == 0) return true;
  memcpy(l->by_guid.at, list->at, list->count * sizeof *list->at);
  qsort(l->by_guid.at, list->count, sizeof *list->at, cluster_entry_by_guid_);
  return true;
}

static int view_by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static bool view_take_slots(volt_cluster_lease *l, const volt_cluster_request *r) {
  if (!view_reserve_(&l->taken, r->name_count)) return false;
  for (uint32_t i = 0; i < r->name_count; i++) {
    if (cluster_slot_read_(&l->taken.at[l->taken.count], r->names[i])) {
      l->taken.count += 1;
    } else {
      view_foreign(l, r->path, r->names[i]);
    }
  }
  if (l->taken.count > 1) qsort(l->taken.at, l->taken.count, sizeof *l->taken.at, view_by_number);
  return true;
}

void view_listed_(volt_cluster_lease *l, enum engine_ask ask, volt_cluster_request *r) {
  bool is_old = ask == ASK_QUEUE_OLD || ask == ASK_HOLDERS_OLD;
  bool is_queue = ask == ASK_QUEUE || ask == ASK_QUEUE_OLD;
  bool is_taken = true;
  if (r->result == VOLT_CLUSTER_ENONODE && is_old) {
    l->old_is_gone[is_queue ? CLUSTER_QUEUE : CLUSTER_HOLDERS] = true;
  } else if (r->result == VOLT_CLUSTER_ENONODE) {
    node_lacks_(l);
  } else if (r->result != VOLT_OK) {
    return;
  } else if (ask == ASK_SLOTS) {
    is_taken = view_take_slots(l, r);
  } else {
    is_taken = view_take_entries(l, is_queue ? CLUSTER_QUEUE : CLUSTER_HOLDERS, is_old, r);
  }
  if (!is_taken) {
    view_no_memory(l);
    return;
  }
  l->seen |= ENGINE_BIT(ask);
  if (l->calls[ask].is_watched && r->result == VOLT_OK) l->watched |= ENGINE_BIT(ask);
}

/* What is read is no host's: such an entry would be deleted with its session, but it belongs to none.
 * A person has made it, or a copy of the tree. It stays for ever, and is left out from now on. That
 * can only change which host is served first (recipe.c I5). */
static void view_stray(volt_cluster_lease *l, enum cluster_list place, const char *path) {
  const engine_list *list = place == CLUSTER_QUEUE ? &l->queue : &l->holders;
  char other[VOLT_CLUSTER_PATH];
  for (uint32_t i = 0; i < list->count; i++) {
    write_entry_path_(l, other, place, &list->at[i]);
    if (strcmp(other, path) != 0) continue;
    cluster_log_(l->c, VOLT_CLUSTER_WARN,
                 "%s has no owner, so it is no host's: left out; to be deleted by hand", path);
    view_append_(l, &l->strays[place], &list->at[i]);
    return;
  }
}

void view_entry_read_(volt_cluster_lease *l, enum engine_ask ask, const volt_cluster_request *r) {
  bool is_queue = ask != ASK_BEFORE_IN_HOLDERS;
  if (r->result == VOLT_OK && r->node.owner == 0) {
    view_stray(l, is_queue ? CLUSTER_QUEUE : CLUSTER_HOLDERS, r->path);
    l->seen &= ~ENGINE_BIT(is_queue ? ASK_QUEUE : ASK_HOLDERS); /* to be read without it */
  } else if (r->result == VOLT_OK) {
    bool is_marked = is_queue && pass_read_(l, ask == ASK_BEFORE_IN_QUEUE, r);
    if (ask != ASK_FIRST_IN_QUEUE && !is_marked) l->watched |= ENGINE_BIT(ask);
  } else if (r->result == VOLT_CLUSTER_ENONODE) { /* it has gone meanwhile */
    if (ask == ASK_BEFORE_IN_QUEUE)
      l->first_check = ENGINE_BIT(ASK_SLOTS) | ENGINE_BIT(ASK_HOLDERS);
    l->seen &= ~ENGINE_BIT(is_queue ? ASK_QUEUE : ASK_HOLDERS);
  }
}

/* ---- what they say ---- */

uint32_t view_place_(const engine_list *list, const cluster_entry *e) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (cluster_entry_by_age_(&list->at[i], e) == 0) return i;
  }
  return UINT32_MAX;
}

const cluster_entry *view_own_(const volt_cluster_lease *l, const engine_list *list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (cluster_guid_is_(&list->at[i].guid, &l->guid)) return &list->at[i];
  }
  return NULL;
}

const cluster_entry *view_before_(const volt_cluster_lease *l, const engine_list *list,
                                  uint32_t place) {
  while (place-- > 0) {
    if (!cluster_guid_is_(&list->at[place].guid, &l->guid)) return &list->at[place];
  }
  return NULL;
}

static const cluster_entry *view_holder(const volt_cluster_lease *l, const cluster_guid *guid) {
  cluster_entry key = {.guid = *guid};
  if (l->by_guid.count == 0) return NULL;
  return (const cluster_entry *)bsearch(&key, l->by_guid.at, l->by_guid.count, sizeof key,
                                        cluster_entry_by_guid_);
}

uint32_t view_has_(const volt_cluster_lease *l, const cluster_guid *guid) {
  const cluster_entry *e = view_holder(l, guid);
  return e ? e->has : 0;
}

bool view_is_taken_(const volt_cluster_lease *l, uint32_t slot) {
  if (l->taken.count == 0) return false;
  return bsearch(&slot, l->taken.at, l->taken.count, sizeof slot, view_by_number) != NULL;
}

uint32_t view_free_count_(const volt_cluster_lease *l) {
  uint32_t below = 0;
  while (below < l->taken.count && l->taken.at[below] < l->data.limit) below += 1;
  return l->data.limit - below;
}

uint32_t view_free_slots_(const volt_cluster_lease *l, uint32_t *slots, uint32_t count) {
  uint32_t found = 0;
  uint32_t next = 0; /* in taken */
  for (uint32_t slot = 0; slot < l->data.limit && found < count; slot++) {
    if (next < l->taken.count && l->taken.at[next] == slot) {
      next += 1;
    } else {
      slots[found++] = slot;
    }
  }
  return found;
}

uint32_t view_hosts_(volt_cluster_lease *l) {
  uint32_t hosts = l->holders.count;
  for (uint32_t i = 0; i < l->queue.count; i++) {
    if (!view_holder(l, &l->queue.at[i].guid)) hosts += 1;
  }
  l->stats.hosts = hosts;
  return hosts;
}
