/* Stacks for fibers: sizes, guards, what is kept, what goes back to the system; without memory, and
 * on a system without guards in page tables. mmap(), madvise(), munmap() and clock_gettime() are
 * replaced within this executable, but not under ThreadSanitizer, which needs them before it has
 * begun: tests that depend on that are left out there. */
#define _GNU_SOURCE /* RTLD_NEXT, pipe2 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <volt/fiber.h>

#include "by_hand.h"
#include "death.h"
#include "futex_hook.h"
#include "rt/fiber/stack.h"
#include "sanitizer.h"
#include "unit.h"

#define KIB ((size_t)1024)

/* ---- the system ---- */

static struct system {
  size_t most;                   /* mmap() of more fails; 0: it does what it is asked for */
  bool is_old;                   /* before Linux 6.13 */
  size_t mapped;                 /* by mmap() with MAP_NORESERVE, and not unmapped yet */
  unsigned guards;               /* calls that put one into a page table */
  VOLT_ATOMIC(uint64_t) later_s; /* by so much all clocks are ahead */
} sys;

#if !UNDER_TSAN
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  REQUIRE(found != NULL);
  return found;
}

#define REAL(name, type)                            \
  static type call;                                 \
  if (!call) {                                      \
    void *found = real(name);                       \
    memcpy(&call, &found, sizeof call); /* ISO C */ \
  }

typedef void *mmap_fn(void *, size_t, int, int, int, off_t);
typedef int madvise_fn(void *, size_t, int);
typedef int munmap_fn(void *, size_t);

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  REAL("mmap", mmap_fn *)
  bool is_slab = flags & MAP_NORESERVE && flags & MAP_STACK;
  if (is_slab && sys.most > 0 && bytes > sys.most) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (is_slab) sys.mapped += bytes;
  return call(at, bytes, protection, flags, fd, offset);
}

int madvise(void *at, size_t bytes, int advice) {
  REAL("madvise", madvise_fn *)
  if (advice == 102 && sys.is_old) {
    errno = EINVAL;
    return -1;
  }
  int result = call(at, bytes, advice);
  if (advice == 102 && result == 0) sys.guards += 1;
  return result;
}

int munmap(void *at, size_t bytes) {
  REAL("munmap", munmap_fn *)
  if (sys.mapped > 0) sys.mapped -= bytes; /* no other map comes or goes meanwhile */
  return call(at, bytes);
}

typedef int clock_fn(clockid_t, struct timespec *);

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL("clock_gettime", clock_fn *)
  int result = call(clock, now);
  now->tv_sec += (time_t)volt_load_relaxed(&sys.later_s);
  return result;
}
#endif

/* Whether the system may read a byte there. */
static bool is_accessible(const char *at) {
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  bool yes = write(ends[1], at, 1) == 1;
  assert_true(yes || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return yes;
}

static unsigned lines_of(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  unsigned lines = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) lines += c == '\n';
  fclose(file);
  return lines;
}

/* How many of the pages at the tops of these stacks have memory. */
static unsigned tops_with_memory(char *const *tops, unsigned count) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned found = 0;
  for (unsigned i = 0; i < count; i++) {
    unsigned char has_memory;
    char *at = tops[i] - 1 - (uintptr_t)(tops[i] - 1) % page;
    found += mincore(at, page, &has_memory) == 0 && has_memory & 1;
  }
  return found;
}

