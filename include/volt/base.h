/* base.h: version, result codes, the clock, and what every other header of volt needs.
 *
 * Every function that can fail returns an int.
 *   VOLT_OK (0)      Success.
 *   positive codes   Not an error. VOLT_PENDING: the operation is queued, and will wake its waiter.
 *                    VOLT_LEADER, VOLT_DONE: success, and how.
 *   negative codes   An error. The call has queued nothing, and will wake nothing.
 * volt_is_ok() says whether a result is a success. errno is never set. The compiler warns where it
 * is a bug to ignore a result (VOLT_NODISCARD).
 *
 * One scheme of names for all that waits: volt_mutex_lock() waits, volt_mutex_lock_until() up to a
 * deadline, volt_mutex_try_lock() not at all; volt_mutex_lock_future() makes a future of it, and
 * volt_mutex_lock_waiter() queues a waiter of the caller's own.
 * The calls that wait are those whose comment says "waits", "blocks" or "may block". A thread
 * blocks, and a fiber (volt/fiber.h) is suspended while its worker goes on. A worker must not block
 * in a task that is no fiber (volt/runtime.h); every other thread may. In a fiber two things differ:
 *   Cancel    A call that has a result may also return VOLT_ECANCELED. As with VOLT_ETIMEDOUT, it
 *             has taken nothing then, and nothing is lost. A call without a result waits on, and the
 *             cancel stays for the next.
 *   deadline  It is on the clock of the fiber's runtime, which volt_deadline_ns() asks there.
 *
 * Misuse, such as unlocking a free lock or destroying an object that has waiters, is not an error
 * code. It prints what, which object (with the name that volt_name() has given it) and the values on
 * standard error; then, where the C library is glibc, from which calls it came; and aborts, in every
 * build. Builds that know holders (VOLT_SIGHT=1, as debug builds do) print the file and the line as
 * well. Some checks are in debug builds only: docs/traps.md has a list.
 *
 * After fork() the child has one thread. Its copy of an object may be held by a thread that the
 * child does not have, or be half-way through an operation of such a thread. So the child calls the
 * object's init() again before it uses the object. init() reads nothing of what is there, and
 * forgets holders and waiters. A handler of pthread_atfork() may call it. A runtime
 * (volt/runtime.h) has no threads in the child: the child creates a runtime of its own, or calls
 * exec. */
#ifndef VOLT_BASE_H
#define VOLT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detail/base.h"

#define VOLT_VERSION_MAJOR 0
#define VOLT_VERSION_MINOR 1
#define VOLT_VERSION_PATCH 0

/* The bytes of a cache line, which one core takes from another at a time. An object that many
 * threads contend for slows its neighbours down unless it has a line of its own:
 * `VOLT_CACHE_ALIGNED volt_mutex lock;`. The types of volt are not over-aligned, because malloc()
 * could not place them then. */
#define VOLT_CACHE_LINE 64
#if defined(__GNUC__) || defined(__clang__)
#define VOLT_CACHE_ALIGNED __attribute__((aligned(VOLT_CACHE_LINE)))
#elif defined(__cplusplus)
#define VOLT_CACHE_ALIGNED alignas(VOLT_CACHE_LINE)
#else
#define VOLT_CACHE_ALIGNED _Alignas(VOLT_CACHE_LINE)
#endif

/* The struct of type that holds ptr as its given member. */
#define volt_container_of(ptr, type, member) \
  ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The result codes: code, value, text. The constants and volt_strerror() are made from this
 * table. */
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
  X(VOLT_EEMPTY, -9, "there is nothing in it")                             \
  VOLT_RESULTS_OF_CLUSTER_(X)                                              \
  VOLT_RESULTS_OF_TLS_(X)

