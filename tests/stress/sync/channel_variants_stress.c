/* channel_variants_stress.c: threads that send and receive numbers through the library's channel
 * and through those of variants/: by tries, waiters that are polled, given new wakers or cancelled,
 * and calls that block until a deadline; and close it.
 *
 * The books: what was sent was received once, or is dropped by destroy(); each receiver has
 * received what one thread sent in the order in which it did; each grant has had one wake. Memory
 * is poisoned as soon as it is the owner's again. */
#include <stdlib.h>
#include <string.h>

#include "channel_ops.h"
#include "harness.h"

enum { MOST_PLACES = 64, NUMBER_BITS = 48 };

static struct {
  const channel_ops *ops;
  any_channel chan;
  uint64_t memory[3 * MOST_PLACES];
  bool may_close;
} shared;

/* How many numbers went one way, and a sum that depends on each. */
typedef struct book {
  uint64_t count, sum;
} book;

typedef struct trader {
  book sent, received;
  uint64_t next;                       /* number to send */
  uint64_t latest[STRESS_MAX_THREADS]; /* received, of each sender */
} trader;

static trader traders[STRESS_MAX_THREADS];

/* One operation, in memory of its own. */
typedef struct trade {
  volt_waiter w;
  uint64_t elem;
} trade;

static void enter(book *b, uint64_t elem) {
  b->count += 1;
  b->sum += elem * UINT64_C(0x9e3779b97f4a7c15) ^ (elem >> 7);
}

static void has_sent(stress_worker *w, uint64_t elem) {
  enter(&traders[w->index].sent, elem);
  w->acquired += 1;
}

static void has_received(stress_worker *w, uint64_t elem) {
  trader *self = &traders[w->index];
  uint64_t from = elem >> NUMBER_BITS;
  STRESS_CHECK(from < STRESS_MAX_THREADS && elem > self->latest[from]);
  self->latest[from] = elem;
  enter(&self->received, elem);
  w->acquired += 1;
}

static uint64_t new_elem(stress_worker *w) {
  traders[w->index].next += 1; /* also if it will not be sent: only the order matters */
  return (uint64_t)w->index << NUMBER_BITS | traders[w->index].next;
}

static trade *new_trade(stress_worker *w, bool sends) {
  trade *t = (trade *)malloc(sizeof *t);
  STRESS_CHECK(t != NULL);
  memset((void *)t, 0, sizeof *t);
  if (sends) t->elem = new_elem(w);
  return t;
}

static void end_trade(stress_worker *w, trade *t, bool sends, int result) {
  if (result == VOLT_OK && sends) has_sent(w, t->elem);
  if (result == VOLT_OK && !sends) has_received(w, t->elem);
  if (result != VOLT_OK) w->gave_up += 1;
  memset((void *)t, 0xa5, sizeof *t);
  free(t);
}

static int try_it(trade *t, bool sends) {
  if (sends) return shared.ops->try_send(&shared.chan, &t->elem);
  return shared.ops->try_recv(&shared.chan, &t->elem);
}

static int block(stress_worker *w, trade *t, bool sends) {
  uint64_t deadline_ns = volt_deadline_ns(stress_below(w, 100000));
  if (sends) return shared.ops->send_until(&shared.chan, &t->elem, deadline_ns);
  return shared.ops->recv_until(&shared.chan, &t->elem, deadline_ns);
}

/* It waits: until it is done, or we have no patience any more. */
static int wait_for(stress_worker *w, trade *t, bool sends, stress_slot *slot) {
  uint32_t patience = stress_below(w, 2) == 0 ? UINT32_MAX : stress_below(w, 64);
  while (volt_waiter_result(&t->w) == VOLT_PENDING) {
    if (patience == 0 || stress_stopping()) {
      bool cancelled = sends ? shared.ops->cancel_send(&shared.chan, &t->w)
                             : shared.ops->cancel_recv(&shared.chan, &t->w);
      if (cancelled) return VOLT_ECANCELED;
      break;
    }
    if (patience != UINT32_MAX) patience -= 1;
    if (stress_below(w, 16) == 0) {
      stress_slot *other = stress_any_slot(w);
      if (shared.ops->set_waker(&shared.chan, &t->w, stress_waker(other))) slot = other;
    }
    stress_dawdle(w);
  }
  slot->expected += 1;
  return volt_waiter_result(&t->w);
}

static int queue(stress_worker *w, trade *t, bool sends) {
  stress_slot *slot = stress_any_slot(w);
  int result = sends ? shared.ops->send(&shared.chan, &t->w, &t->elem, stress_waker(slot))
                     : shared.ops->recv(&shared.chan, &t->w, &t->elem, stress_waker(slot));
  return result == VOLT_PENDING ? wait_for(w, t, sends, slot) : result;
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  uint32_t bias = 1 + stress_below(w, 7); /* of 8: how many operations send */
  while (!stress_stopping()) {
    bool sends = stress_below(w, 8) < bias;
    trade *t = new_trade(w, sends);
    uint32_t way = stress_below(w, 4);
    stress_progress(w, sends ? "send" : "receive");
    int result = way == 0 ? try_it(t, sends) : way == 1 ? block(w, t, sends) : queue(w, t, sends);
    end_trade(w, t, sends, result);
    if (shared.may_close && stress_below(w, 5000) == 0) shared.ops->close(&shared.chan);
    if (stress_below(w, 4) == 0) stress_dawdle(w);
  }
}

static void drop(void *elem, void *ctx) {
  enter((book *)ctx, *(uint64_t *)elem);
}

static void check_books(void) {
  book sent = {0, 0};
  book received = {0, 0};
  shared.ops->destroy(&shared.chan, drop, &received);
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    sent.count += traders[i].sent.count;
    sent.sum += traders[i].sent.sum;
    received.count += traders[i].received.count;
    received.sum += traders[i].received.sum;
  }
  STRESS_CHECK(sent.count == received.count);
  STRESS_CHECK(sent.sum == received.sum);
}

int main(void) {
  static const uint32_t capacities[] = {1, 2, 3, 7, MOST_PLACES};
  stress_begin("channels (volt, chan_dekker, chan_slots)", NULL, NULL);
  for (uint32_t round = 0; stress_time_left(); round++) {
    uint32_t capacity = capacities[round / CHANNEL_ENGINES % 5];
    shared.ops = channel_engines[round % CHANNEL_ENGINES];
    shared.may_close = round % 4 == 3;
    size_t bytes = shared.ops->bytes(capacity, sizeof(uint64_t));
    STRESS_CHECK(bytes <= sizeof shared.memory);
    STRESS_CHECK(shared.ops->init(&shared.chan, capacity, sizeof(uint64_t), shared.memory, bytes) ==
                 VOLT_OK);
    memset(traders, 0, sizeof traders);
    stress_round(stress_threads(), 20000000, body, NULL);
    STRESS_CHECK(shared.ops->waiters(&shared.chan) == 0);
    check_books();
  }
  return stress_end();
}
