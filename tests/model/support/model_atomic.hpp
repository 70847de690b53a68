// model_atomic.hpp: volt/detail/atomic.h on the types of the model checker (Relacy).
//
// The shipped .c files are compiled against these names, as C++17. VOLT_ATOMIC(T) is Relacy's
// atomic: every operation is a scheduling point, and loads may see any value the C11 memory model
// allows. VOLT_PLAIN(T) reports each access that nothing orders with another. Both start as zero,
// as static and zeroed memory does.
#ifndef VOLT_MODEL_ATOMIC_HPP
#define VOLT_MODEL_ATOMIC_HPP

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <relacy/relacy.hpp>
#pragma GCC diagnostic pop

// Relacy redefines these words for code that is not written for it; ours is.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

// Whether the shared state of a model is being constructed.
extern bool volt_model_constructing;

// Relacy never lets a load see an initial value once there is a newer one; a value that was stored it
// does. So what is shared from the beginning begins with a store.
template <typename T>
class volt_model_atomic : public rl::generic_atomic<T, true> {
 public:
  volt_model_atomic() {
    if (volt_model_constructing) this->store(T(), rl::mo_relaxed, $);
  }
  volt_model_atomic(T value) {
    if (volt_model_constructing || value != T()) this->store(value, rl::mo_relaxed, $);
  }
};

template <typename T>
class volt_model_plain {
 public:
  volt_model_plain() : value_(T()) {
  }
  volt_model_plain(T value) : value_(value) {
  }
  volt_model_plain(const volt_model_plain &other) : value_(other.load()) {
  }
  operator T() const {
    return load();
  }
  T operator->() const {
    return load();
  }
  T operator=(T value) {
    return store(value);
  }
  T operator=(const volt_model_plain &other) {
    return store(other.load());
  }
  T operator+=(T value) {
    return store(static_cast<T>(load() + value));
  }
  T operator-=(T value) {
    return store(static_cast<T>(load() - value));
  }
  T operator++() {
    return store(static_cast<T>(load() + 1));
  }
  T operator--() {
    return store(static_cast<T>(load() - 1));
  }

 private:
  T load() const {
    return value_($).load();
  }
  T store(T value) {
    value_($).store(value);
    return value;
  }
  rl::var<T> value_;
};

#define VOLT_ATOMIC(T) volt_model_atomic<T>
#define VOLT_PLAIN(T) volt_model_plain<T>

// The element of every model: moved one by one, each access checked.
struct volt_model_element {
  VOLT_PLAIN(uint64_t) value;
};

inline void volt_model_move(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(volt_model_element); i++) {
    static_cast<volt_model_element *>(to)[i].value =
        static_cast<const volt_model_element *>(from)[i].value;
  }
}

#define VOLT_CONSTRUCT_(T, p) ::new (static_cast<void *>(p)) T
#define VOLT_COPY_(to, from, bytes) volt_model_move((to), (from), (bytes))

#define volt_load_relaxed(p) (p)->load(rl::mo_relaxed, $)
#define volt_load_acquire(p) (p)->load(rl::mo_acquire, $)
#define volt_load_seq_cst(p) (p)->load(rl::mo_seq_cst, $)
#define volt_store_relaxed(p, v) (p)->store((v), rl::mo_relaxed, $)
#define volt_store_release(p, v) (p)->store((v), rl::mo_release, $)
#define volt_store_seq_cst(p, v) (p)->store((v), rl::mo_seq_cst, $)

#define volt_exchange_relaxed(p, v) (p)->exchange((v), rl::mo_relaxed, $)
#define volt_exchange_acquire(p, v) (p)->exchange((v), rl::mo_acquire, $)
#define volt_exchange_release(p, v) (p)->exchange((v), rl::mo_release, $)
#define volt_exchange_acq_rel(p, v) (p)->exchange((v), rl::mo_acq_rel, $)
#define volt_exchange_seq_cst(p, v) (p)->exchange((v), rl::mo_seq_cst, $)

#define volt_fetch_add_relaxed(p, v) (p)->fetch_add((v), rl::mo_relaxed, $)
#define volt_fetch_add_acquire(p, v) (p)->fetch_add((v), rl::mo_acquire, $)
#define volt_fetch_add_release(p, v) (p)->fetch_add((v), rl::mo_release, $)
#define volt_fetch_add_acq_rel(p, v) (p)->fetch_add((v), rl::mo_acq_rel, $)
#define volt_fetch_add_seq_cst(p, v) (p)->fetch_add((v), rl::mo_seq_cst, $)
#define volt_fetch_sub_release(p, v) (p)->fetch_sub((v), rl::mo_release, $)
#define volt_fetch_sub_acq_rel(p, v) (p)->fetch_sub((v), rl::mo_acq_rel, $)
#define volt_fetch_or_relaxed(p, v) (p)->fetch_or((v), rl::mo_relaxed, $)
#define volt_fetch_or_acquire(p, v) (p)->fetch_or((v), rl::mo_acquire, $)
#define volt_fetch_or_release(p, v) (p)->fetch_or((v), rl::mo_release, $)
#define volt_fetch_or_acq_rel(p, v) (p)->fetch_or((v), rl::mo_acq_rel, $)
#define volt_fetch_and_relaxed(p, v) (p)->fetch_and((v), rl::mo_relaxed, $)
#define volt_fetch_and_acquire(p, v) (p)->fetch_and((v), rl::mo_acquire, $)
#define volt_fetch_and_release(p, v) (p)->fetch_and((v), rl::mo_release, $)
#define volt_fetch_and_acq_rel(p, v) (p)->fetch_and((v), rl::mo_acq_rel, $)

#define VOLT_CAS_(strength, p, seen, want, order) \
  (p)->compare_exchange_##strength(*(seen), (want), rl::mo_##order, $, rl::mo_relaxed, $)
#define volt_cas_relaxed(p, seen, want) VOLT_CAS_(strong, p, seen, want, relaxed)
#define volt_cas_acquire(p, seen, want) VOLT_CAS_(strong, p, seen, want, acquire)
#define volt_cas_release(p, seen, want) VOLT_CAS_(strong, p, seen, want, release)
#define volt_cas_acq_rel(p, seen, want) VOLT_CAS_(strong, p, seen, want, acq_rel)
#define volt_cas_seq_cst(p, seen, want) VOLT_CAS_(strong, p, seen, want, seq_cst)
#define volt_cas_weak_relaxed(p, seen, want) VOLT_CAS_(weak, p, seen, want, relaxed)
#define volt_cas_weak_acquire(p, seen, want) VOLT_CAS_(weak, p, seen, want, acquire)
#define volt_cas_weak_release(p, seen, want) VOLT_CAS_(weak, p, seen, want, release)
#define volt_cas_weak_acq_rel(p, seen, want) VOLT_CAS_(weak, p, seen, want, acq_rel)

#endif