static bool has_guards_in_tables(void) {
  void *page = mmap(NULL, KIB * 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(page != MAP_FAILED);
  bool yes = madvise(page, KIB * 64, 102) == 0 && !is_accessible(page);
  munmap(page, KIB * 64);
  return yes;
}

/* ---- on a worker ---- */

static by_hand h;

typedef struct act {
  volt_task task;
  void (*fn)(void *arg);
  void *arg;
} act;

static int act_poll(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  act *self = volt_container_of(t, act, task);
  self->fn(self->arg);
  return VOLT_OK;
}

static void on_worker(void (*fn)(void *arg), void *arg) {
  act self = {.fn = fn, .arg = arg};
  volt_task_init(&self.task, act_poll);
  assert_result(volt_spawn(h.rt, &self.task), VOLT_OK);
  by_hand_run(&h);
  assert_result(volt_task_join(&self.task), VOLT_OK);
  volt_task_detach(&self.task);
}

/* Stacks that are taken and given back at once. */
typedef struct stacks {
  size_t bytes;
  unsigned wanted;
  unsigned taken; /* then there was none */
  volt_stack_ *of;
} stacks;

static void take_fn(void *arg) {
  stacks *s = arg;
  while (s->taken < s->wanted && volt_stack_take_(h.rt, s->bytes, &s->of[s->taken]) == VOLT_OK) {
    s->taken += 1;
  }
}

static void give_fn(void *arg) {
  stacks *s = arg;
  for (; s->taken > 0; s->taken--) volt_stack_give_(h.rt, &s->of[s->taken - 1]);
}

static void take(stacks *s, unsigned wanted) {
  s->wanted = wanted;
  s->of = calloc(wanted, sizeof *s->of);
  assert_non_null(s->of);
  on_worker(take_fn, s);
}

static void give(stacks *s) {
  on_worker(give_fn, s);
  free(s->of);
  s->of = NULL;
}

static void begin_with(unsigned flags, uint32_t kept) {
  memset(&sys, 0, sizeof sys);
  volt_rt_config config = by_hand_config(&h);
  config.flags |= flags;
  config.fiber_stacks_kept = kept;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
}

static void begin(void) {
  begin_with(0, 0);
}

/* Nothing is left. */
static void end(void) {
  assert_int_equal(by_hand_stats(&h).fiber_stacks, 0);
  by_hand_end(&h, 0);
  assert_int_equal(sys.mapped, 0);
}

/* What is written on standard error meanwhile. */
static int saved_stderr;
static int said_by[2];

static void listen_begin(void) {
  assert_int_equal(pipe2(said_by, O_CLOEXEC | O_NONBLOCK), 0);
  saved_stderr = dup(STDERR_FILENO);
  dup2(said_by[1], STDERR_FILENO);
}

static void listen_end(char *text, size_t size) {
  dup2(saved_stderr, STDERR_FILENO);
  close(saved_stderr);
  close(said_by[1]);
  ssize_t got = read(said_by[0], text, size - 1);
  text[got > 0 ? got : 0] = '\0';
  close(said_by[0]);
}

/* ---- sizes, guards ---- */

static void a_stack_is_as_large_as_was_asked_for(void **state) {
  (void)state;
  begin();
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t bytes = 16 * KIB; bytes <= 64 * KIB * KIB; bytes += bytes / 2) {
    stacks one = {.bytes = bytes};
    take(&one, 1);
    assert_int_equal(one.taken, 1);
    volt_stack_ *stack = &one.of[0];
    size_t size = volt_stack_size_(stack);
    size_t guard = stack->slot->guard_bytes;
    assert_true(size >= bytes && size < 2 * bytes);
    assert_true(guard == page || guard == 64 * KIB || guard == size / 16);
    assert_in_range(size - guard - stack->bytes, 0, 960);
    assert_int_equal((uintptr_t)(stack->bottom + stack->bytes) % VOLT_CACHE_LINE, 0);
    stack->bottom[0] = 1;
    stack->bottom[stack->bytes - 1] = 1;
    give(&one);
  }
  end();
}

static void expect_guard(const volt_stack_ *stack) {
  size_t guard = stack->slot->guard_bytes;
  assert_true(is_accessible(stack->bottom));
  assert_true(is_accessible(stack->bottom + stack->bytes - 1));
  assert_false(is_accessible(stack->bottom - 1));
  assert_false(is_accessible(stack->bottom - guard));
  assert_true(volt_stack_guards_(stack, stack->bottom - 1));
  assert_true(volt_stack_guards_(stack, stack->bottom - guard));
  assert_false(volt_stack_guards_(stack, stack->bottom));
  assert_false(volt_stack_guards_(stack, stack->bottom - guard - 1));
}

static void below_it_is_a_guard(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  bool in_tables = has_guards_in_tables();
  begin();
  stacks some = {.bytes = 256 * KIB};
  take(&some, 100);
  assert_int_equal(some.taken, 100);
  for (unsigned i = 0; i < some.taken; i++) expect_guard(&some.of[i]);
  if (in_tables) assert_int_equal(sys.guards, 100);
  give(&some);
  end();
}

