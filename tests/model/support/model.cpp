// model.cpp: runs models, each in a process of its own with a time limit, and the futex they use.
//
//   PROGRAM                      every model
//   PROGRAM --list               their names
//   PROGRAM [--seconds S] [--preemptions N] [--verbose] [--record] NAME...
//
// --record: a line more for each, for the ledger: "record NAME VERDICT SEARCH INTERLEAVINGS", see
// tools/prove/ledger.py.
// Without --seconds one model may compute for VOLT_MODEL_SECONDS of the environment, or 60.
// A bounded search is first made with one preemption, then with two, and so on: what few find is far
// from the beginning of the search with many. Each but the last takes at most its share of the time.
// A model is "exhausted" (the last search ended), "truncated" (out of time: no proof) or FAILED. One that
// must fail is "rejected" or FAILED. Exit code 0: none failed; 1: some did; 2: usage.
#define VOLT_MODEL_CHECKER
#include "model.hpp"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ostream>
#include <streambuf>

#include "core/hooks/wait_times.h"
#include "core/inspect/sleepers.h"
#include "core/os/futex.h"
#include "core/park/blocker.h"
#include "core/park/locals.h"

// ---- where the checker loses its way ----

// A thread that goes to sleep yields, too: it may go on when each other thread has come one step further,
// or cannot. No other thread can when the last one that runs ends; the checker looks for that only where a
// thread yields. So a wait with a deadline could not end there, and the checker went on with a thread that
// had ended, from its beginning.
#define NO_YIELDS_AT_END_(scheduler, thread_info, count)                       \
  template <>                                                                  \
  void rl::tree_search_scheduler<rl::scheduler<count>, rl::thread_info<count>, \
                                 count>::thread_finished_impl() {              \
    if (running_threads_count == 0) purge_blocked_threads();                   \
  }
#define NO_YIELDS_AT_END(count)                                                      \
  NO_YIELDS_AT_END_(full_search_scheduler, tree_search_scheduler_thread_info, count) \
  NO_YIELDS_AT_END_(context_bound_scheduler, context_bound_scheduler_thread_info, count)
NO_YIELDS_AT_END(2)
NO_YIELDS_AT_END(3)
NO_YIELDS_AT_END(4)

// ---- for all files: model_atomic.hpp ----

VOLT_MODEL_SHARED_()

unsigned volt_model_thread() {
  return rl::ctx().current_thread();
}

bool volt_model_choice() {
  return rl::ctx().rand(2, rl::sched_type_user) != 0;
}

void volt_model_fence() {
  rl::atomic_thread_fence(rl::mo_seq_cst, $);
}

// The checker's new and delete are inline functions: they are those of every file if one has them.
__attribute__((used)) static void *(*const new_of_all[])(size_t) = {&operator new,
                                                                    &operator new[] };
__attribute__((used)) static void (*const delete_of_all[])(void *) = {&operator delete,
                                                                      &operator delete[] };

// ---- the futex: asleep by address, never touching the word to wake ----

static struct {
  const void *address;
  rl::thread_id_t thread;
  bool naps;
} asleep[8];
static unsigned sleepers;

// Time passes when a deadline has: to that deadline.
static uint64_t now_ns;

static void wakes_up(unsigned i) {
  for (sleepers--; i < sleepers; i++) asleep[i] = asleep[i + 1];
}

// The library's naps, which nobody has to end, are 20 us to 26 ms long. A nap ends when every other
// thread has come one step further, or cannot, or at any moment after that: so it is a yield. A wake may
// be spent on it.
static bool is_nap(uint64_t deadline_ns) {
  return deadline_ns >= 20000 && deadline_ns <= 26000000;
}

// Returns whether it was over before anybody woke it.
static bool sleep_at(rl::context &c, const void *address, uint64_t deadline_ns) {
  rl::thread_id_t self = c.current_thread();
  bool naps = is_nap(deadline_ns);
  asleep[sleepers].address = address;
  asleep[sleepers].thread = self;
  asleep[sleepers++].naps = naps;
  rl::unpark_reason reason = rl::unpark_reason_timeout;
  if (naps) {
    c.yield(1, $);
  } else {
    reason = c.park_current_thread(deadline_ns != VOLT_NO_DEADLINE, false, false, $);
  }
  if (reason == rl::unpark_reason_normal) return false;
  for (unsigned i = 0; i < sleepers; i++) {
    if (asleep[i].thread != self) continue;
    wakes_up(i);
    return true;
  }
  return false;
}

