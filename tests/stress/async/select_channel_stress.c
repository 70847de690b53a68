/* select_channel_stress.c: many select over the same few channels, in both directions, and over
 * permits, sleeps, selects, timeouts and functions, while others send and receive: what is ready in
 * the same instant is moved for one branch only.
 *
 * The books (chan_books.h): each element is received once or given back, in the order of its
 * sender. Each registration of a ctx gets one wake or one drop, and until it has, its thread does
 * not go on. Memory is poisoned as soon as it is the owner's again. */
#include <sched.h>
#include <stdlib.h>

#include <volt/runtime.h>
#include "chan_books.h"
#include "ledger.h"

enum { CHANNELS = 3, PERMITS = 2, TASKS = 8, LARGEST = 7, BRANCHES = 6 };
enum { PERMIT = BRANCHES - 2, NAP = BRANCHES - 1 }; /* those before are of channels */
enum { PARTIES = STRESS_MAX_THREADS + TASKS + 1 };  /* the last one: what is left at the end */

static struct {
  volt_chan chan[CHANNELS];
  uint64_t memory[CHANNELS][8 * (1 + sizeof(chan_msg) / 8)];
  volt_sem sem;
  ledger permits;
  volt_sem cleaning;
  volt_rt *rt;
} shared;

static chan_book books[PARTIES];

/* A function that receives, and has something to clean up then. What it has received is its own,
 * also if it loses. */
typedef struct cleaner {
  volt_async async;
  volt_future future;
  uint32_t at; /* of which channel */
  chan_msg elem;
  int received;
} cleaner;

/* One select, in memory of its own. */
typedef struct attempt {
  volt_future leaf[NAP];
  volt_sleep_op nap;
  volt_future *branches[BRANCHES];
  uint32_t at[PERMIT]; /* of which channel */
  bool sends[PERMIT];
  chan_msg elem[PERMIT];
  cleaner cleaner;    /* instead of the second branch, or not in use: at is CHANNELS */
  volt_select inner;  /* of the first two branches */
  volt_timeout limit; /* of the third */
  volt_timeout permit_limit;
  volt_future *outer[BRANCHES];
  volt_select select;
  volt_timeout timeout;
} attempt;

/* A stream for each party and channel: parties that are threads or tasks, counted from 0 on. */
static uint32_t stream_of(uint32_t party, uint32_t channel) {
  uint32_t at = party < STRESS_MAX_THREADS ? party : party - STRESS_MAX_THREADS + 8;
  return (at * CHANNELS + channel) % CHAN_STREAMS;
}

static uint64_t soon(rng *r) {
  return rng_below(r, 4) == 0 ? 0 : volt_deadline_ns(rng_below(r, 50000));
}

static void set_branch(attempt *a, rng *r, uint32_t party, uint32_t i) {
  volt_chan *c = &shared.chan[a->at[i] = rng_below(r, CHANNELS)];
  a->sends[i] = rng_below(r, 2) != 0;
  if (a->sends[i]) {
    chan_make(&books[party], stream_of(party, a->at[i]), &a->elem[i], 1);
    a->branches[i] = volt_chan_send_future(&a->leaf[i], c, &a->elem[i]);
  } else {
    a->branches[i] = volt_chan_recv_future(&a->leaf[i], c, &a->elem[i]);
  }
  if (i > 0 && rng_below(r, 3) == 0) a->branches[i] = NULL;
}

static int receives_and_cleans_up(volt_async *async, volt_ctx *ctx) {
  cleaner *c = volt_container_of(async, cleaner, async);
  VOLT_ASYNC_BEGIN(c);
  VOLT_AWAIT_RESULT(c, c->received,
                    volt_chan_recv_future(&c->future, &shared.chan[c->at], &c->elem));
  VOLT_FINALLY(c);
  VOLT_AWAIT(c, volt_sem_acquire_future(&c->future, &shared.cleaning, 1));
  volt_sem_release(&shared.cleaning, 1);
  VOLT_ASYNC_END(c);
}

static void add_cleaner(attempt *a, rng *r) {
  a->cleaner.received = VOLT_PENDING;
  a->cleaner.at = rng_below(r, CHANNELS);
  a->branches[1] = volt_async_future(&a->cleaner.async, receives_and_cleans_up);
}

