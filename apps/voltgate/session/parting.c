/* parting.c: the end of a session whose server may work for it still.
 *
 * When may a permit be given back whose client has died? While the server runs its statement, the
 * limit would be exceeded at the server if another client got the permit. So the statement is
 * cancelled, and the permit is given back when the server has closed its side, because it closes
 * when it has rolled back. A CancelRequest ends one statement, and there may be others behind it:
 * so it is repeated, at longer and longer intervals. A server that does not close all the same, as
 * one that is cut off, is given up after PARTING_NS, and the log says so.
 *
 * A client that has said goodbye (Terminate) behind a statement that runs wants it to be finished:
 * that is not cancelled before server-timeout, if there is one. */
#include "session/parting.h"

#define PARTING_END_NS UINT64_C(1000000000)  /* to close, when nothing runs */
#define PARTING_PAUSE_NS UINT64_C(100000000) /* before the second CancelRequest */
#define PARTING_PAUSE_MAX_NS UINT64_C(2000000000)
enum { PARTING_READS = 16, PARTING_CHUNK = 16384 };

/* Read what is there, and throw it away. Returns true: the server has closed. */
static bool parting_is_over(struct parting *p) {
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
static uint64_t parting_next_ns(const struct parting *p) {
  return p->again_ns < p->deadline_ns ? p->again_ns : p->deadline_ns;
}

static volt_future *parting_wait(struct parting *p) {
  return session_wait(p->session, 0, link_events(&p->session->server->link, true), 0,
                      parting_next_ns(p));
}

static volt_future *parting_cancel(struct parting *p) {
  char packet[PG_CANCEL_MAX];
  size_t size = p->pg ? pg_cancel_bytes(p->pg, packet) : 0;
  p->cancel.is_own = true;
  postgres_cancel_set(&p->cancel, p->session, packet, size);
  return postgres_cancel_future(&p->cancel);
}

static void parting_pause(struct parting *p) {
  p->again_ns = session_now_ns(p->session) + p->pause_ns;
  p->pause_ns *= 2;
  if (p->pause_ns > PARTING_PAUSE_MAX_NS) p->pause_ns = PARTING_PAUSE_MAX_NS;
}

static int parting_run(volt_async *a, volt_ctx *ctx) {
  struct parting *p = volt_container_of(a, struct parting, async);
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
static uint64_t parting_start_ns(const struct session *s, enum parting_how how) {
  uint64_t timeout_ns = gate_settings(s->gate)->server_timeout_ns;
  if (how == PARTING_CANCEL) return session_now_ns(s);
  if (how == PARTING_END) timeout_ns = PARTING_END_NS;
  return timeout_ns ? session_now_ns(s) + timeout_ns : VOLT_NO_DEADLINE;
}

volt_future *parting_future(struct parting *p, struct session *s, const struct pg *pg,
                            enum parting_how how) {
  p->session = s;
  p->pg = pg;
  p->again_ns = parting_start_ns(s, how);
  p->deadline_ns = p->again_ns == VOLT_NO_DEADLINE ? VOLT_NO_DEADLINE : p->again_ns + PARTING_NS;
  p->pause_ns = PARTING_PAUSE_NS;
  if (how != PARTING_LET_FINISH) link_drop_kept(&s->server->link); /* nothing more is begun */
  (void)link_shut(&s->server->link);
  return volt_async_future(&p->async, parting_run);
}
