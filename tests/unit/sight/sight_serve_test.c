/* sight_serve_test.c: the socket of volt_sight_serve(): where it is, who gets there, and what clients
 * may do without harm. What is answered is in sight_answer_test.c. */
#define _GNU_SOURCE /* struct ucred, setresuid */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/sight.h>

#include "sanitizer.h"
#include "sight/answer/sight_serve.h"
#include "unit.h"

enum { PATIENCE_MS = 30000 }; /* until a test says that nothing comes */

static char scratch[64];
static char path[128];

static const char *in_scratch(const char *name) {
  static char full[128];
  snprintf(full, sizeof full, "%s/%s", scratch, name);
  return full;
}

/* ---- a client ---- */

static struct sockaddr_un address_of(const char *file) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  assert_true(strlen(file) < sizeof address.sun_path);
  strcpy(address.sun_path, file);
  return address;
}

/* Returns the descriptor, or a negative errno value. */
static int try_to_connect(const char *file) {
  struct sockaddr_un address = address_of(file);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  if (connect(fd, (const void *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  return -error;
}

static int connect_to(const char *file) {
  int fd = try_to_connect(file);
  assert_true(fd >= 0);
  return fd;
}

static void say(int fd, const void *bytes, size_t size) {
  assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

static void say_text(int fd, const char *text) {
  say(fd, text, strlen(text));
}

/* The thread that serves may have refused this client, and closed: hear() then says why. */
static void say_unless_refused(int fd, const char *text) {
  ssize_t sent = send(fd, text, strlen(text), MSG_NOSIGNAL);
  if (sent < 0) assert_int_equal(errno, EPIPE);
}

/* What comes next, without its newline; "" is the end of all. */
static const char *hear(int fd) {
  static char line[4096];
  size_t size = 0;
  for (;;) {
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&asked, 1, PATIENCE_MS), 1);
    ssize_t n = recv(fd, &line[size], 1, 0);
    if (n <= 0 && size == 0) return "";
    assert_int_equal(n, 1);
    assert_true(size + 1 < sizeof line);
    if (line[size] == '\n') break;
    size++;
  }
  line[size] = '\0';
  return line;
}

#define HELLO "{\"volt\":1,\"q\":\"hello\"}\n"
#define BEGINS(text, beginning) assert_memory_equal(text, beginning, strlen(beginning))

static void hear_hello(int fd) {
  BEGINS(hear(fd), "{\"volt\":1,\"a\":\"hello\",\"library\":\"");
  assert_string_equal(hear(fd),
                      "{\"volt\":1,\"a\":\"end\",\"q\":\"hello\",\"count\":1,\"partial\":false}");
}

static void ask_hello(int fd) {
  say_text(fd, HELLO);
  hear_hello(fd);
}

static void hear_error(int fd, const char *why) {
  char beginning[64];
  snprintf(beginning, sizeof beginning, "{\"volt\":1,\"a\":\"error\",\"error\":\"%s\",", why);
  BEGINS(hear(fd), beginning);
}

static void hear_the_end(int fd) {
  assert_string_equal(hear(fd), "");
  close(fd);
}

/* ---- the scene ---- */

static unsigned descriptors(void) {
  unsigned count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static unsigned descriptors_before;

static int begin(void **state) {
  (void)state;
  strcpy(scratch, "/tmp/volt-serve.XXXXXX");
  assert_non_null(mkdtemp(scratch));
  snprintf(path, sizeof path, "%s/a.sock", scratch);
  /* the thread's own descriptor stays: it is there before they are counted */
  assert_result(volt_sight_serve(path), VOLT_OK);
  volt_sight_serve_end_();
  descriptors_before = descriptors();
  return 0;
}

static int end(void **state) {
  (void)state;
  char command[128];
  volt_sight_serve_end_();
  assert_int_equal(descriptors(), descriptors_before);
  snprintf(command, sizeof command, "rm -r '%s'", scratch);
  return system(command);
}

static void serve(void) {
  assert_result(volt_sight_serve(path), VOLT_OK);
}

static mode_t mode_of(const char *file) {
  struct stat is;
  assert_int_equal(lstat(file, &is), 0);
  return is.st_mode & 07777;
}

static bool is_there(const char *file) {
  struct stat is;
  return lstat(file, &is) == 0;
}

/* ---- where it is ---- */

static void the_directory_and_the_socket_are_of_their_user_alone(void **state) {
  (void)state;
  char file[128];
  mode_t before = umask(0);
  assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
  assert_result(volt_sight_serve(NULL), VOLT_OK);
  assert_int_equal(mode_of(in_scratch("volt")), 0700);
  snprintf(file, sizeof file, "%s/volt/%d.sock", scratch, (int)getpid());
  assert_int_equal(mode_of(file), 0600);
  int fd = connect_to(file);
  ask_hello(fd);
  close(fd);
  volt_sight_serve_end_();
  assert_false(is_there(file));
  assert_result(volt_sight_serve(path), VOLT_OK); /* where the umask is no help */
  assert_int_equal(mode_of(path), 0600);
  assert_int_equal(umask(before), 0); /* and it is as before */
}

static void a_directory_of_others_is_refused(void **state) {
  (void)state;
  assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
  char directory[128], elsewhere[128];
  snprintf(directory, sizeof directory, "%s/volt", scratch);
  snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", scratch);
  assert_int_equal(mkdir(elsewhere, 0700), 0);
  assert_int_equal(symlink(elsewhere, directory), 0);
  assert_result(volt_sight_serve(NULL), VOLT_ERRNO(ELOOP));
  assert_int_equal(unlink(directory), 0);
  assert_int_equal(mkdir(directory, 0700), 0);
  assert_int_equal(chmod(directory, 0750), 0);
  assert_result(volt_sight_serve(NULL), VOLT_ERRNO(EACCES));
  assert_int_equal(rmdir(directory), 0);
  int fd = open(directory, O_CREAT | O_WRONLY, 0600);
  close(fd);
  assert_result(volt_sight_serve(NULL), VOLT_ERRNO(ENOTDIR));
  if (geteuid() != 0) return;
  assert_int_equal(unlink(directory), 0);
  assert_int_equal(mkdir(directory, 0700), 0);
  assert_int_equal(chown(directory, 65534, 65534), 0);
  assert_result(volt_sight_serve(NULL), VOLT_ERRNO(EACCES));
}

static void without_a_runtime_directory_it_is_found_by_the_user(void **state) {
  (void)state;
  char file[128];
  struct stat is;
  assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
  snprintf(file, sizeof file, "/run/user/%d", (int)geteuid());
  bool has_run = stat(file, &is) == 0;
  snprintf(file, sizeof file, has_run ? "/run/user/%d/volt" : "/tmp/volt-%d", (int)geteuid());
  assert_result(volt_sight_serve(NULL), VOLT_OK);
  assert_int_equal(mode_of(file), 0700);
  snprintf(file + strlen(file), sizeof file - strlen(file), "/%d.sock", (int)getpid());
  assert_int_equal(mode_of(file), 0600);
  int fd = connect_to(file);
  ask_hello(fd);
  close(fd);
}

static void a_directory_in_which_others_write_is_refused(void **state) {
  (void)state;
  char file[128];
  snprintf(file, sizeof file, "%s/open", scratch);
  assert_int_equal(mkdir(file, 0700), 0);
  assert_int_equal(chmod(file, 0777), 0);
  strcat(file, "/x.sock");
  assert_result(volt_sight_serve(file), VOLT_ERRNO(EACCES));
  assert_int_equal(chmod(in_scratch("open"), 01777), 0); /* as /tmp: each removes his own */
  assert_result(volt_sight_serve(file), VOLT_OK);
}

static void a_path_is_absolute_and_no_abstract_name(void **state) {
  (void)state;
  char long_path[300];
  memset(long_path, 'x', sizeof long_path);
  long_path[0] = '/';
  long_path[108] = '\0';
  assert_result(volt_sight_serve(""), VOLT_EINVAL);
  assert_result(volt_sight_serve("@volt"), VOLT_EINVAL);
  assert_result(volt_sight_serve("volt.sock"), VOLT_EINVAL);
  assert_result(volt_sight_serve(long_path), VOLT_ERRNO(ENAMETOOLONG));
  assert_result(volt_sight_serve(in_scratch("not/there.sock")), VOLT_ERRNO(ENOENT));
}

static void what_is_in_the_way_is_left_alone(void **state) {
  (void)state;
  char other[128];
  snprintf(other, sizeof other, "%s/other", scratch);
  int fd = open(path, O_CREAT | O_WRONLY, 0640);
  close(fd);
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
  assert_int_equal(mode_of(path), 0640);
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(other, path), 0);
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
  assert_int_equal(mode_of(other), 0640);
  assert_int_equal(unlink(other), 0); /* now it leads nowhere */
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
  assert_false(is_there(other));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
}

static int listen_at(const char *file) {
  struct sockaddr_un address = address_of(file);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(fd, (const void *)&address, sizeof address), 0);
  assert_int_equal(listen(fd, 1), 0);
  return fd;
}

static void a_socket_that_nobody_listens_at_is_replaced(void **state) {
  (void)state;
  int fd = listen_at(path);
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
  close(fd);
  assert_true(is_there(path));
  serve();
  int client = connect_to(path);
  ask_hello(client);
  close(client);
}

static void a_link_to_a_stale_socket_is_left_alone(void **state) {
  (void)state;
  char other[128];
  snprintf(other, sizeof other, "%s/other.sock", scratch);
  close(listen_at(other));
  assert_int_equal(symlink(other, path), 0);
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
  assert_true(is_there(other));
}

static void another_users_stale_socket_is_left_alone(void **state) {
  (void)state;
  if (geteuid() != 0) skip();
  close(listen_at(path));
  assert_int_equal(chown(path, 65534, 65534), 0);
  assert_result(volt_sight_serve(path), VOLT_ERRNO(EADDRINUSE));
  assert_true(is_there(path));
}

static void another_path_takes_the_place_of_the_first(void **state) {
  (void)state;
  serve();
  int fd = connect_to(path);
  ask_hello(fd);
  assert_result(volt_sight_serve(in_scratch("b.sock")), VOLT_OK);
  hear_the_end(fd);
  assert_false(is_there(path));
  fd = connect_to(in_scratch("b.sock"));
  ask_hello(fd);
  close(fd);
  volt_sight_serve_end_();
  volt_sight_serve_end_(); /* nothing is served */
  assert_false(is_there(in_scratch("b.sock")));
}

static void what_has_taken_its_place_is_not_removed(void **state) {
  (void)state;
  serve();
  assert_int_equal(unlink(path), 0);
  int fd = listen_at(path);
  volt_sight_serve_end_();
  assert_true(is_there(path));
  close(fd);
}

/* ---- who gets there ---- */

/* Run in a child of another user, which ends with the result. */
static pid_t as_nobody(int (*fn)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child != 0) return child;
  if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0) _exit(90);
  if (setresuid(65534, 65534, 65534) != 0) _exit(91);
  _exit(fn());
}

