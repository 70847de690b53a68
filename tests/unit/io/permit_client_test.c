/* permit_client_test.c: a client of permits and a gate of this file's own, on a network in memory: split
 * and delayed bytes, resets, and a cancel at each moment. The gate keeps books: what a client says of
 * how its acquire has ended is held against them.
 *
 * BACK ENDS: none */
#include <volt/select.h>

#include "permit_gate.h"
#include "rng.h"

enum { CLIENTS = 4, ROUNDS = 12 };

static const volt_simulated_faults no_faults;
static const volt_permit_request two = {.text = "cores=2"};
static volt_permit_client c, other;

/* ---- one at a time ---- */

static void a_permit_is_acquired_and_given_back(void **state) {
  (void)state;
  begin(1, &no_faults);
  connect_to(&c);
  assert_false(volt_permit_client_holds(&c));
  assert_string_equal(volt_permit_client_id(&c), "");
  assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_OK);
  assert_true(volt_permit_client_holds(&c));
  assert_int_equal(volt_permit_client_held(&c, "cores"), 2);
  assert_int_equal(volt_permit_client_held(&c, "memory"), 0);
  assert_string_equal(volt_permit_client_id(&c), "0.1");
  assert_int_equal(volt_permit_client_waited_ns(&c), 7000000);
  assert_int_equal(volt_permit_client_outcome(&c), VOLT_PERMIT_KEPT);
  assert_int_equal(g.held, 2);
  assert_result(run(volt_permit_client_release_future(&c, "cores=1")), VOLT_OK);
  assert_int_equal(volt_permit_client_held(&c, "cores"), 1);
  assert_int_equal(g.held, 1);
  assert_result(run(volt_permit_client_release_future(&c, "cores=2")), VOLT_EINVAL);
  assert_string_equal(volt_permit_client_words(&c), "state: that is not held");
  assert_int_equal(volt_permit_client_held(&c, "cores"), 1);
  assert_result(run(volt_permit_client_release_future(&c, NULL)), VOLT_OK);
  assert_false(volt_permit_client_holds(&c));
  assert_int_equal(g.held, 0);
  const volt_permit_amount array[] = {{"cores", 3}};
  const volt_permit_request all = {.amounts = array, .count = 1, .flags = VOLT_PERMIT_CLAIM};
  assert_result(run(volt_permit_client_acquire_future(&c, &all)), VOLT_OK);
  assert_int_equal(g.held, 3);
  volt_permit_client_close(&c);
  volt_permit_client_close(&c);
  finish();
}

static void the_place_is_told_as_it_changes(void **state) {
  (void)state;
  begin(1, &no_faults);
  g.says_places = true;
  volt_permit_client third;
  volt_future place;
  volt_future *either[2];
  volt_select select;
  uint64_t seen = 0;
  hold(&other, "cores=3");
  connect_to(&third);
  connect_to(&c);
  volt_permit_client *waits[] = {&third, &c};
  either[0] = volt_permit_client_acquire_future(&third, &two);
  assert_result(run_for(either[0], 1), VOLT_ETIMEDOUT); /* it has left; and asks again before c */
  either[0] = volt_permit_client_acquire_future(waits[0], &two);
  assert_int_equal(volt_future_poll(either[0], fake_waker_of(&g.h.waker)), VOLT_PENDING);
  (void)by_hand_run(&g.h);
  assert_int_equal(volt_future_poll(either[0], fake_waker_of(&g.h.waker)), VOLT_PENDING);
  either[0] = volt_permit_client_acquire_future(&c, &two);
  assert_result(volt_watch_try_changed(&c.places, &seen), VOLT_OK); /* the first: none */
  either[1] = volt_permit_client_place_future(&place, &c, &seen);
  for (uint32_t want = 2; want > 0; want--) {
    assert_result(
        run(volt_select_future(&select, either, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP)),
        VOLT_OK);
    assert_int_equal(volt_select_winner(&select), 1);
    assert_int_equal(volt_permit_client_place(&c), want);
    either[1] = volt_permit_client_place_future(&place, &c, &seen);
    volt_future_cancel(&third.future);
    assert_int_equal(volt_permit_client_outcome(&third), VOLT_PERMIT_LEFT);
  }
  volt_future_cancel(either[1]);
  volt_permit_client_close(&other);
  assert_result(run(either[0]), VOLT_OK);
  assert_int_equal(volt_permit_client_place(&c), 0);
  volt_permit_client_close(&c);
  volt_permit_client_close(&third);
  finish();
}

