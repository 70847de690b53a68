/* deadlock_fill.c: what the graph of deadlocks is filled with: tasks, which are claimed for it;
 * threads that block, by their slots; and objects, of which only copies are read. graph.c says what
 * may be concluded from that.
 * Memory that may be gone is copied by thread_seen.c. */
#include <string.h>
#include <volt/detail/await.h>
#include <volt/fiber.h>
#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/semaphore.h>

#include "../../core/future/future_ops.h"
#include "../../core/future/leaf.h"
#include "../../core/hooks/racy.h"
#include "../../core/inspect/sleepers.h"
#include "../../rt/inspect/inspect.h"
#include "../../rt/sched/task_state.h"
#include "../dump/thread_seen.h"
#include "deadlocks.h"

/* ---- what a future waits for ---- */

static void deadlock_forget_object(volt_term_ *t) {
  t->ends = VOLT_ENDS_UNKNOWN_;
  t->waiter = NULL;
}

/* A signal moves a waiter of a condition variable to the FIFO of the mutex. */
static void deadlock_follow_signal(volt_term_ *t, volt_future *f,
                                   const volt_description_ *description) {
  const void *queue = volt_racy_load_pointer_(&f->waiter.queue);
  if (!description->queue || queue == (const void *)description->queue) return;
  t->ends = VOLT_ENDS_HOLDERS_;
  t->kind = VOLT_KIND_MUTEX_;
  t->object = queue; /* which it begins with */
}

/* f: of a claimed task. Returns whether it has an outcome that its owner has not seen. */
static bool deadlock_term(volt_term_ *t, volt_future *f) {
  volt_description_ description;
  volt_describe_briefly_(f, &description);
  t->ends = description.ends;
  t->object = description.object;
  t->kind = description.kind;
  t->operation = description.operation;
  t->wanted = description.wanted;
  t->is_ready = description.is_ready;
  bool is_leaf = f->ops && volt_future_is_leaf_(f);
  t->waiter = is_leaf ? volt_leaf_waiter_(f, f->ops) : NULL;
  t->has_deadline = description.deadline_ns != VOLT_NO_DEADLINE;
  if (volt_future_frame_(f)) t->ends = VOLT_ENDS_INNER_; /* an async function */
  if (description.kind == VOLT_KIND_RWLOCK_)
    t->wanted = description.for_write ? VOLT_RWLOCK_WRITER_ : 1;
  if (description.kind == VOLT_KIND_COND_) deadlock_follow_signal(t, f, &description);
  if (description.is_granted || description.is_ready) deadlock_forget_object(t);
  return description.is_granted;
}

/* ---- tasks ---- */

static uint64_t deadlock_instance(const volt_seen_ *seen) {
#if VOLT_SIGHT
  return (uint64_t)seen->task->born << 32 | seen->polls;
#else
  return (seen->since_ns >> 20) << 32 | seen->polls;
#endif
}

static const void *deadlock_group(volt_task *t) {
  uint64_t state = volt_load_relaxed(&t->state); /* relaxed: GROUPED stays as it is till the end */
  return state & GROUPED ? (const void *)t->joiner : NULL;
}

static const void *deadlock_party(const volt_task *t) {
#if VOLT_SIGHT
  return t->held;
#else
  (void)t;
  return NULL;
#endif
}

static bool deadlock_add_stop(void *ctx, const volt_stop_ *stop) {
  volt_term_ t;
  memset(&t, 0, sizeof t);
  t.depth = stop->depth;
  t.site = stop->site;
  t.line = stop->line;
  if (stop->future) {
    (void)deadlock_term(&t, stop->future);
  } else {
    t.ends =
        stop->calls ? VOLT_ENDS_INNER_ : VOLT_ENDS_UNKNOWN_; /* of a coroutine: the next stop */
  }
  volt_graph_add_term_((volt_graph_ *)ctx, &t);
  return true;
}

static void deadlock_add_held(volt_graph_ *g, const void *party) {
  volt_held_seen_ held[16];
  unsigned count = volt_held_see_(party, held, 16);
  for (unsigned i = 0; i < count; i++) {
    volt_graph_add_held_(g, held[i].object, held[i].n, held[i].file, held[i].line);
  }
}

static void deadlock_add_task(volt_graph_ *g, const volt_seen_ *seen) {
  volt_waiting_ w;
  memset(&w, 0, sizeof w);
  w.who = (uintptr_t)seen->task | 1;
  w.instance = deadlock_instance(seen);
  w.group = deadlock_group(seen->task);
  w.site = seen->site;
  _Static_assert(sizeof w.name == VOLT_SEEN_NAME_, "a name has room");
  memcpy(w.name, seen->name, sizeof w.name);
  w.fn = seen->fn;
  w.since_ns = seen->since_ns;
  volt_graph_add_(g, &w);
  volt_walk_(seen->task, deadlock_add_stop, g);
  deadlock_add_held(g, deadlock_party(seen->task));
  volt_graph_added_(g);
}

