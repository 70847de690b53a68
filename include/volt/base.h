/* base.h: version, result codes, the clock, and what every other header of volt needs.
 *
 * Every function that can fail returns an int: VOLT_OK (0) is success, a positive code is not an
 * error (VOLT_PENDING: the operation has queued and will wake its waiter; VOLT_LEADER, VOLT_DONE:
 * it has succeeded, and how), a negative code is an error. volt_is_ok() says whether a result is a
 * success. A call that returned an error has queued nothing and will never wake. errno is never
 * set. Where it is a bug to ignore a result, the compiler warns (VOLT_NODISCARD).
 *
 * Misuse (unlocking a free lock, destroying an object somebody waits on) is not an error code: it
 * prints what, where and the values on standard error, and aborts, in every build; what only debug
 * builds look for is said where it belongs.
 *
 * After fork(): the child has one thread, and its copy of an object may be held by a thread that it
 * does not have, or be half-way through an operation of one. The child calls the object's init()
 * again before it uses the object: init() reads nothing of what is there, and forgets holders and
 * waiters. That may be done in a handler of pthread_atfork(). A runtime (volt/runtime.h) has no
 * threads in the child: the child makes one of its own, or calls exec. */
#ifndef VOLT_BASE_H
#define VOLT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOLT_VERSION_MAJOR 0
#define VOLT_VERSION_MINOR 1
#define VOLT_VERSION_PATCH 0

#ifdef __cplusplus
#define VOLT_BEGIN_DECLS extern "C" {
#define VOLT_END_DECLS }
#else
#define VOLT_BEGIN_DECLS
#define VOLT_END_DECLS
#endif

/* GNU extensions appear behind these macros only; without them the library is plain C11. */
#if defined(__GNUC__) || defined(__clang__)
#define VOLT_API __attribute__((visibility("default")))
#define VOLT_NOINLINE __attribute__((noinline))
#define VOLT_NORETURN __attribute__((noreturn))
#define VOLT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VOLT_NODISCARD __attribute__((warn_unused_result))
#define VOLT_UNUSED_OK_ __attribute__((unused))
#define VOLT_IS_CONSTANT_(x) __builtin_constant_p(x)
#define VOLT_FORGET_(pointer) __asm__("" : "+r"(pointer)) /* no instruction: what it points to */
#else
#define VOLT_API
#define VOLT_NOINLINE
#define VOLT_NORETURN
#define VOLT_LIKELY(x) (!!(x))
#define VOLT_NODISCARD
#define VOLT_UNUSED_OK_
#define VOLT_IS_CONSTANT_(x) 0
#define VOLT_FORGET_(pointer) ((void)0)
#endif

/* A function with an inline body in its header and, for callers that cannot inline it (other
 * languages, unoptimised builds), a symbol in the library. */
#define VOLT_INLINE VOLT_API inline

/* Bytes that one core takes from another at a time. An object that many threads contend for costs
 * its neighbours nothing when it has a line of its own: `VOLT_CACHE_ALIGNED volt_mutex lock;`.
 * The types of volt are not over-aligned by themselves: malloc() could not place them then. */
#define VOLT_CACHE_LINE 64
#if defined(__GNUC__) || defined(__clang__)
#define VOLT_CACHE_ALIGNED __attribute__((aligned(VOLT_CACHE_LINE)))
#elif defined(__cplusplus)
#define VOLT_CACHE_ALIGNED alignas(VOLT_CACHE_LINE)
#else
#define VOLT_CACHE_ALIGNED _Alignas(VOLT_CACHE_LINE)
#endif

/* Stands beside each type that users embed: it costs them so much at most, and malloc() can place
 * it. */
