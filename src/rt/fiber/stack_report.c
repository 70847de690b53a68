/* stack_report.c: a fiber that overflows its stack is named before the process ends.
 *
 * Algorithm: below a stack is a guard, so the first access beyond it is a fault. There is no room
 * left for the frame of a signal handler, so each worker has an alternate signal stack. The handler
 * looks whether the address is in the guard of the fiber that runs on this thread. If it is, the
 * handler says so, puts the handler back that was there before, and returns: the fault occurs
 * again, and whatever else looks into it, a core included, finds the fiber's own registers.
 *
 * All other faults are passed on to the handler that was there before. The alternate stack is the
 * one difference: it is asked for, because an overflow could not be reported without it, so that
 * handler runs there, too, on threads that have one.
 *
 * The handler belongs to the process. It comes with the first runtime that reports, and goes with the
 * last, unless the program has put another handler above it; then it stays, because that one may
 * call it.
 *
 * Race
 *   R1  Interleaving: a thread forks while another has the lock, and the handler comes or goes.
 *       Prevented by: fork() takes the lock before (at_fork.h). The handler stays in the child, where
 *       the parent's runtimes do not end.
 *
 * Signals: the handler uses no lock, no memory but its own frame, and of the thread's own variables
 * one that is there from the beginning of the thread (REPORT_TLS). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigaction, sigaltstack */
#endif
#include "stack_report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../core/os/at_fork.h"
#include "../../core/os/check.h"
#include "../../core/os/probe.h"
#include "../host/runtime.h"
#include "fiber.h"

/* The C library may have to allocate the first time that a thread asks for a variable of a library
 * that was loaded later (dlopen()). musl never does, and does not load a library that says this. */
#ifdef __GLIBC__
#define REPORT_TLS VOLT_TLS_FROM_THE_BEGINNING_
#else
#define REPORT_TLS
#endif

/* The worker whose tasks this thread runs, while it reports; else NULL. */
static _Thread_local volt_worker *report_worker REPORT_TLS;

static volt_short_lock report_lock;
static unsigned report_runtimes;       /* under the lock, like all that follows */
static bool report_is_there;           /* the handler: maybe below another */
static struct sigaction report_before; /* not changed while it is there */

static bool stack_report_is_wanted(const volt_rt *rt) {
  if (VOLT_TOOLS_ASAN_) return false; /* it has a report of its own */
  return VOLT_DEBUG || (rt->config.flags & VOLT_RT_STACK_REPORT);
}

void volt_stack_report_used_(const volt_fiber *f) {
#if VOLT_DEBUG
  size_t used = volt_stack_used_(&f->stack);
  if (used <= f->stack.bytes / 4 * 3) return;
  volt_warn_("volt_fiber", "fiber %p '%s' has used %zu of the %zu KiB of its stack",
             (const void *)f, f->name ? f->name : "", (used + 1023) / 1024, f->stack.bytes / 1024);
#else
  (void)f;
#endif
}

/* ---- in the handler ---- */

typedef struct report_text {
  char text[256];
  size_t length;
} report_text;

static void stack_report_add(report_text *t, const char *text) {
  while (*text && t->length < sizeof t->text - 1) t->text[t->length++] = *text++;
}

static void stack_report_add_number(report_text *t, uint64_t n, unsigned base) {
  char digits[24];
  size_t at = sizeof digits;
  digits[--at] = '\0';
  do {
    digits[--at] = "0123456789abcdef"[n % base];
    n /= base;
  } while (n > 0);
  stack_report_add(t, digits + at);
}

static void stack_report_add_address(report_text *t, uintptr_t address) {
  stack_report_add(t, "0x");
  stack_report_add_number(t, address, 16);
}

static void stack_report_print(const volt_fiber *f) {
  report_text t = {.length = 0};
  stack_report_add(&t, "volt: fiber ");
  if (f->name) {
    stack_report_add(&t, "'");
    for (size_t i = 0; f->name[i] && i < 64; i++) stack_report_add(&t, (char[]){f->name[i], '\0'});
    stack_report_add(&t, "'");
  } else {
    stack_report_add_address(&t, (uintptr_t)f);
  }
  stack_report_add(&t, " has overflowed its stack of ");
  stack_report_add_number(&t, volt_stack_size_(&f->stack) / 1024, 10);
  stack_report_add(&t, " KiB (its function is at ");
  stack_report_add_address(&t, (uintptr_t)f->fn);
  stack_report_add(&t, ")\n");
  if (write(STDERR_FILENO, t.text, t.length) < 0) { /* there is no other place for it */
  }
}

/* The fiber that runs on this thread, or NULL. */
static volt_fiber *stack_report_fiber(volt_worker *w) {
  volt_blocker_ **here = w ? w->fibers.blocker : NULL;
  volt_blocker_ *blocker = here ? *here : NULL;
  if (!blocker || !blocker->block_on) return NULL;
  return volt_container_of(blocker, volt_fiber, blocker);
}