static bool deadlock_add_tasks(void *ctx, const volt_seen_ *seen, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (seen[i].how == VOLT_SEEN_WAITS_) deadlock_add_task((volt_graph_ *)ctx, &seen[i]);
  }
  return true;
}

static bool deadlock_is_granted(void *ctx, const volt_stop_ *stop) {
  volt_term_ t;
  if (stop->future && deadlock_term(&t, stop->future)) *(bool *)ctx = true;
  return true;
}

static bool deadlock_confirm_tasks(void *ctx, const volt_seen_ *seen, unsigned count) {
  volt_graph_ *g = (volt_graph_ *)ctx;
  for (unsigned i = 0; i < count; i++) {
    uintptr_t who = (uintptr_t)seen[i].task | 1;
    if (seen[i].how != VOLT_SEEN_WAITS_ || !volt_graph_has_(g, who)) continue;
    bool is_granted = false;
    volt_walk_(seen[i].task, deadlock_is_granted, &is_granted);
    if (!is_granted) volt_graph_confirm_(g, who, deadlock_instance(&seen[i]));
  }
  return true;
}

static void deadlock_see_all(volt_see_ *see, void *ctx) {
  volt_rt *rt = NULL;
  while ((rt = volt_rt_pin_next_(rt)) != NULL) (void)volt_inspect_(rt, VOLT_SEEN_BATCH_, see, ctx);
}

/* ---- threads ---- */

/* The waiter by which a thread waits; NULL: not known. */
static const volt_waiter *deadlock_waiter_of(const volt_sleeper_seen_ *b) {
  bool is_inside = b->future && b->description.ends == VOLT_ENDS_HOLDERS_;
  return is_inside ? &b->future->waiter : b->waiter;
}

/* What is known of the waiter of a thread. Returns false if that has completed. */
static bool deadlock_read_waiter(volt_term_ *t) {
  char bytes[sizeof(volt_waiter)];
  uint32_t state;
  const void *queue;
  if (!volt_copy_(bytes, t->waiter, sizeof bytes)) return false;
  memcpy(&state, bytes + offsetof(volt_waiter, state), sizeof state);
  memcpy(&queue, bytes + offsetof(volt_waiter, queue), sizeof queue);
  if (t->kind == VOLT_KIND_COND_ && queue != t->object) {
    t->ends = VOLT_ENDS_HOLDERS_; /* as deadlock_follow_signal() */
    t->kind = VOLT_KIND_MUTEX_;
    t->object = queue;
  }
  return !volt_waiter_is_completed_(state);
}

static bool deadlock_thread_term(volt_term_ *t, const volt_sleeper_seen_ *b) {
  memset(t, 0, sizeof *t);
  t->ends = b->description.ends;
  t->object = b->description.object;
  t->kind = b->description.kind;
  t->operation = b->description.operation;
  t->wanted = b->description.wanted;
  t->has_deadline =
      b->deadline_ns != VOLT_NO_DEADLINE || b->description.deadline_ns != VOLT_NO_DEADLINE;
  t->waiter = deadlock_waiter_of(b);
  if (t->kind == VOLT_KIND_RWLOCK_) t->wanted = b->description.for_write ? VOLT_RWLOCK_WRITER_ : 1;
  if (t->waiter) return deadlock_read_waiter(t);
  return t->ends != VOLT_ENDS_HOLDERS_; /* whether it was granted is not known */
}

static uintptr_t deadlock_thread(const volt_sleeper_seen_ *b) {
  return (uintptr_t)b->number << 2 | 2;
}

static void deadlock_add_thread(volt_graph_ *g, const volt_sleeper_seen_ *b) {
  volt_term_ t;
  volt_waiting_ w;
  memset(&w, 0, sizeof w);
  if (!deadlock_thread_term(&t, b)) return;
  w.who = deadlock_thread(b);
  w.instance = b->wait;
  w.since_ns = b->since_ns;
  w.tid = b->tid;
  volt_graph_add_(g, &w);
  volt_graph_add_term_(g, &t);
  deadlock_add_held(g, b->party);
  volt_graph_added_(g);
}

/* A thread that was granted something is about to go on. */
static void deadlock_refuse_thread(volt_graph_ *g, const volt_sleeper_seen_ *b) {
  volt_term_ t;
  if (!volt_graph_has_(g, deadlock_thread(b))) return;
  if (!deadlock_thread_term(&t, b)) volt_graph_refuse_(g, deadlock_thread(b));
}

