/* exchange.c: connections that send messages and compare what comes back; when a run measures. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"

enum { ADDRESSES = 200, WARM_MS_LEAST = 50 };

#define PATIENCE_NS UINT64_C(5000000000)

/* Messages are parts of one string of bytes, which begin at different places: whoever mixes up two
 * of them, or loses a byte, is found out. */
static char pattern[2 * IO_BYTES_MOST];

static const char *message(const io_conn *c) {
  if (pattern[0] == 0) {
    uint64_t word = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof pattern; i++) {
      word = word * 6364136223846793005u + 1442695040888963407u;
      pattern[i] = (char)(1 + (word >> 33) % 255);
    }
  }
  return pattern + (c->number * 7919u + c->count * 104729u) % IO_BYTES_MOST;
}

int io_connect(uint16_t port, uint32_t number) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) io_fail("socket: %s", strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  struct sockaddr_in mine = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK + number % ADDRESSES)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, (struct sockaddr *)&mine, sizeof mine) == 0 &&
      connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

void io_conn_watch(int epoll, io_conn *c) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) io_fail("epoll_ctl");
}

static void send_rest(int epoll, io_conn *c) {
  ssize_t n = send(c->fd, message(c) + c->sent, c->size - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno != EAGAIN) io_fail("send: %s", strerror(errno));
  if (n > 0) c->sent += (uint32_t)n;
  bool waits = c->sent < c->size;
  if (waits == c->waits_for_room) return;
  c->waits_for_room = waits;
  struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0u), .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event) != 0) io_fail("epoll_ctl");
}

void io_conn_send(int epoll, io_conn *c, uint64_t since) {
  c->count += 1;
  c->sent = c->got = 0;
  c->since = since;
  send_rest(epoll, c);
}

bool io_conn_go_on(int epoll, io_conn *c, uint32_t events) {
  static char answer[IO_BYTES_MOST];
  if (events & EPOLLOUT) send_rest(epoll, c);
  if (!(events & ~(uint32_t)EPOLLOUT)) return false;
  ssize_t n = recv(c->fd, answer, sizeof answer, MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return false;
  if (n < 0) io_fail("recv: %s", strerror(errno));
  if (n == 0) io_fail("the server has closed a connection");
  if ((size_t)n > c->sent - c->got || memcmp(message(c) + c->got, answer, (size_t)n) != 0) {
    io_fail("wrong bytes have come back: connection %u, message %u, of %u bytes after %u",
            c->number, c->count, (unsigned)n, c->got);
  }
  c->got += (uint32_t)n;
  return c->got == c->size;
}

void io_work(uint32_t ns) {
  if (ns == 0) return;
  for (uint64_t until = io_now() + ns; io_now() < until;) {
  }
}

void io_said_new(io_said *said) {
  *said = (io_said){.bytes = IO_UNSAID, .cores = IO_UNSAID};
}

io_window io_window_new(const io_options *o) {
  uint64_t warm_ms = o->operations / 8 > WARM_MS_LEAST ? o->operations / 8 : WARM_MS_LEAST;
  io_window w = {.from = io_now() + warm_ms * 1000000u};
  w.to = w.from + (uint64_t)o->operations * 1000000u;
  return w;
}

bool io_window_over(io_window *w, const io_children *c, io_said *said, uint64_t now) {
  if (!w->open && now >= w->from) {
    io_said_new(said);
    w->clocks = io_clocks_now(c);
    w->open = true;
  }
  if (now < w->to) return false;
  if (said->operations == 0 && now < w->to + PATIENCE_NS) return false; /* a busy machine */
  io_clocks ends = io_clocks_now(c);
  io_clocks_say(said, &w->clocks, &ends);
  return true;
}
