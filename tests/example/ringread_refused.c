/* ringread_refused.c: run a program where io_uring is refused.
 *
 * ringread_refused ERRNO PROGRAM [ARGUMENT...] has the kernel answer io_uring_setup with that error
 * number, by the same means as a container does: a seccomp filter. Exit code 77 if there is no
 * seccomp. */
#define _GNU_SOURCE /* syscall numbers */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define IO_URING_SETUP 425 /* on every architecture */

static int refuse(uint32_t error) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IO_URING_SETUP, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: ringread_refused ERRNO PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  if (refuse((uint32_t)strtoul(argv[1], NULL, 10)) != 0) {
    perror("ringread_refused: seccomp");
    return 77;
  }
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
