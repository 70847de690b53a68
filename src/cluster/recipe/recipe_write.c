/* recipe_write.c: transactions of a lease, and what their answers change. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/os/check.h"
#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/session.h"
#include "../host/slots.h"
#include "recipe.h"
#include "recipe_lost.h"
#include "recipe_node.h"
#include "recipe_pass.h"
#include "recipe_view.h"
#include "recipe_write.h"

/* ---- paths ---- */

void write_directory_(const volt_cluster_lease *l, char *to, enum cluster_list place,
                      uint32_t generation) {
  snprintf(to, VOLT_CLUSTER_PATH, "%s/%c%" PRIu32, l->directory, place == CLUSTER_QUEUE ? 'q' : 'h',
           generation);
}

void write_entry_path_(const volt_cluster_lease *l, char *to, enum cluster_list place,
                       const cluster_entry *e) {
  char directory[VOLT_CLUSTER_PATH];
  char name[CLUSTER_ENTRY_SIZE];
  write_directory_(l, directory, place, e->generation);
  cluster_entry_write_(name, e, place);
  snprintf(to, VOLT_CLUSTER_PATH, "%.*s/%s", VOLT_CLUSTER_PATH - CLUSTER_ENTRY_SIZE - 2, directory,
           name);
}

void write_slot_path_(const volt_cluster_lease *l, char *to, uint32_t slot) {
  snprintf(to, VOLT_CLUSTER_PATH, "%s/s/%" PRIu32, l->directory, slot);
}

/* ---- building ---- */

static bool write_grow(engine_write *w, uint32_t count) {
  if (count <= w->capacity) return true;
  volt_cluster_action *actions =
      (volt_cluster_action *)realloc(w->actions, count * sizeof *actions);
  if (actions) w->actions = actions;
  engine_action *effects = (engine_action *)realloc(w->effects, count * sizeof *effects);
  if (effects) w->effects = effects;
  if (!actions || !effects) return false;
  w->capacity = count;
  return true;
}

bool write_begin_(volt_cluster_lease *l, uint32_t count) {
  l->write.count = 0;
  l->write.generation = l->data.queue;
  /* also for the slots that are doubtful if the answer is lost (again_begin_()) */
  bool has_room = view_reserve_(&l->doubtful, l->doubtful.count + count);
  if (has_room && write_grow(&l->write, count)) return true;
  cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: no memory", l->name);
  recipe_pause_(l, RECIPE_PAUSE_NS);
  return false;
}

static volt_cluster_action *write_add(volt_cluster_lease *l, enum volt_cluster_action_kind kind,
                                      enum engine_effect effect) {
  engine_write *w = &l->write;
  VOLT_ASSERT(w->count < w->capacity);
  volt_cluster_action *a = &w->actions[w->count];
  *a = (volt_cluster_action){.kind = kind, .version = -1};
  w->effects[w->count] = (engine_action){.effect = effect};
  w->count += 1;
  return a;
}

static void write_add_path(volt_cluster_action *a, const char *path) {
  snprintf(a->path, sizeof a->path, "%s", path);
}

void write_make_(volt_cluster_lease *l, const char *path, const char *data, uint32_t size) {
  volt_cluster_action *a = write_add(l, VOLT_CLUSTER_CREATE, EFFECT_MAKE);
  write_add_path(a, path);
  a->data = data;
  a->size = size;
}

void write_take_slot_(volt_cluster_lease *l, uint32_t slot) {
  volt_cluster_action *a = write_add(l, VOLT_CLUSTER_CREATE, EFFECT_TAKE_SLOT);
  l->write.effects[l->write.count - 1].slot = slot;
  write_slot_path_(l, a->path, slot);
  a->is_ephemeral = 1;
  a->data = l->mark;
  a->size = (uint32_t)strlen(l->mark);
}

