/* channel_slots_test.c: elements of every size in channels of every capacity: as bytes, and through
 * the front for one type. A slot whose element is still being moved. */
#include <stdlib.h>

#include "channel_crowd.h"
#include "fake_waker.h"
#include "futex_hook.h"
#include "unit.h"

static const uint32_t capacities[] = {1, 2, 3, 5, 64, 1000};
enum { CAPACITIES = sizeof capacities / sizeof capacities[0] };

/* ---- as bytes ---- */

enum { LARGEST = 200 };

/* The bytes of an element, and one more that nobody may touch. */
typedef struct element {
  unsigned char bytes[LARGEST + 1];
} element;

static element pattern(uint32_t number, size_t bytes) {
  element e;
  memset(&e, 0x77, sizeof e);
  for (size_t i = 0; i < bytes; i++) e.bytes[i] = (unsigned char)(number * 31 + i * 7 + 1);
  return e;
}

static void expect_pattern(const element *e, uint32_t number, size_t bytes) {
  element want = pattern(number, bytes);
  assert_memory_equal(e, &want, sizeof want);
}

static void *new_memory(size_t bytes) {
  unsigned char *memory = (unsigned char *)malloc(bytes + 8);
  assert_non_null(memory);
  memset(memory, 0xa5, bytes + 8);
  return memory;
}

static void end_memory(void *memory, size_t bytes) {
  for (size_t i = 0; i < 8; i++) assert_int_equal(((unsigned char *)memory)[bytes + i], 0xa5);
  free(memory);
}

static void receive(volt_chan *c, uint32_t number, size_t bytes) {
  element e = pattern(0, 0);
  assert_result(volt_chan_try_recv(c, &e), VOLT_OK);
  expect_pattern(&e, number, bytes);
}

/* By the ring, by a sender that waits, by a receiver that waits, by both ends of a batch. */
static void all_ways(volt_chan *c, uint32_t capacity, size_t bytes) {
  volt_waiter w = VOLT_WAITER_INIT;
  const volt_waker nobody = {NULL, NULL};
  element e;
  for (uint32_t i = 0; i < capacity; i++) {
    e = pattern(i, bytes);
    assert_result(volt_chan_try_send(c, &e), VOLT_OK);
  }
  e = pattern(capacity, bytes);
  assert_result(volt_chan_try_send(c, &e), VOLT_EAGAIN);
  assert_result(volt_chan_send_waiter(c, &w, &e, nobody), VOLT_PENDING);
  for (uint32_t i = 0; i <= capacity; i++) receive(c, i, bytes);
  element into = pattern(0, 0);
  assert_result(volt_chan_recv_waiter(c, &w, &into, nobody), VOLT_PENDING);
  e = pattern(3, bytes);
  assert_result(volt_chan_try_send(c, &e), VOLT_OK);
  expect_pattern(&into, 3, bytes);
}

static void batches(volt_chan *c, uint32_t capacity, size_t bytes) {
  enum { MOST = 7 };
  unsigned char from[MOST * LARGEST];
  unsigned char into[MOST * LARGEST + 1];
  uint32_t n = capacity < MOST ? capacity : MOST;
  for (uint32_t i = 0; i < MOST; i++) {
    element e = pattern(i, bytes);
    memcpy(from + i * bytes, e.bytes, bytes);
  }
  for (int lap = 0; lap < 3; lap++) {
    uint32_t moved = 0;
    memset(into, 0x77, sizeof into);
    assert_result(volt_chan_try_send_many(c, from, MOST, &moved), VOLT_OK);
    assert_int_equal(moved, n);
    assert_result(volt_chan_try_recv_many(c, into, MOST, &moved), VOLT_OK);
    assert_int_equal(moved, n);
    assert_memory_equal(into, from, n * bytes);
    assert_int_equal(into[n * bytes], 0x77);
  }
}

static void elements_of_every_size(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 24, 31, 33, LARGEST};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int j = 0; j < CAPACITIES; j++) {
      volt_chan c;
      size_t bytes = volt_chan_bytes(capacities[j], sizes[i]);
      void *memory = new_memory(bytes);
      assert_result(volt_chan_init(&c, capacities[j], sizes[i], memory, bytes), VOLT_OK);
      all_ways(&c, capacities[j], sizes[i]);
      batches(&c, capacities[j], sizes[i]);
      volt_chan_destroy(&c, NULL, NULL);
      end_memory(memory, bytes);
    }
  }
}

