/* nearby.c: which gate a command asks; the gate of a user.
 *
 * If no process listens at the user's socket, the command starts a gate there: `voltgate permits`, a daemon which
 * ends by itself when it is not used for a while. The socket is made here and inherited, as from systemd. So it listens at once,
 * and the command can connect before the gate runs: the kernel keeps the connection.
 *
 * Races
 *   R1  Interleaving: two commands find no gate, and each starts one. Prevented by: a lock file. The second one gets the
 *       lock when the socket of the first listens, and looks again.
 *   R2  Interleaving: a gate ends because it is not used, as a command connects. The connection is reset, or ended,
 *       before its hello is answered. Prevented by: run_hold_take() connects again; then the old path refuses,
 *       because its listener is closed, and a new gate is started. */
#define _GNU_SOURCE /* asprintf, close_range */
#include "run/nearby.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char *run_nearby_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *run_nearby_print(const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  int size = vasprintf(&text, format, arguments);
  va_end(arguments);
  return size < 0 ? NULL : text;
}

/* ---- which ---- */

/* A word with a colon is an address; another one is the path of a socket. */
static char *run_nearby_of_text(const char *text) {
  return run_nearby_print("%s%s", strchr(text, ':') ? "" : "unix:", text);
}

static const char *run_nearby_variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

bool run_nearby_is_own(const char *written) {
  return !written && !run_nearby_variable("VOLTGATE_PERMITS");
}

char *run_nearby_address(const char *written) {
  if (!written) written = run_nearby_variable("VOLTGATE_PERMITS");
  if (written) return run_nearby_of_text(written);
  const char *directory = run_nearby_variable("XDG_RUNTIME_DIR");
  return run_nearby_print("unix:%s/voltgate/permits.sock", directory ? directory : "/run");
}

/* ---- start it ---- */

/* In a process of its own: become the gate. listener: listens. is_first: there was none before. */
static void run_nearby_become(int listener, bool is_first) {
  static char program[] = "voltgate", command[] = "permits", first[] = "first";
  char *const argv[] = {program, command, is_first ? first : NULL, NULL};
  char pid[24];
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
  if (listener == 3) {
    fcntl(3, F_SETFD, 0);
  } else {
    dup2(listener, 3);
  }
  close_range(4, ~0U, 0);
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  setenv("LISTEN_PID", pid, 1);
  setenv("LISTEN_FDS", "1", 1);
  setenv("LISTEN_FDNAMES", "permits", 1);
  unsetenv("NOTIFY_SOCKET");
  if (chdir("/") == 0) execv("/proc/self/exe", argv);
  _exit(1);
}

