/* sight_answer_test.c: what volt-top asks, and the answers, each held against
 * docs/sight-protocol.md. No socket, no thread: the scene runs by hand. */
#include "sight_page.h"

#include <pthread.h>
#include <unistd.h>
#include <volt/counts.h>
#include <volt/fiber.h>
#include <volt/name.h>
#include <volt/sight.h>

#include "by_hand.h"
#include "sight/answer/answer.h"
#include "sight/answer/sight_serve.h"

#define MS UINT64_C(1000000)

/* ---- asking ---- */

static char answer[SERVE_ANSWER_ + 1];
static size_t answer_size;
static const char *lines[5000];
static size_t sizes[5000];
static unsigned line_count;

static void take_lines(void) {
  const char *at = answer;
  for (line_count = 0; at < answer + answer_size; line_count++) {
    const char *end = strchr(at, '\n');
    assert_non_null(end);
    lines[line_count] = at;
    sizes[line_count] = (size_t)(end - at);
    sight_page_check(at, sizes[line_count]);
    at = end + 1;
  }
}

static void ask_within(const char *request, size_t max) {
  volt_json_ to = {.at = answer, .max = max};
  volt_answer_(request, strlen(request), &to);
  answer_size = to.size;
  answer[to.size] = '\0';
  take_lines();
}

static void ask(const char *request) {
  ask_within(request, SERVE_ANSWER_);
}

static void ask_of_task(const void *task) {
  char request[96];
  snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"task\",\"task\":\"%p\"}", task);
  ask(request);
}

static bool member(unsigned line, const char *key, volt_json_member_ *found) {
  volt_json_reader_ r = {.at = lines[line], .end = lines[line] + sizes[line]};
  while (volt_json_next_(&r, found)) {
    if (volt_json_is_(found, key)) return true;
  }
  return false;
}

static const char *text(unsigned line, const char *key) {
  static char value[300];
  volt_json_member_ m;
  if (!member(line, key, &m)) return "(absent)";
  if (!volt_json_text_of_(&m, value, sizeof value)) {
    snprintf(value, sizeof value, "%.*s", (int)m.size, m.at);
  }
  return value;
}

static uint64_t number(unsigned line, const char *key) {
  volt_json_member_ m;
  uint64_t value = 0;
  if (!member(line, key, &m)) fail_msg("no %s: %.*s", key, (int)sizes[line], lines[line]);
  assert_true(volt_json_number_of_(&m, &value) || volt_json_address_of_(&m, &value));
  return value;
}

static bool condition(unsigned line, const char *key) {
  return strcmp(text(line, key), "true") == 0;
}

/* The first line from *at on that is that; *at goes behind it. */
static unsigned next_of(const char *what, unsigned *at) {
  char is[24];
  while (*at < line_count) {
    sight_page_what(lines[*at], sizes[*at], is);
    (*at)++;
    if (strcmp(is, what) == 0) return *at - 1;
  }
  fail_msg("there is no line %s", what);
  return 0;
}

static unsigned first_of(const char *what) {
  unsigned at = 0;
  return next_of(what, &at);
}

static void expect_end(const char *q, uint64_t count) {
  assert_string_equal(text(line_count - 1, "a"), "end");
  assert_string_equal(text(line_count - 1, "q"), q);
  assert_int_equal(number(line_count - 1, "count"), count);
  assert_int_equal(line_count - 1, count);
  assert_false(condition(line_count - 1, "partial"));
}

static void expect_error(const char *why) {
  assert_int_equal(line_count, 1);
  assert_string_equal(text(0, "a"), "error");
  assert_string_equal(text(0, "error"), why);
}

/* ---- the scene ---- */

static by_hand hand;
static volt_sem pool;

typedef struct inner {
  volt_async async;
  volt_future permit;
} inner;

typedef struct getter {
  volt_task task;
  volt_future permit;
  volt_timeout timeout;
  volt_select select;
  volt_sleep_op sleep;
  volt_future *branch[2];
  inner inner;
} getter;

static uint64_t in_ms(uint64_t ms) {
  return volt_rt_now_ns(hand.rt) + ms * MS;
}

static int get_line; /* of the await of get() */

static int get(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  get_line = __LINE__ + 1;
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pool, 2));
  volt_sem_release(&pool, 2);
  VOLT_TASK_END(self);
}