/* So that their tops are not all in the same few places of the cache. */
static void they_end_at_different_offsets(void **state) {
  (void)state;
  begin();
  stacks some = {.bytes = 256 * KIB};
  bool seen[64] = {false};
  unsigned different = 0;
  take(&some, 32);
  for (unsigned i = 0; i < some.taken; i++) {
    size_t line = (uintptr_t)(some.of[i].bottom + some.of[i].bytes) % 4096 / 64;
    different += !seen[line];
    seen[line] = true;
  }
  assert_int_equal(different, 16);
  give(&some);
  end();
}

static void before_linux_6_13_a_guard_is_a_map(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  begin();
  sys.is_old = true;
  unsigned before = lines_of("/proc/self/maps");
  stacks some = {.bytes = 64 * KIB};
  take(&some, 100);
  assert_int_equal(some.taken, 100);
  for (unsigned i = 0; i < some.taken; i++) expect_guard(&some.of[i]);
  assert_true(lines_of("/proc/self/maps") >= before + 200);
  give(&some);
  end();
}

static void without_guards(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  begin_with(VOLT_RT_FIBER_NO_GUARDS, 0);
  sys.is_old = true;
  stacks one = {.bytes = 64 * KIB};
  take(&one, 1);
  assert_true(is_accessible(one.of[0].bottom - 1));
  give(&one);
  end();
}

/* ---- what is kept ---- */

static void the_last_one_given_is_the_next_one_taken(void **state) {
  (void)state;
  begin();
  stacks some = {.bytes = 64 * KIB};
  take(&some, 10);
  char *first = some.of[0].bottom;
  give(&some);
  take(&some, 1);
  assert_ptr_equal(some.of[0].bottom, first);
  give(&some);
  end();
}

/* Where some stacks end that were in use, had memory, and were given back. */
enum { MANY = 200, KEPT = 4 };

static void use_many_fn(void *arg) {
  char **tops = arg;
  volt_rt *rt = volt_rt_current();
  volt_stack_ stack[MANY];
  for (unsigned i = 0; i < MANY; i++) {
    REQUIRE(volt_stack_take_(rt, 64 * KIB, &stack[i]) == VOLT_OK);
    tops[i] = stack[i].bottom + stack[i].bytes;
    tops[i][-1] = 1;
  }
  for (unsigned i = 0; i < MANY; i++) volt_stack_give_(rt, &stack[i]);
}

static void those_too_many_lose_their_memory(void **state) {
  (void)state;
  static char *tops[MANY];
  begin_with(0, KEPT);
  on_worker(use_many_fn, tops);
  assert_int_equal(tops_with_memory(tops, MANY), MANY);
  uint64_t mapped = by_hand_stats(&h).fiber_stack_bytes;
  const uint64_t second_ns = UINT64_C(1000000000);
  uint64_t begun_ns = volt_rt_now_ns(h.rt);
  for (unsigned seconds = 0; seconds < 15; seconds++) { /* they were in use until now */
    assert_int_equal(by_hand_run(&h), VOLT_NO_DEADLINE);
    assert_int_equal(tops_with_memory(tops, MANY), MANY);
    volt_rt_advance(h.rt, second_ns);
  }
  unsigned before = MANY;
  for (unsigned seconds = 15; seconds < 25; seconds++) {
    for (unsigned times = 0; times < MANY; times++) {
      assert_int_equal(by_hand_run(&h), VOLT_NO_DEADLINE);
      unsigned now = tops_with_memory(tops, MANY);
      assert_in_range(before - now, 0, 8); /* a few at a time */
      before = now;
    }
    volt_rt_advance(h.rt, second_ns);
  }
  assert_in_range(tops_with_memory(tops, MANY), 1, 2 * KEPT); /* the worker's, and as many again */
  assert_true(by_hand_stats(&h).fiber_stack_bytes <= mapped / 2);
  assert_int_equal(volt_rt_now_ns(h.rt) - begun_ns, 25 * second_ns);
  stacks again = {.bytes = 64 * KIB};
  take(&again, MANY);
  assert_int_equal(again.taken, MANY);
  for (unsigned i = 0; i < MANY; i++) again.of[i].bottom[again.of[i].bytes - 1] = 1;
  give(&again);
  end();
}

