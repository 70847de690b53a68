/* st.c: State Threads. It has no yield: a sleep of no time is the shortest way to let others run. */
#include <st.h>

#define GREEN st_thread_t
#define GREEN_VERSION "State Threads " ST_VERSION

static int green_begin(void) {
  return st_init() == 0;
}

static st_thread_t green_spawn(void *(*run)(void *arg), void *arg) {
  return st_thread_create(run, arg, 1, 0);
}

static void green_join(st_thread_t thread) {
  st_thread_join(thread, NULL);
}

static void green_yield(void) {
  st_usleep(0);
}

#include "green.h"
