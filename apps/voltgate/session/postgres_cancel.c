/* postgres_cancel.c: a CancelRequest. */
#include "session/postgres_cancel.h"

#include <stdlib.h>
#include <string.h>

#include "wire/proxy.h"

#define CANCEL_NS UINT64_C(3000000000) /* for each step */
_Static_assert(PROXY_OUT_MAX + 16 + 256 <= POSTGRES_CANCEL_MAX, "a header, and any key");

static volt_sem cancel_permits = VOLT_SEM_INIT(POSTGRES_CANCELS);
static volt_sem cancel_permits_own = VOLT_SEM_INIT(POSTGRES_CANCELS);

static volt_sem *postgres_cancel_sem(const struct postgres_cancel *c) {
  return c->is_own ? &cancel_permits_own : &cancel_permits;
}

static volt_future *postgres_cancel_within(struct postgres_cancel *c, volt_future *f) {
  return volt_timeout_future(&c->timeout, f, volt_rt_timers(c->session->gate->rt),
                             session_now_ns(c->session) + CANCEL_NS);
}

static volt_future *postgres_cancel_enter(struct postgres_cancel *c) {
  return postgres_cancel_within(c, volt_sem_acquire_future(&c->permit, postgres_cancel_sem(c), 1));
}

static volt_future *postgres_cancel_send(struct postgres_cancel *c, uint32_t from, uint32_t until) {
  const char *bytes = c->bytes + from;
  return postgres_cancel_within(
      c, c->tls ? volt_tls_send_all_future(&c->tls_op, c->tls, bytes, until - from)
                : volt_fd_send_future(&c->op, &c->fd, bytes, until - from, 0));
}

static bool postgres_cancel_is_secure(const struct postgres_cancel *c) {
  return secure_is_wanted(c->session->gate);
}

static volt_future *postgres_cancel_secure(struct postgres_cancel *c) {
  return secure_future(&c->secure, c->session->gate, &c->fd);
}

static void postgres_cancel_close(struct postgres_cancel *c) {
  if (c->tls) volt_tls_close(c->tls);
  free(c->tls);
  c->tls = NULL;
  volt_fd_close(&c->fd);
}

/* The server sends nothing: the end is what comes. */
static volt_future *postgres_cancel_await_end(struct postgres_cancel *c) {
  return postgres_cancel_within(
      c, c->tls ? volt_tls_recv_future(&c->tls_op, c->tls, c->bytes, sizeof c->bytes)
                : volt_fd_recv_future(&c->op, &c->fd, c->bytes, sizeof c->bytes, 0));
}

static int postgres_cancel_run(volt_async *a, volt_ctx *ctx) {
  struct postgres_cancel *c = volt_container_of(a, struct postgres_cancel, async);
  VOLT_ASYNC_BEGIN(c);
  if (c->size == 0) VOLT_RETURN(c, VOLT_EINVAL);
  VOLT_AWAIT(c, postgres_cancel_enter(c));
  c->has_permit = true;
  VOLT_AWAIT(c, server_probe(&c->probe, c->session->gate, &c->fd));
  if (postgres_cancel_is_secure(c)) {
    if (c->header > 0) VOLT_AWAIT(c, postgres_cancel_send(c, 0, c->header));
    VOLT_AWAIT(c, postgres_cancel_secure(c));
    c->tls = c->secure.tls;
    VOLT_AWAIT(c, postgres_cancel_send(c, c->header, c->size));
  } else {
    VOLT_AWAIT(c, postgres_cancel_send(c, 0, c->size));
  }
  VOLT_AWAIT_RESULT(c, c->result, postgres_cancel_await_end(c));
  if (c->result == VOLT_ECANCELED) VOLT_RETURN(c, c->result);
  VOLT_FINALLY(c);
  postgres_cancel_close(c);
  if (c->has_permit) volt_sem_release(postgres_cancel_sem(c), 1);
  c->has_permit = false;
  VOLT_ASYNC_END(c);
}

void postgres_cancel_set(struct postgres_cancel *c, struct session *s, const char *packet,
                         size_t size) {
  c->session = s;
  c->size = c->header = 0;
  size_t header = server_proxy_header(s, (unsigned char *)c->bytes);
  if (size <= sizeof c->bytes - header) {
    memcpy(c->bytes + header, packet, size);
    c->header = (uint32_t)header;
    c->size = (uint32_t)(header + size);
  }
}

volt_future *postgres_cancel_future(struct postgres_cancel *c) {
  return volt_async_future(&c->async, postgres_cancel_run);
}