static int result_of(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int connect_as_nobody(void) {
  struct sockaddr_un address = address_of(path);
  char byte;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (const void *)&address, sizeof address) != 0) return errno == EACCES ? 1 : 2;
  if (send(fd, HELLO, strlen(HELLO), MSG_NOSIGNAL) < 0 && errno != EPIPE) return 3;
  ssize_t n = recv(fd, &byte, 1, 0);
  return n == 0 || (n < 0 && errno == ECONNRESET) ? 4 : 5;
}

static void another_user_is_refused(void **state) {
  (void)state;
  if (geteuid() != 0) skip();
  serve();
  assert_int_equal(result_of(as_nobody(connect_as_nobody)), 1); /* by the directory */
  assert_int_equal(chmod(scratch, 0755), 0);
  assert_int_equal(result_of(as_nobody(connect_as_nobody)), 1); /* by the socket */
  assert_int_equal(chmod(path, 0666), 0);
  assert_int_equal(result_of(as_nobody(connect_as_nobody)), 4); /* by its number: not a byte came */
  int fd = connect_to(path);
  ask_hello(fd);
  close(fd);
}

static int serve_as_nobody(void) {
  if (volt_sight_serve(path) != VOLT_OK) return 1;
  pause(); /* until it is killed */
  return 0;
}

