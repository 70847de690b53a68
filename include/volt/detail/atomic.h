/* detail/atomic.h: the atomic operations of volt, named by their memory order. Not an interface.
 *
 * One spelling for three compilers: C11; C++, because fast paths are inline in public headers; and
 * the model checker, which sees every access of the shipped source through these names. Only the
 * operations in use exist. No other file spells a memory order.
 *
 *   VOLT_ATOMIC(T)   a T that threads share through the operations below
 *   VOLT_PLAIN(T)    a T that several threads reach, one at a time, protected by something else:
 *                    T itself, but for the model checker, which reports every unprotected access */
#ifndef VOLT_DETAIL_ATOMIC_H
#define VOLT_DETAIL_ATOMIC_H

#if defined(VOLT_MODEL)

#include "model_atomic.hpp" /* tests/model/support: the same names on the model checker's types */

#else

#include <string.h>

#ifdef __cplusplus
extern "C++" {
#include <atomic>
}
#define VOLT_ATOMIC(T) std::atomic<T>
#define VOLT_ORDER_(order) std::memory_order_##order
#define VOLT_STD_(name) std::name
#else
#include <stdatomic.h>
#define VOLT_ATOMIC(T) _Atomic(T)
#define VOLT_ORDER_(order) memory_order_##order
#define VOLT_STD_(name) name
#endif
#if defined(VOLT_VALGRIND)
#define VOLT_ATOMIC_FN_(fn) volt_vg_##fn##_
#else
#define VOLT_ATOMIC_FN_(fn) VOLT_STD_(fn)
#endif
#define VOLT_PLAIN(T) T

/* Helgrind and DRD see no order in atomic operations. A build with VOLT_VALGRIND reports to them an
 * edge from each release to every later acquire of the same object, and that atomic
 * operations do not race with each other. */
#if defined(VOLT_VALGRIND)
#include <valgrind/helgrind.h>
/* in this order: both define the same names */
#include <valgrind/drd.h>
#define VOLT_VG_REPORT_(request, p, bytes) \
  VALGRIND_DO_CLIENT_REQUEST_STMT((request), (const volatile void *)(p), (bytes), 0, 0, 0)
#define VOLT_VG_BEFORE_(p, order)                                           \
  VOLT_VG_REPORT_(_VG_USERREQ__HG_ARANGE_MAKE_UNTRACKED, p, sizeof *(p));   \
  VOLT_VG_REPORT_(VG_USERREQ__DRD_START_SUPPRESSION, p, sizeof *(p));       \
  if ((order) != VOLT_ORDER_(relaxed) && (order) != VOLT_ORDER_(acquire)) { \
    VOLT_VG_REPORT_(_VG_USERREQ__HG_USERSO_SEND_PRE, p, 0);                 \
    VOLT_VG_REPORT_(VG_USERREQ__DRD_ANNOTATE_HAPPENS_BEFORE, p, 0);         \
  }
#define VOLT_VG_AFTER_(p, order)                                            \
  if ((order) != VOLT_ORDER_(relaxed) && (order) != VOLT_ORDER_(release)) { \
    VOLT_VG_REPORT_(_VG_USERREQ__HG_USERSO_RECV_POST, p, 0);                \
    VOLT_VG_REPORT_(VG_USERREQ__DRD_ANNOTATE_HAPPENS_AFTER, p, 0);          \
  }
#ifdef __cplusplus
#define VOLT_VG_AUTO_ auto
#else
#define VOLT_VG_AUTO_ __auto_type
#endif
#define VOLT_VG_DO_(p, order, operation)      \
  __extension__({                             \
    VOLT_VG_BEFORE_(p, order)                 \
    VOLT_VG_AUTO_ volt_result_ = (operation); \
    VOLT_VG_AFTER_(p, order)                  \
    volt_result_;                             \
  })
#define volt_vg_atomic_load_explicit_(p, order) \
  VOLT_VG_DO_(p, order, VOLT_STD_(atomic_load_explicit)(p, order))
#define volt_vg_atomic_store_explicit_(p, v, order) \
  VOLT_VG_DO_(p, order, (VOLT_STD_(atomic_store_explicit)(p, v, order), 0))
#define volt_vg_atomic_exchange_explicit_(p, v, order) \
  VOLT_VG_DO_(p, order, VOLT_STD_(atomic_exchange_explicit)(p, v, order))
#define volt_vg_atomic_fetch_add_explicit_(p, v, order) \
  VOLT_VG_DO_(p, order, VOLT_STD_(atomic_fetch_add_explicit)(p, v, order))
#define volt_vg_atomic_fetch_or_explicit_(p, v, order) \
  VOLT_VG_DO_(p, order, VOLT_STD_(atomic_fetch_or_explicit)(p, v, order))
#define volt_vg_atomic_fetch_and_explicit_(p, v, order) \
  VOLT_VG_DO_(p, order, VOLT_STD_(atomic_fetch_and_explicit)(p, v, order))
#define volt_vg_atomic_compare_exchange_strong_explicit_(p, seen, want, order, failure) \
  VOLT_VG_DO_(p, order,                                                                 \
              VOLT_STD_(atomic_compare_exchange_strong_explicit)(p, seen, want, order, failure))
