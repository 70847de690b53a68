/* 100,000 fibers that wait for one mutex: what each takes of the memory, and of the maps that a process
 * may have; and that the memory goes back when they are gone. */
#define _GNU_SOURCE /* madvise */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <volt/fiber.h>

#include "by_hand.h"
#include "sanitizer.h"
#include "unit.h"

/* Sanitizers have memory of their own for each fiber, and ThreadSanitizer at most 8,128 of them. */
enum { FIBERS = UNDER_ASAN || UNDER_TSAN ? 2000 : 100000 };

static by_hand h;
static volt_mutex lock = VOLT_MUTEX_INIT;
static unsigned served;

static int wait_once(void *arg) {
  (void)arg;
  int result = volt_mutex_lock_until(&lock, VOLT_NO_DEADLINE);
  if (result != VOLT_OK) return result;
  served += 1;
  volt_mutex_unlock(&lock);
  return VOLT_OK;
}

static uint64_t resident_bytes(void) {
  unsigned long long all = 0;
  unsigned long long resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%llu %llu", &all, &resident), 2);
  fclose(file);
  return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned maps(void) {
  FILE *file = fopen("/proc/self/maps", "r");
  assert_non_null(file);
  unsigned lines = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) lines += c == '\n';
  fclose(file);
  return lines;
}

static void create(unsigned flags) {
  volt_rt_config config = by_hand_config(&h);
  config.flags |= flags;
  config.fiber_stack_bytes = 256 * 1024;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
}

/* Without guards in page tables there cannot be so many: then the fibers of this test have none. */
static unsigned guards(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  bool in_tables = madvise(memory, page, 102) == 0 && madvise(memory, page, 22) != 0;
  munmap(memory, page);
  return in_tables ? 0 : VOLT_RT_FIBER_NO_GUARDS;
}

/* Whether what the process has is what its fibers have: sanitizers and emulators need some, too. */
enum {
#ifdef __x86_64__
  IS_MEASURED = !UNDER_ASAN && !UNDER_TSAN
#else
  IS_MEASURED = 0
#endif
};

/* A page of stack, the fiber itself, and a slot for the stack. Without optimisation frames are
 * larger. */
static uint64_t most_bytes_each(void) {
#ifdef __OPTIMIZE__
  return 4608;
#else
  return 2 * 4096;
#endif
}

static void many_that_wait_take_a_page_each(void **state) {
  (void)state;
  create(guards());
  assert_result(volt_mutex_try_lock(&lock), VOLT_OK);
  uint64_t before = resident_bytes();
  unsigned maps_before = maps();
  for (unsigned i = 0; i < FIBERS; i++) {
    assert_result(volt_fiber_spawn(h.rt, wait_once, NULL), VOLT_OK);
  }
  by_hand_run(&h);
  volt_rt_stats_of stats = by_hand_stats(&h);
  assert_int_equal(stats.fiber_stacks, FIBERS);
  assert_true(stats.fiber_stack_bytes >= FIBERS * (uint64_t)256 * 1024);
  uint64_t each = (resident_bytes() - before) / FIBERS;
  unsigned more_maps = maps() - maps_before;
  printf("%u fibers: %llu bytes each, %u maps more\n", (unsigned)FIBERS, (unsigned long long)each,
         more_maps);
  if (IS_MEASURED) assert_in_range(each, 4096, most_bytes_each());
  if (IS_MEASURED) assert_in_range(more_maps, 0, 2000);

  volt_mutex_unlock(&lock);
  by_hand_run(&h);
  assert_int_equal(served, FIBERS);
  assert_int_equal(by_hand_stats(&h).fiber_stacks, 0);
  for (unsigned periods = 0; periods < 4; periods++) {
    volt_rt_advance(h.rt, UINT64_C(5000000000));
    by_hand_run(&h);
  }
  for (unsigned i = 0; i < FIBERS; i++) by_hand_run(&h); /* a few at a time */
  uint64_t left = (resident_bytes() - before) / FIBERS;
  printf("%llu bytes each when they are gone\n", (unsigned long long)left);
  if (IS_MEASURED) assert_true(left < each / 4); /* the memory of tasks stays */
  assert_true(by_hand_stats(&h).fiber_stack_bytes <= UINT64_C(64) * 4 * 256 * 1024 * 2);
  by_hand_end(&h, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_that_wait_take_a_page_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