static void a_refusal_has_a_code_and_words(void **state) {
  (void)state;
  static const struct {
    const char *line, *words;
    int result;
  } all[] = {
      {"refused busy: x\n", "busy: x", VOLT_EAGAIN},
      {"refused timeout: x\r\n", "timeout: x", VOLT_ETIMEDOUT},
      {"refused impossible: x\n", "impossible: x", VOLT_EINVAL},
      {"refused never: x\n", "never: x", VOLT_EINVAL},
      {"refused kind: x\n", "kind: x", VOLT_EINVAL},
      {"refused syntax: x\n", "syntax: x", VOLT_EINVAL},
      {"refused state: x\n", "state: x", VOLT_EINVAL},
      {"refused full: x\n", "full: x", VOLT_ERRNO(EBUSY)},
      {"refused who: x\n", "who: x", VOLT_ERRNO(EACCES)},
      {"refused draining: x\n", "draining: x", VOLT_ECLOSED},
  };
  begin(1, &no_faults);
  connect_to(&c);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    g.answers = all[i].line;
    assert_result(run(volt_permit_client_acquire_future(&c, &two)), all[i].result);
    assert_string_equal(volt_permit_client_words(&c), all[i].words);
    assert_false(volt_permit_client_holds(&c));
  }
  volt_permit_client_close(&c);
  finish();
}

static void a_gate_that_breaks_the_protocol_is_left(void **state) {
  (void)state;
  static char long_line[1200];
  memset(long_line, 'x', sizeof long_line - 2);
  long_line[sizeof long_line - 2] = '\n';
  const char *const lines[] = {
      "granted\n",         "granted cores\n", "granted cores=99999999999999999999 id=1\n",
      "queued\n",          "queued 0\n",      "given\n",
      "granted =1 id=1\n", "refused\n",       "refused why: it has no such word\n",
      "granted id=1\n",    long_line};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    begin(1, &no_faults);
    connect_to(&c);
    g.answers = lines[i];
    assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_ERRNO(EPROTO));
    assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_ECLOSED);
    finish(); /* it is closed already */
  }
  static const char *const greetings[] = {"hello 2\n", "hello\n",
                                          "HTTP/1.1 400 Bad Request\r\n\r\n"};
  for (size_t i = 0; i < sizeof greetings / sizeof greetings[0]; i++) {
    begin(1, &no_faults);
    g.greets = greetings[i];
    volt_permit_client_init(&c, g.h.rt);
    int result = run_for(volt_permit_client_connect_future(&c, "unix:/permits"), 1000);
    assert_result(result,
                  i < 2 ? VOLT_ERRNO(EPROTO) : VOLT_ETIMEDOUT); /* a word it does not know */
    finish();
  }
  begin(1, &no_faults);
  g.greets = "refused version: 2 is the least\n";
  volt_permit_client_init(&c, g.h.rt);
  assert_result(run(volt_permit_client_connect_future(&c, "unix:/permits")),
                VOLT_ERRNO(EPROTONOSUPPORT));
  assert_string_equal(volt_permit_client_words(&c), "version: 2 is the least");
  finish();
}

static void a_request_that_is_not_valid_is_not_sent(void **state) {
  (void)state;
  static const volt_permit_amount bad[] = {{"Cores", 1}, {"", 1}, {"a b", 1}, {"1", 1}};
  static const char *const texts[] = {"",
                                      "cores",
                                      "cores=",
                                      "cores=x",
                                      "cores=1K1",
                                      "cores=1k",
                                      "Cores=1",
                                      "=1",
                                      " , ",
                                      "cores=-1",
                                      "a=1 b=",
                                      "a=17592186044416M",
                                      "a=16777216T",
                                      "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1"};
  begin(1, &no_faults);
  connect_to(&c);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assert_result(
        run(volt_permit_client_acquire_future(&c, &(volt_permit_request){.text = texts[i]})),
        VOLT_EINVAL);
    assert_true(strlen(volt_permit_client_words(&c)) > 10);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_result(run(volt_permit_client_acquire_future(
                      &c, &(volt_permit_request){.amounts = &bad[i], .count = 1})),
                  VOLT_EINVAL);
  assert_result(run(volt_permit_client_acquire_future(&c, &(volt_permit_request){.count = 1})),
                VOLT_EINVAL);
  assert_result(run(volt_permit_client_acquire_future(
                    &c, &(volt_permit_request){.text = "cores=1", .flags = 8})),
                VOLT_EINVAL);
  assert_int_equal(g.ends[0].takes, 0);
  char label[400];
  memset(label, '"', sizeof label - 1);
  label[sizeof label - 1] = '\0';
  label[0] = '\n'; /* would end the line */
  const volt_permit_request longest = {
      .text = "cores=1, cores=1,cores=1 cores=1 cores=1 cores=1 cores=1 cores=0M",
      .label = label,
      .command = label,
      .wait_ns = 1};
  assert_result(run(volt_permit_client_acquire_future(&c, &longest)), VOLT_OK);
  assert_int_equal(g.ends[0].takes, 1);
  volt_permit_client_close(&c);
  finish();
}

