/* A stranger's program with I/O: a thread writes into a pipe and reads it again. */
#define _GNU_SOURCE /* pipe2 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <volt/io.h>

static int write_and_read(volt_rt *rt, const int ends[2]) {
  volt_fd in, out;
  volt_op op;
  char text[8] = "";
  if (volt_fd_init(&in, rt, ends[0], 0) != VOLT_OK) return 2;
  if (volt_fd_init(&out, rt, ends[1], 0) != VOLT_OK) return 3;
  if (volt_future_wait(volt_fd_write_future(&op, &out, "there", 5, -1))) return 4;
  if (volt_future_wait(volt_fd_read_future(&op, &in, text, 8, -1))) return 5;
  volt_fd_close(&in);
  volt_fd_close(&out);
  puts(text);
  return op.n == 5 && strcmp(text, "there") == 0 ? 0 : 6;
}

int main(void) {
  int ends[2];
  volt_rt *rt;
  volt_rt_config config = {.io = volt_io_auto()};
  if (pipe2(ends, O_CLOEXEC) != 0 || volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  int code = write_and_read(rt, ends);
  return volt_rt_destroy(rt) == 0 ? code : 7;
}
