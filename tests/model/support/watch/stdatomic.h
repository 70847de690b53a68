// stdatomic.h: C11's atomic operations on the model checker's types, for the sources of volt-run that are compiled into
// a model. Numbers of 32 bits are scheduling points; of the others, which are times, places and counts, none is
// read to decide. Each operation is a step that its thread has run (kernel_ran_ns() of model_watch.cpp).
#ifndef VOLT_MODEL_STDATOMIC_H
#define VOLT_MODEL_STDATOMIC_H

#include <volt/detail/atomic.h>

// How many steps each thread has run.
extern uint32_t watch_steps[8];

inline void watch_step() {
  watch_steps[volt_model_thread()]++;
}

// No scheduling point.
template <typename T>
struct quiet {
  T value = 0;
  T load(rl::memory_order, rl::debug_info_param) const {
    return value;
  }
  void store(T next, rl::memory_order, rl::debug_info_param) {
    value = next;
  }
  T fetch_add(T more, rl::memory_order, rl::debug_info_param) {
    value = static_cast<T>(value + more);
    return static_cast<T>(value - more);
  }
  T fetch_or(T more, rl::memory_order, rl::debug_info_param) {
    T before = value;
    value = static_cast<T>(value | more);
    return before;
  }
  bool cas_weak(T &seen, T want, rl::memory_order, rl::debug_info_param) {
    if (value == seen) {
      value = want;
      return true;
    }
    seen = value;
    return false;
  }
};

// The kernel's number of a thread.
struct watch_tid {
  volt_model_atomic<uint32_t> word;
  int32_t load(rl::memory_order order, rl::debug_info_param at) const {
    return static_cast<int32_t>(word.load(order, at));
  }
  void store(int32_t next, rl::memory_order order, rl::debug_info_param at) {
    word.store(static_cast<uint32_t>(next), order, at);
  }
  bool cas_strong(int32_t &seen, int32_t want, rl::memory_order order, rl::debug_info_param at) {
    uint32_t was = static_cast<uint32_t>(seen);
    bool done = word.cas_strong(was, static_cast<uint32_t>(want), order, at);
    seen = static_cast<int32_t>(was);
    return done;
  }
};

template <typename T>
struct watch_atomic_of {
  using type = quiet<T>;
};
template <>
struct watch_atomic_of<uint32_t> {
  using type = volt_model_atomic<uint32_t>;
};
template <>
struct watch_atomic_of<int32_t> {
  using type = watch_tid;
};

#define _Atomic(T) typename watch_atomic_of<T>::type
#define BOOKS_SHOWN(T) quiet<T>

struct atomic_flag {
  bool is_set;
};
inline bool watch_flag_set(atomic_flag *f) {
  bool before = f->is_set;
  f->is_set = true;
  return before;
}
#define atomic_flag_test_and_set_explicit(f, order) watch_flag_set(f)
#define atomic_flag_clear_explicit(f, order) ((f)->is_set = false)
#define atomic_flag_clear(f) ((f)->is_set = false)

#define VOLT_MODEL_ORDER_memory_order_relaxed rl::mo_relaxed
#define VOLT_MODEL_ORDER_memory_order_acquire rl::mo_acquire
#define VOLT_MODEL_ORDER_memory_order_release rl::mo_release
#define VOLT_MODEL_ORDER_memory_order_acq_rel rl::mo_acq_rel
#define VOLT_MODEL_ORDER_memory_order_seq_cst rl::mo_seq_cst
#define VOLT_MODEL_ORDER_(order) VOLT_MODEL_ORDER_##order

#define atomic_load_explicit(p, order) (watch_step(), (p)->load(VOLT_MODEL_ORDER_(order), $))
#define atomic_store_explicit(p, v, order) \
  (watch_step(), (p)->store((v), VOLT_MODEL_ORDER_(order), $))
#define atomic_exchange_explicit(p, v, order) \
  (watch_step(), (p)->exchange((v), VOLT_MODEL_ORDER_(order), $))
#define atomic_fetch_add_explicit(p, v, order) \
  (watch_step(), (p)->fetch_add((v), VOLT_MODEL_ORDER_(order), $))
#define atomic_thread_fence(order) (watch_step(), volt_model_fence())

#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v) (watch_step(), (p)->fetch_sub((v), rl::mo_seq_cst, $))
#define atomic_fetch_or(p, v) (watch_step(), (p)->fetch_or((v), rl::mo_seq_cst, $))
#define atomic_compare_exchange_weak(p, seen, want) \
  (watch_step(), (p)->cas_weak(*(seen), (want), rl::mo_seq_cst, $))
#define atomic_compare_exchange_strong(p, seen, want) \
  (watch_step(), (p)->cas_strong(*(seen), (want), rl::mo_seq_cst, $))

#endif
