/* stack.h: stacks for fibers: slabs with guard pages, kept for re-use.
 *
 * A stack is taken as a fiber begins and given back as it ends. Each worker keeps the stacks that
 * its fibers have given back last; what is more is shared by all workers. Memory comes from the
 * system, not from the runtime's allocator, because only pages of their own can be guarded, and be
 * given back one by one. */
#ifndef VOLT_RT_FIBER_STACK_H
#define VOLT_RT_FIBER_STACK_H

#include <volt/runtime.h>

#include "../sched/short_lock.h"

#ifndef VOLT_DEBUG
#define VOLT_DEBUG 0
#endif

/* How large a stack is, its guard included. What checks code makes its frames larger. */
#define VOLT_STACK_LEAST_ ((uint32_t)16 << 10)
#define VOLT_STACK_MOST_ ((uint32_t)64 << 20)
#if defined(__SANITIZE_ADDRESS__)
#define VOLT_STACK_IS_WATCHED_ 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define VOLT_STACK_IS_WATCHED_ 1
#endif
#endif
#ifndef VOLT_STACK_IS_WATCHED_ /* no sanitizer knows what in it may be read */
#define VOLT_STACK_IS_WATCHED_ 0
#endif
#if VOLT_DEBUG || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VOLT_STACK_DEFAULT_ ((uint32_t)1 << 20)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define VOLT_STACK_DEFAULT_ ((uint32_t)1 << 20)
#endif
#endif
#ifndef VOLT_STACK_DEFAULT_
#define VOLT_STACK_DEFAULT_ ((uint32_t)256 << 10)
#endif

/* A stack, lowest address first. All-zero: none. */
typedef struct volt_stack_ {
  char *bottom; /* the lowest byte that may be used: above the guard */
  size_t bytes; /* from there to its top */
  struct volt_stack_slot_ *slot;
} volt_stack_;

/* ---- take and give: stack.c ---- */

/* Take a stack of at least so many bytes (VOLT_STACK_LEAST_ to VOLT_STACK_MOST_, guard included)
 * for a fiber of rt, on a worker of rt. Returns VOLT_OK or VOLT_ENOMEM. */
int volt_stack_take_(volt_rt *rt, size_t bytes, volt_stack_ *stack);

/* Give it back, on a worker of rt, when nothing runs on it any more. *stack is none then. */
void volt_stack_give_(volt_rt *rt, volt_stack_ *stack);

/* How much of it was used since it was taken: exact in debug builds, else in pages, and then those
 * that were used before count, too. Any thread. */
size_t volt_stack_used_(const volt_stack_ *stack);

/* How large it is, its guard included: what its fiber asked for, rounded up. */
size_t volt_stack_size_(const volt_stack_ *stack);

/* Whether address is in its guard, which its fiber reaches by an overflow. */
bool volt_stack_guards_(const volt_stack_ *stack, const void *address);

/* ---- the stacks of a runtime ---- */

#define VOLT_STACK_CLASSES_ 13 /* VOLT_STACK_LEAST_, twice that, ... */

typedef struct volt_stack_list_ {
  struct volt_stack_slot_ *first;
  struct volt_stack_slot_ *last;
  uint32_t count;
} volt_stack_list_;

/* Free stacks of one size, which all workers share. */
typedef struct volt_stack_class_ {
  volt_stack_list_ warm; /* that have memory: the first was given back last */
  volt_stack_list_ cold; /* that have none */
  uint32_t out;          /* how many the workers have, in use or in their caches */
  uint32_t peak;         /* of out, in this period */
  uint32_t peak_before;  /* in the one before */
  uint32_t excess;       /* how many of warm are to lose their memory */
} volt_stack_class_;

typedef struct volt_stack_pool_ {
  volt_short_lock lock;
  volt_stack_class_ of[VOLT_STACK_CLASSES_]; /* under the lock, like all that follows */
  struct volt_slab_ *slabs;
  VOLT_PLAIN(uint64_t) mapped;       /* bytes */
  unsigned least_class;              /* written by init only */
  VOLT_PLAIN(uint64_t) next_trim_ns; /* trim_ns, when all that are too many are dropped */
  VOLT_PLAIN(bool) is_dropping;      /* some are to be dropped now */
  VOLT_ATOMIC(uint64_t) trim_ns;     /* when to look for stacks that are too many; 0: never */
  VOLT_ATOMIC(uint32_t) has_warned;  /* why there was no stack */
} volt_stack_pool_;

