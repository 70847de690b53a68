/* fork_steps.c: see fork_steps.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* registers of a ucontext_t */
#endif
#include "fork_steps.h"

#include "sanitizer.h"

/* The child of a fork() finds the sanitizers' own locks as another thread has left them: it hangs in their
 * allocator, whatever the library does. */
#if defined(__x86_64__) && defined(__linux__) && !UNDER_TSAN && !UNDER_ASAN

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <volt/detail/atomic.h>

enum { TRAP_FLAG = 0x100, SECONDS = 60, PATIENCE_NS = 300000000 };

/* Where the thread is sent from a function of another library: its own return addresses are put away. */
void fork_steps_back_(void);
__asm__(
    ".text\n"
    ".globl fork_steps_back_\n"
    "fork_steps_back_: int3\n");

extern const char __executable_start, etext;

/* Of the thread that goes step by step. */
static struct {
  uintptr_t last;    /* the instruction that it has done */
  uintptr_t outside; /* where it goes on after the function of another library; 0: it is in none */
  VOLT_ATOMIC(uintptr_t) at;
  VOLT_ATOMIC(uint32_t) stops, forks, forked; /* so many: its; fork() was called; fork() is done */
  sem_t waits;                                /* it has stopped, or ended */
} walk;
static pid_t walk_forker;

static bool walk_is_ours(uintptr_t pc) {
  return pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext;
}

/* Whether it was a locked instruction: with the prefix, or an exchange with memory. */
static bool walk_was_locked(uintptr_t pc) {
  const unsigned char *code = (const unsigned char *)pc;
  if (*code == 0x66) code++;
  if (*code == 0xf0) return true;
  if ((*code & 0xf0) == 0x40) code++;
  return (*code == 0x86 || *code == 0x87) && code[1] < 0xc0;
}

/* Whether the thread that forks sleeps: in fork() that is for a lock. */
static bool walk_forker_sleeps(void) {
  char path[64], stat[512];
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)walk_forker);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, stat, sizeof stat - 1);
  close(fd);
  stat[n > 0 ? n : 0] = 0;
  const char *name_ends = strrchr(stat, ')');
  return name_ends && name_ends[1] == ' ' && name_ends[2] == 'S';
}

static uint64_t walk_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Wait until all forks are done. Returns false: fork() waits for this thread, asleep or in a loop. */
static bool walk_until_forked(uint32_t stop) {
  uint64_t until_ns = 0;
  while (volt_load_acquire(&walk.forked) < stop) {
    if (volt_load_acquire(&walk.forks) < stop) {
      sched_yield();
      continue;
    }
    if (until_ns == 0) until_ns = walk_now_ns() + PATIENCE_NS;
    bool is_late = walk_forker_sleeps() || walk_now_ns() > until_ns;
    if (is_late && volt_load_acquire(&walk.forked) < stop) return false;
    sched_yield();
  }
  return true;
}

static void walk_stop(uintptr_t pc) {
  uint32_t stop = volt_load_relaxed(&walk.stops); /* this thread's */
  if (!walk_until_forked(stop)) return;
  volt_store_relaxed(&walk.at, pc);
  /* published by the semaphore */
  volt_store_release(&walk.stops, stop + 1);
  (void)sem_post(&walk.waits);
  (void)walk_until_forked(stop + 1);
}

static void walk_handle(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  uintptr_t pc = (uintptr_t)registers[REG_RIP];
  uintptr_t *stack = (uintptr_t *)registers[REG_RSP];
  (void)number;
  (void)info;
  if (pc == (uintptr_t)fork_steps_back_ + 1) {
    pc = walk.outside;
    walk.outside = 0;
    registers[REG_RIP] = (greg_t)pc;
    registers[REG_EFL] |= TRAP_FLAG;
    walk_stop(pc);
  } else if (!walk_is_ours(pc)) {
    if (!walk_is_ours(*stack)) stack += 2; /* the loader looks for the function */
    walk.outside = *stack;
    *stack = (uintptr_t)fork_steps_back_;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
  } else if (walk.last != 0 && walk_was_locked(walk.last)) {
    walk_stop(pc);
  }
  walk.last = walk_is_ours(pc) ? pc : 0;
}

static void *walk_main(void *arg) {
  const fork_steps *steps = (const fork_steps *)arg;
  void (*body)(void) = steps->body;
  __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  body();
  __asm__ volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  (void)sem_post(&walk.waits);
  return NULL;
}

/* ---- the process ---- */

static bool walk_fork(const fork_steps *steps, uint32_t stop) {
  uintptr_t at = volt_load_relaxed(&walk.at) - (uintptr_t)&__executable_start;
  if (steps->before) steps->before();
  volt_store_release(&walk.forks, stop);
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS); /* a hang is a failure */
    _exit(steps->child());
  }
  if (steps->after) steps->after();
  volt_store_release(&walk.forked, stop);
  int status = 1;
  bool is_well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
  if (!is_well) {
    fprintf(stderr, "fork_steps: stop %u, before %#zx: the child's status is %#x\n", stop,
            (size_t)at, (unsigned)status);
  }
  return is_well;
}

/* Returns the number of children; 0: one was not well. */
static uint32_t walk_through(const fork_steps *steps) {
  struct sigaction trap = {.sa_sigaction = walk_handle, .sa_flags = SA_SIGINFO};
  pthread_t thread;
  uint32_t children = 0;
  bool all_well = true;
  sigaction(SIGTRAP, &trap, NULL);
  (void)sem_init(&walk.waits, 0, 0);
  walk_forker = (pid_t)syscall(SYS_gettid);
  if (pthread_create(&thread, NULL, walk_main, (void *)(uintptr_t)steps) != 0) return 0;
  while (all_well) {
    while (sem_wait(&walk.waits) != 0) {
    }
    if (volt_load_acquire(&walk.stops) == children) break;
    all_well = walk_fork(steps, ++children);
  }
  if (all_well) pthread_join(thread, NULL);
  return all_well ? children : 0;
}

unsigned fork_steps_run(const fork_steps *steps) {
  int to[2];
  uint32_t children = 0;
  if (pipe(to) != 0) return 0;
  fflush(NULL);
  pid_t process = fork();
  if (process == 0) {
    alarm(4 * SECONDS);
    children = walk_through(steps);
    _exit(write(to[1], &children, sizeof children) == (ssize_t)sizeof children ? 0 : 1);
  }
  int status = 1;
  close(to[1]);
  if (process > 0) waitpid(process, &status, 0);
  if (status != 0)
    fprintf(stderr, "fork_steps: the process ended with status %#x\n", (unsigned)status);
  if (read(to[0], &children, sizeof children) != (ssize_t)sizeof children) children = 0;
  close(to[0]);
  return status == 0 ? children : 0;
}

static void walk_locks_once(void) {
  static VOLT_ATOMIC(uint32_t) word;
  (void)volt_exchange_acquire(&word, 1);
}

static int walk_is_well(void) {
  return 0;
}

bool fork_steps_work(void) {
  const fork_steps steps = {walk_locks_once, walk_is_well, NULL, NULL};
  return fork_steps_run(&steps) > 0;
}

#else

bool fork_steps_work(void) {
  return false;
}

unsigned fork_steps_run(const fork_steps *steps) {
  (void)steps;
  return 0;
}

#endif
