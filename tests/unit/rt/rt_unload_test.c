/* rt_unload_test.c: what a runtime leaves of its threads when it is destroyed: nothing. And what the
 * library leaves of threads that have waited by it. So it can be unloaded; a plugin does. The library's
 * file is the environment's VOLT_RT_LIBRARY. And that a program may end while its threads wait. */
#define _GNU_SOURCE /* nanosleep */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <volt/runtime.h>
#include <volt/semaphore.h>

#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { CALLS = 8, TIMES = 40 };

/* The functions of one load of the library. */
typedef struct rt_library {
  void *handle;
  int (*create)(volt_rt **rt, const volt_rt_config *config);
  uint64_t (*destroy)(volt_rt *rt);
  void *(*task_new)(volt_rt *rt, size_t bytes, volt_task_fn *poll);
  int (*spawn)(volt_rt *rt, volt_task *t);
  void (*detach)(volt_task *t);
  volt_rt *(*current)(void);
  volt_future *(*blocking)(volt_blocking *b, volt_rt *rt, int (*fn)(void *arg), void *arg);
  int (*acquire)(volt_sem *s, uint32_t n, uint64_t deadline_ns);
} rt_library;

/* Its code calls the library of the program only through its runtime's futures. */
typedef struct caller {
  volt_task task;
  volt_blocking call;
  volt_rt *rt;
} caller;

static rt_library lib;
static pthread_key_t key;
static VOLT_ATOMIC(uint32_t) called; /* in this load: a thread for each */

static void *symbol(const char *name) {
  void *found = dlsym(lib.handle, name);
  assert_non_null(found);
  return found;
}

static void load(void) {
  const char *file = getenv("VOLT_RT_LIBRARY");
  assert_non_null(file);
  lib.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(lib.handle);
  *(void **)&lib.create = symbol("volt_rt_create");
  *(void **)&lib.destroy = symbol("volt_rt_destroy");
  *(void **)&lib.task_new = symbol("volt_task_new");
  *(void **)&lib.spawn = symbol("volt_spawn");
  *(void **)&lib.detach = symbol("volt_task_detach");
  *(void **)&lib.current = symbol("volt_rt_current");
  *(void **)&lib.blocking = symbol("volt_blocking_future");
  *(void **)&lib.acquire = symbol("volt_sem_acquire_until");
}

static void unload(void) {
  assert_int_equal(dlclose(lib.handle), 0);
  assert_null(dlopen(getenv("VOLT_RT_LIBRARY"), RTLD_NOW | RTLD_NOLOAD)); /* it is gone */
}

/* At the very end of a thread: it takes its time, and calls the library, that had better be there. */
static void thread_ends(void *arg) {
  const struct timespec nap = {0, 1000000};
  nanosleep(&nap, NULL);
  if (lib.current() != NULL) *(void **)arg = NULL; /* never: it is no worker */
}

static int count_call(void *arg) {
  (void)arg;
  REQUIRE(pthread_setspecific(key, &lib) == 0);
  (void)volt_fetch_add_relaxed(&called, 1); /* a count */
  WAIT_UNTIL(volt_load_relaxed(&called) == CALLS);
  return VOLT_OK;
}

static int calls(volt_task *t, volt_ctx *ctx) {
  caller *self = volt_container_of(t, caller, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, lib.blocking(&self->call, self->rt, count_call, NULL));
  VOLT_TASK_END(self);
}

static void use_and_destroy(uint64_t idle_ns) {
  volt_rt *rt;
  volt_rt_config config = {.workers = 2, .blocking_idle_ns = idle_ns};
  volt_store_relaxed(&called, 0); /* the start of its threads orders it */
  assert_result(lib.create(&rt, &config), VOLT_OK);
  for (int i = 0; i < CALLS; i++) {
    caller *c = (caller *)lib.task_new(rt, sizeof *c, calls);
    assert_non_null(c);
    c->rt = rt;
    assert_result(lib.spawn(rt, &c->task), VOLT_OK);
    lib.detach(&c->task);
  }
  WAIT_UNTIL(volt_load_relaxed(&called) == CALLS);
  lib.destroy(rt);
}

/* Pool threads that are idle to the end, and some that have left before. */
static void unloaded_many_times(void **state) {
  (void)state;
  assert_int_equal(pthread_key_create(&key, thread_ends), 0);
  load();
  use_and_destroy(0); /* a sanitizer has a thread of its own from the first on */
  unload();
  unsigned before = thread_team_of_process();
  for (unsigned i = 0; i < TIMES; i++) {
    load();
    use_and_destroy(i % 2 ? 0 : 1000);
    unload();
  }
  assert_int_equal(pthread_key_delete(key), 0);
  /* a thread that was joined is in the kernel's list for a moment more */
  WAIT_UNTIL(thread_team_of_process() == before);
}

static VOLT_ATOMIC(uint32_t) has_waited;
static VOLT_ATOMIC(uint32_t) may_end;

static void wait_and_stay(void *arg, uint32_t index) {
  volt_sem sem = VOLT_SEM_INIT(0);
  (void)arg;
  (void)index;
  REQUIRE(lib.acquire(&sem, 1, volt_now_ns() + 1000000) == VOLT_ETIMEDOUT);
  volt_store_release(&has_waited, 1);
  WAIT_UNTIL(volt_load_acquire(&may_end));
}

/* It has waited by the library, and ends when that is not there any more. */
static void a_thread_outlives_it(void **state) {
  (void)state;
  thread_team team;
  load();
  thread_team_start(&team, 1, wait_and_stay, NULL);
  WAIT_UNTIL(volt_load_acquire(&has_waited));
  unload();
  volt_store_release(&may_end, 1);
  thread_team_join(&team);
}

/* ---- a thread that waits while the program ends ---- */

static bool ends_here; /* this process is the child whose end is looked at */
static pthread_key_t before_the_end;

static void wait_by_this_program(void) {
  volt_sem sem = VOLT_SEM_INIT(0);
  REQUIRE(volt_sem_acquire_until(&sem, 1, volt_now_ns() + 1000000) == VOLT_ETIMEDOUT);
}

/* Has not waited before: it would set the library's keys. */
static void wait_at_the_end(void *arg, uint32_t index) {
  pthread_key_t *fresh = (pthread_key_t *)arg;
  (void)index;
  wait_by_this_program();
  for (unsigned i = 0; i < 2; i++) REQUIRE(pthread_getspecific(fresh[i]) == NULL);
}

/* Called after the library's own, because its place comes first. The keys that it makes are those
 * that the library has just deleted. */
static __attribute__((__destructor__(101))) void the_end(void) {
  pthread_key_t fresh[2];
  thread_team team;
  if (!ends_here) return;
  for (unsigned i = 0; i < 2; i++) {
    REQUIRE(pthread_key_create(&fresh[i], NULL) == 0);
    REQUIRE(fresh[i] < before_the_end);
  }
  thread_team_start(&team, 1, wait_at_the_end, fresh);
  thread_team_join(&team);
}

static void a_thread_waits_at_the_end(void **state) {
  int status;
  (void)state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    ends_here = true;
    wait_by_this_program();
    REQUIRE(pthread_key_create(&before_the_end, NULL) == 0);
    exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unloaded_many_times),
      cmocka_unit_test(a_thread_outlives_it),
      cmocka_unit_test(a_thread_waits_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
