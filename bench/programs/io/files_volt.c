/* files_volt.c: files.h by tasks, each of which reads one block at a time. */
#include "files.h"
#include "volt_engine.h"

typedef struct reader {
  volt_task task; /* first */
  volt_op op;
  uint64_t block;
  char bytes[FILES_BLOCK];
} reader;

static files run;
static volt_fd file;

static int reader_poll(volt_task *t, volt_ctx *ctx) {
  reader *self = volt_container_of(t, reader, task);
  VOLT_TASK_BEGIN(self);
  while (!files_over(&run)) {
    self->block = files_next(&run);
    VOLT_AWAIT(self, volt_fd_read_future(&self->op, &file, self->bytes, FILES_BLOCK,
                                         (int64_t)(self->block * FILES_BLOCK)));
    files_check(&run, self->block, self->bytes, (long)self->op.n);
  }
  VOLT_TASK_END(self);
}

int main(int count, char **values) {
  volt_rt *rt = engine_start(&count, values);
  files_start(&run, count, values);
  engine_must(volt_fd_init(&file, rt, run.fd, 0), "file");
  reader **all = (reader **)calloc(run.tasks, sizeof *all);
  if (!all) files_fail("calloc");
  for (unsigned i = 0; i < run.tasks; i++) {
    all[i] = VOLT_TASK_NEW(rt, reader, reader_poll);
    engine_must(all[i] ? volt_spawn(rt, &all[i]->task) : VOLT_ENOMEM, "spawn");
  }
  for (unsigned i = 0; i < run.tasks; i++) {
    engine_must(volt_task_join(&all[i]->task), "a read");
  }
  files_say(&run, "volt");
  for (unsigned i = 0; i < run.tasks; i++) volt_task_detach(&all[i]->task);
  volt_fd_close(&file);
  volt_rt_destroy(rt);
  free(all);
  return 0;
}
