/* cluster_fates_test.c: three hosts contend for two slots, and the answer to request n is lost, in each
 * way in which it can be, for each n. No slot has two valid permits, fences rise, every task gets what
 * it waits for within the bound, and in the end nothing is left at the ensemble.
 *
 * "all": no request is left out, which takes minutes. */
#include <stdio.h>
#include <stdlib.h>
#include <volt/cluster.h>

#include "by_hand.h"
#include "hang.h"
#include "rough_ensemble.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

enum { HOSTS = 3, TASKS = 2, TURNS = 4, SLOTS = 4 };

typedef struct actor {
  volt_task task;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_sleep_op nap;
  volt_select select;
  volt_future lost;
  volt_future *either[2];
  int result;
  unsigned host, left;
} actor;

static struct {
  by_hand h;
  rough_ensemble *ensemble;
  volt_cluster *hosts[HOSTS];
  volt_cluster_sem *sems[HOSTS];
  actor actors[HOSTS * TASKS];
  const volt_cluster_permit *holder[SLOTS];
  volt_cluster_fence last[SLOTS];
  unsigned request, at, second; /* which requests meet their fate */
  enum rough_fate fate;
  volt_rt *rt;
  char what[100];
  bool speaks;
} scene;

static void check(bool is_so, const char *what) {
  if (is_so) return;
  print_error("%s: %s\n", scene.what, what);
  abort();
}

static enum rough_fate fate_of(const volt_cluster_request *r, uint64_t *delay_ns, void *arg) {
  (void)arg;
  *delay_ns = (r->kind == VOLT_CLUSTER_WRITE ? 4 : 1) * MS;
  unsigned n = scene.request++;
  if (scene.speaks) {
    printf("  %u at %.4f: %s%s", n, (double)volt_rt_now_ns(scene.h.rt) / 1e9,
           (const char *[]){"write", "children", "stat", "read", "touch"}[r->kind],
           r->watch ? " (watch)" : "");
    if (r->kind == VOLT_CLUSTER_WRITE) {
      for (uint32_t i = 0; i < r->count; i++) {
        printf(" %s %s", (const char *[]){"create", "delete", "set", "check"}[r->actions[i].kind],
               r->actions[i].path);
      }
    } else {
      printf(" %s", r->path);
    }
    printf("\n");
  }
  return n == scene.at || n == scene.second ? scene.fate : ROUGH_ANSWER;
}

static void enter(const volt_cluster_permit *p) {
  volt_cluster_fence fence = volt_cluster_permit_fence(p);
  check(fence.slot < SLOTS, "a slot beyond the limit");
  if (!volt_cluster_permit_is_valid(p)) return;
  const volt_cluster_permit *other = scene.holder[fence.slot];
  check(!other || !volt_cluster_permit_is_valid(other), "two valid permits of one slot");
  check(volt_cluster_fence_compare(&scene.last[fence.slot], &fence) < 0, "a fence that falls");
  scene.last[fence.slot] = fence;
  scene.holder[fence.slot] = p;
}

static void leave(volt_cluster_permit *p) {
  uint32_t slot = volt_cluster_permit_fence(p).slot;
  if (scene.holder[slot] == p) scene.holder[slot] = NULL;
  volt_cluster_release(p);
}

static int act(volt_task *t, volt_ctx *ctx) {
  actor *self = volt_container_of(t, actor, task);
  VOLT_TASK_BEGIN(self);
  while (self->left > 0) {
    VOLT_AWAIT_RESULT(
        self, self->result,
        volt_cluster_acquire_future(&self->acquire, scene.sems[self->host], &self->permit));
    check(self->result == VOLT_OK, "an acquire that failed");
    enter(&self->permit);
    self->either[0] = volt_sleep_future(&self->nap, volt_rt_timers(scene.h.rt),
                                        volt_rt_now_ns(scene.h.rt) + 30 * MS);
    self->either[1] = volt_cluster_permit_lost_future(&self->lost, &self->permit);
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED));
    leave(&self->permit);
    self->left -= 1;
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_sleep_future(&self->nap, volt_rt_timers(scene.h.rt),
                                        volt_rt_now_ns(scene.h.rt) + 1 * MS));
  }
  VOLT_TASK_END(self);
}

static void say(enum volt_cluster_level level, const char *text, void *ctx) {
  (void)level;
  printf("  host %u at %.4f: %s\n", (unsigned)(uintptr_t)ctx,
         (double)volt_rt_now_ns(scene.h.rt) / 1e9, text);
}