static void root_may_look_at_others(void **state) {
  (void)state;
  if (geteuid() != 0) skip();
  assert_int_equal(chown(scratch, 65534, 65534), 0);
  pid_t child = as_nobody(serve_as_nobody);
  int fd;
  while ((fd = try_to_connect(path)) < 0) assert_true(fd == -ENOENT || fd == -ECONNREFUSED);
  struct ucred peer;
  socklen_t size = sizeof peer;
  assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
  assert_int_equal(peer.uid, 65534);
  ask_hello(fd);
  close(fd);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_fifth_client_is_refused(void **state) {
  (void)state;
  int fd[SERVE_CLIENTS_];
  serve();
  for (unsigned i = 0; i < SERVE_CLIENTS_; i++) {
    fd[i] = connect_to(path);
    ask_hello(fd[i]);
  }
  int fifth = connect_to(path);
  hear_error(fifth, "full");
  hear_the_end(fifth);
  ask_hello(fd[3]); /* the others are not in its way */
  close(fd[1]);
  bool is_in = false; /* as soon as the thread has seen that one left */
  while (!is_in) {
    fd[1] = connect_to(path);
    say_unless_refused(fd[1], HELLO);
    const char *first = hear(fd[1]);
    is_in = strstr(first, "\"a\":\"hello\"") != NULL;
    if (!is_in) close(fd[1]);
  }
  for (unsigned i = 0; i < SERVE_CLIENTS_; i++) close(fd[i]);
}

/* ---- what they say ---- */

static void requests_come_in_any_pieces(void **state) {
  (void)state;
  serve();
  int fd = connect_to(path);
  for (const char *at = HELLO; *at; at++) say(fd, at, 1);
  hear_hello(fd);
  say_text(fd, HELLO HELLO HELLO "{\"volt\":1,");
  for (unsigned i = 0; i < 3; i++) hear_hello(fd);
  say_text(fd, "\"q\":\"hello\"}\r\n");
  hear_hello(fd);
  close(fd);
}

static void what_was_asked_before_the_end_is_answered(void **state) {
  (void)state;
  serve();
  int fd = connect_to(path);
  say_text(fd, HELLO HELLO "{\"volt\":1,\"q\":\"hel");
  assert_int_equal(shutdown(fd, SHUT_WR), 0);
  hear_hello(fd);
  hear_hello(fd);
  hear_the_end(fd);
}

static void garbage_is_answered_and_forgotten(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"\n", "malformed"},
      {"hello\n", "malformed"},
      {"[]\n", "malformed"},
      {"\xff\xfe\n", "malformed"},
      {"{}\n", "version"},
      {"{\"volt\":2,\"q\":\"hello\"}\n", "version"},
      {"{\"volt\":\"1\",\"q\":\"hello\"}\n", "version"},
      {"{\"volt\":1}\n", "unknown"},
      {"{\"volt\":1,\"q\":\"shutdown\"}\n", "unknown"},
      {"{\"volt\":1,\"q\":\"hellohellohellohellohello\"}\n", "unknown"},
      {"{\"volt\":1,\"q\":7}\n", "value"},
      {"{\"volt\":1,\"q\":\"hello\",\"limit\":-1}\n", "value"},
      {"{\"volt\":1,\"q\":\"hello\",\"task\":\"12\"}\n", "value"}};
  serve();
  int fd = connect_to(path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    say_text(fd, cases[i][0]);
    hear_error(fd, cases[i][1]);
  }
  say(fd, "{\"volt\":1,\0}\n", 13);
  hear_error(fd, "malformed");
  say_text(fd, "{\"volt\":1,\"q\":\"hello\",\"new\":[{\"x\":null}]}\n"); /* of a later version */
  hear_hello(fd);
  close(fd);
}

