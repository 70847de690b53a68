/* spawn.c: a child process, with its standard input, output and error, and its pidfd.
 *
 * Algorithm: as posix_spawn(), by a clone() that shares this memory, and that suspends this thread
 * until the child runs its program or has ended. Unlike posix_spawn() it returns a pidfd.
 *
 * Each descriptor that the child is to get is first copied to a number above 2, close on exec. So
 * the child's moves to 0, 1 and 2 do not overwrite one that is still to be moved.
 *
 * Races
 *   R1  Interleaving: the child ends at once, and is reaped by other code of this process (wait(),
 *       SIGCHLD ignored); its number becomes another's, which is then opened, or killed. Prevented
 *       by: the pidfd is made together with the child. The number is for people to read.
 *   R2  Interleaving: a signal comes to the child before it runs its program; a handler of this
 *       process runs in it, on this memory. Prevented by: all signals are blocked across the
 *       clone(), and the child resets what is handled before it unblocks them.
 *
 * Between the clone() and the program the child makes system calls only. A sanitizer that saw its
 * calls would take them for this process's own.
 *
 * ThreadSanitizer takes each child of clone() for one with a copy of the memory, and stops watching
 * the thread in it. Here that memory is this process's, so the calling thread would not be watched
 * any more. So in its builds the call is __clone(): the same function under a name that it does not
 * look for. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, clone */
#endif
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../rt/fiber/stack_tools.h"
#include "../../rt/host/driver.h"

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000 /* since Linux 5.2 */
#endif
#if VOLT_TOOLS_TSAN_
int __clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...); /* in no header */
#define SPAWN_CLONE __clone
#else
#define SPAWN_CLONE clone
#endif

/* What is made for a child, and unmade when it has started. */
struct launch {
  int child[3]; /* what becomes its 0, 1, 2; -1: inherited */
  const volt_process_config *config;
  const char *program;
  char *const *arguments;
  char *const *environment;
  const char *search; /* where to look for the program: names between colons; NULL: it says where */
  char *path;         /* room for a name of search, and the program */
  int error;          /* the child's: it could not go on */
};

static const volt_process_stdio *stdio_of(const volt_process_config *config, int i) {
  const volt_process_stdio *all[3] = {&config->in, &config->out, &config->err};
  return all[i];
}

/* Copy number to one above 2, for the child. Returns 0 or an errno. */
static int launch_keep(struct launch *l, int i, int number) {
  l->child[i] = fcntl(number, F_DUPFD_CLOEXEC, 3);
  return l->child[i] < 0 ? errno : 0;
}

/* Returns 0 or an errno. */
static int launch_pipe(struct launch *l, int i, volt_rt *rt, volt_fd *ours) {
  int ends[2]; /* [0] is read from */
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  int theirs = i == 0 ? ends[0] : ends[1];
  int mine = i == 0 ? ends[1] : ends[0];
  int result = launch_keep(l, i, theirs);
  (void)close(theirs);
  if (result == 0 && volt_fd_init(ours, rt, mine, 0) != VOLT_OK) result = EINVAL;
  if (result != 0) (void)close(mine);
  return result;
}

static int launch_null(struct launch *l, int i) {
  int number = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (number < 0) return errno;
  int result = launch_keep(l, i, number);
  (void)close(number);
  return result;
}

/* Make what becomes the child's descriptor i. Returns 0 or an errno. */
static int launch_stdio(struct launch *l, int i, volt_rt *rt, const volt_process_stdio *how) {
  switch (how->how) {
    case VOLT_STDIO_NONE: return launch_null(l, i);
    case VOLT_STDIO_PIPE: return launch_pipe(l, i, rt, how->pipe);
    case VOLT_STDIO_NUMBER: return launch_keep(l, i, how->number);
    default: return 0;
  }
}

/* ---- in the child, on this process's memory ---- */

/* The call has failed: why. */
static VOLT_UNWATCHED_ int child_error(long result) {
  return result < 0 ? errno : 0;
}

/* R2. What is ignored stays so, but for SIGPIPE. */
static VOLT_UNWATCHED_ void child_reset_signals(void) {
  static const unsigned long to_default[8] = {0}, none[2] = {0};
  const size_t mask_bytes = (size_t)_NSIG / 8;
  for (int i = 1; i < _NSIG; i++) {
    unsigned long now[8] = {0}; /* the system's form: the handler comes first */
    (void)syscall(SYS_rt_sigaction, i, NULL, now, mask_bytes);
    if (now[0] == (unsigned long)(uintptr_t)SIG_IGN && i != SIGPIPE) continue;
    (void)syscall(SYS_rt_sigaction, i, to_default, NULL, mask_bytes);
  }
  (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, mask_bytes);
}

/* What the child does before its program. Returns 0 or an errno. */
static VOLT_UNWATCHED_ int child_prepare(const struct launch *l) {
  int error = 0;
  if (l->config->flags & VOLT_PROCESS_GROUP) error = child_error(syscall(SYS_setpgid, 0, 0));
  for (int i = 0; i < 3 && error == 0; i++) {
    if (l->child[i] >= 0) error = child_error(syscall(SYS_dup3, l->child[i], i, 0));
  }
  if (error == 0 && l->config->err.how == VOLT_STDIO_OUTPUT)
    error = child_error(syscall(SYS_dup3, 1, 2, 0));
  if (error == 0 && l->config->directory)
    error = child_error(syscall(SYS_chdir, l->config->directory));
  if (error == 0) child_reset_signals();
  return error;
}