int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns) {
  // The kernel reads the newest value, and goes to sleep in the same step; so does a CAS that fails.
  uint32_t now = UINT32_MAX;
  word->cas_strong(now, now, rl::mo_relaxed, $);
  if (now != seen) return VOLT_OK;
  if (!sleep_at(rl::ctx(), word, deadline_ns)) return VOLT_OK;
  if (!is_nap(deadline_ns) && now_ns < deadline_ns) now_ns = deadline_ns;
  return VOLT_ETIMEDOUT;
}

// Any of those who sleep there may be the next: the kernel promises no order.
static unsigned next_to_wake(rl::context &c, const void *address) {
  unsigned found[8], count = 0;
  for (unsigned i = 0; i < sleepers; i++) {
    if (asleep[i].address == address) found[count++] = i;
  }
  if (count == 0) return sleepers;
  return found[count == 1 ? 0 : c.rand(count, rl::sched_type_user)];
}

void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count) {
  rl::context &c = rl::ctx();
  c.sched();
  for (; count > 0; count--) {
    unsigned i = next_to_wake(c, word);
    if (i == sleepers) return;
    rl::thread_id_t thread = asleep[i].thread;
    bool naps = asleep[i].naps;
    wakes_up(i);
    if (!naps) c.unpark_thread(thread, false, $);
  }
}

// Goes on when every other thread has come one step further, or cannot; and then sees the newest.
void volt_yield_(void) {
  rl::ctx().yield(1, $);
}

// What kinds of objects are called, for the messages of every program.
#include "core/hooks/kind.c"

// Names and counts order nothing, so no model has them, but that of names.
__attribute__((weak)) void volt_unname(const void *) {
}

volt_kind_ volt_kind_of_(struct volt_future *) {
  return VOLT_KIND_OTHER_;
}

__attribute__((weak)) void volt_wait_times_begin_(volt_future *, const volt_ctx *) {
}
__attribute__((weak)) int volt_wait_times_registered_(volt_future *, volt_ctx *) {
  return VOLT_PENDING;
}
__attribute__((weak)) void volt_wait_times_end_(volt_future *) {
}
__attribute__((weak)) void volt_wait_times_ended_(const volt_future *) {
}
__attribute__((weak)) uint64_t volt_wait_times_start_(void) {
  return 0;
}
__attribute__((weak)) void volt_wait_times_stop_(volt_kind_, const void *, uint64_t) {
}

void volt_count_from_outside_(volt_kind_, volt_counter_, uint64_t) {
}

// One for each thread of the model; the constructor and check() are one more.
static void *slots[8];
void **volt_thread_slot_(void) {
  return &slots[rl::ctx().current_thread()];
}

static void *calls[8];
void **volt_thread_calls_(void) {
  return &calls[rl::ctx().current_thread()];
}

static volt_blocker_ *blocker[8];
volt_blocker_ **volt_thread_blocker_(void) {
  return &blocker[rl::ctx().current_thread()];
}

// Of a model in which fibers wait by address; each has one queue, so that addresses share it.
volt_fifo_ *volt_model_fiber_futex;
volt_fifo_ *volt_fiber_futex_queue_(const void *) {
  return volt_model_fiber_futex;
}

// Of a program with an inspector the library has these itself.
__attribute__((weak)) void volt_describe_state_(volt_description_ *, const char *, ...) {
}
__attribute__((weak)) void volt_describe_as_(volt_description_ *, const char *, volt_kind_,
                                             const void *) {
}
__attribute__((weak)) void volt_sleep_begin_(const volt_call_ *, uint64_t) {
}
__attribute__((weak)) void volt_sleep_end_(void) {
}
volt_sleeper_list_ *volt_model_sleepers;
volt_sleeper_slot_ *volt_model_slots[8]; // one for each thread of the model
volt_sleeper_slot_ *volt_thread_sleeper_(void) {
  return volt_model_slots[rl::ctx().current_thread()];
}
volt_sleeper_list_ *volt_sleepers_of_process_(void) {
  return volt_model_sleepers;
}

// ---- what base.c is elsewhere ----

const char *volt_strresult(int) {
  return "a result";
}

