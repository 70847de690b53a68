/* 14_process.c: a child process with pipes, and a signal.
 * A task writes to a child's standard input, reads what comes back, and awaits its end. Another
 * child would run for ever: it gets a second, and is then made to end. A signal to this process is
 * awaited like anything else.
 *
 *   cc -std=c11 14_process.c $(pkg-config --cflags --libs volt-io)
 *
 * prints: tr says VOLT
 * prints: sleep was ended by signal 15
 * prints: this process got signal 10 */
#define _GNU_SOURCE /* kill */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/process.h>
#include <volt/volt.h>

static volt_rt *rt;
static volt_signals signals;

struct demo {
  volt_task task;
  volt_process child;
  volt_process_wait wait;
  volt_fd in, out;
  volt_op op;
  volt_signal signal;
  char answer[16];
  int result;
};

static int start(struct demo *self, const char *const *arguments, volt_fd *in, volt_fd *out) {
  volt_process_config config = {.arguments = arguments};
  if (in) config.in = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = in};
  if (out) config.out = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = out};
  return volt_process_start(&self->child, rt, &config);
}

static int demo_poll(volt_task *t, volt_ctx *ctx) {
  static const char *const tr[] = {"tr", "a-z", "A-Z", NULL};
  static const char *const sleep[] = {"sleep", "1000", NULL};
  struct demo *self = volt_container_of(t, struct demo, task);
  VOLT_TASK_BEGIN(self);
  self->result = start(self, tr, &self->in, &self->out);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  VOLT_AWAIT(self, volt_fd_write_future(&self->op, &self->in, "volt", 4, -1));
  volt_fd_close(&self->in); /* the end of its input */
  VOLT_AWAIT(self, volt_fd_read_future(&self->op, &self->out, self->answer, 15, -1));
  /* A child whose pipe is full does not end: read first, then wait. */
  VOLT_AWAIT(self, volt_process_wait_future(&self->wait, &self->child));
  printf("tr says %s\n", self->answer);
  volt_process_close(&self->child);

  self->result = start(self, sleep, NULL, NULL);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  VOLT_AWAIT(self, volt_process_end_future(&self->wait, &self->child, 1000000000));
  printf("sleep was ended by signal %d\n", WTERMSIG(volt_process_status(&self->child)));

  kill(getpid(), SIGUSR1);
  VOLT_AWAIT(self, volt_signal_future(&self->op, &signals, &self->signal));
  printf("this process got signal %d\n", (int)self->signal.number);
  VOLT_FINALLY(self); /* also after a failure: no child and no descriptor is left */
  volt_process_close(&self->child);
  volt_fd_close(&self->in);
  volt_fd_close(&self->out);
  VOLT_TASK_END(self);
}

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

int main(void) {
  static struct demo demo;
  const int wanted = SIGUSR1;
  volt_rt_config config = {.workers = 1, .io = volt_io_auto()};
  must(volt_signals_block(&wanted, 1), "block"); /* before there is another thread */
  must(volt_rt_create(&rt, &config), "volt_rt_create");
  must(volt_signals_open(&signals, rt, &wanted, 1), "signals");
  volt_task_init(&demo.task, demo_poll);
  must(volt_spawn(rt, &demo.task), "spawn");
  must(volt_task_join(&demo.task), "demo");
  volt_signals_close(&signals);
  volt_rt_destroy(rt);
}
