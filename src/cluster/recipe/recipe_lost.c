/* recipe_lost.c: an answer was lost: what does this host have at the ensemble?
 *
 * Algorithm
 *   1  A write that changes nothing, and its answer. The lost transaction may still be under way: the
 *      leader may have it in its queue when the client is connected to another server already, and
 *      what that server lets it read is of before. A later write of the same session passes the same
 *      queue behind it; what comes through the old server after that is refused, because the session
 *      has moved; and the answer says that the new server has all that was before. From then on the
 *      lost transaction was carried out, and can be read, or never will be.
 *   2  Read the data, the queue, the holders, the slots. What has this host's guid in its name is its
 *      own: it is not waited for, and not made twice.
 *   3  Of the slots that were in the lost transaction, read those that are there. What has this
 *      host's guid in its data is its own. The others are not: another host has made them since, or
 *      a person has deleted them.
 *   A slot of before that is not there any more was deleted by hand: its lease is lost. */
#include <stdio.h>
#include <string.h>

#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/session.h"
#include "../host/slots.h"
#include "names.h"
#include "recipe.h"
#include "recipe_lost.h"
#include "recipe_node.h"
#include "recipe_pass.h"
#include "recipe_view.h"
#include "recipe_write.h"

void again_begin_(volt_cluster_lease *l) {
  l->is_unsure = true;
  l->is_barred = false;
  l->is_dirty = true;
  l->watched &= ~ENGINE_BIT(ASK_DATA);
  recipe_forget_lists_(l);
  for (uint32_t i = 0; i < l->write.count; i++) {
    enum engine_effect effect = l->write.effects[i].effect;
    if (effect == EFFECT_TAKE_SLOT || effect == EFFECT_GIVE_SLOT) {
      l->doubtful.at[l->doubtful.count++] = l->write.effects[i].slot;
    }
  }
  l->write.count = 0;
}

/* ---- slots ---- */

static void again_is_not_ours(volt_cluster_lease *l, engine_slot *s) {
  if (s->state == SLOT_IN_USE) {
    cluster_log_(l->c, VOLT_CLUSTER_WARN, "%s: slot %u was deleted by hand", l->name,
                 (unsigned)s->slot.slot);
    l->stats.lost_ever += 1;
    l->local.lose(l->local.ctx, &s->slot);
  } else {
    l->stats.returns += 1;
  }
  slots_remove_(l, s);
}

void again_slot_read_(volt_cluster_lease *l, const volt_cluster_request *r) {
  if (r->result != VOLT_OK && r->result != VOLT_CLUSTER_ENONODE) return;
  uint32_t slot = l->doubtful.at[--l->doubtful.count];
  bool is_ours = r->result == VOLT_OK && r->node.owner == l->c->stats.session && r->size >= 32 &&
                 memcmp(r->data, l->mark, 32) == 0;
  engine_slot *s = slots_find_(l, slot);
  if (s && is_ours && s->slot.epoch == r->node.created) return;
  if (s) again_is_not_ours(l, s);
  if (is_ours) {
    slots_add_(l, slot, r->node.created, cluster_now_(l->c));
    node_saw_(l, r->node.created, false); /* others may have written since */
    l->check_at_ns = cluster_now_(l->c) + recipe_quantum_(l);
  }
}

/* Read the next slot of which it is not known whose it is. */
static bool again_read_slot(volt_cluster_lease *l) {
  while (l->doubtful.count > 0) {
    uint32_t slot = l->doubtful.at[l->doubtful.count - 1];
    engine_slot *s = slots_find_(l, slot);
    if (!view_is_taken_(l, slot)) {
      if (s) again_is_not_ours(l, s);
      l->doubtful.count -= 1;
      continue;
    }
    if (!slots_reserve_(l, 1)) {
      recipe_pause_(l, RECIPE_PAUSE_NS);
      return true;
    }
    engine_call *call = &l->calls[ASK_ONE_SLOT];
    call->request = (volt_cluster_request){.kind = VOLT_CLUSTER_READ};
    write_slot_path_(l, call->request.path, slot);
    host_session_ask_(call);
    return true;
  }
  return false;
}

void again_drop_missing_(volt_cluster_lease *l) {
  for (uint32_t i = l->slot_count; i-- > 0;) {
    if (!view_is_taken_(l, l->slots[i].slot.slot)) again_is_not_ours(l, &l->slots[i]);
  }
}

/* ---- all ---- */

static void again_is_known(volt_cluster_lease *l) {
  const cluster_entry *queued = view_own_(l, &l->queue);
  const cluster_entry *holds = view_own_(l, &l->holders);
  l->in_queue = queued != NULL;
  if (queued) l->queue_entry = *queued;
  pass_begin_(l);
  l->in_holders = holds != NULL;
  if (holds) l->holders_entry = *holds;
  l->watched = l->watched & ENGINE_BIT(ASK_DATA);
  l->first_check = 0;
  again_drop_missing_(l);
  l->is_unsure = false;
  l->is_barred = false;
}

bool again_check_(volt_cluster_lease *l) {
  if (!l->is_barred) {
    if (!write_begin_(l, 1)) return true;
    write_check_(l);
    return write_submit_(l);
  }
  if (!(l->watched & ENGINE_BIT(ASK_DATA))) return node_check_(l);
  if (view_need_(l, ENGINE_BIT(ASK_QUEUE) | ENGINE_BIT(ASK_HOLDERS) | ENGINE_BIT(ASK_SLOTS))) {
    return true;
  }
  if (again_read_slot(l)) return true;
  again_is_known(l);
  return false;
}
