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
#include <type_traits>
// std::destroy_at() and std::addressof(), by libstdc++'s own header: with <memory>, which has ten times as much, a
// source takes half as long again to compile.
#if __has_include(<bits/stl_construct.h>)
#include <bits/stl_construct.h>
#else
#include <memory>
#endif

// The model checker's headers take longer to compile than a source does: 0.15 s in each file, for nothing.
// So model.cpp alone includes them (it defines VOLT_MODEL_CHECKER), and has the classes below that call
// the checker, for the types that VOLT_MODEL_SHARED_ lists; every other file has calls of them. A pointer
// of any type is kept as a void *.
template <typename T>
constexpr size_t volt_model_atomic_size = sizeof(T) == 8   ? 56
                                          : sizeof(T) == 4 ? 40
                                                           : 32;
template <typename T>
constexpr size_t volt_model_var_size = sizeof(T) == 8 ? 32 : 24;

#ifdef VOLT_MODEL_CHECKER

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

template <typename T>
using volt_model_atomic_memory = rl::generic_atomic<T, true>;
template <typename T>
using volt_model_var_memory = rl::var<T>;

#else

// What the checker's headers say of these, word by word.
namespace rl {
enum memory_order {
  mo_relaxed,
  mo_consume,
  mo_acquire,
  mo_release,
  mo_acq_rel,
  mo_seq_cst,
};
struct debug_info {
  char const *func_;
  char const *file_;
  unsigned line_;
  debug_info(char const *func = "", char const *file = "", unsigned line = 0)
      : func_(func), file_(file), line_(line) {
  }
};
typedef debug_info const &debug_info_param;
} // namespace rl
#define $ ::rl::debug_info(__FUNCTION__, __FILE__, __LINE__)

template <size_t BYTES>
struct volt_model_memory {
  alignas(8) unsigned char bytes[BYTES];
  volt_model_memory() = default;
  volt_model_memory(const volt_model_memory &) = delete;
};
template <typename T>
using volt_model_atomic_memory = volt_model_memory<volt_model_atomic_size<T> >;
template <typename T>
using volt_model_var_memory = volt_model_memory<volt_model_var_size<T> >;

#endif

// The thread of the model that runs; the constructor and check() are one more.
unsigned volt_model_thread();
// Both in turn: a model is run with each.
bool volt_model_choice();
// A fence of the order seq_cst.
void volt_model_fence();

// Whether the shared state of a model is being constructed.
extern bool volt_model_constructing;

// Relacy never lets a load see an initial value once there is a newer one; a value that was stored it
// does. So what is shared from the beginning begins with a store.
template <typename T>
class volt_model_word {
 public:
  volt_model_word();
  volt_model_word(T value);
  ~volt_model_word();
  T load(rl::memory_order order, rl::debug_info_param at) const;
  void store(T value, rl::memory_order order, rl::debug_info_param at);
  T exchange(T value, rl::memory_order order, rl::debug_info_param at);
  bool cas_strong(T &seen, T want, rl::memory_order order, rl::debug_info_param at);
  bool cas_weak(T &seen, T want, rl::memory_order order, rl::debug_info_param at);

 protected:
  volt_model_atomic_memory<T> atomic_;
  static_assert(sizeof(volt_model_atomic_memory<T>) == volt_model_atomic_size<T>, "in every file");
};

template <typename T>
class volt_model_number : public volt_model_word<T> {
 public:
  using volt_model_word<T>::volt_model_word;
  T fetch_add(T value, rl::memory_order order, rl::debug_info_param at);
  T fetch_sub(T value, rl::memory_order order, rl::debug_info_param at);
  T fetch_or(T value, rl::memory_order order, rl::debug_info_param at);
  T fetch_and(T value, rl::memory_order order, rl::debug_info_param at);
};

template <typename T>
class volt_model_var {
 public:
  volt_model_var(T value);
  ~volt_model_var();
  T load() const;
  T store(T value);

 private:
  volt_model_var_memory<T> var_;
  static_assert(sizeof(volt_model_var_memory<T>) == volt_model_var_size<T>, "in every file");
};

template <typename T>
class volt_model_atomic : public volt_model_number<T> {
 public:
  using volt_model_number<T>::volt_model_number;
};

template <typename T>
class volt_model_atomic<T *> {
 public:
  volt_model_atomic() {
  }
  volt_model_atomic(T *value) : word_(value) {
  }
  T *load(rl::memory_order order, rl::debug_info_param at) const {
    return static_cast<T *>(word_.load(order, at));
  }
  void store(T *value, rl::memory_order order, rl::debug_info_param at) {
    word_.store(value, order, at);
  }
  T *exchange(T *value, rl::memory_order order, rl::debug_info_param at) {
    return static_cast<T *>(word_.exchange(value, order, at));
  }
  bool cas_strong(T *&seen, T *want, rl::memory_order order, rl::debug_info_param at) {
    void *was = seen;
    bool done = word_.cas_strong(was, want, order, at);
    seen = static_cast<T *>(was);
    return done;
  }
  bool cas_weak(T *&seen, T *want, rl::memory_order order, rl::debug_info_param at) {
    void *was = seen;
    bool done = word_.cas_weak(was, want, order, at);
    seen = static_cast<T *>(was);
    return done;
  }

