/* child.c: volt's objects in the child of a fork, which has one thread (R3 in objects.c).
 *
 * A handler of pthread_atfork() may come too late: those of other libraries, which may give back locks, were perhaps
 * there before. So there is a page that the kernel makes zero in a child, and each call that comes to a queue asks
 * whether it is. A child of vfork() has the memory of its parent, and finds it as it was.
 *
 * A lock that another thread held is held for ever, as with glibc. One that was handed over to a thread that had not
 * run yet is free, as glibc's would be; so are the permits of such posts. Read locks of other threads are gone: they
 * have changed nothing.
 *
 * The thread that forks may be queued itself, if a signal handler forks. It is in no queue of the child's: its wait
 * begins anew there (R10 in queue.c). */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "serve/objects.h"

static VOLT_ATOMIC(uint32_t) child_never = 1;
VOLT_ATOMIC(uint32_t) *served_is_here = &child_never;

void served_watch_forks(void) {
  long size = sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, (size_t)size, MADV_WIPEONFORK) != 0)
    return; /* then the handler alone is there */
  served_is_here = (VOLT_ATOMIC(uint32_t) *)page;
  volt_store_relaxed(served_is_here, 1); /* before any other thread knows of it */
}

static uint64_t child_word(struct served *s) {
  return volt_load_relaxed(&s->is.queue.word); /* there is no other thread */
}

static void child_mutex(struct served *s) {
  bool is_held = volt_load_relaxed(&s->owner) != 0;
  volt_store_relaxed(&s->users, 0);
  if (child_word(s) == 0) return;
  volt_mutex_init_bypass(&s->is.mutex, served_bypass);
  if (is_held) (void)!volt_mutex_try_lock(&s->is.mutex);
}

static void child_rwlock(struct served *s) {
  bool is_written = volt_load_relaxed(&s->owner) != 0;
  if (child_word(s) == 0) return;
  volt_rwlock_init_bypass(&s->is.rwlock, served_bypass);
  if (is_written) {
    (void)!volt_rwlock_try_write(&s->is.rwlock);
  } else if (served_reads(s)) {
    (void)!volt_rwlock_try_read(&s->is.rwlock);
  }
}

static void child_semaphore(struct served *s) {
  uint64_t word = child_word(s);
  uint32_t there = word & VOLT_WORD_QUEUED_ ? 0 : VOLT_WORD_VALUE_(word);
  volt_sem_init(&s->is.semaphore, there + volt_load_relaxed(&s->on_the_way));
  volt_store_relaxed(&s->on_the_way, 0);
}

static void child_object(struct served *s) {
  volt_store_relaxed(&s->life.is_busy, 0);
  if (volt_load_relaxed(&s->condition.queue.word)) volt_cond_init(&s->condition);
  if (volt_load_relaxed(&s->life.mark) == 0) return;
  switch (s->kind) {
    case BOOKS_MUTEX: child_mutex(s); break;
    case BOOKS_RWLOCK: child_rwlock(s); break;
    case BOOKS_SEMAPHORE: child_semaphore(s); break;
    case BOOKS_BARRIER: volt_barrier_init(&s->is.barrier, s->is.barrier.count); break;
    default: break;
  }
}

uint32_t served_forks;

void served_forked(void) {
  if (!served_objects) return;
  served_forks++; /* there is no other thread */
  served_forked_stand_in();
  uint32_t count = atomic_load(&watch_books->lock_count);
  for (uint32_t i = 1; i <= count && i <= BOOKS_LOCKS; i++) child_object(&served_objects[i]);
  for (int i = 0; i < SERVED_GATES; i++) volt_mutex_init(&served_gates[i]);
  volt_store_relaxed(served_is_here, 1);
}
