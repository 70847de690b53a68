/* wiped.c: memory of which a part is zero in a child of fork(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MADV_WIPEONFORK */
#endif
#include "wiped.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static size_t wiped_page(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* Whole pages for the kept bytes. They end where the last page begins. */
static size_t wiped_front(size_t kept) {
  return (kept + wiped_page() - 1) / wiped_page() * wiped_page();
}

void *wiped_new_(size_t kept) {
  size_t front = wiped_front(kept), size = front + wiped_page();
  char *all = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return NULL;
  if (madvise(all + front, wiped_page(), MADV_WIPEONFORK) == 0) return all + front - kept;
  (void)munmap(all, size);
  return NULL;
}

void wiped_free_(void *p, size_t kept) {
  if (!p) return;
  size_t front = wiped_front(kept);
  (void)munmap((char *)p + kept - front, front + wiped_page());
}