static int get_in_time(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  volt_future_made(volt_sem_acquire_future(&self->permit, &pool, 1));
  VOLT_AWAIT(self, volt_timeout_future(&self->timeout, &self->permit, volt_rt_timers(hand.rt),
                                       in_ms(5000)));
  VOLT_TASK_END(self);
}

static int get_or_sleep(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  self->branch[0] = volt_sem_acquire_future(&self->permit, &pool, 1);
  self->branch[1] = volt_sleep_future(&self->sleep, volt_rt_timers(hand.rt), in_ms(900));
  VOLT_AWAIT(self, volt_select_future(&self->select, self->branch, 2, VOLT_SELECT_FAIR));
  VOLT_TASK_END(self);
}

static int inside_line;

static int inside(volt_async *a, volt_ctx *ctx) {
  inner *self = volt_container_of(a, inner, async);
  VOLT_ASYNC_BEGIN(self);
  inside_line = __LINE__ + 1;
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pool, 1));
  VOLT_ASYNC_END(self);
}

static int get_inside(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_async_future(&self->inner.async, inside));
  VOLT_TASK_END(self);
}

/* Asks from within. */
static int look_around(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  (void)ctx;
  ask("{\"volt\":1,\"q\":\"workers\"}");
  VOLT_TASK_END(self);
}

static int look_at_tasks(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  (void)ctx;
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  VOLT_TASK_END(self);
}

static int begin(void **state) {
  (void)state;
  by_hand_begin(&hand);
  volt_sem_init(&pool, 8);
  assert_result(volt_sem_try_acquire(&pool, 8), VOLT_OK);
  assert_result(volt_name(&pool, "pool"), VOLT_OK);
  volt_rt_advance(hand.rt, 1000 * MS); /* its clock is not at 0 */
  return 0;
}

static int end(void **state) {
  (void)state;
  uint64_t live = by_hand_stats(&hand).live;
  by_hand_end(&hand, live);
  volt_unname(&pool);
  volt_sem_release(&pool, 8);
  volt_sem_destroy(&pool);
  return 0;
}

static getter *spawn(volt_task_fn *fn) {
  getter *g = VOLT_TASK_NEW(hand.rt, getter, fn);
  assert_result(volt_spawn(hand.rt, g ? &g->task : NULL), VOLT_OK);
  volt_task_detach(&g->task);
  return g;
}

/* It has been polled, and waits. */
static getter *spawn_and_run(volt_task_fn *fn) {
  getter *g = spawn(fn);
  by_hand_run(&hand);
  return g;
}

static void pass_ms(uint64_t ms) {
  volt_rt_advance(hand.rt, ms * MS);
  by_hand_run(&hand);
}

/* ---- the process, the runtimes ---- */

static void a_process_says_what_it_is(void **state) {
  (void)state;
  ask("{\"volt\":1,\"q\":\"hello\"}");
  expect_end("hello", 1);
  assert_int_equal(number(0, "pid"), getpid());
  assert_string_equal(text(0, "library"), volt_version());
  assert_string_equal(text(0, "program"), "unit.sight_answer");
}

static void runtimes_and_kinds_are_counted(void **state) {
  (void)state;
  (void)spawn_and_run(get);
  (void)spawn_and_run(get);
  ask("{\"volt\":1,\"q\":\"stats\"}");
  unsigned at = first_of("runtime");
  assert_true(number(at, "rt") == (uintptr_t)hand.rt);
  assert_string_equal(text(at, "name"), "volt");
  assert_true(condition(at, "by_hand"));
  assert_int_equal(number(at, "live"), 2);
  assert_int_equal(number(at, "spawned"), 2);
  volt_counts_of counts[64];
  unsigned count = volt_counts(counts, 64);
  expect_end("stats", 1 + count);
  bool is_there = false;
  for (unsigned next = 0, i = 0; i < count; i++) {
    at = next_of("kind", &next);
    if (strcmp(text(at, "kind"), "semaphore") != 0) continue;
    is_there = true;
    assert_true(number(at, "waits") >= 2);
  }
  assert_true(is_there);
}

