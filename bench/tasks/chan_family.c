/* chan_family.c: what the other primitives cost when nobody waits: loops of one thread. */
#include <volt/volt.h>

#include "channels.h"

/* So many operations. Returns how many went as they should. */
typedef uint64_t family_fn(uint64_t operations);

static const volt_waker nobody = {NULL, NULL};

/* notify one, and wait, which is over at once */
static uint64_t run_notify(uint64_t operations) {
  volt_notify n = VOLT_NOTIFY_INIT;
  volt_waiter w = VOLT_WAITER_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) {
    volt_notify_one(&n);
    done += volt_notify_wait(&n, &w, nobody) == VOLT_OK;
  }
  volt_notify_destroy(&n);
  return done;
}

/* a life: init, send, receive, destroy */
static uint64_t run_oneshot(uint64_t operations) {
  volt_waiter w = VOLT_WAITER_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) {
    volt_oneshot o;
    uint64_t slot, value = 0;
    volt_oneshot_init(&o, sizeof slot, &slot);
    volt_oneshot_send(&o, &i);
    done += volt_oneshot_recv(&o, &w, &value, nobody) == VOLT_OK && value == i;
    volt_oneshot_destroy(&o);
  }
  return done;
}

/* a life: init, count down to 0, wait, destroy */
static uint64_t run_latch(uint64_t operations) {
  volt_waiter w = VOLT_WAITER_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) {
    volt_latch l;
    volt_latch_init(&l, 1);
    volt_latch_count_down(&l, 1);
    done += volt_latch_wait(&l, &w, nobody) == VOLT_OK;
    volt_latch_destroy(&l);
  }
  return done;
}

/* is it done? */
static uint64_t run_once(uint64_t operations) {
  volt_once o = VOLT_ONCE_INIT;
  uint64_t done = 0;
  rt_require(volt_once_begin_blocking(&o, VOLT_NO_DEADLINE) != VOLT_EINVAL, "it begins");
  volt_once_done(&o);
  for (uint64_t i = 0; i < operations; i++) done += volt_once_is_done(&o);
  volt_once_destroy(&o);
  return done;
}

/* signal, without the mutex */
static uint64_t run_cond(uint64_t operations) {
  volt_cond c = VOLT_COND_INIT;
  for (uint64_t i = 0; i < operations; i++) volt_cond_signal(&c);
  volt_cond_destroy(&c);
  return operations;
}

/* a barrier for one */
static uint64_t run_barrier(uint64_t operations) {
  volt_barrier b = VOLT_BARRIER_INIT(1);
  volt_waiter w = VOLT_WAITER_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) {
    done += volt_barrier_wait(&b, &w, nobody) != VOLT_PENDING;
  }
  volt_barrier_destroy(&b);
  return done;
}

/* send, get */
static uint64_t run_watch(uint64_t operations) {
  volt_watch w;
  uint64_t memory = 0, value = 0, done = 0;
  volt_watch_init(&w, sizeof memory, &memory, &value);
  for (uint64_t i = 0; i < operations; i++) {
    volt_watch_send(&w, &i);
    volt_watch_get(&w, &value);
    done += value == i;
  }
  volt_watch_destroy(&w);
  return done;
}

/* is it cancelled? */
static uint64_t run_token(uint64_t operations) {
  volt_token t = VOLT_TOKEN_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) done += !volt_token_is_cancelled(&t);
  volt_token_destroy(&t);
  return done;
}

static rt_outcome measure(const rt_options *o, family_fn *run) {
  uint64_t operations = o->operations;
  chan_sleeper sleeper;
  chan_sleeper_start(&sleeper);
  run(rt_warm_up(operations));
  uint64_t cpu_ns = rt_cpu_ns();
  uint64_t start_ns = volt_now_ns();
  uint64_t done = run(operations);
  double ns = (double)(volt_now_ns() - start_ns);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  chan_sleeper_end(&sleeper);
  rt_require(done == operations, "every operation succeeds");
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, ns / (double)operations);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / (double)operations);
  return outcome;
}

static rt_outcome family_notify(const rt_options *o) {
  return measure(o, run_notify);
}
static rt_outcome family_oneshot(const rt_options *o) {
  return measure(o, run_oneshot);
}
static rt_outcome family_latch(const rt_options *o) {
  return measure(o, run_latch);
}
static rt_outcome family_once(const rt_options *o) {
  return measure(o, run_once);
}
static rt_outcome family_cond(const rt_options *o) {
  return measure(o, run_cond);
}
static rt_outcome family_barrier(const rt_options *o) {
  return measure(o, run_barrier);
}
static rt_outcome family_watch(const rt_options *o) {
  return measure(o, run_watch);
}
static rt_outcome family_token(const rt_options *o) {
  return measure(o, run_token);
}

const rt_case chan_family_cases[] = {{"family", "notify", family_notify},
                                     {"family", "oneshot", family_oneshot},
                                     {"family", "latch", family_latch},
                                     {"family", "once", family_once},
                                     {"family", "cond", family_cond},
                                     {"family", "barrier", family_barrier},
                                     {"family", "watch", family_watch},
                                     {"family", "token", family_token},
                                     {NULL, NULL, NULL}};
