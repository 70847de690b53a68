// model_rt.cpp: see model_rt.hpp; and the operating system under the runtime: threads, and memory.
#include "model_rt.hpp"

static volt_here_ here[8]; // by thread of the model; the constructor and check() are one more

static unsigned this_thread() {
  return volt_model_thread();
}

volt_here_ *volt_thread_here_(void) {
  return &here[this_thread()];
}

// ---- a runtime ----

// A thread is known by its number in the model.
struct threads_state {
  volt_parker ended[8];
  VOLT_PLAIN(uint32_t) runs[8]; // what a thread does until its very end, and a join waits for
  uint32_t to_start;            // of threads for calls that block
  VOLT_ATOMIC(uint32_t) count;
  volt_parker started[2];
  VOLT_PLAIN(void *) arg[2];
  void *(*main[2])(void *);
};
static threads_state *threads;

static unsigned polls_to_see; // by a watcher that comes back

model_rt::model_rt(unsigned workers, unsigned blocking_max, unsigned flags) : m(new memory) {
  memset(here, 0, sizeof here);
  threads = new threads_state;
  polls_to_see = 0;
  threads->to_start = 0;
  static_assert(offsetof(memory, more) == sizeof(volt_rt), "as volt_rt_create() lays it out");
  volt_rt *rt = &m->rt;
  memset(&rt->config, 0, sizeof rt->config);
  rt->config.workers = workers;
  rt->config.flags = flags;
  rt->config.blocking_max = blocking_max;
  rt->config.blocking_idle_ns = 1;
  rt->config.allocator.free = free;
  rt->config.allocator.ctx = m;
  rt->workers = workers;
  rt->may_watch = false;
  rt->driver = nullptr;
  volt_idle_init_(&rt->idle);
  volt_store_relaxed(&rt->in_long_polls, 0u);
  volt_inject_init_(&rt->inject);
  volt_waker driver = {volt_rt_timer_started_, rt};
  if (flags & VOLT_RT_VIRTUAL_CLOCK) {
    volt_timers_init_virtual(&rt->timers, driver);
  } else {
    volt_timers_init(&rt->timers, driver);
  }
  volt_blocking_pool_init_(&rt->blocking);
  volt_short_lock_init_(&rt->pool.lock);
  volt_stack_pool_init_(&rt->stacks);
  rt->registry = m->registry;
  for (unsigned i = 0; i <= workers; i++) volt_registry_init_(&rt->registry[i]);
  for (unsigned i = 0; i < workers; i++) {
    volt_worker_init_(&rt->worker[i], rt, i);
    memset(rt->worker[i].stacks.of, 0, sizeof rt->worker[i].stacks.of);
    rt->worker[i].thread = i; // the one that calls work(i)
  }
  if (flags & VOLT_RT_BY_HAND) volt_idle_park_(&rt->idle, 0, 0);
}

model_rt::~model_rt() {
  delete threads;
}

// The last of this thread: who has joined it may count on that.
static void end_thread() {
  threads->runs[this_thread()] = 0;
  volt_unpark(&threads->ended[this_thread()]);
}

void model_rt::work(unsigned worker) {
  volt_worker *w = &m->rt.worker[worker];
  EXPECT(w->thread == this_thread());
  volt_worker_main_(w);
  end_thread();
}

void model_rt::workers_watch(unsigned times_polled) {
  m->rt.may_watch = true;
  polls_to_see = times_polled;
}

bool volt_model_polls_go_on() {
  bool go_on = polls_to_see > 0;
  if (go_on) polls_to_see--;
  return go_on;
}

void model_rt::abandon() {
  if (m) delete m;
  m = nullptr;
}

// Whoever still uses it is reported.
void model_rt::free(void *, size_t, void *ctx) {
  memory *m = static_cast<memory *>(ctx);
  m->rt.inject.head = nullptr;
  m->rt.inject.tail = nullptr;
  m->rt.blocking.threads = 0;
  m->rt.blocking.closer = nullptr;
  for (auto &watch : m->rt.watches) {
    watch.next = nullptr;
    watch.then = nullptr;
    watch.then_ctx = nullptr;
  }
  for (auto &registry : m->registry) {
    registry.count = 0;
    registry.closers = nullptr;
  }
  delete m;
}

