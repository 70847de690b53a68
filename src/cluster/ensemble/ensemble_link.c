/* ensemble_link.c: connections: what a server does with the messages of a client.
 *
 * What a client asks is answered in the order in which it was asked. A write is passed on to the leader
 * at once, and answered as this server applies it; a read is answered when all before it are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ensemble.h"
#include "ensemble_leader.h"
#include "ensemble_link.h"
#include "ensemble_log.h"
#include "ensemble_message.h"
#include "ensemble_session.h"
#include "ensemble_tree.h"

ensemble_link *ensemble_link_new_(volt_ensemble *e, volt_cluster_backend *client, uint32_t server) {
  ensemble_server *s = &e->server[server];
  ensemble_link *link = (ensemble_link *)ensemble_alloc_(1, sizeof *link);
  link->refs = 2; /* the client's, the server's */
  link->number = ++e->links_made;
  link->client = client;
  link->server = server;
  link->end = &link->first;
  link->is_open = true;
  link->next = s->links;
  link->here = &s->links;
  if (link->next) link->next->here = &link->next;
  s->links = link;
  return link;
}

void ensemble_link_drop_(ensemble_link *link) {
  if (--link->refs > 0) return;
  free(link);
}

static void ensemble_items_drop(ensemble_link *link) {
  ensemble_item *item = link->first;
  link->first = NULL;
  link->end = &link->first;
  while (item) {
    ensemble_item *next = item->next;
    ensemble_item_drop_(item);
    item = next;
  }
}

/* The server forgets it. What was passed on to the leader goes on. */
static void ensemble_link_close(ensemble_link *link) {
  if (!link->is_open) return;
  link->is_open = false;
  *link->here = link->next;
  if (link->next) link->next->here = link->here;
  ensemble_watches_free_(link);
  ensemble_items_drop(link);
  ensemble_link_drop_(link);
}

static void ensemble_link_refuse(volt_ensemble *e, ensemble_link *link) {
  ensemble_send_down_(e, link, ensemble_message_new_(MESSAGE_CLOSED));
  ensemble_link_close(link);
}

void ensemble_links_close_(volt_ensemble *e, uint32_t server, uint64_t session) {
  ensemble_link *link = e->server[server].links;
  while (link) {
    ensemble_link *next = link->next;
    if (session == 0 || link->session == session) ensemble_link_refuse(e, link);
    link = next;
  }
}

/* ---- answers ---- */

static void ensemble_answer_node(ensemble_message *m, const ensemble_node *n) {
  if (!n) {
    m->result = VOLT_CLUSTER_ENONODE;
    return;
  }
  m->node = n->stat;
}

static void ensemble_answer_names(ensemble_message *m, const ensemble_node *n) {
  if (!n) {
    m->result = VOLT_CLUSTER_ENONODE;
    return;
  }
  m->names = (char **)ensemble_alloc_(n->children, sizeof *m->names);
  for (const ensemble_node *child = n->child; child; child = child->next) {
    m->names[m->count++] = ensemble_copy_(child->name, strlen(child->name));
  }
}

static void ensemble_answer_read(volt_ensemble *e, ensemble_link *link, ensemble_item *item) {
  ensemble_message *m = ensemble_message_new_(MESSAGE_ANSWER);
  const ensemble_node *n = NULL;
  if (item->read == VOLT_CLUSTER_TOUCH) {
    e->counts.touches += 1;
  } else {
    e->counts.reads += 1;
    n = ensemble_find_(&e->server[link->server].tree, item->path);
  }
  if (item->read == VOLT_CLUSTER_STAT || item->read == VOLT_CLUSTER_READ)
    ensemble_answer_node(m, n);
  if (item->read == VOLT_CLUSTER_CHILDREN) ensemble_answer_names(m, n);
  if (item->read == VOLT_CLUSTER_READ && n) {
    m->data = ensemble_copy_(n->data, n->size);
    m->size = n->size;
  }
  bool is_set = m->result == VOLT_OK || item->read == VOLT_CLUSTER_STAT;
  if (item->is_watched && is_set && item->read != VOLT_CLUSTER_TOUCH) {
    ensemble_watch_(e, link, item->path, item->read == VOLT_CLUSTER_CHILDREN);
  }
  ensemble_send_down_(e, link, m);
}

