/* channel_types_test.c: elements of every size in channels of every capacity: as bytes, and through
 * the front for one type. */
#include <stdlib.h>

#include "fake_waker.h"
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
  assert_result(volt_chan_send(c, &w, &e, nobody), VOLT_PENDING);
  for (uint32_t i = 0; i <= capacity; i++) receive(c, i, bytes);
  element into = pattern(0, 0);
  assert_result(volt_chan_recv(c, &w, &into, nobody), VOLT_PENDING);
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
  assert_result(volt_chan_recv_blocking(&c, NULL, VOLT_NO_DEADLINE), VOLT_OK);
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
#define FRONT_TEST(name, type)                                                          \
  static type name##_elem(uint32_t number) {                                            \
    type e;                                                                             \
    memset(&e, (int)(number % 251 + 1), sizeof e);                                      \
    return e;                                                                           \
  }                                                                                     \
  static void name##_expect(type const *e, uint32_t number) {                           \
    type want = name##_elem(number);                                                    \
    assert_memory_equal(e, &want, sizeof want);                                         \
  }                                                                                     \
  static void name##_of(uint32_t capacity) {                                            \
    const volt_waker nobody = {NULL, NULL};                                             \
    name c;                                                                             \
    volt_waiter w = VOLT_WAITER_INIT;                                                   \
    volt_future f;                                                                      \
    type e = name##_elem(capacity);                                                     \
    type into = name##_elem(0);                                                         \
    size_t bytes = name##_bytes(capacity);                                              \
    assert_int_equal(bytes, volt_chan_bytes(capacity, sizeof(type)));                   \
    void *memory = new_memory(bytes);                                                   \
    assert_result(name##_init(&c, capacity, memory, bytes - 1), VOLT_EINVAL);           \
    assert_result(name##_init(&c, capacity, memory, bytes), VOLT_OK);                   \
    assert_result(name##_try_recv(&c, &into), VOLT_EAGAIN);                             \
    assert_result(name##_recv_blocking(&c, &into, PAST_DEADLINE), VOLT_ETIMEDOUT);      \
    for (uint32_t i = 0; i < capacity; i++) {                                           \
      assert_result(name##_try_send(&c, name##_elem(i)), VOLT_OK);                      \
    }                                                                                   \
    assert_result(name##_try_send(&c, e), VOLT_EAGAIN);                                 \
    assert_result(name##_send_blocking(&c, e, PAST_DEADLINE), VOLT_ETIMEDOUT);          \
    assert_result(name##_send(&c, &w, &e, nobody), VOLT_PENDING);                       \
    name##_send_future(&f, &c, &into);                                                  \
    assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);                          \
    volt_future_cancel(&f);                                                             \
    for (uint32_t i = 0; i <= capacity; i++) {                                          \
      assert_result(name##_try_recv(&c, &into), VOLT_OK);                               \
      name##_expect(&into, i);                                                          \
    }                                                                                   \
    assert_result(name##_recv(&c, &w, &into, nobody), VOLT_PENDING);                    \
    assert_result(name##_send_blocking(&c, name##_elem(5), VOLT_NO_DEADLINE), VOLT_OK); \
    name##_expect(&into, 5);                                                            \
    name##_recv_future(&f, &c, &into);                                                  \
    assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);                          \
    assert_result(name##_try_send(&c, name##_elem(6)), VOLT_OK);                        \
    assert_result(volt_future_poll(&f, nobody), VOLT_OK);                               \
    name##_expect(&into, 6);                                                            \
    assert_result(name##_send(&c, &w, &e, nobody), VOLT_OK);                            \
    assert_result(name##_recv_blocking(&c, &into, VOLT_NO_DEADLINE), VOLT_OK);          \
    name##_expect(&into, capacity);                                                     \
    assert_result(name##_recv(&c, &w, &into, nobody), VOLT_PENDING);                    \
    volt_chan_close(&c.chan);                                                           \
    assert_result(volt_waiter_result(&w), VOLT_ECLOSED);                                \
    assert_result(name##_try_send(&c, e), VOLT_ECLOSED);                                \
    assert_result(name##_send_blocking(&c, e, VOLT_NO_DEADLINE), VOLT_ECLOSED);         \
    assert_result(name##_try_recv(&c, &into), VOLT_ECLOSED);                            \
    volt_chan_destroy(&c.chan, NULL, NULL);                                             \
    end_memory(memory, bytes);                                                          \
  }                                                                                     \
  static void a_##name(void **state) {                                                  \
    (void)state;                                                                        \
    for (int i = 0; i < CAPACITIES; i++) name##_of(capacities[i]);                      \
  }                                                                                     \
  struct name /* takes the semicolon */

FRONT_TEST(byte_chan, unsigned char);
FRONT_TEST(three_chan, three);
FRONT_TEST(word_chan, uint64_t);
FRONT_TEST(triple_chan, triple);
FRONT_TEST(large_chan, large);
FRONT_TEST(pointer_chan, const char *);

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
  };
  return cmocka_run_group_tests_name("elements of a channel", tests, NULL, NULL);
}
