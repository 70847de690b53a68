/* spawn.c: posix_spawn(), with a child's standard input, output and error.
 *
 * Each descriptor that the child is to get is first copied to a number above 2, close on exec. So
 * the child's moves to 0, 1 and 2 do not overwrite one that is still to be moved. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addchdir_np */
#endif
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

/* What is made for a child, and unmade when it has started. */
struct launch {
  int child[3]; /* what becomes its 0, 1, 2; -1: inherited */
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
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

/* What the child does before its program. Returns 0 or an errno. */
static int launch_add_actions(struct launch *l, const volt_process_config *config) {
  int error = 0;
  for (int i = 0; i < 3 && error == 0; i++) {
    if (l->child[i] >= 0) error = posix_spawn_file_actions_adddup2(&l->actions, l->child[i], i);
  }
  if (error == 0 && config->err.how == VOLT_STDIO_OUTPUT)
    error = posix_spawn_file_actions_adddup2(&l->actions, 1, 2);
  if (error == 0 && config->directory)
    error = posix_spawn_file_actions_addchdir_np(&l->actions, config->directory);
  return error;
}

static int launch_set_attributes(struct launch *l, const volt_process_config *config) {
  sigset_t none, to_default;
  (void)sigemptyset(&none);
  (void)sigemptyset(&to_default);
  (void)sigaddset(&to_default, SIGPIPE);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (config->flags & VOLT_PROCESS_GROUP) flags |= POSIX_SPAWN_SETPGROUP; /* of its own: 0 */
  int error = posix_spawnattr_setflags(&l->attributes, flags);
  if (error == 0) error = posix_spawnattr_setsigmask(&l->attributes, &none);
  if (error == 0) error = posix_spawnattr_setsigdefault(&l->attributes, &to_default);
  return error;
}

static int launch_run(struct launch *l, pid_t *number, const volt_process_config *config) {
  char *const *arguments = (char *const *)(uintptr_t)config->arguments;
  char *const *environment = (char *const *)(uintptr_t)config->environment;
  const char *program = config->program ? config->program : config->arguments[0];
  if (!environment) environment = environ;
  int error = posix_spawn_file_actions_init(&l->actions);
  if (error != 0) return error;
  error = posix_spawnattr_init(&l->attributes);
  if (error == 0) {
    error = launch_add_actions(l, config);
    if (error == 0) error = launch_set_attributes(l, config);
    if (error == 0)
      error = posix_spawnp(number, program, &l->actions, &l->attributes, arguments, environment);
    (void)posix_spawnattr_destroy(&l->attributes);
  }
  (void)posix_spawn_file_actions_destroy(&l->actions);
  return error;
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

int volt_spawn_child_(pid_t *number, volt_rt *rt, const volt_process_config *config) {
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
  if (error == 0) error = launch_run(&l, number, config);
  for (int i = 0; i < 3; i++) {
    if (l.child[i] >= 0) (void)close(l.child[i]);
  }
  errno = saved;
  if (error == 0) return VOLT_OK;
  volt_spawn_undo_(config);
  return error == ENOMEM ? (int)VOLT_ENOMEM : VOLT_ERRNO(error);
}
