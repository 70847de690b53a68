/* stack.c: which stacks are free: of each worker, and of all.
 *
 * Algorithm: a worker takes the stack that it was given last, because that is in its cache. It has
 * up to fiber_stacks_kept free ones of each size. When it has one more, it moves half of them to
 * the shared list, those that it was given first; when it has none, it takes as many from there, or
 * one that has no memory yet. Slabs are mapped when there is none at all.
 *
 * A period is five seconds of the runtime's clock. At the end of each, of every size, free stacks
 * lose their memory if there are, with those in use, more than twice as many as were in use at
 * once in this period and the one before; those first that are free for longest. Stacks in the
 * workers' caches count as in use. A slab whose stacks have all lost theirs is unmapped. What is to
 * be dropped is dropped a few at a time, between polls. A worker that sleeps as the keeper
 * (parking.c) wakes for it, as for a timer. A virtual clock does not advance for it.
 *
 * Invariants
 *   I1  a free stack is in one list: of a worker's cache, warm, or cold; or a thread that drops its
 *       memory has it
 *   I2  slab->cold counts its stacks that are in cold. If that is all of them, no other thread can
 *       come upon the slab once they are taken out of that list, so it may be unmapped
 *   I3  while a stack is warm, trim_ns is set, or nothing would be dropped until another stack is
 *       given back here
 *
 * Races
 *   R1  Interleaving: a worker gives stacks back and sets trim_ns; the others sleep, and none until
 *       that time. Prevented by: as for a timer that is started, parking.c R2.
 *   R2  Interleaving: a period ends with nothing to come, and trim_ns stays set while stacks lose
 *       their memory; others are given back meanwhile; then trim_ns becomes 0. Prevented by: the
 *       thread that gives them back sets next_trim_ns, which trim_ns becomes. */
#include <errno.h>
#include <string.h>

#include "../../core/os/check.h"
#include "../host/runtime.h"
#include "../sched/parking.h"
#include "../sched/thread.h"
#include "../sched/worker.h"
#include "stack.h"

/* How many stacks are dropped between two polls. */
#ifndef VOLT_STACKS_AT_ONCE
#define VOLT_STACKS_AT_ONCE 8
#endif
#define PERIOD_NS UINT64_C(5000000000)

/* ---- lists ---- */

static void stack_list_push(volt_stack_list_ *list, volt_stack_slot_ *slot) {
  slot->prev = NULL;
  slot->next = list->first;
  if (list->first) {
    list->first->prev = slot;
  } else {
    list->last = slot;
  }
  list->first = slot;
  list->count += 1;
}

static void stack_list_remove(volt_stack_list_ *list, volt_stack_slot_ *slot) {
  if (slot->prev) {
    slot->prev->next = slot->next;
  } else {
    list->first = slot->next;
  }
  if (slot->next) {
    slot->next->prev = slot->prev;
  } else {
    list->last = slot->prev;
  }
  list->count -= 1;
}

static volt_stack_slot_ *stack_list_pop(volt_stack_list_ *list) {
  volt_stack_slot_ *slot = list->first;
  if (slot) stack_list_remove(list, slot);
  return slot;
}

static volt_stack_slot_ *stack_list_pop_last(volt_stack_list_ *list) {
  volt_stack_slot_ *slot = list->last;
  if (slot) stack_list_remove(list, slot);
  return slot;
}

/* ---- the shared ones, under the lock ---- */

static void stack_class_count_out(volt_stack_class_ *c, uint32_t more) {
  c->out += more;
  if (c->out > c->peak) c->peak = c->out;
}

static void stack_class_push_cold(volt_stack_class_ *c, volt_stack_slot_ *slot) {
  volt_slab_of_(slot)->cold += 1;
  stack_list_push(&c->cold, slot);
}

static volt_stack_slot_ *stack_class_pop_cold(volt_stack_class_ *c) {
  volt_stack_slot_ *slot = stack_list_pop(&c->cold);
  if (!slot) return NULL;
  volt_slab_of_(slot)->cold -= 1;
  return slot;
}

static void stack_pool_add_slab(volt_stack_pool_ *pool, volt_slab_ *slab) {
  volt_stack_class_ *c = &pool->of[slab->slot[0].size_class];
  slab->next = pool->slabs;
  slab->prev = NULL;
  if (slab->next) slab->next->prev = slab;
  pool->slabs = slab;
  pool->mapped += slab->bytes;
  for (uint32_t i = slab->count; i > 0; i--) stack_list_push(&c->cold, &slab->slot[i - 1]);
}

