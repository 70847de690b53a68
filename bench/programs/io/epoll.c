/* epoll.c: the limit: echo and relay by recv, send and epoll_wait, level triggered, one thread.
 *
 * An end is a socket; what comes there goes out at end->to: of an echo the end itself, of a relay
 * the other one. One buffer serves all ends; what did not go out is kept in a buffer of the end it
 * has to go out at, and nothing more is read for it until then. */
#include <stdint.h>
#include <sys/epoll.h>

#include "server.h"

enum { EVENTS = 512 };

typedef struct end {
  int fd;
  uint32_t watched;
  struct end *to, *from; /* from->to == this */
  struct end *next_gone;
  int gone;
  size_t rest, done; /* what has yet to go out: kept[done..rest) */
  char *kept;
} end;

static int epoll_fd;
static char buffer[SERVER_BYTES];
static end *gone_ends; /* freed after the events in hand, some of which may be theirs */

static void end_watch(end *e) {
  uint32_t wanted = (e->to->rest ? 0u : EPOLLIN) | (e->rest ? EPOLLOUT : 0u);
  if (wanted == e->watched) return;
  struct epoll_event event = {.events = wanted, .data.ptr = e};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, e->fd, &event) != 0) server_fail("epoll_ctl");
  e->watched = wanted;
}

static end *end_new(int fd) {
  end *e = (end *)calloc(1, sizeof *e);
  if (!e) server_fail("calloc");
  *e = (end){.fd = fd, .to = e, .from = e, .watched = EPOLLIN};
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = e};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) server_fail("epoll_ctl");
  return e;
}

static void end_close(end *e) {
  if (e->gone) return;
  e->gone = 1;
  close(e->fd);
  e->next_gone = gone_ends;
  gone_ends = e;
  end_close(e->to);
}

/* Whether all of it is out, or kept. */
static int end_send(end *e, const char *bytes, size_t size) {
  ssize_t n = send(e->fd, bytes, size, MSG_NOSIGNAL);
  if (n == (ssize_t)size) return 1;
  if (n < 0 && errno != EAGAIN) return 0;
  if (!e->kept && !(e->kept = (char *)malloc(SERVER_BYTES))) server_fail("malloc");
  e->done = 0;
  e->rest = size - (size_t)(n > 0 ? n : 0);
  memcpy(e->kept, bytes + (size - e->rest), e->rest);
  end_watch(e);
  end_watch(e->from);
  return 1;
}

static void end_readable(end *e) {
  ssize_t n = recv(e->fd, buffer, sizeof buffer, 0);
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0 || !end_send(e->to, buffer, (size_t)n)) end_close(e);
}

static void end_writable(end *e) {
  ssize_t n = send(e->fd, e->kept + e->done, e->rest - e->done, MSG_NOSIGNAL);
  if (n < 0 && errno == EAGAIN) return;
  if (n < 0) {
    end_close(e);
    return;
  }
  e->done += (size_t)n;
  if (e->done < e->rest) return;
  e->done = e->rest = 0;
  end_watch(e);
  end_watch(e->from);
}

static void accept_all(int listener, unsigned to_port) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    server_no_delay(fd);
    int other = to_port ? server_dial(to_port, SOCK_NONBLOCK) : -1;
    if (to_port && other < 0) {
      close(fd);
      continue;
    }
    end *e = end_new(fd);
    if (other < 0) continue;
    e->to = e->from = end_new(other);
    e->to->to = e->to->from = e;
  }
}

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 1);
  int listener = server_listen(o.port, SOCK_NONBLOCK);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event) != 0) server_fail("epoll_ctl");
  for (;;) {
    int n = epoll_wait(epoll_fd, events, EVENTS, -1);
    for (int i = 0; i < n; i++) {
      end *e = (end *)events[i].data.ptr;
      if (!e) {
        accept_all(listener, o.to_port);
        continue;
      }
      if (!e->gone && (events[i].events & EPOLLOUT)) end_writable(e);
      if (!e->gone && (events[i].events & ~(uint32_t)EPOLLOUT)) end_readable(e);
    }
    while (gone_ends) {
      end *e = gone_ends;
      gone_ends = e->next_gone;
      free(e->kept);
      free(e);
    }
  }
}
