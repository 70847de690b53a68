/* exchange.c: connections that send messages and compare what comes back; when a run measures. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"
#ifdef IO_TLS
#include "tls.h"
#endif

enum { ADDRESSES = 200, WARM_MS_LEAST = 50 };

#define PATIENCE_MS 5000
#define PATIENCE_NS (PATIENCE_MS * UINT64_C(1000000))

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

/* ---- plain, or by TLS ---- */

bool io_conn_open(io_conn *c, uint16_t port, uint32_t tls, uint32_t slot) {
  c->fd = io_connect(port, c->number);
  if (c->fd < 0) return false;
  if (tls == IO_PLAIN) return true;
#ifdef IO_TLS
  int flags = fcntl(c->fd, F_GETFL);
  if (flags < 0 || fcntl(c->fd, F_SETFL, flags | O_NONBLOCK) != 0) io_fail("fcntl");
  c->tls = tls_conn_new(c->fd, slot, tls == IO_TLS_RESUMED);
#else
  (void)slot;
  io_fail("--tls: it was built without OpenSSL");
#endif
  return true;
}

void io_conn_close(io_conn *c) {
#ifdef IO_TLS
  if (c->tls) tls_conn_free(c->tls);
#endif
  close(c->fd);
}

static ssize_t put(io_conn *c, const char *from, size_t size) {
#ifdef IO_TLS
  if (c->tls) return tls_conn_send(c->tls, from, size);
#endif
  return send(c->fd, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t get(io_conn *c, char *to, size_t size) {
#ifdef IO_TLS
  if (c->tls) return tls_conn_recv(c->tls, to, size);
#endif
  return recv(c->fd, to, size, MSG_DONTWAIT);
}

/* ---- messages ---- */

void io_conn_watch(int epoll, io_conn *c) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) io_fail("epoll_ctl");
}

/* Then it waits for the server, and not for room. */
static bool is_shaking_hands(const io_conn *c) {
#ifdef IO_TLS
  if (c->tls) return !SSL_is_init_finished(c->tls);
#endif
  (void)c;
  return false;
}

static void send_rest(int epoll, io_conn *c) {
  ssize_t n = put(c, message(c) + c->sent, c->size - c->sent);
  if (n < 0 && errno != EAGAIN) io_fail("send: %s", strerror(errno));
  if (n > 0) c->sent += (uint32_t)n;
  bool waits = c->sent < c->size && !is_shaking_hands(c);
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

/* Takes what has come of the answer. Returns whether there may be more. */
static bool take_part(io_conn *c) {
  static char answer[IO_BYTES_MOST];
  ssize_t n = get(c, answer, sizeof answer);
  if (n < 0 && errno == EAGAIN) return false;
  if (n < 0) io_fail("recv: %s", strerror(errno));
  if (n == 0) io_fail("the server has closed a connection");
  if ((size_t)n > c->sent - c->got || memcmp(message(c) + c->got, answer, (size_t)n) != 0) {
    io_fail("wrong bytes have come back: connection %u, message %u, of %u bytes after %u",
            c->number, c->count, (unsigned)n, c->got);
  }
  c->got += (uint32_t)n;
  return c->tls && c->got < c->size; /* a record that has been received is in no event */
}

bool io_conn_go_on(int epoll, io_conn *c, uint32_t events) {
  if ((events & EPOLLOUT) || is_shaking_hands(c)) send_rest(epoll, c);
  if (!(events & ~(uint32_t)EPOLLOUT) || is_shaking_hands(c)) return false;
  while (take_part(c)) {
  }
  return c->got == c->size;
}

static void await_events(const io_conn *c) {
  struct pollfd events = {.fd = c->fd, .events = POLLIN};
  if (errno != EAGAIN || poll(&events, 1, PATIENCE_MS) != 1) io_fail("no answer has come");
}

void io_conn_write(io_conn *c, const char *from, size_t size) {
  ssize_t n;
  while ((n = put(c, from, size)) < 0) await_events(c);
  if ((size_t)n != size) io_fail("a request is too long");
}

size_t io_conn_read(io_conn *c, char *to, size_t size) {
  ssize_t n;
  while ((n = get(c, to, size)) < 0) await_events(c);
  return (size_t)n;
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
