/* stack_memory.c: the memory of stacks, on Linux.
 *
 * A slab is one map: a page of slots, and up to 64 stacks, each with its guard below it. Guards are
 * put into the page table where the system can do that (MADV_GUARD_INSTALL, Linux 6.13): then all
 * slabs together are a few maps. Else mprotect() makes each guard a map of its own, and cuts the
 * slab in two. A process may have vm.max_map_count maps, 65,530 by default, and where there are no
 * more, malloc() and fopen() fail. So guards take a quarter of them at most.
 *
 * A guard is a sixteenth of its stack, at least a page and at most 64 KiB, because one large frame
 * steps over a page.
 *
 * Stacks of one size would all end at the same offset in a page, and the first-level cache has few
 * places for such addresses. So a stack ends up to 15 cache lines before its memory does: 1,000
 * fibers that yield in turn take two thirds of the time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise, mincore, process_vm_readv */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../core/os/check.h"
#include "stack.h"
#include "stack_tools.h"

enum {
  GUARD_INSTALL = 102, /* as in <linux/mman.h>, which not every system has */
  POPULATE_READ = 22,
  GUARD_SHARE = 16, /* of the stack */
  GUARD_MOST = 64 * 1024,
  GUARD_MAPS = 2,
  COLOURS = 16,
  MAPS_USUAL = 65530
};

#define SLAB_MOST ((size_t)64 << 20)

static size_t stack_page(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- slabs ---- */

unsigned volt_stack_least_class_(void) {
  unsigned size_class = 0;
  while (volt_stack_class_bytes_(size_class) < 2 * stack_page()) size_class++;
  return size_class;
}

static uint32_t stack_guard_bytes(unsigned size_class) {
  size_t page = stack_page();
  size_t bytes = volt_stack_class_bytes_(size_class) / GUARD_SHARE;
  if (bytes > GUARD_MOST) bytes = GUARD_MOST;
  return (uint32_t)(bytes > page ? bytes : page);
}

static volt_slab_ *slab_init(void *memory, size_t bytes, unsigned size_class, uint32_t count) {
  volt_slab_ *slab = (volt_slab_ *)memory; /* all zero */
  char *base = (char *)memory + stack_page();
  uint32_t guard = stack_guard_bytes(size_class);
  slab->bytes = bytes;
  slab->count = count;
  slab->cold = count;
  for (uint32_t i = 0; i < count; i++) {
    slab->slot[i].bottom = base + i * volt_stack_class_bytes_(size_class) + guard;
    slab->slot[i].guard_bytes = guard;
    slab->slot[i].colour_bytes = (uint16_t)(i % COLOURS * VOLT_CACHE_LINE);
    slab->slot[i].size_class = (uint8_t)size_class;
  }
  return slab;
}

volt_slab_ *volt_slab_map_(unsigned size_class) {
  size_t each = volt_stack_class_bytes_(size_class);
  size_t count = SLAB_MOST / each;
  if (count > VOLT_SLAB_STACKS_) count = VOLT_SLAB_STACKS_;
  for (; count > 0; count /= 2) {
    size_t bytes = stack_page() + count * each;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) continue;
    /* a huge page would be the memory of several stacks at once; it may fail where there are none */
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    return slab_init(memory, bytes, size_class, (uint32_t)count);
  }
  return NULL;
}

/* ---- guards ---- */

/* Of all runtimes of this process. */
static VOLT_ATOMIC(uint64_t) stack_maps;

uint64_t volt_stack_maps_limit_(void) {
  static VOLT_ATOMIC(uint64_t) known;         /* 0: not yet */
  uint64_t limit = volt_load_relaxed(&known); /* each thread reads the same */
  if (limit != 0) return limit;
  char text[32] = "";
  int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (read(fd, text, sizeof text - 1) < 0) text[0] = '\0';
    close(fd);
  }
  uint64_t maps = strtoull(text, NULL, 10);
  limit = (maps > 0 ? maps : MAPS_USUAL) / 4;
  volt_store_relaxed(&known, limit);
  return limit;
}

static void stack_uncount_maps(uint64_t maps) {
  volt_fetch_add_relaxed(&stack_maps, UINT64_C(0) - maps); /* a count, like all of stack_maps */
}

