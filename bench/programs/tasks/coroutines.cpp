/* coroutines.cpp: the workloads of crew.c, sem.c, locks.c and runtime.c by C++20 coroutines, and
 * one that only they have: child, a coroutine that awaits another one, which is ready. STANDARD:
 * C++20 */
#include <algorithm>
#include <vector>
#include <volt/coro.hpp>

extern "C" {
#include "tasks.h"
}

namespace {

/* ---- crews ---- */

struct member {
  uint32_t index = 0;
  uint64_t operations = 0;
  uint64_t start_ns = 0, end_ns = 0, sum = 0;
};

/* What a member runs: all its operations. */
using loop_fn = volt::task<void>(member &m, void *object);

volt::task<void> chief(volt_rt *rt, std::vector<member> &members, loop_fn *loop, void *object) {
  std::vector<volt::join_handle<void>> handles;
  handles.reserve(members.size());
  for (member &m : members) handles.push_back(volt::spawn(rt, loop, m, object));
  for (auto &h : handles) co_await h;
}

rt_outcome run_once(volt_rt *rt, const rt_options *o, loop_fn *loop, void *object,
                    uint64_t operations, uint64_t *sum) {
  std::vector<member> members(o->tasks);
  for (uint32_t i = 0; i < o->tasks; i++) {
    members[i].index = i;
    members[i].operations = operations;
  }
  uint64_t cpu_ns = rt_cpu_ns();
  volt::spawn(rt, chief, rt, std::ref(members), loop, object).get();
  cpu_ns = rt_cpu_ns() - cpu_ns;
  uint64_t first_ns = UINT64_MAX, last_ns = 0, sum_ns = 0;
  for (const member &m : members) {
    first_ns = std::min(first_ns, m.start_ns);
    last_ns = std::max(last_ns, m.end_ns);
    sum_ns += m.end_ns - m.start_ns;
    *sum += m.sum;
  }
  double whole_ns = static_cast<double>(last_ns - first_ns);
  double all = static_cast<double>(operations) * o->tasks;
  rt_outcome outcome{};
  rt_measured(&outcome, RT_NS, whole_ns / all);
  rt_measured(&outcome, RT_CPU_NS, static_cast<double>(cpu_ns) / all);
  rt_measured(&outcome, RT_OVERLAP, static_cast<double>(sum_ns) / whole_ns / o->tasks);
  return outcome;
}

rt_outcome run_crew(const rt_options *o, loop_fn *loop, void *object) {
  volt_rt *rt = rt_create(o);
  uint64_t sum = 0;
  run_once(rt, o, loop, object, rt_warm_up(o->operations), &sum);
  rt_outcome outcome = run_once(rt, o, loop, object, o->operations, &sum);
  rt_require(sum == rt_in_all(o), "every coroutine has done as much as it should");
  rt_require(volt_rt_destroy(rt) == 0, "every task has ended by itself");
  return outcome;
}

void begin(member &m) {
  m.start_ns = volt_now_ns();
}

void end(member &m) {
  m.sum = m.operations;
  m.end_ns = volt_now_ns();
}

volt::task<void> yield_loop(member &m, void *) {
  begin(m);
  for (uint64_t i = 0; i < m.operations; i++) co_await volt::yield();
  end(m);
}

volt::task<void> sem_loop(member &m, void *object) {
  volt_sem &sem = *static_cast<volt_sem *>(object);
  begin(m);
  for (uint64_t i = 0; i < m.operations; i++) {
    auto permit = co_await volt::acquire_operation(sem, 1);
  }
  end(m);
}

volt::task<void> held_loop(member &m, void *object) {
  volt_sem &sem = *static_cast<volt_sem *>(object);
  begin(m);
  for (uint64_t i = 0; i < m.operations; i++) {
    auto permit = co_await volt::acquire_operation(sem, 1);
    co_await volt::yield();
  }
  end(m);
}

volt::task<void> mutex_loop(member &m, void *object) {
  volt_mutex &mutex = *static_cast<volt_mutex *>(object);
  begin(m);
  for (uint64_t i = 0; i < m.operations; i++) {
    auto guard = co_await volt::lock_operation(mutex);
  }
  end(m);
}

/* Member 0 serves, as in sem.c. */
volt::task<void> pingpong_loop(member &m, void *object) {
  volt_sem *sems = static_cast<volt_sem *>(object);
  begin(m);
  for (uint64_t i = 0; i < m.operations; i++) {
    if (m.index == 0) volt_sem_release(&sems[1], 1);
    auto permit = co_await volt::acquire_operation(sems[m.index], 1);
    (void)permit.disown();
    if (m.index == 1) volt_sem_release(&sems[0], 1);
  }
  end(m);
}

volt::task<uint64_t> child(uint64_t n) {
  co_return n + 1;
}

volt::task<void> child_loop(member &m, void *) {
  begin(m);
  uint64_t n = 0;
  while (n < m.operations) n = co_await child(n);
  end(m);
}

rt_outcome run_yield(const rt_options *o) {
  return run_crew(o, yield_loop, nullptr);
}

rt_outcome run_child(const rt_options *o) {
  return run_crew(o, child_loop, nullptr);
}

rt_outcome on_permits(const rt_options *o, uint32_t permits, loop_fn *loop) {
  volt::semaphore sem(permits);
  rt_outcome outcome = run_crew(o, loop, sem.c());
  rt_require(sem.available() == permits, "every permit was given back");
  return outcome;
}

rt_outcome run_alone(const rt_options *o) {
  return on_permits(o, 1, sem_loop);
}

rt_outcome run_sem(const rt_options *o) {
  return on_permits(o, o->amount, sem_loop);
}

rt_outcome run_held(const rt_options *o) {
  return on_permits(o, o->amount, held_loop);
}

rt_outcome run_mutex(const rt_options *o) {
  volt::mutex mutex;
  return run_crew(o, mutex_loop, mutex.c());
}

rt_outcome run_pingpong(const rt_options *o) {
  static volt_sem sems[2] = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0)};
  rt_outcome outcome = run_crew(o, pingpong_loop, sems);
  rt_require(volt_sem_available(&sems[0]) + volt_sem_available(&sems[1]) == 0,
             "every permit was taken");
  return outcome;
}