void write_give_slot_(volt_cluster_lease *l, uint32_t slot) {
  volt_cluster_action *a = write_add(l, VOLT_CLUSTER_DELETE, EFFECT_GIVE_SLOT);
  l->write.effects[l->write.count - 1].slot = slot;
  write_slot_path_(l, a->path, slot);
}

void write_delete_(volt_cluster_lease *l, enum engine_effect effect, const char *path) {
  write_add_path(write_add(l, VOLT_CLUSTER_DELETE, effect), path);
}

static void write_enter(volt_cluster_lease *l, enum cluster_list place, uint32_t has,
                        uint32_t want) {
  cluster_entry e = {.guid = l->guid, .has = has, .want = want};
  char directory[VOLT_CLUSTER_PATH];
  char name[CLUSTER_ENTRY_SIZE];
  bool is_queue = place == CLUSTER_QUEUE;
  volt_cluster_action *a =
      write_add(l, VOLT_CLUSTER_CREATE, is_queue ? EFFECT_ENTER_QUEUE : EFFECT_ENTER_HOLDERS);
  write_directory_(l, directory, place, l->data.queue);
  cluster_entry_ask_(name, &e, place);
  snprintf(a->path, sizeof a->path, "%.*s/%s", VOLT_CLUSTER_PATH - CLUSTER_ENTRY_SIZE - 2,
           directory, name);
  a->is_ephemeral = 1;
  a->is_sequential = 1;
  if (!is_queue) return;
  a->data = pass_asks_(l);
  a->size = a->data ? (uint32_t)strlen(a->data) : 0;
}

static void write_leave(volt_cluster_lease *l, enum cluster_list place) {
  bool is_queue = place == CLUSTER_QUEUE;
  char path[VOLT_CLUSTER_PATH];
  write_entry_path_(l, path, place, is_queue ? &l->queue_entry : &l->holders_entry);
  write_delete_(l, is_queue ? EFFECT_LEAVE_QUEUE : EFFECT_LEAVE_HOLDERS, path);
}

void write_queue_(volt_cluster_lease *l, uint32_t has, uint32_t want) {
  if (l->in_queue) write_leave(l, CLUSTER_QUEUE);
  if (want > 0) write_enter(l, CLUSTER_QUEUE, has, want);
}

void write_mark_(volt_cluster_lease *l, const cluster_entry *e) {
  static const char data[] = "passed";
  volt_cluster_action *a = write_add(l, VOLT_CLUSTER_SET, EFFECT_MARK);
  write_entry_path_(l, a->path, CLUSTER_QUEUE, e);
  a->data = data;
  a->size = sizeof data - 1;
  a->version = 0; /* it is not marked yet */
}

void write_holders_(volt_cluster_lease *l, uint32_t count) {
  if (l->in_holders) write_leave(l, CLUSTER_HOLDERS);
  if (count > 0) write_enter(l, CLUSTER_HOLDERS, count, 0);
}

void write_set_(volt_cluster_lease *l, uint32_t size) {
  volt_cluster_action *a = write_add(l, VOLT_CLUSTER_SET, EFFECT_SET_DATA);
  write_add_path(a, l->directory);
  a->data = l->new_text;
  a->size = size;
  a->version = l->version;
}

void write_check_(volt_cluster_lease *l) {
  const char *root = l->c->root[0] ? l->c->root : "/";
  write_add_path(write_add(l, VOLT_CLUSTER_CHECK, EFFECT_NONE), root);
}

bool write_submit_(volt_cluster_lease *l) {
  engine_call *call = &l->calls[ASK_WRITE];
  call->request = (volt_cluster_request){
      .kind = VOLT_CLUSTER_WRITE, .actions = l->write.actions, .count = l->write.count};
  recipe_forget_lists_(l); /* a decision is taken on what was read after the last write */
  host_session_ask_(call);
  return true;
}

void write_release_(volt_cluster_lease *l) {
  free(l->write.actions);
  free(l->write.effects);
}

/* ---- it was done ---- */

