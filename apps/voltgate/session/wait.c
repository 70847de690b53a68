/* wait.c: the one future that a session waits for.
 *
 * It is an async function without BEGIN and END: each poll polls all that is armed. A future that is
 * pending has the task's waker already, so its poll is a comparison. What has fired is not armed any
 * more, and the next session_wait() makes it again; the others stay as they are. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "session/session.h"

uint64_t session_now_ns(const struct session *s) {
  return volt_rt_now_ns(s->gate->rt);
}

static struct session *session_wait_of(volt_async *a) {
  return volt_container_of(a, struct session, wait.async);
}

/* ---- a poll ---- */

/* Poll one of them, if it is armed. Returns VOLT_PENDING, or its result: then it is not armed. */
static int session_wait_poll_one(struct session_wait *w, enum session_event event, volt_future *f,
                                 volt_ctx *ctx) {
  if (!(w->armed & event)) return VOLT_PENDING;
  int result = volt_future_poll_ctx(f, ctx);
  if (result == VOLT_PENDING) return VOLT_PENDING;
  w->armed &= (uint8_t)~event;
  if (result != VOLT_ECANCELED) w->fired |= (uint8_t)event;
  return result;
}

/* What a side is ready for. One that cannot be waited for has failed. */
static uint16_t session_wait_ready(int result, const volt_op *op) {
  return result == VOLT_OK ? (uint16_t)op->n : POLLERR;
}

static int session_wait_poll_sides(struct session *s, volt_ctx *ctx) {
  struct session_wait *w = &s->wait;
  int result = session_wait_poll_one(w, SESSION_CLIENT, w->client, ctx);
  if (result == VOLT_ECANCELED) return result;
  if (result != VOLT_PENDING) w->client_ready = session_wait_ready(result, &w->client_op);
  result = session_wait_poll_one(w, SESSION_SERVER, w->server, ctx);
  if (result == VOLT_ECANCELED) return result;
  if (result != VOLT_PENDING) w->server_ready = session_wait_ready(result, &s->server->ready);
  return VOLT_OK;
}

static void session_wait_start_timer(struct session *s) {
  struct session_wait *w = &s->wait;
  w->timer_ns = w->deadline_ns;
  volt_future_made(volt_sleep_future(&w->timer, volt_rt_timers(s->gate->rt), w->timer_ns));
  w->armed |= SESSION_TIME;
}

/* A timer that fires before the deadline of this wait begins anew: so deadlines that move cost
 * nothing. One that is under way while there is no deadline is left to fire, which costs less than to
 * cancel it in each transaction; it is polled like the others, so that what has fired is armed no
 * more. */
static int session_wait_poll_timer(struct session *s, volt_ctx *ctx) {
  struct session_wait *w = &s->wait;
  for (;;) {
    int result = session_wait_poll_one(w, SESSION_TIME, &w->timer.future, ctx);
    if (result == VOLT_ECANCELED) return result;
    if (result == VOLT_PENDING || session_now_ns(s) >= w->deadline_ns) return VOLT_OK;
    w->fired &= (uint8_t)~SESSION_TIME;
    if (w->deadline_ns == VOLT_NO_DEADLINE) return VOLT_OK;
    session_wait_start_timer(s);
  }
}

/* News are rare. If there are none since this was polled as pending, a poll has nothing to do. */
static int session_wait_poll_news(struct session *s, volt_ctx *ctx) {
  struct session_wait *w = &s->wait;
  bool is_old = volt_watch_version(&s->gate->news) == w->news_seen;
  if (w->hears_news && is_old && ctx->cancel == VOLT_CTX_GO_ON) return VOLT_OK;
  int result = session_wait_poll_one(w, SESSION_NEWS, &w->news, ctx);
  w->hears_news = result == VOLT_PENDING;
  return result == VOLT_ECANCELED ? result : (int)VOLT_OK;
}

