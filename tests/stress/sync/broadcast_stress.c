/* broadcast_stress.c: some threads send, some receive, in every way there is, and give up; the ring
 * is small, so that values are overwritten. The last sender closes.
 *
 * The books: no value is torn; those of one sender come in order to each receiver; what a receiver
 * got and what it lost is what was sent. A channel, in the same select as a receive, gives and
 * takes in the same instant. Waiters are poisoned as soon as they are the owner's again. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { MOST_SENDERS = 2, MOST_PLACES = 32 };

typedef struct value {
  uint64_t sender;
  uint64_t number; /* 1, 2, ... of this sender */
  uint64_t check;
} value;

static struct {
  volt_broadcast broadcast;
  value ring[MOST_PLACES];
  volt_chan chan; /* of numbers */
  uint64_t chan_ring[64];
  VOLT_ATOMIC(uint64_t) chan_sent; /* sums */
  VOLT_ATOMIC(uint64_t) chan_received;
  VOLT_ATOMIC(uint32_t) senders; /* that are not at their end */
  uint32_t sender_count;
} shared;

typedef struct receiver {
  volt_broadcast_receiver r;
  uint64_t received;
  uint64_t last[MOST_SENDERS]; /* numbers */
} receiver;

static receiver receivers[STRESS_MAX_THREADS];

static const volt_waker nobody = {NULL, NULL};

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 50000));
}

/* ---- ways to receive ---- */

static int by_waiter(stress_worker *w, receiver *to, value *v) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  stress_slot *slot = stress_any_slot(w);
  STRESS_CHECK(waiter != NULL);
  int result = volt_broadcast_recv_waiter(&to->r, waiter, v, stress_waker(slot));
  if (result == VOLT_PENDING) {
    if (stress_below(w, 4) == 0) {
      stress_slot *other = stress_any_slot(w);
      if (volt_waiter_set_waker(waiter, stress_waker(other))) slot = other;
    }
    uint32_t left = stress_below(w, 2) == 0 ? UINT32_MAX : stress_below(w, 16);
    while (left-- > 0 && volt_waiter_result(waiter) == VOLT_PENDING) stress_dawdle(w);
    bool cancelled = volt_broadcast_cancel(&to->r, waiter);
    slot->expected += !cancelled;
    result = cancelled ? VOLT_ECANCELED : volt_waiter_result(waiter);
    if (result == VOLT_OK) {
      result = volt_broadcast_try_recv(&to->r, v);
      STRESS_CHECK(result == VOLT_OK || result == VOLT_ELAGGED);
    }
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  free(waiter);
  return result;
}

static int poll_by_hand(stress_worker *w, volt_future *f) {
  int result = VOLT_PENDING;
  for (uint32_t left = stress_below(w, 16); left > 0 && result == VOLT_PENDING; left--) {
    result = volt_future_poll(f, nobody);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready */
  return volt_future_poll(f, nobody);
}

static int by_select(stress_worker *w, receiver *to, value *v) {
  uint64_t number = 0;
  volt_future f[2];
  volt_future *branches[] = {volt_broadcast_recv_future(&f[0], &to->r, v),
                             volt_chan_recv_future(&f[1], &shared.chan, &number)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2,
                                      stress_below(w, 2) ? VOLT_SELECT_FAIR : VOLT_SELECT_BIASED));
  int result =
      stress_below(w, 2) ? volt_future_wait_until(&s.future, soon(w)) : poll_by_hand(w, &s.future);
  memset((void *)f, 0xa5, sizeof f);
  if (volt_select_winner(&s) != 1) return result;
  STRESS_CHECK(result == VOLT_OK && number != 0);
  (void)volt_fetch_add_relaxed(&shared.chan_received, number);
  return VOLT_ECANCELED;
}

