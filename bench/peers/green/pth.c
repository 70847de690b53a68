/* pth.c: GNU Pth. */
#include <pth.h>

#define GREEN pth_t
#define GREEN_VERSION "GNU Pth " PTH_VERSION_STR

static int green_begin(void) {
  return pth_init();
}

static pth_t green_spawn(void *(*run)(void *arg), void *arg) {
  return pth_spawn(PTH_ATTR_DEFAULT, run, arg);
}

static void green_join(pth_t thread) {
  pth_join(thread, NULL);
}

static void green_yield(void) {
  pth_yield(NULL);
}

#include "green.h"
