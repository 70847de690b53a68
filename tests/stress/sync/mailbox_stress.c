/* mailbox_stress.c: senders and receivers of one mailbox, which is closed in the middle of the
 * round, or at its end. Every letter is on the heap, and freed, poisoned, by who receives it, while its sender may
 * still be returning; a receive is made in every way there is, and given up as often as not.
 *
 * The books: each letter that was sent is received once, and none that was refused. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct letter {
  volt_mailbox_node node;
  uint64_t number; /* the sender's, in the low bits; how many it had sent, above them */
  uint64_t inverse;
} letter;

static struct {
  volt_mailbox box;
  VOLT_ATOMIC(uint64_t) sent; /* sums of numbers */
  VOLT_ATOMIC(uint64_t) received;
  VOLT_ATOMIC(uint32_t) senders; /* that have not ended */
  unsigned count;                /* of senders */
} shared;

static const volt_waker nobody = {NULL, NULL};

static void read_it(stress_worker *w, volt_mailbox_node *node) {
  letter *l = volt_container_of(node, letter, node);
  STRESS_CHECK(l->inverse == ~l->number);
  (void)volt_fetch_add_relaxed(&shared.received, l->number);
  memset((void *)l, 0xa5, sizeof *l);
  free(l);
  w->acquired += 1;
}

static void send(stress_worker *w) {
  for (uint64_t i = 1; !stress_stopping(); i++) {
    letter *l = (letter *)malloc(sizeof *l);
    STRESS_CHECK(l != NULL);
    uint64_t number = i << 8 | w->index;
    l->number = number;
    l->inverse = ~number;
    if (volt_mailbox_send(&shared.box, &l->node) != VOLT_OK) { /* else *l may be gone */
      STRESS_CHECK(volt_mailbox_is_closed(&shared.box) && l->number == number);
      free(l);
      break;
    }
    (void)volt_fetch_add_relaxed(&shared.sent, number);
    stress_dawdle(w);
    if (i % 64 == 0) { /* do not outrun the receivers by more than a few */
      while (volt_mailbox_len(&shared.box) > 1000 && !stress_stopping()) stress_dawdle(w);
    }
    if (stress_below(w, 20000) == 0) volt_mailbox_close(&shared.box);
    stress_progress(w, "send");
  }
  if (volt_fetch_add_acq_rel(&shared.senders, (uint32_t)-1) == 1) volt_mailbox_close(&shared.box);
}

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 50000));
}

static int by_waiter(stress_worker *w, volt_mailbox_node **node) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  stress_slot *slot = stress_any_slot(w);
  STRESS_CHECK(waiter != NULL);
  int result = volt_mailbox_recv_waiter(&shared.box, waiter, node, stress_waker(slot));
  if (result == VOLT_PENDING) {
    if (stress_below(w, 4) == 0) {
      stress_slot *next = stress_any_slot(w);
      if (volt_waiter_set_waker(waiter, stress_waker(next))) slot = next;
    }
    for (uint32_t i = stress_below(w, 64); i > 0; i--) stress_dawdle(w);
    bool cancelled = volt_mailbox_cancel(&shared.box, waiter);
    slot->expected += !cancelled;
    result = cancelled ? VOLT_ECANCELED : volt_waiter_result(waiter);
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  free(waiter);
  return result;
}

static int by_hand(stress_worker *w, volt_future *f) {
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 64); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, nobody);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready; else it gives back */
  result = volt_future_poll(f, nobody);
  memset((void *)f, 0xa5, sizeof *f);
  return result;
}

static int receive_one(stress_worker *w, volt_mailbox_node **node) {
  volt_future f;
  switch (stress_below(w, 5)) {
    case 0: return volt_mailbox_try_recv(&shared.box, node);
    case 1: return by_waiter(w, node);
    case 2: return by_hand(w, volt_mailbox_recv_future(&f, &shared.box, node));
    case 3: return volt_mailbox_recv_until(&shared.box, node, soon(w));
    default: return volt_mailbox_recv(&shared.box, node);
  }
}

static void receive(stress_worker *w) {
  for (;;) {
    volt_mailbox_node *node = NULL;
    int result = receive_one(w, &node);
    if (result == VOLT_OK) {
      read_it(w, node);
    } else if (result == VOLT_ECLOSED) {
      return;
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

/* What a dropped receive has given back when the others had been told of the end. */
static void drop(volt_mailbox_node *node, void *ctx) {
  letter *l = volt_container_of(node, letter, node);
  *(uint64_t *)ctx += l->number;
  free(l);
}

static void round_of(unsigned senders, unsigned receivers) {
  memset((void *)&shared.box, 0xee, sizeof shared.box);
  volt_mailbox_init(&shared.box);
  volt_store_relaxed(&shared.sent, 0); /* all of it is published by the threads' start */
  volt_store_relaxed(&shared.received, 0);
  volt_store_relaxed(&shared.senders, senders);
  shared.count = senders;
  stress_round(senders + receivers, 30000000, body, NULL);
  uint64_t left = 0;
  STRESS_CHECK(volt_mailbox_waiters(&shared.box) == 0);
  volt_mailbox_destroy(&shared.box, drop, &left);
  STRESS_CHECK(volt_load_relaxed(&shared.sent) == volt_load_relaxed(&shared.received) + left);
}

int main(void) {
  stress_begin("mailbox", NULL, NULL);
  unsigned threads = stress_threads() < 2 ? 2 : stress_threads();
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned senders = 1 + turn % (threads - 1);
    round_of(senders, threads - senders);
  }
  return stress_end();
}
