/* oneshot_stress.c: pairs of threads. One makes a oneshot on the heap, and waits in every way there
 * is, for as long as it likes; the other sends, or gives up. Whoever has received, or learned that
 * nothing comes, frees it at once, poisoned, while the other may still be returning.
 *
 * The books: what was sent is received once, with its number in it; what was refused is not. A
 * channel of each pair, in the same select as a oneshot, gives and takes in the same instant. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct value {
  uint64_t number;
  uint64_t inverse;
} value;

typedef struct reply {
  volt_oneshot oneshot;
  value slot;
  uint64_t number; /* of the one to send */
} reply;

typedef struct pair {
  VOLT_ATOMIC(reply *) mail;      /* to the sender */
  VOLT_ATOMIC(uint64_t) finished; /* how many the sender has returned from */
  VOLT_ATOMIC(bool) over;
  int last; /* what its last send returned; published by finished */
  volt_chan chan;
  uint64_t ring[8];
  uint64_t chan_sent; /* sums of numbers, the sender's and the receiver's */
  uint64_t chan_received;
} pair;

static pair pairs[STRESS_MAX_THREADS / 2];

static const volt_waker nobody = {NULL, NULL};

/* ---- the receiver ---- */

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 50000));
}

/* How often to look. */
static uint32_t patience_of(stress_worker *w) {
  return stress_below(w, 2) == 0 ? UINT32_MAX : stress_below(w, 16);
}

static int by_trying(stress_worker *w, reply *r, value *v) {
  int result = VOLT_EAGAIN;
  for (uint32_t left = patience_of(w); left > 0 && result == VOLT_EAGAIN; left--) {
    result = volt_oneshot_try_recv(&r->oneshot, v);
    stress_dawdle(w);
  }
  return result;
}

static int by_waiter(stress_worker *w, reply *r, value *v) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  stress_slot *slot = stress_any_slot(w);
  STRESS_CHECK(waiter != NULL);
  int result = volt_oneshot_recv_waiter(&r->oneshot, waiter, v, stress_waker(slot));
  if (result == VOLT_PENDING) {
    uint32_t left = patience_of(w);
    if (stress_below(w, 4) == 0) {
      stress_slot *other = stress_any_slot(w);
      if (volt_waiter_set_waker(waiter, stress_waker(other))) slot = other;
    }
    while (left-- > 0 && volt_waiter_result(waiter) == VOLT_PENDING) stress_dawdle(w);
    bool cancelled = volt_oneshot_cancel(&r->oneshot, waiter);
    slot->expected += !cancelled;
    result = cancelled ? VOLT_ECANCELED : volt_waiter_result(waiter);
    if (result == VOLT_OK) result = volt_oneshot_try_recv(&r->oneshot, v);
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  free(waiter);
  return result;
}

static int poll_by_hand(stress_worker *w, volt_future *f) {
  int result = VOLT_PENDING;
  for (uint32_t left = patience_of(w); left > 0 && result == VOLT_PENDING; left--) {
    result = volt_future_poll(f, nobody);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready */
  return volt_future_poll(f, nobody);
}

static int by_future(stress_worker *w, reply *r, value *v) {
  volt_future f;
  return poll_by_hand(w, volt_oneshot_recv_future(&f, &r->oneshot, v));
}

/* Both of its branches may be granted in the same instant. */
static int by_select(stress_worker *w, reply *r, value *v, pair *p) {
  uint64_t number = 0;
  volt_future f[2];
  volt_future *branches[] = {volt_oneshot_recv_future(&f[0], &r->oneshot, v),
                             volt_chan_recv_future(&f[1], &p->chan, &number)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2,
                                      stress_below(w, 2) ? VOLT_SELECT_FAIR : VOLT_SELECT_BIASED));
  int result =
      stress_below(w, 2) ? volt_future_wait_until(&s.future, soon(w)) : poll_by_hand(w, &s.future);
  memset((void *)f, 0xa5, sizeof f);
  if (volt_select_winner(&s) != 1) return result;
  STRESS_CHECK(result == VOLT_OK && number != 0);
  p->chan_received += number;
  return VOLT_ECANCELED;
}

static int wait_for(stress_worker *w, reply *r, value *v, pair *p) {
  switch (stress_below(w, 6)) {
    case 0: return by_trying(w, r, v);
    case 1: return by_waiter(w, r, v);
    case 2: return by_future(w, r, v);
    case 3: return volt_oneshot_recv(&r->oneshot, v);
    case 4: return volt_oneshot_recv_until(&r->oneshot, v, soon(w));
    default: return by_select(w, r, v, p);
  }
}

