/* channel_stress.c: threads and tasks send and receive in all ways, one element and several, and
 * give up; channels are closed at random, and end by the hand of whoever receives the last element.
 *
 * The books (chan_books.h): each element is received once or given back, in the order of its
 * sender. Waiters, futures and elements are poisoned as soon as they are the owner's again. */
#include <sched.h>
#include <stdlib.h>

#include <volt/runtime.h>
#include "chan_books.h"

enum { MOST = 5, TASKS = 8, LARGEST = 64 };
enum { PARTIES = STRESS_MAX_THREADS + TASKS + 1 }; /* the last one: what is left at the end */

static struct {
  volt_chan chan;
  uint64_t memory[LARGEST * (1 + sizeof(chan_msg) / 8)];
  volt_rt *rt;
} shared;

static chan_book books[PARTIES];

/* One closes, one has the tasks, and one sends and one receives at least. */
static unsigned threads(void) {
  return stress_threads() < 4 ? 4 : stress_threads();
}

/* What an operation refers to: its own memory for each operation. */
typedef struct attempt {
  volt_waiter waiter;
  volt_future future;
  chan_msg elems[MOST];
  bool sends;
  uint32_t n;
  uint32_t moved;
} attempt;

static attempt *new_attempt(stress_worker *w, bool sends) {
  attempt *a = (attempt *)malloc(sizeof *a);
  STRESS_CHECK(a != NULL);
  chan_poison(a, sizeof *a);
  memset((void *)&a->waiter, 0, sizeof a->waiter);
  a->sends = sends;
  a->n = 1 + stress_below(w, MOST);
  a->moved = 0;
  if (sends) chan_make(&books[w->index], w->index, a->elems, a->n);
  return a;
}

static int end_attempt(stress_worker *w, attempt *a, int result) {
  chan_book *b = &books[w->index];
  if (result == VOLT_OK) {
    STRESS_CHECK(a->moved >= 1 && a->moved <= a->n);
    if (a->sends) chan_sent(b, w->index, a->moved);
    if (!a->sends) chan_received(b, a->elems, a->moved);
    w->acquired += a->moved;
  } else {
    w->gave_up += 1;
  }
  chan_poison(a, sizeof *a);
  free(a);
  return result;
}

static uint64_t soon(stress_worker *w) {
  return stress_below(w, 4) == 0 ? 0 : volt_deadline_ns(stress_below(w, 30000));
}

/* ---- ways ---- */

static int way_try(stress_worker *w, attempt *a) {
  (void)w;
  if (a->n == 1) {
    a->moved = 1;
    return a->sends ? volt_chan_try_send(&shared.chan, a->elems)
                    : volt_chan_try_recv(&shared.chan, a->elems);
  }
  return a->sends ? volt_chan_try_send_many(&shared.chan, a->elems, a->n, &a->moved)
                  : volt_chan_try_recv_many(&shared.chan, a->elems, a->n, &a->moved);
}

static int way_blocking(stress_worker *w, attempt *a) {
  uint64_t deadline_ns = stress_below(w, 2) ? VOLT_NO_DEADLINE : soon(w);
  if (a->n == 1) {
    a->moved = 1;
    return a->sends ? volt_chan_send_until(&shared.chan, a->elems, deadline_ns)
                    : volt_chan_recv_until(&shared.chan, a->elems, deadline_ns);
  }
  return a->sends ? volt_chan_send_many_until(&shared.chan, a->elems, a->n, &a->moved, deadline_ns)
                  : volt_chan_recv_many_until(&shared.chan, a->elems, a->n, &a->moved, deadline_ns);
}

