/* postgres_cancel.c: a CancelRequest, and the end of a server that runs something.
 *
 * When may a permit be given back whose client has died? While the server runs its statement, the
 * limit would be exceeded at the server if another client got the permit. So the statement is
 * cancelled, and the permit is given back when the server has closed its side, because it closes
 * when it has rolled back. A CancelRequest ends one statement, and there may be others behind it:
 * so it is repeated, at longer and longer intervals. A server that does not close all the same, as
 * one that is cut off, is given up after POSTGRES_PARTING_NS, and the log says so.
 *
 * A client that has said goodbye (Terminate) behind a statement that runs wants it to be finished:
 * that is not cancelled before server-timeout, if there is one. */
#include "session/postgres_cancel.h"

#include <stdlib.h>
#include <string.h>

#include "process/log.h"
#include "wire/proxy.h"

#define CANCEL_NS UINT64_C(3000000000)       /* for each step */
#define PARTING_END_NS UINT64_C(1000000000)  /* to close, when nothing runs */
#define PARTING_PAUSE_NS UINT64_C(100000000) /* before the second CancelRequest */
#define PARTING_PAUSE_MAX_NS UINT64_C(2000000000)
enum { PARTING_READS = 16, PARTING_CHUNK = 16384 };

_Static_assert(PROXY_OUT_MAX + 16 + 256 <= POSTGRES_CANCEL_MAX, "a header, and any key");

static volt_sem cancel_permits = VOLT_SEM_INIT(POSTGRES_CANCELS);

static volt_future *cancel_within(struct postgres_cancel *c, volt_future *f) {
  return volt_timeout_future(&c->timeout, f, volt_rt_timers(c->session->gate->rt),
                             session_now_ns(c->session) + CANCEL_NS);
}

static volt_future *cancel_enter(struct postgres_cancel *c) {
  return cancel_within(c, volt_sem_acquire_future(&c->permit, &cancel_permits, 1));
}

static volt_future *cancel_send(struct postgres_cancel *c) {
  return cancel_within(c, volt_fd_send_future(&c->op, &c->fd, c->bytes, c->size, 0));
}

/* The server sends nothing: the end is what comes. */
static volt_future *cancel_await_end(struct postgres_cancel *c) {
  return cancel_within(c, volt_fd_recv_future(&c->op, &c->fd, c->bytes, sizeof c->bytes, 0));
}

static int cancel_run(volt_async *a, volt_ctx *ctx) {
  struct postgres_cancel *c = volt_container_of(a, struct postgres_cancel, async);
  VOLT_ASYNC_BEGIN(c);
  if (c->size == 0) VOLT_RETURN(c, VOLT_EINVAL);
  VOLT_AWAIT(c, cancel_enter(c));
  c->has_permit = true;
  VOLT_AWAIT(c, server_probe(&c->probe, c->session->gate, &c->fd));
  VOLT_AWAIT(c, cancel_send(c));
  VOLT_AWAIT_RESULT(c, c->result, cancel_await_end(c));
  if (c->result == VOLT_ECANCELED) VOLT_RETURN(c, c->result);
  VOLT_FINALLY(c);
  volt_fd_close(&c->fd);
  if (c->has_permit) volt_sem_release(&cancel_permits, 1);
  c->has_permit = false;
  VOLT_ASYNC_END(c);
}

void postgres_cancel_set(struct postgres_cancel *c, struct session *s, const char *packet,
                         size_t size) {
  c->session = s;
  c->size = 0;
  size_t header = server_proxy_header(s, (unsigned char *)c->bytes);
  if (size <= sizeof c->bytes - header) {
    memcpy(c->bytes + header, packet, size);
    c->size = (uint32_t)(header + size);
  }
}

volt_future *postgres_cancel_future(struct postgres_cancel *c) {
  return volt_async_future(&c->async, cancel_run);
}

/* ---- parting ---- */

/* Read what is there, and throw it away. Returns true: the server has closed. */
static bool parting_is_over(struct postgres_parting *p) {
  struct link *server = &p->session->server->link;
  char chunk[PARTING_CHUNK];
  if (link_flush(server) != VOLT_OK) link_drop_kept(server); /* its end is there to be read */
  p->has_more = true;
  for (int i = 0; i < PARTING_READS; i++) {
    size_t n;
    int result = link_recv(server, chunk, sizeof chunk, &n);
    if (result == VOLT_EAGAIN) p->has_more = false;
    if (result == VOLT_EAGAIN) return false;
    if (result != VOLT_OK || n == 0) return true;
  }
  return false;
}

/* When to look again. */
static uint64_t parting_next_ns(const struct postgres_parting *p) {
  return p->again_ns < p->deadline_ns ? p->again_ns : p->deadline_ns;
}

static volt_future *parting_wait(struct postgres_parting *p) {
  return session_wait(p->session, 0, link_events(&p->session->server->link, true), 0,
                      parting_next_ns(p));
}

static volt_future *parting_cancel(struct postgres_parting *p) {
  char packet[PG_CANCEL_MAX];
  size_t size = pg_cancel_bytes(p->pg, packet);
  postgres_cancel_set(&p->cancel, p->session, packet, size);
  return postgres_cancel_future(&p->cancel);
}

static void parting_pause(struct postgres_parting *p) {
  p->again_ns = session_now_ns(p->session) + p->pause_ns;
  p->pause_ns *= 2;
  if (p->pause_ns > PARTING_PAUSE_MAX_NS) p->pause_ns = PARTING_PAUSE_MAX_NS;
}

static int parting_run(volt_async *a, volt_ctx *ctx) {
  struct postgres_parting *p = volt_container_of(a, struct postgres_parting, async);
  VOLT_ASYNC_BEGIN(p);
  while (!parting_is_over(p)) {
    if (session_now_ns(p->session) >= p->deadline_ns) VOLT_RETURN(p, VOLT_ETIMEDOUT);
    if (session_now_ns(p->session) >= p->again_ns) {
      VOLT_AWAIT_RESULT(p, p->result, parting_cancel(p));
      if (p->result == VOLT_ECANCELED) VOLT_RETURN(p, p->result);
      parting_pause(p);
    } else if (p->has_more) {
      VOLT_YIELD(p);
    } else {
      VOLT_AWAIT(p, parting_wait(p));
    }
  }
  VOLT_ASYNC_END(p);
}

/* When the first CancelRequest is due. */
static uint64_t parting_start_ns(const struct session *s, enum postgres_how how) {
  uint64_t timeout_ns = gate_settings(s->gate)->server_timeout_ns;
  if (how == POSTGRES_CANCEL) return session_now_ns(s);
  if (how == POSTGRES_END) timeout_ns = PARTING_END_NS;
  return timeout_ns ? session_now_ns(s) + timeout_ns : VOLT_NO_DEADLINE;
}

volt_future *postgres_parting_future(struct postgres_parting *p, struct session *s,
                                     const struct pg *pg, enum postgres_how how) {
  p->session = s;
  p->pg = pg;
  p->again_ns = parting_start_ns(s, how);
  p->deadline_ns =
      p->again_ns == VOLT_NO_DEADLINE ? VOLT_NO_DEADLINE : p->again_ns + POSTGRES_PARTING_NS;
  p->pause_ns = PARTING_PAUSE_NS;
  if (how != POSTGRES_LET_FINISH) link_drop_kept(&s->server->link); /* nothing more is begun */
  (void)link_shut(&s->server->link);
  return volt_async_future(&p->async, parting_run);
}
