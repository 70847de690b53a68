/* books.c: the books: objects, and the details of those for which a thread has waited; stacks.
 *
 * Objects are found by their address in lists that only grow at their first member, so they are read without
 * a lock. Two threads that meet an object for the first time at once: one puts it in, and the other one, whose
 * compare-and-swap fails, finds it among those that came before what it had seen. */
#define _GNU_SOURCE /* SYS_gettid */
#include "watch/books.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

_Static_assert(sizeof(struct books_lock) == BOOKS_LINE, "a lock is a line");

struct books *watch_books;

BOOKS_OF_THREAD struct books_thread *books_own;
BOOKS_OF_THREAD uint32_t books_paused;
BOOKS_OF_THREAD struct books_thread *books_at_once;

bool books_begin(void) {
  void *memory = mmap(NULL, sizeof *watch_books, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  watch_books = (struct books *)memory;
  watch_books->begun_ns = books_now_ns();
  return true;
}

/* A signal handler may come between two of these stores. It finds books_at_once set while books_paused is, and then its
 * locks are watched as if it had come before; or it finds both not set, and looks. */
void books_pause(void) {
  books_paused++;
  atomic_signal_fence(memory_order_seq_cst);
  books_at_once = NULL;
  atomic_signal_fence(memory_order_seq_cst);
}

void books_resume(void) {
  atomic_signal_fence(memory_order_seq_cst);
  books_paused--;
  atomic_signal_fence(memory_order_seq_cst);
  if (books_paused == 0) books_at_once = books_own;
}

/* Each caller has come past real_begin(), so glibc's functions are found. */
struct books_thread *books_look(void) {
  if (!watch_books || books_paused) return NULL;
  struct books_thread *own = books_own;
  if (!own) own = books_new_thread();
  books_at_once = own;
  return own;
}

uint64_t books_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- objects ---- */

static uint32_t books_bucket(uintptr_t address) {
  return (uint32_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48) % BOOKS_BUCKETS;
}

static uint32_t books_in_list(uint32_t from, uint32_t to, uintptr_t address) {
  for (uint32_t i = from; i != to;
       i = atomic_load_explicit(&books_lock(i)->next, memory_order_relaxed)) {
    if (atomic_load_explicit(&books_lock(i)->address, memory_order_relaxed) == address) return i;
  }
  return 0;
}

static uint32_t books_add(uint32_t bucket, uint32_t first, uintptr_t address, enum books_kind kind,
                          uintptr_t at) {
  uint32_t number = atomic_fetch_add(&watch_books->lock_count, 1) + 1;
  if (number > BOOKS_LOCKS) {
    atomic_fetch_sub(&watch_books->lock_count, 1);
    return 0;
  }
  struct books_lock *l = books_lock(number);
  l->kind = (uint16_t)kind;
  atomic_store_explicit(&l->address, address, memory_order_relaxed);
  atomic_store_explicit(&l->made_at, at, memory_order_relaxed);
  for (uint32_t seen = first;;) {
    atomic_store_explicit(&l->next, seen, memory_order_relaxed);
    if (atomic_compare_exchange_strong(&watch_books->bucket[bucket], &seen, number)) return number;
    uint32_t other = books_in_list(seen, first, address);
    if (!other) continue;
    atomic_store(&l->address, 0); /* never used: another thread was first */
    return other;
  }
}

uint32_t books_number(const void *object, enum books_kind kind, uintptr_t at) {
  uintptr_t address = (uintptr_t)object;
  uint32_t bucket = books_bucket(address);
  uint32_t first = atomic_load_explicit(&watch_books->bucket[bucket], memory_order_acquire);
  uint32_t found = books_in_list(first, 0, address);
  if (!found) found = books_add(bucket, first, address, kind, at);
  if (!found) {
    atomic_fetch_add(&watch_books->unwatched, 1);
    return 0;
  }
  struct books_lock *l = books_lock(found);
  if (l->kind != kind) books_renew(found, kind, at); /* the memory was used again */
  if (atomic_load_explicit(&l->made_at, memory_order_relaxed) == 0) atomic_store(&l->made_at, at);
  return found;
}

uint32_t books_search(struct books_thread *self, const void *object, enum books_kind kind,
                      uintptr_t at) {
  uint32_t found = books_number(object, kind, at);
  if (found) *books_cached(self, object) = found;
  return found;
}

void books_made(struct books_thread *self, const void *object, enum books_kind kind, uintptr_t at) {
  uint32_t number = books_find(self, object, kind, at);
  if (!number) return;
  books_renew(number, kind, at);
  atomic_fetch_or(&books_lock(number)->generation, 1);
}

static void books_next_generation(struct books_lock *l) {
  atomic_store(&l->owner, 0);
  atomic_store(&l->flags, 0);
  atomic_store(&l->generation, (atomic_load(&l->generation) & ~1u) + 2);
}

/* What uses its memory next may begin without a call. */
void books_destroyed(uint32_t number) {
  books_next_generation(books_lock(number));
}

void books_renew(uint32_t number, enum books_kind kind, uintptr_t at) {
  struct books_lock *l = books_lock(number);
  l->kind = (uint16_t)kind;
  atomic_store(&l->waiters, 0);
  atomic_store(&l->taken_ns, 0);
  if (at) atomic_store(&l->made_at, at);
  books_next_generation(l);
}

struct books_detail *books_detail(uint32_t lock) {
  struct books_detail *d = books_detail_of(books_lock(lock));
  if (d) return d;
  uint32_t number = atomic_fetch_add(&watch_books->detail_count, 1) + 1;
  if (number > BOOKS_DETAILS) {
    atomic_fetch_sub(&watch_books->detail_count, 1);
    return NULL;
  }
  watch_books->detail[number].lock = lock;
  uint32_t none = 0;
  if (!atomic_compare_exchange_strong(&books_lock(lock)->detail, &none, number)) {
    watch_books->detail[number].lock = 0; /* never used: another thread was first */
  }
  return books_detail_of(books_lock(lock));
}

/* ---- stacks ---- */

struct books_walk {
  uintptr_t *stack;
  uint32_t depth;
  uintptr_t from;
  bool is_in; /* it has come to the caller */
};

static _Unwind_Reason_Code books_frame(struct _Unwind_Context *context, void *ctx) {
  struct books_walk *walk = (struct books_walk *)ctx;
  uintptr_t at = _Unwind_GetIP(context);
  if (at == 0) return _URC_END_OF_STACK;
  if (at == walk->from) walk->is_in = true;
  if (walk->is_in) walk->stack[walk->depth++] = at;
  return walk->depth == BOOKS_DEPTH ? _URC_END_OF_STACK : _URC_NO_REASON;
}

extern void *__libc_stack_end; /* of the first thread; of glibc */

/* Whether the thread runs on the stack that it was created with. A coroutine's may end in something that is no
 * address of a function, where the walk would go astray. That of a thread ends below its handle. */
static bool books_is_on_own_stack(const void *here) {
  enum { MOST = 256 << 20 };
  bool is_first = getpid() == (int32_t)syscall(SYS_gettid);
  uintptr_t end = is_first ? (uintptr_t)__libc_stack_end : (uintptr_t)pthread_self();
  return (uintptr_t)here < end && end - (uintptr_t)here < MOST;
}

uint32_t books_stack(uintptr_t *stack, uintptr_t at) {
  struct books_walk walk = {.stack = stack, .from = at};
  if (books_is_on_own_stack(&walk)) {
    books_pause();
    (void)_Unwind_Backtrace(books_frame, &walk);
    books_resume();
  }
  if (walk.depth == 0) stack[walk.depth++] = at; /* there is no unwind information */
  return walk.depth;
}
