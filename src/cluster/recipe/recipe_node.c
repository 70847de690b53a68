/* recipe_node.c: the node of a semaphore: read and followed, made, changed; its directories.
 *
 * Algorithm
 *   The data is read with a watch, so it is of now while the watch is set. A host whose config has a
 *   limit makes a node that is missing, with its directories, in one transaction; the way to it, if
 *   that is missing, part by part. Any host makes a directory that is missing, but only after it has
 *   read the data again: the directory may be of a generation that has passed.
 *
 *   Generations. ZooKeeper counts what was ever made under a node in 31 bits, and then stands still:
 *   all get 2147483647. So a host that gets a number of at least `turn` (2^30) moves the queue and the
 *   holders to new directories: SET queue G+1, and CREATE q<G+1>, h<G+1>, in one transaction. Entries
 *   are ordered by generation, then by number. What is in the old directory stays ahead; holders move
 *   their entry, so that the old one becomes empty; the first host that finds it empty deletes it. Only
 *   then may the next generation begin, so there are two at most.
 *
 *   Era. Numbers of transactions only rise, unless the ensemble was replaced by an empty or an older
 *   one. Then fences would go back. A host remembers the greatest number of the era, and leases
 *   nothing when a node that it makes has a smaller one, until a person, or a config, raises era. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../host/change.h"
#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/lease.h"
#include "../host/session.h"
#include "../host/slots.h"
#include "recipe.h"
#include "recipe_node.h"
#include "recipe_view.h"
#include "recipe_write.h"

/* ---- era ---- */

static void node_era_is_wrong(volt_cluster_lease *l) {
  l->is_era_wrong = true;
  l->result = VOLT_CLUSTER_EERA;
  cluster_log_(l->c, VOLT_CLUSTER_ERROR,
               "%s: the ensemble is older than what this host has seen: raise era", l->name);
}

void node_saw_(volt_cluster_lease *l, uint64_t transaction, bool is_new) {
  if (transaction == 0) return; /* the back end does not know it */
  if (is_new && transaction < l->seen_transaction && !l->is_era_wrong) node_era_is_wrong(l);
  if (transaction > l->seen_transaction) l->seen_transaction = transaction;
}

static void node_saw_era(volt_cluster_lease *l, uint32_t era) {
  if (era > l->seen_era) {
    l->seen_era = era;
    l->seen_transaction = 0;
    l->is_era_wrong = false;
  } else if (era < l->seen_era && !l->is_era_wrong) {
    node_era_is_wrong(l);
  }
}

/* ---- the data ---- */

static bool node_read(volt_cluster_lease *l) {
  engine_call *call = &l->calls[ASK_DATA];
  call->request = (volt_cluster_request){.kind = VOLT_CLUSTER_READ, .watch = ASK_DATA};
  snprintf(call->request.path, sizeof call->request.path, "%s", l->directory);
  host_session_ask_(call);
  return true;
}

/* The node is gone, and with it all that was below it. */
static void node_is_missing(volt_cluster_lease *l) {
  if (l->config.limit == 0 && recipe_complains_(l, VOLT_CLUSTER_ENONODE)) {
    cluster_log_(l->c, VOLT_CLUSTER_WARN, "%s: there is no such node, and no limit to make it with",
                 l->name);
  }
  l->is_missing = true;
  l->result = l->cannot_make != VOLT_OK ? l->cannot_make : (int)VOLT_CLUSTER_ENONODE;
  slots_lose_(l);
  slots_clear_(l);
  l->in_queue = false;
  l->in_holders = false;
  l->is_unsure = false;
  l->doubtful.count = 0;
}

static void node_is_new(volt_cluster_lease *l, const cluster_data *d) {
  if (!l->is_good || d->limit != l->data.limit) {
    l->cut_limit = UINT32_MAX;
    l->has_passed = false;
    l->watched &= ~ENGINE_BIT(ASK_SLOTS);
    if (l->config.limit && l->config.limit != d->limit && !l->is_good) {
      cluster_log_(l->c, VOLT_CLUSTER_INFO, "%s: the node's limit %u holds, not %u", l->name,
                   (unsigned)d->limit, (unsigned)l->config.limit);
    }
  }
  if (!l->is_good || d->queue != l->data.queue) {
    l->old_is_gone[CLUSTER_QUEUE] = false;
    l->old_is_gone[CLUSTER_HOLDERS] = false;
    l->old_until_ns = 0;
    recipe_forget_lists_(l);
    l->watched &= ~ENGINE_BIT(ASK_QUEUE);
  }
  l->data = *d;
  l->is_good = true;
}

