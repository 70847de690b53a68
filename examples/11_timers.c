/* 11_timers.c: a server closes connections that have been idle for too long.
 * A volt_timers keeps any number of timers; any thread starts and cancels them, none is allocated.
 * It has no thread of its own: a loop sleeps until the earliest deadline and then expires timers.
 *
 *   cc -std=c11 11_timers.c $(pkg-config --cflags --libs volt-sync)
 *
 * prints: connection 4 has ended by itself: its timer is cancelled
 * prints: closed for being idle: 3 1 2 */
#include <stdio.h>
#include <stdlib.h>
#include <volt/volt.h>

enum { CONNECTIONS = 4 };

#define MS UINT64_C(1000000)

struct connection {
  int number;
  volt_timer idle;
};

static volt_notify earlier = VOLT_NOTIFY_INIT; /* a timer is due earlier than all before */
static volt_timers timers;

static void wake_driver(void *arg) {
  volt_notify_one(arg);
}

/* The waker of a timer: called once, unless it is cancelled, on the thread that drives the timers. */
static void close_idle(void *arg) {
  const struct connection *connection = arg;
  printf(" %d", connection->number);
}

static void start(struct connection *connection, uint64_t deadline_ns) {
  volt_timer_start(&timers, &connection->idle, deadline_ns, (volt_waker){close_idle, connection});
}

/* Expire timers until there are none. */
static void drive(void) {
  uint64_t next_ns;
  while ((next_ns = volt_timers_earliest_ns(&timers)) != VOLT_NO_DEADLINE) {
    int result = volt_notify_wait_until(&earlier, next_ns);
    if (result == VOLT_ETIMEDOUT) volt_timers_expire(&timers, volt_now_ns());
  }
}

int main(void) {
  struct connection all[CONNECTIONS] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
  volt_timers_init(&timers, (volt_waker){wake_driver, &earlier});
  uint64_t now_ns = volt_now_ns();
  start(&all[0], now_ns + 20 * MS);
  start(&all[1], now_ns + 15 * MS);
  start(&all[2], now_ns + 10 * MS);
  start(&all[3], now_ns + 5 * MS);

  /* Something has come from connection 2: it has more time. Connection 4 has ended. */
  if (!volt_timer_cancel(&timers, &all[1].idle)) return EXIT_FAILURE;
  start(&all[1], now_ns + 30 * MS);
  bool is_cancelled = volt_timer_cancel(&timers, &all[3].idle);
  printf("connection 4 has ended by itself: its timer is %s\n",
         is_cancelled ? "cancelled" : "too late to cancel");

  printf("closed for being idle:");
  drive();
  printf("\n");
  volt_timers_destroy(&timers);
  volt_notify_destroy(&earlier);
  return EXIT_SUCCESS;
}