static void a_worker_that_runs_is_seen(void **state) {
  (void)state;
  ask("{\"volt\":1,\"q\":\"workers\"}");
  expect_end("workers", 1);
  assert_string_equal(text(0, "task"), "(absent)");
  assert_string_equal(text(0, "instance"), "(absent)");
  const getter *g = spawn(look_around);
  by_hand_run(&hand);
  expect_end("workers", 1);
  assert_true(number(0, "rt") == (uintptr_t)hand.rt);
  assert_int_equal(number(0, "worker"), 0);
  assert_true(number(0, "task") == (uintptr_t)&g->task);
  (void)number(0, "looked_ns");
  char instance[32];
  snprintf(instance, sizeof instance, "%s", text(0, "instance"));
  (void)spawn(look_around);
  by_hand_run(&hand);
  assert_string_not_equal(text(0, "instance"), instance);
}

/* ---- tasks ---- */

static void a_task_that_waits_says_for_what(void **state) {
  (void)state;
  const getter *g = spawn_and_run(get);
  pass_ms(250);
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  expect_end("tasks", 1);
  assert_true(number(0, "rt") == (uintptr_t)hand.rt);
  assert_true(number(0, "task") == (uintptr_t)&g->task);
  assert_string_equal(text(0, "how"), "waits");
  assert_in_range(number(0, "age_ns"), 248 * MS, 252 * MS);
  assert_int_equal(number(0, "polls"), 1);
  assert_true(number(0, "poll") == (uintptr_t)get);
  assert_string_equal(text(0, "function"), "get");
  assert_non_null(strstr(text(0, "file"), "sight_answer_test.c"));
  assert_int_equal(number(0, "line"), get_line);
  assert_int_equal(number(0, "registrations"), 1);
  assert_string_equal(text(0, "operation"), "volt_sem_acquire");
  assert_string_equal(text(0, "kind"), "semaphore");
  assert_true(number(0, "object") == (uintptr_t)&pool);
  assert_string_equal(text(0, "name"), "pool");
  assert_false(condition(0, "granted"));
  assert_false(condition(0, "fiber"));
}

static void tasks_that_do_not_wait_say_so(void **state) {
  (void)state;
  const getter *queued = spawn(get);
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  expect_end("tasks", 1);
  assert_string_equal(text(0, "how"), "queued");
  assert_int_equal(number(0, "age_ns"), 0);
  assert_string_equal(text(0, "registrations"), "(absent)");
  assert_string_equal(text(0, "operation"), "(absent)");
  ask_of_task(&queued->task);
  expect_end("task", 1);
  by_hand_run(&hand);
  const getter *runs = spawn(look_at_tasks);
  by_hand_run(&hand);
  expect_end("tasks", 2);
  assert_string_equal(text(0, "how"), "waits");
  assert_string_equal(text(1, "how"), "runs");
  assert_int_equal(number(1, "worker"), 0);
  assert_true(number(1, "task") == (uintptr_t)&runs->task);
}

static void a_cancelled_task_and_a_granted_one_are_marked(void **state) {
  (void)state;
  getter *g = VOLT_TASK_NEW(hand.rt, getter, get);
  assert_result(volt_spawn(hand.rt, &g->task), VOLT_OK);
  by_hand_run(&hand);
  volt_sem_release(&pool, 2); /* its turn comes with the next run: it is queued */
  assert_true(volt_task_cancel(&g->task));
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  assert_true(condition(0, "cancelled"));
  assert_string_equal(text(0, "how"), "queued");
  by_hand_run(&hand);
  volt_task_detach(&g->task);
  assert_result(volt_sem_try_acquire(&pool, 2), VOLT_OK);
}

static void tasks_come_by_age_a_page_at_a_time(void **state) {
  (void)state;
  enum { TASKS = 25, PAGE = 4 };
  const getter *spawned[TASKS];
  for (unsigned i = 0; i < TASKS; i++) {
    spawned[i] = spawn_and_run(get);
    pass_ms(10);
  }
  char request[160] = "{\"volt\":1,\"q\":\"tasks\",\"limit\":4}";
  for (unsigned i = 0; i < TASKS; i += PAGE) {
    ask(request);
    unsigned left = TASKS - i < PAGE ? TASKS - i : PAGE;
    expect_end("tasks", left);
    for (unsigned j = 0; j < left; j++) {
      assert_true(number(j, "task") == (uintptr_t)&spawned[i + j]->task);
    }
    bool is_last = i + left == TASKS;
    assert_int_equal(strcmp(text(line_count - 1, "cursor"), "(absent)") == 0, is_last);
    snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"tasks\",\"limit\":4,\"cursor\":\"%s\"}",
             text(line_count - 1, "cursor"));
  }
}

