/* link.c: one side of a session. */
#include "link/link.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <volt/net.h>

#include "link/tls.h"

int link_recv(struct link *l, void *to, size_t size, size_t *n) {
  if (l->tls) return tls_recv(l, to, size, n);
  int result = volt_fd_try_recv(&l->fd, to, size, 0, n);
  l->is_drained = *n < size;
  if (result == VOLT_OK && *n == 0) l->has_ended = true;
  return result;
}

/* ---- what is kept ---- */

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

void link_drop_kept(struct link *l) {
  free(l->kept);
  l->kept = NULL;
  l->kept_from = l->kept_until = 0;
}

int link_put(struct link *l, const void *from, size_t size) {
  size_t sent = 0;
  if (!l->kept) {
    int result = volt_fd_try_send(&l->fd, from, size, 0, &sent);
    if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  }
  return sent == size ? VOLT_OK : link_keep(l, (const char *)from + sent, size - sent);
}

int link_send(struct link *l, const void *from, size_t size) {
  return l->tls ? tls_send(l, from, size) : link_put(l, from, size);
}

int link_flush(struct link *l) {
  size_t sent;
  if (!l->kept) return VOLT_OK;
  int result =
      volt_fd_try_send(&l->fd, l->kept + l->kept_from, l->kept_until - l->kept_from, 0, &sent);
  l->kept_from += (uint32_t)sent;
  if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  if (l->kept_from < l->kept_until) return VOLT_OK;
  link_drop_kept(l);
  return l->is_shut ? volt_fd_shutdown(&l->fd, SHUT_WR) : VOLT_OK;
}

unsigned link_events(const struct link *l, bool wants_bytes) {
  unsigned events = link_is_full(l) ? POLLOUT : 0;
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
  if (l->tls) tls_shut(l);
  return link_is_full(l) ? VOLT_OK : volt_fd_shutdown(&l->fd, SHUT_WR);
}

void link_close(struct link *l) {
  if (l->tls) tls_free(l->tls);
  l->tls = NULL;
  link_drop_kept(l);
  volt_fd_close(&l->fd);
}
