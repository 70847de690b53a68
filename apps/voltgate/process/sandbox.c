/* sandbox.c: Landlock by its system calls, seccomp by libseccomp.
 *
 * Landlock. A file that is read again later may have been replaced by another one of its name, and
 * a link may point elsewhere by then. So its directory is allowed, and that of what it is a link
 * to; a log is made anew after it was rotated, so that its directory may be written to. Connections
 * by unix sockets are not Landlock's business.
 *
 * seccomp. What is not listed fails with EPERM and is logged by the kernel's audit. clone3(), whose
 * flags a filter cannot see, does not exist (ENOSYS), so that the C library takes clone(), which may
 * make threads and nothing else. */
#define _GNU_SOURCE
#include "process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef VOLTGATE_SECCOMP
#include <seccomp.h>
#endif

/* Words that say what is missing. */
struct missing {
  char *to;
  size_t size, room;
};

__attribute__((format(printf, 2, 3))) static void sandbox_add_missing(struct missing *m,
                                                                      const char *format, ...) {
  va_list list;
  if (m->size > 0 && m->size + 3 < m->room) {
    memcpy(m->to + m->size, "; ", 3);
    m->size += 2;
  }
  va_start(list, format);
  int n = vsnprintf(m->to + m->size, m->room - m->size, format, list);
  va_end(list);
  size_t left = m->room - m->size - 1;
  if (n > 0) m->size += (size_t)n < left ? (size_t)n : left;
}

/* ---- Landlock: its interface, as headers of older kernels do not have all of it ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

struct ruleset {
  uint64_t files, net, scoped;
};

struct __attribute__((packed)) path_rule {
  uint64_t access;
  int32_t fd;
};

struct port_rule {
  uint64_t access, port;
};

enum { CREATE_VERSION = 1, RULE_PATH = 1, RULE_PORT = 2 };
enum { NET_BIND = 1, NET_CONNECT = 2, ABI_NET = 4 };

enum {
  WRITE_FILE = 1 << 1,
  READ_FILE = 1 << 2,
  READ_DIR = 1 << 3,
  REMOVE_FILE = 1 << 5,
  MAKE_REG = 1 << 8,
  MAKE_SOCK = 1 << 9,
  TRUNCATE = 1 << 14, /* from version 3 on */
  OF_FILES = WRITE_FILE | READ_FILE | TRUNCATE
};

/* All accesses to files that a version knows: they are forbidden but for the rules. */
static uint64_t sandbox_files_of(int version) {
  static const unsigned bits[] = {0, 13, 14, 15, 15, 16};
  int known = (int)(sizeof bits / sizeof bits[0]) - 1;
  return (UINT64_C(1) << bits[version < known ? version : known]) - 1;
}

struct landlock {
  int fd;
  struct ruleset set;
};

/* Allows access to a file, or to all below a directory. What does not exist needs no rule. */
static bool sandbox_allow(struct landlock *l, const char *path, uint64_t access) {
  struct stat about;
  struct path_rule rule = {.access = access & l->set.files};
  rule.fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.fd < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
  if (fstat(rule.fd, &about) == 0 && !S_ISDIR(about.st_mode)) rule.access &= OF_FILES;
  bool is_added =
      rule.access == 0 || syscall(SYS_landlock_add_rule, l->fd, RULE_PATH, &rule, 0) == 0;
  close(rule.fd);
  return is_added;
}

/* The same for the directory that the path is in. */
static bool sandbox_allow_directory_of(struct landlock *l, const char *path, uint64_t access) {
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t size = slash != NULL ? (size_t)(slash - path) : 0;
  if (size >= sizeof directory) return false;
  memcpy(directory, path, size);
  directory[size] = 0;
  return sandbox_allow(l, size > 0 ? directory : slash != NULL ? "/" : ".", access);
}

/* A directory as it is; a file by its directory, and by that of what it links to. */
static bool sandbox_allow_read(struct landlock *l, const char *path) {
  struct stat about;
  char real[PATH_MAX];
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
    return sandbox_allow(l, path, READ_FILE | READ_DIR);
  if (realpath(path, real) != NULL && !sandbox_allow_directory_of(l, real, READ_FILE | READ_DIR))
    return false;
  return sandbox_allow_directory_of(l, path, READ_FILE | READ_DIR);
}