/* All that is in the page is whole, and the rest is to be had by the cursor. */
static void a_page_without_room_goes_on_by_its_cursor(void **state) {
  (void)state;
  enum { TASKS = 40 };
  unsigned found = 0, pages = 0;
  for (unsigned i = 0; i < TASKS; i++) (void)spawn_and_run(get);
  char request[160] = "{\"volt\":1,\"q\":\"tasks\"}";
  uint64_t last = 0;
  do {
    ask_within(request, ANSWER_LEAST_ + 3000);
    assert_true(answer_size <= ANSWER_LEAST_ + 3000);
    for (unsigned i = 0; i + 1 < line_count; i++, found++) {
      assert_true(number(i, "task") > last || i == 0);
      last = number(i, "task");
    }
    pages++;
    snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"tasks\",\"cursor\":\"%s\"}",
             text(line_count - 1, "cursor"));
  } while (strcmp(text(line_count - 1, "cursor"), "(absent)") != 0);
  assert_int_equal(found, TASKS);
  assert_true(pages > 2);
}

static void young_tasks_are_left_out(void **state) {
  (void)state;
  const getter *old = spawn_and_run(get);
  pass_ms(500);
  (void)spawn_and_run(get);
  ask("{\"volt\":1,\"q\":\"tasks\",\"older_ms\":400}");
  expect_end("tasks", 1);
  assert_true(number(0, "task") == (uintptr_t)&old->task);
  ask("{\"volt\":1,\"q\":\"tasks\",\"older_ms\":600}");
  expect_end("tasks", 0);
}

static void tasks_that_wait_for_an_object_are_found(void **state) {
  (void)state;
  char request[96];
  volt_sem other;
  volt_sem_init(&other, 0);
  (void)spawn_and_run(get);
  const getter *within = spawn_and_run(get_or_sleep);
  snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"tasks\",\"object\":\"%p\"}",
           (void *)&pool);
  ask(request);
  expect_end("tasks", 2);
  assert_true(number(1, "task") == (uintptr_t)&within->task ||
              number(0, "task") == (uintptr_t)&within->task);
  snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"tasks\",\"object\":\"%p\"}",
           (void *)&other);
  ask(request);
  expect_end("tasks", 0);
}

static void thousands_of_tasks_have_pages_of_a_thousand(void **state) {
  (void)state;
  enum { TASKS = 2500 };
  for (unsigned i = 0; i < TASKS; i++) (void)spawn(get);
  by_hand_run(&hand);
  ask("{\"volt\":1,\"q\":\"tasks\",\"limit\":5000}");
  assert_int_equal(number(line_count - 1, "count"), 1000);
  assert_string_not_equal(text(line_count - 1, "cursor"), "(absent)");
}

/* ---- one task ---- */

static void a_task_shows_all_that_it_awaits(void **state) {
  (void)state;
  const getter *first = spawn_and_run(get);
  const getter *g = spawn_and_run(get_in_time);
  pass_ms(1000);
  ask_of_task(&g->task);
  expect_end("task", 3);
  assert_string_equal(text(0, "function"), "get_in_time");
  assert_string_equal(text(1, "a"), "stop");
  assert_string_equal(text(1, "operation"), "volt_timeout");
  assert_in_range(number(1, "left_ns"), 3999 * MS, 4001 * MS);
  assert_string_equal(text(1, "ends"), "inner");
  assert_string_equal(text(2, "operation"), "volt_sem_acquire");
  assert_string_equal(text(2, "ends"), "holders");
  assert_int_equal(number(2, "wanted"), 1);
  assert_int_equal(number(2, "waiters"), 2);
  assert_int_equal(number(2, "place"), 2);
  assert_string_equal(text(2, "state"), "0 of 8 free");
  assert_true(number(2, "depth") > number(1, "depth"));
  ask_of_task(&first->task);
  assert_int_equal(number(first_of("stop"), "place"), 1);
}

static void the_branches_of_a_select_are_shown(void **state) {
  (void)state;
  const getter *g = spawn_and_run(get_or_sleep);
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  assert_string_equal(text(0, "operation"), "volt_sem_acquire"); /* the first of the two */
  ask_of_task(&g->task);
  expect_end("task", 4);
  assert_string_equal(text(1, "operation"), "volt_select");
  assert_string_equal(text(1, "ends"), "any");
  assert_string_equal(text(2, "operation"), "volt_sem_acquire");
  assert_string_equal(text(3, "operation"), "volt_sleep");
  assert_string_equal(text(3, "ends"), "time");
  assert_int_equal(number(2, "depth"), number(1, "depth") + 1);
  assert_int_equal(number(3, "depth"), number(1, "depth") + 1);
}

