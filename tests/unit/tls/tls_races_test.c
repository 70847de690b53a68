/* tls_races_test.c: cancels of recv and send at every step, on a network that splits, delays and resets,
 * by seeds: no byte is lost, doubled or reordered. A seed is a run that repeats.
 *
 *   unit.tls_races [races [first seed]]       so many cancels; 1000000 take a minute or two
 *
 * BACK ENDS: none */
#include <errno.h>
#include <openssl/ssl.h>
#include <volt/tls.h>

#include "hang.h"
#include "tls_scene.h"

static scene s;
static volt_tls_context *contexts[2][2]; /* of TLS 1.2 and 1.3; client and server */
static uint64_t first_seed = 1, wanted_races = 20000;

/* ---- one direction ---- */

enum { SIZE = 40000 };

/* One operation that may be under way, and what it has moved so far. */
typedef struct end {
  volt_tls_op op;
  volt_future *f; /* NULL: none is under way */
  volt_select select;
  volt_future *branches[2];
  volt_future other; /* the other branch of a select: a thread that sends may take the decision */
  volt_chan chan;
  uint64_t memory[8], element;
  volt_ctx ctx;
  bool is_sender, is_over;
  int result; /* once it is over */
  int side;
  uint64_t offset; /* of the stream: bytes that were committed, or received */
  uint8_t bytes[SIZE];
} end;

static end ends[4]; /* of each side: one that sends, one that receives */
static uint64_t races, moved;

static uint8_t byte_at(int side, uint64_t offset) {
  return (uint8_t)((offset * 0x9e3779b97f4a7c15u) >> 56 ^ (uint64_t)side);
}

static void no_wake(void *ctx) {
  (void)ctx;
}

static void end_make(end *e, int side, bool is_sender) {
  static const volt_waker waker = {no_wake, NULL};
  memset((void *)e, 0, sizeof *e);
  e->side = side;
  e->is_sender = is_sender;
  REQUIRE(volt_chan_init(&e->chan, 1, sizeof e->element, e->memory, sizeof e->memory) == VOLT_OK);
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  e->ctx = ctx;
}

static void end_begin(end *e, rng *random) {
  static const uint32_t sizes[] = {1, 100, 5000, SIZE};
  size_t size = 1 + rng_below(random, sizes[rng_below(random, 4)]);
  volt_tls *t = &s.tls[e->side];
  if (e->is_sender) {
    for (size_t i = 0; i < size; i++) e->bytes[i] = byte_at(e->side, e->offset + i);
    e->f = rng_below(random, 2) ? volt_tls_send_future(&e->op, t, e->bytes, size)
                                : volt_tls_send_all_future(&e->op, t, e->bytes, size);
  } else {
    e->f = volt_tls_recv_future(&e->op, t, e->bytes, size);
  }
  if (rng_below(random, 3) > 0) return;
  e->branches[0] = e->f;
  e->branches[1] = volt_chan_recv_future(&e->other, &e->chan, &e->element);
  e->f = volt_select_future(&e->select, e->branches, 2, VOLT_SELECT_FAIR);
}

/* It is not under way any more: count what it has moved. */
static void end_take(end *e, int result) {
  bool lost = e->f == &e->select.future && result == VOLT_OK && volt_select_winner(&e->select) == 1;
  bool is_canceled = result == VOLT_ECANCELED || lost;
  if (!e->is_sender) {
    if (result != VOLT_OK || lost) REQUIRE(e->op.n == 0);
    for (size_t i = 0; i < e->op.n; i++)
      REQUIRE(e->bytes[i] == byte_at(1 - e->side, e->offset + i));
    if (result == VOLT_OK && !lost && e->op.n == 0) e->is_over = true;
  }
  e->offset += e->op.n;
  moved += e->op.n;
  if (result != VOLT_OK && !is_canceled) {
    e->is_over = true;
    e->result = result;
  }
  if (!lost) (void)!volt_chan_try_recv(&e->chan, &e->element); /* what was not received */
  e->f = NULL;
}

static void end_poll(end *e) {
  e->ctx.budget = VOLT_CTX_BUDGET;
  e->ctx.yield = 0;
  int result = volt_future_poll_ctx(e->f, &e->ctx);
  if (result != VOLT_PENDING) end_take(e, result);
}