/* The entry that a sequential node has become. */
static void write_entered(volt_cluster_lease *l, const volt_cluster_action *a,
                          enum cluster_list place) {
  const char *name = strrchr(a->path, '/');
  cluster_entry e;
  if (!cluster_entry_read_(&e, name ? name + 1 : a->path, place)) {
    cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: the ensemble made %s", l->name, a->path);
    again_begin_(l);
    return;
  }
  e.generation = l->write.generation;
  if (place == CLUSTER_QUEUE) {
    l->queue_entry = e;
    l->in_queue = true;
    pass_begin_(l);
    l->first_check = ENGINE_BIT(ASK_SLOTS);
  } else {
    l->holders_entry = e;
    l->in_holders = true;
  }
}

static void write_gave(volt_cluster_lease *l, uint32_t slot) {
  engine_slot *s = slots_find_(l, slot);
  if (s) slots_remove_(l, s);
  l->stats.returns += 1;
}

static void write_left(volt_cluster_lease *l, enum engine_effect effect) {
  uint32_t watch = effect == EFFECT_LEAVE_QUEUE
                       ? ENGINE_BIT(ASK_BEFORE_IN_QUEUE) | ENGINE_BIT(ASK_SLOTS)
                       : ENGINE_BIT(ASK_BEFORE_IN_HOLDERS) | ENGINE_BIT(ASK_QUEUE);
  l->watched &= ~watch; /* of no interest any more: what fires is ignored */
  if (effect == EFFECT_LEAVE_QUEUE) {
    l->in_queue = false;
  } else {
    l->in_holders = false;
  }
}

/* First what has gone, then what has come. */
static void write_undo(volt_cluster_lease *l, const engine_action *e) {
  if (e->effect == EFFECT_GIVE_SLOT) write_gave(l, e->slot);
  if (e->effect == EFFECT_LEAVE_QUEUE || e->effect == EFFECT_LEAVE_HOLDERS) {
    write_left(l, e->effect);
  }
  if (e->effect == EFFECT_DELETE_OLD_QUEUE) l->old_is_gone[CLUSTER_QUEUE] = true;
  if (e->effect == EFFECT_DELETE_OLD_HOLDERS) l->old_is_gone[CLUSTER_HOLDERS] = true;
}

/* Since when the slots of a TAKE are this host's, and could become valid. No link is so slow that an answer
 * takes longer than T/4: then the process was stopped, and has to be heard anew. */
static uint64_t write_since_ns(const volt_cluster_lease *l) {
  uint64_t sent_ns = l->calls[ASK_WRITE].request.sent_ns;
  uint64_t link_ns = l->c->stats.session_ns / 4, now_ns = cluster_now_(l->c);
  return sent_ns + link_ns < now_ns ? now_ns : sent_ns;
}

static void write_do(volt_cluster_lease *l, const engine_action *e, const volt_cluster_action *a) {
  switch ((int)e->effect) {
    case EFFECT_TAKE_SLOT:
      slots_add_(l, e->slot, a->node.created, write_since_ns(l));
      l->check_at_ns = cluster_now_(l->c) + recipe_quantum_(l);
      break;
    case EFFECT_ENTER_QUEUE: write_entered(l, a, CLUSTER_QUEUE); break;
    case EFFECT_ENTER_HOLDERS: write_entered(l, a, CLUSTER_HOLDERS); break;
    default: break;
  }
  if (a->kind == VOLT_CLUSTER_CREATE) node_saw_(l, a->node.created, true);
}

static void write_done(volt_cluster_lease *l, const volt_cluster_request *r) {
  engine_write *w = &l->write;
  l->failures = 0;
  for (uint32_t i = 0; i < r->count; i++) write_undo(l, &w->effects[i]);
  for (uint32_t i = 0; i < r->count; i++) write_do(l, &w->effects[i], &w->actions[i]);
  enum engine_effect first = w->effects[0].effect;
  if (first == EFFECT_SET_DATA) node_set_(l, VOLT_OK);
  if (first == EFFECT_MAKE) node_made_(l, VOLT_OK);
  if (first == EFFECT_NONE) l->is_barred = true;
  if (first == EFFECT_MARK) pass_marked_(l, true);
  slots_offer_(l);
}

