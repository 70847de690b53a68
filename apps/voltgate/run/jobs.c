/* jobs.c: a jobserver for make, whose tokens are permits.
 *
 * make starts its first job without asking. For each further one it reads a byte from a pipe, and writes the byte
 * back when the job has ended. Here each byte is a permit of its own, on a connection of its own:
 * - The pipe is empty: make may want more. So one more permit is asked for, one at a time; its byte is written when
 *   it is granted.
 * - A byte lies in the pipe for several looks: make does not want it. So it is taken out, and its permit given back.
 *   The next one is asked for later, and later each time that this happens; at once, when make has taken one.
 * When the command has ended, all go back, also those whose make was killed with them in its hands.
 *
 * The pipe is looked at every 10 ms, because make says nothing when it begins to wait.
 *
 * Invariants
 *   J1  bytes in the pipe + bytes that make has <= tokens that are HELD. A byte is written behind its grant, and taken
 *       out before its permit is given back.
 *
 * Races
 *   R1  Interleaving: make takes the byte as it is taken out here. Prevented by: each byte is read once; if none is
 *       left to read, no permit is given back. The pipe is opened again for that, so that O_NONBLOCK is not make's.
 *   R2  Interleaving: the command ends, and its own permit goes back; a token that is asked for is granted that, before
 *       another command that waits. Prevented by: all tokens are given up first, and the gate has answered. */
#define _GNU_SOURCE /* pipe2, asprintf */
#include "run/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <volt/task.h>

#define MS UINT64_C(1000000)

static const uint64_t jobs_look_ns = 10 * MS, jobs_pause_least_ns = 40 * MS,
                      jobs_pause_most_ns = 640 * MS;
enum { JOBS_LOOKS = 5 }; /* that find a byte, until it is taken out */

enum token_state {
  TOKEN_FREE,
  TOKEN_ASKS,
  TOKEN_HELD, /* its byte is in the pipe, or make's */
  TOKEN_ENDS  /* its byte was taken out, or is not wanted any more */
};

struct run_token {
  volt_task task;
  struct run_hold hold;
  struct run_jobs *jobs;
  int result;
  enum token_state state;
};

struct run_jobs {
  volt_async async;
  volt_sleep_op nap;
  struct run_hold *of;
  int pipe[2]; /* the command's */
  int taker;   /* reads from it, and does not block */
  int unused_looks;
  uint64_t pause_ns, asks_ns; /* when the next token may be asked for */
  struct run_token tokens[RUN_JOBS_MOST];
};

/* ---- a token ---- */

static int run_token_poll(volt_task *t, volt_ctx *ctx) {
  struct run_token *self = volt_container_of(t, struct run_token, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_permit_client_connect_future(&self->hold.client, self->hold.gate));
  VOLT_AWAIT(self, run_hold_acquire_future(&self->hold));
  if (write(self->jobs->pipe[1], "+", 1) != 1) VOLT_RETURN(self, VOLT_ERRNO(errno)); /* J1 */
  self->state = TOKEN_HELD;
  VOLT_AWAIT(self, run_hold_keep_future(&self->hold));
  VOLT_FINALLY(self);
  VOLT_AWAIT_RESULT(self, self->result, run_hold_give_future(&self->hold));
  volt_permit_client_close(&self->hold.client);
  VOLT_TASK_END(self);
}

static void run_token_ask(struct run_jobs *j, struct run_token *t) {
  memset((void *)t, 0, sizeof *t);
  t->jobs = j;
  t->state = TOKEN_ASKS;
  run_hold_more(&t->hold, j->of);
  volt_task_init(&t->task, run_token_poll);
  if (volt_spawn(t->hold.rt, &t->task) != VOLT_OK) t->state = TOKEN_FREE;
}

static void run_token_end(struct run_token *t) {
  t->state = TOKEN_ENDS;
  volt_task_cancel(&t->task);
}

static struct run_token *run_token_that(struct run_jobs *j, enum token_state state) {
  for (unsigned i = 0; i < RUN_JOBS_MOST; i++)
    if (j->tokens[i].state == state) return &j->tokens[i];
  return NULL;
}

/* Those whose task has ended are free: they were given back, or not granted, or their gate is gone. One that make
 * has while its gate is gone stays, so that its byte is taken out before another one is asked for. */
static void run_token_collect(struct run_jobs *j) {
  for (unsigned i = 0; i < RUN_JOBS_MOST; i++) {
    struct run_token *t = &j->tokens[i];
    bool is_over = t->state == TOKEN_ENDS || t->state == TOKEN_ASKS;
    if (!is_over || volt_task_result(&t->task) == VOLT_PENDING) continue;
    if (t->state == TOKEN_ASKS) j->asks_ns = volt_rt_now_ns(j->of->rt) + jobs_pause_most_ns;
    t->state = TOKEN_FREE;
  }
}

/* ---- the pipe ---- */