/* It is a child of init's, and in a session of its own. Returns 0, or an errno. */
static int run_nearby_fork(int listener, bool is_first) {
  int status;
  pid_t between = fork();
  if (between < 0) return errno;
  if (between == 0) {
    setsid();
    pid_t gate = fork();
    if (gate == 0) run_nearby_become(listener, is_first);
    _exit(gate < 0);
  }
  while (waitpid(between, &status, 0) < 0) {
    if (errno == ECHILD) return 0; /* SIGCHLD is ignored: it is not known. A connect finds out */
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EAGAIN;
}

static bool run_nearby_listens(const struct sockaddr_un *at) {
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool is_there = probe >= 0 && connect(probe, (const struct sockaddr *)at, sizeof *at) == 0;
  if (probe >= 0) close(probe);
  return is_there;
}

/* With the lock. Returns 0, or an errno. */
static int run_nearby_start_at(const struct sockaddr_un *at) {
  if (run_nearby_listens(at)) return 0;      /* R1 */
  bool is_first = unlink(at->sun_path) != 0; /* so there was no gate whose permits may be claimed */
  if (is_first && errno != ENOENT) return errno;
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return errno;
  mode_t mask = umask(0177);
  int wrong = bind(listener, (const struct sockaddr *)at, sizeof *at) == 0 ? 0 : errno;
  umask(mask);
  if (wrong == 0 && listen(listener, SOMAXCONN) != 0) wrong = errno;
  if (wrong == 0) wrong = run_nearby_fork(listener, is_first);
  close(listener);
  return wrong;
}

/* Whether the directory is this user's, or may be where it makes one of its own: root does not leave behind in another
 * user's what that user could not use. */
static bool run_nearby_is_mine(const char *directory, bool or_roots) {
  struct stat it;
  if (lstat(directory, &it) != 0) return true; /* what makes it says why not */
  return it.st_uid == geteuid() || (or_roots && it.st_uid == 0);
}

/* Make the directory of the socket. Returns 0, or an errno. */
static int run_nearby_make_directory(char *path) {
  char *last = strrchr(path, '/');
  *last = '\0';
  bool is_mine = run_nearby_is_mine(path, true);
  *last = '/';
  if (!is_mine) return EPERM;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return errno;
  return run_nearby_is_mine(path, false) ? 0 : EPERM;
}

/* Returns 0, or an errno. */
static int run_nearby_start_locked(const struct sockaddr_un *at, bool waits) {
  char path[sizeof at->sun_path + 8];
  snprintf(path, sizeof path, "%s", at->sun_path);
  *strrchr(path, '/') = '\0';
  int wrong = run_nearby_make_directory(path);
  if (wrong != 0) return wrong;
  snprintf(path, sizeof path, "%s.lock", at->sun_path);
  int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return errno;
  while (flock(lock, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 && wrong == 0)
    if (errno != EINTR) wrong = errno;
  if (wrong == 0) wrong = run_nearby_start_at(at);
  close(lock);
  return wrong;
}

int run_nearby_start(const struct run_hold *h, int result, bool waits) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  int e = volt_errno(result);
  if (!h->is_own || (e != ENOENT && e != ECONNREFUSED)) return result;
  const char *path = h->gate + strlen("unix:");
  if (strlen(path) >= sizeof at.sun_path) return result;
  memcpy(at.sun_path, path, strlen(path) + 1);
  e = run_nearby_start_locked(&at, waits);
  return e == 0 ? (int)VOLT_OK : VOLT_ERRNO(e);
}

int run_nearby_connect(struct run_hold *h) {
  int result = VOLT_OK;
  for (unsigned tries = 0; tries < 3; tries++) {
    result = volt_rt_run_until(h->rt, volt_permit_client_connect_future(&h->client, h->gate),
                               VOLT_NO_DEADLINE);
    int started = result == VOLT_OK ? result : run_nearby_start(h, result, true);
    if (result == VOLT_OK || started != VOLT_OK) return started;
  }
  return result;
}

/* ---- what it is ---- */

static char *run_nearby_file(void) {
  const char *directory = run_nearby_variable("XDG_CONFIG_HOME"),
             *home = run_nearby_variable("HOME");
  char *path = directory ? run_nearby_print("%s/voltgate/permits.ini", directory)
               : home    ? run_nearby_print("%s/.config/voltgate/permits.ini", home)
                         : NULL;
  if (path && access(path, F_OK) == 0) return path;
  free(path);
  return NULL;
}

int run_nearby_arguments(char *argv[RUN_NEARBY_ARGUMENTS], bool is_first) {
  static char program[] = "voltgate", config[] = "--config", protocol[] = "--protocol=permit",
              listen_[] = "--listen=fd:permits", kinds[] = "--kinds=cores=auto,memory=auto",
              unused[] = "--end-unused=10m", queue[] = "--queue=100000", log[] = "--log-level=warn",
              no_claims[] = "--claim-period=0", claims[] = "--claim-period=500ms";
  static char *const built_in[] = {program, protocol, listen_, kinds, unused, queue, log};
  enum { BUILT_IN = sizeof built_in / sizeof *built_in };
  char *file = run_nearby_file(); /* as long as the program: a reload reads it again */
  if (!file) {
    memcpy(argv, built_in, sizeof built_in);
    argv[BUILT_IN] = is_first ? no_claims : claims;
    argv[BUILT_IN + 1] = NULL;
    return BUILT_IN + 1;
  }
  argv[0] = program;
  argv[1] = config;
  argv[2] = file;
  argv[3] = NULL;
  return 3;
}