/* Wait by looking, give up or replace the waker now and then. */
static int by_hand(stress_worker *w, attempt *a, stress_slot *slot) {
  uint32_t patience = stress_below(w, 2) ? UINT32_MAX : stress_below(w, 16);
  volt_chan *c = &shared.chan;
  int result;
  slot->expected += 1;
  while ((result = volt_waiter_result(&a->waiter)) == VOLT_PENDING && patience-- > 0) {
    stress_dawdle(w);
    if (stress_below(w, 16) > 0) continue;
    stress_slot *other = stress_any_slot(w);
    if (!volt_waiter_set_waker(&a->waiter, stress_waker(other))) continue;
    slot->expected -= 1;
    other->expected += 1;
    slot = other;
  }
  if (result != VOLT_PENDING) return result;
  if (a->sends ? volt_chan_cancel_send(c, &a->waiter) : volt_chan_cancel_recv(c, &a->waiter)) {
    slot->expected -= 1;
    return VOLT_ECANCELED;
  }
  return volt_waiter_result(&a->waiter);
}

static int way_by_hand(stress_worker *w, attempt *a) {
  volt_chan *c = &shared.chan;
  stress_slot *slot = stress_any_slot(w);
  volt_waker waker = stress_waker(slot);
  int result;
  if (a->n == 1) {
    result = a->sends ? volt_chan_send_waiter(c, &a->waiter, a->elems, waker)
                      : volt_chan_recv_waiter(c, &a->waiter, a->elems, waker);
    a->moved = 1;
  } else {
    result = a->sends ? volt_chan_send_many_waiter(c, &a->waiter, a->elems, a->n, waker)
                      : volt_chan_recv_many_waiter(c, &a->waiter, a->elems, a->n, waker);
  }
  if (result == VOLT_PENDING) result = by_hand(w, a, slot);
  if (a->n > 1) a->moved = volt_chan_moved(&a->waiter);
  return result;
}

static int way_future(stress_worker *w, attempt *a) {
  volt_chan *c = &shared.chan;
  volt_waker nobody = {NULL, NULL};
  if (a->sends) volt_future_made(volt_chan_send_many_future(&a->future, c, a->elems, a->n));
  if (!a->sends) volt_future_made(volt_chan_recv_many_future(&a->future, c, a->elems, a->n));
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 16); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(&a->future, nobody);
    stress_dawdle(w);
  }
  if (result == VOLT_PENDING) volt_future_cancel(&a->future);
  result = volt_future_poll(&a->future, nobody);
  a->moved = volt_chan_future_moved(&a->future);
  return result;
}

/* Returns whether the channel is closed, and for a receiver empty. */
static bool run_one(stress_worker *w, bool sends) {
  static int (*const ways[])(stress_worker *, attempt *) = {way_try, way_blocking, way_by_hand,
                                                            way_future};
  attempt *a = new_attempt(w, sends);
  int result = end_attempt(w, a, ways[stress_below(w, 4)](w, a));
  stress_progress(w, sends ? "send" : "receive");
  if (stress_below(w, 4) == 0) stress_dawdle(w);
  return result == VOLT_ECLOSED;
}

/* A waker that uses the channel that it is called by, on whichever thread: it moves nothing. */
static void wake_looks(void *arg) {
  volt_chan *c = (volt_chan *)arg;
  volt_waiter w = VOLT_WAITER_INIT;
  uint32_t moved = 1;
  STRESS_CHECK(volt_chan_len(c) <= volt_chan_capacity(c));
  (void)volt_chan_waiters(c);
  (void)volt_chan_is_closed(c);
  STRESS_CHECK(volt_chan_try_recv_many(c, NULL, 0, &moved) == VOLT_OK && moved == 0);
  STRESS_CHECK(volt_chan_cancel_recv(c, &w));
}

/* ---- tasks ---- */

typedef struct party {
  volt_task task;
  uint32_t index; /* of its book */
  rng random;
  volt_future future;
  volt_timeout timeout;
  chan_msg elems[MOST];
  bool sends;
  uint32_t n;
  uint32_t left; /* how often yet */
  int result;
} party;

static party parties[TASKS];
static chan_book *book_of(const party *p) {
  return &books[p->index];
}

