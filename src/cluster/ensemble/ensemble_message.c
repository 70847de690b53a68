/* ensemble_message.c: messages: each is an event that happens as it arrives.
 *
 * A connection keeps the order of each direction. What is lost of it, is lost from some point on; that
 * the connection has ended (BYE, CLOSED) arrives nevertheless, unless the host is cut off. Messages
 * between servers keep their order, too; they are lost if one of the two is cut off, or belongs to
 * another leader by then. */
#include <stdlib.h>

#include "ensemble_host.h"
#include "ensemble_leader.h"
#include "ensemble_log.h"
#include "ensemble_message.h"
#include "ensemble_session.h"
#include "simulated_client.h"

ensemble_message *ensemble_message_new_(enum ensemble_message_kind kind) {
  ensemble_message *m = (ensemble_message *)ensemble_alloc_(1, sizeof *m);
  m->kind = kind;
  return m;
}

void ensemble_message_free_(ensemble_message *m) {
  if (m->link) ensemble_link_drop_(m->link);
  ensemble_item_drop_(m->item);
  for (uint32_t i = 0; m->names && i < m->count; i++) free(m->names[i]);
  free(m->names);
  free(m->touched);
  free(m->path);
  free(m->data);
  free(m);
}

static void ensemble_send(volt_ensemble *e, ensemble_message *m, uint64_t delay_ns,
                          uint64_t *latest_ns,
                          void (*happen)(volt_ensemble *e, ensemble_event *event)) {
  uint64_t at_ns = e->now_ns + delay_ns;
  if (at_ns < *latest_ns) at_ns = *latest_ns;
  *latest_ns = at_ns;
  m->event.happen = happen;
  ensemble_at_(e, &m->event, at_ns);
}

/* ---- at a server ---- */

/* Returns whether it waits there, because the server is stopped. */
static bool ensemble_is_stopped(volt_ensemble *e, ensemble_message *m) {
  ensemble_server *s = &e->server[m->server];
  if (!s->is_stopped) return false;
  m->next = NULL;
  *s->backlog_end = m;
  s->backlog_end = &m->next;
  return true;
}

static bool ensemble_is_host_cut(const ensemble_link *link) {
  return link->client && simulated_host_(link->client)->is_cut;
}

static void ensemble_up_arrived(volt_ensemble *e, ensemble_event *event) {
  ensemble_message *m = (ensemble_message *)(void *)event;
  bool is_lost = (m->link->is_lost_up && m->kind != MESSAGE_BYE) || !m->link->is_open;
  if (ensemble_is_host_cut(m->link)) is_lost = m->link->is_lost_up = m->link->is_lost_down = true;
  if (!is_lost && ensemble_is_stopped(e, m)) return;
  if (!is_lost && m->is_broken_after) ensemble_link_break_(e, m->link);
  if (is_lost) {
    ensemble_message_free_(m);
  } else {
    ensemble_link_arrived_(e, m);
  }
}

static void ensemble_across_arrived(volt_ensemble *e, ensemble_event *event) {
  ensemble_message *m = (ensemble_message *)(void *)event;
  const ensemble_server *to = &e->server[m->server], *from = &e->server[m->from];
  bool is_lost = m->term != to->term || m->from_term != from->term;
  if (m->server != m->from && (to->is_cut || from->is_cut)) is_lost = true;
  if (!is_lost && ensemble_is_stopped(e, m)) return;
  if (is_lost) {
    ensemble_message_free_(m);
  } else if (m->kind >= MESSAGE_LOGGED) {
    ensemble_log_arrived_(e, m);
    ensemble_message_free_(m);
  } else if (m->kind == MESSAGE_TOUCHES) {
    ensemble_touches_arrived_(e, m);
    ensemble_message_free_(m);
  } else {
    ensemble_forward_arrived_(e, m);
  }
}

void ensemble_send_across_(volt_ensemble *e, uint32_t from, uint32_t to, ensemble_message *m,
                           uint64_t delay_ns) {
  ensemble_server *s = &e->server[to];
  m->server = to;
  m->from = from;
  m->term = s->term;
  m->from_term = e->server[from].term;
  uint64_t *latest_ns = m->kind == MESSAGE_LOGGED ? &s->log_free_ns : &s->across_ns[from];
  ensemble_send(e, m, delay_ns, latest_ns, ensemble_across_arrived);
}

/* ---- up and down ---- */

/* From the host to its server, or back. */
static uint64_t ensemble_link_ns(volt_ensemble *e, const ensemble_host *h, uint64_t slow_ns) {
  uint64_t ns = ensemble_hop_ns_(e) + slow_ns;
  return ns + (h->more_ns > 0 ? ensemble_random_(e, h->more_ns + 1) : 0);
}

void ensemble_send_up_(volt_ensemble *e, ensemble_link *link, ensemble_message *m) {
  m->link = link;
  link->refs += 1;
  m->server = link->server;
  ensemble_host *h = simulated_host_(link->client);
  if (m->item && m->item->kind == ITEM_WRITE && h->loses_request) {
    h->loses_request = false;
    ensemble_link_break_(e, link);
  }
  if (m->item && m->item->kind == ITEM_WRITE && h->loses_answer) {
    h->loses_answer = false;
    link->is_lost_down = m->is_broken_after = true;
  }
  ensemble_send(e, m, ensemble_link_ns(e, h, h->up_ns), &link->up_ns, ensemble_up_arrived);
}

static void ensemble_down_arrived(volt_ensemble *e, ensemble_event *event) {
  (void)e;
  ensemble_message *m = (ensemble_message *)(void *)event;
  ensemble_link *link = m->link;
  bool is_lost = (link->is_lost_down && m->kind != MESSAGE_CLOSED) || !link->client;
  if (ensemble_is_host_cut(link)) is_lost = link->is_lost_up = link->is_lost_down = true;
  if (is_lost) {
    ensemble_message_free_(m);
  } else {
    simulated_arrived_(link->client, m);
  }
}

void ensemble_send_down_(volt_ensemble *e, ensemble_link *link, ensemble_message *m) {
  if (!link->client) {
    ensemble_message_free_(m);
    return;
  }
  m->link = link;
  link->refs += 1;
  m->transaction = e->server[link->server].applied_transaction;
  const ensemble_host *h = simulated_host_(link->client);
  ensemble_send(e, m, ensemble_link_ns(e, h, h->down_ns), &link->down_ns, ensemble_down_arrived);
}

void ensemble_link_break_(volt_ensemble *e, ensemble_link *link) {
  link->is_lost_up = link->is_lost_down = true;
  ensemble_send_down_(e, link, ensemble_message_new_(MESSAGE_CLOSED));
}