 private:
  volt_model_word<void *> word_;
};

template <typename T>
class volt_model_plain {
 public:
  volt_model_plain() : var_(kept()) {
  }
  volt_model_plain(T value) : var_((kept)value) {
  }
  volt_model_plain(const volt_model_plain &other) : var_(other.var_.load()) {
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
  T operator|=(T value) {
    return store(static_cast<T>(load() | value));
  }
  T operator&=(T value) {
    return store(static_cast<T>(load() & value));
  }
  T operator++() {
    return store(static_cast<T>(load() + 1));
  }
  T operator--() {
    return store(static_cast<T>(load() - 1));
  }

 private:
  using kept = std::conditional_t<std::is_pointer<T>::value, void *, T>; // of functions, too
  T load() const {
    return (T)var_.load();
  }
  T store(T value) {
    var_.store((kept)value);
    return value;
  }
  volt_model_var<kept> var_;
};

#ifdef VOLT_MODEL_CHECKER

template <typename T>
volt_model_word<T>::volt_model_word() {
  if (volt_model_constructing) atomic_.store(T(), rl::mo_relaxed, $);
}

template <typename T>
volt_model_word<T>::volt_model_word(T value) {
  if (volt_model_constructing || value != T()) atomic_.store(value, rl::mo_relaxed, $);
}

template <typename T>
volt_model_word<T>::~volt_model_word() {
}

template <typename T>
T volt_model_word<T>::load(rl::memory_order order, rl::debug_info_param at) const {
  return atomic_.load(order, at);
}

template <typename T>
void volt_model_word<T>::store(T value, rl::memory_order order, rl::debug_info_param at) {
  atomic_.store(value, order, at);
}

template <typename T>
T volt_model_word<T>::exchange(T value, rl::memory_order order, rl::debug_info_param at) {
  return atomic_.exchange(value, order, at);
}

template <typename T>
bool volt_model_word<T>::cas_strong(T &seen, T want, rl::memory_order order,
                                    rl::debug_info_param at) {
  return atomic_.compare_exchange_strong(seen, want, order, at, rl::mo_relaxed, at);
}

template <typename T>
bool volt_model_word<T>::cas_weak(T &seen, T want, rl::memory_order order,
                                  rl::debug_info_param at) {
  return atomic_.compare_exchange_weak(seen, want, order, at, rl::mo_relaxed, at);
}

#define VOLT_MODEL_FETCH_(operation)                                                            \
  template <typename T>                                                                         \
  T volt_model_number<T>::operation(T value, rl::memory_order order, rl::debug_info_param at) { \
    return this->atomic_.operation(value, order, at);                                           \
  }
VOLT_MODEL_FETCH_(fetch_add)
VOLT_MODEL_FETCH_(fetch_sub)
VOLT_MODEL_FETCH_(fetch_or)
VOLT_MODEL_FETCH_(fetch_and)

template <typename T>
volt_model_var<T>::volt_model_var(T value) : var_(value) {
}

template <typename T>
volt_model_var<T>::~volt_model_var() {
}

template <typename T>
T volt_model_var<T>::load() const {
  return var_($).load();
}

template <typename T>
T volt_model_var<T>::store(T value) {
  var_($).store(value);
  return value;
}

#endif

#define VOLT_MODEL_SHARED_(declare)                   \
  declare template class volt_model_word<void *>;     \
  declare template class volt_model_word<uint8_t>;    \
  declare template class volt_model_word<uint32_t>;   \
  declare template class volt_model_word<uint64_t>;   \
  declare template class volt_model_number<uint8_t>;  \
  declare template class volt_model_number<uint32_t>; \
  declare template class volt_model_number<uint64_t>; \
  declare template class volt_model_var<void *>;      \
  declare template class volt_model_var<bool>;        \
  declare template class volt_model_var<int>;         \
  declare template class volt_model_var<uint8_t>;     \
  declare template class volt_model_var<uint16_t>;    \
  declare template class volt_model_var<uint32_t>;    \
  declare template class volt_model_var<uint64_t>;
VOLT_MODEL_SHARED_(extern)

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

#define VOLT_UNION_LIKE_(name, member)       \
  name() : member() {                        \
  }                                          \
  ~name() {                                  \
    std::destroy_at(std::addressof(member)); \
  }
#define VOLT_CONSTRUCT_(T, p) ::new (static_cast<void *>(p)) T
#define VOLT_DESTROY_(p) std::destroy_at(p)
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
  (p)->cas_##strength(*(seen), (want), rl::mo_##order, $)
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