static int receive_one(stress_worker *w, receiver *to, value *v) {
  volt_future f;
  switch (stress_below(w, 6)) {
    case 0: return volt_broadcast_try_recv(&to->r, v);
    case 1: return by_waiter(w, to, v);
    case 2: return poll_by_hand(w, volt_broadcast_recv_future(&f, &to->r, v));
    case 3: return volt_broadcast_recv(&to->r, v);
    case 4: return volt_broadcast_recv_until(&to->r, v, soon(w));
    default: return by_select(w, to, v);
  }
}

static void receive(stress_worker *w, receiver *to) {
  for (;;) {
    value v = {0, 0, 0};
    int result = receive_one(w, to, &v);
    if (result == VOLT_ECLOSED) break;
    if (result == VOLT_OK) {
      STRESS_CHECK(v.sender < shared.sender_count && v.check == (v.sender ^ ~v.number));
      STRESS_CHECK(v.number > to->last[v.sender]);
      to->last[v.sender] = v.number;
      to->received += 1;
    }
    w->acquired += result == VOLT_OK;
    w->gave_up += result != VOLT_OK;
    stress_progress(w, "receive");
    if (stress_below(w, 8) == 0) stress_dawdle(w);
  }
}

static void send(stress_worker *w) {
  for (uint64_t number = 1; !stress_stopping(); number++) {
    const value v = {w->index, number, w->index ^ ~number};
    STRESS_CHECK(volt_broadcast_send(&shared.broadcast, &v) == VOLT_OK);
    if (stress_below(w, 2) == 0 && volt_chan_try_send(&shared.chan, &number) == VOLT_OK) {
      (void)volt_fetch_add_relaxed(&shared.chan_sent, number);
    }
    stress_progress(w, "send");
    for (uint32_t i = stress_below(w, 8); i > 0; i--) stress_dawdle(w);
  }
  if (volt_fetch_add_acq_rel(&shared.senders, UINT32_MAX) == 1) {
    volt_broadcast_close(&shared.broadcast);
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  if (w->index < shared.sender_count) {
    send(w);
  } else {
    receive(w, &receivers[w->index]);
  }
}

static void round_of(unsigned threads, unsigned turn) {
  static const uint32_t capacities[] = {1, 2, 3, 8, MOST_PLACES};
  uint32_t capacity = capacities[turn % 5];
  volt_broadcast *b = &shared.broadcast;
  STRESS_CHECK(volt_broadcast_init(b, capacity, sizeof(value), shared.ring, sizeof shared.ring) ==
               VOLT_OK);
  STRESS_CHECK(volt_chan_init(&shared.chan, 4, sizeof(uint64_t), shared.chan_ring,
                              sizeof shared.chan_ring) == VOLT_OK);
  shared.sender_count = threads > 2 ? 1 + turn % MOST_SENDERS : 1;
  volt_store_relaxed(&shared.senders, shared.sender_count); /* published by the threads' start */
  volt_store_relaxed(&shared.chan_sent, 0);
  volt_store_relaxed(&shared.chan_received, 0);
  memset(receivers, 0, sizeof receivers);
  for (unsigned i = shared.sender_count; i < threads; i++) {
    volt_broadcast_subscribe(b, &receivers[i].r);
  }
  stress_round(threads, 30000000, body, NULL);
  for (unsigned i = shared.sender_count; i < threads; i++) {
    uint64_t lost = volt_broadcast_lost(&receivers[i].r);
    STRESS_CHECK(receivers[i].received + lost == volt_broadcast_sent(b));
  }
  uint64_t number;
  while (volt_chan_try_recv(&shared.chan, &number) == VOLT_OK) {
    (void)volt_fetch_add_relaxed(&shared.chan_received, number);
  }
  STRESS_CHECK(volt_load_relaxed(&shared.chan_sent) == volt_load_relaxed(&shared.chan_received));
  volt_chan_destroy(&shared.chan, NULL, NULL);
  volt_broadcast_destroy(b);
}

int main(void) {
  stress_begin("broadcast", NULL, NULL);
  unsigned most = stress_threads() < 3 ? 2 : stress_threads() - 1;
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(2 + turn % most, turn);
  return stress_end();
}
