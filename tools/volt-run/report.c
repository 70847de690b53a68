/* report.c: reads a copy of the books, and what both kinds of report want to know of it. */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool report_is_whole(const struct snapshot *s, size_t size) {
  if (size < sizeof *s || memcmp(s->magic, SNAPSHOT_MAGIC, sizeof s->magic) != 0) return false;
  if (s->size_of_thread != sizeof(struct books_thread) ||
      s->size_of_detail != sizeof(struct books_detail) ||
      s->size_of_lock != sizeof(struct books_lock) ||
      s->size_of_order != sizeof(struct books_order) ||
      s->size_of_stack != sizeof(struct books_stack))
    return false;
  if (s->thread_count > BOOKS_THREADS || s->detail_count > BOOKS_DETAILS ||
      s->lock_count > BOOKS_LOCKS || s->order_count > BOOKS_ORDERS || s->stack_count > BOOKS_STACKS)
    return false;
  return size >=
         sizeof *s + (size_t)s->thread_count * s->size_of_thread +
             (size_t)s->detail_count * s->size_of_detail + (size_t)s->lock_count * s->size_of_lock +
             (size_t)s->order_count * s->size_of_order + (size_t)s->stack_count * s->size_of_stack;
}

static const struct report *sorted; /* for the comparison below */

static int report_compare(const void *a, const void *b) {
  uint64_t left = atomic_load(&sorted->detail[*(const uint32_t *)a].waited_ns);
  uint64_t right = atomic_load(&sorted->detail[*(const uint32_t *)b].waited_ns);
  return left < right ? 1 : left > right ? -1 : 0;
}

static bool report_sort(struct report *r) {
  r->order = (uint32_t *)calloc(r->s->detail_count + 1u, sizeof *r->order);
  if (!r->order) return false;
  for (uint32_t i = 1; i <= r->s->detail_count; i++) {
    if (r->detail[i].lock) r->order[r->ordered++] = i;
  }
  sorted = r;
  qsort(r->order, r->ordered, sizeof *r->order, report_compare);
  return true;
}

/* A program that goes on is read as it changes, and another user's may be made to lie: nothing in the copy leads
 * out of it. */
static void report_repair(struct report *r) {
  for (uint32_t i = 1; i <= r->s->thread_count; i++) {
    struct books_thread *t = &r->thread[i];
    t->name[sizeof t->name - 1] = '\0';
    if (atomic_load(&t->held_count) > BOOKS_HELD) atomic_store(&t->held_count, BOOKS_HELD);
    if (atomic_load(&t->waits_for) > r->s->lock_count) atomic_store(&t->waits_for, 0);
    if (atomic_load(&t->comes_back_by) > r->s->lock_count) atomic_store(&t->comes_back_by, 0);
  }
  for (uint32_t i = 1; i <= r->s->detail_count; i++) {
    struct books_detail *d = &r->detail[i];
    struct books_moment *moments[] = {&d->longest_wait, &d->its_hold, &d->longest_hold,
                                      &d->last_hold, &d->fault_at};
    if (d->lock > r->s->lock_count) d->lock = 0;
    for (int m = 0; m < 5; m++) moments[m]->name[sizeof moments[m]->name - 1] = '\0';
  }
  for (uint32_t i = 1; i <= r->s->order_count; i++)
    r->orders[i].name[sizeof r->orders[i].name - 1] = '\0';
  for (uint32_t i = 1; i <= r->s->stack_count; i++) {
    if (r->stacks[i].depth > BOOKS_DEPTH) r->stacks[i].depth = BOOKS_DEPTH;
  }
}

