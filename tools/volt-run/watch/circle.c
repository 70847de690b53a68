/* circle.c: finds threads that wait for each other for ever.
 *
 * The thread whose wait closes a circle finds it: it has put down its own wait before it searches, and so has each
 * other one. What it sees may be passing: a thread that has got its lock, and has not run since, still seems to wait.
 * So nothing is reported before all of them have slept for 100 ms without running: their waits have not changed,
 * the kernel says that they sleep, and they have had no time of a CPU. (One that a signal wakes again and again has:
 * after a second it is enough that all sleep.) A wait that has a deadline ends by itself, and closes no circle.
 *
 * Of several threads that find one circle, the one with the lowest number checks it: those that check run now and
 * then, so that no other one would ever see them asleep.
 *
 * Invariants, explored by tests/model/watch:
 *   I1  A circle that stays is reported by one of its threads, and once.
 *   I2  Of what is reported, each thread waits for a lock that the next one holds.
 *   I3  A thread that has left its wait keeps no other one from its check.
 * Races:
 *   R1  Interleaving: two threads close a circle at once, and each searches before it sees the other's wait, or that
 *       the other one holds the lock: neither finds it. Prevented by: the fence before each search, behind all that
 *       the thread has put down (circle_find()).
 *   R2  Interleaving: a thread finds a circle, and leaves it to one that checks; that one has searched before, found
 *       none, and stops. Prevented by: it searches once more when it has taken back that it checks.
 *   R3  Interleaving: the same, but the one that checks has seen the circle before, and then not: a wait was ended by
 *       a signal, and has begun again. Prevented by: only a report, or the lock, ends the check without that search.
 *   R4  Interleaving: two threads check one circle, because the first one had begun before the other one said that it
 *       does; both find it unchanged. Prevented by: `reported`, at the place of the first one.
 *   R5  Interleaving: the holder of a lock gives it back, and waits then; a thread that searches sees the old holder and
 *       the new wait. Prevented by: a second search, which has seen that wait before it reads the holder.
 *   R6  Interleaving: a thread ends with a lock, and another one gets its place and waits: it seems to hold the lock.
 *       Prevented by: the owner's tag says which of the place's threads it was.
 *   R7  Interleaving: a thread leaves its wait by a jump from a signal handler while it checks; in a later wait, in
 *       which it checks nothing, it seems to check. Prevented by: the next wait takes that back. */
#define _GNU_SOURCE 1 /* as a C++ compiler has it, for the models */
#include "watch/circle.h"

#include <errno.h>
#include <pthread.h>

#include "watch/kernel.h"
#include "watch/snapshot.h"

static struct books_thread *thread_of(uint32_t number) {
  return &watch_books->thread[number];
}

/* ---- who stands in the way ---- */

/* In memory of its own: a thread's stack may be small. */
struct search {
  uint16_t next[BOOKS_THREADS + 1]; /* for which the way came here; 0: not yet */
  uint16_t open[BOOKS_THREADS + 1];
  uint32_t open_count;
};

static void search_add(struct search *s, uint32_t from, uint32_t to) {
  if (to == 0 || to > BOOKS_THREADS || s->next[to] != 0) return;
  s->next[to] = (uint16_t)from;
  s->open[s->open_count++] = (uint16_t)to;
}

static bool search_holds(const struct books_thread *t, uint32_t lock) {
  uint32_t held = atomic_load_explicit(&t->held_count, memory_order_acquire);
  for (uint32_t i = 0; i < held && i < BOOKS_HELD; i++) {
    if (t->held[i].lock != lock) continue;
    if (t->held[i].generation == atomic_load(&books_lock(lock)->generation)) return true;
  }
  return false;
}

/* Served, readers wait for the writers that came before them; else for all, of a lock that prefers writers. */
static bool search_writes_before(const struct books_thread *t, uint32_t lock,
                                 const struct books_thread *reader) {
  if (atomic_load(&t->how) != BOOKS_LOCKS_IT || atomic_load(&t->waits_for) != lock) return false;
  return !watch_books->is_served || atomic_load(&t->since_ns) < atomic_load(&reader->since_ns);
}