/* I2 */
static void stack_pool_remove_slab(volt_stack_pool_ *pool, volt_slab_ *slab) {
  volt_stack_class_ *c = &pool->of[slab->slot[0].size_class];
  for (uint32_t i = 0; i < slab->count; i++) stack_list_remove(&c->cold, &slab->slot[i]);
  if (slab->prev) {
    slab->prev->next = slab->next;
  } else {
    pool->slabs = slab->next;
  }
  if (slab->next) slab->next->prev = slab->prev;
  pool->mapped -= slab->bytes;
}

/* ---- take ---- */

/* One for the caller, and more for its own list. slab: NULL, or a new one, which is added. */
static volt_stack_slot_ *stack_take_shared(volt_rt *rt, unsigned size_class, volt_stack_list_ *own,
                                           volt_slab_ *slab) {
  volt_stack_pool_ *pool = &rt->stacks;
  volt_stack_class_ *c = &pool->of[size_class];
  uint32_t more = rt->config.fiber_stacks_kept / 2;
  volt_short_lock_lock_(&pool->lock);
  if (slab) stack_pool_add_slab(pool, slab);
  volt_stack_slot_ *slot = stack_list_pop(&c->warm);
  if (!slot) slot = stack_class_pop_cold(c);
  if (slot) stack_class_count_out(c, 1);
  for (; slot && more > 0 && c->warm.count > 0; more--) {
    stack_list_push(own, stack_list_pop(&c->warm));
    stack_class_count_out(c, 1);
  }
  volt_short_lock_unlock_(&pool->lock);
  return slot;
}

/* A stack that was taken, and has no guard: give it back as it was. */
static void stack_untake(volt_rt *rt, volt_stack_slot_ *slot) {
  volt_stack_class_ *c = &rt->stacks.of[slot->size_class];
  volt_short_lock_lock_(&rt->stacks.lock);
  c->out -= 1;
  stack_class_push_cold(c, slot);
  volt_short_lock_unlock_(&rt->stacks.lock);
}

/* Returns VOLT_ENOMEM. */
static int stack_refuse(volt_rt *rt, unsigned size_class, const char *why) {
  uint32_t has_warned =
      volt_exchange_relaxed(&rt->stacks.has_warned, 1); /* relaxed, no data: the first says so */
  if (!has_warned) {
    volt_warn_("volt_fiber", "no stack of %zu KiB for runtime %p: %s (said once)",
               volt_stack_class_bytes_(size_class) / 1024, (void *)rt, why);
  }
  return VOLT_ENOMEM;
}

static int stack_guard(volt_rt *rt, volt_stack_slot_ *slot) {
  if (rt->config.flags & VOLT_RT_FIBER_NO_GUARDS) {
    slot->guard = VOLT_STACK_GUARD_NONE_;
    return VOLT_OK;
  }
  if (volt_stack_guard_(slot) == VOLT_OK) return VOLT_OK;
  unsigned size_class = slot->size_class;
  stack_untake(rt, slot);
  return stack_refuse(
      rt, size_class,
      "its guard would be a map too many: a quarter of vm.max_map_count is taken. "
      "Linux 6.13 has guards that are no maps; VOLT_RT_FIBER_NO_GUARDS does without");
}

static VOLT_NOINLINE int stack_take_more(volt_rt *rt, unsigned size_class, volt_stack_list_ *own,
                                         volt_stack_slot_ **slot) {
  int saved = errno;
  int result = VOLT_OK;
  *slot = stack_take_shared(rt, size_class, own, NULL);
  if (!*slot) {
    volt_slab_ *slab = volt_slab_map_(size_class);
    if (slab) *slot = stack_take_shared(rt, size_class, own, slab);
  }
  if (!*slot) {
    result = stack_refuse(rt, size_class,
                          "the system gives no memory: vm.overcommit_memory, RLIMIT_AS, "
                          "RLIMIT_MEMLOCK and vm.max_map_count limit that");
  } else if ((*slot)->guard == VOLT_STACK_UNGUARDED_) {
    result = stack_guard(rt, *slot);
  }
  errno = saved;
  return result;
}

static volt_worker *stack_worker(volt_rt *rt) {
  volt_here_ *here = volt_thread_here_();
  VOLT_ASSERT(here->rt == rt);
  (void)rt;
  return here->worker;
}

