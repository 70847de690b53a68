/* plain.c: the transport that is the descriptor itself. */
#include <poll.h>
#include <sys/socket.h>

#include "transport.h"

static int plain_begin(struct stream *s, volt_tls_context *context) {
  (void)context;
  s->n = &s->op.n;
  return VOLT_OK;
}

static volt_future *plain_wake(struct stream *s) {
  return volt_fd_ready_future(&s->op, &s->fd, POLLIN);
}

static volt_future *plain_receive(struct stream *s, void *to, size_t room) {
  return volt_fd_recv_future(&s->op, &s->fd, to, room, 0);
}

static int plain_try_send(struct stream *s, const void *from, size_t size, bool more) {
  s->op.n = 0;
  return volt_fd_try_send(&s->fd, from, size, more ? MSG_MORE : 0, &s->op.n);
}

static volt_future *plain_send(struct stream *s, const void *from, size_t size, bool more) {
  return volt_fd_send_future(&s->op, &s->fd, from, size, more ? MSG_MORE : 0);
}

static volt_future *plain_send_file(struct stream *s, volt_fd *file, uint64_t at, size_t size) {
  return volt_fd_sendfile_future(&s->op, &s->fd, file, (int64_t)at, size);
}

static void plain_close(struct stream *s) {
  volt_fd_close(&s->fd);
}

/* By a reset. */
static void plain_cut_off(struct stream *s) {
  const struct linger at_once = {.l_onoff = 1};
  setsockopt(s->fd.number, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  volt_fd_close(&s->fd);
}

const struct transport plain_transport = {
    .has_sendfile = true,
    .begin = plain_begin,
    .wake = plain_wake,
    .receive = plain_receive,
    .try_send = plain_try_send,
    .send = plain_send,
    .send_file = plain_send_file,
    .close = plain_close,
    .cut_off = plain_cut_off,
};
