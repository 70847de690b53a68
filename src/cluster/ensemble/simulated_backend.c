/* simulated_backend.c: the back end of the simulated ensemble: what the driver calls. */
#include <stdlib.h>
#include <string.h>

#include "simulated_client.h"

#define CLOSE_NS UINT64_C(1000000000)
#define SESSION_NS UINT64_C(10000000000)

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
  simulated_drop_link_(b);
  while (b->sent.first) {
    volt_cluster_request *r = b->sent.first;
    b->sent.first = r->next;
    simulated_list_add_(&b->failed, r);
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
  simulated_drop_link_(b);
  volt_notify_one(&b->closed);
}

static void simulated_ping_done(volt_cluster_request *r) {
  (void)r;
}

static int simulated_open(volt_cluster_backend **b, const volt_cluster_config *config,
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
  simulated_drop_link_(b);
  simulated_forget_inbox(b);
  simulated_forget_watches_(b);
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
  simulated_fail_(&b->sent, VOLT_CLUSTER_EAWAY);
  simulated_fail_(&b->failed, VOLT_CLUSTER_EAWAY);
  if (b->session == 0) b->close_result = VOLT_OK;
  if (!is_connected) {
    simulated_drop_link_(b);
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
    simulated_list_add_(&b->failed, r);
    volt_notify_one(&b->ready);
    return;
  }
  simulated_send_(b, r);
}

void simulated_send_(volt_cluster_backend *b, volt_cluster_request *r) {
  static const char *const kinds[] = {"write", "children", "stat", "read", "touch"};
  ENSEMBLE_TRACE(b->e, "host %u asks: %s %s (%u)", b->h->number, kinds[r->kind],
                 r->kind == VOLT_CLUSTER_WRITE ? r->actions[0].path : r->path, r->count);
  b->asked_last_ns = ensemble_boot_ns_(b->h);
  if (!b->sent.first) b->heard_ns = b->asked_last_ns;
  ensemble_message *m = ensemble_message_new_(MESSAGE_ITEM);
  m->item = ensemble_item_of_(r);
  simulated_list_add_(&b->sent, r);
  ensemble_send_up_(b->e, b->link, m);
}

static volt_future *simulated_wait_future(volt_cluster_backend *b, uint64_t until_ns) {
  uint64_t next_ns = simulated_next_ns_(b);
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
    simulated_take_(b, m);
    m = next;
  }
  if (b->state < SIMULATED_CLOSES) simulated_check_(b);
  simulated_fail_(&b->failed,
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
      .open = simulated_open,
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
