/* open_files.c: a semaphore, a count under a mutex, and the comparison of the two. */
#include "open_files.h"

#include "memory.h"

void open_files_init(struct open_files *files, uint32_t bound) {
  *files = (struct open_files){.bound = bound};
  volt_sem_init(&files->permits, bound);
  volt_mutex_init(&files->lock);
}

/* Only those who have to wait pay for looking at the clock. */
int open_files_enter(struct open_files *files) {
  bool at_once = volt_sem_try_acquire(&files->permits, 1);
  uint64_t start_ns = at_once ? 0 : volt_now_ns();
  int result = at_once ? VOLT_OK : volt_sem_acquire_blocking(&files->permits, 1, VOLT_NO_DEADLINE);
  uint64_t wait_ns = at_once ? 0 : volt_now_ns() - start_ns;

  volt_mutex_lock_blocking(&files->lock, VOLT_NO_DEADLINE);
  if (!at_once) wait_times_add(&files->use.waits, wait_ns);
  if (result == VOLT_OK) {
    files->use.entered += 1;
    files->open += 1;
    if (files->open > files->use.most) files->use.most = files->open;
    if (files->open > files->bound) fatal("%u files open: above the bound", files->open);
  }
  volt_mutex_unlock(&files->lock);
  return result;
}

void open_files_leave(struct open_files *files) {
  volt_mutex_lock_blocking(&files->lock, VOLT_NO_DEADLINE);
  files->open -= 1;
  volt_mutex_unlock(&files->lock);
  volt_sem_release(&files->permits, 1);
}

void open_files_close(struct open_files *files) {
  volt_sem_close(&files->permits);
}

bool open_files_closed(struct open_files *files) {
  return volt_sem_is_closed(&files->permits);
}

struct open_files_use open_files_measured(struct open_files *files) {
  volt_mutex_lock_blocking(&files->lock, VOLT_NO_DEADLINE);
  struct open_files_use use = files->use;
  volt_mutex_unlock(&files->lock);
  return use;
}

void open_files_destroy(struct open_files *files) {
  volt_sem_destroy(&files->permits);
  volt_mutex_destroy(&files->lock);
}