/* Cancel it in one of the ways there are. */
static void end_cancel(end *e, rng *random) {
  races += 1;
  bool is_select = e->f == &e->select.future;
  if (is_select && rng_below(random, 2)) {
    REQUIRE(volt_chan_try_send(&e->chan, &e->element) == VOLT_OK);
    end_poll(e); /* one of the two wins */
    return;
  }
  if (rng_below(random, 2)) {
    volt_future_cancel(e->f);
    end_poll(e);
  } else {
    e->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    end_poll(e);
    e->ctx.cancel = VOLT_CTX_GO_ON;
  }
  REQUIRE(!e->f);
}

static void end_step(end *e, rng *random) {
  if (e->is_over) return;
  if (!e->f) {
    end_begin(e, random);
    if (rng_below(random, 8) > 0) end_poll(e);
  } else if (rng_below(random, 3) == 0) {
    end_cancel(e, random);
  } else {
    end_poll(e);
  }
}

/* ---- one seed ---- */

static volt_simulated_faults faults_of(rng *random, bool resets) {
  static const uint32_t rooms[] = {700, 5000, 20000, 0};
  volt_simulated_faults faults = {
      .delay_max_ns = rng_below(random, 2) ? 0 : 1 + rng_below(random, 2000),
      .short_per_million = rng_below(random, 2) ? 0 : rng_below(random, 500000),
      .reset_per_million = resets ? 3000 : 0,
      .buffer_size = rooms[rng_below(random, 4)]};
  return faults;
}

static void begin(uint64_t seed, rng *random, bool resets) {
  volt_simulated_faults faults = faults_of(random, resets);
  int version = (int)rng_below(random, 2);
  scene_begin_with(&s, seed, &faults);
  for (int i = 0; i < 2; i++) s.context[i] = volt_tls_context_hold(contexts[version][i]);
}

static void let_pass(rng *random) {
  (void)volt_rt_run(s.h.rt);
  if (rng_below(random, 2)) volt_rt_advance(s.h.rt, rng_below(random, 1000));
}

/* Without a cancel: send what is committed, until the other side has all of it. */
static void settle(int side, rng *random) {
  end *sender = &ends[side * 2], *receiver = &ends[(1 - side) * 2 + 1];
  for (int i = 0; i < 2; i++) {
    end *e = i ? receiver : sender;
    if (e->f) end_cancel(e, random);
  }
  while (receiver->offset < sender->offset && !receiver->is_over) {
    if (!sender->f && s.tls[side].rest)
      sender->f = volt_tls_send_future(&sender->op, &s.tls[side], NULL, 0);
    if (sender->f) end_poll(sender);
    if (!receiver->f)
      receiver->f = volt_tls_recv_future(&receiver->op, &s.tls[1 - side], receiver->bytes, SIZE);
    end_poll(receiver);
    volt_rt_advance(s.h.rt, 1000);
    (void)volt_rt_run(s.h.rt);
  }
  if (receiver->f) end_cancel(receiver, random);
  if (sender->f) end_cancel(sender, random);
}

static void run(uint64_t seed, bool resets) {
  rng random = rng_seeded(seed);
  volt_select_seed(seed);
  begin(seed, &random, resets);
  int of_server;
  int result = scene_shake_as(&s, "example.org", &of_server);
  if (result != VOLT_OK || of_server != VOLT_OK) {
    REQUIRE(resets);
    scene_end(&s);
    return;
  }
  for (int i = 0; i < 4; i++) end_make(&ends[i], i / 2, i % 2 == 0);
  for (int i = 0; i < 3000; i++) {
    end_step(&ends[rng_below(&random, 4)], &random);
    if (rng_below(&random, 2)) let_pass(&random);
  }
  for (int side = 0; side < 2; side++) settle(side, &random);
  for (int side = 0; side < 2; side++) {
    uint64_t sent = ends[side * 2].offset, received = ends[(1 - side) * 2 + 1].offset;
    REQUIRE(received <= sent);
    if (!resets) REQUIRE(received == sent);
  }
  for (int i = 0; i < 4; i++) {
    if (ends[i].f) end_cancel(&ends[i], &random);
    int e = volt_errno(ends[i].result); /* the socket says it once, and then that it ends */
    bool is_reset = e == ECONNRESET || e == EPIPE || ends[i].result == VOLT_TLS_ETRUNCATED;
    if (ends[i].is_over) REQUIRE(resets && is_reset);
    volt_chan_destroy(&ends[i].chan, NULL, NULL);
  }
  scene_end(&s);
}

