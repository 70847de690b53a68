/* 12_virtual_clock.c: a test of retries with growing pauses, which takes no time.
 * The runtime is run by hand on this thread, and its clock goes on only when nothing else is ready:
 * sleeps, timeouts and intervals are as in production, but the same at every run, and at once.
 *
 *   cc -std=c11 12_virtual_clock.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: up at the 5th try: VOLT_OK after 5 tries and 15 s
 * prints: never up: VOLT_ETIMEDOUT after 6 tries and 60 s */
#include <stdio.h>
#include <stdlib.h>
#include <volt/runtime.h>
#include <volt/volt.h>

#define SECOND UINT64_C(1000000000)

/* The code that is tested: connects, and sleeps 1, 2, 4, ... seconds between its tries. */
struct connect {
  volt_async async;
  volt_sleep_op pause;
  volt_timers *timers;
  int tries;
  int up_at; /* the try at which the server is up */
};

static int connect_poll(volt_async *a, volt_ctx *ctx) {
  struct connect *self = volt_container_of(a, struct connect, async);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    self->tries += 1;
    if (self->tries == self->up_at) VOLT_RETURN(self, VOLT_OK);
    VOLT_AWAIT(self,
               volt_sleep_future(&self->pause, self->timers,
                                 volt_timers_now_ns(self->timers) + (SECOND << (self->tries - 1))));
  }
  VOLT_ASYNC_END(self);
}

static void test(volt_rt *rt, const char *name, int up_at) {
  uint64_t start_ns = volt_rt_now_ns(rt);
  struct connect c = {.timers = volt_rt_timers(rt), .up_at = up_at};
  volt_timeout within;
  volt_future *result_of = volt_timeout_future(&within, volt_async_future(&c.async, connect_poll),
                                               c.timers, start_ns + 60 * SECOND);
  int result = volt_rt_run_until(rt, result_of, VOLT_NO_DEADLINE);
  printf("%s: %s after %d tries and %d s\n", name, volt_strresult(result), c.tries,
         (int)((volt_rt_now_ns(rt) - start_ns) / SECOND));
}

int main(void) {
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK};
  volt_rt *rt;
  int result = volt_rt_create(&rt, &config);
  if (result != VOLT_OK) {
    fprintf(stderr, "runtime: %s\n", volt_strerror(result));
    return EXIT_FAILURE;
  }
  test(rt, "up at the 5th try", 5);
  test(rt, "never up", 0);
  volt_rt_destroy(rt);
  return EXIT_SUCCESS;
}