/* A worker's own. */
typedef struct volt_stack_cache_ {
  volt_stack_list_ of[VOLT_STACK_CLASSES_];
  VOLT_ATOMIC(uint64_t) taken, given; /* relaxed counters, which it writes and any thread reads */
} volt_stack_cache_;

void volt_stack_pool_init_(volt_stack_pool_ *pool);

/* Every other thread has left, and every stack was given back. */
void volt_stack_pool_destroy_(volt_stack_pool_ *pool);

void volt_stack_stats_(volt_rt *rt, volt_rt_stats_of *stats);

/* The time has come: take the memory of some stacks that are too many. On a worker of rt. */
void volt_stack_trim_(volt_rt *rt);

/* ---- memory: stack_memory.c ---- */

enum { VOLT_SLAB_STACKS_ = 64 };

enum volt_stack_guard_ {
  VOLT_STACK_UNGUARDED_,    /* not yet */
  VOLT_STACK_GUARD_TABLE_,  /* in the page table */
  VOLT_STACK_GUARD_MAPPED_, /* by two more maps */
  VOLT_STACK_GUARD_NONE_    /* none is wanted */
};

/* A stack, and where it is while it is free. */
typedef struct volt_stack_slot_ {
  struct volt_stack_slot_ *next; /* in a list */
  struct volt_stack_slot_ *prev;
  char *bottom;          /* above its guard */
  uint32_t guard_bytes;  /* below that */
  uint16_t colour_bytes; /* above its top */
  uint8_t size_class;
  uint8_t guard; /* of volt_stack_guard_ */
} volt_stack_slot_;

/* Stacks of one size: their slots in a page, then the stacks. */
typedef struct volt_slab_ {
  struct volt_slab_ *next; /* of the pool */
  struct volt_slab_ *prev;
  size_t bytes;   /* of all */
  uint32_t count; /* stacks */
  uint32_t cold;  /* of them, free and without memory: under the pool's lock */
  volt_stack_slot_ slot[VOLT_SLAB_STACKS_];
} volt_slab_;

#define VOLT_SLAB_HEAD_ 4096                     /* a page has at least so much */
VOLT_SIZE_AT_MOST_(volt_slab_, VOLT_SLAB_HEAD_); /* its slots are in its first page */

static inline volt_slab_ *volt_slab_of_(const volt_stack_slot_ *slot) {
  return (volt_slab_ *)((uintptr_t)slot & ~(uintptr_t)(VOLT_SLAB_HEAD_ - 1));
}

/* How large the stacks of a class are, guard included. */
static inline size_t volt_stack_class_bytes_(unsigned size_class) {
  return (size_t)VOLT_STACK_LEAST_ << size_class;
}

static inline size_t volt_stack_bytes_(const volt_stack_slot_ *slot) {
  return volt_stack_class_bytes_(slot->size_class) - slot->guard_bytes - slot->colour_bytes;
}

/* The smallest size whose stacks have a guard and a page. */
unsigned volt_stack_least_class_(void);

/* Map a slab of up to 64 stacks, or of fewer if there is not so much. NULL: not even of one. Its
 * stacks are cold and have no guards yet. */
volt_slab_ *volt_slab_map_(unsigned size_class);
void volt_slab_unmap_(volt_slab_ *slab);

/* Returns VOLT_OK; VOLT_ENOMEM: a guard would be one map too many. */
int volt_stack_guard_(volt_stack_slot_ *slot);

/* Give its memory back to the system. */
void volt_stack_drop_(const volt_stack_slot_ *slot);

/* Before it is given back: what was written there is forgotten, where something looks at it. */
void volt_stack_clean_(const volt_stack_ *stack);

/* How many maps the guards of this process may take. */
uint64_t volt_stack_maps_limit_(void);

#endif
