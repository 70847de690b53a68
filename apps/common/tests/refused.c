/* refused.c: run a program where a system call is refused.
 *
 * refused CALL ERRNO PROGRAM [ARGUMENT...] has the kernel answer the system call of that number with
 * that error number, by the same means as a container does: a seccomp filter. Exit code 77 if there
 * is no seccomp. */
#define _GNU_SOURCE /* syscall numbers */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int refuse(uint32_t call, uint32_t error) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static uint32_t number(const char *text) {
  return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: refused CALL ERRNO PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  if (refuse(number(argv[1]), number(argv[2])) != 0) {
    perror("refused: seccomp");
    return 77;
  }
  execv(argv[3], argv + 3);
  perror(argv[3]);
  return 127;
}