static VOLT_UNWATCHED_ int child_run(const struct launch *l, const char *path) {
  return child_error(syscall(SYS_execve, path, l->arguments, l->environment));
}

/* Whether the search goes on after that. */
static VOLT_UNWATCHED_ bool child_may_be_elsewhere(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE ||
         error == ENODEV || error == ETIMEDOUT;
}

/* Returns why no program runs. */
static VOLT_UNWATCHED_ int child_search(const struct launch *l) {
  bool was_forbidden = false;
  int error = ENOENT;
  for (const char *at = l->search, *end; at; at = *end ? end + 1 : NULL) {
    end = at;
    char *to = l->path;
    while (*end && *end != ':') *to++ = *end++;
    if (to > l->path) *to++ = '/';
    for (const char *c = l->program; (*to = *c) != 0; c++) to++;
    error = child_run(l, l->path);
    if (error == EACCES) was_forbidden = true;
    if (!child_may_be_elsewhere(error)) return error;
  }
  return was_forbidden ? EACCES : error;
}

static VOLT_UNWATCHED_ int child_begin(void *arg) {
  struct launch *l = (struct launch *)arg;
  l->error = child_prepare(l);
  if (l->error == 0) l->error = l->search ? child_search(l) : child_run(l, l->program);
  (void)syscall(SYS_exit_group, 127);
  return 127;
}

/* ---- the launch ---- */

/* Returns 0 or an errno. */
static int launch_find(struct launch *l, const volt_process_config *config) {
  l->config = config;
  l->program = config->program ? config->program : config->arguments[0];
  l->arguments = (char *const *)(uintptr_t)config->arguments;
  l->environment = (char *const *)(uintptr_t)config->environment;
  if (!l->environment) l->environment = environ;
  if (*l->program == 0) return ENOENT;
  if (strchr(l->program, '/')) return 0;
  l->search = getenv("PATH");
  if (!l->search) l->search = "/bin:/usr/bin";
  l->path = (char *)malloc(strlen(l->search) + strlen(l->program) + 2);
  return l->path ? 0 : ENOMEM;
}

/* Returns 0 or an errno; then no child is left. */
static int launch_clone(struct launch *l, volt_child_ *out) {
  const size_t stack_bytes = 65536;
  sigset_t all, before;
  void *stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return ENOMEM;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* R2 */
  int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
  out->number =
      SPAWN_CLONE(child_begin, (char *)stack + stack_bytes, flags, l, &out->pidfd); /* R1 */
  int error = out->number < 0 ? errno : 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)munmap(stack, stack_bytes);
  if (error != 0) return error;
  if (l->error != 0) volt_spawn_reap_(out->pidfd);
  return l->error;
}

static int launch_run(struct launch *l, volt_child_ *out, const volt_process_config *config) {
  int error = launch_find(l, config);
  if (error == 0) error = launch_clone(l, out);
  free(l->path);
  return error;
}

void volt_spawn_reap_(int pidfd) {
  siginfo_t info;
  while (waitid((idtype_t)VOLT_BY_PIDFD_, (id_t)pidfd, &info, WEXITED) < 0 && errno == EINTR)
    continue;
  (void)close(pidfd);
}

void volt_spawn_undo_(const volt_process_config *config) {
  for (int i = 0; i < 3; i++) {
    const volt_process_stdio *how = stdio_of(config, i);
    if (how->how == VOLT_STDIO_PIPE) volt_fd_close(how->pipe);
  }
}

static bool spawn_is_valid(const volt_process_config *config) {
  if (!config->arguments || !config->arguments[0]) return false;
  if (config->flags & ~(unsigned)VOLT_PROCESS_GROUP) return false;
  if (config->reserved[0] || config->reserved[1]) return false;
  for (int i = 0; i < 3; i++) {
    const volt_process_stdio *how = stdio_of(config, i);
    if (how->how > (i == 2 ? VOLT_STDIO_OUTPUT : VOLT_STDIO_NUMBER)) return false;
    if (how->how == VOLT_STDIO_PIPE && !how->pipe) return false;
  }
  return true;
}

int volt_spawn_child_(volt_child_ *out, volt_rt *rt, const volt_process_config *config) {
  static const volt_fd none = {.number = -1};
  if (!volt_rt_driver_(rt) || !spawn_is_valid(config)) return VOLT_EINVAL;
  struct launch l = {.child = {-1, -1, -1}};
  int saved = errno;
  int error = 0;
  for (int i = 0; i < 3; i++) {
    const volt_process_stdio *how = stdio_of(config, i);
    if (how->how == VOLT_STDIO_PIPE) *how->pipe = none;
  }
  for (int i = 0; i < 3 && error == 0; i++) error = launch_stdio(&l, i, rt, stdio_of(config, i));
  if (error == 0) error = launch_run(&l, out, config);
  for (int i = 0; i < 3; i++) {
    if (l.child[i] >= 0) (void)close(l.child[i]);
  }
  errno = saved;
  if (error == 0) return VOLT_OK;
  volt_spawn_undo_(config);
  return error == ENOMEM ? (int)VOLT_ENOMEM : VOLT_ERRNO(error);
}
