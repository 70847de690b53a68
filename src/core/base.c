/* base.c: result codes, the clock, and how to abort or warn with a message. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime, write, strerrorname_np */
#endif
#include <volt/base.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blocker.h"
#include "check.h"

#ifdef __GLIBC__
#define BASE_ERRNO_TEXT(e) strerrordesc_np(e)
#define BASE_ERRNO_NAME(e) strerrorname_np(e)
#else
#define BASE_ERRNO_TEXT(e) strerror(e) /* in static memory there, too */
#define BASE_ERRNO_NAME(e) NULL
#endif

extern inline bool volt_is_ok(int);
extern inline int volt_errno(int);

#define VOLT_STRING2_(x) #x
#define VOLT_STRING_(x) VOLT_STRING2_(x)

/* The text, or the fallback if the system has none. */
static const char *base_text_or(const char *text, const char *fallback) {
  return text ? text : fallback;
}

const char *volt_strerror(int result) {
  int e = volt_errno(result);
  if (e != 0) return base_text_or(BASE_ERRNO_TEXT(e), "unknown result");
  switch (result) {
#define VOLT_RESULT_TEXT_(code, value, text) \
  case value: return text;
    VOLT_RESULTS(VOLT_RESULT_TEXT_)
#undef VOLT_RESULT_TEXT_
    default: return "unknown result";
  }
}

const char *volt_strresult(int result) {
  int e = volt_errno(result);
  if (e != 0) return base_text_or(BASE_ERRNO_NAME(e), "?");
  switch (result) {
#define VOLT_RESULT_NAME_(code, value, text) \
  case value: return #code;
    VOLT_RESULTS(VOLT_RESULT_NAME_)
#undef VOLT_RESULT_NAME_
    default: return "?";
  }
}

uint64_t volt_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t volt_deadline_ns(uint64_t delay_ns) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  uint64_t now = fiber && fiber->now_ns ? fiber->now_ns(fiber) : volt_now_ns();
  return delay_ns < VOLT_NO_DEADLINE - 1 - now ? now + delay_ns : VOLT_NO_DEADLINE - 1;
}

static uint64_t base_deadline(uint64_t delay, uint64_t unit_ns) {
  return volt_deadline_ns(delay < VOLT_NO_DEADLINE / unit_ns ? delay * unit_ns : VOLT_NO_DEADLINE);
}

uint64_t volt_deadline_us(uint64_t delay_us) {
  return base_deadline(delay_us, 1000);
}

uint64_t volt_deadline_ms(uint64_t delay_ms) {
  return base_deadline(delay_ms, 1000000);
}

uint64_t volt_deadline_s(uint64_t delay_s) {
  return base_deadline(delay_s, 1000000000);
}

const char *volt_version(void) {
  return VOLT_STRING_(VOLT_VERSION_MAJOR) "." VOLT_STRING_(VOLT_VERSION_MINOR) "." VOLT_STRING_(
      VOLT_VERSION_PATCH);
}

/* One write(), so that messages of several threads do not mix. */
static VOLT_PRINTF_(2, 0) void base_print(const char *where, const char *format, va_list args) {
  char text[512];
  int used = snprintf(text, sizeof text, "volt: %s: ", where);
  size_t at = used > 0 ? (size_t)used : 0;
  if (at >= sizeof text - 1) at = sizeof text - 2;
  used = vsnprintf(text + at, sizeof text - at, format, args);
  at += used > 0 ? (size_t)used : 0;
  if (at > sizeof text - 2) at = sizeof text - 2;
  text[at++] = '\n';
  if (write(STDERR_FILENO, text, at) < 0) { /* there is no other place for it */
  }
}

void volt_panic_(const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  base_print(where, format, args);
  va_end(args);
  abort();
}

#if VOLT_DEBUG && !defined(VOLT_MODEL)
/* A deadline in the first hour of the machine, long past, is a duration: of any unit. */
void volt_check_deadline_(const char *where, uint64_t deadline_ns) {
  const uint64_t hour_ns = UINT64_C(3600000000000);
  bool is_duration = deadline_ns > 0 && deadline_ns < hour_ns && deadline_ns < volt_now_ns() / 2;
  unsigned long long n = deadline_ns;
  VOLT_CHECK(!is_duration, where,
             "deadline_ns is %llu, which looks like a duration: volt_deadline_ns(%llu) or "
             "volt_deadline_ms(%llu)? (0: do not wait)",
             n, n, n);
}
#endif

void volt_warn_(const char *where, const char *format, ...) {
  int saved = errno;
  va_list args;
  va_start(args, format);
  base_print(where, format, args);
  va_end(args);
  errno = saved;
}