#if defined(VOLT_MODEL) /* the model checker's types are larger */
#define VOLT_STATIC_ASSERT_(condition, text) struct volt_model_unused
#elif defined(__cplusplus)
#define VOLT_STATIC_ASSERT_(condition, text) static_assert((condition), text)
#define VOLT_ALIGNMENT_(type) alignof(type)
#else
#define VOLT_STATIC_ASSERT_(condition, text) _Static_assert((condition), text)
#define VOLT_ALIGNMENT_(type) _Alignof(type)
#endif
#define VOLT_SIZE_AT_MOST_(type, bytes)                                          \
  VOLT_STATIC_ASSERT_(sizeof(type) <= (bytes), #type " is larger than " #bytes); \
  VOLT_STATIC_ASSERT_(VOLT_ALIGNMENT_(type) <= VOLT_ALIGNMENT_(max_align_t),     \
                      #type " is over-aligned")

/* The struct of type that holds ptr as its given member. */
#define volt_container_of(ptr, type, member) \
  ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* code, value, text: the one table behind the constants and volt_strerror(). */
#define VOLT_RESULTS(X)                                                    \
  X(VOLT_OK, 0, "success")                                                 \
  X(VOLT_PENDING, 1, "queued: the waiter will be woken")                   \
  X(VOLT_LEADER, 2, "success, and the one that leads")                     \
  X(VOLT_DONE, 3, "it has been done before")                               \
  X(VOLT_EAGAIN, -1, "not possible without waiting")                       \
  X(VOLT_ECLOSED, -2, "closed")                                            \
  X(VOLT_ETIMEDOUT, -3, "the deadline has passed")                         \
  X(VOLT_ECANCELED, -4, "cancelled")                                       \
  X(VOLT_EINVAL, -5, "an argument is out of range")                        \
  X(VOLT_ENOMEM, -6, "out of memory")                                      \
  X(VOLT_ESTALLED, -7, "stalled: what has to come first does not come")    \
  X(VOLT_ELAGGED, -8, "values were overwritten before they were received") \
  X(VOLT_EEMPTY, -9, "there is nothing in it")

enum volt_result {
#define VOLT_RESULT_ENUM_(code, value, text) code = value,
  VOLT_RESULTS(VOLT_RESULT_ENUM_)
#undef VOLT_RESULT_ENUM_
};

VOLT_BEGIN_DECLS

/* Whether a result is a success: VOLT_OK, and what says more than that (VOLT_LEADER, VOLT_DONE). An
 * operation that is VOLT_PENDING has not succeeded yet. */
VOLT_INLINE bool volt_is_ok(int result) {
  return result >= 0 && result != VOLT_PENDING;
}

VOLT_END_DECLS

/* A deadline that never comes. */
#define VOLT_NO_DEADLINE UINT64_MAX

VOLT_BEGIN_DECLS

/* The text of a result code; "unknown result" for a value that is none. Static memory. */
VOLT_API const char *volt_strerror(int result);

/* The name of a result code, as "VOLT_OK"; "?" for a value that is none. Static memory. */
VOLT_API const char *volt_strresult(int result);

/* Nanoseconds on CLOCK_MONOTONIC: the clock of every deadline_ns.
 *
 * A deadline is a time, not a duration. A debug build aborts, and says the value, if a thread is
 * about to block with a deadline that looks like a duration: from 1 us to below 1 hour, and less
 * than half of what the clock shows. (A deadline below 1 us is a way to say "do not wait".) */
VOLT_API uint64_t volt_now_ns(void);

/* now + delay_ns, saturating below VOLT_NO_DEADLINE: the deadline of "at most so long from now". */
VOLT_API uint64_t volt_deadline_ns(uint64_t delay_ns);

/* The same in other units, saturating likewise. */
VOLT_API uint64_t volt_deadline_us(uint64_t delay_us);
VOLT_API uint64_t volt_deadline_ms(uint64_t delay_ms);
VOLT_API uint64_t volt_deadline_s(uint64_t delay_s);

/* The version of the linked library as "major.minor.patch". Static memory. */
VOLT_API const char *volt_version(void);

VOLT_END_DECLS
#endif
