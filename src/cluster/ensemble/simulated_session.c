/* simulated_session.c: the client's connection: a server is found, lost, found again. */
#include <stdlib.h>
#include <string.h>

#include "simulated_client.h"

enum { SEEK_MIN_NS = 1000000, SEEK_MORE_NS = 20000000 };

/* ---- lists ---- */

void simulated_list_add_(simulated_list *list, volt_cluster_request *r) {
  r->next = NULL;
  *list->end = r;
  list->end = &r->next;
}

static volt_cluster_request *simulated_list_take(simulated_list *list) {
  volt_cluster_request *r = list->first;
  if (!r) return NULL;
  list->first = r->next;
  if (!list->first) list->end = &list->first;
  r->next = NULL;
  return r;
}

static void simulated_finish(volt_cluster_request *r, int result) {
  r->result = result;
  for (uint32_t i = 0; i < r->count; i++) {
    if (r->kind == VOLT_CLUSTER_WRITE) r->actions[i].result = result;
  }
  r->done(r);
}

/* Those that are there now: what done() submits is not among them. */
void simulated_fail_(simulated_list *list, int result) {
  simulated_list now = {.first = list->first, .end = list->end};
  if (!now.first) return;
  list->first = NULL;
  list->end = &list->first;
  volt_cluster_request *r;
  while ((r = simulated_list_take(&now)) != NULL) simulated_finish(r, result);
}

/* ---- a server ---- */

/* The server finds out, unless the host is cut off. */
void simulated_drop_link_(volt_cluster_backend *b) {
  ensemble_link *link = b->link;
  if (!link) return;
  b->link = NULL;
  bool is_silent = b->h->is_cut || b->h->is_killed;
  if (!is_silent) ensemble_send_up_(b->e, link, ensemble_message_new_(MESSAGE_BYE));
  link->client = NULL;
  ensemble_link_drop_(link);
}

static void simulated_seek_later(volt_cluster_backend *b) {
  b->state = SIMULATED_SEEKS;
  b->seek_ns = ensemble_boot_ns_(b->h) + SEEK_MIN_NS + ensemble_random_(b->e, SEEK_MORE_NS);
}

static void simulated_seek(volt_cluster_backend *b) {
  uint32_t servers = b->e->config.servers;
  b->server = (b->server + 1 + (uint32_t)ensemble_random_(b->e, servers - 1)) % servers;
  b->link = ensemble_link_new_(b->e, b, b->server);
  b->state = SIMULATED_OPENS;
  b->heard_ns = b->since_ns = ensemble_boot_ns_(b->h);
  ensemble_message *m = ensemble_message_new_(MESSAGE_CONNECT);
  m->number = b->session;
  m->session_ns = b->asked_ns;
  m->transaction = b->seen;
  ensemble_send_up_(b->e, b->link, m);
}

static void simulated_lose(volt_cluster_backend *b) {
  bool was_connected = b->state == SIMULATED_CONNECTED;
  simulated_drop_link_(b);
  simulated_seek_later(b);
  if (!was_connected) return;
  b->away_ns = ensemble_boot_ns_(b->h);
  simulated_fail_(&b->sent, VOLT_CLUSTER_EAWAY);
  b->client.on_session(b->client.ctx, VOLT_CLUSTER_SESSION_AWAY, b->session, b->session_ns, 0);
}

void simulated_forget_watches_(volt_cluster_backend *b) {
  while (b->watches) {
    simulated_watch *w = b->watches;
    b->watches = w->next;
    free(w);
  }
}

static void simulated_expire(volt_cluster_backend *b) {
  uint64_t session = b->session;
  simulated_drop_link_(b);
  simulated_forget_watches_(b);
  b->state = SIMULATED_IDLE;
  b->session = 0;
  b->seen = 0;
  b->client.on_session(b->client.ctx, VOLT_CLUSTER_SESSION_EXPIRED, session, b->session_ns, 0);
}

/* ---- time ---- */

static uint64_t simulated_patience_ns(const volt_cluster_backend *b) {
  return b->state == SIMULATED_OPENS ? b->session_ns / 8 : b->session_ns / 4;
}

static bool simulated_awaits(const volt_cluster_backend *b) {
  return b->state == SIMULATED_OPENS || (b->state == SIMULATED_CONNECTED && b->sent.first);
}

static uint64_t simulated_given_up_ns(const volt_cluster_backend *b) {
  bool is_away = b->session != 0 && (b->state == SIMULATED_SEEKS || b->state == SIMULATED_OPENS);
  return is_away ? b->away_ns + 2 * b->session_ns : ENSEMBLE_NEVER;
}

static bool simulated_is_idle(const volt_cluster_backend *b) {
  return b->state == SIMULATED_CONNECTED && !b->sent.first;
}

uint64_t simulated_next_ns_(const volt_cluster_backend *b) {
  uint64_t next_ns = simulated_given_up_ns(b);
  if (simulated_awaits(b) && b->heard_ns + simulated_patience_ns(b) < next_ns) {
    next_ns = b->heard_ns + simulated_patience_ns(b);
  }
  if (b->state == SIMULATED_SEEKS && b->seek_ns < next_ns) next_ns = b->seek_ns;
  if (simulated_is_idle(b)) next_ns = b->asked_last_ns + b->session_ns / 3;
  return next_ns;
}

