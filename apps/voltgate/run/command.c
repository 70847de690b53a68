/* command.c: a command under a permit.
 *
 * This process connects, waits, and forks the command; it holds the connection, and the command does not
 * have it. The parent has to stay, because it is what claims the permit again when the gate has ended, and
 * what knows, before its own end is seen, that the gate has the permit back: a script that runs one command behind
 * another finds it free. With --keep the command is executed in its place, with the connection.
 *
 * The command is as alone: it has the process group, the terminal and the standard streams of its parent, and
 * the signal mask and the ignored signals that it would have had. While it waits for its permit, this process has them,
 * too, so that Ctrl-C and Ctrl-Z do what they do to any command. Then:
 * - A signal that a process sends to the parent is sent on, and so is its own timer's, which exec() has kept. One that the
 *   terminal sends goes to the whole group, so the command has it already (si_code is SI_KERNEL); but a hangup
 *   goes to the leader of the session alone.
 * - If the command is stopped, the parent stops itself, so that a shell sees a stopped job; when it goes on, so
 *   does the command. It stops as by Ctrl-Z: where no shell would continue it, the kernel does not stop it.
 * - If the command dies by a signal, so does the parent, without a core of its own.
 * - If the parent is killed, so is the command (PR_SET_PDEATHSIG): as if it had been killed itself.
 *
 * Races
 *   R1  Interleaving: the parent is killed between vfork() and the child's prctl(). Prevented by: the child looks at
 *       its parent afterwards.
 *   R2  Interleaving: a signal comes as the command is forked. Prevented by: the parent blocks them before, and
 *       reads them from a signalfd afterwards; the child takes the mask as it was before.
 *   R3  Interleaving: the child of vfork() changes memory that the parent reads afterwards. Prevented by: it writes
 *       what the parent overwrites (number), and its own stack; it ends by execve() or _exit(). To copy the parent's pages
 *       would cost more than all else here.
 *   R4  Interleaving: the terminal sends a signal when the parent has blocked it, and the command is not there yet;
 *       the parent takes it for one that the command has. Prevented by: the parent looks, last before vfork(), which
 *       signals have come; the command has none of them.
 *   R5  Interleaving: a shell continues the group, and the parent hears only then that the command was stopped.
 *       Prevented by: SIGCONT is pending then, and the parent does not stop.
 *   R6  Interleaving: the same, behind that look at what is pending: SIGTSTP discards the SIGCONT, and the parent stops, and
 *       no process continues it. Prevented by: when SIGTSTP is pending, the parent looks whether the command is stopped still:
 *       the kernel continues the newest of a group first. A SIGCONT that comes later discards the SIGTSTP. */
#define _GNU_SOURCE /* sigset_t, SI_KERNEL */
#include "run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/process.h>
#include <volt/select.h>

#include "run/hold.h"
#include "run/jobs.h"

/* All that a process may send, but for what ends or stops it whatever it does, faults, and SIGTTIN and SIGTTOU, which
 * stop the group. SIGPIPE is here so that a warning that no process reads does not end this one. */
static const int run_signals[] = {SIGTERM, SIGINT,  SIGHUP,    SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGTSTP, SIGCONT, SIGWINCH,  SIGCHLD, SIGALRM, SIGPIPE,
                                  SIGPROF, SIGIO,   SIGVTALRM, SIGURG,  SIGPWR,  SIGXCPU};
enum { RUN_SIGNALS = sizeof run_signals / sizeof run_signals[0] };

struct run_child {
  struct run_hold hold;
  sigset_t mask;               /* as it was */
  sigset_t early;              /* what has come before the command was there */
  struct sigaction at_its_end; /* SIGCHLD, as it was */
  pid_t number;
  int status;
  bool is_stopped, is_over;
  struct run_jobs *jobs; /* or NULL */
  volt_signals signals;
  volt_signal signal;
  volt_op op;
};

/* ---- begin ---- */

/* In place of this process. Returns the exit code: it has failed. */
static int run_execute(char *const *words) {
  execvp(words[0], words);
  int e = errno;
  fprintf(stderr, "voltgate: run: %s: %s\n", words[0], strerror(e));
  return e == ENOENT ? RUN_EXIT_NOT_FOUND : RUN_EXIT_NOT_RUN;
}

static void run_child_begin(const struct run_child *c, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(RUN_EXIT_FAILED); /* R1 */
  sigaction(SIGCHLD, &c->at_its_end, NULL);
  sigprocmask(SIG_SETMASK, &c->mask, NULL);
  _exit(run_execute(c->hold.settings->words));
}

/* Returns false: it has failed, and nothing runs. */
static bool run_child_start(struct run_child *c) {
  const struct sigaction as_usual = {.sa_handler = SIG_DFL};
  pid_t parent = getpid();
  sigprocmask(SIG_SETMASK, NULL, &c->mask);
  sigaction(SIGCHLD, &as_usual, &c->at_its_end);
  int result = volt_signals_block(run_signals, RUN_SIGNALS); /* R2 */
  if (result == VOLT_OK)
    result = volt_signals_open(&c->signals, c->hold.rt, run_signals, RUN_SIGNALS);
  if (result != VOLT_OK) {
    fprintf(stderr, "voltgate: run: signals: %s\n", volt_strerror(result));
    return false;
  }
  sigpending(&c->early); /* R4 */
  c->number = vfork();   /* R3 */
  if (c->number == 0) run_child_begin(c, parent);
  if (c->number < 0) fprintf(stderr, "voltgate: run: vfork: %s\n", strerror(errno));
  return c->number > 0;
}

