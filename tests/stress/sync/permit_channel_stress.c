/* permit_channel_stress.c: senders that take a place in every way there is, and send with it, or
 * give it back; receivers in every way there is, some of which give up. Now and then it is closed
 * in the middle of a round.
 *
 * The books: what was sent is received; at the end no place is missing (destroy would abort). */
#include <string.h>

#include "harness.h"

static struct {
  volt_permit_chan chan;
  uint64_t memory[64];
  VOLT_ATOMIC(uint64_t) sent; /* sums */
  VOLT_ATOMIC(uint64_t) received;
  VOLT_ATOMIC(uint32_t) senders; /* that have not ended */
  unsigned count;                /* of senders */
} shared;

static const volt_waker nobody = {NULL, NULL};

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 50000));
}

static int by_hand(stress_worker *w, volt_future *f) {
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 64); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, nobody);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready */
  result = volt_future_poll(f, nobody);
  memset((void *)f, 0xa5, sizeof *f);
  return result;
}

static int reserve(stress_worker *w) {
  volt_future f;
  switch (stress_below(w, 4)) {
    case 0: return volt_permit_chan_try_reserve(&shared.chan);
    case 1: return volt_permit_chan_reserve_until(&shared.chan, soon(w));
    case 2: return by_hand(w, volt_permit_chan_reserve_future(&f, &shared.chan));
    default: return volt_permit_chan_reserve(&shared.chan);
  }
}

static void send(stress_worker *w) {
  int result = VOLT_OK;
  while (!stress_stopping() && result != VOLT_ECLOSED) {
    uint64_t number = 1 + stress_below(w, 1000);
    result = stress_below(w, 4) == 0 ? volt_permit_chan_try_send(&shared.chan, &number) : 1;
    if (result == 1) {
      result = reserve(w);
      stress_dawdle(w);
      if (result == VOLT_OK && stress_below(w, 3) == 0) {
        volt_permit_chan_unreserve(&shared.chan);
        continue;
      }
      if (result == VOLT_OK) result = volt_permit_chan_send_reserved(&shared.chan, &number);
    }
    if (result == VOLT_OK) (void)volt_fetch_add_relaxed(&shared.sent, number);
    if (stress_below(w, 20000) == 0) volt_permit_chan_close(&shared.chan);
    stress_progress(w, "send");
  }
  bool last = volt_fetch_add_acq_rel(&shared.senders, (uint32_t)-1) == 1;
  if (last) volt_permit_chan_close(&shared.chan);
}

static int receive_one(stress_worker *w, uint64_t *number) {
  volt_future f;
  switch (stress_below(w, 4)) {
    case 0: return volt_permit_chan_try_recv(&shared.chan, number);
    case 1: return volt_permit_chan_recv_until(&shared.chan, number, soon(w));
    case 2: return by_hand(w, volt_permit_chan_recv_future(&f, &shared.chan, number));
    default: return volt_permit_chan_recv(&shared.chan, number);
  }
}

static void receive(stress_worker *w) {
  for (int result = VOLT_OK; result != VOLT_ECLOSED;) {
    uint64_t number = 0;
    result = receive_one(w, &number);
    if (result == VOLT_OK) {
      (void)volt_fetch_add_relaxed(&shared.received, number);
      w->acquired += 1;
    } else {
      w->gave_up += 1;
    }
    stress_progress(w, "receive");
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  if (w->index < shared.count) {
    send(w);
  } else {
    receive(w);
  }
}

static void round_of(unsigned senders, unsigned receivers, uint32_t capacity) {
  size_t bytes = sizeof shared.memory;
  int result = volt_permit_chan_init(&shared.chan, capacity, 8, shared.memory, bytes);
  STRESS_CHECK(result == VOLT_OK);
  volt_store_relaxed(&shared.sent, 0); /* all of it is published by the threads' start */
  volt_store_relaxed(&shared.received, 0);
  volt_store_relaxed(&shared.senders, senders);
  shared.count = senders;
  stress_round(senders + receivers, 30000000, body, NULL);
  STRESS_CHECK(volt_load_relaxed(&shared.sent) == volt_load_relaxed(&shared.received));
  STRESS_CHECK(volt_permit_chan_free(&shared.chan) == capacity);
  volt_permit_chan_destroy(&shared.chan, NULL, NULL);
}

int main(void) {
  stress_begin("permit_channel", NULL, NULL);
  unsigned threads = stress_threads() < 2 ? 2 : stress_threads();
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned senders = 1 + turn % (threads - 1);
    round_of(senders, threads - senders, 1 + turn % 5);
  }
  return stress_end();
}
