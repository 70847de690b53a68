// stdatomic.h: C11's atomic operations on the model checker's types, for sources of an application
// that are compiled into a model. Each is a scheduling point, as the library's own are.
#ifndef VOLT_MODEL_STDATOMIC_H
#define VOLT_MODEL_STDATOMIC_H

#include <volt/detail/atomic.h>

#define _Atomic(T) VOLT_ATOMIC(T)
typedef VOLT_ATOMIC(uint32_t) atomic_uint;
typedef VOLT_ATOMIC(uint32_t) atomic_bool;
typedef VOLT_ATOMIC(uint32_t) atomic_uchar;
typedef VOLT_ATOMIC(uint64_t) atomic_uint_fast64_t;

#define VOLT_MODEL_ORDER_memory_order_relaxed rl::mo_relaxed
#define VOLT_MODEL_ORDER_memory_order_acquire rl::mo_acquire
#define VOLT_MODEL_ORDER_memory_order_release rl::mo_release
#define VOLT_MODEL_ORDER_memory_order_acq_rel rl::mo_acq_rel
#define VOLT_MODEL_ORDER_(order) VOLT_MODEL_ORDER_##order

#define atomic_load_explicit(p, order) (p)->load(VOLT_MODEL_ORDER_(order), $)
#define atomic_store_explicit(p, v, order) (p)->store((v), VOLT_MODEL_ORDER_(order), $)
#define atomic_exchange_explicit(p, v, order) (p)->exchange((v), VOLT_MODEL_ORDER_(order), $)
#define atomic_fetch_add_explicit(p, v, order) (p)->fetch_add((v), VOLT_MODEL_ORDER_(order), $)
#define atomic_fetch_sub_explicit(p, v, order) (p)->fetch_sub((v), VOLT_MODEL_ORDER_(order), $)
#define atomic_compare_exchange_weak_explicit(p, seen, want, order, failure) \
  (p)->cas_weak(*(seen), (want), VOLT_MODEL_ORDER_(order), $)
#define atomic_compare_exchange_strong_explicit(p, seen, want, order, failure) \
  (p)->cas_strong(*(seen), (want), VOLT_MODEL_ORDER_(order), $)

#endif