void node_read_(volt_cluster_lease *l, volt_cluster_request *r) {
  if (r->result == VOLT_CLUSTER_ENONODE) node_is_missing(l);
  if (r->result != VOLT_OK) return;
  cluster_data d;
  l->watched |= ENGINE_BIT(ASK_DATA);
  l->is_missing = false;
  l->making = 0;
  l->has_way = false;
  l->cannot_make = VOLT_OK;
  l->version = r->node.version;
  if (!cluster_data_read_(&d, r->data, r->size)) {
    if (recipe_complains_(l, VOLT_CLUSTER_EDATA)) {
      cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: the node's data is not of volt_cluster", l->name);
    }
    l->result = VOLT_CLUSTER_EDATA;
    return;
  }
  memcpy(l->text, r->data, r->size);
  l->text_size = r->size;
  node_saw_era(l, d.era);
  if (d.era == l->seen_era) {
    node_saw_(l, r->node.created, false);
    node_saw_(l, r->node.changed, false);
  }
  node_is_new(l, &d);
  l->result = l->is_era_wrong ? (int)VOLT_CLUSTER_EERA : (int)VOLT_OK;
}

/* ---- a node that is missing ---- */

void node_statted_(volt_cluster_lease *l, volt_cluster_request *r) {
  if (r->result == VOLT_CLUSTER_ENONODE) l->watched |= ENGINE_BIT(ASK_NODE);
  if (r->result == VOLT_OK) l->is_missing = false;
}

/* Wait for another host to make it. */
static bool node_await(volt_cluster_lease *l) {
  change_refuse_(l, VOLT_CLUSTER_ENONODE);
  if (l->watched & ENGINE_BIT(ASK_NODE)) return true;
  engine_call *call = &l->calls[ASK_NODE];
  call->request = (volt_cluster_request){.kind = VOLT_CLUSTER_STAT, .watch = ASK_NODE};
  snprintf(call->request.path, sizeof call->request.path, "%s", l->directory);
  host_session_ask_(call);
  return true;
}

/* The first `part` parts of the root. Returns false if there are not so many. */
static bool node_way(const volt_cluster_lease *l, char *to, uint32_t part) {
  const char *end = l->c->root;
  for (uint32_t i = 0; i < part; i++) {
    if (*end == '\0') return false;
    end += 1;
    end += strcspn(end, "/");
  }
  snprintf(to, VOLT_CLUSTER_PATH, "%.*s", (int)(end - l->c->root), l->c->root);
  return true;
}

static uint32_t node_new_text(volt_cluster_lease *l, const cluster_data *d, bool is_first) {
  l->new_data = *d;
  return (uint32_t)cluster_data_write_(l->new_text, d, is_first ? NULL : l->text, l->text_size);
}

static bool node_make(volt_cluster_lease *l) {
  static const char *const directories[] = {"/q0", "/h0", "/s"};
  char path[VOLT_CLUSTER_PATH];
  if (!write_begin_(l, 4)) return true;
  if (l->making > 0 && node_way(l, path, l->making)) {
    write_make_(l, path, NULL, 0);
    return write_submit_(l);
  }
  l->making = 0;
  cluster_data d = {.limit = l->config.limit, .era = l->config.era ? l->config.era : 1};
  if (d.era < l->seen_era) d.era = l->seen_era;
  write_make_(l, l->directory, l->new_text, node_new_text(l, &d, true));
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", l->directory, directories[i]);
    write_make_(l, path, NULL, 0);
  }
  return write_submit_(l);
}

/* ---- directories ---- */

void node_lacks_(volt_cluster_lease *l) {
  l->watched &= ~ENGINE_BIT(ASK_DATA); /* first: what is the generation now? */
  if (l->lacking == 0) l->lacking = 1;
}

static bool node_make_directory(volt_cluster_lease *l) {
  char path[VOLT_CLUSTER_PATH];
  if (!write_begin_(l, 1)) return true;
  if (l->lacking == 3) {
    snprintf(path, sizeof path, "%s/s", l->directory);
  } else {
    write_directory_(l, path, l->lacking == 1 ? CLUSTER_QUEUE : CLUSTER_HOLDERS, l->data.queue);
  }
  write_make_(l, path, NULL, 0);
  return write_submit_(l);
}

/* The path behind the servers, which has to be there, is not. */
static const char *node_missing_chroot(const volt_cluster_lease *l, int result) {
  bool is_top = result == VOLT_CLUSTER_ENONODE && l->making <= 1;
  return is_top && l->c->config.servers ? strchr(l->c->config.servers, '/') : NULL;
}

static void node_cannot_be_made(volt_cluster_lease *l, int result) {
  const char *chroot = node_missing_chroot(l, result);
  if (!recipe_complains_(l, result)) {
  } else if (chroot) {
    cluster_log_(l->c, VOLT_CLUSTER_ERROR,
                 "%s: cannot be made: the chroot %s of the servers is not there", l->name, chroot);
  } else {
    cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: cannot be made (%s)", l->name,
                 volt_strresult(result));
  }
  if (l->is_missing) { /* read it again: another host may have made it */
    l->is_missing = false;
    l->cannot_make = result;
    l->result = result;
  }
  l->lacking = 0;
  l->making = 0;
  l->has_way = false;
  recipe_pause_(l, RECIPE_PAUSE_NS);
}

