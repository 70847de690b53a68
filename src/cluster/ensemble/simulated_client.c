/* simulated_client.c: the client of the simulated ensemble: a back end, in the host.
 *
 * It does as the back end for ZooKeeper: it connects to one server after the other, pings it if nothing
 * else was asked for a third of the session's time, takes a server that has not answered for a quarter
 * of it for lost, gives a session up that it could not reach for twice its time, and sets its watches
 * again when it has connected again. What arrives waits in the inbox until process() takes it. */
#include "simulated_client.h"

#include <stdlib.h>
#include <string.h>
#include <volt/async.h>
#include <volt/notify.h>

#include "ensemble.h"
#include "ensemble_link.h"
#include "ensemble_write.h"

#define CLOSE_NS UINT64_C(1000000000)
#define SESSION_NS UINT64_C(10000000000)
enum { SEEK_MIN_NS = 1000000, SEEK_MORE_NS = 20000000 };

enum simulated_state {
  SIMULATED_IDLE,  /* connect() comes */
  SIMULATED_SEEKS, /* a server, at seek_ns */
  SIMULATED_OPENS, /* a session, or its own again */
  SIMULATED_CONNECTED,
  SIMULATED_CLOSES,
  SIMULATED_CLOSED,
  SIMULATED_DEAD
};

typedef struct simulated_watch {
  struct simulated_watch *next;
  uint32_t number;
  bool is_children, was_there;
  char path[VOLT_CLUSTER_PATH];
} simulated_watch;

typedef struct simulated_list {
  volt_cluster_request *first, **end;
} simulated_list;

struct volt_cluster_backend {
  volt_ensemble *e;
  ensemble_host *h;
  volt_cluster_client client;
  enum simulated_state state;
  uint64_t session;              /* 0: none */
  uint64_t asked_ns, session_ns; /* as wanted; as agreed */
  uint64_t seen;                 /* the newest transaction */
  uint32_t server;               /* tried last */
  ensemble_link *link;
  simulated_list sent, failed;
  ensemble_message *inbox, **inbox_end;
  simulated_watch *watches;
  /* by the clock of the host, as until_ns */
  uint64_t asked_last_ns;
  uint64_t heard_ns; /* the server; or when the oldest request was sent, if that is later */
  uint64_t seek_ns;
  uint64_t since_ns; /* the last connect was sent */
  uint64_t away_ns;  /* since when it has not been connected */
  uint64_t until_ns;
  ensemble_event timer, end_of_close;
  volt_notify ready, closed;
  volt_future wait, wait_closed;
  volt_async async; /* close_future() */
  int close_result;
  bool is_away_due; /* on_session() has to say so */
  volt_cluster_request ping;
};

/* ---- lists ---- */