static void a_permit_is_lost_when_the_gate_ends(void **state) {
  (void)state;
  begin(1, &no_faults);
  hold(&c, "cores=2");
  assert_result(run_for(volt_permit_client_lost_future(&c), 1000000), VOLT_ETIMEDOUT);
  assert_true(volt_permit_client_holds(&c));
  volt_future *lost = volt_permit_client_lost_future(&c);
  assert_int_equal(volt_future_poll(lost, fake_waker_of(&g.h.waker)), VOLT_PENDING);
  volt_task_cancel(&g.readers[0].task);
  assert_result(run(lost), VOLT_ECLOSED);
  assert_false(volt_permit_client_holds(&c));
  assert_result(run(volt_permit_client_lost_future(&c)), VOLT_ECLOSED);
  assert_result(run(volt_permit_client_settle_future(&c)), VOLT_ECLOSED);
  assert_result(run(volt_permit_client_release_future(&c, NULL)), VOLT_ECLOSED);
  assert_result(run(volt_permit_client_connect_future(&c, "unix:/permits")), VOLT_OK);
  assert_result(run(volt_permit_client_acquire_future(
                    &c, &(volt_permit_request){.text = "cores=2", .flags = VOLT_PERMIT_CLAIM})),
                VOLT_OK);
  assert_true(volt_simulated_reset_all(g.h.rt) > 0);
  assert_result(run(volt_permit_client_release_future(&c, NULL)), VOLT_ERRNO(ECONNRESET));
  assert_false(volt_permit_client_holds(&c));
  finish();
}

static void one_of_zeros_is_closed(void **state) {
  (void)state;
  begin(1, &no_faults);
  memset((void *)&c, 0, sizeof c);
  volt_permit_client_close(&c);
  assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_ECLOSED);
  assert_result(run(volt_permit_client_connect_future(&c, "unix:/permits")), VOLT_EINVAL);
  finish();
}

static void a_future_that_was_never_polled_has_done_nothing(void **state) {
  (void)state;
  begin(1, &no_faults);
  connect_to(&c);
  volt_future_made(volt_permit_client_acquire_future(&c, &two));
  volt_future_made(volt_permit_client_acquire_future(&c, &two));
  volt_future_cancel(&c.future);
  assert_int_equal(volt_permit_client_outcome(&c), VOLT_PERMIT_NOT_ASKED);
  assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_OK);
  assert_int_equal(g.ends[0].takes, 1);
  volt_future_made(volt_permit_client_release_future(&c, NULL));
  volt_future_cancel(&c.future);
  assert_result(run_for(volt_permit_client_lost_future(&c), 1000000), VOLT_ETIMEDOUT);
  assert_int_equal(g.held, 2);
  volt_permit_client_close(&c);
  finish();
}

/* ---- given up at each moment ---- */

static const volt_simulated_faults slow = {
    .delay_min_ns = 1000000, .delay_max_ns = 1000000, .short_per_million = 500000};

/* The gate's books say the same as the client, and nothing of it is held. */
static void expect_outcome(const gate_end *e, unsigned takes, unsigned grants, unsigned held) {
  assert_result(run(volt_permit_client_settle_future(&c)), VOLT_OK);
  assert_int_equal(e->wants, 0);
  assert_int_equal(e->held, held);
  switch (volt_permit_client_outcome(&c)) {
    case VOLT_PERMIT_NOT_ASKED: assert_int_equal(e->takes, takes); break;
    case VOLT_PERMIT_LEFT:
      assert_int_equal(e->takes, takes + 1);
      assert_int_equal(e->grants, grants);
      break;
    case VOLT_PERMIT_RETURNED: assert_int_equal(e->grants, grants + 1); break;
    default: fail();
  }
}

