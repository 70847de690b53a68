/* runtime.c: begin and end a runtime, and what is known of it.
 *
 * Races
 *   R1  Interleaving: a thread is in volt_rt_shutdown(), which looks at the registries one after
 *       the other; another thread destroys the runtime. Prevented by: the call is counted, its last
 *       access is to count itself off, and destroy waits for that.
 *   R2  Interleaving: a task calls volt_rt_shutdown_background(), which cancels that task too, and
 *       the runtime is freed under it. Prevented by: the task is counted until it has returned, and
 *       the runtime exists until no task is counted.
 *   R3  Interleaving: the end of a runtime that was given up finds no timer; a thread that waits for
 *       its descriptor with a deadline starts one, and closes the descriptor; the end finds no
 *       descriptor, and frees the timers, of which the thread cancels its own. Prevented by: the end
 *       looks at the descriptors first. What it finds unused stays so: only by an open descriptor may
 *       a thread still get anything, another descriptor or a timer (volt_rt_shutdown_background()). */
#include <stdlib.h>
#include <string.h>

#include "../../bcs/timer_end.h"
#include "../../core/os/check.h"
#include "../../core/park/blocker.h"
#include "../../core/park/spin.h"
#include "../fiber/fiber.h"
#include "../fiber/stack_report.h"
#include "../inspect/debugger.h"
#include "../sched/home.h"
#include "../sched/parking.h"
#include "../sched/ring.h"
#include "../sched/task.h"
#include "by_hand.h"
#include "runtime.h"

enum {
  BLOCKING_MAX = 512,
  STACKS_KEPT = 64,
  FLAGS = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK | VOLT_RT_FIBERS_WANDER | VOLT_RT_STACK_REPORT |
          VOLT_RT_FIBER_NO_GUARDS
};
#define BLOCKING_IDLE_NS UINT64_C(10000000000)

/* ---- begin ---- */

static void *runtime_malloc_alloc(size_t bytes, void *ctx) {
  (void)ctx;
  return malloc(bytes);
}

static void runtime_malloc_free(void *memory, size_t bytes, void *ctx) {
  (void)bytes;
  (void)ctx;
  free(memory);
}

/* Fill in the defaults of stacks for fibers. Returns false: the caller's size is out of range. */
static bool runtime_complete_stacks(volt_rt_config *c) {
  if (c->fiber_stack_bytes == 0) c->fiber_stack_bytes = VOLT_STACK_DEFAULT_;
  if (c->fiber_stacks_kept == 0) c->fiber_stacks_kept = STACKS_KEPT;
  return c->fiber_stack_bytes >= VOLT_STACK_LEAST_ && c->fiber_stack_bytes <= VOLT_STACK_MOST_;
}

static int runtime_complete_config(volt_rt_config *c) {
  if (c->flags & ~(unsigned)FLAGS) return VOLT_EINVAL;
  bool by_hand = c->flags & VOLT_RT_BY_HAND;
  if (by_hand && c->workers > 1) return VOLT_EINVAL;
  if (c->workers > VOLT_RT_WORKERS_MAX || (c->cpus && c->cpu_count == 0)) return VOLT_EINVAL;
  if (!c->allocator.alloc != !c->allocator.free) return VOLT_EINVAL;
  for (size_t i = 0; i < sizeof c->reserved / sizeof *c->reserved; i++) {
    if (c->reserved[i] != 0) return VOLT_EINVAL;
  }
  if (!runtime_complete_stacks(c)) return VOLT_EINVAL;
  if (c->workers == 0) c->workers = by_hand ? 1 : volt_thread_cpus_();
  if (c->workers > VOLT_RT_WORKERS_MAX) c->workers = VOLT_RT_WORKERS_MAX;
  if (c->blocking_max == 0) c->blocking_max = BLOCKING_MAX;
  if (c->blocking_idle_ns == 0) c->blocking_idle_ns = BLOCKING_IDLE_NS;
  if (c->seed == 0) c->seed = volt_now_ns();
  if (!c->allocator.alloc) {
    c->allocator.alloc = runtime_malloc_alloc;
    c->allocator.free = runtime_malloc_free;
  }
  return VOLT_OK;
}

