/* watchdog_stack.c: the stack of a worker that stands still: VOLT_SIGHT_STACKS.
 *
 * Algorithm
 *   The thread is sent a signal. The handler follows the chain of frame pointers from the registers
 *   of the code that it has interrupted. It reads each link by process_vm_readv(2) of its own process,
 *   so a chain that leads nowhere, because that code has no frame pointers, is no fault. It allocates
 *   nothing, takes no lock, and unwinds nothing. What it has found is named by the thread that asks.
 *   All threads of a runtime leave this signal unblocked (thread.c).
 *
 * Race
 *   R1  Interleaving: the thread that asks has waited long enough and goes on; the handler runs after
 *       that, and writes what is read or asked for anew. Prevented by: the handler takes the request,
 *       and the asker withdraws it, by one compare-and-swap. If the handler was first, the asker waits
 *       for it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv, tgkill, registers */
#endif
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <volt/detail/atomic.h>

#include "../../rt/sched/thread.h"
#include "watchdog.h"

#define STALL_IDLE UINT32_C(0)
#define STALL_TAKEN (UINT32_C(1) << 30)
#define STALL_DONE (UINT32_C(1) << 31) /* else: the thread that is asked */
enum { STALL_NAPS = 20, STALL_FRAME_MAX = 1 << 20 };

static VOLT_ATOMIC(uint32_t) stall_asked;
static uintptr_t stall_pc[VOLT_STALL_FRAMES_]; /* the handler's while TAKEN */
static unsigned stall_count;
static struct sigaction stall_before; /* while it is taken */
static bool stall_is_taken;

static bool stall_read(uintptr_t from, uintptr_t *words) {
  struct iovec here = {.iov_base = words, .iov_len = 2 * sizeof *words};
  struct iovec there = {.iov_base = (void *)from, .iov_len = 2 * sizeof *words};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)here.iov_len;
}

/* A frame pointer points to the one before it, and behind that is where its function returns to. */
static VOLT_UNUSED_OK_ void stall_walk(uintptr_t pc, uintptr_t frame) {
  uintptr_t words[2];
  stall_count = 0;
  stall_pc[stall_count++] = pc;
  while (stall_count < VOLT_STALL_FRAMES_ && frame % sizeof frame == 0 &&
         stall_read(frame, words)) {
    if (words[1] < 4096) return;
    stall_pc[stall_count++] = words[1];
    if (words[0] <= frame || words[0] - frame > STALL_FRAME_MAX) return;
    frame = words[0];
  }
}

static void stall_handle(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  uint32_t self = (uint32_t)syscall(SYS_gettid);
  const ucontext_t *interrupted = context;
  (void)signal_number;
  (void)info;
  /* watchdog_stack:H1 <- watchdog_stack:S1: the handler has the arrays to itself; R1 */
  if (volt_cas_acquire(&stall_asked, &self, STALL_TAKEN)) {
#if defined(__x86_64__)
    stall_walk((uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP],
               (uintptr_t)interrupted->uc_mcontext.gregs[REG_RBP]);
#elif defined(__aarch64__)
    stall_walk((uintptr_t)interrupted->uc_mcontext.pc,
               (uintptr_t)interrupted->uc_mcontext.regs[29]);
#else
    (void)interrupted;
    stall_count = 0;
#endif
    /* watchdog_stack:H2 -> watchdog_stack:S2: the asker sees what the handler has found */
    volt_store_release(&stall_asked, STALL_DONE);
  }
  errno = saved;
}

int volt_stall_signal_take_(void) {
  struct sigaction mine = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  mine.sa_sigaction = stall_handle;
  sigfillset(&mine.sa_mask);
  int number = volt_thread_signal_();
  if (sigaction(number, NULL, &stall_before) != 0) return VOLT_EAGAIN;
  bool is_free = !(stall_before.sa_flags & SA_SIGINFO) && stall_before.sa_handler == SIG_DFL;
  if (!is_free) return VOLT_EAGAIN;
  stall_is_taken = true; /* before it is: volt_stall_signal_forget_() */
  if (sigaction(number, &mine, NULL) == 0) return VOLT_OK;
  stall_is_taken = false;
  return VOLT_EAGAIN;
}

/* One that is still pending must not end the process, so the signal is ignored from now on. */
void volt_stall_signal_give_(void) {
  struct sigaction ignored = {.sa_handler = SIG_IGN};
  (void)sigaction(volt_thread_signal_(), &ignored, NULL);
  (void)sigaction(volt_thread_signal_(), &stall_before, NULL);
  stall_is_taken = false;
}

void volt_stall_signal_forget_(void) {
  if (stall_is_taken) volt_stall_signal_give_();
}

unsigned volt_stall_stack_(int tid, uintptr_t pc[VOLT_STALL_FRAMES_]) {
  const struct timespec nap = {.tv_nsec = 1000000};
  /* watchdog_stack:S1 -> watchdog_stack:H1: the asker is done with the arrays */
  volt_store_release(&stall_asked, (uint32_t)tid);
  if (syscall(SYS_tgkill, getpid(), tid, volt_thread_signal_()) != 0) return 0;
  for (unsigned naps = 0;; naps++) {
    /* watchdog_stack:S2 <- watchdog_stack:H2: the asker sees what the handler has found */
    uint32_t seen = volt_load_acquire(&stall_asked);
    if (seen == STALL_DONE) break;
    bool is_late = naps >= STALL_NAPS && seen == (uint32_t)tid;
    /* relaxed, no data: a request is withdrawn; R1 */
    if (is_late && volt_cas_relaxed(&stall_asked, &seen, STALL_IDLE)) return 0;
    nanosleep(&nap, NULL);
  }
  for (unsigned i = 0; i < stall_count; i++) pc[i] = stall_pc[i];
  return stall_count;
}
