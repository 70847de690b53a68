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
 *       Prevented by: signals are blocked during these changes (queue.c, semaphore_calls.c).
 *   R7  Interleaving: a thread is cancelled asynchronously while it is queued, and its stack is gone. queue.c.
 */
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
               (size_t)volt_load_relaxed(&s->life.address), s->is.queue.waiters);
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
  volt_store_relaxed(&s->users, 0);
}

struct served_making {
  struct served *s;
  uint32_t number;
  enum books_kind kind;
};

static void served_make(void *ctx, bool had_life) {
  struct served_making *making = (struct served_making *)ctx;
  if (had_life) books_renew(making->number, making->kind, 0);
  served_reset(making->s, making->kind);
}

/* Another thread begins a life; or it did, and is not in this child of a fork. */
static void served_pause(void) {
  sched_yield();
  served_check_fork();
}

struct served *served_begin_life(const void *object, size_t offset, enum books_kind kind,
                                 bool is_new) {
  served_check_fork();
  int error = errno, state;
  uint32_t number = books_number(object, kind, 0);
  if (!number) return NULL;
  struct served_making making = {.s = &served_objects[number], .number = number, .kind = kind};
  const struct served_maker maker = {served_make, served_pause, &making};
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  served_life_begin(&making.s->life, served_place_of(object, offset), (uintptr_t)object, number,
                    is_new, &maker);
  pthread_setcancelstate(state, &state);
  errno = error;
  return making.s;
}