static size_t runtime_bytes_of(unsigned workers) {
  return sizeof(volt_rt) + (workers - 1) * sizeof(volt_worker) +
         (workers + 1) * sizeof(volt_registry);
}

/* ---- threads ---- */

void volt_rt_thread_begins_(volt_rt_thread *thread, volt_rt *rt, char kind, unsigned index) {
  const volt_rt_hooks *hooks = &rt->config.hooks;
  thread->rt = rt;
  volt_thread_name_self_(thread->name, rt->thread_prefix, kind, index);
  if (hooks->thread_start) hooks->thread_start(thread->name, hooks->ctx);
}

void volt_rt_thread_ends_(volt_rt_thread *thread) {
  const volt_rt_hooks *hooks = &thread->rt->config.hooks;
  if (hooks->thread_stop) hooks->thread_stop(thread->name, hooks->ctx);
}

static void *runtime_worker_main(void *arg) {
  volt_worker *w = (volt_worker *)arg;
  volt_rt_thread self;
  volt_rt_thread_begins_(&self, w->rt, 'w', w->index);
  volt_worker_main_(w);
  volt_rt_thread_ends_(&self);
  return NULL;
}

static void runtime_end_workers(volt_rt *rt, unsigned started) {
  /* runtime:O1 <-> worker:O2: then idle:K2: a worker that parks sees the end, or its bit is seen */
  volt_exchange_seq_cst(&rt->is_over, 1);
  volt_idle_fence_(&rt->idle); /* parking.c R3: before or after each idle:D4 */
  for (unsigned i = 0; i < started; i++) {
    if (volt_idle_claim_(&rt->idle, i)) volt_worker_unpark_(&rt->worker[i]);
  }
  for (unsigned i = 0; i < started; i++) volt_thread_join_(rt->worker[i].thread);
}

static int runtime_start_workers(volt_rt *rt) {
  for (unsigned i = 0; i < rt->workers; i++) {
    volt_worker *w = &rt->worker[i];
    if (!volt_thread_start_(&w->thread, runtime_worker_main, w)) {
      runtime_end_workers(rt, i);
      return VOLT_ENOMEM;
    }
    const int *cpus = rt->config.cpus;
    if (cpus && !volt_thread_pin_(w->thread, cpus[i % rt->config.cpu_count])) {
      runtime_end_workers(rt, i + 1);
      return VOLT_EINVAL;
    }
  }
  return VOLT_OK;
}

/* By hand, this thread is the worker for the driver's begin() and end(). */
static void runtime_at_worker(volt_rt *rt, void (*fn)(volt_worker *w)) {
  volt_here_ *here = volt_thread_here_();
  volt_here_ before = *here; /* it may run tasks of another runtime */
  volt_worker_begin_here_(&rt->worker[0]);
  fn(&rt->worker[0]);
  *here = before;
}

static int runtime_start(volt_rt *rt) {
  int result = VOLT_OK;
  if (rt->config.flags & VOLT_RT_BY_HAND) {
    runtime_at_worker(rt, volt_worker_begin_driver_);
  } else {
    result = runtime_start_workers(rt);
  }
  if (result != VOLT_OK) volt_rt_close_driver_(rt);
  return result;
}

static void runtime_init(volt_rt *rt, const volt_rt_config *config) {
  rt->config = *config;
  rt->workers = config->workers;
  rt->may_watch = rt->workers > 1 && !(config->flags & (VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK));
  const char *prefix = config->thread_prefix ? config->thread_prefix : "volt";
  for (size_t i = 0; prefix[i] && i + 1 < sizeof rt->thread_prefix; i++) {
    rt->thread_prefix[i] = prefix[i];
  }
  volt_thread_blocked_signals_(&rt->signals);
  volt_idle_init_(&rt->idle);
  volt_store_relaxed(&rt->in_long_polls, 0); /* not shared yet */
  volt_inject_init_(&rt->inject);
  volt_waker driver = {.wake = volt_rt_timer_started_, .ctx = rt};
  if (config->flags & VOLT_RT_VIRTUAL_CLOCK) {
    volt_timers_init_virtual(&rt->timers, driver);
  } else {
    volt_timers_init(&rt->timers, driver);
  }
  volt_blocking_pool_init_(&rt->blocking);
  volt_rt_pool_init_(&rt->pool);
  volt_stack_pool_init_(&rt->stacks);
  rt->registry = (volt_registry *)(void *)&rt->worker[rt->workers];
  for (unsigned i = 0; i <= rt->workers; i++) volt_registry_init_(&rt->registry[i]);
  for (unsigned i = 0; i < rt->workers; i++) volt_worker_init_(&rt->worker[i], rt, i);
  if (config->flags & VOLT_RT_BY_HAND) volt_idle_park_(&rt->idle, 0, 0); /* no thread runs it yet */
}