bool report_open(struct report *r, int file, unsigned top) {
  struct stat is;
  memset(r, 0, sizeof *r);
  r->top = top;
  void *memory = MAP_FAILED;
  if (fstat(file, &is) == 0 && is.st_size > 0) {
    memory = mmap(NULL, (size_t)is.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  }
  r->s = (const struct snapshot *)memory;
  if (memory == MAP_FAILED || !report_is_whole(r->s, (size_t)is.st_size)) {
    fprintf(stderr,
            "volt-run: the copy that a report is made of is of another version of volt-run\n");
    return false;
  }
  char *at = (char *)memory + sizeof *r->s;
  r->thread = (struct books_thread *)(void *)at - 1;
  at += (size_t)r->s->thread_count * r->s->size_of_thread;
  r->detail = (struct books_detail *)(void *)at - 1;
  at += (size_t)r->s->detail_count * r->s->size_of_detail;
  r->lock = (struct books_lock *)(void *)at - 1;
  at += (size_t)r->s->lock_count * r->s->size_of_lock;
  r->orders = (struct books_order *)(void *)at - 1;
  at += (size_t)r->s->order_count * r->s->size_of_order;
  r->stacks = (struct books_stack *)(void *)at - 1;
  at += (size_t)r->s->stack_count * r->s->size_of_stack;
  report_repair(r);
  r->symbols = symbols_open(at, (size_t)((char *)memory + is.st_size - at));
  return r->symbols && report_sort(r);
}

void report_close(struct report *r) {
  symbols_close(r->symbols);
  free(r->order);
}

const char *report_kind(const struct books_lock *l) {
  static const char *const kinds[] = {"mutex", "read-write lock", "condition variable", "semaphore",
                                      "barrier"};
  return l->kind < 5 ? kinds[l->kind] : "object";
}

const char *report_fault(uint32_t fault) {
  switch (fault) {
    case BOOKS_FOREIGN_UNLOCK: return "unlocked by a thread that had not locked it";
    case BOOKS_HELD_DESTROY: return "destroyed while a thread held it";
    case BOOKS_AWAITED_DESTROY: return "destroyed while a thread waited for it";
    default: return "";
  }
}

bool report_holds(const struct report *r, uint32_t thread, uint32_t lock) {
  const struct books_thread *t = &r->thread[thread];
  if (atomic_load(&r->lock[lock].owner) == books_tag(t)) return true;
  for (uint32_t i = 0; i < atomic_load(&t->held_count) && i < BOOKS_HELD; i++) {
    if (t->held[i].lock == lock && t->held[i].generation == atomic_load(&r->lock[lock].generation))
      return true;
  }
  return false;
}

uint64_t report_quantile(const _Atomic uint32_t *times, double share, uint64_t longest) {
  uint64_t all = 0, seen = 0;
  for (int i = 0; i < BOOKS_TIMES; i++) all += atomic_load(&times[i]);
  for (uint32_t i = 0; i < BOOKS_TIMES; i++) {
    seen += atomic_load(&times[i]);
    if (seen == 0 || (double)seen < share * (double)all) continue;
    uint64_t end = books_time_end(i);
    return end < longest ? end : longest;
  }
  return 0;
}

struct report_sums report_sum(const struct report *r) {
  struct report_sums sums = {0};
  for (uint32_t i = 0; i < r->ordered; i++) {
    const struct books_detail *d = &r->detail[r->order[i]];
    if (r->lock[d->lock].kind == BOOKS_CONDITION) continue;
    sums.waits += atomic_load(&d->waits);
    sums.waited_ns += atomic_load(&d->waited_ns);
  }
  for (uint32_t i = 1; i <= r->s->thread_count; i++)
    sums.threads += atomic_load(&r->thread[i].tid) > 0;
  for (uint32_t i = 1; i <= r->s->lock_count; i++)
    sums.objects += atomic_load(&r->lock[i].address) != 0;
  return sums;
}

static int report_compare_threads(const void *a, const void *b) {
  uint64_t left = sorted->thread[*(const uint32_t *)a].waited_ns,
           right = sorted->thread[*(const uint32_t *)b].waited_ns;
  return left < right ? 1 : left > right ? -1 : 0;
}

uint32_t *report_threads(const struct report *r) {
  uint32_t *order = (uint32_t *)calloc(r->s->thread_count + 1u, sizeof *order);
  if (!order) return NULL;
  for (uint32_t i = 0; i < r->s->thread_count; i++) order[i] = i + 1;
  sorted = r;
  qsort(order, r->s->thread_count, sizeof *order, report_compare_threads);
  return order;
}

uint64_t report_waits_now_ns(const struct report *r, const struct books_thread *t) {
  uint64_t since_ns = atomic_load(&t->since_ns);
  return r->s->now_ns > since_ns ? r->s->now_ns - since_ns : 0;
}

void report_slots(const struct report *r, struct report_slots *to) {
  uint32_t shift = slots_shift(&r->s->slots);
  if (shift > SLOTS_LAST_SHIFT) shift = SLOTS_LAST_SHIFT;
  uint64_t now = (r->s->now_ns - r->s->begun_ns) >> shift;
  uint32_t last = now < SLOTS ? (uint32_t)now : SLOTS - 1;
  memset(to, 0, sizeof *to);
  to->count = last + 1;
  to->width_ns = UINT64_C(1) << shift;
  for (uint32_t i = 0; i < SLOTS; i++) {
    to->waits[i < last ? i : last] += atomic_load(&r->s->slots.waits[i]);
    to->ns[i < last ? i : last] += atomic_load(&r->s->slots.ns[i]);
  }
}