/* ---- spawn and join in batches ---- */

struct batches {
  volt_rt *rt;
  uint32_t size;
  uint64_t start_ns = 0, end_ns = 0, sum = 0;
};

volt::task<uint64_t> number(uint64_t n) {
  co_return n + 1;
}

volt::task<void> spawner(batches &b, uint64_t count) {
  std::vector<volt::join_handle<uint64_t>> children(b.size);
  b.start_ns = volt_now_ns();
  for (uint64_t n = 0; n < count; n++) {
    for (uint32_t i = 0; i < b.size; i++) children[i] = volt::spawn(b.rt, number(i));
    for (uint32_t i = 0; i < b.size; i++) b.sum += co_await children[i];
  }
  b.end_ns = volt_now_ns();
}

rt_outcome run_batches(batches &b, uint64_t count) {
  b.sum = 0;
  uint64_t cpu_ns = rt_cpu_ns();
  volt::spawn(b.rt, spawner, std::ref(b), count).get();
  cpu_ns = rt_cpu_ns() - cpu_ns;
  uint64_t size = b.size;
  rt_require(b.sum == count * (size * (size + 1) / 2), "every coroutine has run once");
  double all = static_cast<double>(count) * b.size;
  rt_outcome outcome{};
  rt_measured(&outcome, RT_NS, static_cast<double>(b.end_ns - b.start_ns) / all);
  rt_measured(&outcome, RT_CPU_NS, static_cast<double>(cpu_ns) / all);
  return outcome;
}

rt_outcome run_spawn(const rt_options *o) {
  batches b{rt_create(o), o->tasks};
  run_batches(b, rt_warm_up(o->operations));
  rt_outcome outcome = run_batches(b, o->operations);
  volt_rt_destroy(b.rt);
  return outcome;
}

/* ---- parked: as in runtime.c ---- */

struct shared {
  volt::semaphore sem{0}, all_parked{0}, all_served{0};
  uint64_t coroutines = 0;
  uint64_t tickets = 0, served = 0, out_of_turn = 0; /* plain: the worker's */
};

volt::task<void> parked(shared &s) {
  uint64_t ticket = s.tickets++;
  if (ticket + 1 == s.coroutines) s.all_parked.release(1);
  auto permit = co_await s.sem.acquire();
  s.out_of_turn += ticket != s.served;
  s.served += 1;
  if (s.served < s.coroutines) co_return; /* the permit goes on to the next */
  (void)permit.disown();
  s.all_served.release(1);
}

rt_outcome run_parked(const rt_options *o) {
  shared s;
  volt_rt *rt = rt_create(o);
  s.coroutines = o->tasks;
  double before = rt_resident_bytes();
  for (uint64_t i = 0; i < s.coroutines; i++) volt::spawn(rt, parked, std::ref(s)).detach();
  (void)s.all_parked.acquire().wait().disown();
  while (s.sem.waiters() < s.coroutines) continue; /* the last is on its way */
  rt_outcome outcome{};
  rt_measured(&outcome, RT_BYTES, (rt_resident_bytes() - before) / o->tasks);
  uint64_t start_ns = volt_now_ns();
  uint64_t cpu_ns = rt_cpu_ns();
  s.sem.release(1);
  (void)s.all_served.acquire().wait().disown();
  rt_measured(&outcome, RT_NS, static_cast<double>(volt_now_ns() - start_ns) / o->tasks);
  rt_measured(&outcome, RT_CPU_NS, static_cast<double>(rt_cpu_ns() - cpu_ns) / o->tasks);
  rt_require(s.out_of_turn == 0, "they come in the order in which they have queued");
  volt_rt_destroy(rt);
  return outcome;
}

} // namespace

extern "C" const rt_case rt_coroutine_cases[] = {{"alone-mutex", "coroutine", run_mutex},
                                                 {"alone-sem", "coroutine", run_alone},
                                                 {"mutex", "coroutine", run_mutex},
                                                 {"sem", "coroutine", run_sem},
                                                 {"held", "coroutine", run_held},
                                                 {"pingpong", "coroutine", run_pingpong},
                                                 {"spawn", "coroutine", run_spawn},
                                                 {"yield", "coroutine", run_yield},
                                                 {"parked", "coroutine", run_parked},
                                                 {"child", "coroutine", run_child},
                                                 {nullptr, nullptr, nullptr}};