/* All that hold it shared, or, for one that wants it shared, those that wait for it alone before it. */
static void search_add_shared(struct search *s, uint32_t from, uint32_t lock, bool is_reader) {
  uint32_t count = atomic_load(&watch_books->thread_count);
  for (uint32_t i = 1; i <= count; i++) {
    const struct books_thread *t = thread_of(i);
    bool is_before =
        is_reader ? search_writes_before(t, lock, thread_of(from)) : search_holds(t, lock);
    if (is_before) search_add(s, from, i);
  }
}

static void search_add_joined(struct search *s, uint32_t from, uintptr_t handle) {
  uint32_t count = atomic_load(&watch_books->thread_count);
  for (uint32_t i = 1; i <= count; i++) {
    if (thread_of(i)->handle == handle && atomic_load(&thread_of(i)->tid)) search_add(s, from, i);
  }
}

/* Without that mutex it cannot come back, whatever signals it, and whatever its deadline is. */
static void search_add_mutex(struct search *s, uint32_t from, uint32_t mutex) {
  if (mutex) search_add(s, from, books_owner(books_lock(mutex)));
}

static void search_from(struct search *s, uint32_t number) {
  const struct books_thread *t = thread_of(number);
  unsigned how = atomic_load(&t->how);
  uint32_t lock = atomic_load(&t->waits_for);
  if (how == BOOKS_JOINS) search_add_joined(s, number, atomic_load(&t->joins));
  if ((how & ~(unsigned)BOOKS_IS_TIMED) == BOOKS_AWAITS_IT)
    search_add_mutex(s, number, atomic_load(&t->comes_back_by));
  if (lock == 0 || (how != BOOKS_LOCKS_IT && how != BOOKS_READS_IT))
    return; /* it has a deadline, or runs */
  const struct books_lock *l = books_lock(lock);
  unsigned flags = atomic_load(&l->flags);
  if ((flags & BOOKS_IS_UNKNOWN) || (l->kind == BOOKS_SEMAPHORE && !(flags & BOOKS_IS_OWNED)))
    return;
  uint32_t owner = books_owner(l);
  if (owner) {
    search_add(s, number, owner);
  } else if (l->kind == BOOKS_RWLOCK) {
    search_add_shared(s, number, lock, how == BOOKS_READS_IT);
  }
}

/* ---- a circle ---- */

static void circle_put(struct circle *c, uint32_t number) {
  const struct books_thread *t = thread_of(number);
  c->thread[c->count] = number;
  uint32_t mutex = atomic_load(&t->comes_back_by);
  c->lock[c->count] = mutex ? mutex : atomic_load(&t->waits_for);
  c->changes[c->count] = atomic_load(&t->changes);
  c->count++;
}

/* The way back from this thread, in the order of waiting. */
static bool circle_take(struct circle *c, const struct search *s, uint32_t self) {
  uint32_t back[CIRCLE_MAX], count = 0;
  for (uint32_t i = self; count < CIRCLE_MAX; i = s->next[i]) {
    back[count++] = i;
    if (s->next[i] == self) break;
    if (count == CIRCLE_MAX) return false;
  }
  c->count = 0;
  circle_put(c, self);
  while (count-- > 1) circle_put(c, back[count]);
  return true;
}

/* Whether the holder runs, so that there is no circle: most waits are like that. */
static bool circle_is_none(const struct books_thread *self) {
  uint32_t lock = atomic_load(&self->waits_for);
  uint32_t owner = lock ? books_owner(books_lock(lock)) : 0;
  return owner && owner != self->number && atomic_load(&thread_of(owner)->how) == BOOKS_RUNS;
}

