/* handover.c: a process of voltgate takes over from another one.
 *
 * The old process serves a unix socket. The new one connects before it opens its listeners, and is
 * given copies of the old one's. When its gates could accept, it says so (READY). Then the old one
 * stops to accept, says how many permits there are and how many its queue needs, and GO. From then on
 * the new one accepts; the old one has its clients until they have finished, and gives and borrows
 * permits (ledger.c). In between no process accepts, for less than a millisecond: clients are in the
 * kernel's backlog, which belongs to the sockets, and so to both. That the two never accept at once
 * is what keeps the order of clients: those of the old queue are in the new queue before any other.
 *
 * Clients of permit gates go to the new one with what they hold, between READY and GO (after_pass.c,
 * before_adopt.c).
 *
 * If one dies
 *   new, before READY       the old one has changed nothing
 *   new, before GO          clients of permit gates go on in the old one, as if nothing had been
 *   new, after GO           the old one has kept the sockets. It accepts again, and the permits are its
 *                           own again. Clients of the new one are lost, as in any crash; of permit gates, they claim
 *   new, by SIGTERM         it says LEAVES before; the old one accepts no more, and drains
 *   old, before it offers   the new one opens its listeners, as if there had been no other
 *   old, after it offered   the new one has copies of its listeners, and goes on alone
 *   old, before GO          the same; its clients are lost, also those that were sent; of permit gates, they claim
 *   old, after GO           all permits are the new one's
 *   old, at its end         the same: the end of its socket is how it says so
 * A process never closes the socket while it lives and has permits: what one hears as the end is the
 * end of the other. If what the other says makes no sense, it keeps what it has until it ends.
 *
 * A second successor is refused with words while there is a first, and while the process before
 * still has clients: at most two processes share the permits. A successor that speaks another
 * version is refused. So is one of another user, but for root.
 *
 * Unix sockets keep their paths: the old process does not remove those that the new one has taken. A
 * listener that the new one does not have is closed, and its path removed. A gate that it does not
 * have drains, as after a reload that takes it away: the old process would never end otherwise.
 *
 * One thread in each process does all of it; the only clients that wait for it are those that queue
 * in the old process. An eventfd wakes it: a write, which is possible from any thread and from within
 * any wake. */
#define _GNU_SOURCE /* strdup */
#include "handover/handover.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "handover/state.h"
#include "process/log.h"

enum { HANDOVER_TICK_MS = 50, HANDOVER_STOPS_MS = 1 };

/* ---- state ---- */

void handover_set_state(struct handover *h, enum handover_state state) {
  /* relaxed: it is shown; what depends on it is under program->control */
  atomic_store_explicit(&h->program->handing, state, memory_order_relaxed);
}

static void handover_ring(int number) {
  const uint64_t one = 1;
  (void)!write(number, &one, sizeof one);
}

static void handover_is_told(void *handover) {
  handover_ring(((struct handover *)handover)->told);
}

struct ledger_tell handover_tell(struct handover *h) {
  return (struct ledger_tell){handover_is_told, h};
}

/* ---- offers ---- */

bool offers_add(struct offers *o, enum message_listener of, const char *gate, const char *text,
                int number) {
  if (o->count == o->room) {
    size_t room = o->room ? 2 * o->room : 8;
    struct offer *all = (struct offer *)realloc(o->all, room * sizeof *all);
    if (!all) return false;
    o->all = all;
    o->room = room;
  }
  struct offer *one = &o->all[o->count];
  *one = (struct offer){.of = of, .gate = strdup(gate), .text = strdup(text), .number = number};
  bool is_whole = one->gate && one->text;
  o->count += is_whole;
  if (is_whole) return true;
  free(one->gate);
  free(one->text);
  return false;
}

bool offers_locate(struct offers *o, const char *address) {
  if (o->count == 0 || o->all[o->count - 1].address) return false;
  o->all[o->count - 1].address = strdup(address);
  return o->all[o->count - 1].address != NULL;
}

