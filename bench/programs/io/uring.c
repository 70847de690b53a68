/* uring.c: the limit: echo and relay by io_uring, one-shot recv and send, one thread whose ring is
 * its own (SINGLE_ISSUER, DEFER_TASKRUN).
 *
 * A way is one direction of a connection: recv at one socket, send all of it at the other, again.
 * An echo has one way, from a socket to itself, a relay has two. When a way ends, both sockets are
 * shut down, which ends the other way; they are closed when no way is left. */
#include <liburing.h>
#include <stdbool.h>

#include "server.h"

enum { ENTRIES = 1024, COMPLETIONS = 16384 };

struct pair;
typedef struct way {
  struct pair *pair;
  int from, to;
  bool sending;
  unsigned have, sent;
  char *bytes;
} way;

typedef struct pair {
  int fds[2]; /* equal in an echo */
  int ways;
  way way[2];
} pair;

static struct io_uring ring;

static struct io_uring_sqe *entry(void) {
  struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
  if (sqe) return sqe;
  io_uring_submit(&ring);
  sqe = io_uring_get_sqe(&ring);
  if (!sqe) server_fail("io_uring_get_sqe");
  return sqe;
}

static void way_recv(way *w) {
  struct io_uring_sqe *sqe = entry();
  w->sending = false;
  io_uring_prep_recv(sqe, w->from, w->bytes, SERVER_BYTES, 0);
  io_uring_sqe_set_data(sqe, w);
}

static void way_send(way *w) {
  struct io_uring_sqe *sqe = entry();
  w->sending = true;
  io_uring_prep_send(sqe, w->to, w->bytes + w->sent, w->have - w->sent, MSG_NOSIGNAL);
  io_uring_sqe_set_data(sqe, w);
}

static void way_start(pair *p, int from, int to) {
  way *w = &p->way[p->ways++];
  *w = (way){.pair = p, .from = from, .to = to, .bytes = (char *)malloc(SERVER_BYTES)};
  if (!w->bytes) server_fail("malloc");
  way_recv(w);
}

static void way_end(way *w) {
  pair *p = w->pair;
  free(w->bytes);
  if (--p->ways > 0) {
    shutdown(p->fds[0], SHUT_RDWR);
    shutdown(p->fds[1], SHUT_RDWR);
    return;
  }
  close(p->fds[0]);
  if (p->fds[1] != p->fds[0]) close(p->fds[1]);
  free(p);
}

static void way_completed(way *w, int result) {
  if (result <= 0) {
    way_end(w);
    return;
  }
  if (!w->sending) {
    w->have = (unsigned)result;
    w->sent = 0;
  } else {
    w->sent += (unsigned)result;
  }
  if (w->sent < w->have) {
    way_send(w);
  } else {
    way_recv(w);
  }
}

static void start(int fd, unsigned to_port) {
  pair *p = (pair *)calloc(1, sizeof *p);
  if (!p) server_fail("calloc");
  server_no_delay(fd);
  *p = (pair){.fds = {fd, to_port ? server_dial(to_port, 0) : fd}};
  if (p->fds[1] < 0) {
    close(fd);
    free(p);
    return;
  }
  way_start(p, fd, p->fds[1]);
  if (to_port) way_start(p, p->fds[1], fd);
}

static void accept_next(int listener) {
  struct io_uring_sqe *sqe = entry();
  io_uring_prep_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
  io_uring_sqe_set_data(sqe, NULL);
}

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 1);
  int listener = server_listen(o.port, 0);
  struct io_uring_params parameters = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
      .cq_entries = COMPLETIONS};
  errno = -io_uring_queue_init_params(ENTRIES, &ring, &parameters);
  if (errno) server_fail("io_uring_queue_init_params");
  accept_next(listener);
  for (;;) {
    io_uring_submit_and_wait(&ring, 1);
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0;
    io_uring_for_each_cqe(&ring, head, cqe) {
      way *w = (way *)io_uring_cqe_get_data(cqe);
      seen++;
      if (w) {
        way_completed(w, cqe->res);
        continue;
      }
      if (cqe->res >= 0) start(cqe->res, o.to_port);
      accept_next(listener);
    }
    io_uring_cq_advance(&ring, seen);
  }
}