static void open_all(uint32_t limit) {
  for (unsigned i = 0; i < HOSTS; i++) {
    volt_cluster_config config = {.rt = scene.h.rt,
                                  .kind = rough_ensemble_kind(),
                                  .of_kind = scene.ensemble,
                                  .servers = "rough:1",
                                  .session_ns = 4 * SECOND,
                                  .log = scene.speaks ? say : NULL,
                                  .log_ctx = (void *)(uintptr_t)i};
    volt_cluster_sem_config of = {.limit = limit};
    assert_result(volt_cluster_open(&scene.hosts[i], &config), VOLT_OK);
    assert_result(volt_cluster_sem_open(&scene.sems[i], scene.hosts[i], "a", &of), VOLT_OK);
  }
}

static void close_all(void) {
  for (unsigned i = 0; i < HOSTS; i++) {
    volt_future f;
    int result = volt_rt_run_until(scene.h.rt, volt_cluster_close_future(&f, scene.hosts[i]),
                                   volt_rt_now_ns(scene.h.rt) + 20 * SECOND);
    check(result == VOLT_OK || result == VOLT_CLUSTER_EAWAY, "a host that does not close");
    (void)by_hand_run(&scene.h);
    volt_cluster_destroy(scene.hosts[i]);
  }
  static const char *const places[] = {"/volt/a/q0", "/volt/a/h0", "/volt/a/s"};
  for (unsigned i = 0; i < 3; i++) {
    check(rough_ensemble_count(scene.ensemble, places[i]) == 0, "a node that is left");
  }
}

/* Returns how many requests there were. */
static unsigned run(uint32_t limit, unsigned at, unsigned second, enum rough_fate fate) {
  rough_faults faults = {.delay_ns = 10 * MS, .fate = fate_of};
  scene.request = 0;
  scene.at = at;
  scene.second = second;
  scene.fate = fate;
  memset(scene.holder, 0, sizeof scene.holder);
  memset(scene.last, 0, sizeof scene.last);
  (void)snprintf(scene.what, sizeof scene.what, "limit %u, requests %u and %u, fate %d",
                 (unsigned)limit, at, second, (int)fate);
  by_hand_begin(&scene.h);
  scene.ensemble = rough_ensemble_new(&faults, 7);
  open_all(limit);
  for (unsigned i = 0; i < HOSTS * TASKS; i++) {
    actor *a = &scene.actors[i];
    memset((void *)a, 0, sizeof *a);
    a->host = i % HOSTS;
    a->left = TURNS;
    volt_task_init(&a->task, act);
    assert_result(volt_spawn(scene.h.rt, &a->task), VOLT_OK);
  }
  for (unsigned i = 0; i < HOSTS * TASKS; i++) {
    volt_future f;
    int result = volt_rt_run_until(scene.h.rt, volt_task_join_future(&f, &scene.actors[i].task),
                                   volt_rt_now_ns(scene.h.rt) + 30 * SECOND);
    check(result == VOLT_OK, "a task that waits for ever");
  }
  close_all();
  rough_ensemble_free(scene.ensemble);
  by_hand_end(&scene.h, 0);
  return scene.request;
}

/* Of how many requests one is tried. */
static unsigned step = 5;

static void try_each(uint32_t limit, unsigned behind) {
  unsigned count = run(limit, UINT32_MAX, UINT32_MAX, ROUGH_ANSWER);
  assert_true(count > 20);
  for (unsigned at = limit % step; at < count; at += step) {
    for (int fate = ROUGH_CUT_BEFORE; fate <= ROUGH_AWAY_AFTER; fate++) {
      (void)run(limit, at, behind ? at + behind : UINT32_MAX, (enum rough_fate)fate);
    }
  }
}

static void test_each_request_once(void **state) {
  (void)state;
  for (uint32_t limit = 1; limit <= SLOTS; limit++) try_each(limit, 0);
}

static void test_two_requests(void **state) {
  (void)state;
  for (unsigned behind = 1; behind < 8; behind += step) try_each(2, behind);
}

int main(int argc, char **argv) {
  if (argc > 1) hang_never();
  if (argc == 2) step = 1; /* "all" */
  if (argc > 4) {          /* limit, request, second, fate: one of them, and what is asked */
    scene.speaks = true;
    (void)run((uint32_t)atoi(argv[1]), (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]),
              (enum rough_fate)atoi(argv[4]));
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_request_once),
      cmocka_unit_test(test_two_requests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
