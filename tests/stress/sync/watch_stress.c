/* watch_stress.c: some threads change a value, some wait for changes, in every way there is, and
 * give up. The last sender closes.
 *
 * The books: no value is torn; versions, and the values of each sender, never go back; each send is
 * one version; everybody has seen the last one before the end. A channel, in the same select as a
 * wait, gives and takes in the same instant. Waiters are poisoned as soon as they are the owner's
 * again. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { MOST_SENDERS = 2 };

typedef struct value {
  uint64_t sender;
  uint64_t number; /* 1, 2, ... of this sender; 0: the initial value */
  uint64_t check;
} value;

static struct {
  volt_watch watch;
  value memory;
  volt_chan chan; /* of numbers */
  uint64_t chan_ring[64];
  VOLT_ATOMIC(uint64_t) sent;      /* how many */
  VOLT_ATOMIC(uint64_t) chan_sent; /* sums */
  VOLT_ATOMIC(uint64_t) chan_received;
  VOLT_ATOMIC(uint32_t) senders; /* that are not at their end */
  uint32_t sender_count;
} shared;

static const volt_waker nobody = {NULL, NULL};

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 50000));
}

/* ---- ways to wait ---- */

static int by_waiter(stress_worker *w, uint64_t *seen) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  stress_slot *slot = stress_any_slot(w);
  STRESS_CHECK(waiter != NULL);
  int result = volt_watch_changed_waiter(&shared.watch, seen, waiter, stress_waker(slot));
  if (result == VOLT_PENDING) {
    if (stress_below(w, 4) == 0) {
      stress_slot *other = stress_any_slot(w);
      if (volt_waiter_set_waker(waiter, stress_waker(other))) slot = other;
    }
    uint32_t left = stress_below(w, 2) == 0 ? UINT32_MAX : stress_below(w, 16);
    while (left-- > 0 && volt_waiter_result(waiter) == VOLT_PENDING) stress_dawdle(w);
    bool cancelled = volt_watch_cancel(&shared.watch, waiter);
    slot->expected += !cancelled;
    result = cancelled ? VOLT_ECANCELED : volt_waiter_result(waiter);
    if (result == VOLT_OK) {
      result = volt_watch_try_changed(&shared.watch, seen);
      STRESS_CHECK(result == VOLT_OK);
    }
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  free(waiter);
  return result;
}

static int poll_by_hand(stress_worker *w, volt_future *f) {
  int result = VOLT_PENDING;
  for (uint32_t left = stress_below(w, 16); left > 0 && result == VOLT_PENDING; left--) {
    bool closed = volt_watch_is_closed(&shared.watch);
    result = volt_future_poll(f, nobody);
    STRESS_CHECK(result != VOLT_PENDING || !closed);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready */
  return volt_future_poll(f, nobody);
}

static int by_select(stress_worker *w, uint64_t *seen) {
  uint64_t number = 0;
  uint64_t before = *seen;
  volt_future f[2];
  volt_future *branches[] = {volt_watch_changed_future(&f[0], &shared.watch, seen),
                             volt_chan_recv_future(&f[1], &shared.chan, &number)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2,
                                      stress_below(w, 2) ? VOLT_SELECT_FAIR : VOLT_SELECT_BIASED));
  int result =
      stress_below(w, 2) ? volt_future_wait_until(&s.future, soon(w)) : poll_by_hand(w, &s.future);
  memset((void *)f, 0xa5, sizeof f);
  STRESS_CHECK((*seen != before) == (result == VOLT_OK && volt_select_winner(&s) == 0));
  if (volt_select_winner(&s) != 1) return result;
  STRESS_CHECK(result == VOLT_OK && number != 0);
  (void)volt_fetch_add_relaxed(&shared.chan_received, number);
  return VOLT_ECANCELED;
}

static int wait_once(stress_worker *w, uint64_t *seen) {
  volt_future f;
  switch (stress_below(w, 6)) {
    case 0: return volt_watch_try_changed(&shared.watch, seen);
    case 1: return by_waiter(w, seen);
    case 2: return poll_by_hand(w, volt_watch_changed_future(&f, &shared.watch, seen));
    case 3: return volt_watch_changed(&shared.watch, seen);
    case 4: return volt_watch_changed_until(&shared.watch, seen, soon(w));
    default: return by_select(w, seen);
  }
}

