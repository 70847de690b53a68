/* systemd_test.c: sockets that are handed over, and what the manager is told. */
#define _GNU_SOURCE
#include "process/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <volt/base.h>

/* ---- listeners: each in a child, whose descriptors 3 and 4 are the ones ---- */

static int listening(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1) != 0) _exit(99);
  return fd;
}

static void set_environment(const char *count, const char *names) {
  char pid[32];
  snprintf(pid, sizeof pid, "%ld", (long)getpid());
  setenv("LISTEN_PID", pid, 1);
  setenv("LISTEN_FDS", count, 1);
  if (names != NULL) setenv("LISTEN_FDNAMES", names, 1);
}

/* Puts two sockets where they are looked for. */
static void put_sockets(int first, int second) {
  int a = fcntl(first, F_DUPFD, 100), b = fcntl(second, F_DUPFD, 100);
  dup2(a, 3);
  dup2(b, 4);
}

static int child_takes_two(void) {
  struct systemd_listeners l;
  char words[256];
  put_sockets(listening(), listening());
  set_environment("2", "http:");
  if (systemd_take_listeners(&l, words, sizeof words) != NULL) return 1;
  if (l.count != 2 || strcmp(l.at[0].name, "http") != 0) return 2;
  if (strcmp(l.at[1].name, "unknown") != 0) return 3;
  if (getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES")) return 4;
  if (!(fcntl(3, F_GETFD) & FD_CLOEXEC) || !(fcntl(4, F_GETFL) & O_NONBLOCK)) return 5;
  if (systemd_listener(&l, "none") != -1 || systemd_listener(&l, "http") != 3) return 6;
  if (systemd_listener(&l, "http") != -1 || systemd_listener(&l, "unknown") != 4) return 7;
  return 0;
}

static int child_is_not_meant(void) {
  struct systemd_listeners l;
  char words[256];
  set_environment("2", NULL);
  setenv("LISTEN_PID", "1", 1);
  if (systemd_take_listeners(&l, words, sizeof words) != NULL || l.count != 0) return 1;
  return getenv("LISTEN_FDS") != NULL;
}

static int child_gets_what_does_not_listen(void) {
  struct systemd_listeners l;
  char words[256];
  put_sockets(listening(), socket(AF_INET, SOCK_STREAM, 0));
  set_environment("2", NULL);
  if (systemd_take_listeners(&l, words, sizeof words) == NULL || l.count != 0) return 1;
  return strcmp(words, "LISTEN_FDS: descriptor 4 is no socket that listens") != 0;
}

static int child_gets_what_is_closed(void) {
  struct systemd_listeners l;
  char words[256];
  close(3);
  set_environment("1", NULL);
  return systemd_take_listeners(&l, words, sizeof words) == NULL;
}

static int child_gets_nonsense(void) {
  static const char *const counts[] = {"", "x", "-1", "65", "99999999999999999999", "1 "};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    struct systemd_listeners l;
    char words[256];
    set_environment(counts[i], NULL);
    if (systemd_take_listeners(&l, words, sizeof words) == NULL || l.count != 0) return 1;
  }
  return 0;
}

static int in_child(int (*run)(void)) {
  int status;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) _exit(run());
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void listeners(void **state) {
  (void)state;
  assert_int_equal(in_child(child_takes_two), 0);
  assert_int_equal(in_child(child_is_not_meant), 0);
  assert_int_equal(in_child(child_gets_what_does_not_listen), 0);
  assert_int_equal(in_child(child_gets_what_is_closed), 0);
  assert_int_equal(in_child(child_gets_nonsense), 0);
}

/* ---- notifications ---- */

static int manager_socket(const char *name, char *environment, size_t room) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  size_t size = strlen(name);
  memcpy(at.sun_path, name, size);
  if (name[0] == '@') at.sun_path[0] = 0;
  snprintf(environment, room, "%s", name);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  assert_true(fd >= 0);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (name[0] == '/'));
  assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
  return fd;
}

static const char *received(int fd) {
  static char text[1024];
  ssize_t n = recv(fd, text, sizeof text - 1, 0);
  if (n < 0) return NULL;
  text[n] = 0;
  return text;
}

static void notify(const char *name) {
  char environment[128], expected[128];
  int fd = manager_socket(name, environment, sizeof environment);
  setenv("NOTIFY_SOCKET", environment, 1);
  setenv("WATCHDOG_USEC", "3000000", 1);
  systemd_start();
  assert_null(getenv("NOTIFY_SOCKET"));
  assert_null(getenv("WATCHDOG_USEC"));
  assert_int_equal(systemd_watchdog_ns(), UINT64_C(1500000000));
  assert_int_equal(systemd_ready("2 gates\nREADY=0"), VOLT_OK);
  snprintf(expected, sizeof expected, "READY=1\nMAINPID=%ld\nSTATUS=2 gates\n", (long)getpid());
  assert_string_equal(received(fd), expected);
  assert_int_equal(systemd_reloading(), VOLT_OK);
  const char *text = received(fd);
  assert_int_equal(strncmp(text, "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
  uint64_t told = strtoull(text + 27, NULL, 10), now = volt_now_ns() / 1000;
  assert_true(told <= now && now - told < 60000000);
  assert_int_equal(systemd_status("draining"), VOLT_OK);
  assert_string_equal(received(fd), "STATUS=draining\n");
  assert_int_equal(systemd_stopping(), VOLT_OK);
  assert_string_equal(received(fd), "STOPPING=1\n");
  assert_int_equal(systemd_main_pid(77), VOLT_OK);
  assert_string_equal(received(fd), "MAINPID=77\n");
  assert_int_equal(systemd_watchdog(), VOLT_OK);
  assert_string_equal(received(fd), "WATCHDOG=1\n");
  close(fd);
  assert_int_not_equal(systemd_watchdog(), VOLT_OK); /* the manager is gone */
}

static void notifications(void **state) {
  (void)state;
  char abstract[64], path[64];
  snprintf(abstract, sizeof abstract, "@voltgate-test-%ld", (long)getpid());
  snprintf(path, sizeof path, "/tmp/voltgate-test-%ld", (long)getpid());
  notify(abstract);
  notify(path);
  unlink(path);
}

static void nobody_to_tell(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "x", "/", "relative/path"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    setenv("NOTIFY_SOCKET", wrong[i], 1);
    systemd_start();
    assert_int_equal(systemd_ready("x"), VOLT_OK);
  }
  setenv("WATCHDOG_USEC", "1000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  systemd_start();
  assert_int_equal(systemd_watchdog_ns(), 0); /* another process is meant */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(listeners), cmocka_unit_test(notifications),
                                     cmocka_unit_test(nobody_to_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