/* Fill in a select of four operations on channels at most, and others. Returns the whole. */
static volt_future *begin(attempt *a, rng *r, uint32_t party) {
  volt_timers *timers = volt_rt_timers(shared.rt);
  unsigned how = rng_below(r, 2) ? VOLT_SELECT_FAIR : VOLT_SELECT_BIASED;
  chan_poison(a, sizeof *a);
  for (uint32_t i = 0; i < PERMIT; i++) set_branch(a, r, party, i);
  a->branches[PERMIT] = volt_sem_acquire_future(&a->leaf[PERMIT], &shared.sem, 1);
  a->branches[NAP] = volt_sleep_future(&a->nap, timers, soon(r));
  if (rng_below(r, 2)) a->branches[PERMIT] = NULL;
  if (rng_below(r, 2)) a->branches[NAP] = NULL;
  memcpy(a->outer, a->branches, sizeof a->outer);
  a->cleaner.at = CHANNELS;
  if (rng_below(r, 4) == 0) {
    if (rng_below(r, 2)) add_cleaner(a, r);
    a->outer[0] = volt_select_future(&a->inner, a->branches, 2, how);
    a->outer[1] = NULL;
  }
  if (a->outer[2] && rng_below(r, 4) == 0) {
    a->outer[2] = volt_timeout_future(&a->limit, a->outer[2], timers, soon(r));
  }
  if (a->outer[PERMIT] && rng_below(r, 4) == 0) {
    a->outer[PERMIT] = volt_timeout_future(&a->permit_limit, a->outer[PERMIT], timers, soon(r));
  }
  for (uint32_t i = BRANCHES; i > 1; i--) { /* in any order */
    uint32_t j = rng_below(r, i);
    volt_future *moved = a->outer[j];
    a->outer[j] = a->outer[i - 1];
    a->outer[i - 1] = moved;
  }
  volt_future *f = volt_select_future(&a->select, a->outer, BRANCHES, how);
  if (rng_below(r, 4)) return f;
  return volt_timeout_future(&a->timeout, f, timers, soon(r));
}

static void use_branch(attempt *a, uint32_t party, uint32_t i) {
  chan_book *b = &books[party];
  if (i == PERMIT) {
    ledger_take(&shared.permits, 1);
    ledger_give(&shared.permits, 1);
    volt_sem_release(&shared.sem, 1);
  } else if (i < PERMIT && a->sends[i]) {
    chan_sent(b, a->elem[i].stream, 1);
  } else if (i < PERMIT) {
    chan_received(b, &a->elem[i], 1);
  }
}

/* Returns whether there is a function that has ended as VOLT_OK. */
static bool end_cleaner(attempt *a, uint32_t party) {
  volt_waker nobody = {NULL, NULL};
  if (a->cleaner.at == CHANNELS) return false;
  int result = volt_future_poll(a->branches[1], nobody);
  a->branches[1] = NULL;
  STRESS_CHECK(result != VOLT_PENDING);
  /* before or after what another branch has received: nobody knows */
  if (a->cleaner.received == VOLT_OK) chan_count(&books[party], &a->cleaner.elem);
  return result == VOLT_OK;
}

/* What has ended as VOLT_OK took effect: of a select that has, one branch, and its winner is that
 * one; of one that was given up or timed out, none. */
static void end(attempt *a, uint32_t party, int result) {
  volt_waker nobody = {NULL, NULL};
  uint32_t winner = volt_select_winner(&a->select);
  uint32_t took = 0;
  bool ran = end_cleaner(a, party);
  for (uint32_t i = 0; i < BRANCHES; i++) {
    if (!a->branches[i] || volt_future_poll(a->branches[i], nobody) != VOLT_OK) continue;
    took += 1;
    use_branch(a, party, i);
  }
  if (result == VOLT_OK) {
    STRESS_CHECK(winner < BRANCHES && (took == 1 || (took == 0 && ran)));
    STRESS_CHECK(volt_future_poll(a->outer[winner], nobody) == VOLT_OK);
  } else {
    STRESS_CHECK(took == 0);
    STRESS_CHECK(result == VOLT_ECLOSED || result == VOLT_ECANCELED || result == VOLT_ETIMEDOUT);
  }
  chan_poison(a, sizeof *a);
}

/* ---- threads ---- */

/* Who polls by hand: a ctx that is registered, and told of each registration's end. */
typedef struct poller {
  volt_ctx ctx;
  VOLT_ATOMIC(uint32_t) told;
} poller;

static poller pollers[STRESS_MAX_THREADS];

static void tell(void *ctx) {
  volt_fetch_add_release(&((poller *)ctx)->told, 1);
}

static int poll_by_hand(stress_worker *w, volt_future *f) {
  poller *p = &pollers[w->index];
  uint32_t patience = stress_below(w, 2) ? UINT32_MAX : stress_below(w, 16);
  int result = VOLT_PENDING;
  for (; patience > 0 && result == VOLT_PENDING; patience--) {
    uint32_t told = volt_load_acquire(&p->told);
    p->ctx.yield = false;
    p->ctx.budget = 1 + stress_below(w, 3);
    result = volt_future_poll_ctx(f, &p->ctx);
    bool must_wait = result == VOLT_PENDING && !p->ctx.yield && patience > 16;
    while (must_wait && volt_load_acquire(&p->told) == told) stress_dawdle(w);
    stress_dawdle(w);
  }
  if (result == VOLT_PENDING) volt_future_cancel(f);
  result = volt_future_poll_ctx(f, &p->ctx);
  while (volt_load_acquire(&p->told) != p->ctx.registered) stress_dawdle(w);
  return result;
}

static int wait_for(stress_worker *w, volt_future *f) {
  switch (stress_below(w, 4)) {
    case 0: return volt_future_wait(f);
    case 1: return volt_future_wait_until(f, soon(&w->random));
    default: return poll_by_hand(w, f);
  }
}

