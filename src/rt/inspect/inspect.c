/* inspect.c: look at tasks while they wait, and let the others run.
 *
 * Algorithm: an inspector goes through the registries, which have every task that has not ended.
 * Under the lock of one it claims tasks that wait, up to a batch: by one CAS of the state word, as
 * a wake does that is about to queue the task (task.c R8). It unlocks, looks at what they await,
 * and releases them by a second CAS. A task that was woken meanwhile is queued by its release
 * (task.c R9). A task that runs or is queued is not claimed: of it the inspector copies what it can
 * peek at under the lock.
 *
 * From one batch to the next the inspector keeps its place by a cursor: a task on its own stack
 * that is linked among the others, has no poll function, and has returned (COMPLETE), so that a
 * cancel does not ask it. A cancel moves it to the other list as it does with every task.
 *
 * Invariants
 *   I1  a registry's tasks are in one order: those of `cancelled`, then those of `running`. A
 *       cancel takes the first of running to the end of cancelled, so the order stays; a spawn
 *       appends; a task that has returned goes back to its place (registry.c)
 *   I2  tasks before the cursor were shown, tasks behind it not
 *
 * Races
 *   R1  Interleaving: tasks are spawned as fast as the inspector goes on, and it never comes to an
 *       end. Prevented by: it shows no more tasks than there were when it began.
 *   R2  Interleaving: the last task of a runtime ends, and the runtime is destroyed, while the
 *       inspector is between two batches. Prevented by: the runtime is pinned, and destroy waits for
 *       that (runtimes.c).
 *   R3  Interleaving: in a runtime with virtual time a task is woken that is claimed, so it is in no
 *       queue; the thread that runs the runtime by hand finds nothing ready, and lets time pass,
 *       or says that the runtime is stalled. Prevented by: the inspector holds the lock `inspected`
 *       from before it claims until it has released. The wake has found ACTIVE, so the thread that
 *       called it is after the claim (task:C1, task:W1), and so after that lock was taken: it
 *       waits until the lock is free. Then the task is queued.
 *   R4  Interleaving: a fiber that is not claimed ends, and its owner frees the name that it was
 *       given, while the inspector reads that. Prevented by: the name is copied under the lock of
 *       the registry. There the fiber has not ENDED (registry.c I2), so its name is there. */
#include "inspect.h"

#include "../../core/future/future_ops.h"
#include "../../core/hooks/racy.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "../host/runtime.h"
#include "../sched/home.h"
#include "../sched/homed.h"
#include "../sched/registry.h"
#include "../sched/ring.h"
#include "../sched/short_lock.h"
#include "../sched/task.h"
#include "../sched/task_list.h"
#include "../sched/task_state.h"
#include "../sched/worker.h"

enum { INSPECT_LOCK_NS = 50000000, INSPECT_DEPTH = 64 };

typedef struct inspector {
  volt_rt *rt;
  volt_registry *registry;
  volt_task cursor;
  bool is_linked; /* the cursor */
  uint64_t left;  /* tasks to show in this registry, at most: R1 */
  unsigned batch;
  unsigned count; /* of seen */
  volt_seen_ seen[VOLT_SEEN_BATCH_];
  volt_see_ *see;
  void *ctx;
} inspector;

/* ---- one task ---- */

static uint32_t inspect_line(uint32_t step) {
  return step < VOLT_STEP_TRAIL_ ? step : 0;
}

/* since: volt_task.since, of the last 52 days. A running task may have noted it after now. */
static uint64_t inspect_since_ns(volt_rt *rt, uint32_t since) {
  enum { ALMOST_NOW = 1000 };
  uint64_t now = volt_timers_now_ns(&rt->timers) >> VOLT_STAMP_BITS_;
  uint32_t age = (uint32_t)now - since;
  if (age > UINT32_MAX - ALMOST_NOW) age = 0;
  return age < now ? (now - age) << VOLT_STAMP_BITS_ : 0;
}