static volt_rwlock table;

static int write_table(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_rwlock_write_future(&self->permit, &table));
  volt_rwlock_write_unlock(&table);
  VOLT_TASK_END(self);
}

static void a_writer_is_told_from_a_reader(void **state) {
  (void)state;
  volt_rwlock_init(&table);
  assert_result(volt_rwlock_try_read(&table), VOLT_OK);
  const getter *g = spawn_and_run(write_table);
  ask_of_task(&g->task);
  assert_string_equal(text(1, "operation"), "volt_rwlock_write");
  assert_true(condition(1, "write"));
  volt_rwlock_read_unlock(&table);
  by_hand_run(&hand);
}

static void an_async_function_has_its_own_line(void **state) {
  (void)state;
  const getter *g = spawn_and_run(get_inside);
  ask_of_task(&g->task);
  expect_end("task", 3);
  assert_string_equal(text(1, "function"), "get_inside");
  assert_string_equal(text(2, "function"), "inside");
  assert_int_equal(number(2, "line"), inside_line);
  assert_string_equal(text(2, "operation"), "volt_sem_acquire");
}

static void a_task_that_is_gone_is_an_error(void **state) {
  (void)state;
  ask_of_task(&pool);
  expect_error("gone");
  ask("{\"volt\":1,\"q\":\"task\"}");
  expect_error("gone");
}

static int nap(void *arg) {
  (void)arg;
  int result = volt_sem_acquire(&pool, 1);
  if (result == VOLT_OK) volt_sem_release(&pool, 1);
  return result;
}

static void a_fiber_is_known_by_name_and_function(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  volt_fiber_config config = {.name = "fetch"};
  volt_task *t = volt_fiber_new(hand.rt, nap, NULL, &config);
  assert_result(volt_spawn(hand.rt, t), VOLT_OK);
  volt_task_detach(t);
  by_hand_run(&hand);
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  expect_end("tasks", 1);
  assert_true(condition(0, "fiber"));
  assert_string_equal(text(0, "fiber_name"), "fetch");
  assert_string_equal(text(0, "code"), "(absent)");
  assert_true(number(0, "fiber_fn") == (uintptr_t)nap);
  assert_string_equal(text(0, "operation"), "volt_sem_acquire");
  ask_of_task(t);
  unsigned at = first_of("frame");
  assert_non_null(strstr(text(at, "code"), "unit.sight_answer+0x"));
  volt_sem_release(&pool, 1);
  by_hand_run(&hand);
  assert_result(volt_sem_try_acquire(&pool, 1), VOLT_OK);
}

static int forget(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  return volt_task_is_cancelled(t) ? VOLT_ECANCELED : VOLT_PENDING;
}

/* It has no VOLT_TASK_BEGIN: it is known by the module that it is in, and the place there. */
static void a_function_without_a_name_has_a_place(void **state) {
  (void)state;
  volt_task *t = volt_task_new(hand.rt, sizeof *t, forget);
  assert_result(volt_spawn(hand.rt, t), VOLT_OK);
  by_hand_run(&hand);
  ask("{\"volt\":1,\"q\":\"tasks\"}");
  expect_end("tasks", 1);
  assert_string_equal(text(0, "function"), "(absent)");
  assert_memory_equal(text(0, "code"), "unit.sight_answer+0x", 20);
  ask_of_task(t);
  assert_memory_equal(text(first_of("task"), "code"), "unit.sight_answer+0x", 20);
  volt_task_cancel(t);
  by_hand_run(&hand);
  volt_task_detach(t);
}

/* ---- objects ---- */