static void no_byte_is_lost_doubled_or_reordered(void **state) {
  (void)state;
  uint64_t seed = first_seed;
  for (; races < wanted_races; seed++) run(seed, false);
  printf("%llu races, %llu bytes, seeds %llu to %llu\n", (unsigned long long)races,
         (unsigned long long)moved, (unsigned long long)first_seed, (unsigned long long)seed - 1);
  assert_true(moved > races);
}

static void what_arrives_before_a_reset_is_a_beginning(void **state) {
  (void)state;
  races = 0;
  unsigned over = 0;
  for (uint64_t seed = first_seed; races < wanted_races / 4; seed++) {
    run(seed, true);
    for (int i = 0; i < 4; i++) over += ends[i].is_over;
  }
  assert_true(over > 0); /* the resets did happen */
}

/* ---- handshakes ---- */

/* All is split at each byte, and delayed. */
static void a_handshake_byte_by_byte(void **state) {
  (void)state;
  for (int version = 0; version < 2; version++) {
    const volt_simulated_faults faults = {.delay_max_ns = 10, .buffer_size = 1};
    scene_begin_with(&s, 1, &faults);
    for (int i = 0; i < 2; i++) s.context[i] = volt_tls_context_hold(contexts[version][i]);
    scene_shake(&s);
    job send;
    char to[100];
    job_start(&s.h, &send, volt_tls_send_all_future(&send.op, &s.tls[1], "byte by byte", 12));
    assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 12);
    assert_result(job_finish(&s.h, &send), VOLT_OK);
    assert_memory_equal(to, "byte by byte", 12);
    scene_end(&s);
  }
}

/* Run both for so many steps, and cancel one. Returns whether it was done before. */
static bool cancel_after(int version, int side, unsigned steps) {
  static const volt_simulated_faults faults = {
      .delay_min_ns = 100, .delay_max_ns = 100, .buffer_size = 300};
  scene_begin_with(&s, 1, &faults);
  for (int i = 0; i < 2; i++) s.context[i] = volt_tls_context_hold(contexts[version][i]);
  scene_init(&s, "example.org");
  job jobs[2];
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s.tls[i]));
  for (unsigned i = 0; i < steps; i++) {
    volt_rt_advance(s.h.rt, 50);
    (void)volt_rt_run(s.h.rt);
  }
  int result = job_cancel(&s.h, &jobs[side]);
  bool was_done = result == VOLT_OK;
  volt_tls_op op;
  char byte;
  if (!was_done) {
    REQUIRE(result == VOLT_ECANCELED);
    if (steps > 0)
      REQUIRE(scene_run(&s, volt_tls_recv_future(&op, &s.tls[side], &byte, 1)) == VOLT_ECANCELED);
  }
  volt_tls_close(&s.tls[side]);
  result = job_finish(&s.h, &jobs[1 - side]);
  if (result != VOLT_OK)
    REQUIRE(result == VOLT_TLS_ETRUNCATED || volt_errno(result) == ECONNRESET ||
            volt_errno(result) == EPIPE);
  scene_end(&s);
  return was_done;
}

static void a_handshake_is_cancelled_at_each_step(void **state) {
  (void)state;
  for (int version = 0; version < 2; version++) {
    for (int side = 0; side < 2; side++) {
      unsigned steps = 0;
      while (!cancel_after(version, side, steps)) steps++;
      assert_true(steps > 5);
    }
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_byte_is_lost_doubled_or_reordered),
      cmocka_unit_test(what_arrives_before_a_reset_is_a_beginning),
      cmocka_unit_test(a_handshake_byte_by_byte),
      cmocka_unit_test(a_handshake_is_cancelled_at_each_step),
  };
  if (argc > 1) hang_never();
  if (argc > 1) wanted_races = strtoull(argv[1], NULL, 10);
  if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
  scene_make_ca();
  for (int version = 0; version < 2; version++) {
    volt_tls_config client = scene_client_config(), server = scene_server_config();
    client.most = version ? VOLT_TLS_1_3 : VOLT_TLS_1_2;
    contexts[version][SCENE_CLIENT] = scene_context(VOLT_TLS_CLIENT, &client);
    contexts[version][SCENE_SERVER] = scene_context(VOLT_TLS_SERVER, &server);
  }
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int i = 0; i < 4; i++) volt_tls_context_drop(contexts[i / 2][i % 2]);
  scene_free_ca();
  return failed;
}