/* Those of volt/cluster.h and what is on it. */
#define VOLT_RESULTS_OF_CLUSTER_(X)                                                                \
  X(VOLT_CLUSTER_EAWAY, -512, "the ensemble cannot be reached; what was asked may have been done") \
  X(VOLT_CLUSTER_EEXPIRED, -513, "the session has ended")                                          \
  X(VOLT_CLUSTER_EEXISTS, -514, "the node is there already")                                       \
  X(VOLT_CLUSTER_ENONODE, -515, "there is no such node")                                           \
  X(VOLT_CLUSTER_EVERSION, -516, "the node's data has changed meanwhile")                          \
  X(VOLT_CLUSTER_EAUTH, -517, "not allowed")                                                       \
  X(VOLT_CLUSTER_EDATA, -518, "the node's data is not volt's")                                     \
  X(VOLT_CLUSTER_EERA, -519, "the ensemble is older than what this host has seen")                 \
  X(VOLT_CLUSTER_EUNDONE, -520, "another action of the same transaction failed")                   \
  X(VOLT_CLUSTER_ENOTEMPTY, -521, "the node has children")

/* Those of volt/tls.h. */
#define VOLT_RESULTS_OF_TLS_(X)                                                    \
  X(VOLT_TLS_EEXPIRED, -768, "the peer's certificate has expired")                 \
  X(VOLT_TLS_ENOTYET, -769, "the peer's certificate is not valid yet")             \
  X(VOLT_TLS_ENAME, -770, "the peer's certificate is for another name")            \
  X(VOLT_TLS_EUNTRUSTED, -771, "the peer's certificate is not trusted")            \
  X(VOLT_TLS_EREVOKED, -772, "the peer's certificate was revoked")                 \
  X(VOLT_TLS_EPROTOCOL, -773, "what the peer has sent breaks the protocol of TLS") \
  X(VOLT_TLS_ETRUNCATED, -774, "the connection ended without the end of TLS")      \
  X(VOLT_TLS_EREFUSED, -775, "the peer has refused, by an alert")

enum volt_result {
#define VOLT_RESULT_ENUM_(code, value, text) code = value,
  VOLT_RESULTS(VOLT_RESULT_ENUM_)
#undef VOLT_RESULT_ENUM_
};

/* The result that stands for the errno value e of a system call (volt/io.h). Distinct from the
 * codes above, and negative, like every failure. */
#define VOLT_ERRNO(e) (-1024 - (e))

/* A deadline that never comes. */
#define VOLT_NO_DEADLINE UINT64_MAX

VOLT_BEGIN_DECLS

/* Whether a result is a success: VOLT_OK, VOLT_LEADER or VOLT_DONE. VOLT_PENDING is not one yet. */
VOLT_INLINE bool volt_is_ok(int result) {
  return result >= 0 && result != VOLT_PENDING;
}

/* The errno value e of a result VOLT_ERRNO(e). Returns 0 for any other result. */
VOLT_INLINE int volt_errno(int result) {
  return result < -1024 ? -1024 - result : 0;
}

/* The text of a result code, or the system's text of a VOLT_ERRNO(e), in static memory. Returns
 * "unknown result" for any other value. */
VOLT_API const char *volt_strerror(int result);

/* The name of a result code, such as "VOLT_OK", or of the errno value, such as "EPIPE", in static
 * memory. Returns "?" for any other value. */
VOLT_API const char *volt_strresult(int result);

/* The time in nanoseconds on CLOCK_MONOTONIC, the clock of every deadline_ns.
 *
 * A deadline is a time, not a duration; 0 means "do not wait". A debug build aborts with a message
 * if a thread is about to block with a deadline that looks like a duration, or a sleep, a timeout or
 * an interval is given one: from 1 ns to below 1 hour, and from before the program has begun. A clock
 * that is virtual may begin at 0, so what is on its timers is not looked at. */
VOLT_API uint64_t volt_now_ns(void);

/* The deadline that is delay_ns nanoseconds from now; in a fiber, on the clock of its runtime. At
 * most VOLT_NO_DEADLINE - 1. */
VOLT_API uint64_t volt_deadline_ns(uint64_t delay_ns);

/* The same for a delay in microseconds, milliseconds, seconds. */
VOLT_API uint64_t volt_deadline_us(uint64_t delay_us);
VOLT_API uint64_t volt_deadline_ms(uint64_t delay_ms);
VOLT_API uint64_t volt_deadline_s(uint64_t delay_s);

/* The version of the linked library as "major.minor.patch", in static memory. */
VOLT_API const char *volt_version(void);

VOLT_END_DECLS
#endif