/* What names, clocks and OpenSSL read, and what the program knows of itself. */
static bool sandbox_allow_usual(struct landlock *l) {
  static const char *const paths[] = {"/etc/resolv.conf",
                                      "/etc/hosts",
                                      "/etc/nsswitch.conf",
                                      "/etc/host.conf",
                                      "/etc/gai.conf",
                                      "/etc/services",
                                      "/etc/localtime",
                                      "/etc/ssl",
                                      "/etc/ld.so.cache",
                                      "/etc/passwd",
                                      "/etc/group",
                                      "/run/systemd/resolve",
                                      "/lib",
                                      "/lib64",
                                      "/usr/lib",
                                      "/proc/self",
                                      "/dev/urandom",
                                      "/dev/null",
                                      "/sys/devices/system/cpu"};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    if (!sandbox_allow(l, paths[i], READ_FILE | READ_DIR)) return false;
  }
  return sandbox_allow(l, "/dev/null", READ_FILE | WRITE_FILE);
}

static bool sandbox_allow_paths(struct landlock *l, const struct sandbox_needs *needs) {
  if (!sandbox_allow_usual(l)) return false;
  for (size_t i = 0; i < needs->read_count; i++) {
    if (!sandbox_allow_read(l, needs->reads[i])) return false;
  }
  for (size_t i = 0; i < needs->write_count; i++) {
    if (!sandbox_allow_directory_of(l, needs->writes[i], OF_FILES | MAKE_REG)) return false;
  }
  for (size_t i = 0; i < needs->socket_count; i++) {
    if (!sandbox_allow_directory_of(l, needs->sockets[i], MAKE_SOCK | REMOVE_FILE)) return false;
  }
  return true;
}

static bool sandbox_allow_port(struct landlock *l, uint16_t port, uint64_t access) {
  struct port_rule rule = {.access = access, .port = port};
  return (l->set.net & access) == 0 ||
         syscall(SYS_landlock_add_rule, l->fd, RULE_PORT, &rule, 0) == 0;
}

static bool sandbox_allow_ports(struct landlock *l, const struct sandbox_needs *needs) {
  if (!sandbox_allow_port(l, 53, NET_CONNECT)) return false; /* names, by TCP */
  for (size_t i = 0; i < needs->connect_count; i++) {
    if (!sandbox_allow_port(l, needs->connects[i], NET_CONNECT)) return false;
  }
  for (size_t i = 0; i < needs->bind_count; i++) {
    if (!sandbox_allow_port(l, needs->binds[i], NET_BIND)) return false;
  }
  return true;
}

static enum sandbox_result sandbox_enter_landlock(const struct sandbox_needs *needs,
                                                  struct missing *m) {
  int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
  if (version < 1) {
    sandbox_add_missing(m, "Landlock: %s",
                        errno == ENOSYS ? "this kernel has none" : strerror(errno));
    return SANDBOX_IN_PART;
  }
  struct landlock l = {.set = {.files = sandbox_files_of(version)}};
  if (version >= ABI_NET)
    l.set.net = (needs->any_connect ? 0u : NET_CONNECT) | (needs->any_bind ? 0u : NET_BIND);
  l.fd = (int)syscall(SYS_landlock_create_ruleset, &l.set,
                      version >= ABI_NET ? 2 * sizeof(uint64_t) : sizeof(uint64_t), 0);
  bool is_done = l.fd >= 0 && sandbox_allow_paths(&l, needs) && sandbox_allow_ports(&l, needs) &&
                 prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                 syscall(SYS_landlock_restrict_self, l.fd, 0) == 0;
  if (!is_done) sandbox_add_missing(m, "Landlock: %s", strerror(errno));
  if (l.fd >= 0) close(l.fd);
  if (!is_done) return SANDBOX_FAILED;
  if (version >= ABI_NET || (needs->any_connect && needs->any_bind)) return SANDBOX_ENTERED;
  sandbox_add_missing(m, "Landlock: version %d has no rules for TCP ports", version);
  return SANDBOX_IN_PART;
}

/* ---- seccomp ---- */

#ifdef VOLTGATE_SECCOMP

