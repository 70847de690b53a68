// allocations.cpp: the C library's allocator, which counts while it is asked to. operator new and
// the pools of Boost call it.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "boost_bench.hpp"

static std::atomic<bool> is_counting{false};
static std::atomic<std::uint64_t> count{0};

void count_allocations() {
  count.store(0);
  is_counting.store(true);
}

std::uint64_t allocations_counted() {
  is_counting.store(false);
  return count.load();
}

static void note() {
  if (is_counting.load(std::memory_order_relaxed)) count.fetch_add(1, std::memory_order_relaxed);
}

extern "C" {

void *__libc_malloc(std::size_t bytes);
void *__libc_calloc(std::size_t many, std::size_t bytes);
void *__libc_realloc(void *memory, std::size_t bytes);
void *__libc_memalign(std::size_t alignment, std::size_t bytes);

void *malloc(std::size_t bytes) {
  note();
  return __libc_malloc(bytes);
}

void *calloc(std::size_t many, std::size_t bytes) {
  note();
  return __libc_calloc(many, bytes);
}

void *realloc(void *memory, std::size_t bytes) {
  note();
  return __libc_realloc(memory, bytes);
}

void *memalign(std::size_t alignment, std::size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, std::size_t alignment, std::size_t bytes) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  note();
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

} // extern "C"