/* As many as were in use stay, for the next time. */
static void those_in_steady_use_keep_it(void **state) {
  (void)state;
  static char *tops[MANY];
  begin_with(0, KEPT);
  for (unsigned seconds = 0; seconds < 60; seconds += 4) {
    on_worker(use_many_fn, tops);
    assert_int_equal(tops_with_memory(tops, MANY), MANY);
    volt_rt_advance(h.rt, UINT64_C(4000000000));
    by_hand_run(&h);
    assert_int_equal(tops_with_memory(tops, MANY), MANY);
  }
  end();
}

/* Some are given back while others lose their memory, at the end of a period in which none was. */
enum { HELD = 62 };
static volt_stack_ held[HELD];

static void hold_some_fn(void *arg) {
  use_many_fn(arg);
  for (unsigned i = 0; i < HELD; i++) {
    REQUIRE(volt_stack_take_(volt_rt_current(), 64 * KIB, &held[i]) == VOLT_OK);
  }
}

static void give_held_fn(void *arg) {
  (void)arg;
  for (unsigned i = 0; i < HELD; i++) volt_stack_give_(volt_rt_current(), &held[i]);
}

static void given_back_while_others_lose_their_memory(void **state) {
  (void)state;
  static char *tops[MANY];
  begin_with(0, KEPT);
  on_worker(hold_some_fn, tops);
  for (unsigned seconds = 0; tops_with_memory(tops, MANY) == MANY; seconds++) {
    assert_true(seconds < 60);
    volt_rt_advance(h.rt, UINT64_C(1000000000));
    by_hand_run(&h);
  }
  assert_in_range(tops_with_memory(tops, MANY), MANY - 16, MANY - 1); /* others are next */
  on_worker(give_held_fn, NULL);
  for (unsigned seconds = 0; seconds < 60; seconds++) {
    for (unsigned times = 0; times < MANY; times++) by_hand_run(&h);
    volt_rt_advance(h.rt, UINT64_C(1000000000));
  }
  assert_in_range(tops_with_memory(tops, MANY), 1, 2 * KEPT);
  end();
}

/* A fiber that goes from worker to worker: the stacks that it gives back on one are taken on the other,
 * with their memory, but for those that the first keeps. */
static int give_here_take_there(void *arg) {
  char **tops = arg;
  volt_rt *rt = volt_rt_current();
  volt_rt_stats_of stats;
  volt_stack_ stack[MANY];
  unsigned again = 0;
  REQUIRE(volt_fiber_rehome(0) == VOLT_OK);
  use_many_fn(tops);
  volt_rt_stats(rt, &stats);
  uint64_t mapped = stats.fiber_stack_bytes;
  REQUIRE(volt_fiber_rehome(1) == VOLT_OK);
  for (unsigned i = 0; i < MANY - KEPT; i++) {
    REQUIRE(volt_stack_take_(rt, 64 * KIB, &stack[i]) == VOLT_OK);
    for (unsigned at = 0; at < MANY; at++) again += tops[at] == stack[i].bottom + stack[i].bytes;
  }
  volt_rt_stats(rt, &stats);
  REQUIRE(stats.fiber_stack_bytes == mapped && again == MANY - KEPT);
  REQUIRE(stats.fiber_stacks == MANY - KEPT + 1); /* and its own */
  for (unsigned i = 0; i < MANY - KEPT; i++) volt_stack_give_(rt, &stack[i]);
  return VOLT_OK;
}

static void workers_share_what_they_do_not_keep(void **state) {
  (void)state;
  static char *tops[MANY];
  volt_rt *rt;
  volt_rt_config config = {.workers = 2, .fiber_stacks_kept = KEPT};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  volt_task *t = volt_fiber_new(rt, give_here_take_there, tops, NULL);
  assert_result(volt_spawn(rt, t), VOLT_OK);
  assert_result(volt_task_join(t), VOLT_OK);
  volt_task_detach(t);
  volt_rt_stats_of stats;
  volt_rt_stats(rt, &stats);
  assert_int_equal(stats.fiber_stacks, 0);
  volt_rt_destroy(rt);
}

