/* 08_cancel.c: an upload is cancelled in the middle, and cleans up after itself.
 * Cancelling a task makes the await that it is in, or comes to next, return VOLT_ECANCELED.
 * Every way out of the task leads through VOLT_FINALLY: there it commits or rolls back.
 *
 *   cc -std=c11 08_cancel.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: the first: VOLT_OK, 3 parts kept, free slots: 2
 * prints: the second: VOLT_ECANCELED, 0 parts kept, free slots: 2 */
#include <stdio.h>
#include <stdlib.h>
#include <volt/runtime.h>
#include <volt/volt.h>

enum { PARTS = 3 };
VOLT_CHAN_DECLARE(parts, int);
static volt_sem slots = VOLT_SEM_INIT(2); /* uploads at a time */

struct upload {
  volt_task task;
  volt_future wait;
  parts in;           /* from the client */
  uint64_t memory[8]; /* of the channel: 16 bytes for each of 4 parts */
  volt_sem received;  /* a permit for each part */
  int result, part, kept, has_slot;
};

static int upload_poll(volt_task *t, volt_ctx *ctx) {
  struct upload *self = volt_container_of(t, struct upload, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &slots, 1));
  self->has_slot = 1;
  for (;;) {
    VOLT_AWAIT_RESULT(self, self->result, parts_recv_future(&self->wait, &self->in, &self->part));
    if (self->result == VOLT_ECLOSED) VOLT_RETURN(self, VOLT_OK); /* the file is complete */
    if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
    self->kept += 1;
    volt_sem_release(&self->received, 1);
  }
  VOLT_FINALLY(self);
  if (VOLT_LEAVING(self) != VOLT_OK) self->kept = 0; /* roll back */
  if (self->has_slot) volt_sem_release(&slots, 1);
  VOLT_TASK_END(self);
}

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

/* Returns when the upload has received all parts, and waits for more. */
static void begin(struct upload *u, volt_rt *rt) {
  *u = (struct upload){.kept = 0};
  must(parts_init(&u->in, PARTS, u->memory, sizeof u->memory), "channel");
  volt_task_init(&u->task, upload_poll);
  must(volt_spawn(rt, &u->task), "spawn");
  for (int i = 0; i < PARTS; i++) must(parts_try_send(&u->in, i), "send");
  must(volt_sem_acquire(&u->received, PARTS), "receive");
}

static void end(struct upload *u, const char *name) {
  int result = volt_task_join(&u->task);
  printf("%s: %s, %d parts kept, free slots: %u\n", name, volt_strresult(result), u->kept,
         volt_sem_available(&slots));
  volt_chan_destroy(&u->in.chan, NULL, NULL);
}

int main(void) {
  volt_rt *rt;
  must(volt_rt_create(&rt, NULL), "runtime");
  struct upload upload;
  begin(&upload, rt);
  volt_chan_close(&upload.in.chan);
  end(&upload, "the first");
  begin(&upload, rt);
  volt_task_cancel(&upload.task);
  end(&upload, "the second");
  volt_rt_destroy(rt);
  return EXIT_SUCCESS;
}