uint64_t *volt_thread_random_(void) {
  static uint64_t state; // every select begins with the same branch: models name the branches
  state = 1;
  return &state;
}

uint32_t volt_thread_number_(void) {
  return rl::ctx().current_thread();
}

uint64_t volt_now_ns(void) {
  return now_ns;
}
uint64_t volt_deadline_ns(uint64_t delay_ns) {
  return delay_ns;
}

// In memory that the parent reads.
static struct report {
  unsigned long interleavings;
  unsigned long before; // the last search
  char failure[256];
} * report;

void volt_panic_(const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int used = snprintf(report->failure, sizeof report->failure, "%s: ", where);
  vsnprintf(report->failure + used, sizeof report->failure - static_cast<size_t>(used), format,
            args);
  va_end(args);
  rl::ctx().fail_test(report->failure, rl::test_result_user_assert_failed, $);
  abort();
}

void volt_warn_(const char *, const char *, ...) {
}

// ---- running one model ----

bool volt_model_constructing;

static unsigned preemptions = 3;
static model_case *cases;
static const model_case *current;

model_case::model_case(const char *name_, unsigned threads_, search how_, size_t size_,
                       model *(*make_)(void *), bool must_fail_)
    : name(name_), threads(threads_), how(how_), size(size_), make(make_), must_fail(must_fail_) {
  model_case **last = &cases;
  while (*last) last = &(*last)->next;
  next = nullptr;
  *last = this;
}

template <unsigned count>
struct suite : rl::test_suite<suite<count>, count> {
  alignas(16) unsigned char memory[MODEL_BYTES];
  model *running;

  void before() {
    sleepers = 0;
    now_ns = 0;
    memset(slots, 0, sizeof slots);
    memset(blocker, 0, sizeof blocker);
    report->interleavings += 1;
    volt_model_constructing = true;
    running = current->make(memory);
    volt_model_constructing = false;
  }
  void thread(unsigned index) {
    running->thread(index);
  }
  void after() {
    running->check();
    running->~model();
  }
};

// Relacy's streams must not allocate while it runs: nothing is printed unless asked for.
struct null_buffer : std::streambuf {
  int overflow(int c) override {
    return c;
  }
};

template <unsigned count>
static bool simulate(bool verbose) {
  static null_buffer nowhere;
  static std::ostream silent(&nowhere);
  rl::test_params params;
  params.search_type = current->how == search::full ? rl::sched_full : rl::sched_bound;
  params.context_bound = preemptions;
  params.execution_depth_limit = 4000;
  params.progress_stream = &silent;
  if (!verbose) params.output_stream = &silent;
  bool passed = rl::simulate<suite<count>>(params);
  if (!passed && report->failure[0] == 0) {
    snprintf(report->failure, sizeof report->failure, "%s",
             rl::test_result_str(params.test_result));
  }
  return passed;
}

static bool simulate_current(bool verbose) {
  switch (current->threads) {
    case 2: return simulate<2>(verbose);
    case 3: return simulate<3>(verbose);
    default: return simulate<4>(verbose);
  }
}

static double now_s() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// How long all searches have computed.
static double searched_s() {
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

// In the child: run the model; SIGPROF ends a search that computes for longer. What else the machine
// does meanwhile does not shorten it.
static int search_for(double limit_s, bool verbose) {
  struct itimerval limit = {};
  limit.it_value.tv_sec = static_cast<time_t>(limit_s);
  limit.it_value.tv_usec = static_cast<suseconds_t>((limit_s - floor(limit_s)) * 1e6);
  setitimer(ITIMER_PROF, &limit, nullptr);
  return simulate_current(verbose) ? 0 : 1;
}

enum class ended { exhausted, truncated, failed };

static ended how_ended(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ended::exhausted;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) return ended::truncated;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) {
    snprintf(report->failure, sizeof report->failure, "the checker itself ended with status %#x",
             static_cast<unsigned>(status));
  }
  return ended::failed;
}

// In a process of its own.
static ended search_apart(double limit_s, bool verbose) {
  fflush(stdout);
  report->before = report->interleavings;
  pid_t child = fork();
  if (child == 0) _exit(search_for(limit_s, verbose));
  int status = 0;
  waitpid(child, &status, 0);
  return how_ended(status);
}