/* Wait a little for a call of volt_rt_shutdown() that is about to return, or for an inspector. The
 * call may be in a fiber of this thread: so a fiber is suspended for as long as a nap takes. */
static void runtime_pause(unsigned *spins) {
  volt_blocker_ *fiber = volt_shield_();
  volt_parker never = VOLT_PARKER_INIT; /* no thread unparks it */
  if (fiber) {
    (void)volt_park_until(&never, 1, volt_deadline_ns(VOLT_NAP_NS));
  } else {
    volt_pause_(spins);
  }
  volt_unshield_(fiber);
}

/* From here on no inspector looks at it. */
static void runtime_withdraw(volt_rt *rt) {
  unsigned spins = 0;
  volt_debugger_withdraw_(rt);
  while (volt_debugger_is_pinned_(rt)) runtime_pause(&spins);
}

static void runtime_release(volt_rt *rt) {
  volt_debugger_remove_(rt);
  volt_stack_report_close_(rt);
  rt->config.allocator.free(rt, runtime_bytes_of(rt->workers), rt->config.allocator.ctx);
}

int volt_rt_create(volt_rt **out, const volt_rt_config *config) {
  volt_rt_config c;
  memset(&c, 0, sizeof c);
  if (config) c = *config;
  *out = NULL;
  int result = runtime_complete_config(&c);
  if (result != VOLT_OK) return result;
  volt_rt *rt = (volt_rt *)c.allocator.alloc(runtime_bytes_of(c.workers), c.allocator.ctx);
  if (!rt) return VOLT_ENOMEM;
  memset((void *)rt, 0, runtime_bytes_of(c.workers));
  runtime_init(rt, &c);
  volt_stack_report_open_(rt);
  volt_debugger_add_(rt);
  result = volt_rt_open_driver_(rt);
  if (result == VOLT_OK) result = runtime_start(rt);
  rt->config.cpus = NULL; /* the caller's */
  rt->config.thread_prefix = NULL;
  if (result != VOLT_OK) {
    runtime_withdraw(rt);
    runtime_release(rt);
    return result;
  }
  *out = rt;
  return VOLT_OK;
}

/* ---- spawn ---- */

int volt_spawn(volt_rt *rt, volt_task *t) {
  if (!t) return VOLT_ENOMEM;
  volt_task_begin_(t, rt, NULL);
  int result = volt_registry_add_(rt, t);
  if (VOLT_LIKELY(result == VOLT_OK)) {
    volt_task_start_(t);
  } else {
    volt_task_not_begun_(t);
  }
  return result;
}

/* ---- end ---- */

static void runtime_check_outside(volt_rt *rt, const char *where) {
  VOLT_CHECK(!volt_rt_is_here_(rt), where, "%p: called from a task of it", (void *)rt);
}

/* By hand: the thread that waits for the tasks has to run them. No waker is called for this thread,
 * so it sleeps for longer and longer, up to a millisecond. */
static int runtime_run_until_over(volt_rt *rt, volt_registry *registry, uint64_t deadline_ns) {
  uint64_t nap_ns = 500;
  uint64_t spawned = 0;
  for (;;) {
    uint64_t next_ns = volt_worker_run_by_hand_(&rt->worker[0]);
    if (volt_registry_count_(registry, &spawned) == 0) return VOLT_OK;
    uint64_t now_ns = volt_now_ns();
    if (now_ns >= deadline_ns) return VOLT_ETIMEDOUT;
    if (next_ns == 0) continue; /* there is more to do already */
    if (nap_ns < 1000000) nap_ns *= 2;
    uint64_t until_ns = now_ns + nap_ns;
    volt_registry_wait_(registry, until_ns < deadline_ns ? until_ns : deadline_ns);
  }
}

