/* alloc_count.c: on glibc. */
#define _GNU_SOURCE
#include "alloc_count.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <volt/detail/atomic.h>

#include "require.h"
#include "sanitizer.h"

static VOLT_ATOMIC(uint64_t) allocations;
static VOLT_ATOMIC(uint64_t) frees;

uint64_t alloc_count_allocations(void) {
  return volt_load_relaxed(&allocations);
}

uint64_t alloc_count_frees(void) {
  return volt_load_relaxed(&frees);
}

static void count_allocation(void) {
  (void)volt_fetch_add_relaxed(&allocations, 1);
}

#if UNDER_ASAN || UNDER_TSAN

/* The declaration of <sanitizer/allocator_interface.h>, which not every compiler installs. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));

bool alloc_count_lack_memory(bool lacks) {
  (void)lacks;
  return false;
}

static void on_malloc(const volatile void *p, size_t size) {
  (void)p;
  (void)size;
  count_allocation();
}

static void on_free(const volatile void *p) {
  if (p) (void)volt_fetch_add_relaxed(&frees, 1);
}

__attribute__((constructor)) static void install(void) {
  REQUIRE(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
}

#else

/* glibc's own names for what is replaced here. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t size) {
  count_allocation();
  return __libc_malloc(size);
}

static _Thread_local bool lacks_memory;

bool alloc_count_lack_memory(bool lacks) {
  lacks_memory = lacks;
  return true;
}

void *calloc(size_t count, size_t size) {
  count_allocation();
  if (lacks_memory) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size) {
  count_allocation();
  return __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(p, count * size);
}

void *memalign(size_t alignment, size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size) {
  void *got = memalign(alignment, size);
  if (!got) return ENOMEM;
  *p = got;
  return 0;
}

void free(void *p) {
  if (p) (void)volt_fetch_add_relaxed(&frees, 1);
  __libc_free(p);
}

#endif