static unsigned stack_class_of(const volt_stack_pool_ *pool, size_t bytes) {
  unsigned size_class = pool->least_class;
  while (volt_stack_class_bytes_(size_class) < bytes) size_class++;
  return size_class;
}

int volt_stack_take_(volt_rt *rt, size_t bytes, volt_stack_ *stack) {
  volt_worker *w = stack_worker(rt);
  unsigned size_class = stack_class_of(&rt->stacks, bytes);
  volt_stack_list_ *own = &w->stacks.of[size_class];
  volt_stack_slot_ *slot = stack_list_pop(own);
  if (!slot) {
    int result = stack_take_more(rt, size_class, own, &slot);
    if (result != VOLT_OK) return result;
  }
  stack->bottom = slot->bottom;
  stack->bytes = volt_stack_bytes_(slot);
  stack->slot = slot;
  volt_worker_count_(&w->stacks.taken, 1);
  return VOLT_OK;
}

/* ---- give ---- */

/* Share half of *own, what was given back first. */
static VOLT_NOINLINE void stack_give_shared(volt_rt *rt, unsigned size_class,
                                            volt_stack_list_ *own) {
  volt_stack_pool_ *pool = &rt->stacks;
  volt_stack_class_ *c = &pool->of[size_class];
  uint32_t count = (own->count + 1) / 2;
  uint64_t now_ns = volt_rt_now_ns(rt);
  volt_short_lock_lock_(&pool->lock);
  c->out -= count;
  for (; count > 0; count--) stack_list_push(&c->warm, stack_list_pop_last(own));
  bool is_set = volt_load_relaxed(&pool->trim_ns) != 0; /* written under the lock only */
  if (!is_set) volt_store_relaxed(&pool->trim_ns, now_ns + PERIOD_NS); /* R1 */
  if (pool->is_dropping && pool->next_trim_ns == 0)
    pool->next_trim_ns = now_ns + PERIOD_NS; /* R2 */
  volt_short_lock_unlock_(&pool->lock);
  if (!is_set) volt_rt_timer_started_(rt); /* I3, R1 */
}

void volt_stack_give_(volt_rt *rt, volt_stack_ *stack) {
  volt_worker *w = stack_worker(rt);
  volt_stack_slot_ *slot = stack->slot;
  unsigned size_class = slot->size_class;
  volt_stack_list_ *own = &w->stacks.of[size_class];
  volt_stack_clean_(stack);
  stack->bottom = NULL;
  stack->bytes = 0;
  stack->slot = NULL;
  stack_list_push(own, slot);
  if (own->count > rt->config.fiber_stacks_kept) stack_give_shared(rt, size_class, own);
  volt_worker_count_(&w->stacks.given, 1);
}

/* ---- trim, under the lock ---- */

/* A period is over: set c->excess. Returns whether the end of the next one may find more, if no
 * stack is given back until then. */
static bool stack_class_end_period(volt_stack_class_ *c) {
  uint32_t peak = c->peak > c->peak_before ? c->peak : c->peak_before;
  uint64_t wanted = 2 * (uint64_t)peak - c->out;
  c->excess = c->warm.count > wanted ? c->warm.count - (uint32_t)wanted : 0;
  bool is_steady = c->peak_before == c->out && c->peak == c->out;
  c->peak_before = c->peak;
  c->peak = c->out;
  return c->warm.count > c->excess && !is_steady;
}

static void stack_pool_end_period(volt_stack_pool_ *pool, uint64_t now_ns) {
  bool again = false;
  for (unsigned i = 0; i < VOLT_STACK_CLASSES_; i++) {
    if (stack_class_end_period(&pool->of[i])) again = true;
  }
  pool->next_trim_ns = again ? now_ns + PERIOD_NS : 0;
}

/* Take some that are to lose their memory, at most VOLT_STACKS_AT_ONCE. Returns how many. */
static unsigned stack_pool_take_excess(volt_stack_pool_ *pool, volt_stack_slot_ *slots[]) {
  unsigned count = 0;
  for (unsigned i = 0; i < VOLT_STACK_CLASSES_ && count < VOLT_STACKS_AT_ONCE; i++) {
    volt_stack_class_ *c = &pool->of[i];
    if (c->excess > c->warm.count) c->excess = c->warm.count;
    for (; c->excess > 0 && count < VOLT_STACKS_AT_ONCE; c->excess--)
      slots[count++] = stack_list_pop_last(&c->warm);
  }
  return count;
}