static void look(stress_worker *w) {
  uint64_t seen = 0;
  uint64_t got = 0;                     /* the version of the last value */
  uint64_t last[MOST_SENDERS] = {0, 0}; /* numbers */
  for (;;) {
    uint64_t before = seen;
    int result = wait_once(w, &seen);
    if (result == VOLT_ECLOSED) break;
    STRESS_CHECK(result == VOLT_OK ? seen > before : seen == before);
    if (stress_below(w, 4) != 0) {
      value v;
      uint64_t version = volt_watch_get(&shared.watch, &v);
      STRESS_CHECK(version >= seen && version >= got);
      STRESS_CHECK(v.sender < MOST_SENDERS && v.check == (v.sender ^ ~v.number));
      STRESS_CHECK(v.number >= last[v.sender] && (v.number == 0) == (version == 1));
      last[v.sender] = v.number;
      got = version;
      if (stress_below(w, 2) == 0) seen = version;
    }
    w->acquired += result == VOLT_OK;
    w->gave_up += result != VOLT_OK;
    stress_progress(w, "look");
  }
  STRESS_CHECK(seen == volt_watch_version(&shared.watch));
}

static bool replace(void *to, void *from) {
  const value *before = (const value *)to;
  STRESS_CHECK(before->check == (before->sender ^ ~before->number));
  memcpy(to, from, sizeof(value));
  return true;
}

static bool leave_it(void *to, void *arg) {
  (void)to;
  (void)arg;
  return false;
}

static void send(stress_worker *w) {
  for (uint64_t number = 1; !stress_stopping(); number++) {
    const value v = {w->index, number, w->index ^ ~number};
    if (stress_below(w, 2) == 0) {
      STRESS_CHECK(volt_watch_send(&shared.watch, &v) == VOLT_OK);
    } else {
      if (stress_below(w, 4) == 0) {
        STRESS_CHECK(volt_watch_modify(&shared.watch, leave_it, NULL) == VOLT_EAGAIN);
      }
      STRESS_CHECK(volt_watch_modify(&shared.watch, replace, (void *)(uintptr_t)&v) == VOLT_OK);
    }
    (void)volt_fetch_add_relaxed(&shared.sent, 1);
    if (stress_below(w, 2) == 0 && volt_chan_try_send(&shared.chan, &number) == VOLT_OK) {
      (void)volt_fetch_add_relaxed(&shared.chan_sent, number);
    }
    stress_progress(w, "send");
    for (uint32_t i = stress_below(w, 8); i > 0; i--) stress_dawdle(w);
  }
  if (volt_fetch_add_acq_rel(&shared.senders, UINT32_MAX) == 1) volt_watch_close(&shared.watch);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  if (w->index < shared.sender_count) {
    send(w);
  } else {
    look(w);
  }
}

static void round_of(unsigned threads, unsigned turn) {
  const value initial = {0, 0, ~(uint64_t)0};
  volt_watch_init(&shared.watch, sizeof shared.memory, &shared.memory, &initial);
  STRESS_CHECK(volt_chan_init(&shared.chan, 4, sizeof(uint64_t), shared.chan_ring,
                              sizeof shared.chan_ring) == VOLT_OK);
  shared.sender_count = threads > 2 ? 1 + turn % MOST_SENDERS : 1;
  volt_store_relaxed(&shared.senders, shared.sender_count); /* published by the threads' start */
  volt_store_relaxed(&shared.sent, 0);
  volt_store_relaxed(&shared.chan_sent, 0);
  volt_store_relaxed(&shared.chan_received, 0);
  stress_round(threads, 30000000, body, NULL);
  STRESS_CHECK(volt_watch_version(&shared.watch) == 1 + volt_load_relaxed(&shared.sent));
  uint64_t number;
  while (volt_chan_try_recv(&shared.chan, &number) == VOLT_OK) {
    (void)volt_fetch_add_relaxed(&shared.chan_received, number);
  }
  STRESS_CHECK(volt_load_relaxed(&shared.chan_sent) == volt_load_relaxed(&shared.chan_received));
  volt_chan_destroy(&shared.chan, NULL, NULL);
  volt_watch_destroy(&shared.watch);
}

int main(void) {
  stress_begin("watch", NULL, NULL);
  unsigned most = stress_threads() < 3 ? 2 : stress_threads() - 1;
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(2 + turn % most, turn);
  return stress_end();
}
