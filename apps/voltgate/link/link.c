/* link.c: one side of a session.
 *
 * Invariants
 *   I1  What is in `kept` goes behind what a TLS stream has committed and not sent (has_rest), and nothing
 *       goes before either.
 *   I2  A TLS stream is used by tries alone (volt/tls.h), on the session's task. */
#include "link/link.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <volt/net.h>

/* ---- TLS ---- */

/* A try was made: what it has left. */
static void link_note(struct link *l) {
  l->has_rest = !l->is_cut && (volt_tls_events(l->tls) & POLLOUT) != 0;
}

int link_begin_tls(struct link *l, volt_tls_context *context, const char *name, const void *early,
                   size_t size) {
  volt_tls *tls = (volt_tls *)malloc(sizeof *tls);
  int result = tls ? volt_tls_init(tls, context, &l->fd, name) : VOLT_ENOMEM;
  if (result == VOLT_OK) l->tls = tls;
  if (result != VOLT_OK) free(tls);
  return result == VOLT_OK ? volt_tls_feed(tls, early, size) : result;
}

void link_take_tls(struct link *l, volt_tls *tls) {
  l->tls = tls;
  link_note(l);
}

int link_shake_hands(struct link *l) {
  int result = volt_tls_try_handshake(l->tls);
  link_note(l);
  return result == VOLT_TLS_ETRUNCATED ? (int)VOLT_ECLOSED : result;
}

static int link_recv_tls(struct link *l, void *to, size_t size, size_t *n) {
  int result = volt_tls_try_recv(l->tls, to, size, n);
  link_note(l);
  l->is_drained = result == VOLT_EAGAIN || (volt_tls_events(l->tls) & POLLIN) != 0;
  return result;
}

/* Commit as much as is possible now. Returns VOLT_OK: all; VOLT_EAGAIN, or what failed. */
static int link_send_tls(struct link *l, const char *from, size_t size, size_t *sent) {
  int result = VOLT_OK;
  while (result == VOLT_OK && *sent < size) {
    size_t n;
    result = volt_tls_try_send(l->tls, from + *sent, size - *sent, &n);
    *sent += n;
  }
  link_note(l);
  return result;
}

/* Say that nothing more comes: not, if there was no handshake, or the peer takes nothing. Returns true: what
 * is committed has to be sent before. */
static bool link_end_waits(struct link *l) {
  bool waits = !l->is_cut && volt_tls_try_shutdown(l->tls) == VOLT_EAGAIN;
  link_note(l);
  return waits && l->has_rest;
}

/* ---- bytes ---- */

int link_recv(struct link *l, void *to, size_t size, size_t *n) {
  int result;
  if (l->tls) {
    result = link_recv_tls(l, to, size, n);
  } else {
    result = volt_fd_try_recv(&l->fd, to, size, 0, n);
    l->is_drained = *n < size;
  }
  if (result == VOLT_OK && *n == 0) l->has_ended = true;
  return result;
}

static int link_keep(struct link *l, const char *from, size_t size) {
  size_t before = l->kept_until - l->kept_from;
  if (size > UINT32_MAX - before) return VOLT_ENOMEM;
  char *kept = (char *)malloc(before + size);
  if (!kept) return VOLT_ENOMEM;
  if (before > 0) memcpy(kept, l->kept + l->kept_from, before);
  memcpy(kept + before, from, size);
  free(l->kept);
  l->kept = kept;
  l->kept_from = 0;
  l->kept_until = (uint32_t)(before + size);
  return VOLT_OK;
}

static void link_free_kept(struct link *l) {
  free(l->kept);
  l->kept = NULL;
  l->kept_from = l->kept_until = 0;
}

void link_drop_kept(struct link *l) {
  link_free_kept(l);
  if (l->has_rest) l->is_cut = true;
  l->has_rest = false;
}

/* Send as much as there is room for. Returns VOLT_OK, VOLT_EAGAIN, or what failed. */
static int link_send_some(struct link *l, const char *from, size_t size, size_t *sent) {
  *sent = 0;
  if (l->tls) return link_send_tls(l, from, size, sent);
  return volt_fd_try_send(&l->fd, from, size, 0, sent);
}

int link_send(struct link *l, const void *from, size_t size) {
  size_t sent = 0;
  if (!l->kept) {
    int result = link_send_some(l, (const char *)from, size, &sent);
    if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  }
  return sent == size ? VOLT_OK : link_keep(l, (const char *)from + sent, size - sent);
}

/* Nothing is kept any more. */
static int link_end(struct link *l) {
  if (l->tls && link_end_waits(l)) return VOLT_OK;
  return volt_fd_shutdown(&l->fd, SHUT_WR);
}

/* Send what a TLS stream has committed. */
static int link_send_rest(struct link *l) {
  size_t none;
  int result = volt_tls_try_send(l->tls, "", 0, &none);
  link_note(l);
  return result == VOLT_EINVAL ? (int)VOLT_OK
                               : result; /* within the handshake, whose bytes have gone */
}

int link_flush(struct link *l) {
  int result = VOLT_OK;
  if (!link_is_full(l)) return VOLT_OK;
  if (l->kept) {
    size_t sent;
    result = link_send_some(l, l->kept + l->kept_from, l->kept_until - l->kept_from, &sent);
    l->kept_from += (uint32_t)sent;
    if (l->kept_from == l->kept_until) link_free_kept(l);
  } else {
    result = link_send_rest(l);
  }
  if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  return l->is_shut && !link_is_full(l) ? link_end(l) : VOLT_OK;
}

unsigned link_events(const struct link *l, bool wants_bytes) {
  unsigned events = 0;
  /* what is kept and not committed waits for the rest of a message of the peer's own */
  if (link_is_full(l)) events = l->tls && !l->has_rest ? POLLIN : POLLOUT;
  if (wants_bytes && !l->has_ended) events |= POLLIN;
  return events;
}

void link_keep_alive(const volt_fd *fd) {
  enum { IDLE_S = 60, INTERVAL_S = 15, QUESTIONS = 4 };
  (void)volt_fd_keepalive(fd, IDLE_S, INTERVAL_S, QUESTIONS); /* a unix socket needs none */
}

/* ---- the end ---- */

int link_shut(struct link *l) {
  if (l->is_shut) return VOLT_OK;
  l->is_shut = true;
  return link_is_full(l) ? VOLT_OK : link_end(l);
}

void link_close(struct link *l) {
  if (l->tls) volt_tls_cut_off(l->tls); /* link_shut() has said the end, if there was one */
  free(l->tls);
  l->tls = NULL;
  link_free_kept(l);
  volt_fd_close(&l->fd);
}