// ---- fibers ----

model_task *model_task::make_fiber(volt_rt *rt, body_fn *body, void *model, trace *left) {
  model_task *self = make(rt, body, model, left, true);
  self->task.poll = volt_fiber_poll_;
  return self;
}

// As fiber.c, without a stack. home.h I2: no worker but its home polls it.
int volt_fiber_poll_(volt_task *t, volt_ctx *ctx) {
  model_task *self = model_task::of(t);
  volt_worker *w = volt_container_of(ctx, volt_worker, ctx);
  EXPECT(volt_worker_here_(t->rt) == w);
  if (self->homed.home == 0) volt_homed_settle_(&self->homed);
  EXPECT(self->homed.home == 1 + w->index);
  return model_task::poll(t, ctx);
}

volt_fiber_fn *volt_fiber_function_(const volt_task *, const char **) {
  return nullptr; // of none it is asked
}

void volt_worker_end_fibers_(volt_worker *) {
}

void volt_stack_report_open_(volt_rt *) {
}

void volt_stack_report_close_(volt_rt *) {
}

void volt_stack_report_begin_(volt_worker *) {
}

void volt_stack_report_end_(volt_worker *) {
}

void volt_debugger_add_(volt_rt *) {
}

// A model makes its pins before any thread runs, so there is no lock.
void volt_debugger_withdraw_(volt_rt *rt) {
  volt_pins_close_(&rt->pins);
}

bool volt_debugger_is_pinned_(volt_rt *rt) {
  return volt_pins_are_left_(&rt->pins);
}

void volt_debugger_remove_(volt_rt *) {
}

// ---- what the sources call ----

void volt_thread_join_(volt_thread_ thread) {
  volt_park_until(&threads->ended[thread], 1, VOLT_NO_DEADLINE);
}

volt_thread_ volt_thread_self_(void) {
  return this_thread();
}

bool volt_thread_start_(volt_thread_ *, void *(*main)(void *), void *arg) {
  uint32_t i = volt_fetch_add_relaxed(&threads->count, 1u); // the unpark orders the rest
  if (i >= threads->to_start) {
    volt_fetch_add_relaxed(&threads->count, ~0u); // none: as if it had not been asked for
    return false;
  }
  threads->main[i] = main;
  threads->arg[i] = arg;
  volt_unpark(&threads->started[i]);
  return true;
}

void volt_thread_detach_self_(void) {
}

int32_t volt_thread_id_(void) {
  return 0;
}

void volt_thread_name_self_(char *, const char *, char, unsigned) {
}

void volt_thread_blocked_signals_(volt_signals_ *) {
}

void volt_thread_block_signals_(const volt_signals_ *) {
}

void model_threads_to_start(unsigned count) {
  threads->to_start = count;
}

void model_serve(unsigned i) {
  volt_park_until(&threads->started[i], 1, VOLT_NO_DEADLINE);
  void *arg = threads->arg[i];
  if (!arg) return;
  threads->runs[this_thread()] = 1;
  threads->main[i](arg);
  end_thread();
}

void model_no_threads_run() {
  for (auto &runs : threads->runs) EXPECT(runs == 0);
}

void model_no_more_threads() {
  uint32_t count =
      volt_fetch_add_relaxed(&threads->count, 2u); // by whoever has called the last start
  for (uint32_t i = count; i < 2; i++) volt_unpark(&threads->started[i]);
}

bool volt_thread_pin_(volt_thread_, int) {
  return false;
}

unsigned volt_thread_cpus_(void) {
  return 1;
}

void volt_rt_pool_init_(volt_pool *) {
}

uint64_t volt_rt_pool_used_(volt_rt *) {
  return 0;
}

void volt_rt_pool_destroy_(volt_rt *) {
}
