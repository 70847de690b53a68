/* sandbox_test.c: what is forbidden fails, and what is needed works; rights that are given up do
 * not come back. Each case is a process of its own, because there is no way back. */
#define _GNU_SOURCE
#include "process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <volt/base.h>

#include "process/privileges.h"

/* In a child: says which line was wrong. */
#define MUST(condition)                                                       \
  do {                                                                        \
    if (!(condition)) {                                                       \
      dprintf(2, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
      _exit(1);                                                               \
    }                                                                         \
  } while (0)

static void in_child(void (*run)(void)) {
  int status;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    run();
    _exit(0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static char directory[64], allowed[96], forbidden[96], logs[96];

static int make_files(void **state) {
  (void)state;
  char path[128];
  strcpy(directory, "/tmp/voltgate_box_XXXXXX");
  if (mkdtemp(directory) == NULL) return -1;
  snprintf(allowed, sizeof allowed, "%s/allowed", directory);
  snprintf(forbidden, sizeof forbidden, "%s/forbidden", directory);
  snprintf(logs, sizeof logs, "%s/logs", directory);
  if (mkdir(allowed, 0755) != 0 || mkdir(forbidden, 0755) != 0 || mkdir(logs, 0755) != 0) return -1;
  snprintf(path, sizeof path, "%s/config", allowed);
  close(open(path, O_CREAT | O_WRONLY, 0644));
  snprintf(path, sizeof path, "%s/secret", forbidden);
  close(open(path, O_CREAT | O_WRONLY, 0644));
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r '%s'", directory);
  return system(command);
}

static const char *below(const char *parent, const char *name) {
  static char paths[4][160];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", parent, name);
  return path;
}

static int listening(uint16_t *port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0);
  MUST(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
  *port = ntohs(at.sin_port);
  return fd;
}

static int connect_to(uint16_t port) {
  struct sockaddr_in at = {
      .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  int result = connect(fd, (struct sockaddr *)&at, sizeof at);
  int e = errno;
  close(fd);
  errno = e;
  return result;
}

static bool has_landlock(int version) {
  return syscall(444, NULL, 0, 1) >= version;
}

static void *work(void *arg) {
  *(int *)arg = 7;
  return NULL;
}

/* What the program does all day. */
static void needed_calls_work(void) {
  int ends[2], value = 0;
  char byte = 'x';
  pthread_t thread;
  MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  MUST(write(ends[0], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1);
  MUST(pthread_create(&thread, NULL, work, &value) == 0);
  MUST(pthread_join(thread, NULL) == 0 && value == 7);
  struct addrinfo *found = NULL;
  MUST(getaddrinfo("localhost", "5432", NULL, &found) == 0);
  freeaddrinfo(found);
  char *memory = malloc(4 << 20);
  MUST(memory != NULL);
  memset(memory, 1, 4 << 20);
  free(memory);
  MUST(open("/proc/self/stat", O_RDONLY) >= 0);
}

static void enter(const struct sandbox_needs *needs) {
  char missing[512];
  enum sandbox_result result = sandbox_enter(needs, missing, sizeof missing);
  MUST(result != SANDBOX_FAILED);
  MUST((result == SANDBOX_ENTERED) == (missing[0] == 0));
  if (has_landlock(4)) {
#ifdef VOLTGATE_SECCOMP
    MUST(result == SANDBOX_ENTERED);
#endif
  }
}

static void files_child(void) {
  struct sandbox_needs needs = {.reads = {below(allowed, "config")},
                                .read_count = 1,
                                .writes = {below(logs, "log")},
                                .write_count = 1,
                                .sockets = {below(allowed, "socket")},
                                .socket_count = 1};
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  enter(&needs);
  needed_calls_work();
  MUST(open(below(allowed, "config"), O_RDONLY) >= 0);
  MUST(open(below(logs, "log"), O_WRONLY | O_CREAT | O_APPEND, 0640) >= 0);
  snprintf(at.sun_path, sizeof at.sun_path, "%s", below(allowed, "socket"));
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  MUST(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0);
  MUST(unlink(at.sun_path) == 0);
  MUST(open(below(allowed, "config"), O_WRONLY) < 0 && errno == EACCES);
  MUST(open(below(forbidden, "secret"), O_RDONLY) < 0 && errno == EACCES);
  MUST(open(below(forbidden, "new"), O_WRONLY | O_CREAT, 0644) < 0 && errno == EACCES);
  MUST(unlink(below(forbidden, "secret")) < 0 && errno == EACCES);
  MUST(open("/etc/shadow", O_RDONLY) < 0 && errno == EACCES);
}

static void files(void **state) {
  (void)state;
  if (!has_landlock(1)) skip();
  in_child(files_child);
}

static void ports_child(void) {
  uint16_t port, other;
  int listener = listening(&port), other_listener = listening(&other);
  struct sandbox_needs needs = {.connects = {port}, .connect_count = 1};
  MUST(listener >= 0 && other_listener >= 0);
  enter(&needs);
  MUST(connect_to(port) == 0);
  MUST(connect_to(other) < 0 && errno == EACCES);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(bind(fd, (struct sockaddr *)&at, sizeof at) < 0 && errno == EACCES);
}

static void any_port_child(void) {
  uint16_t port;
  MUST(listening(&port) >= 0);
  struct sandbox_needs needs = {.any_connect = true, .any_bind = true};
  enter(&needs);
  MUST(connect_to(port) == 0);
  MUST(listening(&port) >= 0);
}

static void ports(void **state) {
  (void)state;
  if (!has_landlock(4)) skip();
  in_child(ports_child);
  in_child(any_port_child);
}

#ifdef VOLTGATE_SECCOMP

static void calls_child(void) {
  struct sandbox_needs needs = {.any_connect = true, .any_bind = true};
  char *const none[] = {NULL};
  enter(&needs);
  needed_calls_work();
  MUST(execve("/bin/true", none, none) < 0 && errno == EPERM);
  MUST(fork() < 0);
  MUST(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) < 0 && errno == EPERM);
  MUST(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
  MUST(syscall(SYS_mount, "a", "/tmp", "tmpfs", 0, NULL) < 0 && errno == EPERM);
  MUST(syscall(SYS_bpf, 0, NULL, 0) < 0 && errno == EPERM);
  MUST(setuid(0) < 0 && errno == EPERM);
  MUST(syscall(SYS_io_uring_setup, 1, NULL) < 0 && errno == EPERM);
  MUST(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

static void uring_child(void) {
  struct sandbox_needs needs = {.uses_uring = true};
  enter(&needs);
  MUST(syscall(SYS_io_uring_setup, 1, NULL) < 0 && (errno == EFAULT || errno == ENOSYS));
}

static pthread_barrier_t ready, entered;

static void *thread_from_before(void *arg) {
  char *const none[] = {NULL};
  (void)arg;
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&entered);
  MUST(execve("/bin/true", none, none) < 0 && errno == EPERM);
  return NULL;
}

static void threads_child(void) {
  struct sandbox_needs needs = {.any_connect = true, .any_bind = true};
  pthread_t thread;
  pthread_barrier_init(&ready, NULL, 2);
  pthread_barrier_init(&entered, NULL, 2);
  MUST(pthread_create(&thread, NULL, thread_from_before, NULL) == 0);
  pthread_barrier_wait(&ready);
  enter(&needs);
  pthread_barrier_wait(&entered);
  MUST(pthread_join(thread, NULL) == 0);
}

static void calls(void **state) {
  (void)state;
  in_child(calls_child);
  in_child(uring_child);
  in_child(threads_child);
}

#endif

/* ---- rights ---- */

static void drop_child(void) {
  char words[256];
  uid_t users[3];
  gid_t groups[3];
  MUST(privileges_drop("nobody", NULL, words, sizeof words) == VOLT_OK);
  MUST(getresuid(&users[0], &users[1], &users[2]) == 0);
  MUST(getresgid(&groups[0], &groups[1], &groups[2]) == 0);
  for (int i = 0; i < 3; i++) MUST(users[i] == 65534 && groups[i] == 65534);
  MUST(getgroups(0, NULL) == 0);
  MUST(setuid(0) < 0 && seteuid(0) < 0 && setgid(0) < 0);
  MUST(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
  MUST(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
  MUST(open("/etc/shadow", O_RDONLY) < 0);
}

static void group_child(void) {
  char words[256];
  MUST(privileges_drop("12345", "54321", words, sizeof words) == VOLT_OK);
  MUST(getuid() == 12345 && getgid() == 54321);
}

static void wrong_names_child(void) {
  char words[256];
  uid_t before = getuid();
  MUST(privileges_drop("no such user", NULL, words, sizeof words) != VOLT_OK);
  MUST(strstr(words, "no such user") != NULL);
  MUST(privileges_drop("nobody", "no such group", words, sizeof words) != VOLT_OK);
  MUST(privileges_drop("12345", NULL, words, sizeof words) != VOLT_OK);
  MUST(getuid() == before);
}

static void without_rights_child(void) {
  char words[256];
  MUST(privileges_drop("nobody", NULL, words, sizeof words) == VOLT_OK);
  MUST(privileges_drop("daemon", NULL, words, sizeof words) != VOLT_OK);
  MUST(words[0] != 0);
}

static void privileges(void **state) {
  (void)state;
  in_child(wrong_names_child);
  if (geteuid() != 0) skip();
  in_child(drop_child);
  in_child(group_child);
  in_child(without_rights_child);
}

static void descriptors_child(void) {
  struct rlimit limit = {.rlim_cur = 64, .rlim_max = 128};
  MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  MUST(privileges_raise_descriptors(0) == 128);
  MUST(privileges_raise_descriptors(100) == 100);
  MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 100 && limit.rlim_max == 128);
  uint64_t got = privileges_raise_descriptors(200); /* more than the hard limit: root may */
  MUST(got == 128 || got == 200);
  MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == got);
}

static void descriptors(void **state) {
  (void)state;
  in_child(descriptors_child);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(files, make_files, remove_files),
      cmocka_unit_test(ports),
#ifdef VOLTGATE_SECCOMP
      cmocka_unit_test(calls),
#endif
      cmocka_unit_test(privileges),
      cmocka_unit_test(descriptors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