static void a_line_has_a_length(void **state) {
  (void)state;
  static char line[1 << 20];
  serve();
  memset(line, ' ', sizeof line);
  memcpy(line, HELLO, strlen(HELLO) - 1);
  int fd = connect_to(path);
  line[SERVE_LINE_ - 1] = '\n';
  say(fd, line, SERVE_LINE_); /* just short enough */
  hear_hello(fd);
  line[SERVE_LINE_ - 1] = ' ';
  say(fd, line, SERVE_LINE_);
  hear_error(fd, "long");
  hear_the_end(fd);
  fd = connect_to(path); /* a megabyte without an end: the server takes 4,096 bytes of it */
  ssize_t sent = 0;
  while (sent >= 0) sent = send(fd, line, sizeof line, MSG_NOSIGNAL);
  assert_true(errno == EPIPE || errno == ECONNRESET);
  close(fd);
  fd = connect_to(path);
  ask_hello(fd);
  close(fd);
}

/* Requests until neither end takes more. */
static void stuff(int fd) {
  struct pollfd asked = {.fd = fd, .events = POLLOUT};
  while (poll(&asked, 1, 500) == 1 && !(asked.revents & (POLLHUP | POLLERR))) {
    ssize_t n = send(fd, HELLO, strlen(HELLO), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) assert_true(errno == EAGAIN || errno == EPIPE || errno == ECONNRESET);
  }
}

