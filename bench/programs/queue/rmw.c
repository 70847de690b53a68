/* rmw.c: count the instructions that a program executes, and those of them that are read-modify-write
 * operations: with a lock prefix, and xchg with memory.
 *
 * rmw PROGRAM ARGUMENT... runs it (with RMW_STOPS=1 in its environment) until it stops itself by
 * SIGSTOP, then one instruction at a time until it does so again (the stopping thread only), and
 * prints both counts, the read-modify-writes first. Linux on x86-64. It exits with 77 where it may
 * not trace. */
#define _GNU_SOURCE /* ptrace, setenv, sched_setaffinity */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_HERE = 77 };

#if defined(__x86_64__)

/* Whether the instruction with these first bytes is an atomic read-modify-write. */
static bool is_locked(const unsigned char *bytes) {
  unsigned i = 0;
  while (i < 6) {
    unsigned char byte = bytes[i];
    if (byte == 0xf0) return true;
    bool prefix = byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x36 ||
                  byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 ||
                  (byte & 0xf0) == 0x40;
    if (!prefix) break;
    i += 1;
  }
  bool xchg = bytes[i] == 0x86 || bytes[i] == 0x87;
  return xchg && (bytes[i + 1] & 0xc0) != 0xc0;
}

static bool next_is_locked(pid_t child) {
  struct user_regs_struct registers;
  union {
    long word;
    unsigned char bytes[sizeof(long)];
  } code;
  if (ptrace(PTRACE_GETREGS, child, NULL, &registers) != 0) return false;
  errno = 0;
  code.word = ptrace(PTRACE_PEEKTEXT, child, (void *)registers.rip, NULL);
  return errno == 0 && is_locked(code.bytes);
}

/* Let the child run until it stops itself. Returns its exit code if it ends instead. */
static int run_to_stop(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    if (WSTOPSIG(status) == SIGSTOP) return 0;
    ptrace(PTRACE_CONT, child, NULL, NULL);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE ? NOT_HERE : 1;
}

/* Step the child until it stops itself. Returns false if it ends instead. */
static bool step_to_stop(pid_t child, uint64_t *locked, uint64_t *all) {
  int status;
  *locked = *all = 0;
  do {
    *locked += next_is_locked(child);
    *all += 1;
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) return false;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
  } while (WSTOPSIG(status) != SIGSTOP);
  return true;
}

/* Both on one core: else every step would wake another one. */
static void stay_on_this_core(void) {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET((size_t)sched_getcpu(), &here);
  (void)sched_setaffinity(0, sizeof here, &here);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: rmw PROGRAM ARGUMENT...\n");
    return 2;
  }
  stay_on_this_core();
  pid_t child = fork();
  if (child == 0) {
    setenv("RMW_STOPS", "1", 1);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(NOT_HERE);
    execv(argv[1], argv + 1);
    perror(argv[1]);
    _exit(127);
  }
  uint64_t locked, all;
  int code = run_to_stop(child);
  if (code == 0 && !step_to_stop(child, &locked, &all)) code = 1;
  kill(child, SIGKILL);
  if (code != 0) return code;
  printf("%" PRIu64 " %" PRIu64 "\n", locked, all);
  return 0;
}

#else

int main(void) {
  fprintf(stderr, "rmw: only on x86-64\n");
  return NOT_HERE;
}

#endif