/* how: 0: its deadline passes; 1: it is dropped; 2: it loses a select after its grant was seen. */
static unsigned give_up_after(uint64_t seed, uint64_t after_ns, bool is_free) {
  unsigned outcome;
  begin(seed, &slow);
  if (!is_free) hold(&other, "cores=3");
  connect_to(&c);
  const gate_end *e = &g.ends[is_free ? 0 : 1];
  int result = run_for(volt_permit_client_acquire_future(&c, &two), after_ns);
  outcome = (unsigned)volt_permit_client_outcome(&c);
  if (result == VOLT_OK) {
    assert_int_equal(outcome, VOLT_PERMIT_KEPT);
    assert_int_equal(e->held, 2);
  } else {
    assert_result(result, VOLT_ETIMEDOUT);
    expect_outcome(e, 0, 0, 0);
    outcome = (unsigned)volt_permit_client_outcome(&c);
    if (!is_free) volt_permit_client_close(&other);
    assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_OK); /* and goes on */
    assert_int_equal(e->held, 2);
    assert_int_equal(volt_permit_client_outcome(&c), VOLT_PERMIT_KEPT);
  }
  volt_permit_client_close(&c);
  volt_permit_client_close(&other);
  finish();
  return outcome;
}

static void an_acquire_is_given_up_at_each_moment(void **state) {
  (void)state;
  for (unsigned is_free = 0; is_free < 2; is_free++) {
    unsigned seen[4] = {0};
    for (uint64_t seed = 1; seed <= 20; seed++)
      for (uint64_t after_ns = 0; after_ns <= UINT64_C(30000000); after_ns += 400000)
        seen[give_up_after(seed, after_ns, is_free)] += 1;
    assert_true(seen[VOLT_PERMIT_RETURNED] > 0 || !is_free);
    assert_true(seen[VOLT_PERMIT_KEPT] > 0 || !is_free);
    assert_true(seen[VOLT_PERMIT_LEFT] > 0 || is_free);
    assert_true(seen[VOLT_PERMIT_RETURNED] + seen[VOLT_PERMIT_KEPT] == 0 || is_free);
  }
}

/* One that may be granted is given up, and then one that is never granted: the outcome is that of the second. */
static unsigned give_up_twice(uint64_t seed, uint64_t first_ns, uint64_t second_ns) {
  const volt_permit_request all = {.text = "cores=3"};
  begin(seed, &slow);
  hold(&other, "cores=1");
  connect_to(&c);
  const gate_end *e = &g.ends[1];
  int result = run_for(volt_permit_client_acquire_future(&c, &two), first_ns);
  if (result == VOLT_OK) assert_result(run(volt_permit_client_release_future(&c, NULL)), VOLT_OK);
  bool is_asked = result == VOLT_OK || volt_permit_client_outcome(&c) != VOLT_PERMIT_NOT_ASKED;
  assert_result(run_for(volt_permit_client_acquire_future(&c, &all), second_ns), VOLT_ETIMEDOUT);
  assert_result(run(volt_permit_client_settle_future(&c)), VOLT_OK);
  enum volt_permit_outcome outcome = volt_permit_client_outcome(&c);
  assert_true(outcome == VOLT_PERMIT_NOT_ASKED || outcome == VOLT_PERMIT_LEFT);
  assert_int_equal(e->takes, is_asked + (outcome == VOLT_PERMIT_LEFT));
  assert_int_equal(g.held, 1);
  unsigned grants = e->grants;
  volt_permit_client_close(&c);
  volt_permit_client_close(&other);
  finish();
  return outcome == VOLT_PERMIT_LEFT ? grants : 0;
}

static void the_outcome_is_that_of_the_last_acquire(void **state) {
  (void)state;
  unsigned granted_before = 0;
  for (uint64_t seed = 1; seed <= 3; seed++)
    for (uint64_t first_ns = 0; first_ns <= UINT64_C(15000000); first_ns += 3000000)
      for (uint64_t second_ns = 0; second_ns <= UINT64_C(15000000); second_ns += 3000000)
        granted_before += give_up_twice(seed, first_ns, second_ns);
  assert_true(granted_before > 0);
}