static void a_client_that_does_not_read_is_dropped(void **state) {
  (void)state;
  serve();
  int slow = connect_to(path), quick = connect_to(path);
  uint64_t before_ns = volt_now_ns();
  stuff(slow);
  ask_hello(quick); /* nobody waits for it */
  struct pollfd asked = {.fd = slow};
  assert_int_equal(poll(&asked, 1, PATIENCE_MS), 1);
  assert_true((asked.revents & POLLHUP) != 0);
  assert_true(volt_now_ns() - before_ns >= SERVE_PATIENCE_NS_);
  ask_hello(quick);
  close(slow);
  close(quick);
}

static void a_client_that_reads_late_is_served(void **state) {
  (void)state;
  serve();
  int fd = connect_to(path);
  unsigned asked = 0;
  struct pollfd out = {.fd = fd, .events = POLLOUT};
  while (poll(&out, 1, 200) == 1) { /* less than its patience */
    if (send(fd, HELLO, strlen(HELLO), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)strlen(HELLO))
      asked++;
    if (asked == 20000) break;
  }
  for (unsigned i = 0; i < asked; i++) hear_hello(fd);
  close(fd);
}

static void clients_that_leave_at_once_leave_nothing(void **state) {
  (void)state;
  serve();
  for (unsigned i = 0; i < 200; i++) {
    int fd = connect_to(path);
    if (i % 3 == 0) say_unless_refused(fd, HELLO);
    if (i % 3 == 1) say_unless_refused(fd, "{\"vo");
    close(fd);
  }
  int fd = -1;
  for (const char *first = ""; !strstr(first, "hello"); first = hear(fd)) {
    if (fd >= 0) close(fd); /* the thread has not seen all of them leave */
    fd = connect_to(path);
    say_unless_refused(fd, HELLO);
  }
  close(fd);
}

/* ---- the process ---- */

