/* process.h: signals and child processes, as futures.
 *
 * Signals. A signal goes to a volt_signals only while every thread of the process blocks it. So
 * the first line of main() blocks it, and the threads that are made later do as main() does:
 *
 *   static const int wanted[] = {SIGTERM, SIGINT};
 *   volt_signals_block(wanted, 2);                      before volt_rt_create()
 *   volt_rt_create(&rt, &config);
 *   volt_signals_open(&signals, rt, wanted, 2);
 *   ...
 *   VOLT_AWAIT(self, volt_signal_future(&self->op, &signals, &self->signal));
 *
 * The workers of a runtime block all signals but those of faults by themselves; the threads of its
 * blocking pool block what the thread blocked that created it.
 *
 * Child processes:
 *
 *   const char *const arguments[] = {"sort", "-u", NULL};
 *   volt_process_config config = {.arguments = arguments,
 *                                 .in = {.how = VOLT_STDIO_PIPE, .pipe = &self->in},
 *                                 .out = {.how = VOLT_STDIO_PIPE, .pipe = &self->out}};
 *   int result = volt_process_start(&self->child, rt, &config);
 *   ...
 *   VOLT_AWAIT(self, volt_process_wait_future(&self->wait, &self->child));
 *   volt_process_close(&self->child);
 *
 * A child is found by a pidfd, because its number may be another's after its end. Close each child
 * that was started by volt_process_close(). That kills it if it has not ended, so no child and no
 * zombie is left, whatever was cancelled in between. A program that waits for all children (wait(),
 * SIGCHLD ignored) takes their status away: then a wait polls as VOLT_ERRNO(ECHILD). */
#ifndef VOLT_PROCESS_H
#define VOLT_PROCESS_H

#include "async.h"
#include "io.h"
#include "time.h"

/* Members are private. */
typedef struct volt_signals {
  volt_fd fd;
} volt_signals;

/* A signal that came, in the form in which the system says it. */
typedef struct volt_signal {
  uint32_t number; /* SIGTERM, ... */
  int32_t error;
  int32_t code;      /* SI_USER, SI_QUEUE, CLD_EXITED, ...: see sigaction() */
  uint32_t sender;   /* the process that has sent it */
  uint32_t user;     /* and its real user */
  uint32_t more[27]; /* of struct signalfd_siginfo, which begins in the same way */
} volt_signal;
VOLT_SIZE_AT_MOST_(volt_signal, 128);

/* What a child gets as its standard input, output or error. */
enum volt_stdio {
  VOLT_STDIO_INHERIT = 0, /* this process's */
  VOLT_STDIO_NONE = 1,    /* /dev/null */
  VOLT_STDIO_PIPE = 2,    /* a pipe, whose other end becomes *pipe here */
  VOLT_STDIO_NUMBER = 3,  /* the open descriptor `number`, which stays open here */
  VOLT_STDIO_OUTPUT = 4   /* err only: the same as its output */
};

typedef struct volt_process_stdio {
  unsigned how; /* of volt_stdio */
  int number;
  volt_fd *pipe; /* the caller's */
} volt_process_stdio;

enum volt_process_flags {
  VOLT_PROCESS_GROUP = 1 /* it leads a new process group; volt_process_kill() and
                          * volt_process_close() reach all of it, until a wait has ended */
};

/* How to start a child. All-zero but for arguments: the defaults. */
typedef struct volt_process_config {
  const char *const *arguments;   /* [0] is the program; NULL behind the last */
  const char *program;            /* what to run instead of arguments[0], which it still sees */
  const char *const *environment; /* "NAME=value", NULL behind the last; NULL: this process's */
  const char *directory;          /* in which it begins; NULL: this process's */
  volt_process_stdio in, out, err;
  unsigned flags; /* of volt_process_flags */
  uint64_t reserved[2];
} volt_process_config;

/* Members are private. A child process. It must not move before volt_process_close(). */
typedef struct volt_process {
  volt_fd fd; /* a pidfd */
  volt_short_lock lock;
  VOLT_PLAIN(int32_t) status; /* under the lock, like what follows */
  VOLT_PLAIN(int32_t) result; /* of the wait; VOLT_PENDING: not waited for yet */
  pid_t number;
  unsigned flags;
} volt_process;

/* Members are private. */
typedef struct volt_process_wait {
  volt_async async;
  volt_op op;
  volt_process *process;
  volt_timeout timeout;
  uint64_t grace_ns;
  int result;
  bool is_end;
} volt_process_wait;

VOLT_BEGIN_DECLS

/* ---- signals ---- */