static void stack_report_pass_on(int number, siginfo_t *info, void *context) {
  const struct sigaction *before = &report_before;
  bool has_handler = before->sa_flags & SA_SIGINFO ||
                     (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN);
  bool is_fault = info->si_code > 0; /* else it was sent: it does not come again by itself */
  if (!has_handler) {
    if (!is_fault && before->sa_handler == SIG_IGN) return;
    sigaction(number, before, NULL);
    if (!is_fault) raise(number);
    return;
  }
  if ((unsigned)before->sa_flags & SA_RESETHAND) signal(number, SIG_DFL);
  if (before->sa_flags & SA_SIGINFO) {
    before->sa_sigaction(number, info, context);
  } else {
    before->sa_handler(number);
  }
}

static void stack_report_handle(int number, siginfo_t *info, void *context) {
  int saved = errno;
  volt_fiber *f = stack_report_fiber(report_worker);
  bool is_overflow = f && info->si_code > 0 && volt_stack_guards_(&f->stack, info->si_addr);
  if (is_overflow) {
    VOLT_PROBE4(fiber__overflow, f, f->fn, f->stack.bottom, f->stack.bytes);
    stack_report_print(f);
    sigaction(number, &report_before, NULL); /* the fault comes again */
  }
  errno = saved;
  if (!is_overflow) stack_report_pass_on(number, info, context);
}

/* ---- the handler comes and goes, under the lock ---- */

static bool stack_report_is_on_top(struct sigaction *now) {
  sigaction(SIGSEGV, NULL, now);
  return now->sa_flags & SA_SIGINFO && now->sa_sigaction == stack_report_handle;
}

/* If it is there already, it is below another handler, and may be called by that. Above that again,
 * each would pass on to the other. */
static void stack_report_install(void) {
  struct sigaction now;
  if (report_is_there) return;
  sigaction(SIGSEGV, NULL, &report_before);
  memset(&now, 0, sizeof now);
  now.sa_sigaction = stack_report_handle;
  now.sa_mask = report_before.sa_mask;
  now.sa_flags = SA_SIGINFO | SA_ONSTACK | (report_before.sa_flags & (SA_NODEFER | SA_RESTART));
  report_is_there = sigaction(SIGSEGV, &now, NULL) == 0;
}

static void stack_report_remove(void) {
  struct sigaction now;
  if (!report_is_there || !stack_report_is_on_top(&now)) return;
  sigaction(SIGSEGV, &report_before, NULL);
  report_is_there = false;
}

static void stack_report_take_lock(void) {
  volt_short_lock_lock_(&report_lock);
}

static void stack_report_leave_lock(void) {
  volt_short_lock_unlock_(&report_lock);
}

/* R1 */
static VOLT_AT_LOAD_(VOLT_FORK_STACK_REPORT_) void stack_report_load(void) {
  volt_at_fork_(stack_report_take_lock, stack_report_leave_lock, stack_report_leave_lock);
}

void volt_stack_report_open_(volt_rt *rt) {
  if (!stack_report_is_wanted(rt)) return;
  stack_report_take_lock();
  if (report_runtimes++ == 0) stack_report_install();
  stack_report_leave_lock();
}

/* ---- alternate stacks ---- */

static size_t stack_report_stack_bytes(void) {
  long least = 0;
#ifdef _SC_MINSIGSTKSZ
  least = sysconf(_SC_MINSIGSTKSZ); /* it grows with the processor's registers */
#endif
  return (size_t)32 * 1024 + (size_t)(least > 2048 ? least : 2048);
}

/* Without memory for it a fault of this thread is reported by the system only. */
static void stack_report_map_stack(volt_worker *w) {
  void *memory = mmap(NULL, stack_report_stack_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) w->signal_stack = memory;
}

void volt_stack_report_begin_(volt_worker *w) {
  if (!stack_report_is_wanted(w->rt)) return;
  if (!w->signal_stack) stack_report_map_stack(w);
  w->has_signal_stack = false;
  if (w->signal_stack) {
    stack_t before, own = {.ss_sp = w->signal_stack, .ss_size = stack_report_stack_bytes()};
    w->has_signal_stack = sigaltstack(&own, &before) == 0;
    if (w->has_signal_stack && !(before.ss_flags & SS_DISABLE)) { /* the thread keeps its own */
      w->has_signal_stack = sigaltstack(&before, NULL) != 0;
    }
  }
  w->reported_before = report_worker;
  report_worker = w;
}

void volt_stack_report_end_(volt_worker *w) {
  if (!stack_report_is_wanted(w->rt)) return;
  report_worker = w->reported_before;
  stack_t none = {.ss_flags = SS_DISABLE};
  if (w->has_signal_stack) sigaltstack(&none, NULL);
}

void volt_stack_report_close_(volt_rt *rt) {
  if (!stack_report_is_wanted(rt)) return;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (rt->worker[i].signal_stack) munmap(rt->worker[i].signal_stack, stack_report_stack_bytes());
  }
  stack_report_take_lock();
  if (--report_runtimes == 0) stack_report_remove();
  stack_report_leave_lock();
}