static void simulated_list_add(simulated_list *list, volt_cluster_request *r) {
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
static void simulated_fail(simulated_list *list, int result) {
  simulated_list now = {.first = list->first, .end = list->end};
  if (!now.first) return;
  list->first = NULL;
  list->end = &list->first;
  volt_cluster_request *r;
  while ((r = simulated_list_take(&now)) != NULL) simulated_finish(r, result);
}

static void simulated_send(volt_cluster_backend *b, volt_cluster_request *r) {
  static const char *const kinds[] = {"write", "children", "stat", "read", "touch"};
  ENSEMBLE_TRACE(b->e, "host %u asks: %s %s (%u)", b->h->number, kinds[r->kind],
                 r->kind == VOLT_CLUSTER_WRITE ? r->actions[0].path : r->path, r->count);
  b->asked_last_ns = ensemble_boot_ns_(b->h);
  if (!b->sent.first) b->heard_ns = b->asked_last_ns;
  ensemble_message *m = ensemble_message_new_(MESSAGE_ITEM);
  m->item = ensemble_item_of_(r);
  simulated_list_add(&b->sent, r);
  ensemble_send_up_(b->e, b->link, m);
}

/* ---- a server ---- */

/* The server finds out, unless the host is cut off. */
static void simulated_drop_link(volt_cluster_backend *b) {
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
  simulated_drop_link(b);
  simulated_seek_later(b);
  if (!was_connected) return;
  b->away_ns = ensemble_boot_ns_(b->h);
  simulated_fail(&b->sent, VOLT_CLUSTER_EAWAY);
  b->client.on_session(b->client.ctx, VOLT_CLUSTER_SESSION_AWAY, b->session, b->session_ns, 0);
}

static void simulated_forget_watches(volt_cluster_backend *b) {
  while (b->watches) {
    simulated_watch *w = b->watches;
    b->watches = w->next;
    free(w);
  }
}

static void simulated_expire(volt_cluster_backend *b) {
  uint64_t session = b->session;
  simulated_drop_link(b);
  simulated_forget_watches(b);
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

static uint64_t simulated_next_ns(const volt_cluster_backend *b) {
  uint64_t next_ns = simulated_given_up_ns(b);
  if (simulated_awaits(b) && b->heard_ns + simulated_patience_ns(b) < next_ns) {
    next_ns = b->heard_ns + simulated_patience_ns(b);
  }
  if (b->state == SIMULATED_SEEKS && b->seek_ns < next_ns) next_ns = b->seek_ns;
  if (simulated_is_idle(b)) next_ns = b->asked_last_ns + b->session_ns / 3;
  return next_ns;
}

static void simulated_check(volt_cluster_backend *b) {
  uint64_t now_ns = ensemble_boot_ns_(b->h);
  if (simulated_awaits(b) && now_ns >= b->heard_ns + simulated_patience_ns(b)) simulated_lose(b);
  if (simulated_is_idle(b) && now_ns >= b->asked_last_ns + b->session_ns / 3) {
    simulated_send(b, &b->ping);
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
static void simulated_take(volt_cluster_backend *b, ensemble_message *m) {
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

/* ---- from the world ---- */

void simulated_arrived_(volt_cluster_backend *b, ensemble_message *m) {
  if (b->state == SIMULATED_CLOSES && m->link == b->link) {
    bool is_confirmed = m->item && m->item->kind == ITEM_CLOSE;
    if (is_confirmed) b->close_result = VOLT_OK;
    if (is_confirmed || m->kind == MESSAGE_CLOSED) {
      ensemble_at_(b->e, &b->end_of_close, b->e->now_ns);
    }
  }
  if (b->state >= SIMULATED_CLOSES) {
    ensemble_message_free_(m);
    return;
  }
  m->next = NULL;
  *b->inbox_end = m;
  b->inbox_end = &m->next;
  volt_notify_one(&b->ready);
}

static volt_cluster_backend *simulated_of_timer(ensemble_event *event) {
  return volt_container_of(event, volt_cluster_backend, timer);
}

static void simulated_timer(volt_ensemble *e, ensemble_event *event) {
  (void)e;
  volt_notify_one(&simulated_of_timer(event)->ready);
}

static void simulated_set_timer(volt_cluster_backend *b) {
  uint64_t at_ns =
      b->until_ns == VOLT_NO_DEADLINE ? ENSEMBLE_NEVER : ensemble_boot_at_ns_(b->h, b->until_ns);
  ensemble_at_(b->e, &b->timer, at_ns);
}

void simulated_clock_changed_(volt_cluster_backend *b) {
  simulated_set_timer(b);
}

void simulated_disconnect_(volt_cluster_backend *b) {
  if (b->link) ensemble_link_break_(b->e, b->link);
}

void simulated_kill_(volt_cluster_backend *b) {
  bool was_connected = b->state == SIMULATED_CONNECTED;
  b->state = SIMULATED_DEAD;
  simulated_drop_link(b);
  while (b->sent.first) {
    volt_cluster_request *r = b->sent.first;
    b->sent.first = r->next;
    simulated_list_add(&b->failed, r);
  }
  b->sent.end = &b->sent.first;
  b->is_away_due = was_connected;
  volt_notify_one(&b->ready);
  volt_notify_one(&b->closed);
}

uint32_t simulated_server_(const volt_cluster_backend *b) {
  return b->state == SIMULATED_CONNECTED ? b->server : VOLT_ENSEMBLE_NONE;
}

ensemble_host *simulated_host_(const volt_cluster_backend *b) {
  return b->h;
}

/* ---- life ---- */

static void simulated_end_of_close(volt_ensemble *e, ensemble_event *event) {
  (void)e;
  volt_cluster_backend *b = volt_container_of(event, volt_cluster_backend, end_of_close);
  b->state = SIMULATED_CLOSED;
  simulated_drop_link(b);
  volt_notify_one(&b->closed);
}

static void simulated_ping_done(volt_cluster_request *r) {
  (void)r;
}

static int simulated_open_backend(volt_cluster_backend **b, const volt_cluster_config *config,
                                  const volt_cluster_client *client) {
  volt_ensemble *e = (volt_ensemble *)config->of_kind;
  *b = NULL;
  ensemble_host *h = e ? ensemble_host_of_(e, config->rt) : NULL;
  if (!h || h->client) return VOLT_EINVAL;
  volt_cluster_backend *made = (volt_cluster_backend *)calloc(1, sizeof *made);
  if (!made) return VOLT_ENOMEM;
  made->e = e;
  made->h = h;
  made->client = *client;
  made->asked_ns = made->session_ns = config->session_ns ? config->session_ns : SESSION_NS;
  made->server = (uint32_t)ensemble_random_(e, e->config.servers);
  made->sent.end = &made->sent.first;
  made->failed.end = &made->failed.first;
  made->inbox_end = &made->inbox;
  made->timer.happen = simulated_timer;
  made->end_of_close.happen = simulated_end_of_close;
  made->until_ns = VOLT_NO_DEADLINE;
  made->close_result = VOLT_CLUSTER_EAWAY;
  made->ping.kind = VOLT_CLUSTER_TOUCH;
  made->ping.done = simulated_ping_done;
  if (h->is_killed) made->state = SIMULATED_DEAD;
  h->client = made;
  *b = made;
  return VOLT_OK;
}

static void simulated_forget_inbox(volt_cluster_backend *b) {
  while (b->inbox) {
    ensemble_message *m = b->inbox;
    b->inbox = m->next;
    ensemble_message_free_(m);
  }
  b->inbox_end = &b->inbox;
}

static void simulated_destroy(volt_cluster_backend *b) {
  simulated_drop_link(b);
  simulated_forget_inbox(b);
  simulated_forget_watches(b);
  ensemble_never_(b->e, &b->timer);
  ensemble_never_(b->e, &b->end_of_close);
  volt_notify_destroy(&b->ready);
  volt_notify_destroy(&b->closed);
  b->h->client = NULL;
  free(b);
}

static int simulated_close_poll(volt_async *a, volt_ctx *ctx) {
  volt_cluster_backend *self = volt_container_of(a, volt_cluster_backend, async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_notify_wait_future(&self->wait_closed, &self->closed));
  VOLT_RETURN(self, self->close_result);
  VOLT_ASYNC_END(self);
}

static volt_future *simulated_close_future(volt_cluster_backend *b) {
  volt_future *f = volt_async_future(&b->async, simulated_close_poll);
  if (b->state == SIMULATED_CLOSES || b->state == SIMULATED_CLOSED) return f;
  bool is_connected = b->state == SIMULATED_CONNECTED;
  b->state = is_connected ? SIMULATED_CLOSES : SIMULATED_CLOSED;
  simulated_forget_inbox(b);
  simulated_fail(&b->sent, VOLT_CLUSTER_EAWAY);
  simulated_fail(&b->failed, VOLT_CLUSTER_EAWAY);
  if (b->session == 0) b->close_result = VOLT_OK;
  if (!is_connected) {
    simulated_drop_link(b);
    volt_notify_one(&b->closed);
    return f;
  }
  ensemble_message *m = ensemble_message_new_(MESSAGE_ITEM);
  m->item = ensemble_item_new_(ITEM_CLOSE);
  ensemble_send_up_(b->e, b->link, m);
  ensemble_at_(b->e, &b->end_of_close, b->e->now_ns + CLOSE_NS);
  return f;
}

/* ---- requests ---- */

static void simulated_connect(volt_cluster_backend *b) {
  if (b->state != SIMULATED_IDLE) return;
  b->state = SIMULATED_SEEKS;
  b->seek_ns = ensemble_boot_ns_(b->h);
  volt_notify_one(&b->ready);
}

static void simulated_submit(volt_cluster_backend *b, volt_cluster_request *r) {
  r->sent_ns = ensemble_boot_ns_(b->h);
  if (b->state != SIMULATED_CONNECTED) {
    simulated_list_add(&b->failed, r);
    volt_notify_one(&b->ready);
    return;
  }
  simulated_send(b, r);
}

static volt_future *simulated_wait_future(volt_cluster_backend *b, uint64_t until_ns) {
  uint64_t next_ns = simulated_next_ns(b);
  b->until_ns = until_ns < next_ns ? until_ns : next_ns;
  simulated_set_timer(b);
  if (b->inbox || b->failed.first || b->is_away_due) volt_notify_one(&b->ready);
  return volt_notify_wait_future(&b->wait, &b->ready);
}

static void simulated_process(volt_cluster_backend *b) {
  ensemble_message *m = b->inbox;
  b->inbox = NULL;
  b->inbox_end = &b->inbox;
  while (m) {
    ensemble_message *next = m->next;
    simulated_take(b, m);
    m = next;
  }
  if (b->state < SIMULATED_CLOSES) simulated_check(b);
  simulated_fail(&b->failed,
                 b->state == SIMULATED_IDLE ? VOLT_CLUSTER_EEXPIRED : VOLT_CLUSTER_EAWAY);
  if (b->is_away_due) {
    b->is_away_due = false;
    b->client.on_session(b->client.ctx, VOLT_CLUSTER_SESSION_AWAY, b->session, b->session_ns, 0);
  }
}

static uint64_t simulated_now_ns(const volt_cluster_backend *b) {
  return ensemble_boot_ns_(b->h);
}

const volt_cluster_kind *volt_cluster_simulated(void) {
  static const volt_cluster_kind kind = {
      .name = "simulated",
      .open = simulated_open_backend,
      .connect = simulated_connect,
      .submit = simulated_submit,
      .wait_future = simulated_wait_future,
      .process = simulated_process,
      .now_ns = simulated_now_ns,
      .close_future = simulated_close_future,
      .destroy = simulated_destroy,
  };
  return &kind;
}
