/* check.h: how the library refuses misuse.
 *
 * VOLT_CHECK is on in every build and takes constant time. If it fails, it prints the public
 * function, the object and the values, and aborts. VOLT_ASSERT checks invariants of the library
 * itself, in debug builds and in the model. VOLT_ASSUME does the same, and the compiler relies on
 * it in all other builds. */
#ifndef VOLT_CORE_OS_CHECK_H
#define VOLT_CORE_OS_CHECK_H

#include <volt/base.h>

#ifndef VOLT_DEBUG
#define VOLT_DEBUG 0
#endif

#if defined(__GNUC__) || defined(__clang__)
#define VOLT_PRINTF_(at, args) __attribute__((__format__(__printf__, at, args)))
#else
#define VOLT_PRINTF_(at, args)
#endif

/* Print "volt: where: ..." and the calls that led here on standard error, and abort. Where the first
 * conversion of the format is %p, that is the object: its name follows. */
VOLT_API VOLT_NORETURN void volt_panic_(const char *where, const char *format, ...)
    VOLT_PRINTF_(2, 3);

/* Print the same and return. */
VOLT_API void volt_warn_(const char *where, const char *format, ...) VOLT_PRINTF_(2, 3);

#define VOLT_CHECK(condition, where, ...) \
  (VOLT_LIKELY(condition) ? (void)0 : volt_panic_((where), __VA_ARGS__))

/* Debug builds: abort if a deadline that is to be waited for on CLOCK_MONOTONIC is a duration. where:
 * the call. */
void volt_check_duration_(const char *where, uint64_t deadline_ns);
static inline void volt_check_deadline_(const char *where, uint64_t deadline_ns) {
#if VOLT_DEBUG && !defined(VOLT_MODEL)
  volt_check_duration_(where, deadline_ns);
#else
  (void)where;
  (void)deadline_ns;
#endif
}

#if VOLT_DEBUG || defined(VOLT_MODEL)
#define VOLT_ASSERT(condition) VOLT_CHECK(condition, __func__, "broken invariant: %s", #condition)
#define VOLT_ASSUME(condition) VOLT_ASSERT(condition)
#else
#define VOLT_ASSERT(condition) ((void)sizeof(condition))
#if defined(__GNUC__) || defined(__clang__)
#define VOLT_ASSUME(condition) ((condition) ? (void)0 : __builtin_unreachable())
#else
#define VOLT_ASSUME(condition) ((void)sizeof(condition))
#endif
#endif

#endif