static void objects_are_those_with_names_and_those_waited_for(void **state) {
  (void)state;
  volt_sem quiet;
  volt_sem_init(&quiet, 3);
  assert_result(volt_name_nested(&quiet, "quiet", 2), VOLT_OK);
  (void)spawn_and_run(get);
  pass_ms(300);
  (void)spawn_and_run(get_in_time);
  ask("{\"volt\":1,\"q\":\"objects\"}");
  unsigned pools = 0, quiets = 0;
  uint64_t last = 0;
  for (unsigned i = 0; i + 1 < line_count; i++) {
    assert_string_equal(text(i, "a"), "object");
    assert_true(number(i, "object") > last);
    last = number(i, "object");
    if (last == (uintptr_t)&pool) {
      pools++;
      assert_string_equal(text(i, "name"), "pool");
      assert_string_equal(text(i, "kind"), "semaphore");
      assert_int_equal(number(i, "tasks"), 2);
      assert_int_equal(number(i, "threads"), 0);
      assert_in_range(number(i, "oldest_ns"), 298 * MS, 302 * MS);
      assert_string_equal(text(i, "state"), "0 of 8 free");
    } else if (last == (uintptr_t)&quiet) {
      quiets++;
      assert_string_equal(text(i, "name"), "quiet");
      assert_int_equal(number(i, "level"), 2);
      assert_string_equal(text(i, "kind"), "(absent)");
      assert_int_equal(number(i, "tasks"), 0);
    }
  }
  assert_int_equal(pools, 1);
  assert_int_equal(quiets, 1);
  volt_unname(&quiet);
  volt_sem_destroy(&quiet);
}

static void objects_have_pages(void **state) {
  (void)state;
  enum { NAMES = 60 };
  static char named[NAMES];
  for (unsigned i = 0; i < NAMES; i++) assert_result(volt_name(&named[i], "some"), VOLT_OK);
  char request[160] = "{\"volt\":1,\"q\":\"objects\"}";
  uint64_t last = 0;
  unsigned found = 0, pages = 0;
  do {
    ask_within(request, ANSWER_LEAST_ + 2000);
    for (unsigned i = 0; i + 1 < line_count; i++, found++) {
      assert_true(number(i, "object") > last);
      last = number(i, "object");
    }
    pages++;
    snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"objects\",\"cursor\":\"%s\"}",
             text(line_count - 1, "cursor"));
  } while (strcmp(text(line_count - 1, "cursor"), "(absent)") != 0);
  assert_int_equal(found, NAMES + 1); /* and the pool */
  assert_true(pages > 2);
  for (unsigned i = 0; i < NAMES; i++) volt_unname(&named[i]);
}

static void waits_of_an_object_are_a_histogram(void **state) {
  (void)state;
  char request[96];
  volt_sight_config config = {.flags = VOLT_SIGHT_WAITS, .sample = 1};
  assert_result(volt_sight_enable(&config), VOLT_OK);
  volt_future f;
  volt_future_made(volt_sem_acquire_future(&f, &pool, 1));
  assert_result(volt_future_wait_until(&f, volt_deadline_ms(3)), VOLT_ETIMEDOUT);
  ask("{\"volt\":1,\"q\":\"objects\"}");
  expect_end("objects", 1);
  assert_int_equal(number(0, "waits"), 1);
  assert_true(number(0, "waits_longest_ns") >= 3 * MS);
  assert_true(number(0, "waits_p50_ns") > 0 && number(0, "waits_p99_ns") > 0);
  snprintf(request, sizeof request, "{\"volt\":1,\"q\":\"object\",\"object\":\"%p\"}",
           (void *)&pool);
  ask(request);
  expect_end("object", 1);
  assert_string_equal(text(0, "of"), "waits");
  assert_int_equal(number(0, "count"), 1);
  assert_true(number(0, "below_ns") > 3 * MS);
  ask("{\"volt\":1,\"q\":\"object\"}");
  expect_error("value");
  volt_sight_disable();
}

/* ---- threads, and what is held ---- */

static volt_mutex cache;

static void *lock_cache(void *arg) {
  (void)arg;
  if (volt_mutex_lock_until(&cache, VOLT_NO_DEADLINE) == VOLT_OK) volt_mutex_unlock(&cache);
  return NULL;
}

/* A line has an owner that begins so, in builds that know it; else it has none. */
static void expect_owner(unsigned line, int thread) {
  char owner[64];
  (void)snprintf(owner, sizeof owner, "held by thread %d", thread);
  if (!VOLT_SIGHT) strcpy(owner, "(absent)");
  assert_memory_equal(text(line, "owner"), owner, strlen(owner));
}

