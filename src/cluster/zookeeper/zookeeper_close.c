/* zookeeper_close.c: end a session, and do not wait for it in the client.
 *
 * zookeeper_close() writes the request that ends the session, and waits for seconds for an answer.
 * So that it does not, one end of a pair takes the place of its socket, with a byte to read in it.
 * What the client has written is taken from the other end, and sent over the connection by
 * operations of the runtime. The answer is awaited for a second.
 *
 * Numbers in the protocol are big-endian. A request: length, number, kind. An answer: length, number
 * of the request, transaction (8 bytes), error. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dup3 */
#endif
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/time.h>

#include "zookeeper.h"
#include "zookeeper_close.h"
#include "zookeeper_link.h"
#include "zookeeper_log.h"
#include "zookeeper_requests.h"
#include "zookeeper_socket.h"

#define CLOSE_NS UINT64_C(1000000000)

enum { CLOSE_REQUEST = 12, CLOSE_ANSWER = 20, CLOSE_KIND = -11 };

static int32_t zookeeper_close_number(const unsigned char *from) {
  uint32_t n;
  memcpy(&n, from, sizeof n);
  return (int32_t)ntohl(n);
}

/* ---- the request ---- */

static bool zookeeper_close_may_ask(const zookeeper *b) {
  return zookeeper_is_up_(b) && b->socket.number >= 0 && !(b->events & POLLOUT);
}

/* Returns whether close.bytes has what is to be sent. */
static bool zookeeper_close_take_request(zookeeper *b, int from) {
  ssize_t n = read(from, b->close.bytes, sizeof b->close.bytes);
  if (n < CLOSE_REQUEST || (size_t)n == sizeof b->close.bytes) return false;
  const unsigned char *last = b->close.bytes + n - CLOSE_REQUEST;
  b->close.count = (size_t)n;
  b->close.xid = zookeeper_close_number(last + 4);
  return b->tls ||
         (zookeeper_close_number(last) == 8 && zookeeper_close_number(last + 8) == CLOSE_KIND);
}

/* The client ends, and finds nothing to wait for. */
static void zookeeper_close_client(zookeeper *b, int instead) {
  int number = dup3(instead, b->number, O_CLOEXEC);
  (void)close(instead);
  if (number < 0) return;
  zookeeper_enter_(b);
  (void)zookeeper_close(b->handle);
  b->handle = NULL;
  zookeeper_leave_(b);
}

static bool zookeeper_close_ask(zookeeper *b) {
  int pair[2];
  if (!zookeeper_close_may_ask(b)) return false;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return false;
  bool is_asked = false;
  if (write(pair[1], "", 1) == 1) {
    zookeeper_close_client(b, pair[0]);
    is_asked = !b->handle && zookeeper_close_take_request(b, pair[1]);
  } else {
    (void)close(pair[0]);
  }
  (void)close(pair[1]);
  return is_asked;
}

/* ---- the answer ---- */

/* Take what is complete off the beginning of close.bytes. Returns whether it was the answer. With TLS
 * that cannot be read, and whatever comes is taken for it. */
static bool zookeeper_close_heed(zookeeper *b) {
  if (b->tls) b->close.result = VOLT_OK;
  if (b->tls) return true;
  while (b->close.count > 0) {
    size_t used = b->close.skip < b->close.count ? b->close.skip : b->close.count;
    b->close.skip -= (uint32_t)used;
    b->close.count -= used;
    memmove(b->close.bytes, b->close.bytes + used, b->close.count);
    if (b->close.count < CLOSE_ANSWER) return false;
    if (zookeeper_close_number(b->close.bytes + 4) == b->close.xid) {
      if (zookeeper_close_number(b->close.bytes + 16) == 0) b->close.result = VOLT_OK;
      return true;
    }
    b->close.skip = 4 + (uint32_t)zookeeper_close_number(b->close.bytes);
  }
  return false;
}

static volt_future *zookeeper_close_until(zookeeper *b, volt_future *f) {
  return volt_timeout_future(&b->close.timeout, f, volt_rt_timers(b->rt), b->close.until_ns);
}

static volt_future *zookeeper_close_send(zookeeper *b) {
  return volt_fd_send_future(&b->close.op, &b->socket, b->close.bytes, b->close.count,
                             MSG_NOSIGNAL);
}

static volt_future *zookeeper_close_receive(zookeeper *b) {
  return volt_fd_recv_future(&b->close.op, &b->socket, b->close.bytes + b->close.count,
                             sizeof b->close.bytes - b->close.count, 0);
}

static int zookeeper_close_run(volt_async *a, volt_ctx *ctx) {
  zookeeper_closing *self = volt_container_of(a, zookeeper_closing, async);
  zookeeper *b = volt_container_of(self, zookeeper, close);
  int result;
  VOLT_ASYNC_BEGIN(self);
  VOLT_FINALLY(self); /* it is not given up halfway */
  if (b->close.count > 0) {
    VOLT_AWAIT_RESULT(self, result, zookeeper_close_until(b, zookeeper_close_send(b)));
    b->close.count = 0;
    while (result == VOLT_OK && b->close.result != VOLT_OK) {
      VOLT_AWAIT_RESULT(self, result, zookeeper_close_until(b, zookeeper_close_receive(b)));
      if (result != VOLT_OK || b->close.op.n == 0) break; /* the end: it was not answered */
      b->close.count += b->close.op.n;
      if (zookeeper_close_heed(b)) break;
    }
  }
  zookeeper_socket_close_(b);
  if (b->is_resolving) {
    b->close.until_ns = 0;
    VOLT_AWAIT_RESULT(self, result, zookeeper_close_until(b, &b->servers.async.future));
    b->is_resolving = false;
  }
  VOLT_RETURN(self, b->close.result);
  VOLT_ASYNC_END(self);
}

volt_future *zookeeper_close_future_(zookeeper *b) {
  zookeeper_wait_end_(b);
  b->close.result = VOLT_CLUSTER_EAWAY;
  b->close.count = 0;
  b->close.until_ns = volt_rt_now_ns(b->rt) + CLOSE_NS;
  if (b->handle && !zookeeper_close_ask(b)) {
    b->close.count = 0;
    zookeeper_link_free_(b);
  }
  b->phase = ZOOKEEPER_IDLE;
  b->is_closing = true;
  zookeeper_deliver_(b);
  return volt_async_future(&b->close.async, zookeeper_close_run);
}
