/* abi_test.c: what a binding to another language relies on beside the functions (src/volt.abi): sizes
 * and alignment. */
#include <volt/runtime.h>

#include "unit.h"

static void sizes(void **state) {
  (void)state;
  assert_true(sizeof(volt_sem) <= 64);
  assert_true(sizeof(volt_mutex) <= 64);
  assert_true(sizeof(volt_rwlock) <= 64);
  assert_true(sizeof(volt_waiter) <= 96);
  assert_int_equal(sizeof(volt_waker), 2 * sizeof(void *));
}

#define EVERY_TYPE(X) \
  X(volt_chan)        \
  X(volt_mailbox)     \
  X(volt_oneshot)     \
  X(volt_broadcast)   \
  X(volt_watch)       \
  X(volt_barrier)     \
  X(volt_latch)       \
  X(volt_once)        \
  X(volt_notify)      \
  X(volt_cond)        \
  X(volt_token)

/* malloc() can place them, and the hot word comes first. */
static void alignment(void **state) {
  (void)state;
  assert_true(_Alignof(volt_sem) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_mutex) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_rwlock) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_waiter) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_future) <= _Alignof(max_align_t));
#define ALIGNED(type) assert_true(_Alignof(type) <= _Alignof(max_align_t));
#define WORD_FIRST(type) assert_int_equal(offsetof(type, queue.word), 0);
  EVERY_TYPE(ALIGNED)
  EVERY_TYPE(WORD_FIRST)
#undef WORD_FIRST
#undef ALIGNED
  assert_int_equal(offsetof(volt_wait_queue, word), 0);
  assert_int_equal(offsetof(volt_sem, queue), 0);
  assert_int_equal(offsetof(volt_mutex, queue), 0);
  assert_int_equal(offsetof(volt_rwlock, queue), 0);
}

static void a_line_of_its_own(void **state) {
  (void)state;
  struct {
    char before;
    VOLT_CACHE_ALIGNED volt_mutex mutex;
    VOLT_CACHE_ALIGNED char after;
  } s;
  assert_int_equal((uintptr_t)&s.mutex % VOLT_CACHE_LINE, 0);
  assert_true((uintptr_t)&s.after - (uintptr_t)&s.mutex >= VOLT_CACHE_LINE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),
      cmocka_unit_test(alignment),
      cmocka_unit_test(a_line_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