static void a_thread_that_blocks_is_shown(void **state) {
  (void)state;
  pthread_t thread;
  volt_mutex_init(&cache);
  assert_result(volt_mutex_try_lock(&cache), VOLT_OK);
  assert_result(volt_name(&cache, "cache"), VOLT_OK);
  assert_int_equal(pthread_create(&thread, NULL, lock_cache, NULL), 0);
  do {
    ask("{\"volt\":1,\"q\":\"threads\"}");
  } while (line_count == 1); /* until it sleeps */
  expect_end("threads", 1);
  assert_true(number(0, "tid") > 0 && number(0, "tid") != (uint64_t)getpid());
  assert_string_equal(text(0, "thread"), "unit.sight_answ");
  assert_string_equal(text(0, "operation"), "volt_mutex_lock");
  assert_string_equal(text(0, "name"), "cache");
  assert_string_equal(text(0, "state"), "locked");
  expect_owner(0, (int)getpid());
  ask("{\"volt\":1,\"q\":\"objects\"}");
  expect_end("objects", 2);
  unsigned at = strcmp(text(0, "name"), "cache") == 0 ? 0 : 1;
  assert_int_equal(number(at, "threads"), 1);
  assert_int_equal(number(at, "tasks"), 0);
  assert_string_equal(text(at, "kind"), "mutex");
  assert_string_equal(text(at, "state"), "locked");
  expect_owner(at, (int)getpid());
  volt_mutex_unlock(&cache);
  assert_int_equal(pthread_join(thread, NULL), 0);
  volt_unname(&cache);
  volt_mutex_destroy(&cache);
}

#if VOLT_SIGHT
static volt_mutex index_lock;

typedef struct locker {
  volt_task task;
  volt_future lock;
  volt_mutex *first, *second;
  int locked;
} locker;

static int lock_two(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, self->first));
  self->locked = 1;
  VOLT_YIELD(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, self->second));
  self->locked = 2;
  VOLT_FINALLY(self);
  if (self->locked == 2) volt_mutex_unlock(self->second);
  if (self->locked >= 1) volt_mutex_unlock(self->first);
  VOLT_TASK_END(self);
}

static locker *spawn_locker(volt_mutex *first, volt_mutex *second) {
  locker *l = VOLT_TASK_NEW(hand.rt, locker, lock_two);
  l->first = first;
  l->second = second;
  assert_result(volt_spawn(hand.rt, &l->task), VOLT_OK);
  volt_task_detach(&l->task);
  return l;
}

static void owners_and_what_they_hold_are_shown(void **state) {
  (void)state;
  volt_mutex_init(&cache);
  volt_mutex_init(&index_lock);
  assert_result(volt_name(&cache, "cache"), VOLT_OK);
  const locker *one = spawn_locker(&cache, &index_lock), *two = spawn_locker(&index_lock, &cache);
  by_hand_run(&hand);
  pass_ms(10);
  ask_of_task(&one->task);
  unsigned at = first_of("held");
  assert_true(number(at, "object") == (uintptr_t)&cache);
  assert_string_equal(text(at, "name"), "cache");
  assert_non_null(strstr(text(at, "file"), "sight_answer_test.c"));
  assert_true(number(at, "line") > 0);
  char owner[40];
  snprintf(owner, sizeof owner, "held by task %p", (const void *)&two->task);
  assert_memory_equal(text(first_of("stop"), "owner"), owner, strlen(owner));
  ask("{\"volt\":1,\"q\":\"objects\"}");
  for (unsigned i = 0, found = 0; found == 0; i++) { /* in the order of their addresses */
    assert_true(i + 1 < line_count);
    if (number(i, "object") != (uintptr_t)&index_lock) continue;
    found = 1;
    assert_memory_equal(text(i, "owner"), owner, strlen(owner));
  }
  ask("{\"volt\":1,\"q\":\"deadlocks\"}");
  expect_end("deadlocks", line_count - 1);
  assert_true(line_count > 1);
  assert_non_null(strstr(text(0, "text"), "deadlock"));
  volt_unname(&cache);
}
#endif

static void without_deadlocks_there_is_no_text(void **state) {
  (void)state;
  (void)spawn_and_run(get);
  ask("{\"volt\":1,\"q\":\"deadlocks\"}");
#if VOLT_SIGHT
  expect_end("deadlocks", 0);
#else
  expect_end("deadlocks", 1);
  assert_memory_equal(text(0, "text"), "who holds a lock is known in builds with VOLT_SIGHT=1", 53);
#endif
}

/* ---- texts ---- */

