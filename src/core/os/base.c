/* base.c: result codes, the clock, and the version. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime, strerrorname_np */
#endif
#include <volt/base.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "at_fork.h"
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

const char *volt_version(void) {
  return VOLT_STRING_(VOLT_VERSION_MAJOR) "." VOLT_STRING_(VOLT_VERSION_MINOR) "." VOLT_STRING_(
      VOLT_VERSION_PATCH);
}

/* When the library was loaded; 0: it is not known. */
static uint64_t base_loaded_ns;

static VOLT_AT_LOAD_(VOLT_FORK_SYNC_) void base_load(void) {
  base_loaded_ns = volt_now_ns();
}

/* A time in the first hour of the machine, from before this program, is a duration: of any unit. No
 * deadline is so old, however late it is used. */
void volt_check_duration_(const char *where, uint64_t deadline_ns) {
  const uint64_t hour_ns = UINT64_C(3600000000000);
  bool is_duration = deadline_ns > 0 && deadline_ns < hour_ns && deadline_ns < base_loaded_ns;
  unsigned long long n = deadline_ns;
  VOLT_CHECK(!is_duration, where,
             "deadline_ns is %llu, which looks like a duration: volt_deadline_ns(%llu) or "
             "volt_deadline_ms(%llu)? (0: do not wait)",
             n, n, n);
}