bool circle_find(const struct books_thread *self, struct circle *c) {
  atomic_thread_fence(memory_order_seq_cst); /* R1, R2 */
  if (circle_is_none(self)) return false;
  struct search *s = (struct search *)kernel_memory(sizeof *s);
  if (!s) return false;
  search_from(s, self->number);
  for (uint32_t at = 0; at < s->open_count && s->next[self->number] == 0; at++)
    search_from(s, s->open[at]);
  bool is_found = s->next[self->number] != 0 && circle_take(c, s, self->number);
  kernel_memory_back(s, sizeof *s);
  return is_found;
}

/* may_run: for a signal. */
static bool circle_is_same(const struct circle *a, const struct circle *b,
                           const struct books_thread *self, bool may_run) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    bool is_same =
        a->thread[i] == b->thread[i] && a->lock[i] == b->lock[i] && a->changes[i] == b->changes[i];
    if (!is_same || b->ran_ns[i] == KERNEL_IS_AWAKE) return false;
    if (a->thread[i] != self->number && !may_run && a->ran_ns[i] != b->ran_ns[i]) return false;
  }
  return true;
}

/* ---- whether they run ---- */

/* Its calls of the kernel are no place to cancel the thread. */
static void circle_take_times(struct circle *c, const struct books_thread *self) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  for (uint32_t i = 0; i < c->count; i++) {
    c->ran_ns[i] = c->thread[i] == self->number ? 0 : kernel_ran_ns(thread_of(c->thread[i]));
  }
  pthread_setcancelstate(state, &state);
}

/* ---- the check ---- */

/* R4: whether no other thread of it has reported it: that is noted at the first of them. */
static bool circle_is_new(const struct circle *c) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < c->count; i++) {
    if (c->thread[i] < c->thread[first]) first = i;
  }
  return atomic_exchange(&thread_of(c->thread[first])->reported, c->changes[first]) !=
         c->changes[first];
}

/* Of several that check one circle only the first one goes on: a thread that checks runs now and then. */
static bool circle_is_checked_before(const struct circle *c, const struct books_thread *self) {
  for (uint32_t i = 0; i < c->count; i++) {
    if (c->thread[i] < self->number && atomic_load(&thread_of(c->thread[i])->checks)) return true;
  }
  return false;
}

/* Of a circle that seems to be there. Returns what circle_check() does; *is_over: it has been reported, or the thread
 * has its lock. */
static int circle_watch(struct wait *w, int (*attempt)(void *object, const struct timespec *until),
                        void *object, bool *is_over) {
  struct circle before, after;
  for (unsigned rounds = 1;
       circle_find(w->self, &before) && !circle_is_checked_before(&before, w->self); rounds++) {
    circle_take_times(&before, w->self);
    uint64_t until_ns = books_now_ns() + CIRCLE_TRY_MS * UINT64_C(1000000);
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    int result = attempt(object, &until);
    *is_over = result != ETIMEDOUT;
    if (*is_over) return result;
    if (!circle_find(w->self, &after)) return ETIMEDOUT; /* R3 */
    circle_take_times(&after, w->self);
    *is_over = circle_is_same(&before, &after, w->self, rounds > CIRCLE_ROUNDS);
    if (*is_over && circle_is_new(&after)) snapshot_of_deadlock(&after);
    if (*is_over) return ETIMEDOUT;
  }
  return ETIMEDOUT;
}

/* R2: when it has said that it no longer checks, it searches once more. */
int circle_check(struct wait *w, int (*attempt)(void *object, const struct timespec *until),
                 void *object) {
  struct circle c;
  bool is_over = false;
  int result, error = errno;
  do {
    atomic_store(&w->self->checks, 1);
    result = circle_watch(w, attempt, object, &is_over);
    atomic_store(&w->self->checks, 0);
  } while (!is_over && circle_find(w->self, &c) && !circle_is_checked_before(&c, w->self));
  errno = error; /* of the program; files of the kernel may have changed it */
  return result;
}
