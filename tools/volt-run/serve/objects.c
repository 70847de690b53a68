/* objects.c: finds the object of volt that stands for one of the program's.
 *
 * Why not in place, where glibc's object was: a semaphore and a barrier of volt's are larger than glibc's; what a fork
 * leaves behind has to be found, to be made anew; and a thread that comes late, with a condition that another one has
 * destroyed meanwhile, finds memory that is still there. So they are in memory of the library, under the number that
 * the books have for that address, and the program's object has in it, in a word that glibc does not use, which one it
 * is: its mark, of the number and of a count of lives. A mark counts if the object under its number has the same one,
 * and the same address. So a copy of the program's object has none, nor has one that was initialised again, by a
 * function or by a static initialiser, also in memory that was freed while volt's object was locked: it begins a new
 * life at its first use.
 *
 * Which objects are glibc's: those that are shared by processes, robust, of priorities, or for which the books have no
 * room: what has no mark and is not as an initialiser leaves it. glibc works on them in place.
 *
 * Races
 *   R1  Interleaving: several threads use a static object for the first time. Prevented by: is_busy. One of them begins
 *       its life, and sets the mark last (M2). The others wait, and find it.
 *   R2  Interleaving: a thread has read an old mark, of before the object was initialised again, and uses it. That is
 *       the program's error with any library. The old mark does not count, so the thread begins no second life:
 *       it looks again under is_busy.
 *   R3  Interleaving: a thread forks while others wait, or are at work on a queue; the child gives the lock to one that
 *       is not there. Prevented by: child.c; no thread goes to a queue before it has asked whether it is in a child.
 *   R4  Interleaving: a broadcast; the condition is destroyed, and made again at once; a deadline of one of its waiters
 *       passes, and the thread looks at the queue in which it was. Prevented by: a condition is initialised once, when
 *       the memory is mapped. When it is destroyed, its queue is empty, which is how a new one begins. A signal that
 *       such a thread passes on may wake one that waits for the new condition: spuriously, which is allowed.
 *   R5  Interleaving: a wake meets a cancel, a deadline or a signal. queue.c.
 *   R6  Interleaving: a signal handler posts a semaphore, in the middle of a change of its queue by the same thread.
 *       Prevented by: signals are blocked during these changes (queue.c, semaphores.c).
 *   R7  Interleaving: a thread is cancelled asynchronously while it is queued, and its stack is gone. queue.c.
 *
 * Labels: objects */
#define _GNU_SOURCE /* read-write locks */
#include "serve/objects.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Static_assert(sizeof(struct served) == 128, "two cache lines");

uint32_t served_bypass;
struct served *served_objects;
struct real glibc;

BOOKS_OF_THREAD uint32_t served_thread;

uint32_t served_new_thread(void) {
  static VOLT_ATOMIC(uint32_t) threads;
  return served_thread = volt_fetch_add_relaxed(&threads, 1) + 1; /* it orders nothing */
}

volt_mutex served_gates[SERVED_GATES]; /* all-zero: unlocked */

volt_mutex *served_gate(const struct served *condition) {
  return &served_gates[(size_t)(condition - served_objects) % SERVED_GATES];
}

bool served_is_in_use(const void *object, size_t offset) {
  served_check_fork();
  struct served *s = served_find(object, offset);
  return s && (volt_load_relaxed(&s->is.queue.word) & VOLT_WORD_QUEUED_); /* a hint: misuse */
}

/* The program has overwritten what threads wait for, by a static initialiser or by chance. */
static void served_refuse(const struct served *s) {
  char words[160];
  int size =
      snprintf(words, sizeof words,
               "volt-run: the object at %#zx was initialised again while %u threads wait for it\n",
               (size_t)volt_load_relaxed(&s->address), s->is.queue.waiters);
  (void)!write(2, words, (size_t)size);
  abort();
}

/* As it is when it begins; a semaphore and a barrier get their numbers afterwards. is_busy is held. */
static void served_reset(struct served *s, enum books_kind kind) {
  if (volt_load_relaxed(&s->is.queue.word) & VOLT_WORD_QUEUED_) served_refuse(s);
  while (volt_load_acquire(&s->is.queue.word) & VOLT_WORD_ALL_RETURNING_) sched_yield();
  if (kind == BOOKS_CONDITION)
    volt_cond_broadcast(&s->condition); /* for what waits where another one was */
  if (kind == BOOKS_MUTEX) volt_mutex_init_bypass(&s->is.mutex, served_bypass);
  if (kind == BOOKS_RWLOCK) volt_rwlock_init_bypass(&s->is.rwlock, served_bypass);
  if (kind == BOOKS_SEMAPHORE) volt_sem_init(&s->is.semaphore, 0);
  s->kind = (uint8_t)kind;
  s->times = 0;
  s->clock = 0; /* CLOCK_REALTIME */
  volt_store_relaxed(&s->owner, 0);
  volt_store_relaxed(&s->on_the_way, 0);
  volt_store_relaxed(&s->foreign, 0);
}

/* Never 0, and never that of the last life. */
static uint64_t served_next_mark(const struct served *s, uint32_t number) {
  uint32_t life = (uint32_t)(volt_load_relaxed(&s->mark) >> 32) + 1;
  return SERVED_MAGIC << 56 | (uint64_t)(life & 0xffffff) << 32 | number;
}

static void served_lock(struct served *s) {
  for (uint32_t is_busy = 0; !volt_cas_acquire(&s->is_busy, &is_busy, 1); is_busy = 0) {
    /* objects:B1 <- objects:B2: this thread sees what the last one did that began a life */
    sched_yield();
    served_check_fork();
  }
}

struct served *served_begin_life(const void *object, size_t offset, enum books_kind kind,
                                 bool is_new) {
  served_check_fork();
  int error = errno, type;
  uint32_t number = books_number(object, kind, 0);
  if (!number) return NULL;
  struct served *s = &served_objects[number];
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  served_lock(s); /* R1 */
  if (is_new || served_find(object, offset) != s) {
    if (volt_load_relaxed(&s->mark)) books_renew(number, kind, 0);
    served_reset(s, kind);
    uint64_t mark = served_next_mark(s, number);
    volt_store_relaxed(&s->mark, mark);
    volt_store_relaxed(&s->address, (uintptr_t)object);
    /* objects:M2 -> objects:M1: a thread that finds the mark sees the object as it was made */
    volt_store_release(served_place_of(object, offset), mark);
  }
  /* objects:B2 -> objects:B1: the next one that takes it sees what this one did */
  volt_store_release(&s->is_busy, 0);
  pthread_setcanceltype(type, &type);
  errno = error;
  return s;
}