/* ---- it was not done ---- */

/* Something that should not be. If it is what this host wants that is refused, it leaves the queue,
 * because others wait behind it. */
static void write_refused(volt_cluster_lease *l, enum engine_effect effect, int result,
                          const char *path) {
  bool is_wish =
      effect == EFFECT_TAKE_SLOT || effect == EFFECT_ENTER_QUEUE || effect == EFFECT_ENTER_HOLDERS;
  if (recipe_complains_(l, result)) {
    cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: %s: refused (%s)", l->name, path,
                 volt_strresult(result));
  }
  if (is_wish) {
    recipe_refused_(l, result);
  } else {
    recipe_pause_(l, RECIPE_PAUSE_NS);
  }
}

static void write_conflict(volt_cluster_lease *l) {
  l->watched &= ~ENGINE_BIT(ASK_SLOTS);
  l->failures += 1;
  if (l->failures > 1) {
    recipe_pause_(l, UINT64_C(5000000) << (l->failures < 8 ? l->failures : 8));
  }
}

static void write_failed_at(volt_cluster_lease *l, enum engine_effect effect, int result,
                            const char *path) {
  bool is_absent = result == VOLT_CLUSTER_ENONODE;
  if (effect == EFFECT_SET_DATA) {
    node_set_(l, result);
  } else if (effect == EFFECT_MAKE) {
    node_made_(l, result);
  } else if (effect == EFFECT_MARK && (is_absent || result == VOLT_CLUSTER_EVERSION)) {
    pass_marked_(l, !is_absent); /* it has gone, or another host was quicker */
  } else if (effect == EFFECT_NONE) {
    l->is_barred = true; /* it has passed the leader, too */
  } else if (effect == EFFECT_TAKE_SLOT && result == VOLT_CLUSTER_EEXISTS) {
    write_conflict(l);
  } else if (effect == EFFECT_DELETE_OLD_QUEUE || effect == EFFECT_DELETE_OLD_HOLDERS) {
    if (is_absent) l->old_is_gone[effect == EFFECT_DELETE_OLD_HOLDERS] = true;
    l->old_until_ns = cluster_now_(l->c) + RECIPE_PAUSE_NS;
  } else if (is_absent && (effect == EFFECT_TAKE_SLOT || effect == EFFECT_ENTER_QUEUE ||
                           effect == EFFECT_ENTER_HOLDERS)) {
    node_lacks_(l);
  } else if (is_absent) {
    again_begin_(l); /* something of ours was deleted by hand */
  } else {
    write_refused(l, effect, result, path);
  }
}

static void write_failed(volt_cluster_lease *l, const volt_cluster_request *r) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < r->count; i++) {
    if (r->actions[i].result == VOLT_OK || r->actions[i].result == VOLT_CLUSTER_EUNDONE) continue;
    at = i;
    break;
  }
  write_failed_at(l, l->write.effects[at].effect, r->result, r->actions[at].path);
}

void write_answered_(volt_cluster_lease *l, volt_cluster_request *r) {
  enum engine_effect first = l->write.effects[0].effect;
  if (r->result == VOLT_OK) {
    write_done(l, r);
  } else if (r->result == VOLT_CLUSTER_EAWAY) {
    if (first == EFFECT_SET_DATA) node_set_(l, r->result);
    again_begin_(l);
  } else if (r->result == VOLT_CLUSTER_EEXPIRED) {
    if (first == EFFECT_SET_DATA) node_set_(l, r->result); /* SESSION_EXPIRED does the rest */
  } else {
    write_failed(l, r);
  }
}