/* They have lost it. Returns slabs that are to be unmapped, linked by next. */
static volt_slab_ *stack_pool_add_dropped(volt_stack_pool_ *pool, volt_stack_slot_ *slots[],
                                          unsigned count) {
  volt_slab_ *empty = NULL;
  for (unsigned i = 0; i < count; i++) {
    volt_slab_ *slab = volt_slab_of_(slots[i]);
    stack_class_push_cold(&pool->of[slots[i]->size_class], slots[i]);
    if (slab->cold < slab->count) continue;
    stack_pool_remove_slab(pool, slab);
    slab->next = empty;
    empty = slab;
  }
  return empty;
}

/* Returns how many are to lose their memory now. */
static unsigned stack_pool_begin_trim(volt_stack_pool_ *pool, uint64_t now_ns,
                                      volt_stack_slot_ *slots[]) {
  uint64_t trim_ns = volt_load_relaxed(&pool->trim_ns); /* written under the lock only */
  if (trim_ns == 0 || trim_ns > now_ns) return 0;
  if (!pool->is_dropping) stack_pool_end_period(pool, now_ns);
  unsigned count = stack_pool_take_excess(pool, slots);
  pool->is_dropping = count == VOLT_STACKS_AT_ONCE;
  if (!pool->is_dropping) volt_store_relaxed(&pool->trim_ns, pool->next_trim_ns); /* R1 */
  return count;
}

void volt_stack_trim_(volt_rt *rt) {
  volt_stack_pool_ *pool = &rt->stacks;
  volt_stack_slot_ *slots[VOLT_STACKS_AT_ONCE];
  uint64_t now_ns = volt_rt_now_ns(rt);
  volt_short_lock_lock_(&pool->lock);
  unsigned count = stack_pool_begin_trim(pool, now_ns, slots);
  volt_short_lock_unlock_(&pool->lock);
  if (count == 0) return;
  int saved = errno;
  for (unsigned i = 0; i < count; i++) volt_stack_drop_(slots[i]);
  volt_short_lock_lock_(&pool->lock);
  volt_slab_ *empty = stack_pool_add_dropped(pool, slots, count);
  volt_short_lock_unlock_(&pool->lock);
  while (empty) {
    volt_slab_ *next = empty->next;
    volt_slab_unmap_(empty);
    empty = next;
  }
  errno = saved;
}

/* ---- the pool ---- */

void volt_stack_pool_init_(volt_stack_pool_ *pool) {
  memset(pool->of, 0, sizeof pool->of);
  volt_short_lock_init_(&pool->lock);
  pool->slabs = NULL;
  pool->mapped = 0;
  pool->least_class = volt_stack_least_class_();
  pool->next_trim_ns = 0;
  pool->is_dropping = false;
  volt_store_relaxed(&pool->trim_ns, 0);    /* not shared yet */
  volt_store_relaxed(&pool->has_warned, 0); /* as above */
}

void volt_stack_pool_destroy_(volt_stack_pool_ *pool) {
  while (pool->slabs) {
    volt_slab_ *slab = pool->slabs;
    pool->slabs = slab->next;
    volt_slab_unmap_(slab);
  }
}

void volt_stack_stats_(volt_rt *rt, volt_rt_stats_of *stats) {
  for (unsigned i = 0; i < rt->workers; i++) {
    const volt_stack_cache_ *cache = &rt->worker[i].stacks;
    stats->fiber_stacks += volt_load_relaxed(&cache->taken); /* statistics, like all here */
    stats->fiber_stacks -= volt_load_relaxed(&cache->given);
  }
  volt_short_lock_lock_(&rt->stacks.lock);
  stats->fiber_stack_bytes = rt->stacks.mapped;
  volt_short_lock_unlock_(&rt->stacks.lock);
}

/* ---- of a stack ---- */

size_t volt_stack_size_(const volt_stack_ *stack) {
  return stack->slot ? volt_stack_class_bytes_(stack->slot->size_class) : 0;
}

bool volt_stack_guards_(const volt_stack_ *stack, const void *address) {
  uintptr_t bottom = (uintptr_t)stack->bottom;
  return stack->slot && (uintptr_t)address < bottom &&
         (uintptr_t)address >= bottom - stack->slot->guard_bytes;
}
