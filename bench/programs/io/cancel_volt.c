/* cancel_volt.c: cancel.h by a task for each receive, in a timeout of the library. */
#include <stdatomic.h>

#include "cancel.h"
#include "volt_engine.h"

typedef struct receive {
  volt_task task; /* first */
  volt_op op;
  volt_fd fd;
  volt_timeout timeout;
  volt_timers *timers;
  uint64_t until;
  int result;
  char bytes[64];
} receive;

static atomic_uint begun;

static int receive_poll(volt_task *t, volt_ctx *ctx) {
  receive *self = volt_container_of(t, receive, task);
  VOLT_TASK_BEGIN(self);
  atomic_fetch_add(&begun, 1);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_timeout_future(&self->timeout,
                                        volt_fd_recv_future(&self->op, &self->fd, self->bytes,
                                                            sizeof self->bytes, 0),
                                        self->timers, self->until));
  VOLT_TASK_END(self);
}

int main(int count, char **values) {
  volt_rt *rt = engine_start(&count, values);
  cancel_options o = cancel_take_options(count, values);
  receive **all = (receive **)calloc(o.tasks, sizeof *all);
  if (!all) cancel_fail("calloc");
  for (unsigned i = 0; i < o.tasks; i++) {
    all[i] = VOLT_TASK_NEW(rt, receive, receive_poll);
    if (!all[i]) cancel_fail("no memory");
    engine_must(volt_fd_init(&all[i]->fd, rt, cancel_socket(), 0), "socket");
  }
  uint64_t until = cancel_now() + CANCEL_NS;
  for (unsigned i = 0; i < o.tasks; i++) {
    all[i]->timers = volt_rt_timers(rt);
    all[i]->until = until;
    engine_must(volt_spawn(rt, &all[i]->task), "spawn");
  }
  while (atomic_load(&begun) < o.tasks) usleep(1000);
  cancel_started(until);
  for (unsigned i = 0; i < o.tasks; i++) {
    engine_must(volt_task_join(&all[i]->task), "task");
  }
  cancel_say("volt", until);
  for (unsigned i = 0; i < o.tasks; i++) {
    if (all[i]->result != VOLT_ETIMEDOUT) cancel_fail("a receive has ended by itself");
    volt_fd_close(&all[i]->fd);
    volt_task_detach(&all[i]->task);
  }
  volt_rt_destroy(rt);
  free(all);
  return 0;
}
