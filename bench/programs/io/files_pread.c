/* files_pread.c: the limit of files.h by pread, one thread for each read at a time. */
#include <pthread.h>

#include "files.h"

static files run;

static void *reader(void *arg) {
  files *mine = (files *)arg;
  char block[FILES_BLOCK];
  while (!files_over(mine)) {
    uint64_t number = files_next(mine);
    files_check(mine, number, block,
                pread(mine->fd, block, sizeof block, (off_t)(number * FILES_BLOCK)));
  }
  return NULL;
}

int main(int count, char **values) {
  files_start(&run, count, values);
  pthread_t *threads = (pthread_t *)calloc(run.tasks, sizeof *threads);
  files *all = (files *)calloc(run.tasks, sizeof *all);
  if (!threads || !all) files_fail("calloc");
  for (unsigned i = 0; i < run.tasks; i++) {
    all[i] = run;
    all[i].random += i;
    if (pthread_create(&threads[i], NULL, reader, &all[i]) != 0) files_fail("pthread_create");
  }
  for (unsigned i = 0; i < run.tasks; i++) {
    pthread_join(threads[i], NULL);
    run.reads += all[i].reads;
  }
  files_say(&run, "pread");
  return 0;
}
