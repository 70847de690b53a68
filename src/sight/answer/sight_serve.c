/* sight_serve.c: volt-top's end in the process: a socket, at most four clients, a line asked, lines answered.
 * All of it runs on the thread volt-sight, but for the two functions that begin and end it.
 *
 * Invariants
 *   I1  a client has at most one answer, and is asked nothing more before that is sent. So its memory
 *       is bounded, and one that does not read cannot make work
 *   I2  a client's fd is -1 exactly while it is free. The thread writes it; volt_sight_serve() and
 *       volt_sight_serve_end_() do while nothing is served
 *   I3  a client with `stuck_ns` waits for room in its socket, and `clock` is due, or woken, at the
 *       latest when its patience ends. There may be some room: poll(2) reports it only when three
 *       quarters are free
 *
 * Races
 *   R1  Interleaving: volt_sight_serve_end_() closes a client while the thread reads from it. Prevented by:
 *       each descriptor is removed before it is closed, and the one that accepts is the first.
 *   R2  Interleaving: fork(): parent and child have the same socket, and both answer, or the child
 *       removes the file. Prevented by: the child closes what it has, as it begins.
 *   R3  Interleaving: the process ends while a thread begins or ends it. Prevented by: nothing is done
 *       then. The file may stay, and is removed as that of any process that was killed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include "sight_serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../core/os/check.h"
#include "../../rt/sched/thread.h"
#include "../watch/sight_thread.h"
#include "answer.h"
#include "socket_place.h"

typedef struct serve_client {
  volt_sight_fd_ fd;
  volt_json_ answer; /* at: NULL: no memory yet */
  size_t sent;
  uint64_t stuck_ns; /* since when it waits for room; 0: it does not */
  bool is_last;      /* it is closed once the answer is sent */
  size_t have;
  char line[SERVE_LINE_];
} serve_client;

static struct {
  VOLT_ATOMIC(uint64_t) busy; /* the process of which a thread begins or ends it; 0: none */
  bool is_on;
  pid_t process; /* that is served, while is_on */
  volt_socket_ socket;
  volt_sight_fd_ listener;
  volt_duty_ clock;
  bool is_deaf; /* accept() had no descriptor: it is tried again by the clock */
  serve_client client[SERVE_CLIENTS_];
} serve;

#define SERVE_DEAF_NS UINT64_C(500000000)

/* ---- a client ---- */

static serve_client *sight_serve_client_of(volt_sight_fd_ *fd) {
  return volt_container_of(fd, serve_client, fd);
}

static void sight_serve_free(serve_client *c) {
  close(c->fd.fd);
  free(c->answer.at);
  c->answer = (volt_json_){.at = NULL};
  c->fd.fd = -1; /* I2 */
}

static void sight_serve_drop(serve_client *c) {
  volt_sight_remove_fd_(&c->fd);
  sight_serve_free(c);
}

static void sight_serve_forget_client(volt_sight_fd_ *fd) {
  sight_serve_free(sight_serve_client_of(fd)); /* R2 */
}

