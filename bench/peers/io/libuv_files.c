/* libuv_files.c: files.h by uv_fs_read, which libuv's pool of threads does. */
#include <uv.h>

#include "files.h"

typedef struct reader {
  uv_fs_t request; /* first */
  uint64_t block;
  char bytes[FILES_BLOCK];
} reader;

static files run;

static void next(uv_loop_t *loop, reader *r);

static void on_read(uv_fs_t *request) {
  reader *r = (reader *)request;
  files_check(&run, r->block, r->bytes, request->result);
  uv_loop_t *loop = request->loop;
  uv_fs_req_cleanup(request);
  next(loop, r);
}

static void next(uv_loop_t *loop, reader *r) {
  if (files_over(&run)) return;
  r->block = files_next(&run);
  uv_buf_t into = uv_buf_init(r->bytes, FILES_BLOCK);
  uv_fs_read(loop, &r->request, run.fd, &into, 1, (int64_t)(r->block * FILES_BLOCK), on_read);
}

int main(int count, char **values) {
  files_start(&run, count, values);
  reader *all = (reader *)calloc(run.tasks, sizeof *all);
  if (!all) files_fail("calloc");
  for (unsigned i = 0; i < run.tasks; i++) next(uv_default_loop(), &all[i]);
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  files_say(&run, "libuv");
  return 0;
}