/* Nothing but the signal. */
static void elements_of_no_size(void **state) {
  (void)state;
  volt_chan c;
  uint64_t memory[4];
  uint32_t moved = 0;
  assert_result(volt_chan_init(&c, 3, 0, memory, sizeof memory), VOLT_OK);
  assert_result(volt_chan_try_send(&c, NULL), VOLT_OK);
  assert_result(volt_chan_try_send_many(&c, NULL, 5, &moved), VOLT_OK);
  assert_int_equal(moved, 2);
  assert_result(volt_chan_recv(&c, NULL), VOLT_OK);
  assert_result(volt_chan_try_recv_many(&c, NULL, 5, &moved), VOLT_OK);
  assert_int_equal(moved, 2);
  assert_result(volt_chan_try_recv(&c, NULL), VOLT_EAGAIN);
  volt_chan_destroy(&c, NULL, NULL);
}

/* ---- fronts ---- */

typedef struct three {
  char bytes[3];
} three;
typedef struct triple {
  uint64_t words[3];
} triple;
typedef struct large {
  char bytes[LARGEST];
} large;

VOLT_CHAN_DECLARE(byte_chan, unsigned char);
VOLT_CHAN_DECLARE(three_chan, three);
VOLT_CHAN_DECLARE(word_chan, uint64_t);
VOLT_CHAN_DECLARE(triple_chan, triple);
VOLT_CHAN_DECLARE(large_chan, large);
VOLT_CHAN_DECLARE(pointer_chan, const char *);