static const char *const sandbox_calls[] = {
    /* sockets */
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen",
    "recvfrom", "recvmmsg", "recvmsg", "sendfile", "sendmmsg", "sendmsg", "sendto", "setsockopt",
    "shutdown", "socketpair", "splice",
    /* descriptors and files */
    "close", "close_range", "dup", "dup2", "dup3", "epoll_create1", "epoll_ctl", "epoll_pwait",
    "epoll_pwait2", "epoll_wait", "eventfd2", "fcntl", "ioctl", "lseek", "pipe2", "poll", "ppoll",
    "pread64", "preadv", "pselect6", "pwrite64", "pwritev", "read", "readv", "select", "signalfd4",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "write", "writev", "access",
    "faccessat", "faccessat2", "fchmod", "fchmodat", "chmod", "fdatasync", "flock", "fstat",
    "fstatfs", "fsync", "getcwd", "getdents64", "lstat", "newfstatat", "open", "openat", "readlink",
    "readlinkat", "stat", "statfs", "statx", "umask", "unlink", "unlinkat",
    /* memory */
    "brk", "madvise", "mmap", "mprotect", "mremap", "munmap",
    /* threads, time, signals */
    "clock_getres", "clock_gettime", "clock_nanosleep", "exit", "exit_group", "futex",
    "futex_waitv", "get_robust_list", "gettimeofday", "membarrier", "nanosleep", "restart_syscall",
    "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
    "sched_setaffinity", "sched_yield", "set_robust_list", "set_tid_address", "sigaltstack",
    "tgkill", "time", "arch_prctl", "getcpu",
    /* about itself */
    "getegid", "geteuid", "getgid", "getpgrp", "getpid", "getppid", "getrandom", "getrlimit",
    "getrusage", "gettid", "getuid", "prctl", "prlimit64", "sysinfo", "times", "uname"};

static const char *const sandbox_uring_calls[] = {"io_uring_setup", "io_uring_enter",
                                                  "io_uring_register"};

static bool sandbox_allow_calls(scmp_filter_ctx filter, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int call = seccomp_syscall_resolve_name(names[i]);
    if (call == __NR_SCMP_ERROR) continue; /* not on this machine */
    if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0) return false;
  }
  return true;
}

static bool sandbox_allow_some(scmp_filter_ctx filter) {
  static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
    if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                         SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0)) != 0)
      return false;
  }
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0 &&
         seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

static enum sandbox_result sandbox_enter_seccomp(const struct sandbox_needs *needs,
                                                 struct missing *m) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  int e = filter != NULL ? 0 : -ENOMEM;
  size_t all = sizeof sandbox_calls / sizeof sandbox_calls[0];
  size_t uring = sizeof sandbox_uring_calls / sizeof sandbox_uring_calls[0];
  if (e == 0 && (!sandbox_allow_calls(filter, sandbox_calls, all) || !sandbox_allow_some(filter) ||
                 (needs->uses_uring && !sandbox_allow_calls(filter, sandbox_uring_calls, uring))))
    e = -EINVAL;
  if (e == 0) e = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  if (e == 0) (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1); /* where the kernel can */
  if (e == 0) e = seccomp_load(filter);
  if (filter != NULL) seccomp_release(filter);
  if (e == 0) return SANDBOX_ENTERED;
  sandbox_add_missing(m, "seccomp: %s", strerror(-e));
  return SANDBOX_FAILED;
}

#else

static enum sandbox_result sandbox_enter_seccomp(const struct sandbox_needs *needs,
                                                 struct missing *m) {
  (void)needs;
  sandbox_add_missing(m, "seccomp: built without libseccomp");
  return SANDBOX_IN_PART;
}

#endif

enum sandbox_result sandbox_enter(const struct sandbox_needs *needs, char *missing, size_t room) {
  struct missing m = {.to = missing, .room = room};
  missing[0] = 0;
  enum sandbox_result files = sandbox_enter_landlock(needs, &m);
  enum sandbox_result calls =
      sandbox_enter_seccomp(needs, &m); /* last: it allows no landlock calls */
  if (files == SANDBOX_FAILED || calls == SANDBOX_FAILED) return SANDBOX_FAILED;
  return files == SANDBOX_ENTERED && calls == SANDBOX_ENTERED ? SANDBOX_ENTERED : SANDBOX_IN_PART;
}