static void a_child_has_nothing_of_it(void **state) {
  (void)state;
  if (UNDER_TSAN) skip(); /* it has no threads in a child */
  int hold[2];
  char other[128];
  snprintf(other, sizeof other, "%s/child.sock", scratch);
  assert_int_equal(pipe(hold), 0);
  serve();
  int fd = connect_to(path);
  ask_hello(fd);
  pid_t child = fork();
  if (child == 0) {
    char byte;
    close(hold[1]);
    close(fd);
    volt_sight_serve_end_(); /* not its own: the file stays */
    bool served = volt_sight_serve(other) == VOLT_OK;
    int client = try_to_connect(other);
    if (client >= 0) ask_hello(client);
    if (read(hold[0], &byte, 1) < 0) _exit(2);
    volt_sight_serve_end_();
    _exit(served && client >= 0 ? 0 : 1);
  }
  close(hold[0]);
  ask_hello(fd);
  assert_true(is_there(path));
  volt_sight_serve_end_();
  hear_the_end(fd); /* although the child is alive: it has not kept the connection */
  assert_int_equal(try_to_connect(path), -ENOENT);
  close(hold[1]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Of one that is killed, the next process that serves removes what it has left. */
static void a_process_that_ends_leaves_no_socket(void **state) {
  (void)state;
  if (UNDER_TSAN) skip(); /* it has no threads in a child */
  char left[3][192];
  assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
  for (int i = 0; i < 3; i++) {
    pid_t child = fork();
    if (child == 0) {
      if (volt_sight_serve(NULL) != VOLT_OK) _exit(1);
      if (i == 0) exit(0);
      if (i == 1) raise(SIGKILL);
      pid_t grandchild = fork(); /* which serves nothing, and removes nothing */
      if (grandchild == 0) exit(0);
      int status;
      bool has_ended = waitpid(grandchild, &status, 0) == grandchild && status == 0;
      snprintf(left[i], sizeof left[i], "%s/volt/%d.sock", scratch, (int)getpid());
      _exit(has_ended && is_there(left[i]) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, i == 1 ? SIGKILL : 0);
    snprintf(left[i], sizeof left[i], "%s/volt/%d.sock", scratch, (int)child);
    assert_int_equal(is_there(left[i]), i != 0);
  }
  assert_result(volt_sight_serve(NULL), VOLT_OK);
  for (int i = 0; i < 3; i++) assert_false(is_there(left[i]));
}

static void without_descriptors_it_waits_for_some(void **state) {
  (void)state;
  struct rlimit before, none;
  serve();
  int fd = connect_to(path);
  ask_hello(fd);
  int late = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = address_of(path);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  none = before;
  none.rlim_cur = (rlim_t)late + 1;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  assert_int_equal(connect(late, (const void *)&address, sizeof address), 0);
  say_text(late, HELLO);
  ask_hello(fd); /* the first is served meanwhile */
  struct pollfd asked = {.fd = late, .events = POLLIN};
  assert_int_equal(poll(&asked, 1, 100), 0);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  hear_hello(late);
  close(late);
  close(fd);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      SERVED(the_directory_and_the_socket_are_of_their_user_alone),
      SERVED(a_directory_of_others_is_refused),
      SERVED(without_a_runtime_directory_it_is_found_by_the_user),
      SERVED(a_directory_in_which_others_write_is_refused),
      SERVED(a_path_is_absolute_and_no_abstract_name),
      SERVED(what_is_in_the_way_is_left_alone),
      SERVED(a_socket_that_nobody_listens_at_is_replaced),
      SERVED(a_link_to_a_stale_socket_is_left_alone),
      SERVED(another_users_stale_socket_is_left_alone),
      SERVED(another_path_takes_the_place_of_the_first),
      SERVED(what_has_taken_its_place_is_not_removed),
      SERVED(another_user_is_refused),
      SERVED(root_may_look_at_others),
      SERVED(a_fifth_client_is_refused),
      SERVED(requests_come_in_any_pieces),
      SERVED(what_was_asked_before_the_end_is_answered),
      SERVED(garbage_is_answered_and_forgotten),
      SERVED(a_line_has_a_length),
      SERVED(a_client_that_does_not_read_is_dropped),
      SERVED(a_client_that_reads_late_is_served),
      SERVED(clients_that_leave_at_once_leave_nothing),
      SERVED(a_child_has_nothing_of_it),
      SERVED(a_process_that_ends_leaves_no_socket),
      SERVED(without_descriptors_it_waits_for_some),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
