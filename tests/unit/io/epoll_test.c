/* epoll_test.c: the epoll back end on a system that lacks epoll_pwait2(): here a filter says so.
 * BACK ENDS: none */
#define _GNU_SOURCE /* syscall numbers */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <volt/io.h>
#include <volt/time.h>

#include "require.h"
#include "thread_team.h"
#include "unit.h"

/* Of this thread, and of those that it starts. Returns false: filters are not to be had. */
static bool lack_pwait2(void) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static uint64_t parks_of(volt_rt *rt) {
  volt_worker_stats stats;
  (void)volt_rt_worker_stats(rt, 0, &stats);
  return stats.parks;
}

enum { SLEEPS = 10, PARKS = 10 };

static void sleep_so_often(void *arg, uint32_t index) {
  bool *is_filtered = (bool *)arg;
  (void)index;
  volt_rt *rt;
  volt_rt_config config = {.workers = 1, .io = volt_io_epoll()};
  *is_filtered = lack_pwait2();
  REQUIRE(volt_rt_create(&rt, &config) == VOLT_OK);
  uint64_t before = parks_of(rt);
  for (int i = 0; i < SLEEPS; i++) {
    volt_sleep_op nap;
    uint64_t until_ns = volt_deadline_us(500);
    REQUIRE(volt_future_wait(volt_sleep_future(&nap, volt_rt_timers(rt), until_ns)) == VOLT_OK);
    REQUIRE(volt_now_ns() >= until_ns);
  }
  uint64_t parks = parks_of(rt) - before;
  REQUIRE(parks <= SLEEPS * PARKS); /* not one for each look at the clock */
  volt_rt_destroy(rt);
}

/* The system counts milliseconds: a sleep of less is one sleep all the same. */
static void a_sleep_is_rounded_up(void **state) {
  bool is_filtered = false;
  thread_team team;
  (void)state;
  thread_team_start(&team, 1, sleep_so_often, &is_filtered);
  thread_team_join(&team);
  if (!is_filtered) print_message("no seccomp: with epoll_pwait2()\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_sleep_is_rounded_up)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