void simulated_check_(volt_cluster_backend *b) {
  uint64_t now_ns = ensemble_boot_ns_(b->h);
  if (simulated_awaits(b) && now_ns >= b->heard_ns + simulated_patience_ns(b)) simulated_lose(b);
  if (simulated_is_idle(b) && now_ns >= b->asked_last_ns + b->session_ns / 3) {
    simulated_send_(b, &b->ping);
  }
  if (now_ns >= simulated_given_up_ns(b)) {
    simulated_expire(b); /* it has ended, or is unknown to these servers */
  } else if (b->state == SIMULATED_SEEKS && now_ns >= b->seek_ns) {
    simulated_seek(b);
  }
}

/* ---- what arrives ---- */

/* As ZooKeeper's SetWatches. */
static void simulated_refresh_watches(volt_cluster_backend *b) {
  ensemble_item *item = ensemble_item_new_(ITEM_REFRESH);
  for (simulated_watch *w = b->watches; w; w = w->next) item->count += 1;
  item->actions = (ensemble_action *)ensemble_alloc_(item->count, sizeof *item->actions);
  item->transaction = b->seen;
  uint32_t i = 0;
  for (simulated_watch *w = b->watches; w; w = w->next, i++) {
    item->actions[i].path = ensemble_copy_(w->path, strlen(w->path));
    item->actions[i].is_children = w->is_children;
    item->actions[i].was_there = w->was_there;
  }
  ensemble_message *m = ensemble_message_new_(MESSAGE_ITEM);
  m->item = item;
  ensemble_send_up_(b->e, b->link, m);
}

static void simulated_connected(volt_cluster_backend *b, const ensemble_message *m) {
  bool is_again = b->session != 0;
  b->state = SIMULATED_CONNECTED;
  b->session = m->number;
  b->session_ns = m->session_ns;
  b->asked_last_ns = b->heard_ns;
  if (b->watches) simulated_refresh_watches(b);
  b->client.on_session(b->client.ctx,
                       is_again ? VOLT_CLUSTER_SESSION_AGAIN : VOLT_CLUSTER_SESSION_NEW, b->session,
                       b->session_ns, b->since_ns);
}

static void simulated_keep_watch(volt_cluster_backend *b, const volt_cluster_request *r) {
  bool is_children = r->kind == VOLT_CLUSTER_CHILDREN;
  for (simulated_watch *w = b->watches; w; w = w->next) {
    bool is_same = w->number == r->watch && w->is_children == is_children;
    if (!is_same || strcmp(w->path, r->path) != 0) continue;
    w->was_there = r->result == VOLT_OK;
    return;
  }
  simulated_watch *w = (simulated_watch *)ensemble_alloc_(1, sizeof *w);
  w->number = r->watch;
  w->is_children = is_children;
  w->was_there = r->result == VOLT_OK;
  memcpy(w->path, r->path, sizeof w->path);
  w->next = b->watches;
  b->watches = w;
}

static void simulated_event(volt_cluster_backend *b, const ensemble_message *m) {
  simulated_watch **at = &b->watches;
  while (*at) {
    simulated_watch *w = *at;
    if (w->is_children != m->is_children || strcmp(w->path, m->path) != 0) {
      at = &w->next;
      continue;
    }
    uint32_t number = w->number;
    *at = w->next;
    free(w);
    b->client.on_event(b->client.ctx, number);
  }
}

static void simulated_write_done(volt_cluster_request *r, const ensemble_item *item) {
  for (uint32_t i = 0; i < r->count; i++) {
    const ensemble_action *a = &item->actions[i];
    r->actions[i].result = item->result == VOLT_CLUSTER_EEXPIRED ? item->result : a->result;
    r->actions[i].node = a->node;
    if (strlen(a->path) < VOLT_CLUSTER_PATH) {
      memcpy(r->actions[i].path, a->path, strlen(a->path) + 1);
    }
  }
}

static void simulated_answer(volt_cluster_backend *b, ensemble_message *m) {
  volt_cluster_request *r = simulated_list_take(&b->sent);
  ENSEMBLE_TRACE(b->e, "host %u is answered: %d", b->h->number, m->result);
  r->result = m->result;
  if (m->item) simulated_write_done(r, m->item);
  r->node = m->node;
  r->names = (const char *const *)m->names;
  r->name_count = m->count;
  r->data = m->data;
  r->size = m->size;
  bool is_read = r->kind != VOLT_CLUSTER_WRITE && r->kind != VOLT_CLUSTER_TOUCH;
  bool is_found = r->result == VOLT_OK || r->kind == VOLT_CLUSTER_STAT;
  if (r->watch && is_read && is_found) simulated_keep_watch(b, r);
  r->done(r);
}

/* Those of a connection that is not the client's any more are stale. */
void simulated_take_(volt_cluster_backend *b, ensemble_message *m) {
  if (m->link == b->link && b->link) {
    b->heard_ns = ensemble_boot_ns_(b->h);
    bool is_opening = b->state == SIMULATED_OPENS;
    if (m->kind == MESSAGE_ANSWER && m->transaction > b->seen) b->seen = m->transaction;
    if (m->kind == MESSAGE_CONNECTED && is_opening) simulated_connected(b, m);
    if (m->kind == MESSAGE_EXPIRED && is_opening) simulated_expire(b);
    if (m->kind == MESSAGE_ANSWER) simulated_answer(b, m);
    if (m->kind == MESSAGE_EVENT) simulated_event(b, m);
    if (m->kind == MESSAGE_CLOSED) simulated_lose(b);
  }
  ensemble_message_free_(m);
}
