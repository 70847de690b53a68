/* allocations.c: malloc and its family are replaced for the whole program, to count their calls. */
#include <errno.h>

#include "tasks.h"

/* glibc's own, under the names that it keeps for programs that replace the others. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes);
int posix_memalign(void **memory, size_t alignment, size_t bytes);
void free(void *memory);

static VOLT_ATOMIC(uint32_t) is_counting;
static VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) counted;

/* relaxed: a count; who reads it has waited for those who are counted */
static void count(void) {
  if (volt_load_relaxed(&is_counting)) volt_fetch_add_relaxed(&counted, 1);
}

void rt_allocations_count(void) {
  volt_store_relaxed(&counted, 0);
  volt_store_relaxed(&is_counting, 1);
}

uint64_t rt_allocations_counted(void) {
  volt_store_relaxed(&is_counting, 0);
  return volt_load_relaxed(&counted);
}

void *malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes) {
  count();
  return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  count();
  bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power || alignment % sizeof(void *) != 0) return EINVAL;
  void *got = __libc_memalign(alignment, bytes);
  if (!got) return ENOMEM;
  *memory = got;
  return 0;
}

/* Not counted: what is freed was allocated. */
void free(void *memory) {
  __libc_free(memory);
}