static void ensemble_answer_open(volt_ensemble *e, ensemble_link *link, uint64_t session) {
  const ensemble_session *s = ensemble_session_find_(e, session);
  ensemble_message *m = ensemble_message_new_(s ? MESSAGE_CONNECTED : MESSAGE_EXPIRED);
  m->number = session;
  m->session_ns = s ? s->session_ns : 0;
  link->session = session;
  ensemble_send_down_(e, link, m);
}

static void ensemble_answer(volt_ensemble *e, ensemble_link *link, ensemble_item *item) {
  if (item->result == VOLT_CLUSTER_EAWAY) { /* the session has moved: an end of the connection */
    ensemble_link_refuse(e, link);
    return;
  }
  if (item->kind == ITEM_READ) ensemble_answer_read(e, link, item);
  if (item->kind == ITEM_REFRESH) ensemble_watches_refresh_(e, link, item);
  if (item->kind == ITEM_OPEN) ensemble_answer_open(e, link, item->session);
  if (item->kind != ITEM_WRITE && item->kind != ITEM_CLOSE) return;
  ensemble_message *m = ensemble_message_new_(MESSAGE_ANSWER);
  m->item = item;
  item->refs += 1;
  m->result = item->result;
  ensemble_send_down_(e, link, m);
}

/* Answer what can be answered. */
static void ensemble_link_pump(volt_ensemble *e, ensemble_link *link) {
  while (link->is_open && link->first) {
    ensemble_item *item = link->first;
    bool is_read = item->kind == ITEM_READ || item->kind == ITEM_REFRESH;
    if (!is_read && !item->is_done) return;
    link->first = item->next;
    if (!link->first) link->end = &link->first;
    item->next = NULL;
    ensemble_answer(e, link, item);
    ensemble_item_drop_(item);
  }
}

void ensemble_link_done_(volt_ensemble *e, uint32_t server, const ensemble_entry *entry) {
  ensemble_item *item = entry->item;
  if (!item->link || item->link->server != server || !item->link->is_open) return;
  ensemble_link *link = item->link;
  link->refs += 1;
  item->is_done = true;
  ensemble_link_pump(e, link);
  ensemble_link_drop_(link);
}

/* ---- to the leader ---- */

static void ensemble_forward(volt_ensemble *e, uint32_t server, ensemble_item *item) {
  if (!ensemble_reaches_(e, server)) return; /* it waits until the connection is closed */
  ensemble_message *m = ensemble_message_new_(MESSAGE_FORWARD);
  m->item = item;
  item->refs += 1;
  ensemble_send_across_(e, server, e->leader, m, server == e->leader ? 0 : ensemble_hop_ns_(e));
}

/* The leader takes so many a second: it is proposed at once, or after those before it. */
static void ensemble_forwarded(volt_ensemble *e, ensemble_message *m) {
  if (e->config.writes_per_s == 0 || m->kind == MESSAGE_PROPOSE) {
    ensemble_propose_(e, m->item);
    ensemble_message_free_(m);
    return;
  }
  uint64_t at_ns = e->write_free_ns > e->now_ns ? e->write_free_ns : e->now_ns;
  e->write_free_ns = at_ns + UINT64_C(1000000000) / e->config.writes_per_s;
  m->kind = MESSAGE_PROPOSE;
  ensemble_at_(e, &m->event, at_ns);
}

static void ensemble_revalidate(volt_ensemble *e, uint32_t server, uint64_t session,
                                ensemble_link *link) {
  bool is_own = ensemble_leads_(e, server);
  if (!is_own && !ensemble_reaches_(e, server)) return;
  ensemble_message *m = ensemble_message_new_(is_own ? MESSAGE_REVALIDATED : MESSAGE_REVALIDATE);
  m->link = link;
  link->refs += 1;
  m->number = session;
  m->is_yes = is_own && ensemble_session_moves_(e, session, link);
  ensemble_send_across_(e, server, e->leader, m, is_own ? 0 : ensemble_hop_ns_(e));
}