// *exhausted: up to how many preemptions. preemptions: of the last search.
static ended search_all(double limit_s, bool verbose, unsigned *exhausted) {
  unsigned most = preemptions;
  double end_s = searched_s() + limit_s;
  ended how = ended::exhausted;
  *exhausted = 0;
  if (current->how == search::full) return search_apart(limit_s, verbose);
  for (preemptions = 1;; preemptions++) {
    double left_s = end_s - searched_s();
    double share_s = preemptions < most ? limit_s / most : left_s;
    how = search_apart(fmax(share_s, 0.001), verbose);
    if (how == ended::exhausted && *exhausted == preemptions - 1) *exhausted = preemptions;
    if (how == ended::failed || preemptions >= most) break;
  }
  return how;
}

static const char *outcome(bool must_fail, ended how) {
  static const char *const words[] = {"exhausted", "truncated", "FAILED"};
  if (!must_fail) return words[static_cast<int>(how)];
  if (how == ended::failed) return "rejected";
  snprintf(report->failure, sizeof report->failure, "a form known to be wrong was not rejected");
  return "FAILED";
}

static void describe_search(char *to, size_t size, ended how, unsigned exhausted) {
  int used = snprintf(to, size, current->how == search::full ? "full search" : "%u preemptions",
                      preemptions);
  bool is_part = how == ended::truncated && exhausted > 0;
  if (is_part) snprintf(to + used, size - static_cast<size_t>(used), " (%u exhausted)", exhausted);
}

// "full"; "3": with so many preemptions; "1/3": so it was made, and exhausted with one.
static void record(const model_case *m, const char *word, ended how, unsigned exhausted) {
  printf("record %s %s ", m->name, word);
  if (m->how == search::full) {
    printf("full");
  } else if (how == ended::truncated) {
    printf("%u/%u", exhausted, preemptions);
  } else {
    printf("%u", preemptions);
  }
  printf(" %lu\n", report->interleavings - report->before);
}

static bool run(const model_case *m, double limit_s, bool verbose, bool records) {
  current = m;
  memset(report, 0, sizeof *report);
  double start = now_s();
  if (m->must_fail) limit_s = fmax(limit_s, 10); // it ends when it has failed
  unsigned most = preemptions, exhausted;
  ended how = search_all(limit_s, verbose, &exhausted);
  bool is_broken = strncmp(report->failure, "the checker", 11) == 0;
  const char *word = outcome(m->must_fail && !is_broken, how);
  char searched[48];
  describe_search(searched, sizeof searched, how, exhausted);
  if (records) record(m, word, how, exhausted);
  preemptions = most;
  printf("%-32s %-9s %u threads, %s: %lu interleavings, %.1f s%s%s\n", m->name, word, m->threads,
         searched, report->interleavings, now_s() - start, report->failure[0] ? ": " : "",
         report->failure);
  return strcmp(word, "FAILED") != 0;
}

static bool named(const model_case *m, int argc, char **argv, int first) {
  for (int i = first; i < argc; i++) {
    if (strcmp(argv[i], m->name) == 0) return true;
  }
  return first == argc;
}

int main(int argc, char **argv) {
  const char *limit = getenv("VOLT_MODEL_SECONDS");
  double limit_s = limit ? atof(limit) : 60;
  bool verbose = false, list = false, records = false;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      limit_s = atof(argv[++i]);
    } else if (strcmp(argv[i], "--preemptions") == 0 && i + 1 < argc) {
      preemptions = static_cast<unsigned>(atoi(argv[++i]));
    } else if (strcmp(argv[i], "--verbose") == 0) {
      verbose = true;
    } else if (strcmp(argv[i], "--record") == 0) {
      records = true;
    } else if (strcmp(argv[i], "--list") == 0) {
      list = true;
    } else {
      fprintf(
          stderr,
          "usage: %s [--list] [--seconds S] [--preemptions N] [--verbose] [--record] [NAME...]\n",
          argv[0]);
      return 2;
    }
  }
  report = static_cast<struct report *>(
      mmap(nullptr, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  unsigned ran = 0, failed = 0;
  for (const model_case *m = cases; m; m = m->next) {
    if (!named(m, argc, argv, i)) continue;
    if (list) {
      puts(m->name);
      continue;
    }
    ran++;
    if (!run(m, limit_s, verbose, records)) failed++;
  }
  if (list) return 0;
  printf("%u passed, %u failed\n", ran - failed, failed);
  return failed ? 1 : ran == 0 ? 2 : 0;
}
