/* 20_libev.c: a loop of libev has files checked on threads of the blocking pool, each with a
 * deadline, and goes on.
 * A call that has not begun by its deadline is taken out of the queue.
 *
 *   cc -std=c11 20_libev.c $(pkg-config --cflags --libs volt-rt) -lev
 *
 * prints: 2 checked, 1 gave up, and libev's timer ticked */
#include <stdio.h>
#include <stdlib.h>
#include <volt/ev.h>
#include <volt/volt.h>

enum { CHECKS = 3 };

struct check {
  volt_bridge_call call;
  volt_blocking blocking;
  volt_timeout timeout;
  const char *path;
  long lines;
};

static volt_ev bridge;
static volt_latch ticked = VOLT_LATCH_INIT(1); /* the first call waits for libev's timer */
static int checked, gave_up, ended;
static bool has_ticked;

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

/* On a thread of the pool, where it may block. */
static int count_lines(void *arg) {
  struct check *c = (struct check *)arg;
  must(volt_latch_wait_until(&ticked, VOLT_NO_DEADLINE), "latch");
  FILE *file = fopen(c->path, "r");
  if (!file) return VOLT_EINVAL;
  for (int byte; (byte = getc(file)) != EOF;) c->lines += byte == '\n';
  fclose(file);
  return VOLT_OK;
}

/* On the loop's thread. */
static void on_checked(int result, void *arg) {
  struct check *c = (struct check *)arg;
  checked += result == VOLT_OK && c->lines > 0;
  gave_up += result == VOLT_ETIMEDOUT;
  ended += 1;
  if (ended == CHECKS) volt_bridge_close(&bridge.bridge, NULL, NULL);
}

static void check(struct check *c, const char *path, uint64_t deadline_ns) {
  volt_rt *rt = volt_bridge_rt(&bridge.bridge);
  c->path = path;
  volt_future *f = volt_blocking_future(&c->blocking, rt, count_lines, c);
  f = volt_timeout_future(&c->timeout, f, volt_rt_timers(rt), deadline_ns);
  volt_bridge_then(&bridge.bridge, &c->call, f, on_checked, c);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events) {
  (void)events;
  if (gave_up == 0) return; /* until then the pool's only thread is kept */
  has_ticked = true;
  volt_latch_count_down(&ticked, 1);
  ev_timer_stop(loop, timer);
}

int main(void) {
  static struct check checks[CHECKS];
  struct ev_loop *loop = ev_default_loop(0);
  volt_rt_config config = {.blocking_max = 1};
  ev_timer timer;
  must(volt_ev_open(&bridge, loop, &config), "volt_ev_open");
  ev_timer_init(&timer, on_tick, 0., 0.001);
  ev_timer_start(loop, &timer);
  check(&checks[0], "/proc/self/maps", VOLT_NO_DEADLINE);
  check(&checks[1], "/proc/self/status", volt_deadline_ns(5000000)); /* behind the first */
  check(&checks[2], "/proc/self/limits", VOLT_NO_DEADLINE);

  ev_run(loop, 0);
  ev_loop_destroy(loop);
  printf("%d checked, %d gave up, and libev's timer %s\n", checked, gave_up,
         has_ticked ? "ticked" : "did not tick");
}