static void ensemble_revalidate_at_leader(volt_ensemble *e, ensemble_message *m) {
  m->kind = MESSAGE_REVALIDATED;
  m->is_yes = ensemble_session_moves_(e, m->number, m->link);
  ensemble_send_across_(e, m->server, m->from, m, ensemble_hop_ns_(e));
}

static void ensemble_revalidated(volt_ensemble *e, ensemble_message *m) {
  ensemble_link *link = m->link;
  if (link->is_open) ensemble_answer_open(e, link, m->is_yes ? m->number : 0);
  ensemble_message_free_(m);
}

void ensemble_forward_arrived_(volt_ensemble *e, ensemble_message *m) {
  if (m->kind == MESSAGE_REVALIDATE) {
    ensemble_revalidate_at_leader(e, m);
  } else if (m->kind == MESSAGE_REVALIDATED) {
    ensemble_revalidated(e, m);
  } else {
    ensemble_forwarded(e, m);
  }
}

/* ---- from a client ---- */

static void ensemble_queue_item(volt_ensemble *e, ensemble_link *link, ensemble_item *item) {
  item->link = link;
  link->refs += 1;
  item->next = NULL;
  item->refs += 1;
  *link->end = item;
  link->end = &item->next;
  if (item->kind != ITEM_OPEN) item->session = link->session;
  if (item->kind == ITEM_WRITE) e->counts.writes += 1;
  bool is_read = item->kind == ITEM_READ || item->kind == ITEM_REFRESH;
  if (!is_read) ensemble_forward(e, link->server, item);
}

static void ensemble_connect(volt_ensemble *e, ensemble_link *link, const ensemble_message *m) {
  const ensemble_server *s = &e->server[link->server];
  if (!s->is_serving || m->transaction > s->applied_transaction) {
    ensemble_link_refuse(e, link);
    return;
  }
  if (m->number != 0) {
    ensemble_revalidate(e, link->server, m->number, link);
    return;
  }
  ensemble_item *item = ensemble_item_new_(ITEM_OPEN);
  item->session_ns = m->session_ns;
  ensemble_queue_item(e, link, item);
  ensemble_item_drop_(item);
}

void ensemble_link_arrived_(volt_ensemble *e, ensemble_message *m) {
  ensemble_link *link = m->link;
  const ensemble_server *s = &e->server[link->server];
  if (!s->is_up) {
    ensemble_link_refuse(e, link);
  } else if (m->kind == MESSAGE_BYE) {
    ensemble_link_close(link);
  } else if (m->kind == MESSAGE_CONNECT) {
    ensemble_connect(e, link, m);
  } else {
    ensemble_touch_(e, link->server, link->session);
    ensemble_queue_item(e, link, m->item);
    ensemble_link_pump(e, link);
  }
  ensemble_message_free_(m);
}

/* ---- by hand ---- */

static int ensemble_by_hand(volt_ensemble *e, enum volt_cluster_action_kind kind, const char *path,
                            const char *data, uint32_t size) {
  if (volt_ensemble_leader(e) == VOLT_ENSEMBLE_NONE) return VOLT_CLUSTER_EAWAY;
  volt_cluster_action action = {.kind = kind, .data = data, .size = size, .version = -1};
  size_t length = strlen(path);
  if (length >= sizeof action.path) return VOLT_EINVAL;
  memcpy(action.path, path, length + 1);
  volt_cluster_request request = {.kind = VOLT_CLUSTER_WRITE, .actions = &action, .count = 1};
  ensemble_item *item = ensemble_item_of_(&request);
  ensemble_propose_(e, item);
  ensemble_item_drop_(item);
  return VOLT_OK;
}

int volt_ensemble_create_node(volt_ensemble *e, const char *path, const char *data, uint32_t size) {
  return ensemble_by_hand(e, VOLT_CLUSTER_CREATE, path, data, size);
}

int volt_ensemble_set_data(volt_ensemble *e, const char *path, const char *data, uint32_t size) {
  return ensemble_by_hand(e, VOLT_CLUSTER_SET, path, data, size);
}

int volt_ensemble_delete_node(volt_ensemble *e, const char *path) {
  return ensemble_by_hand(e, VOLT_CLUSTER_DELETE, path, NULL, 0);
}
