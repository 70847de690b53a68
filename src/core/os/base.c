/* base.c: result codes, the clock, and how to abort or warn with a message. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime, write, strerrorname_np */
#endif
#include <volt/base.h>

#include <errno.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <link.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../hooks/named.h"
#include "../inspect/owner.h"
#include "at_fork.h"
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

/* A message in the making. It is written by one write(), so that those of several threads do not mix. */
typedef struct base_text {
  char text[700];
  size_t used;
} base_text;

static VOLT_PRINTF_(2, 0) void base_put_args(base_text *to, const char *format, va_list args) {
  const size_t size = sizeof to->text - 1; /* for the end of the line */
  int n = vsnprintf(to->text + to->used, size - to->used, format, args);
  to->used += n > 0 ? (size_t)n : 0;
  if (to->used > size - 1) to->used = size - 1;
}

static VOLT_PRINTF_(2, 3) void base_put(base_text *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  base_put_args(to, format, args);
  va_end(args);
}

static void base_write(base_text *text) {
  text->text[text->used++] = '\n';
  if (write(STDERR_FILENO, text->text, text->used) < 0) { /* there is no other place for it */
  }
}

/* The first address that a message prints is its object: it is printed with its name, and in builds
 * that know holders with what is known of them. */
static VOLT_PRINTF_(2, 0) void base_print(const char *where, const char *format, va_list args) {
  base_text text = {.used = 0};
  const void *object = NULL;
  char known[200] = "";
  va_list rest;
  base_put(&text, "volt: %s: ", where);
  va_copy(rest, args);
  const char *first = strchr(format, '%');
  if (first && first[1] == 'p') {
    object = va_arg(rest, const void *);
    const char *name = volt_name_of(object);
    base_put(&text, "%.*s%p", (int)(first - format), format, object);
    if (name) base_put(&text, " '%s'", name);
    format = first + 2;
  }
  base_put_args(&text, format, rest);
  va_end(rest);
#if VOLT_SIGHT
  volt_owner_describe_(object, known, sizeof known);
#endif
  base_put(&text, "%s", known);
  base_write(&text);
}

#ifdef __GLIBC__
/* A code address, as a debugger wants it: "program+0x1234". */
typedef struct base_place {
  uintptr_t pc;
  const char *file; /* NULL: it is in no module */
  uintptr_t offset;
} base_place;

static int base_find_place(struct dl_phdr_info *module, size_t size, void *arg) {
  base_place *place = (base_place *)arg;
  (void)size;
  for (unsigned i = 0; i < module->dlpi_phnum; i++) {
    uintptr_t begins = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
    bool is_in =
        module->dlpi_phdr[i].p_type == PT_LOAD && place->pc - begins < module->dlpi_phdr[i].p_memsz;
    if (!is_in) continue;
    const char *slash = strrchr(module->dlpi_name, '/');
    place->file = slash ? slash + 1 : module->dlpi_name;
    if (!*place->file) place->file = program_invocation_short_name;
    place->offset = place->pc - module->dlpi_addr;
    return 1;
  }
  return 0;
}

/* The calls that led here, the innermost first. backtrace() may allocate when it is called for the
 * first time, so this comes after the message, and once. */
static VOLT_NOINLINE void base_print_calls(void) {
  enum { CALLS = 12, INSIDE = 2 }; /* this function, and the one that panics */
  static VOLT_ATOMIC(uint32_t) has_said;
  void *calls[CALLS];
  base_text text = {.used = 0};
  if (volt_exchange_relaxed(&has_said, 1) != 0) return; /* relaxed, no data: the first says so */
  int count = backtrace(calls, CALLS);
  base_put(&text, "volt: called from");
  for (int i = INSIDE; i < count; i++) {
    base_place place = {.pc = (uintptr_t)calls[i] - 1, .file = NULL, .offset = 0};
    if (!dl_iterate_phdr(base_find_place, &place) || !place.file) break;
    base_put(&text, "%s %s+%#llx", i > INSIDE ? "," : "", place.file,
             (unsigned long long)place.offset);
  }
  base_put(&text, " (addr2line -fie FILE OFFSET says where that is)");
  base_write(&text);
}
#else
static void base_print_calls(void) {
}
#endif

VOLT_NOINLINE void volt_panic_(const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  base_print(where, format, args);
  va_end(args);
  base_print_calls();
  abort();
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

void volt_warn_(const char *where, const char *format, ...) {
  int saved = errno;
  va_list args;
  va_start(args, format);
  base_print(where, format, args);
  va_end(args);
  errno = saved;
}