/* It has given up: nothing more may be sent; what was, is there. */
static int give_up(stress_worker *w, reply *r, value *v, pair *p) {
  if (stress_below(w, 2) == 0) volt_oneshot_close(&r->oneshot);
  while (volt_load_acquire(&p->finished) != r->number) stress_dawdle(w);
  int result = volt_oneshot_try_recv(&r->oneshot, v);
  STRESS_CHECK(result == p->last);
  return result;
}

static void receive(stress_worker *w, pair *p) {
  for (uint64_t number = 1; !stress_stopping(); number++) {
    reply *r = (reply *)malloc(sizeof *r);
    value v = {0, 0};
    STRESS_CHECK(r != NULL);
    memset((void *)r, 0xee, sizeof *r);
    volt_oneshot_init(&r->oneshot, sizeof r->slot, &r->slot);
    r->number = number;
    while (volt_load_acquire(&p->finished) != number - 1) stress_dawdle(w);
    volt_store_release(&p->mail, r);
    int result = wait_for(w, r, &v, p);
    if (result != VOLT_OK && result != VOLT_ECLOSED) result = give_up(w, r, &v, p);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ECLOSED);
    STRESS_CHECK(result != VOLT_OK || (v.number == number && v.inverse == ~number));
    volt_oneshot_destroy(&r->oneshot);
    memset((void *)r, 0xa5, sizeof *r);
    free(r);
    w->acquired += result == VOLT_OK;
    w->gave_up += result != VOLT_OK;
    stress_progress(w, "receive");
  }
  volt_store_release(&p->over, true);
}

/* ---- the sender ---- */

static void answer(stress_worker *w, pair *p, reply *r) {
  uint64_t number = r->number;
  const value v = {number, ~number};
  volt_future f;
  if (stress_below(w, 4) == 0) {
    volt_future_made(volt_oneshot_closed_future(&f, &r->oneshot));
    if (stress_below(w, 2) == 0) {
      int result = volt_future_wait_until(&f, soon(w));
      STRESS_CHECK(result == VOLT_ECLOSED || result == VOLT_ETIMEDOUT);
    } else {
      (void)volt_future_poll(&f, nobody);
      stress_dawdle(w);
      volt_future_cancel(&f);
    }
  }
  bool first = stress_below(w, 2) == 0;
  if (!first && volt_chan_try_send(&p->chan, &number) == VOLT_OK) p->chan_sent += number;
  int result = VOLT_ECLOSED;
  if (stress_below(w, 8) == 0) {
    volt_oneshot_close(&r->oneshot);
  } else {
    result = volt_oneshot_send(&r->oneshot, &v); /* *r may be gone */
  }
  if (first && volt_chan_try_send(&p->chan, &number) == VOLT_OK) p->chan_sent += number;
  p->last = result;
  (void)volt_fetch_add_release(&p->finished, 1);
}

static void send(stress_worker *w, pair *p) {
  for (;;) {
    bool over = volt_load_acquire(&p->over);
    reply *r = volt_exchange_acq_rel(&p->mail, NULL);
    if (r) {
      stress_dawdle(w);
      answer(w, p, r);
      stress_progress(w, "send");
    } else if (over) {
      return;
    } else {
      stress_dawdle(w);
    }
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  pair *p = &pairs[w->index / 2];
  if (w->index % 2 == 0) {
    receive(w, p);
  } else {
    send(w, p);
  }
}

static void round_of(unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    pair *p = &pairs[i];
    volt_store_relaxed(&p->mail, NULL); /* all of it is published by the threads' start */
    volt_store_relaxed(&p->finished, 0);
    volt_store_relaxed(&p->over, false);
    p->chan_sent = p->chan_received = 0;
    int result = volt_chan_init(&p->chan, 1 + i % 2, sizeof(uint64_t), p->ring, sizeof p->ring);
    STRESS_CHECK(result == VOLT_OK);
  }
  stress_round(2 * count, 30000000, body, NULL);
  for (unsigned i = 0; i < count; i++) {
    pair *p = &pairs[i];
    uint64_t number;
    while (volt_chan_try_recv(&p->chan, &number) == VOLT_OK) p->chan_received += number;
    STRESS_CHECK(p->chan_sent == p->chan_received);
    volt_chan_destroy(&p->chan, NULL, NULL);
  }
}

int main(void) {
  stress_begin("oneshot", NULL, NULL);
  unsigned most = stress_threads() < 2 ? 1 : stress_threads() / 2;
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(1 + turn % most);
  return stress_end();
}
