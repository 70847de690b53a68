/* cluster_lookup_test.c: a host that is closed while the system looks up a name, and does not come
 * back from it. The system's call is this file's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getaddrinfo */
#endif
#include <netdb.h>
#include <volt/cluster.h>
#include <volt/io.h>
#include <volt/latch.h>

#include "unit.h"

static volt_latch has_begun, may_end;
static VOLT_ATOMIC(uint32_t) calls;

/* Takes the place of libc's: name servers that do not answer. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list) {
  (void)name;
  (void)service;
  (void)hints;
  (void)list;
  if (volt_fetch_add_relaxed(&calls, 1) == 0) volt_latch_done(&has_begun);
  assert_result(volt_latch_wait_until(&may_end, VOLT_NO_DEADLINE), VOLT_OK);
  return EAI_AGAIN;
}

static void test_a_close_does_not_wait_for_it(void **state) {
  (void)state;
  volt_rt *rt;
  volt_cluster *c;
  volt_cluster_sem *sem;
  volt_future f;
  volt_latch_init(&has_begun, 1);
  volt_latch_init(&may_end, 1);
  volt_rt_config of_rt = {.workers = 1, .io = volt_io_auto()};
  assert_result(volt_rt_create(&rt, &of_rt), VOLT_OK);
  volt_cluster_config config = {.rt = rt, .servers = "zk1.nowhere.test:2181,zk2.nowhere.test:2181"};
  assert_result(volt_cluster_open(&c, &config), VOLT_OK);
  assert_result(volt_cluster_sem_open(&sem, c, "x", NULL), VOLT_OK);
  assert_result(volt_latch_wait_until(&has_begun, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_future_wait_until(volt_cluster_close_future(&f, c), volt_deadline_s(30)),
                VOLT_CLUSTER_EAWAY);
  volt_cluster_destroy(c); /* the call is still under way */
  assert_int_equal(volt_load_relaxed(&calls), 1);
  volt_latch_done(&may_end);
  volt_rt_destroy(rt);
  assert_int_equal(volt_load_relaxed(&calls), 1); /* the second name is not looked up */
  volt_latch_destroy(&has_begun);
  volt_latch_destroy(&may_end);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_close_does_not_wait_for_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