static void a_connect_is_given_up_at_each_moment(void **state) {
  (void)state;
  unsigned done = 0, given_up = 0;
  for (uint64_t after_ns = 0; after_ns <= UINT64_C(60000000); after_ns += 700000) {
    begin(1 + after_ns, &slow);
    volt_permit_client_init(&c, g.h.rt);
    int result = run_for(volt_permit_client_connect_future(&c, "unix:/permits"), after_ns);
    if (result == VOLT_OK) {
      done += 1;
    } else {
      assert_result(result, VOLT_ETIMEDOUT);
      assert_result(run(volt_permit_client_connect_future(&c, "unix:/permits")), VOLT_OK);
      given_up += 1;
    }
    volt_permit_client_close(&c);
    finish();
  }
  assert_true(done > 0 && given_up > 0);
}

static void a_release_is_given_up_at_each_moment(void **state) {
  (void)state;
  unsigned parts[4] = {0};
  for (unsigned is_part = 0; is_part < 2; is_part++) {
    for (uint64_t after_ns = 0; after_ns <= UINT64_C(40000000); after_ns += 500000) {
      begin(1 + after_ns, &slow);
      hold(&c, "cores=3");
      int result =
          run_for(volt_permit_client_release_future(&c, is_part ? "cores=1" : NULL), after_ns);
      if (result != VOLT_OK) assert_result(result, VOLT_ETIMEDOUT);
      if (!is_part) assert_false(volt_permit_client_holds(&c));
      assert_result(run(volt_permit_client_settle_future(&c)), VOLT_OK);
      assert_int_equal(volt_permit_client_held(&c, "cores"), g.held);
      assert_true(result != VOLT_OK || g.held == (is_part ? 2 : 0));
      if (!is_part) assert_int_equal(g.held, 0);
      parts[g.held] += 1;
      volt_permit_client_close(&c);
      finish();
    }
  }
  assert_true(parts[0] > 0 && parts[2] > 0 && parts[1] == 0);
}

static void a_grant_that_loses_a_select_is_given_back(void **state) {
  (void)state;
  begin(1, &no_faults);
  connect_to(&c);
  volt_future *f = volt_permit_client_acquire_future(&c, &two);
  assert_result(run(f), VOLT_OK);
  volt_future_undo_(f); /* as a select does with a branch that was ready, and lost */
  assert_result(volt_future_poll(f, fake_waker_of(&g.h.waker)), VOLT_ECANCELED);
  assert_int_equal(volt_permit_client_outcome(&c), VOLT_PERMIT_RETURNED);
  assert_false(volt_permit_client_holds(&c));
  settle_all();
  assert_int_equal(g.held, 0); /* the give was sent at once */
  expect_outcome(&g.ends[0], 0, 0, 0);
  volt_permit_client_close(&c);
  volt_permit_client_init(&c, g.h.rt);
  f = volt_permit_client_connect_future(&c, "unix:/permits");
  assert_result(run(f), VOLT_OK);
  volt_future_undo_(f);
  assert_result(run(volt_permit_client_acquire_future(&c, &two)), VOLT_ECLOSED);
  finish();
}

/* ---- many, by seeds ---- */

typedef struct client {
  volt_task task;
  volt_permit_client permit;
  volt_sleep_op nap;
  volt_timeout timeout;
  rng random;
  int result;
  unsigned rounds, got, given_up, lost;
  uint64_t owns; /* what it uses: it stops before it gives back */
  char text[32];
} client;

static client clients[CLIENTS];
static bool is_exact; /* no connection is reset: what clients believe is so */

static volt_future *client_nap(client *self) {
  return volt_sleep_future(&self->nap, volt_rt_timers(g.h.rt),
                           volt_rt_now_ns(g.h.rt) + rng_below(&self->random, 20000000));
}

static volt_future *client_acquire(client *self) {
  uint64_t after_ns = rng_below(&self->random, 60000000);
  (void)snprintf(self->text, sizeof self->text, "cores=%u", 1 + rng_below(&self->random, LIMIT));
  const volt_permit_request request = {
      .text = self->text, .flags = rng_below(&self->random, 4) == 0 ? VOLT_PERMIT_NOW : 0u};
  return volt_timeout_future(&self->timeout,
                             volt_permit_client_acquire_future(&self->permit, &request),
                             volt_rt_timers(g.h.rt), volt_rt_now_ns(g.h.rt) + after_ns);
}

/* It may use so much now. */
static void client_owns(client *self, uint64_t n) {
  uint64_t all = 0;
  self->owns = n;
  for (unsigned i = 0; i < CLIENTS; i++) all += clients[i].owns;
  REQUIRE(!is_exact || all <= LIMIT);
}