static void deadlock_confirm_thread(volt_graph_ *g, const volt_sleeper_seen_ *b) {
  volt_graph_confirm_(g, deadlock_thread(b), b->wait);
}

/* Returns false: not all were seen. */
static bool deadlock_see_threads(volt_graph_ *g,
                                 void (*each)(volt_graph_ *g, const volt_sleeper_seen_ *b)) {
  volt_sleeper_seen_ seen[8];
  uint64_t cursor = 0;
  for (unsigned count; (count = volt_sleepers_copy_(seen, 8, &cursor)) > 0;) {
    for (unsigned i = 0; i < count; i++) each(g, &seen[i]);
  }
  return cursor != VOLT_SLEEPERS_BUSY_;
}

/* ---- both ---- */

void volt_deadlocks_fill_(volt_graph_ *g) {
  volt_graph_clear_(g);
  deadlock_see_all(deadlock_add_tasks, g);
  (void)deadlock_see_threads(g, deadlock_add_thread);
}

void volt_deadlocks_confirm_(volt_graph_ *g) {
  deadlock_see_all(deadlock_confirm_tasks, g);
  if (!deadlock_see_threads(g, deadlock_refuse_thread)) return; /* so no thread is confirmed */
  /* those that were in the same wait as that was read */
  (void)deadlock_see_threads(g, deadlock_confirm_thread);
}

/* ---- objects ---- */

#if VOLT_SIGHT

static bool deadlock_ask_holder(const char *bytes, size_t at, volt_graph_object_ *o) {
  memcpy(&o->holder, bytes + at + offsetof(volt_holder_, who), sizeof o->holder);
  memcpy(&o->file, bytes + at + offsetof(volt_holder_, file), sizeof o->file);
  memcpy(&o->line, bytes + at + offsetof(volt_holder_, line), sizeof o->line);
  memcpy(&o->since, bytes + at + offsetof(volt_holder_, since), sizeof o->since);
  return true;
}

static bool deadlock_ask_mutex(const volt_term_ *t, volt_graph_object_ *o) {
  char bytes[sizeof(volt_mutex)];
  if (!volt_copy_(bytes, t->object, sizeof bytes)) return false;
  o->total = 1;
  o->holder_n = 1;
  return deadlock_ask_holder(bytes, offsetof(volt_mutex, holder), o);
}

static bool deadlock_ask_rwlock(const volt_term_ *t, volt_graph_object_ *o) {
  char bytes[sizeof(volt_rwlock)];
  if (!volt_copy_(bytes, t->object, sizeof bytes)) return false;
  o->total = VOLT_RWLOCK_WRITER_;
  o->holder_n = VOLT_RWLOCK_WRITER_;
  o->is_shared = true;
  return deadlock_ask_holder(bytes, offsetof(volt_rwlock, holder), o);
}

/* Its lists count only if holders release what they have taken; and what exists must be known. */
static bool deadlock_ask_sem(const volt_term_ *t, volt_graph_object_ *o) {
  char bytes[sizeof(volt_sem)];
  uint32_t kept, reached, limit;
  if (!volt_copy_(bytes, t->object, sizeof bytes)) return false;
  memcpy(&kept, bytes + offsetof(volt_sem, kept), sizeof kept);
  memcpy(&reached, bytes + offsetof(volt_sem, reached), sizeof reached);
  memcpy(&limit, bytes + offsetof(volt_sem, limit), sizeof limit);
  if (kept != 1 || limit != reached) return false;
  o->total = reached;
  o->is_shared = true;
  return true;
}

static void deadlock_ask_before(const volt_term_ *t, volt_graph_object_ *o) {
  char bytes[sizeof(volt_waiter)];
  if (!t->waiter || !volt_copy_(bytes, t->waiter, sizeof bytes)) return;
  memcpy(&o->before, bytes + offsetof(volt_waiter, prev), sizeof o->before);
}

bool volt_deadlocks_ask_(void *ctx, const volt_term_ *t, volt_graph_object_ *o) {
  (void)ctx;
  if (!t->object || volt_holder_is_passed_on_(t->object)) return false;
  bool is_known = false;
  if (t->kind == VOLT_KIND_MUTEX_) return deadlock_ask_mutex(t, o);
  if (t->kind == VOLT_KIND_RWLOCK_) is_known = deadlock_ask_rwlock(t, o);
  if (t->kind == VOLT_KIND_SEMAPHORE_) is_known = deadlock_ask_sem(t, o);
  if (is_known) deadlock_ask_before(t, o);
  return is_known;
}

#else

bool volt_deadlocks_ask_(void *ctx, const volt_term_ *t, volt_graph_object_ *o) {
  (void)ctx;
  (void)t;
  (void)o;
  return false;
}

#endif