/* A worker that sleeps until something is too many: its sleep is over at once, and all clocks are
 * later by so much. */
static futex_outcome sleep_over(void *arg, const futex_call *call) {
  (void)arg;
  struct timespec now;
  if (!call->is_wait || !call->timeout) return FUTEX_REAL;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long seconds = (long)(call->timeout->tv_sec - now.tv_sec);
  if (seconds > 5) return FUTEX_REAL;
  if (seconds > 3) volt_fetch_add_relaxed(&sys.later_s, 6);
  return FUTEX_ETIMEDOUT;
}

static void a_worker_that_sleeps_wakes_for_it(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  static char *tops[MANY];
  memset(&sys, 0, sizeof sys);
  futex_hook_set(sleep_over, NULL);
  volt_rt *rt;
  volt_rt_config config = {.workers = 2, .fiber_stacks_kept = KEPT};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  volt_rt_stats_of stats;
  do { /* one of the two is the keeper, and the other one is woken for the task */
    volt_rt_stats(rt, &stats);
  } while (stats.parked < 2);
  act self = {.fn = use_many_fn, .arg = tops};
  volt_task_init(&self.task, act_poll);
  assert_result(volt_spawn(rt, &self.task), VOLT_OK);
  assert_result(volt_task_join(&self.task), VOLT_OK);
  volt_task_detach(&self.task);
  while (tops_with_memory(tops, MANY) > 2 * KEPT) sched_yield(); /* nothing else makes it so */
  volt_rt_destroy(rt);
  futex_hook_set(NULL, NULL);
  assert_int_equal(sys.mapped, 0);
}

/* ---- more than there may be maps ---- */

static uint64_t most_maps(void) {
  FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
  unsigned long long maps = 0;
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%llu", &maps), 1);
  fclose(file);
  return maps;
}

static void guards_that_are_maps_leave_most_maps_to_others(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  char text[1024];
  unsigned most = (unsigned)most_maps() / 8; /* a quarter, two for each */
  for (unsigned times = 0; times < 2; times++) {
    begin();
    sys.is_old = true;
    stacks some = {.bytes = 16 * KIB};
    listen_begin();
    take(&some, most + 100);
    listen_end(text, sizeof text);
    assert_int_equal(some.taken, most);
    assert_non_null(strstr(text, "volt: volt_fiber: no stack of 16 KiB for runtime "));
    assert_non_null(strstr(text, "VOLT_RT_FIBER_NO_GUARDS"));
    for (unsigned i = 0; i < most; i += 1000) expect_guard(&some.of[i]);
    give(&some);
    end(); /* and the next runtime has as many */
  }
  begin_with(VOLT_RT_FIBER_NO_GUARDS, 0);
  sys.is_old = true;
  stacks some = {.bytes = 16 * KIB};
  take(&some, most + 100);
  assert_int_equal(some.taken, most + 100);
  give(&some);
  end();
}

static void guards_in_page_tables_are_no_maps(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  if (!has_guards_in_tables()) return; /* before Linux 6.13 */
  unsigned wanted = 40000;
  begin();
  unsigned before = lines_of("/proc/self/maps");
  stacks some = {.bytes = 64 * KIB};
  take(&some, wanted);
  assert_int_equal(some.taken, wanted);
  assert_true(lines_of("/proc/self/maps") < before + 1000);
  for (unsigned i = 0; i < wanted; i += 1000) expect_guard(&some.of[i]);
  give(&some);
  end();
}

/* ---- no memory ---- */

static void without_memory_there_is_no_stack(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  char text[1024];
  begin();
  sys.most = 1;
  stacks one = {.bytes = 256 * KIB};
  errno = 77;
  listen_begin();
  take(&one, 1);
  assert_int_equal(one.taken, 0);
  give(&one);
  take(&one, 1);
  listen_end(text, sizeof text);
  assert_int_equal(one.taken, 0);
  assert_non_null(strstr(text, "volt: volt_fiber: no stack of 256 KiB for runtime "));
  assert_non_null(strstr(text, "vm.overcommit_memory"));
  assert_null(strstr(strchr(text, '\n') + 1, "volt")); /* said once */
  give(&one);
  sys.most = 0;
  take(&one, 1);
  assert_int_equal(one.taken, 1);
  give(&one);
  end();
}