/* For a dump: what is armed. */
static volt_future *session_wait_inside(const void *its, unsigned i) {
  struct session_wait *w = volt_container_of(its, struct session_wait, async);
  const struct {
    enum session_event event;
    volt_future *future;
  } all[] = {{SESSION_PERMIT, w->permit},
             {SESSION_CLIENT, w->client},
             {SESSION_SERVER, w->server},
             {SESSION_TIME, &w->timer.future},
             {SESSION_NEWS, &w->news}};
  for (size_t at = 0; at < sizeof all / sizeof all[0]; at++) {
    if ((w->armed & all[at].event) && i-- == 0) return all[at].future;
  }
  return NULL;
}

static int session_wait_poll(volt_async *a, volt_ctx *ctx) {
  struct session *s = session_wait_of(a);
  struct session_wait *w = &s->wait;
  VOLT_ASYNC_SHOWS(w, session_wait_inside);
  int result = session_wait_poll_sides(s, ctx);
  if (result == VOLT_OK) result = session_wait_poll_news(s, ctx);
  if (result == VOLT_OK) result = session_wait_poll_timer(s, ctx);
  if (result == VOLT_OK &&
      session_wait_poll_one(w, SESSION_PERMIT, w->permit, ctx) == VOLT_ECANCELED) {
    result = VOLT_ECANCELED;
  }
  if (result != VOLT_OK) return result;
  return w->fired ? VOLT_OK : VOLT_PENDING;
}

/* ---- what is armed ---- */

static void session_wait_cancel(struct session_wait *w, enum session_event event, volt_future *f) {
  if (!(w->armed & event)) return;
  volt_future_cancel(f);
  w->armed &= (uint8_t)~event;
}

static void session_wait_arm_client(struct session *s, unsigned events) {
  struct session_wait *w = &s->wait;
  if ((w->armed & SESSION_CLIENT) && events == w->client_events) return;
  session_wait_cancel(w, SESSION_CLIENT, w->client);
  w->client_events = (uint16_t)events;
  if (!events) return;
  w->client = volt_fd_ready_future(&w->client_op, &s->client.fd, events);
  w->armed |= SESSION_CLIENT;
}

static void session_wait_arm_server(struct session *s, unsigned events) {
  struct session_wait *w = &s->wait;
  if ((w->armed & SESSION_SERVER) && events == w->server_events) return;
  session_wait_cancel(w, SESSION_SERVER, w->server);
  w->server_events = (uint16_t)events;
  if (!events) return;
  w->server = volt_fd_ready_future(&s->server->ready, &s->server->link.fd, events);
  w->armed |= SESSION_SERVER;
}

static void session_wait_arm_timer(struct session *s, uint64_t deadline_ns) {
  struct session_wait *w = &s->wait;
  w->deadline_ns = deadline_ns;
  if (deadline_ns == VOLT_NO_DEADLINE) return;
  if ((w->armed & SESSION_TIME) && w->timer_ns <= deadline_ns) return;
  session_wait_cancel(w, SESSION_TIME, &w->timer.future);
  session_wait_start_timer(s);
}

static void session_wait_arm_news(struct session *s) {
  struct session_wait *w = &s->wait;
  if (w->armed & SESSION_NEWS) return;
  volt_future_made(volt_watch_changed_future(&w->news, &s->gate->news, &w->news_seen));
  w->hears_news = false;
  w->armed |= SESSION_NEWS;
}

volt_future *session_wait(struct session *s, unsigned client, unsigned server, unsigned also,
                          uint64_t deadline_ns) {
  struct session_wait *w = &s->wait;
  w->fired = 0;
  w->client_ready = w->server_ready = 0;
  session_wait_arm_client(s, client);
  session_wait_arm_server(s, server);
  session_wait_arm_timer(s, deadline_ns);
  session_wait_arm_news(s);
  w->armed = (uint8_t)((w->armed & ~(unsigned)SESSION_PERMIT) | also);
  return volt_async_future(&w->async, session_wait_poll);
}

void session_forget_client(struct session *s) {
  session_wait_cancel(&s->wait, SESSION_CLIENT, s->wait.client);
}

void session_forget_server(struct session *s) {
  session_wait_cancel(&s->wait, SESSION_SERVER, s->wait.server);
}

void session_forget(struct session *s) {
  session_forget_client(s);
  session_forget_server(s);
  session_wait_cancel(&s->wait, SESSION_TIME, &s->wait.timer.future);
  session_wait_cancel(&s->wait, SESSION_NEWS, &s->wait.news);
}
