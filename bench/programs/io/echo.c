/* echo.c: so many connections, each of which has one message under way at most.
 *
 * Closed loop: a connection sends its next message when it has the answer. At a fixed rate: message
 * j is due at j / rate, on connection j % tasks; its wait is counted from when it was due, also if
 * the connection still waits for the answer to the one before. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "io.h"

enum { EVENTS = 512, NAP_NS = 10000000, LAST_SECONDS = 2 };

typedef struct echo {
  const io_options *o;
  int epoll;
  io_conn *conns;
  uint64_t *owed;      /* by connection: messages that are due while it waits, at a fixed rate */
  uint64_t began, due; /* due: messages of all connections so far */
  uint32_t under_way;
  bool last; /* what is answered is followed by nothing */
} echo;

static uint64_t due_at(const echo *e, uint64_t message) {
  return e->began + (uint64_t)((double)message * 1e9 / e->o->rate);
}

/* At a fixed rate a connection sends its messages in the order in which they are due. */
static uint64_t next_due(const echo *e, const io_conn *c) {
  return due_at(e, (uint64_t)c->count * e->o->tasks + c->number);
}

static void send_one(echo *e, io_conn *c, uint64_t since) {
  e->under_way += 1;
  io_conn_send(e->epoll, c, since);
}

static void send_due(echo *e, uint64_t now) {
  for (; due_at(e, e->due) <= now; e->due++) {
    io_conn *c = &e->conns[e->due % e->o->tasks];
    if (e->owed[c->number]++ == 0) send_one(e, c, next_due(e, c));
  }
}

static void answered(echo *e, io_conn *c, io_said *said) {
  uint64_t now = io_now();
  said->operations += 1;
  histogram_add(&said->waits, now > c->since ? now - c->since : 0);
  e->under_way -= 1;
  if (e->last) return;
  io_work(e->o->work);
  if (e->o->rate == 0) {
    send_one(e, c, e->o->work ? io_now() : now);
  } else if (--e->owed[c->number] > 0) {
    send_one(e, c, next_due(e, c));
  }
}

static int take_answers(echo *e, const struct timespec *nap, io_said *said) {
  struct epoll_event events[EVENTS];
  int n = epoll_pwait2(e->epoll, events, EVENTS, nap, NULL);
  for (int i = 0; i < n; i++) {
    io_conn *c = (io_conn *)events[i].data.ptr;
    if (io_conn_go_on(e->epoll, c, events[i].events)) answered(e, c, said);
  }
  return n;
}

/* Nothing is lost: every message has its answer, in the end. */
static void take_last(echo *e) {
  static io_said unsaid;
  const struct timespec nap = {.tv_sec = LAST_SECONDS};
  e->last = true;
  while (e->under_way > 0) {
    if (take_answers(e, &nap, &unsaid) < 1) io_fail("%u answers do not come", e->under_way);
  }
}

static void go(echo *e, const io_children *children, io_said *said) {
  io_window window = io_window_new(e->o);
  for (;;) {
    uint64_t now = io_now();
    if (io_window_over(&window, children, said, now)) return;
    struct timespec nap = {.tv_nsec = NAP_NS};
    if (e->o->rate) {
      send_due(e, now);
      uint64_t next = due_at(e, e->due), after = io_now();
      uint64_t wait = next > after ? next - after : 0;
      nap.tv_nsec = wait < NAP_NS ? (long)wait : NAP_NS;
    }
    take_answers(e, &nap, said);
  }
}

void io_echo(const io_options *o, const io_children *children, io_said *said) {
  echo e = {.o = o, .epoll = epoll_create1(EPOLL_CLOEXEC)};
  e.conns = (io_conn *)calloc(o->tasks, sizeof *e.conns);
  e.owed = (uint64_t *)calloc(o->tasks, sizeof *e.owed);
  if (!e.conns || !e.owed) io_fail("no memory");
  prctl(PR_SET_TIMERSLACK, 1000);
  for (uint32_t i = 0; i < o->tasks; i++) {
    e.conns[i] = (io_conn){.number = i, .size = o->amount};
    if (!io_conn_open(&e.conns[i], children->port, o->tls, i))
      io_fail("connection %u of %u is refused", i, o->tasks);
    io_conn_watch(e.epoll, &e.conns[i]);
  }
  e.began = io_now();
  for (uint32_t i = 0; i < o->tasks && o->rate == 0; i++) {
    send_one(&e, &e.conns[i], io_now());
  }
  go(&e, children, said);
  take_last(&e);
  free(e.conns);
  free(e.owed);
  close(e.epoll);
}