static void a_dump_comes_in_pieces(void **state) {
  (void)state;
  static char whole[SERVE_ANSWER_];
  (void)spawn_and_run(get);
  ask("{\"volt\":1,\"q\":\"dump\",\"each\":true,\"stacks\":false}");
  whole[0] = '\0';
  for (unsigned i = 0; i + 1 < line_count; i++) strcat(whole, text(i, "text"));
  expect_end("dump", line_count - 1);
  assert_non_null(strstr(whole, "volt_sem_acquire"));
  assert_non_null(strstr(whole, "'pool'"));
  ask_within("{\"volt\":1,\"q\":\"dump\"}", ANSWER_LEAST_ + 100);
  assert_true(condition(line_count - 1, "partial"));
}

/* ---- what is wrong ---- */

static void requests_that_are_wrong_have_errors(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "malformed"},
      {"{\"volt\":1,\"q\":\"tasks\"", "malformed"},
      {"{\"volt\":7,\"q\":\"tasks\"}", "version"},
      {"{\"volt\":1,\"q\":\"everything\"}", "unknown"},
      {"{\"volt\":1,\"q\":\"tasks\",\"cursor\":\"x\"}", "value"},
      {"{\"volt\":1,\"q\":\"tasks\",\"cursor\":\"1-2-3\"}", "value"},
      {"{\"volt\":1,\"q\":\"tasks\",\"older_ms\":18446744073709551615}", "value"},
      {"{\"volt\":1,\"q\":\"tasks\",\"limit\":\"9\"}", "value"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ask(cases[i][0]);
    expect_error(cases[i][1]);
  }
}

/* Each row of the page was in an answer, unless it cannot be here. */
static void the_page_says_nothing_else(void **state) {
  (void)state;
  for (unsigned i = 0; i < sight_page_count; i++) {
    const sight_page_member *m = &sight_page[i];
    bool is_of_sight = strncmp(m->name, "holds", 5) == 0 || strcmp(m->line, "held") == 0 ||
                       strcmp(m->name, "owner") == 0;
    if (is_of_sight && !VOLT_SIGHT) continue;
    if (strcmp(m->name, "calls") == 0) continue; /* of C++ */
    if (strcmp(m->line, "frame") == 0 && volt_fiber_supported()) continue;
    if (!m->is_seen) fail_msg("never seen: %s of %s", m->name, m->line);
  }
}

static int begin_all(void **state) {
  (void)state;
  sight_page_read();
  return 0;
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
    IN_SCENE(a_process_says_what_it_is),
    IN_SCENE(runtimes_and_kinds_are_counted),
    IN_SCENE(a_worker_that_runs_is_seen),
    IN_SCENE(a_task_that_waits_says_for_what),
    IN_SCENE(tasks_that_do_not_wait_say_so),
    IN_SCENE(a_cancelled_task_and_a_granted_one_are_marked),
    IN_SCENE(tasks_come_by_age_a_page_at_a_time),
    IN_SCENE(a_page_without_room_goes_on_by_its_cursor),
    IN_SCENE(young_tasks_are_left_out),
    IN_SCENE(tasks_that_wait_for_an_object_are_found),
    IN_SCENE(thousands_of_tasks_have_pages_of_a_thousand),
    IN_SCENE(a_task_shows_all_that_it_awaits),
    IN_SCENE(the_branches_of_a_select_are_shown),
    IN_SCENE(a_writer_is_told_from_a_reader),
    IN_SCENE(an_async_function_has_its_own_line),
    IN_SCENE(a_task_that_is_gone_is_an_error),
    IN_SCENE(a_fiber_is_known_by_name_and_function),
    IN_SCENE(a_function_without_a_name_has_a_place),
    IN_SCENE(objects_are_those_with_names_and_those_waited_for),
    IN_SCENE(objects_have_pages),
    IN_SCENE(waits_of_an_object_are_a_histogram),
    IN_SCENE(a_thread_that_blocks_is_shown),
#if VOLT_SIGHT
    IN_SCENE(owners_and_what_they_hold_are_shown),
#endif
    IN_SCENE(without_deadlocks_there_is_no_text),
    IN_SCENE(a_dump_comes_in_pieces),
    IN_SCENE(requests_that_are_wrong_have_errors),
    cmocka_unit_test(the_page_says_nothing_else),
  };
  return cmocka_run_group_tests(tests, begin_all, NULL);
}