void offers_clear(struct offers *o) {
  for (size_t i = 0; i < o->count; i++) {
    if (o->all[i].number >= 0) close(o->all[i].number);
    free(o->all[i].gate);
    free(o->all[i].text);
    free(o->all[i].address);
  }
  free(o->all);
  *o = (struct offers){0};
}

/* ---- the thread ---- */

static bool handover_has_other(const struct handover *h) {
  return channel_is_open(&h->before) || h->stage != AFTER_NONE;
}

static struct pollfd handover_channel(const struct channel *c) {
  return (struct pollfd){.fd = c->number, .events = (short)(c->is_deaf ? 0 : POLLIN)};
}

static void handover_clear(int number) {
  uint64_t count;
  (void)!read(number, &count, sizeof count);
}

/* Returns false: it has to end. */
static bool handover_step(struct handover *h) {
  struct pollfd of[] = {{.fd = h->stop, .events = POLLIN},
                        {.fd = h->told, .events = POLLIN},
                        {.fd = h->is_passed_on ? -1 : h->listener, .events = POLLIN},
                        handover_channel(&h->before),
                        handover_channel(&h->after)};
  int tick_ms = handover_has_other(h) ? HANDOVER_TICK_MS : -1;
  if (h->stage == AFTER_STOPS) tick_ms = HANDOVER_STOPS_MS; /* clients wait */
  if (poll(of, 5, tick_ms) < 0) return true;
  if (of[0].revents) return false;
  if (of[1].revents) handover_clear(h->told);
  if (of[2].revents) after_accept(h);
  if (atomic_load_explicit(&h->program->is_draining, memory_order_acquire)) before_leave(h);
  if (h->before.is_deaf && (of[3].revents & (POLLHUP | POLLERR))) before_end(h);
  if (h->after.is_deaf && (of[4].revents & (POLLHUP | POLLERR))) after_is_gone(h);
  before_look(h);
  after_look(h);
  after_follow_drain(h);
  return true;
}

static void *handover_thread(void *arg) {
  struct handover *h = (struct handover *)arg;
  while (handover_step(h)) continue;
  return NULL;
}

bool handover_run(struct handover *h) {
  if (channel_is_open(&h->before)) {
    h->before.stop = h->stop;
    (void)channel_send(&h->before, MESSAGE_ACCEPTS, 0, NULL, NULL);
  }
  if (!h->path && !channel_is_open(&h->before)) return true;
  h->is_running = pthread_create(&h->thread, NULL, handover_thread, h) == 0;
  return h->is_running;
}

/* ---- life ---- */

struct handover *handover_new(struct program *p) {
  struct handover *h = (struct handover *)calloc(1, sizeof *h);
  if (!h) return NULL;
  h->program = p;
  h->listener = h->admin = h->incoming.number = -1;
  channel_open(&h->before, -1, -1);
  channel_open(&h->after, -1, -1);
  h->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  h->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (h->told >= 0 && h->stop >= 0) return h;
  handover_free(h);
  return NULL;
}

void handover_stop(struct handover *h) {
  if (!h) return;
  handover_ring(h->stop);
  if (h->is_running) pthread_join(h->thread, NULL);
  h->is_running = false;
  if (atomic_load_explicit(&h->program->is_draining, memory_order_acquire)) before_leave(h);
  before_end(h);
  after_end(h);
  before_forget_offers(h);
  if (h->path && !h->is_passed_on) unlink(h->path);
  free(h->path);
  h->path = NULL;
}

void handover_free(struct handover *h) {
  if (!h) return;
  while (h->given) {
    struct given *next = h->given->next;
    free(h->given);
    h->given = next;
  }
  if (h->listener >= 0) close(h->listener);
  if (h->told >= 0) close(h->told);
  if (h->stop >= 0) close(h->stop);
  free(h);
}