static int stack_guard_by_map(volt_stack_slot_ *slot) {
  char *base = slot->bottom - slot->guard_bytes;
  uint64_t before = volt_fetch_add_relaxed(&stack_maps, GUARD_MAPS);
  if (before + GUARD_MAPS <= volt_stack_maps_limit_() &&
      mprotect(base, slot->guard_bytes, PROT_NONE) == 0) {
    slot->guard = VOLT_STACK_GUARD_MAPPED_;
    return VOLT_OK;
  }
  stack_uncount_maps(GUARD_MAPS);
  return VOLT_ENOMEM;
}

/* An emulator (qemu-user) may say yes to any advice and do nothing. A guard cannot be read, so the
 * system refuses to make its pages readable. */
static bool stack_guard_in_table(char *base, size_t bytes) {
  return madvise(base, bytes, GUARD_INSTALL) == 0 && madvise(base, bytes, POPULATE_READ) != 0 &&
         errno == EFAULT;
}

int volt_stack_guard_(volt_stack_slot_ *slot) {
  char *base = slot->bottom - slot->guard_bytes;
  if (!stack_guard_in_table(base, slot->guard_bytes)) return stack_guard_by_map(slot);
  slot->guard = VOLT_STACK_GUARD_TABLE_;
  return VOLT_OK;
}

void volt_slab_unmap_(volt_slab_ *slab) {
  uint64_t maps = 0;
  for (uint32_t i = 0; i < slab->count; i++) {
    if (slab->slot[i].guard == VOLT_STACK_GUARD_MAPPED_) maps += GUARD_MAPS;
  }
  munmap(slab, slab->bytes);
  if (maps > 0) stack_uncount_maps(maps);
}

/* ---- what is used ---- */

void volt_stack_drop_(const volt_stack_slot_ *slot) {
  size_t bytes = volt_stack_class_bytes_(slot->size_class) - slot->guard_bytes;
  /* it fails for memory that is locked, which stays */
  (void)madvise(slot->bottom, bytes, MADV_DONTNEED);
}

/* The lowest page from `bottom` (of a page) to `top` that has memory; `top`: none. */
static char *stack_lowest_page(char *bottom, char *top) {
  unsigned char has_memory[256];
  size_t page = stack_page();
  for (char *at = bottom; at < top; at += sizeof has_memory * page) {
    size_t pages = ((size_t)(top - at) + page - 1) / page;
    if (pages > sizeof has_memory) pages = sizeof has_memory;
    if (mincore(at, pages * page, has_memory) != 0) return top;
    for (size_t i = 0; i < pages; i++) {
      if (has_memory[i] & 1) return at + i * page;
    }
  }
  return top;
}

#if VOLT_DEBUG
/* The lowest byte from `at` to `top` that is not 0: stacks are all 0 when they are taken. They are
 * read through the system, because another thread may be running on them, or unmap them. */
static char *stack_lowest_byte(char *at, char *top) {
  while (at < top) {
    char bytes[512];
    size_t count = (size_t)(top - at) < sizeof bytes ? (size_t)(top - at) : sizeof bytes;
    struct iovec here = {.iov_base = bytes, .iov_len = count};
    struct iovec there = {.iov_base = at, .iov_len = count};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)count) return at;
    for (size_t i = 0; i < count; i++) {
      if (bytes[i]) return at + i;
    }
    at += count;
  }
  return top;
}
#endif

size_t volt_stack_used_(const volt_stack_ *stack) {
  if (!stack->bottom) return 0;
  int saved = errno;
  char *top = stack->bottom + stack->bytes;
  char *lowest = stack_lowest_page(stack->bottom, top);
#if VOLT_DEBUG
  lowest = stack_lowest_byte(lowest, top);
#endif
  errno = saved;
  return (size_t)(top - lowest);
}

void volt_stack_clean_(const volt_stack_ *stack) {
#if VOLT_DEBUG || VOLT_TOOLS_ASAN_
  size_t used = volt_stack_used_(stack);
  char *lowest = stack->bottom + stack->bytes - used;
  volt_tools_forget_(lowest, used);
#if VOLT_DEBUG
  memset(lowest, 0, used);
#endif
#else
  (void)stack;
#endif
}
