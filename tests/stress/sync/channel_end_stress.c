/* channel_end_stress.c: one thread makes a channel on the heap, for the others to send on; each of
 * them is counted, adds another for a while, or comes back to see whether it still may; or only
 * awaits the close. The maker receives until the end, and frees the channel, poisoned, when the
 * others have let go of it.
 *
 * The books: what was sent is received; who could be added can send; whoever awaits the close is
 * told; when the maker is told, all who were counted have left. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static struct {
  VOLT_ATOMIC(volt_chan *) chan;
  VOLT_ATOMIC(uint64_t) set;            /* which one that is; 0: it is over */
  VOLT_ATOMIC(uint32_t) users;          /* that have not let go of it */
  VOLT_ATOMIC(uint64_t) sent;           /* the sum */
  uint64_t written[STRESS_MAX_THREADS]; /* not atomic: the count must do */
} shared;

static void send_some(stress_worker *w, volt_chan *c) {
  for (uint32_t i = stress_below(w, 8); i > 0; i--) {
    uint64_t number = 1 + stress_below(w, 1000);
    STRESS_CHECK(volt_chan_send(c, &number) == VOLT_OK);
    (void)volt_fetch_add_relaxed(&shared.sent, number);
  }
}

/* It is counted; another one, for a while, is too. */
static void send(stress_worker *w, volt_chan *c, uint64_t set) {
  send_some(w, c);
  if (stress_below(w, 2)) {
    STRESS_CHECK(volt_chan_add_sender(c) == VOLT_OK);
    send_some(w, c);
    volt_chan_drop_sender(c);
  }
  stress_dawdle(w);
  shared.written[w->index] = set;
  volt_chan_drop_sender(c);
}

/* It has kept the address only. */
static void come_back(stress_worker *w, volt_chan *c) {
  stress_dawdle(w);
  if (volt_chan_add_sender(c) != VOLT_OK) {
    w->gave_up += 1;
    return;
  }
  STRESS_CHECK(!volt_chan_is_closed(c));
  send_some(w, c);
  volt_chan_drop_sender(c);
}

static void await_the_end(stress_worker *w, volt_chan *c) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  volt_future_made(volt_chan_closed_future(f, c));
  if (stress_below(w, 2)) {
    STRESS_CHECK(volt_future_wait(f) == VOLT_OK && volt_chan_is_closed(c));
  } else {
    volt_waker waker = {NULL, NULL};
    for (uint32_t i = stress_below(w, 50); i > 0; i--) {
      if (volt_future_poll(f, waker) == VOLT_OK) STRESS_CHECK(volt_chan_is_closed(c));
      stress_dawdle(w);
    }
    volt_future_cancel(f);
  }
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
}

static void use(stress_worker *w) {
  for (uint64_t seen = UINT64_MAX;;) {
    uint64_t set = volt_load_acquire(&shared.set); /* P1: pairs P1 */
    if (set == 0) return;
    if (set == seen) {
      stress_dawdle(w);
      continue;
    }
    seen = set;
    volt_chan *c = volt_load_relaxed(&shared.chan);
    send(w, c, set);
    if (stress_below(w, 2)) come_back(w, c);
    if (stress_below(w, 2)) await_the_end(w, c);
    (void)volt_fetch_add_release(&shared.users, (uint32_t)-1); /* Q1: pairs Q1 */
    stress_progress(w, "use");
  }
}

static void make(stress_worker *w, unsigned users) {
  static uint64_t sets;
  static uint64_t memory[32];
  while (!stress_stopping()) {
    uint64_t set = ++sets;
    volt_chan *c = (volt_chan *)malloc(sizeof *c);
    STRESS_CHECK(c != NULL);
    int result = volt_chan_init(c, 1 + stress_below(w, 4), sizeof set, memory, sizeof memory);
    STRESS_CHECK(result == VOLT_OK);
    for (unsigned i = 0; i < users; i++) STRESS_CHECK(volt_chan_add_sender(c) == VOLT_OK);
    volt_store_relaxed(&shared.users, users);
    volt_store_relaxed(&shared.sent, 0);
    volt_store_relaxed(&shared.chan, c);
    volt_store_release(&shared.set, set); /* P1 */
    uint64_t number;
    uint64_t received = 0;
    while (volt_chan_recv(c, &number) == VOLT_OK) received += number;
    for (unsigned i = 1; i <= users; i++) STRESS_CHECK(shared.written[i] == set);
    STRESS_CHECK(volt_chan_senders(c) == 0 && received == volt_load_relaxed(&shared.sent));
    while (volt_load_acquire(&shared.users) != 0) stress_dawdle(w); /* Q1: pairs Q1 */
    volt_chan_destroy(c, NULL, NULL);
    memset((void *)c, 0xa5, sizeof *c);
    free(c);
    w->acquired += 1;
    stress_progress(w, "channel");
  }
  volt_store_release(&shared.set, 0); /* P1 */
}

static void body(stress_worker *w, void *arg) {
  stress_arm(w, 1, NULL, NULL);
  if (w->index == 0) {
    make(w, *(unsigned *)arg);
  } else {
    use(w);
  }
}

int main(void) {
  stress_begin("channel_end", NULL, NULL);
  unsigned most = stress_threads() < 2 ? 1 : stress_threads() - 1;
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned users = 1 + turn % most;
    volt_store_relaxed(&shared.set, UINT64_MAX); /* none yet; published by the threads' start */
    stress_round(users + 1, 30000000, body, &users);
  }
  return stress_end();
}