/* The worker that polls t, or the number of workers. */
static unsigned inspect_worker(volt_rt *rt, const volt_task *t) {
  unsigned i = 0;
  while (i < rt->workers && volt_racy_load_pointer_(&rt->worker[i].ctx.waker.ctx) != t) i++;
  return i;
}

/* It is claimed. If it is a coroutine, it is known by the outermost. */
static void inspect_root(const volt_frame *frame, volt_seen_ *seen) {
  const volt_trail_ *outer = volt_frame_trail_(frame), *root = NULL;
  for (; outer; outer = volt_trail_outer_(outer)) root = outer;
  if (!root || !root->place) return;
  seen->site = (const volt_site_ *)(const void *)root->place;
  seen->line = root->place->line;
}

static void inspect_waiting(volt_rt *rt, volt_task *t, uint64_t state, volt_seen_ *seen) {
  seen->how = VOLT_SEEN_WAITS_;
  seen->site = volt_frame_site_(t->frame.site, (uintptr_t)t->poll);
  seen->line = inspect_line(t->frame.step);
  inspect_root(&t->frame, seen);
  seen->polls = t->polls;
  seen->since_ns = t->polls == 0 ? 0 : inspect_since_ns(rt, t->since);
  seen->registrations = (int64_t)(state / ONE);
}

/* It is linked, so it is there; but it is another thread's. */
static void inspect_other(volt_rt *rt, volt_task *t, uint64_t state, volt_seen_ *seen) {
  seen->how = state & COMPLETE ? VOLT_SEEN_ENDS_ : VOLT_SEEN_QUEUED_;
  seen->site = volt_frame_site_((int32_t)volt_racy_load_32_(&t->frame.site), (uintptr_t)t->poll);
  seen->line = inspect_line(volt_racy_load_32_(&t->frame.step));
  seen->polls = volt_racy_load_32_(&t->polls);
  seen->since_ns = seen->polls == 0 ? 0 : inspect_since_ns(rt, volt_racy_load_32_(&t->since));
  seen->registrations = state & COMPLETE ? (int64_t)(state / ONE) : -1;
  if (state & COMPLETE) return;
  seen->worker = inspect_worker(rt, t);
  if (seen->worker < rt->workers) seen->how = VOLT_SEEN_RUNS_;
}

/* R4 */
static void inspect_fiber(const volt_task *t, volt_seen_ *seen) {
  const char *name = NULL;
  size_t length = 0;
  seen->fn = volt_fiber_function_(t, &name);
  for (; name && name[length] && length < sizeof seen->name - 1; length++) {
    seen->name[length] = name[length];
  }
  seen->name[length] = '\0';
}

/* The registry is locked. */
static void inspect_task(volt_rt *rt, volt_task *t, volt_seen_ *seen) {
  uint64_t state;
  seen->task = t;
  seen->poll = t->poll;
  seen->worker = 0;
  if (volt_task_claim_(t, &state)) {
    inspect_waiting(rt, t, state, seen);
  } else {
    inspect_other(rt, t, state, seen);
  }
  inspect_fiber(t, seen);
  seen->is_cancelled = state & ASKED;
}

/* ---- tasks of one registry ---- */

static bool inspect_lock(volt_short_lock *lock) {
  return volt_short_lock_lock_until_(lock, volt_deadline_ns(INSPECT_LOCK_NS));
}

/* I1. Returns NULL: that was the last. */
static volt_task_link *inspect_next(volt_registry *registry, volt_task_link *link) {
  link = link->next;
  if (link == &registry->cancelled) link = registry->running.next;
  return link == &registry->running ? NULL : link;
}

static void inspect_link_cursor(inspector *i, volt_task_link *before) {
  volt_task_list_insert_(before, &i->cursor.entry);
  i->is_linked = true;
}

static void inspect_unlink_cursor(inspector *i) {
  volt_task_list_remove_(&i->cursor.entry);
  i->is_linked = false;
}

/* The registry is locked. Takes the next batch; the cursor goes behind it, or, behind the last
 * task, is unlinked. */