static void a_slab_is_smaller_where_there_is_little_memory(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  begin();
  sys.most = 600 * KIB; /* two stacks */
  stacks some = {.bytes = 256 * KIB};
  take(&some, 5);
  assert_int_equal(some.taken, 5);
  give(&some);
  end();
}

/* ---- addresses ---- */

static volt_sem gate = VOLT_SEM_INIT(0);

static int wait_at_gate(void *arg) {
  (void)arg;
  return volt_sem_acquire(&gate, 1);
}

/* In a process that may have 40 MiB more addresses: some of the fibers run, the others have no stack,
 * and say so. */
static void run_with_few_addresses(void *arg) {
  (void)arg;
  struct rlimit limit;
  unsigned long long pages = 0;
  unsigned ran = 0;
  unsigned refused = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file && fscanf(file, "%llu", &pages) == 1);
  fclose(file);
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .fiber_stack_bytes = 256 * 1024};
  REQUIRE(volt_rt_create(&h.rt, &config) == VOLT_OK);
  limit.rlim_max = limit.rlim_cur =
      (rlim_t)(pages * (size_t)sysconf(_SC_PAGESIZE) + 40 * KIB * KIB);
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  volt_task *fibers[500];
  for (unsigned i = 0; i < 500; i++) {
    fibers[i] = volt_fiber_new(h.rt, wait_at_gate, NULL, NULL);
    REQUIRE(fibers[i] && volt_spawn(h.rt, fibers[i]) == VOLT_OK);
  }
  by_hand_run(&h);
  volt_sem_release(&gate, 500);
  by_hand_run(&h);
  for (unsigned i = 0; i < 500; i++) {
    int result = volt_task_result(fibers[i]);
    ran += result == VOLT_OK;
    refused += result == VOLT_ENOMEM;
    volt_task_detach(fibers[i]);
  }
  fprintf(stderr, "%u ran, %u refused\n", ran, refused);
  REQUIRE(ran > 64 && ran <= 160 && ran + refused == 500);
  volt_rt_destroy(h.rt);
  abort(); /* all of it was as it has to be */
}

/* Emulators may not keep it. */
static bool is_limit_kept(void) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_AS, &none);
    void *page = mmap(NULL, KIB * 64, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _exit(page == MAP_FAILED);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void with_few_addresses_some_fibers_are_refused(void **state) {
  (void)state;
  if (UNDER_TSAN || UNDER_ASAN) skip(); /* they take terabytes */
  if (!is_limit_kept()) skip();
  assert_death(run_with_few_addresses, NULL, "volt: volt_fiber: no stack of 256 KiB for runtime ",
               "RLIMIT_AS", DEATH_NOT "not so:");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stack_is_as_large_as_was_asked_for),
      cmocka_unit_test(they_end_at_different_offsets),
      cmocka_unit_test(the_last_one_given_is_the_next_one_taken),
      cmocka_unit_test(workers_share_what_they_do_not_keep),
      cmocka_unit_test(those_too_many_lose_their_memory),
      cmocka_unit_test(those_in_steady_use_keep_it),
      cmocka_unit_test(given_back_while_others_lose_their_memory),
      cmocka_unit_test(below_it_is_a_guard),
      cmocka_unit_test(before_linux_6_13_a_guard_is_a_map),
      cmocka_unit_test(without_guards),
      cmocka_unit_test(a_worker_that_sleeps_wakes_for_it),
      cmocka_unit_test(guards_that_are_maps_leave_most_maps_to_others),
      cmocka_unit_test(guards_in_page_tables_are_no_maps),
      cmocka_unit_test(without_memory_there_is_no_stack),
      cmocka_unit_test(a_slab_is_smaller_where_there_is_little_memory),
      cmocka_unit_test(with_few_addresses_some_fibers_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
