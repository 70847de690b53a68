/* glibc.h: what the engines of glibc share. */
#ifndef VOLT_BENCH_GLIBC_H
#define VOLT_BENCH_GLIBC_H

#include <gnu/libc-version.h>
#include <stdio.h>

#include "threads.h"

static inline const char *glibc_version(void) {
  static char text[32];
  snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
  return text;
}

/* The time so far from now, on CLOCK_MONOTONIC. */
static inline struct timespec glibc_time_after(uint64_t ns) {
  uint64_t then_ns = bench_now_ns() + ns;
  struct timespec then = {(time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u)};
  return then;
}

#endif