static void inspect_take(inspector *i) {
  volt_task_link *last = &i->cursor.entry;
  volt_task_link *link = inspect_next(i->registry, last);
  i->count = 0;
  while (link && i->count < i->batch && i->left > 0) {
    volt_task *t = volt_container_of(link, volt_task, entry);
    last = link;
    link = inspect_next(i->registry, link);
    if (!t->poll) continue; /* another inspector's cursor */
    inspect_task(i->rt, t, &i->seen[i->count++]);
    i->left -= 1;
  }
  bool is_over = !link || i->left == 0;
  inspect_unlink_cursor(i);
  if (!is_over) inspect_link_cursor(i, last); /* which is a task: one was shown */
}

/* Under the lock of virtual time, if there is one: R3. Returns false: the registry was not to be
 * had. */
static bool inspect_claim(inspector *i) {
  if (!inspect_lock(&i->registry->lock)) return false;
  if (!i->is_linked) { /* the first batch */
    i->left = i->registry->count;
    inspect_link_cursor(i, &i->registry->cancelled);
  }
  inspect_take(i);
  volt_registry_unlock_(i->registry);
  return true;
}

static int inspect_show(inspector *i) {
  if (!inspect_claim(i)) return VOLT_ETIMEDOUT;
  bool goes_on = i->count == 0 || i->see(i->ctx, i->seen, i->count);
  for (unsigned at = 0; at < i->count; at++) {
    if (i->seen[at].how == VOLT_SEEN_WAITS_) volt_task_release_(i->seen[at].task);
  }
  return goes_on ? VOLT_OK : VOLT_ECANCELED;
}

static int inspect_batch(inspector *i) {
  bool is_virtual = i->rt->config.flags & VOLT_RT_VIRTUAL_CLOCK;
  i->count = 0;
  if (is_virtual && !inspect_lock(&i->rt->inspected)) return VOLT_ETIMEDOUT;
  int result = inspect_show(i);
  if (is_virtual) volt_short_lock_unlock_(&i->rt->inspected);
  if (i->count > 0 && !i->see(i->ctx, NULL, 0)) result = VOLT_ECANCELED;
  return result;
}

static int inspect_registry(inspector *i, unsigned shard) {
  i->registry = &i->rt->registry[shard];
  i->is_linked = false;
  int result;
  do {
    result = inspect_batch(i);
  } while (result == VOLT_OK && i->is_linked);
  if (i->is_linked) {
    volt_registry_lock_(i->rt, shard);
    inspect_unlink_cursor(i);
    volt_registry_unlock_(i->registry);
  }
  return result;
}

int volt_inspect_(volt_rt *rt, unsigned batch, volt_see_ *see, void *ctx) {
  VOLT_ASSERT(batch > 0 && batch <= VOLT_SEEN_BATCH_);
  inspector self;
  self.rt = rt;
  self.batch = batch;
  self.see = see;
  self.ctx = ctx;
  volt_task_init(&self.cursor, NULL);
  volt_store_relaxed(&self.cursor.state, SPAWNED | COMPLETE); /* not shared yet */
  int result = VOLT_OK;
  for (unsigned shard = 0; shard <= rt->workers; shard++) {
    int its = inspect_registry(&self, shard);
    if (its == VOLT_ECANCELED) return its;
    if (its != VOLT_OK) result = its;
  }
  return result;
}

/* ---- what a task awaits ---- */

typedef struct walk {
  volt_walk_fn_ *fn;
  void *ctx;
} walk;

static bool walk_future(const walk *w, volt_future *f, unsigned depth);

/* Of several coroutines that await each other, the outermost first. More than there is room for: the
 * innermost. */