static void runtime_close_lists(volt_rt *rt) {
  for (unsigned i = 0; i <= rt->workers; i++) {
    volt_fetch_add_relaxed(&rt->cancelled, volt_registry_close_(&rt->registry[i])); /* a count */
  }
}

int volt_rt_shutdown(volt_rt *rt, uint64_t deadline_ns) {
  runtime_check_outside(rt, "volt_rt_shutdown");
  bool by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  /* relaxed: the thread that destroys rt knows of this call by other means; C2 sees its end */
  uint32_t others = volt_fetch_add_relaxed(&rt->closing, 1);
  VOLT_CHECK(!by_hand || others == 0, "volt_rt_shutdown", "%p: two threads would run it by hand",
             (void *)rt);
  runtime_close_lists(rt);
  int result = VOLT_OK;
  for (unsigned i = 0; i <= rt->workers && result == VOLT_OK; i++) {
    result = by_hand ? runtime_run_until_over(rt, &rt->registry[i], deadline_ns)
                     : volt_registry_wait_(&rt->registry[i], deadline_ns);
  }
  /* runtime:C1 -> runtime:C2: the last use of *rt */
  volt_fetch_add_release(&rt->closing, UINT32_C(0) - 1);
  return result;
}

/* From now on rt is not the caller's. */
static void runtime_take_over(volt_rt *rt, const char *where) {
  uint32_t before =
      volt_exchange_relaxed(&rt->is_ending, 1); /* relaxed, no data: only to report misuse */
  VOLT_CHECK(before == 0, where, "%p: it is being destroyed already", (void *)rt);
}

/* Until no task is left, no thread, and no call of volt_rt_shutdown(). */
static void runtime_stop(volt_rt *rt) {
  volt_blocker_ *fiber = volt_shield_(); /* a fiber of another runtime */
  (void)volt_rt_shutdown(rt, VOLT_NO_DEADLINE);
  volt_unshield_(fiber);
  unsigned spins = 0;
  /* runtime:C2 <- runtime:C1: destroy is after all that a shutdown did; R1 */
  while (volt_load_acquire(&rt->closing) != 0) runtime_pause(&spins);
  volt_blocking_pool_close_(&rt->blocking);
  if (rt->config.flags & VOLT_RT_BY_HAND) {
    runtime_at_worker(rt, volt_worker_end_driver_);
  } else {
    runtime_end_workers(rt, rt->workers);
  }
}

static uint64_t runtime_release_all(volt_rt *rt) {
  runtime_withdraw(rt);
  volt_rt_close_driver_(rt);
  volt_timers_destroy(&rt->timers);
  volt_rt_pool_destroy_(rt);
  volt_stack_pool_destroy_(&rt->stacks);
  uint64_t cancelled = volt_load_relaxed(&rt->cancelled); /* a count */
  runtime_release(rt);
  return cancelled;
}

uint64_t volt_rt_destroy(volt_rt *rt) {
  if (!rt) return 0;
  runtime_check_outside(rt, "volt_rt_destroy");
  VOLT_CHECK(!volt_blocking_is_here_(rt), "volt_rt_destroy",
             "%p: called from a call on its blocking pool, and would wait for that", (void *)rt);
  runtime_take_over(rt, "volt_rt_destroy");
  runtime_stop(rt);
  return runtime_release_all(rt);
}

/* ---- in the background ---- */

/* Whether something was not given back. If no descriptor is open, this also ends the driver's own timer
 * (nap.c). */
static bool runtime_is_used(volt_rt *rt) {
  if (volt_rt_driver_is_used_(rt)) return true; /* R3: before the timers */
  if (volt_timers_are_used_(&rt->timers)) return true;
  return volt_rt_pool_used_(rt) > 0;
}

/* While handles, timers or descriptors were not given back, all memory stays: the process is about to
 * end. */
static void *runtime_end_in_background(void *arg) {
  volt_rt *rt = (volt_rt *)arg;
  volt_thread_detach_self_();
  runtime_stop(rt);
  if (!runtime_is_used(rt)) runtime_release_all(rt);
  return NULL;
}

