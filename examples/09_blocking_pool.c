/* 09_blocking_pool.c: tasks read files without blocking the threads that run tasks.
 * A call that may block is made on a thread of the runtime's pool, and the task awaits its result.
 * The runtime starts such threads when they are needed; idle ones end.
 *
 *   cc -std=c11 09_blocking_pool.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 4 files, 1000 lines; 0 of the files were read on a worker */
#include <stdio.h>
#include <stdlib.h>
#include <volt/runtime.h>
#include <volt/volt.h>

enum { FILES = 4, CANNOT_READ = -100 /* a result of our own: any negative number */ };

struct count {
  volt_task task;
  volt_blocking call;
  volt_rt *rt;
  FILE *file;
  int lines;
  bool on_worker;
};

/* On a thread of the pool: it may block. */
static int count_lines(void *arg) {
  struct count *self = arg;
  int c;
  self->on_worker = volt_rt_current() != NULL;
  while ((c = fgetc(self->file)) != EOF) self->lines += c == '\n';
  return ferror(self->file) ? CANNOT_READ : VOLT_OK;
}

static int count_poll(volt_task *t, volt_ctx *ctx) {
  struct count *self = volt_container_of(t, struct count, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_blocking_future(&self->call, self->rt, count_lines, self));
  VOLT_TASK_END(self);
}

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, result == CANNOT_READ ? "cannot read" : volt_strerror(result));
  exit(EXIT_FAILURE);
}

static FILE *file_of(int lines) {
  FILE *file = tmpfile();
  for (int i = 0; file != NULL && i < lines; i++) fprintf(file, "line %d\n", i);
  if (file == NULL || fseek(file, 0, SEEK_SET) != 0) {
    perror("tmpfile");
    exit(EXIT_FAILURE);
  }
  return file;
}

int main(void) {
  struct count counts[FILES] = {{.lines = 0}};
  int lines = 0, on_worker = 0;
  volt_rt *rt;
  must(volt_rt_create(&rt, NULL), "runtime");
  for (int i = 0; i < FILES; i++) {
    counts[i].rt = rt;
    counts[i].file = file_of(100 * (i + 1));
    volt_task_init(&counts[i].task, count_poll);
    must(volt_spawn(rt, &counts[i].task), "spawn");
  }
  for (int i = 0; i < FILES; i++) {
    must(volt_task_join(&counts[i].task), "file");
    fclose(counts[i].file);
    lines += counts[i].lines;
    on_worker += counts[i].on_worker;
  }
  volt_rt_destroy(rt);
  printf("%d files, %d lines; %d of the files were read on a worker\n", FILES, lines, on_worker);
  return EXIT_SUCCESS;
}