/* What each front has to do, for its type. */
#define FRONT_TEST(name, type)                                                  \
  static type name##_elem(uint32_t number) {                                    \
    type e;                                                                     \
    memset(&e, (int)(number % 251 + 1), sizeof e);                              \
    return e;                                                                   \
  }                                                                             \
  static void name##_expect(type const *e, uint32_t number) {                   \
    type want = name##_elem(number);                                            \
    assert_memory_equal(e, &want, sizeof want);                                 \
  }                                                                             \
  static void name##_of(uint32_t capacity) {                                    \
    const volt_waker nobody = {NULL, NULL};                                     \
    name c;                                                                     \
    volt_waiter w = VOLT_WAITER_INIT;                                           \
    volt_future f;                                                              \
    type e = name##_elem(capacity);                                             \
    type into = name##_elem(0);                                                 \
    size_t bytes = name##_bytes(capacity);                                      \
    assert_int_equal(bytes, volt_chan_bytes(capacity, sizeof(type)));           \
    void *memory = new_memory(bytes);                                           \
    assert_result(name##_init(&c, capacity, memory, bytes - 1), VOLT_EINVAL);   \
    assert_result(name##_init(&c, capacity, memory, bytes), VOLT_OK);           \
    assert_result(name##_try_recv(&c, &into), VOLT_EAGAIN);                     \
    assert_result(name##_recv_until(&c, &into, PAST_DEADLINE), VOLT_ETIMEDOUT); \
    for (uint32_t i = 0; i < capacity; i++) {                                   \
      assert_result(name##_try_send(&c, name##_elem(i)), VOLT_OK);              \
    }                                                                           \
    assert_result(name##_try_send(&c, e), VOLT_EAGAIN);                         \
    assert_result(name##_send_until(&c, e, PAST_DEADLINE), VOLT_ETIMEDOUT);     \
    assert_result(name##_send_waiter(&c, &w, &e, nobody), VOLT_PENDING);        \
    volt_future_made(name##_send_future(&f, &c, &into));                        \
    assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);                  \
    volt_future_cancel(&f);                                                     \
    for (uint32_t i = 0; i <= capacity; i++) {                                  \
      assert_result(name##_try_recv(&c, &into), VOLT_OK);                       \
      name##_expect(&into, i);                                                  \
    }                                                                           \
    assert_result(name##_recv_waiter(&c, &w, &into, nobody), VOLT_PENDING);     \
    assert_result(name##_send(&c, name##_elem(5)), VOLT_OK);                    \
    name##_expect(&into, 5);                                                    \
    volt_future_made(name##_recv_future(&f, &c, &into));                        \
    assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);                  \
    assert_result(name##_try_send(&c, name##_elem(6)), VOLT_OK);                \
    assert_result(volt_future_poll(&f, nobody), VOLT_OK);                       \
    name##_expect(&into, 6);                                                    \
    assert_result(name##_send_waiter(&c, &w, &e, nobody), VOLT_OK);             \
    assert_result(name##_recv(&c, &into), VOLT_OK);                             \
    name##_expect(&into, capacity);                                             \
    assert_result(name##_recv_waiter(&c, &w, &into, nobody), VOLT_PENDING);     \
    volt_chan_close(&c.chan);                                                   \
    assert_result(volt_waiter_result(&w), VOLT_ECLOSED);                        \
    assert_result(name##_try_send(&c, e), VOLT_ECLOSED);                        \
    assert_result(name##_send(&c, e), VOLT_ECLOSED);                            \
    assert_result(name##_try_recv(&c, &into), VOLT_ECLOSED);                    \
    volt_chan_destroy(&c.chan, NULL, NULL);                                     \
    end_memory(memory, bytes);                                                  \
  }                                                                             \
  static void a_##name(void **state) {                                          \
    (void)state;                                                                \
    for (int i = 0; i < CAPACITIES; i++) name##_of(capacities[i]);              \
  }                                                                             \
  struct name /* takes the semicolon */

FRONT_TEST(byte_chan, unsigned char);
FRONT_TEST(three_chan, three);
FRONT_TEST(word_chan, uint64_t);
FRONT_TEST(triple_chan, triple);
FRONT_TEST(large_chan, large);
FRONT_TEST(pointer_chan, const char *);

/* ==== a slot whose element is still being moved ====
 *
 * The next thread that comes to it naps, claims nothing, and lets no thread wait for what is there. */

static channel_crowd c;
static uint32_t elems[4] = {10, 11, 12, 13};
static uint32_t moved;

/* The one of whom that is so has claimed the position, and is done by the third nap. */
static struct {
  uint64_t word; /* what it is until then */
  volt_chan_slot *slot;
  uint32_t sequence; /* when it is done */
  uint32_t naps;
} early;

static futex_outcome nap_once_more(void *arg, const futex_call *call) {
  (void)arg;
  assert_true(call->is_wait && call->timeout);
  assert_int_equal(volt_load_relaxed(&c.chan.queue.word), early.word);
  early.naps += 1;
  if (early.naps == 3) volt_store_relaxed(&early.slot->sequence, early.sequence);
  return FUTEX_ETIMEDOUT;
}

static void begin_early(uint32_t position, uint32_t until_then) {
  early.word = volt_load_relaxed(&c.chan.queue.word);
  early.slot = volt_chan_slot_(volt_chan_ring_of_(&c.chan), position);
  early.sequence = volt_load_relaxed(&early.slot->sequence);
  early.naps = 0;
  volt_store_relaxed(&early.slot->sequence, until_then);
  futex_hook_set(nap_once_more, NULL);
}

static void end_early(uint32_t naps) {
  futex_hook_set(NULL, NULL);
  assert_int_equal(early.naps, naps);
  if (naps == 0) volt_store_relaxed(&early.slot->sequence, early.sequence);
}

/* Empty, and both places have been used. */
static void begin_used(void) {
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 0, 2);
  channel_crowd_drain(&c, 0, 2);
}

static void no_element_is_claimed(void **state) {
  (void)state;
  for (uint32_t many = 0; many < 2; many++) {
    channel_crowd_init(&c, 2);
    channel_crowd_fill(&c, 7, 1);
    uint32_t elem = 0;
    begin_early(0, 0);
    assert_result(many ? volt_chan_try_recv_many(&c.chan, &elem, 1, &moved)
                       : volt_chan_try_recv(&c.chan, &elem),
                  VOLT_OK);
    end_early(3);
    assert_int_equal(elem, 7);
    channel_crowd_destroy(&c);
  }
}

static void no_place_is_claimed(void **state) {
  (void)state;
  for (uint32_t many = 0; many < 2; many++) {
    begin_used();
    uint32_t elem = 7;
    begin_early(0, 1);
    assert_result(many ? volt_chan_try_send_many(&c.chan, &elem, 1, &moved)
                       : volt_chan_try_send(&c.chan, &elem),
                  VOLT_OK);
    end_early(3);
    channel_crowd_drain(&c, 7, 1);
    channel_crowd_destroy(&c);
  }
}

/* ---- under the lock ---- */

/* Behind senders that wait. */
static void no_element_is_claimed_for_others(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 7, 2);
  channel_crowd_queue_senders(&c, 0, 1);
  uint32_t elem = 0;
  begin_early(0, 0);
  assert_result(volt_chan_try_recv(&c.chan, &elem), VOLT_OK);
  end_early(3);
  assert_int_equal(elem, 7);
  assert_result(volt_waiter_result(&c.waiters[0]), VOLT_OK);
  channel_crowd_drain(&c, 8, 1);
  channel_crowd_drain(&c, 0, 1);
  channel_crowd_destroy(&c);
}

/* The first element is there, the second is not. */
static void what_is_there_is_received(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 7, 2);
  channel_crowd_queue_senders(&c, 0, 1);
  uint32_t into[2] = {0, 0};
  begin_early(1, 0);
  assert_result(volt_chan_try_recv_many(&c.chan, into, 2, &moved), VOLT_OK);
  end_early(0);
  assert_int_equal(moved, 1);
  assert_int_equal(into[0], 7);
  channel_crowd_expect(&c, 0, VOLT_OK, 1);
  channel_crowd_drain(&c, 8, 1);
  channel_crowd_drain(&c, 0, 1);
  channel_crowd_destroy(&c);
}

/* One is handed over, the place for the second is not there: the receiver does not wait for it. */
static void what_is_waited_for_is_sent(void **state) {
  (void)state;
  begin_used();
  channel_crowd_queue_receivers(&c, 0, 1);
  begin_early(0, 1);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 2, &moved), VOLT_OK);
  end_early(0);
  assert_int_equal(moved, 1);
  channel_crowd_expect(&c, 0, VOLT_OK, 1);
  channel_crowd_expect_elem(&c, 0, 10);
  channel_crowd_destroy(&c);
}

/* The same, and it is the place after that. */
static void what_there_is_room_for_is_sent(void **state) {
  (void)state;
  begin_used();
  channel_crowd_queue_receivers(&c, 0, 1);
  begin_early(1, 1);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 3, &moved), VOLT_OK);
  end_early(0);
  assert_int_equal(moved, 2);
  channel_crowd_expect_elem(&c, 0, 10);
  channel_crowd_drain(&c, 11, 1);
  channel_crowd_destroy(&c);
}

/* ---- in a select ---- */

static volt_chan other;
static uint64_t memory[2];
static uint32_t in[2];
static volt_future f[2];
static volt_select s;
static volt_future *branches[2];
static const volt_waker nobody = {NULL, NULL};

static void begin_select(volt_future *here) {
  assert_result(volt_chan_init(&other, 1, 4, memory, sizeof memory), VOLT_OK);
  branches[0] = volt_chan_recv_future(&f[0], &other, &in[0]);
  branches[1] = here;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
}

/* It has the lock, for another branch waits, and nobody waits here. */
static void a_select_claims_no_place(void **state) {
  (void)state;
  begin_used();
  begin_select(volt_chan_send_future(&f[1], &c.chan, elems));
  begin_early(0, 1);
  assert_result(volt_future_poll(&s.future, nobody), VOLT_OK);
  end_early(3);
  assert_int_equal(volt_select_winner(&s), 1);
  channel_crowd_drain(&c, 10, 1);
  channel_crowd_destroy(&c);
  volt_chan_destroy(&other, NULL, NULL);
}

/* Nobody waits but the loser of one: the only case in which one place is claimed before. */
static void behind_a_loser_one_place_is_claimed(void **state) {
  (void)state;
  begin_used();
  begin_select(volt_chan_recv_future(&f[1], &c.chan, &in[1]));
  assert_result(volt_future_poll(&s.future, nobody), VOLT_PENDING);
  assert_result(volt_chan_try_send(&other, elems), VOLT_OK);
  assert_int_equal(volt_chan_waiters(&c.chan), 1);
  begin_early(0, 1);
  uint64_t claimed = volt_chan_word_(1, 1);
  early.word = (early.word & ~(uint64_t)VOLT_WORD_QUEUED_) + claimed;
  assert_result(volt_chan_try_send_many(&c.chan, elems + 1, 2, &moved), VOLT_OK);
  end_early(3);
  assert_int_equal(moved, 1);
  channel_crowd_drain(&c, 11, 1);
  assert_result(volt_future_poll(&s.future, nobody), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  channel_crowd_destroy(&c);
  volt_chan_destroy(&other, NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_of_every_size),
      cmocka_unit_test(elements_of_no_size),
      cmocka_unit_test(a_byte_chan),
      cmocka_unit_test(a_three_chan),
      cmocka_unit_test(a_word_chan),
      cmocka_unit_test(a_triple_chan),
      cmocka_unit_test(a_large_chan),
      cmocka_unit_test(a_pointer_chan),
      cmocka_unit_test(no_element_is_claimed),
      cmocka_unit_test(no_place_is_claimed),
      cmocka_unit_test(no_element_is_claimed_for_others),
      cmocka_unit_test(what_is_there_is_received),
      cmocka_unit_test(what_is_waited_for_is_sent),
      cmocka_unit_test(what_there_is_room_for_is_sent),
      cmocka_unit_test(a_select_claims_no_place),
      cmocka_unit_test(behind_a_loser_one_place_is_claimed),
  };
  return cmocka_run_group_tests_name("slots and elements of a channel", tests, NULL, NULL);
}