static int client_poll(volt_task *t, volt_ctx *ctx) {
  client *self = volt_container_of(t, client, task);
  VOLT_TASK_BEGIN(self);
  for (; self->rounds > 0; self->rounds--) {
    if (self->permit.stage == 0 && self->rounds < ROUNDS) self->lost += 1;
    if (self->permit.stage == 0 || rng_below(&self->random, 20) == 0) {
      volt_permit_client_close(&self->permit);
      VOLT_AWAIT_RESULT(self, self->result,
                        volt_permit_client_connect_future(&self->permit, "unix:/permits"));
      if (self->result != VOLT_OK) continue;
    }
    VOLT_AWAIT_RESULT(self, self->result, client_acquire(self));
    if (self->result == VOLT_ETIMEDOUT) self->given_up += 1;
    if (self->result != VOLT_OK) continue;
    self->got += 1;
    client_owns(self, volt_permit_client_held(&self->permit, "cores"));
    VOLT_AWAIT(self, client_nap(self));
    if (rng_below(&self->random, 3) == 0) {
      VOLT_AWAIT_RESULT(
          self, self->result,
          volt_timeout_future(&self->timeout, volt_permit_client_lost_future(&self->permit),
                              volt_rt_timers(g.h.rt), volt_rt_now_ns(g.h.rt) + 5000000));
    }
    if (volt_permit_client_held(&self->permit, "cores") > 1) {
      client_owns(self, self->owns - 1);
      VOLT_AWAIT_RESULT(self, self->result,
                        volt_permit_client_release_future(&self->permit, "cores=1"));
    }
    client_owns(self, 0);
    if (volt_permit_client_holds(&self->permit))
      VOLT_AWAIT_RESULT(self, self->result, volt_permit_client_release_future(&self->permit, NULL));
  }
  VOLT_FINALLY(self);
  volt_permit_client_close(&self->permit);
  VOLT_TASK_END(self);
}

static void run_clients(uint64_t seed, const volt_simulated_faults *faults, unsigned all[3]) {
  begin(seed, faults);
  g.says_places = true;
  rng random = rng_seeded(seed);
  for (unsigned i = 0; i < CLIENTS; i++) {
    client *one = &clients[i];
    memset((void *)one, 0, sizeof *one);
    one->random = rng_seeded(rng_next(&random));
    one->rounds = ROUNDS;
    volt_permit_client_init(&one->permit, g.h.rt);
    volt_task_init(&one->task, client_poll);
    assert_result(volt_spawn(g.h.rt, &one->task), VOLT_OK);
  }
  for (unsigned i = 0; i < CLIENTS; i++) {
    join(&clients[i].task, VOLT_OK);
    all[0] += clients[i].got;
    all[1] += clients[i].given_up;
    all[2] += clients[i].lost;
  }
  finish();
}

static void nothing_leaks_whatever_the_seed(void **state) {
  (void)state;
  unsigned exact[3] = {0}, rough[3] = {0};
  for (uint64_t seed = 1; seed <= 150; seed++) {
    volt_simulated_faults faults = {.delay_min_ns = 10000,
                                    .delay_max_ns = 3000000,
                                    .short_per_million = 300000,
                                    .buffer_size = seed % 3 ? 0u : 40u};
    is_exact = true;
    run_clients(seed, &faults, exact);
    faults.reset_per_million = 10000;
    faults.refuse_per_million = 50000;
    is_exact = false;
    run_clients(seed, &faults, rough);
  }
  assert_true(exact[0] > 0 && exact[1] > 0 && exact[2] == 0);
  assert_true(rough[0] > 0 && rough[1] > 0 && rough[2] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_permit_is_acquired_and_given_back),
      cmocka_unit_test(the_place_is_told_as_it_changes),
      cmocka_unit_test(a_refusal_has_a_code_and_words),
      cmocka_unit_test(a_gate_that_breaks_the_protocol_is_left),
      cmocka_unit_test(a_request_that_is_not_valid_is_not_sent),
      cmocka_unit_test(a_permit_is_lost_when_the_gate_ends),
      cmocka_unit_test(one_of_zeros_is_closed),
      cmocka_unit_test(a_future_that_was_never_polled_has_done_nothing),
      cmocka_unit_test(an_acquire_is_given_up_at_each_moment),
      cmocka_unit_test(the_outcome_is_that_of_the_last_acquire),
      cmocka_unit_test(a_connect_is_given_up_at_each_moment),
      cmocka_unit_test(a_release_is_given_up_at_each_moment),
      cmocka_unit_test(a_grant_that_loses_a_select_is_given_back),
      cmocka_unit_test(nothing_leaks_whatever_the_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