/* Take a byte out, and give its permit back. */
static void run_jobs_take_out(struct run_jobs *j) {
  char byte;
  struct run_token *t = run_token_that(j, TOKEN_HELD);
  if (!t || read(j->taker, &byte, 1) != 1) return; /* R1 */
  run_token_end(t);
  j->unused_looks = 0;
  j->pause_ns = j->pause_ns * 2 < jobs_pause_most_ns ? j->pause_ns * 2 : jobs_pause_most_ns;
  j->asks_ns = volt_rt_now_ns(j->of->rt) + j->pause_ns;
}

static void run_jobs_look(struct run_jobs *j) {
  int bytes = 0;
  run_token_collect(j);
  struct run_token *asks = run_token_that(j, TOKEN_ASKS);
  if (ioctl(j->taker, FIONREAD, &bytes) != 0) return;
  if (bytes > 0) {
    if (asks) run_token_end(asks);
    if (++j->unused_looks >= JOBS_LOOKS) run_jobs_take_out(j);
    return;
  }
  if (j->unused_looks > 0) j->pause_ns = jobs_pause_least_ns; /* make has taken one */
  if (j->unused_looks > 0) j->asks_ns = 0;
  j->unused_looks = 0;
  struct run_token *next = asks ? NULL : run_token_that(j, TOKEN_FREE);
  if (next && volt_rt_now_ns(j->of->rt) >= j->asks_ns) run_token_ask(j, next);
}

static int run_jobs_poll(volt_async *a, volt_ctx *ctx) {
  struct run_jobs *self = volt_container_of(a, struct run_jobs, async);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    run_jobs_look(self);
    VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(self->of->rt),
                                       volt_rt_now_ns(self->of->rt) + jobs_look_ns));
  }
  VOLT_ASYNC_END(self);
}

volt_future *run_jobs_future(struct run_jobs *j) {
  return volt_async_future(&j->async, run_jobs_poll);
}

/* ---- life ---- */

static bool run_jobs_is_number(const char *word) {
  return word && *word && word[strspn(word, "0123456789")] == '\0';
}

void run_jobs_leave_out(char *const *words) {
  char **to = (char **)(uintptr_t)words; /* argv, which is the program's */
  for (; *words; words++) {
    bool is_jobs = strcmp(*words, "-j") == 0 || strcmp(*words, "--jobs") == 0;
    if (!is_jobs || run_jobs_is_number(words[1])) *to++ = *words;
  }
  *to = NULL;
}

/* The variables of MAKEFLAGS: what begins with the word --, or the end of it. */
static const char *run_jobs_variables(const char *flags) {
  if (strcmp(flags, "--") == 0 || strncmp(flags, "-- ", 3) == 0) return flags;
  const char *found = strstr(flags, " -- ");
  return found ? found : flags + strlen(flags);
}

/* Put it behind the other options of MAKEFLAGS: the last counts. */
static bool run_jobs_say(const struct run_jobs *j) {
  const char *before = getenv("MAKEFLAGS");
  char *flags = NULL;
  if (!before) before = "";
  const char *variables = run_jobs_variables(before);
  int size = asprintf(&flags, "%.*s -j --jobserver-auth=%d,%d %s", (int)(variables - before),
                      before, j->pipe[0], j->pipe[1], variables);
  bool is_said = size >= 0 && setenv("MAKEFLAGS", flags, 1) == 0;
  if (size >= 0) free(flags);
  return is_said;
}

static bool run_jobs_open(struct run_jobs *j) {
  char path[40];
  if (pipe(j->pipe) != 0) return false;
  snprintf(path, sizeof path, "/proc/self/fd/%d", j->pipe[0]);
  j->taker = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  return j->taker >= 0 && run_jobs_say(j);
}

struct run_jobs *run_jobs_begin(struct run_hold *of) {
  struct run_jobs *j = (struct run_jobs *)calloc(1, sizeof *j);
  if (j) {
    j->of = of;
    j->pause_ns = jobs_pause_least_ns;
    j->pipe[0] = j->pipe[1] = j->taker = -1;
    if (run_jobs_open(j)) return j;
  }
  fprintf(stderr, "voltgate: run: --jobs: %s\n", strerror(errno));
  run_jobs_end(j);
  return NULL;
}

void run_jobs_end(struct run_jobs *j) {
  volt_future joined;
  if (!j) return;
  for (unsigned i = 0; i < RUN_JOBS_MOST; i++)
    if (j->tokens[i].state != TOKEN_FREE) run_token_end(&j->tokens[i]);
  for (unsigned i = 0; i < RUN_JOBS_MOST; i++) {
    if (j->tokens[i].state == TOKEN_FREE) continue;
    volt_future_made(volt_task_join_future(&joined, &j->tokens[i].task));
    (void)!volt_rt_run_until(j->of->rt, &joined, VOLT_NO_DEADLINE);
  }
  for (unsigned i = 0; i < 2; i++)
    if (j->pipe[i] >= 0) close(j->pipe[i]);
  if (j->taker >= 0) close(j->taker);
  free(j);
}
