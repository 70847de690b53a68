/* accesses.c: what a compiler calls for each access to memory under -fsanitize=thread. Here these
 * functions are the simulated machine's: the library is compiled with that option, and not linked
 * with the sanitizer. */
#include "machine.h"

void __tsan_init(void);
void __tsan_init(void) {
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) {
  (void)caller;
  sim_call();
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}

#define PLAIN(size)                             \
  void __tsan_read##size(void *at);             \
  void __tsan_write##size(void *at);            \
  void __tsan_unaligned_read##size(void *at);   \
  void __tsan_unaligned_write##size(void *at);  \
  void __tsan_volatile_read##size(void *at);    \
  void __tsan_volatile_write##size(void *at);   \
  void __tsan_read##size(void *at) {            \
    sim_read(at);                               \
  }                                             \
  void __tsan_write##size(void *at) {           \
    sim_write(at);                              \
  }                                             \
  void __tsan_unaligned_read##size(void *at) {  \
    sim_read(at);                               \
  }                                             \
  void __tsan_unaligned_write##size(void *at) { \
    sim_write(at);                              \
  }                                             \
  void __tsan_volatile_read##size(void *at) {   \
    sim_read(at);                               \
  }                                             \
  void __tsan_volatile_write##size(void *at) {  \
    sim_write(at);                              \
  }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *at, unsigned long bytes);
void __tsan_read_range(void *at, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; i += 64) sim_read((char *)at + i);
}
void __tsan_write_range(void *at, unsigned long bytes);
void __tsan_write_range(void *at, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; i += 64) sim_write((char *)at + i);
}

/* Orders make no difference to the simulated machine, but that a store that is sequentially
 * consistent is an exchange. */
#define EXCHANGE(T, bits, name, op)                                    \
  T __tsan_atomic##bits##_##name(volatile T *at, T value, int order);  \
  T __tsan_atomic##bits##_##name(volatile T *at, T value, int order) { \
    (void)order;                                                       \
    sim_rmw((void *)at);                                               \
    T before = *at;                                                    \
    *at = (T)(op);                                                     \
    return before;                                                     \
  }
#define CAS(T, bits, name)                                                                       \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *at, T *seen, T value, int order, \
                                                    int failed);                                 \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *at, T *seen, T value, int order, \
                                                    int failed) {                                \
    (void)order, (void)failed;                                                                   \
    sim_rmw((void *)at);                                                                         \
    T before = *at;                                                                              \
    if (before != *seen) {                                                                       \
      *seen = before;                                                                            \
      return 0;                                                                                  \
    }                                                                                            \
    *at = value;                                                                                 \
    return 1;                                                                                    \
  }
#define ATOMIC(T, bits)                                                                    \
  T __tsan_atomic##bits##_load(const volatile T *at, int order);                           \
  T __tsan_atomic##bits##_load(const volatile T *at, int order) {                          \
    (void)order;                                                                           \
    sim_load((const void *)at);                                                            \
    return *at;                                                                            \
  }                                                                                        \
  void __tsan_atomic##bits##_store(volatile T *at, T value, int order);                    \
  void __tsan_atomic##bits##_store(volatile T *at, T value, int order) {                   \
    if (order == __ATOMIC_SEQ_CST) {                                                       \
      sim_rmw((void *)at);                                                                 \
    } else {                                                                               \
      sim_store((void *)at);                                                               \
    }                                                                                      \
    *at = value;                                                                           \
  }                                                                                        \
  EXCHANGE(T, bits, exchange, value)                                                       \
  EXCHANGE(T, bits, fetch_add, before + value)                                             \
  EXCHANGE(T, bits, fetch_sub, before - value)                                             \
  EXCHANGE(T, bits, fetch_and, before &value)                                              \
  EXCHANGE(T, bits, fetch_or, before | value)                                              \
  EXCHANGE(T, bits, fetch_xor, before ^ value)                                             \
  CAS(T, bits, strong)                                                                     \
  CAS(T, bits, weak)                                                                       \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T *at, T seen, T value, int order, \
                                               int failed);                                \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T *at, T seen, T value, int order, \
                                               int failed) {                               \
    __tsan_atomic##bits##_compare_exchange_strong(at, &seen, value, order, failed);        \
    return seen;                                                                           \
  }
ATOMIC(uint8_t, 8)
ATOMIC(uint16_t, 16)
ATOMIC(uint32_t, 32)
ATOMIC(uint64_t, 64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
  (void)order;
  sim_fence();
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
  (void)order;
}