int volt_rt_shutdown_background(volt_rt *rt) {
  static const char where[] = "volt_rt_shutdown_background";
  VOLT_CHECK(!(rt->config.flags & VOLT_RT_BY_HAND), where, "%p: by hand, no thread runs its tasks",
             (void *)rt);
  runtime_take_over(rt, where);
  runtime_close_lists(rt);
  volt_thread_ thread;
  if (volt_thread_start_(&thread, runtime_end_in_background, rt)) return VOLT_OK;
  volt_store_relaxed(&rt->is_ending, 0); /* the caller's again */
  return VOLT_ENOMEM;
}

/* ---- time ---- */

volt_timers *volt_rt_timers(volt_rt *rt) {
  return &rt->timers;
}

uint64_t volt_rt_now_ns(volt_rt *rt) {
  return volt_timers_now_ns(&rt->timers);
}

void volt_rt_advance(volt_rt *rt, uint64_t by_ns) {
  runtime_check_outside(rt, "volt_rt_advance");
  VOLT_CHECK(rt->config.flags & VOLT_RT_VIRTUAL_CLOCK, "volt_rt_advance", "%p has no virtual clock",
             (void *)rt);
  uint64_t now_ns = volt_timers_now_ns(&rt->timers);
  volt_timers_expire(&rt->timers,
                     by_ns < VOLT_NO_DEADLINE - now_ns ? now_ns + by_ns : VOLT_NO_DEADLINE - 1);
}

/* ---- inspection ---- */

void volt_rt_stats(volt_rt *rt, volt_rt_stats_of *stats) {
  memset(stats, 0, sizeof *stats);
  stats->workers = rt->workers;
  uint64_t idle = volt_load_relaxed(&rt->idle.word); /* statistics, like all here */
  stats->searching = volt_idle_searching_(idle);
  for (unsigned i = 0; i < rt->workers; i++) {
    volt_worker_fibers_ *fibers = &rt->worker[i].fibers;
    stats->parked += (uint32_t)(idle >> i & 1);
    stats->fibers += volt_load_relaxed(&fibers->begun) - volt_load_relaxed(&fibers->ended);
  }
  for (unsigned i = 0; i <= rt->workers; i++) {
    stats->live += volt_registry_count_(&rt->registry[i], &stats->spawned);
  }
  stats->cancelled = volt_load_relaxed(&rt->cancelled);
  stats->injected = volt_inject_length_(&rt->inject);
  volt_short_lock_lock_(&rt->blocking.lock);
  stats->blocking_threads = rt->blocking.threads;
  stats->blocking_idle = rt->blocking.idle_count;
  stats->blocking_queued = rt->blocking.queued;
  volt_short_lock_unlock_(&rt->blocking.lock);
  volt_stack_stats_(rt, stats);
}

int volt_rt_worker_stats(volt_rt *rt, uint32_t worker, volt_worker_stats *stats) {
  if (worker >= rt->workers) return VOLT_EINVAL;
  volt_worker *w = &rt->worker[worker];
  stats->polls = volt_load_relaxed(&w->counts.polls); /* statistics, like all here */
  stats->lifo_hits = volt_load_relaxed(&w->counts.lifo_hits);
  stats->steals = volt_load_relaxed(&w->counts.steals);
  stats->stolen = volt_load_relaxed(&w->counts.stolen);
  stats->injected = volt_load_relaxed(&w->counts.injected);
  stats->overflows = volt_load_relaxed(&w->counts.overflows);
  stats->parks = volt_load_relaxed(&w->counts.parks);
  stats->woken = volt_load_relaxed(&w->counts.woken);
  stats->wakes = volt_load_relaxed(&w->counts.wakes);
  stats->empty_searches = volt_load_relaxed(&w->counts.empty_searches);
  stats->checks = volt_load_relaxed(&w->counts.checks);
  stats->events = volt_load_relaxed(&w->counts.events);
  stats->moved = volt_load_relaxed(&w->counts.moved);
  stats->look_delay_ns = volt_load_relaxed(&w->counts.look_delay_ns);
  stats->queued = volt_ring_count_(&w->ring);
  stats->homed = volt_home_count_(&w->home);
  return VOLT_OK;
}