/* ---- while it runs ---- */

static void run_child_look(struct run_child *c) {
  int status;
  pid_t found;
  while (!c->is_over &&
         (found = waitpid(c->number, &status, WNOHANG | WUNTRACED | WCONTINUED)) != 0) {
    if (found < 0 && errno == EINTR) continue;
    c->is_over = found < 0 || WIFEXITED(status) || WIFSIGNALED(status);
    c->is_stopped = found > 0 && WIFSTOPPED(status);
    c->status = found < 0 ? RUN_EXIT_FAILED << 8 : status;
  }
}

/* The command was stopped: stop as by Ctrl-Z, until SIGCONT, which is received as any signal. */
static void run_child_stop_with(struct run_child *c) {
  sigset_t pending, stop;
  sigpending(&pending);
  if (sigismember(&pending, SIGCONT)) return; /* R5 */
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  run_child_look(c);
  if (!c->is_stopped) raise(SIGCONT); /* R6: takes it back */
  sigprocmask(SIG_UNBLOCK, &stop, NULL);
  sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* Whether the command has got it, too. */
static bool run_child_has_it(struct run_child *c, int number) {
  if (c->signal.code != SI_KERNEL) { /* kill(0, ...) of the command; its own SIGPIPE */
    return c->signal.sender == (uint32_t)c->number || c->signal.sender == (uint32_t)getpid();
  }
  if (sigismember(&c->early, number)) return false; /* R4 */
  if (number == SIGHUP) return getsid(0) != getpid();
  return number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGWINCH;
}

static void run_child_pass_on(struct run_child *c) {
  int number = (int)c->signal.number;
  if (number == SIGCHLD) {
    run_child_look(c);
    if (c->is_stopped) run_child_stop_with(c);
  } else if (number == SIGCONT) {
    run_child_look(c);
    if (c->is_stopped) kill(c->number, SIGCONT);
  } else if (!run_child_has_it(c, number) && !c->is_over) {
    kill(c->number, number);
  }
  sigdelset(&c->early, number);
}

static void run_child_wait(struct run_child *c) {
  enum { SIGNALS, PERMIT, JOBS, EITHER };
  volt_select select;
  volt_future *either[EITHER] = {volt_signal_future(&c->op, &c->signals, &c->signal),
                                 run_hold_keep_future(&c->hold),
                                 c->jobs ? run_jobs_future(c->jobs) : NULL};
  while (!c->is_over) {
    volt_future *next =
        volt_select_future(&select, either, EITHER, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
    (void)!volt_rt_run_until(c->hold.rt, next, VOLT_NO_DEADLINE);
    if (volt_select_winner(&select) != SIGNALS) {
      either[volt_select_winner(&select)] = NULL; /* without a permit */
      continue;
    }
    run_child_pass_on(c);
    either[SIGNALS] = volt_signal_future(&c->op, &c->signals, &c->signal);
  }
  for (unsigned i = 0; i < EITHER; i++)
    if (either[i]) volt_future_cancel(either[i]);
}

/* ---- the end ---- */

/* Die by the signal that has ended the command. Returns the exit code, if that is survived. */
static int run_die_by(int number) {
  const struct sigaction as_usual = {.sa_handler = SIG_DFL};
  sigset_t it;
  prctl(PR_SET_DUMPABLE, 0); /* a limit of 0 would not keep a core from a program of core_pattern */
  sigaction(number, &as_usual, NULL);
  sigemptyset(&it);
  sigaddset(&it, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &it, NULL);
  return 128 + number;
}

static int run_in_its_place(struct run_hold *h) {
  int number = run_hold_detach(h);
  run_hold_end(h);
  if (fcntl(number, F_SETFD, 0) != 0) {
    fprintf(stderr, "voltgate: run: fcntl: %s\n", strerror(errno));
    return RUN_EXIT_FAILED;
  }
  return run_execute(h->settings->words);
}

int run_command(const struct under_settings *settings) {
  struct run_child c = {.hold = {.settings = settings}};
  int code = run_hold_take(&c.hold);
  if (code == 0 && settings->keeps) return run_in_its_place(&c.hold);
  if (code == 0 && settings->has_jobs) {
    run_jobs_leave_out(settings->words);
    c.jobs = run_jobs_begin(&c.hold);
    if (!c.jobs) code = RUN_EXIT_FAILED;
  }
  if (code == 0 && !run_child_start(&c)) code = RUN_EXIT_FAILED;
  if (code == 0) run_child_wait(&c);
  run_jobs_end(c.jobs); /* first: jobs.c R2 */
  if (code == 0) run_hold_give(&c.hold);
  volt_signals_close(&c.signals);
  run_hold_end(&c.hold);
  if (code != 0) return code;
  return WIFSIGNALED(c.status) ? run_die_by(WTERMSIG(c.status)) : WEXITSTATUS(c.status);
}