/* Returns whether a channel is closed. */
static bool select_one(stress_worker *w) {
  attempt *a = (attempt *)malloc(sizeof *a);
  STRESS_CHECK(a != NULL);
  int result = wait_for(w, begin(a, &w->random, w->index));
  end(a, w->index, result);
  free(a);
  w->acquired += result == VOLT_OK;
  w->gave_up += result != VOLT_OK;
  stress_progress(w, "select");
  return result == VOLT_ECLOSED;
}

/* Without a select: meets those that have one. Returns whether it is closed. */
static bool trade_one(stress_worker *w) {
  uint32_t at = stress_below(w, CHANNELS);
  chan_book *b = &books[w->index];
  chan_msg m[2];
  uint32_t moved;
  int result;
  if (stress_below(w, 2)) {
    chan_make(b, stream_of(w->index, at), m, 2);
    result = volt_chan_send_many_until(&shared.chan[at], m, 2, &moved, soon(&w->random));
    if (result == VOLT_OK) chan_sent(b, m[0].stream, moved);
  } else {
    result = volt_chan_recv_many_until(&shared.chan[at], m, 2, &moved, soon(&w->random));
    if (result == VOLT_OK) chan_received(b, m, moved);
  }
  if (stress_below(w, 8) == 0 && volt_sem_try_acquire(&shared.sem, 1) == VOLT_OK) {
    ledger_take(&shared.permits, 1);
    stress_dawdle(w);
    ledger_give(&shared.permits, 1);
    volt_sem_release(&shared.sem, 1);
  }
  stress_progress(w, "trade");
  return result == VOLT_ECLOSED;
}

/* ---- tasks ---- */

typedef struct party {
  volt_task task;
  uint32_t index; /* of its book */
  rng random;
  attempt attempt;
  uint32_t left; /* how often yet */
  int result;
} party;

static party parties[TASKS];

static int trades(volt_task *t, volt_ctx *ctx) {
  party *p = volt_container_of(t, party, task);
  VOLT_TASK_BEGIN(p);
  for (; p->left > 0; p->left--) {
    VOLT_AWAIT_RESULT(p, p->result, begin(&p->attempt, &p->random, p->index));
    end(&p->attempt, p->index, p->result);
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

/* ---- rounds ---- */

static unsigned threads(void) {
  unsigned most = STRESS_MAX_THREADS / 4; /* of streams, with the tasks */
  return stress_threads() < 4 ? 4 : stress_threads() > most ? most : stress_threads();
}

/* The first one closes all, the second has the tasks; the rest is all the same. */
static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    volt_parker parker = VOLT_PARKER_INIT;
    while (!stress_stopping()) (void)volt_park_until(&parker, 1, volt_deadline_ns(500000));
    for (uint32_t i = 0; i < CHANNELS; i++) volt_chan_close(&shared.chan[i]);
  } else if (w->index == 1) {
    while (!volt_chan_is_closed(&shared.chan[CHANNELS - 1])) run_tasks(w);
  } else {
    bool selects = true;
    while (selects ? !select_one(w) : !trade_one(w)) selects = stress_below(w, 4) > 0;
  }
}

static void round_of(unsigned turn) {
  rng r = rng_seeded(turn); /* of sizes */
  volt_sem_init(&shared.sem, PERMITS);
  volt_sem_init(&shared.cleaning, 1);
  ledger_init(&shared.permits, PERMITS);
  for (uint32_t i = 0; i < CHANNELS; i++) {
    static const uint32_t capacities[] = {1, 1, 2, LARGEST};
    STRESS_CHECK(volt_chan_init(&shared.chan[i], capacities[rng_below(&r, 4)], sizeof(chan_msg),
                                shared.memory[i], sizeof shared.memory[i]) == VOLT_OK);
  }
  for (unsigned i = 0; i < threads(); i++) {
    volt_waker waker = {tell, &pollers[i]};
    pollers[i].ctx = (volt_ctx)VOLT_CTX_INIT(waker);
    pollers[i].ctx.drop = tell;
    pollers[i].ctx.budget = 0;
    volt_store_relaxed(&pollers[i].told, 0); /* published by the threads' start */
  }
  stress_round(threads(), 20000000, body, NULL);
  for (uint32_t i = 0; i < CHANNELS; i++) {
    STRESS_CHECK(volt_chan_waiters(&shared.chan[i]) == 0);
    volt_chan_destroy(&shared.chan[i], chan_dropped, &books[PARTIES - 1]);
  }
  STRESS_CHECK(ledger_held(&shared.permits) == 0);
  STRESS_CHECK(volt_sem_available(&shared.sem) == PERMITS && volt_sem_waiters(&shared.sem) == 0);
  volt_sem_destroy(&shared.sem);
  volt_sem_destroy(&shared.cleaning);
  chan_balance(books, PARTIES);
}

int main(void) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  stress_begin("select over channels", NULL, NULL);
  config.workers = 2;
  STRESS_CHECK(volt_rt_create(&shared.rt, &config) == VOLT_OK);
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(turn);
  STRESS_CHECK(volt_rt_destroy(shared.rt) == 0);
  return stress_end();
}