static bool walk_trail(const walk *w, const volt_frame *frame, unsigned depth) {
  const volt_trail_ *each[INSPECT_DEPTH];
  unsigned count = 0;
  const volt_trail_ *trail = volt_frame_trail_(frame);
  for (; trail && depth + count < INSPECT_DEPTH; trail = volt_trail_outer_(trail))
    each[count++] = trail;
  while (count-- > 0) {
    const volt_place_ *place = each[count]->place;
    volt_stop_ stop = {.depth = depth++, .calls = count > 0};
    stop.site = (const volt_site_ *)(const void *)place;
    stop.line = place ? place->line : 0;
    stop.future = stop.calls ? NULL : frame->awaiting;
    if (!w->fn(w->ctx, &stop)) return false;
  }
  return walk_future(w, frame->awaiting, depth);
}

/* One within another was found. */
static bool walk_one(const walk *w, volt_future *inside, unsigned depth) {
  volt_stop_ stop = {.depth = depth, .future = inside};
  return w->fn(w->ctx, &stop) && walk_future(w, inside, depth + 1);
}

/* A function that is written by hand says what it awaits. */
static bool walk_by_hand(const walk *w, const volt_site_ *site, const void *its, unsigned depth) {
  volt_future *inside;
  for (unsigned i = 0; (inside = site->inside(its, i)) != NULL; i++) {
    if (!walk_one(w, inside, depth + 1)) return false;
  }
  return true;
}

/* A task or an async function stops there. its: its volt_task or volt_async. */
static bool walk_frame(const walk *w, const volt_frame *frame, uintptr_t poll, const void *its,
                       unsigned depth) {
  if (frame->awaiting && volt_frame_trail_(frame)) return walk_trail(w, frame, depth);
  volt_stop_ stop = {.depth = depth, .future = frame->awaiting};
  stop.site = volt_frame_site_(frame->site, poll);
  stop.line = inspect_line(frame->step);
  bool is_by_hand = stop.site && stop.site->inside;
  if (is_by_hand) stop.line = stop.site->line;
  if (!w->fn(w->ctx, &stop)) return false;
  if (is_by_hand) return walk_by_hand(w, stop.site, its, depth);
  return walk_future(w, frame->awaiting, depth + 1);
}

static bool walk_inside(const walk *w, volt_future *f, unsigned depth) {
  volt_future *inside;
  for (unsigned i = 0; (inside = volt_future_inside_(f, i)) != NULL; i++) {
    if (!walk_one(w, inside, depth)) return false;
  }
  return true;
}

/* f was shown. Returns whether to go on. */
static bool walk_future(const walk *w, volt_future *f, unsigned depth) {
  if (!f || depth >= INSPECT_DEPTH || !(volt_future_state_(f) & VOLT_FUTURE_WAITING_)) return true;
  const volt_frame *frame = volt_future_frame_(f);
  if (!frame) return walk_inside(w, f, depth);
  const volt_async *a = volt_container_of((volt_frame *)(uintptr_t)frame, volt_async, frame);
  return walk_frame(w, frame, (uintptr_t)a->poll, a, depth);
}

void volt_walk_(volt_task *t, volt_walk_fn_ *fn, void *ctx) {
  walk self = {.fn = fn, .ctx = ctx};
  (void)walk_frame(&self, &t->frame, (uintptr_t)t->poll, t, 0);
}

/* ---- workers ---- */

void volt_worker_see_(volt_rt *rt, unsigned worker, volt_worker_seen_ *seen) {
  volt_worker *w = &rt->worker[worker];
  uint64_t polls = volt_load_relaxed(&w->counts.polls); /* hints, like all here */
  bool has_next = volt_racy_load_pointer_(&w->lifo) != NULL;
  seen->task = (const volt_task *)volt_racy_load_pointer_(&w->ctx.waker.ctx);
  seen->instance = polls << 8 | (volt_racy_load_32_(&w->left) & 255);
  seen->checked_ns = volt_racy_load_64_(&w->checked_ns);
  seen->is_parked = volt_load_relaxed(&rt->idle.word) >> worker & 1;
  seen->queued = volt_ring_count_(&w->ring) + volt_home_count_(&w->home) + has_next;
  seen->tid = (int)volt_racy_load_32_(&w->tid);
}