#define volt_vg_atomic_compare_exchange_weak_explicit_(p, seen, want, order, failure) \
  VOLT_VG_DO_(p, order,                                                               \
              VOLT_STD_(atomic_compare_exchange_weak_explicit)(p, seen, want, order, failure))
#endif

/* Every operation takes its pointer from here. In a test build with VOLT_CHAOS
 * (tests/chaos/chaos.c) the thread sometimes yields first; in all other builds this is p. */
#ifdef VOLT_CHAOS
#include "../base.h"
VOLT_BEGIN_DECLS
void volt_chaos_(void);
VOLT_END_DECLS
#define VOLT_AT_(p) (volt_chaos_(), (p))
#else
#define VOLT_AT_(p) (p)
#endif

/* In a union of types with atomics in them, where those have constructors: begin its life as this
 * member. */
#if defined(__cplusplus) && __cplusplus >= 202002L
#define VOLT_UNION_LIKE_(name, member) \
  name() : member() {                  \
  }
#else
#define VOLT_UNION_LIKE_(name, member)
#endif

/* Raw memory: begin and end the life of a T that has atomics in it; copy an element of any type,
 * one of 8 bytes without a call. */
#define VOLT_CONSTRUCT_(T, p) ((T *)(void *)(p))
#define VOLT_DESTROY_(p) ((void)(p))
#define VOLT_COPY_(to, from, bytes) \
  ((bytes) == 8 ? (void)memcpy((to), (from), 8) : (void)((bytes) && memcpy((to), (from), (bytes))))

#define volt_load_relaxed(p) \
  VOLT_ATOMIC_FN_(atomic_load_explicit)(VOLT_AT_(p), VOLT_ORDER_(relaxed))
#define volt_load_acquire(p) \
  VOLT_ATOMIC_FN_(atomic_load_explicit)(VOLT_AT_(p), VOLT_ORDER_(acquire))
#define volt_load_seq_cst(p) \
  VOLT_ATOMIC_FN_(atomic_load_explicit)(VOLT_AT_(p), VOLT_ORDER_(seq_cst))
#define volt_store_relaxed(p, v) \
  VOLT_ATOMIC_FN_(atomic_store_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(relaxed))
#define volt_store_release(p, v) \
  VOLT_ATOMIC_FN_(atomic_store_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(release))
#define volt_exchange_relaxed(p, v) \
  VOLT_ATOMIC_FN_(atomic_exchange_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(relaxed))
#define volt_exchange_acquire(p, v) \
  VOLT_ATOMIC_FN_(atomic_exchange_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(acquire))
#define volt_exchange_acq_rel(p, v) \
  VOLT_ATOMIC_FN_(atomic_exchange_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(acq_rel))
#define volt_exchange_seq_cst(p, v) \
  VOLT_ATOMIC_FN_(atomic_exchange_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(seq_cst))
#define volt_fetch_add_relaxed(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_add_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(relaxed))
#define volt_fetch_add_release(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_add_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(release))
#define volt_fetch_add_acq_rel(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_add_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(acq_rel))
#define volt_fetch_add_seq_cst(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_add_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(seq_cst))
#define volt_fetch_or_relaxed(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_or_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(relaxed))
#define volt_fetch_or_acquire(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_or_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(acquire))
#define volt_fetch_or_acq_rel(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_or_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(acq_rel))
#define volt_fetch_and_relaxed(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_and_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(relaxed))
#define volt_fetch_and_acq_rel(p, v) \
  VOLT_ATOMIC_FN_(atomic_fetch_and_explicit)(VOLT_AT_(p), (v), VOLT_ORDER_(acq_rel))

/* Compare and swap: true if *p was *seen and is now want; else *seen becomes what *p is. A failure
 * orders nothing. The weak form may fail without a reason; it is for loops. */
#define VOLT_CAS_(strength, p, seen, want, order)                \
  VOLT_ATOMIC_FN_(atomic_compare_exchange_##strength##_explicit) \
  (VOLT_AT_(p), (seen), (want), VOLT_ORDER_(order), VOLT_ORDER_(relaxed))
#define volt_cas_relaxed(p, seen, want) VOLT_CAS_(strong, p, seen, want, relaxed)
#define volt_cas_acquire(p, seen, want) VOLT_CAS_(strong, p, seen, want, acquire)
#define volt_cas_release(p, seen, want) VOLT_CAS_(strong, p, seen, want, release)
#define volt_cas_acq_rel(p, seen, want) VOLT_CAS_(strong, p, seen, want, acq_rel)
#define volt_cas_seq_cst(p, seen, want) VOLT_CAS_(strong, p, seen, want, seq_cst)
#define volt_cas_weak_acquire(p, seen, want) VOLT_CAS_(weak, p, seen, want, acquire)
#define volt_cas_weak_release(p, seen, want) VOLT_CAS_(weak, p, seen, want, release)
#define volt_cas_weak_acq_rel(p, seen, want) VOLT_CAS_(weak, p, seen, want, acq_rel)

#endif
#endif