/* Send what there is. Returns false: the client is gone. */
static bool sight_serve_send(serve_client *c) {
  while (c->sent < c->answer.size) {
    ssize_t n = send(c->fd.fd, c->answer.at + c->sent, c->answer.size - c->sent,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    c->sent += (size_t)n;
  }
  c->answer.size = 0;
  c->sent = 0;
  return !c->is_last;
}

/* Returns false: there is no memory for an answer. */
static bool sight_serve_has_memory(serve_client *c) {
  if (c->answer.at) return true;
  c->answer = (volt_json_){.at = (char *)malloc(SERVE_ANSWER_), .max = SERVE_ANSWER_};
  return c->answer.at != NULL;
}

/* Answer the first line, if it is whole. Returns false: no line is whole. */
static bool sight_serve_answer(serve_client *c) {
  char *end = (char *)memchr(c->line, '\n', c->have);
  if (!end) return false;
  size_t size = (size_t)(end - c->line);
  volt_answer_(c->line, size, &c->answer);
  c->have -= size + 1;
  memmove(c->line, end + 1, c->have);
  return true;
}

/* Returns false: it has closed its end. */
static bool sight_serve_read(serve_client *c) {
  ssize_t n = recv(c->fd.fd, c->line + c->have, SERVE_LINE_ - c->have, MSG_DONTWAIT);
  if (n == 0) c->is_last = true;
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  c->have += (size_t)n;
  return true;
}

/* One line is answered at a time, so that the thread gets to its other duties. */
static bool sight_serve_go_on(serve_client *c, short revents) {
  if (!sight_serve_has_memory(c)) return false;
  if (c->answer.size > 0) return sight_serve_send(c);
  if ((revents & POLLIN) && c->have < SERVE_LINE_ && !sight_serve_read(c)) return false;
  if (sight_serve_answer(c)) return sight_serve_send(c);
  if (c->have == SERVE_LINE_) {
    volt_answer_error_(&c->answer, "long", "a line has 4,095 bytes at most");
    c->is_last = true;
    return sight_serve_send(c);
  }
  return !c->is_last;
}

static void sight_serve_ready(volt_sight_fd_ *fd, short revents) {
  serve_client *c = sight_serve_client_of(fd);
  bool goes_on = !(revents & (POLLERR | POLLHUP | POLLNVAL)) && sight_serve_go_on(c, revents);
  if (!goes_on) {
    sight_serve_drop(c);
    return;
  }
  /* A line that is here already makes it go on as soon as something can be sent, I1. */
  bool has_more = c->answer.size > 0 || memchr(c->line, '\n', c->have);
  fd->events = has_more ? POLLOUT : POLLIN;
  c->stuck_ns = has_more ? volt_now_ns() : 0;
  if (has_more && serve.clock.at_ns > c->stuck_ns + SERVE_PATIENCE_NS_) {
    volt_sight_wake_(&serve.clock); /* I3 */
  }
}

/* ---- those that connect ---- */

static bool sight_serve_may(int fd) {
  uid_t user = (uid_t)-1;
  return volt_socket_peer_(fd, &user, NULL) == 0 && (user == geteuid() || user == 0);
}

static serve_client *sight_serve_free_client(void) {
  for (unsigned i = 0; i < SERVE_CLIENTS_; i++) {
    if (serve.client[i].fd.fd < 0) return &serve.client[i];
  }
  return NULL;
}

static void sight_serve_refuse(int fd) {
  char line[ANSWER_LEAST_];
  volt_json_ to = {.at = line, .max = sizeof line};
  volt_answer_error_(&to, "full", "four clients are connected already");
  (void)!send(fd, line, to.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  close(fd);
}

static void sight_serve_take(int fd) {
  serve_client *c = sight_serve_may(fd) ? sight_serve_free_client() : NULL;
  if (!c) {
    if (sight_serve_may(fd)) {
      sight_serve_refuse(fd);
    } else {
      close(fd); /* not a word */
    }
    return;
  }
  *c = (serve_client){.fd = {.fd = fd,
                             .events = POLLIN,
                             .ready = sight_serve_ready,
                             .forget = sight_serve_forget_client}};
  if (volt_sight_add_fd_(&c->fd) != VOLT_OK) sight_serve_free(c);
}

static void sight_serve_accept(volt_sight_fd_ *listener, short revents) {
  (void)revents;
  int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    sight_serve_take(fd);
    return;
  }
  bool is_nothing = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  if (is_nothing) return;
  serve.is_deaf = true; /* no descriptor is left: do not ask again and again */
  listener->events = 0;
  volt_sight_wake_(&serve.clock);
}

static void sight_serve_forget_listener(volt_sight_fd_ *listener) {
  (void)listener;
  volt_socket_forget_(&serve.socket); /* R2 */
  serve.is_on = false;
}

/* ---- time ---- */

static void sight_serve_tick(volt_duty_ *clock, uint64_t now_ns) {
  if (serve.is_deaf) {
    serve.is_deaf = false;
    clock->at_ns = now_ns + SERVE_DEAF_NS;
  } else {
    serve.listener.events = POLLIN;
  }
  for (unsigned i = 0; i < SERVE_CLIENTS_; i++) {
    serve_client *c = &serve.client[i];
    if (c->fd.fd < 0 || c->stuck_ns == 0) continue;
    uint64_t end_ns = c->stuck_ns + SERVE_PATIENCE_NS_;
    if (end_ns <= now_ns) {
      sight_serve_drop(c);
    } else if (end_ns < clock->at_ns) {
      clock->at_ns = end_ns; /* I3 */
    }
  }
}

/* ---- begin and end ---- */

static void sight_serve_enter(void) {
  uint64_t seen = 0, self = volt_thread_process_();
  /* sight_serve:B1 <- sight_serve:B2: this thread sees what the one before has left */
  while (!volt_cas_acquire(&serve.busy, &seen, self)) {
    VOLT_CHECK(seen != self, "volt_sight_serve", "two threads begin or end it at once");
    serve.is_on = false; /* this is a child; a thread of its parent has begun: R2 */
  }
}

static void sight_serve_leave(void) {
  /* sight_serve:B2 -> sight_serve:B1, sight_serve:B3: the next thread sees what this one leaves */
  volt_store_release(&serve.busy, 0);
}

static void sight_serve_stop(void) {
  if (!serve.is_on) return;
  volt_sight_remove_fd_(&serve.listener); /* R1 */
  volt_sight_remove_(&serve.clock);
  for (unsigned i = 0; i < SERVE_CLIENTS_; i++) {
    volt_sight_remove_fd_(&serve.client[i].fd);
    if (serve.client[i].fd.fd >= 0) sight_serve_free(&serve.client[i]);
  }
  volt_socket_end_(&serve.socket);
  serve.is_on = false;
}

static int sight_serve_start(void) {
  for (unsigned i = 0; i < SERVE_CLIENTS_; i++) serve.client[i].fd.fd = -1;
  serve.is_deaf = false;
  serve.clock = (volt_duty_){.at_ns = VOLT_NO_DEADLINE, .run = sight_serve_tick};
  serve.listener = (volt_sight_fd_){.fd = serve.socket.fd,
                                    .events = POLLIN,
                                    .ready = sight_serve_accept,
                                    .forget = sight_serve_forget_listener};
  serve.process = getpid();
  serve.is_on = true; /* before the thread may see a fork() */
  int result = volt_sight_add_(&serve.clock);
  if (result != VOLT_OK) return result;
  result = volt_sight_add_fd_(&serve.listener);
  if (result != VOLT_OK) volt_sight_remove_(&serve.clock);
  return result;
}

static int sight_serve_begin(const char *path) {
  char place[VOLT_SOCKET_PATH_];
  sight_serve_stop();
  int error = path ? 0 : volt_socket_place_(getpid(), place);
  if (error == 0) error = volt_socket_listen_(&serve.socket, path ? path : place);
  if (error != 0) return error == EINVAL ? (int)VOLT_EINVAL : VOLT_ERRNO(error);
  int result = sight_serve_start();
  if (result == VOLT_OK) return VOLT_OK;
  volt_socket_end_(&serve.socket);
  serve.is_on = false;
  return VOLT_ENOMEM;
}

int volt_sight_serve(const char *path) {
  VOLT_CHECK(!volt_sight_is_here_(), "volt_sight_serve", "called from a report");
  int saved = errno;
  sight_serve_enter();
  int result = sight_serve_begin(path);
  sight_serve_leave();
  errno = saved;
  return result;
}

void volt_sight_serve_end_(void) {
  int saved = errno;
  sight_serve_enter();
  sight_serve_stop();
  sight_serve_leave();
  errno = saved;
}

/* The process ends, as by a return from main(), or the library is unloaded. Other threads may run still. */
static VOLT_AT_UNLOAD_ void sight_serve_unload(void) {
  uint64_t seen = 0;
  /* sight_serve:B3 <- sight_serve:B2: this thread sees whether and where it is served; R3 */
  if (!volt_cas_acquire(&serve.busy, &seen, volt_thread_process_())) return;
  if (serve.is_on && serve.process == getpid()) volt_socket_remove_(&serve.socket); /* R2 */
  sight_serve_leave();
}
