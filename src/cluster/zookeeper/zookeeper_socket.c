/* zookeeper_socket.c: the client's socket, and the wait for it, for a time, and for names.
 *
 * The client opens and closes its socket itself. What is watched is a dup of it. Another socket is
 * known by its inode: the dup keeps the old one, so that no new one has the same.
 *
 * The three futures of the wait stay pending from one wait to the next (VOLT_SELECT_KEEP), because a
 * lookup of a name cannot be ended at once. They only wake: process() asks the socket, and the
 * clock, itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "zookeeper.h"
#include "zookeeper_socket.h"

/* The client rounds its times: the timer may fire so much too early, instead of being set anew. */
#define WAIT_EARLY_NS UINT64_C(2000000)

enum { WAIT_SOCKET = 0, WAIT_TIMER = 1, WAIT_NAMES = 2, WAIT_COUNT = 3 };

static void zookeeper_socket_disarm(zookeeper *b) {
  if (b->wait.socket_armed) volt_future_cancel(&b->wait.socket_op.as.future);
  b->wait.socket_armed = 0;
}

void zookeeper_socket_close_(zookeeper *b) {
  zookeeper_socket_disarm(b);
  if (b->socket.number >= 0) volt_fd_close(&b->socket);
  b->socket.number = -1;
  b->number = -1;
}

bool zookeeper_socket_set_(zookeeper *b, int number) {
  struct stat now, before;
  if (number >= 0 && number == b->number && b->phase == ZOOKEEPER_CONNECTED) return true;
  if (number < 0 || fstat(number, &now) != 0) {
    zookeeper_socket_close_(b);
    return true;
  }
  if (b->socket.number >= 0 && fstat(b->socket.number, &before) == 0 &&
      before.st_ino == now.st_ino && before.st_dev == now.st_dev) {
    b->number = number;
    return true;
  }
  zookeeper_socket_close_(b);
  (void)fcntl(number, F_SETFD, FD_CLOEXEC);
  int dup = fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (dup >= 0 && volt_fd_init(&b->socket, b->rt, dup, 0) == VOLT_OK) {
    b->number = number;
    return true;
  }
  if (dup >= 0) (void)close(dup);
  b->socket.number = -1;
  return false;
}

/* ---- the wait ---- */

static void zookeeper_wait_arm_socket(zookeeper *b) {
  unsigned events = b->socket.number >= 0 ? b->events : 0;
  if (b->phase != ZOOKEEPER_TRYING && b->phase != ZOOKEEPER_CONNECTED) events = 0;
  if (b->wait.socket_armed != events) zookeeper_socket_disarm(b);
  if (events && !b->wait.socket_armed)
    volt_future_made(volt_fd_ready_future(&b->wait.socket_op, &b->socket, events));
  b->wait.socket_armed = events;
  b->wait.branches[WAIT_SOCKET] = events ? &b->wait.socket_op.as.future : NULL;
}

static void zookeeper_wait_arm_timer(zookeeper *b) {
  uint64_t at = b->wait.due_ns;
  struct itimerspec spec = {.it_value.tv_sec = (time_t)(at / 1000000000u),
                            .it_value.tv_nsec = (long)(at % 1000000000u)};
  if (at == VOLT_NO_DEADLINE) spec.it_value = (struct timespec){0}; /* never */
  bool is_soon = b->wait.is_timer_armed && at >= b->wait.timer_at_ns &&
                 at - b->wait.timer_at_ns < WAIT_EARLY_NS;
  if (!is_soon) {
    b->wait.timer_at_ns = at;
    (void)timerfd_settime(b->timer.number, TFD_TIMER_ABSTIME, &spec, NULL);
  }
  if (!b->wait.is_timer_armed)
    volt_future_made(volt_fd_ready_future(&b->wait.timer_op, &b->timer, POLLIN));
  b->wait.is_timer_armed = true;
  b->wait.branches[WAIT_TIMER] = &b->wait.timer_op.as.future;
}

static void zookeeper_wait_note_winner(zookeeper *b) {
  switch (volt_select_winner(&b->wait.select)) {
    case WAIT_SOCKET: b->wait.socket_armed = 0; break;
    case WAIT_TIMER: b->wait.is_timer_armed = false; break;
    case WAIT_NAMES: b->is_resolving = false; break;
    default: break;
  }
}

static int zookeeper_wait_run(volt_async *a, volt_ctx *ctx) {
  zookeeper_waits *self = volt_container_of(a, zookeeper_waits, async);
  zookeeper *b = volt_container_of(self, zookeeper, wait);
  int result;
  VOLT_ASYNC_BEGIN(self);
  if (b->wait.due_ns == 0) VOLT_RETURN(self, VOLT_OK);
  zookeeper_wait_arm_socket(b);
  zookeeper_wait_arm_timer(b);
  b->wait.branches[WAIT_NAMES] = b->is_resolving ? &b->servers.async.future : NULL;
  VOLT_AWAIT_RESULT(self, result,
                    volt_select_future(&b->wait.select, b->wait.branches, WAIT_COUNT,
                                       VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
  zookeeper_wait_note_winner(b);
  VOLT_RETURN(self, result == VOLT_ECANCELED ? VOLT_ECANCELED : VOLT_OK);
  VOLT_ASYNC_END(self);
}

volt_future *zookeeper_wait_future_(zookeeper *b) {
  return volt_async_future(&b->wait.async, zookeeper_wait_run);
}

void zookeeper_wait_end_(zookeeper *b) {
  zookeeper_socket_disarm(b);
  if (b->wait.is_timer_armed) volt_future_cancel(&b->wait.timer_op.as.future);
  b->wait.is_timer_armed = false;
}