void node_made_(volt_cluster_lease *l, int result) {
  bool is_made = result == VOLT_OK || result == VOLT_CLUSTER_EEXISTS;
  l->watched &= ~ENGINE_BIT(ASK_DATA);
  if (l->lacking > 0 && !l->is_missing && is_made) {
    l->lacking = l->lacking == 3 ? 0 : l->lacking + 1;
  } else if (l->is_missing && l->making > 0 && is_made) {
    l->making += 1;
  } else if (l->is_missing && result == VOLT_CLUSTER_ENONODE && !l->has_way) {
    l->making = 1;
    l->has_way = true; /* it will have: only then it fails for another reason */
  } else if (l->is_missing && is_made) {
    l->is_missing = false;
  } else if (!l->is_missing && result == VOLT_CLUSTER_EEXISTS) {
    l->turns_alone = true;
  } else {
    node_cannot_be_made(l, result);
  }
}

/* ---- changes of the data ---- */

static bool node_set(volt_cluster_lease *l, const cluster_data *d) {
  uint32_t size = node_new_text(l, d, false);
  if (size == 0) {
    change_done_(l, VOLT_CLUSTER_EDATA);
    return false;
  }
  if (!write_begin_(l, 3)) return true;
  write_set_(l, size);
  if (d->queue != l->data.queue && !l->turns_alone) {
    char path[VOLT_CLUSTER_PATH];
    write_directory_(l, path, CLUSTER_QUEUE, d->queue);
    write_make_(l, path, NULL, 0);
    write_directory_(l, path, CLUSTER_HOLDERS, d->queue);
    write_make_(l, path, NULL, 0);
  }
  return write_submit_(l);
}

void node_set_(volt_cluster_lease *l, int result) {
  l->watched &= ~ENGINE_BIT(ASK_DATA);
  if (result == VOLT_CLUSTER_EVERSION) return; /* again, on what it is now */
  if (result == VOLT_OK) {
    l->turns_alone = false;
    node_is_new(l, &l->new_data);
    lease_publish_(l); /* a caller that hears that the limit was changed finds it so */
  }
  change_done_(l, result == VOLT_CLUSTER_EEXPIRED ? (int)VOLT_CLUSTER_EAWAY : result);
  if (result == VOLT_OK || result == VOLT_CLUSTER_EAWAY || result == VOLT_CLUSTER_EEXPIRED) return;
  if (recipe_complains_(l, result)) {
    cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: cannot be changed (%s)", l->name,
                 volt_strresult(result));
  }
  recipe_pause_(l, RECIPE_PAUSE_NS);
}

/* What a person or a config asks for. */
static bool node_change(volt_cluster_lease *l) {
  cluster_data d = l->data;
  uint32_t limit = 0;
  if (l->config.era > d.era) d.era = l->config.era;
  bool is_asked = change_begin_(l, &limit);
  if (is_asked) d.limit = limit;
  if (d.era != l->data.era || d.limit != l->data.limit) return node_set(l, &d);
  if (is_asked) change_done_(l, VOLT_OK);
  return false;
}

bool node_check_(volt_cluster_lease *l) {
  if (l->is_missing) {
    return l->config.limit > 0 && !l->is_closed ? node_make(l) : node_await(l);
  }
  if (!(l->watched & ENGINE_BIT(ASK_DATA))) return node_read(l);
  if (l->result == VOLT_CLUSTER_EDATA) {
    change_refuse_(l, VOLT_CLUSTER_EDATA);
    return !l->is_good; /* what it has, it may still give back */
  }
  if (l->lacking > 0) return node_make_directory(l);
  return node_change(l);
}

/* ---- generations ---- */

bool node_has_old_(const volt_cluster_lease *l, enum cluster_list place) {
  return l->data.queue > 0 && !l->old_is_gone[place];
}

static bool node_is_grown(const volt_cluster_lease *l, bool is_in, const cluster_entry *e) {
  uint32_t turn = l->data.turn ? l->data.turn : ENGINE_TURN;
  return is_in && e->generation == l->data.queue && (uint32_t)e->sequence >= turn;
}

bool node_turn_(volt_cluster_lease *l) {
  if (!node_is_grown(l, l->in_queue, &l->queue_entry) &&
      !node_is_grown(l, l->in_holders, &l->holders_entry)) {
    return false;
  }
  if (l->result != VOLT_OK) return false;
  if (node_has_old_(l, CLUSTER_QUEUE) || node_has_old_(l, CLUSTER_HOLDERS)) return false;
  cluster_data d = l->data;
  d.queue += 1;
  return node_set(l, &d);
}

bool node_delete_old_(volt_cluster_lease *l, enum cluster_list place) {
  const engine_list *list = place == CLUSTER_QUEUE ? &l->queue : &l->holders;
  if (!node_has_old_(l, place) || list->old > 0) return false;
  if (cluster_now_(l->c) < l->old_until_ns || !write_begin_(l, 1)) return false;
  char path[VOLT_CLUSTER_PATH];
  write_directory_(l, path, place, l->data.queue - 1);
  write_delete_(l, place == CLUSTER_QUEUE ? EFFECT_DELETE_OLD_QUEUE : EFFECT_DELETE_OLD_HOLDERS,
                path);
  return write_submit_(l);
}
