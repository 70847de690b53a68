/* files_uring.c: the limit of files.h by one ring. */
#include <liburing.h>

#include "files.h"

enum { ENTRIES = 1024 };

typedef struct reader {
  uint64_t block;
  char bytes[FILES_BLOCK];
} reader;

static files run;
static struct io_uring ring;

static void next(reader *r) {
  struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
  if (!sqe) files_fail("no entry");
  r->block = files_next(&run);
  io_uring_prep_read(sqe, run.fd, r->bytes, FILES_BLOCK, r->block * FILES_BLOCK);
  io_uring_sqe_set_data(sqe, r);
}

int main(int count, char **values) {
  files_start(&run, count, values);
  struct io_uring_params parameters = {.flags =
                                           IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
  if (io_uring_queue_init_params(ENTRIES, &ring, &parameters) != 0) files_fail("no ring");
  reader *all = (reader *)calloc(run.tasks, sizeof *all);
  if (!all || run.tasks > ENTRIES) files_fail("too many");
  for (unsigned i = 0; i < run.tasks; i++) next(&all[i]);
  for (unsigned left = run.tasks; left > 0;) {
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0;
    io_uring_submit_and_wait(&ring, 1);
    int over = files_over(&run);
    io_uring_for_each_cqe(&ring, head, cqe) {
      reader *r = (reader *)io_uring_cqe_get_data(cqe);
      seen++;
      files_check(&run, r->block, r->bytes, cqe->res);
      if (over) {
        left--;
      } else {
        next(r);
      }
    }
    io_uring_cq_advance(&ring, seen);
  }
  files_say(&run, "io_uring");
  return 0;
}