static volt_future *operation(party *p) {
  volt_chan *c = &shared.chan;
  p->sends = rng_below(&p->random, 8) < 4 + p->index % 2;
  p->n = 1 + rng_below(&p->random, MOST);
  chan_poison(p->elems, sizeof p->elems);
  chan_poison(&p->future, sizeof p->future);
  if (p->sends) {
    chan_make(book_of(p), p->index, p->elems, p->n);
    volt_future_made(volt_chan_send_many_future(&p->future, c, p->elems, p->n));
  } else {
    volt_future_made(volt_chan_recv_many_future(&p->future, c, p->elems, p->n));
  }
  if (rng_below(&p->random, 2)) return &p->future;
  uint64_t deadline_ns = volt_deadline_ns(rng_below(&p->random, 100000));
  return volt_timeout_future(&p->timeout, &p->future, volt_rt_timers(shared.rt), deadline_ns);
}

static void account_for(party *p) {
  uint32_t moved = volt_chan_future_moved(&p->future);
  if (p->result != VOLT_OK) return;
  STRESS_CHECK(moved >= 1 && moved <= p->n);
  if (p->sends) chan_sent(book_of(p), p->index, moved);
  if (!p->sends) chan_received(book_of(p), p->elems, moved);
}

/* Sends and receives, until it is cancelled or the channel closed. */
static int trades(volt_task *t, volt_ctx *ctx) {
  party *p = volt_container_of(t, party, task);
  VOLT_TASK_BEGIN(p);
  for (; p->left > 0; p->left--) {
    VOLT_AWAIT_RESULT(p, p->result, operation(p));
    account_for(p);
    if (p->result == VOLT_ECLOSED || p->result == VOLT_ECANCELED) VOLT_RETURN(p, p->result);
  }
  VOLT_TASK_END(p);
}

static void run_tasks(stress_worker *w) {
  for (uint32_t i = 0; i < TASKS; i++) {
    party *p = &parties[i];
    memset((void *)p, 0, sizeof *p);
    p->index = STRESS_MAX_THREADS + i;
    p->random = rng_seeded(stress_below(w, UINT32_MAX));
    p->left = 1 + stress_below(w, 200);
    volt_task_init(&p->task, trades);
    STRESS_CHECK(volt_spawn(shared.rt, &p->task) == VOLT_OK);
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    uint64_t deadline_ns = volt_deadline_ns(stress_below(w, 300000));
    if (stress_below(w, 2)) (void)volt_task_join_until(&parties[i].task, deadline_ns);
    if (stress_below(w, 2)) (void)volt_task_cancel(&parties[i].task);
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    (void)volt_task_join(&parties[i].task);
    volt_task_detach(&parties[i].task);
    w->acquired += 1;
    stress_progress(w, "tasks");
  }
}

/* ---- everything at once, until it is closed ---- */

struct mixed {
  uint32_t senders; /* of the threads; the first one closes, the last one has the tasks */
  uint64_t close_ns;
};

static void mixed_body(stress_worker *w, void *arg) {
  struct mixed *m = (struct mixed *)arg;
  stress_arm(w, 0, wake_looks, &shared.chan);
  if (w->index == 0) {
    volt_parker parker = VOLT_PARKER_INIT;
    while (!stress_stopping() && volt_now_ns() < m->close_ns) {
      (void)volt_park_until(&parker, 1, volt_deadline_ns(200000));
    }
    volt_chan_close(&shared.chan);
  } else if (w->index == threads() - 1) {
    while (!volt_chan_is_closed(&shared.chan)) run_tasks(w);
  } else {
    bool sends = w->index <= m->senders;
    uint32_t other = stress_below(w, 2) ? 16 : 0; /* of 64, how often it does the reverse */
    while (!run_one(w, stress_below(w, 64) < other ? !sends : sends)) continue;
  }
}

