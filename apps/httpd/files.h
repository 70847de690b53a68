/* files.h: the files of a site, and a cache of those that are open.
 *
 * A file that was opened is used again without a look at the directory, for a time (keep_ns): a
 * file that was replaced, removed or changed is answered as it was, for at most that long, and is
 * closed within twice that. A small one is kept in memory. What is not a regular file (a directory,
 * fifo, device, socket) is looked at with O_PATH, which has no effect on it, and never opened.
 *
 * To find a file waits for no disk if it is in the cache, or if the system has what is needed in
 * memory. Else a thread of the blocking pool does it. */
#ifndef HTTPD_FILES_H
#define HTTPD_FILES_H

#include <stdatomic.h>
#include <volt/io.h>
#include <volt/volt.h>

#include "conditions.h"
#include "pool.h"

#define FILE_CONTENT_MAX 4096
#define FILE_PATH_MAX 256 /* of a file that is kept */

/* A file that is open. It stays so while it is referred to, by the cache or by a connection. */
struct file {
  struct resource resource;
  volt_fd fd;
  atomic_uint references;
  bool is_in_memory;
  uint64_t until_ns; /* the cache does not use it after this */
  char path[FILE_PATH_MAX];
  char content[FILE_CONTENT_MAX];
};

struct files {
  volt_rt *rt;
  int root;
  uint64_t keep_ns;
  uint32_t sets;
  struct file **kept; /* sets * FILES_PER_SET; under the lock */
  uint32_t kept_count;
  volt_mutex lock;
  volt_notify filled; /* the first file is kept */
  struct pool memory;
};

/* Open the root of a site. keep: files that are kept open. busy: files that may be in use besides.
 * Returns VOLT_OK or VOLT_ERRNO(e). */
int files_open(struct files *files, volt_rt *rt, const char *root, uint32_t keep, uint32_t busy,
               uint64_t keep_ns);

/* A task that closes, until it is cancelled, the files that the cache does not use any more. It
 * sleeps for good while none is kept. NULL: no memory. */
volt_task *files_sweeper(struct files *files);

/* No connection may use a file any more, and the sweeper has ended. */
void files_close(struct files *files);

/* What a task needs to find a file. */
struct find {
  volt_async async;
  union {
    volt_future lock;
    volt_blocking call;
  } as;
  struct files *files;
  const char *path;
  struct file *file;
  int64_t now;
  uint64_t now_ns;
  int status;
  int locked;
};

/* A future of the file at a path, relative and normal, and not of a directory.
 * f: the caller's. path: the caller's, until it is ready. now, now_ns: the time in seconds since
 *   1970, and on the runtime's clock.
 * Returns the future: VOLT_OK: f->status is 200 and f->file the caller's, for file_release(); or
 *   f->status is 301 (it is a directory), 403, 404, 500 or 503 (no descriptor is left).
 * Cancel: it is found all the same. */
volt_future *find_future(struct find *f, struct files *files, const char *path, int64_t now,
                         uint64_t now_ns);

/* The same without waiting, only from the cache. Returns NULL if it is not there. */
struct file *files_try(struct files *files, const char *path, uint64_t now_ns);

/* Read a part of it, if the system has that in memory.
 * n: how many bytes were read; 0 with VOLT_OK: the file ends there.
 * Returns VOLT_OK; VOLT_EAGAIN: the disk has to be waited for; VOLT_ERRNO(e). */
int file_try_read(struct file *file, void *to, size_t size, uint64_t at, size_t *n);

void file_release(struct files *files, struct file *file);

#endif