/* Block signals in this thread, and in the threads and runtimes that it makes from now on.
 * numbers: count of them.
 * Returns VOLT_OK; VOLT_EINVAL: no signal has such a number, or it cannot be blocked.
 * Threads: the first of the process, before it makes another. */
VOLT_API VOLT_NODISCARD int volt_signals_block(const int *numbers, unsigned count);

/* Receive signals by volt_signal_future(). It changes no mask: they have to be blocked already.
 * s: the caller's. numbers: count of them.
 * Returns VOLT_OK; VOLT_EINVAL: rt does no I/O, no signal has such a number, or one of them is not
 *   blocked in this thread (volt_signals_block()); VOLT_ERRNO(e). Unless VOLT_OK, *s is closed.
 * Threads: any that blocks them. */
VOLT_API VOLT_NODISCARD int volt_signals_open(volt_signals *s, volt_rt *rt, const int *numbers,
                                              unsigned count);

/* A future of the next signal. A signal that comes several times before it is received is received
 * once, unless it is one from SIGRTMIN on. A signal that came before volt_signals_open(), while it
 * was blocked, is received, too. Of several volt_signals with the same signal, one receives it.
 * op, out: the caller's, until it is ready. One at a time for each *s (aborts).
 * Returns the future: as volt_fd_read_future().
 * Cancel: at once; then no signal was taken. Threads: any may poll it. */
VOLT_API VOLT_NODISCARD volt_future *volt_signal_future(volt_op *op, volt_signals *s,
                                                        volt_signal *out);

/* Receive no more signals. The signals stay blocked. No volt_signal_future() may be under way
 * (aborts).
 * s: may be all-zero, or closed before. Threads: its owner. */
VOLT_API void volt_signals_close(volt_signals *s);

/* ---- child processes ---- */

/* Start a program as a child process. It blocks no signal, and SIGPIPE has its default action. It
 * gets standard input, output and error, and of all other descriptors those that are not O_CLOEXEC:
 * nothing that volt has opened. A program without a '/' in its name is searched for in PATH.
 * p: the caller's, until volt_process_close(). config: read within the call.
 * Returns VOLT_OK: its program runs; VOLT_EINVAL: rt does no I/O, or the config is not valid;
 *   VOLT_ENOMEM; VOLT_ERRNO(e): the program cannot be run (ENOENT, EACCES), the directory cannot be
 *   entered, or the system has no process, pipe or descriptor left. Unless VOLT_OK, no child and no
 *   pipe is left, and *p needs no close.
 * Threads: any. Blocks until the system has loaded the program. */
VOLT_API VOLT_NODISCARD int volt_process_start(volt_process *p, volt_rt *rt,
                                               const volt_process_config *config);

/* Read the number of a child process. Returns it, also after its end, when it may be another's.
 * Threads: any. */
VOLT_API pid_t volt_process_number(const volt_process *p);

/* A future of the end of a child process. Any number of them may be under way, and each has the
 * same result.
 * w: the caller's, for this wait.
 * Returns the future: polls as VOLT_OK: volt_process_status() has the status; VOLT_ERRNO(ECHILD):
 *   it has ended, and something else in this process has taken its status (SIGCHLD is ignored, a
 *   loop of wait()); VOLT_ECANCELED.
 * Cancel: at once; the child goes on. Threads: any may poll it. */
VOLT_API VOLT_NODISCARD volt_future *volt_process_wait_future(volt_process_wait *w,
                                                              volt_process *p);

/* Make a child process end, and await its end. It gets SIGTERM, and if it has not ended after
 * grace_ns, SIGKILL. To be awaited behind VOLT_FINALLY. grace_ns: 0: SIGKILL at once. Else as
 * volt_process_wait_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_process_end_future(volt_process_wait *w, volt_process *p,
                                                             uint64_t grace_ns);

/* Read the status of a child process, as waitpid() gives it: for WIFEXITED() and so on. Returns it,
 * or -1 if no wait has ended yet. Threads: any. */
VOLT_API int volt_process_status(volt_process *p);

/* Send a child process a signal. number: 0: only ask whether it is there.
 * Returns VOLT_OK; VOLT_ERRNO(ESRCH): it has ended, and a wait for it, too; VOLT_ERRNO(e).
 * Threads: any. */
VOLT_API int volt_process_kill(volt_process *p, int number);

/* Let a child process go. If no wait for it has ended, kill it (SIGKILL), and block this thread for
 * the moments until it has ended. A task awaits volt_process_end_future() before, and so does not
 * block its worker. No wait may be under way (aborts). p: may be all-zero, or closed before.
 * Threads: its owner. */
VOLT_API void volt_process_close(volt_process *p);

VOLT_END_DECLS
#endif