static void init_chan(rng *r) {
  static const uint32_t capacities[] = {1, 2, 7, LARGEST};
  uint32_t capacity = capacities[rng_below(r, 4)];
  chan_poison(shared.memory, sizeof shared.memory);
  STRESS_CHECK(volt_chan_init(&shared.chan, capacity, sizeof(chan_msg), shared.memory,
                              sizeof shared.memory) == VOLT_OK);
}

static void mixed_round(rng *r) {
  struct mixed m = {1 + rng_below(r, threads() - 3), volt_deadline_ns(0)};
  m.close_ns = volt_deadline_ns(rng_below(r, 2) ? 20000000 : rng_below(r, 2000000));
  init_chan(r);
  stress_round(threads(), 20000000, mixed_body, &m);
  STRESS_CHECK(volt_chan_waiters(&shared.chan) == 0);
  volt_chan_destroy(&shared.chan, chan_dropped, &books[PARTIES - 1]);
  chan_poison(&shared.chan, sizeof shared.chan);
  chan_balance(books, PARTIES);
}

/* ---- whoever receives the last element ends the channel, while its sender still returns ---- */

typedef struct heirloom {
  volt_chan chan;
  uint64_t memory[2 * (1 + sizeof(chan_msg) / 8)];
} heirloom;

/* One after the other: each sender puts one element into each. */
static struct {
  VOLT_ATOMIC(uint64_t) generation; /* OVER: there will be no more */
  heirloom *present;                /* published by the generation */
} estate;

#define OVER UINT64_MAX

static void inherit(stress_worker *w) {
  for (uint64_t generation = 1; !stress_stopping(); generation++) {
    heirloom *h = (heirloom *)malloc(sizeof *h);
    STRESS_CHECK(h != NULL);
    STRESS_CHECK(volt_chan_init(&h->chan, 1 + stress_below(w, 2), sizeof(chan_msg), h->memory,
                                sizeof h->memory) == VOLT_OK);
    estate.present = h;
    volt_store_release(&estate.generation, generation);
    for (uint32_t received = 0; received < threads() - 1;) {
      chan_msg m[MOST];
      uint32_t moved = 0;
      int result = volt_chan_recv_many_until(&h->chan, m, MOST, &moved, soon(w));
      STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT);
      chan_received(&books[w->index], m, moved);
      received += moved;
    }
    volt_chan_destroy(&h->chan, NULL, NULL);
    chan_poison(h, sizeof *h);
    free(h);
    w->acquired += 1;
    stress_progress(w, "inherit");
  }
  volt_store_release(&estate.generation, OVER);
}

/* Without waiting: a send that waits ends when it has returned. */
static void bequeath(stress_worker *w) {
  for (uint64_t mine = 1;; mine++) {
    uint64_t generation;
    while ((generation = volt_load_acquire(&estate.generation)) < mine) stress_dawdle(w);
    if (generation == OVER) return;
    volt_chan *c = &estate.present->chan;
    chan_msg m;
    chan_make(&books[w->index], w->index, &m, 1);
    chan_sent(&books[w->index], w->index, 1);
    int result;
    do {
      stress_dawdle(w);
      result = volt_chan_try_send(c, &m); /* the last look at it, if it is sent */
    } while (result == VOLT_EAGAIN);
    STRESS_CHECK(result == VOLT_OK);
  }
}

static void heirloom_body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) inherit(w);
  if (w->index > 0) bequeath(w);
}

static void heirloom_round(void) {
  volt_store_relaxed(&estate.generation, 0); /* published by the threads' start */
  stress_round(threads(), 20000000, heirloom_body, NULL);
  chan_balance(books, PARTIES);
}

int main(void) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  stress_begin("channel", NULL, NULL);
  config.workers = 2;
  STRESS_CHECK(volt_rt_create(&shared.rt, &config) == VOLT_OK);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    rng r = rng_seeded(turn); /* of sizes and times */
    mixed_round(&r);
    if (turn % 4 == 3) heirloom_round();
  }
  STRESS_CHECK(volt_rt_destroy(shared.rt) == 0);
  return stress_end();
}
