/* pipeline.c: builds the stages, is the last of them, and takes all apart. */
#define _GNU_SOURCE
#include "pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"
#include "stages.h"

static void must(int result, const char *what) {
  if (result != VOLT_OK) fatal("%s: %s", what, volt_strerror(result));
}

/* ---- channels ---- */

static void *channel_memory(struct pipeline *p, size_t bytes) {
  if (bytes == 0) fatal("a channel cannot be that large");
  return p->memory[p->channels++] = must_allocate(bytes, 1);
}

#define CHANNEL_INIT(p, type, chan, capacity)                                       \
  must(type##_init((chan), (capacity), channel_memory((p), type##_bytes(capacity)), \
                   type##_bytes(capacity)),                                         \
       "volt_chan_init")

static void init_channels(struct pipeline *p) {
  const struct options *o = p->options;
  p->memory = must_allocate(4 + o->hashers, sizeof *p->memory);
  p->lanes = must_allocate(o->hashers, sizeof *p->lanes);
  CHANNEL_INIT(p, path_chan, &p->paths, o->capacity);
  for (unsigned i = 0; i < o->hashers; i++) CHANNEL_INIT(p, block_chan, &p->lanes[i], o->capacity);
  CHANNEL_INIT(p, file_chan, &p->sums, o->capacity);
  CHANNEL_INIT(p, buffer_chan, &p->free_buffers, o->buffers);
  CHANNEL_INIT(p, file_chan, &p->free_files, o->files);
}

static void free_path(void *path, void *ctx) {
  (void)ctx;
  free(*(char **)path);
}

static void destroy_channels(struct pipeline *p) {
  volt_chan_destroy(&p->paths.chan, free_path, NULL);
  for (unsigned i = 0; i < p->options->hashers; i++) {
    volt_chan_destroy(&p->lanes[i].chan, NULL, NULL);
  }
  volt_chan_destroy(&p->sums.chan, NULL, NULL);
  volt_chan_destroy(&p->free_buffers.chan, NULL, NULL);
  volt_chan_destroy(&p->free_files.chan, NULL, NULL);
  for (unsigned i = 0; i < p->channels; i++) free(p->memory[i]);
  free(p->memory);
  free(p->lanes);
}

/* ---- life ---- */

void pipeline_free_buffer(struct pipeline *p, unsigned char *buffer) {
  must(buffer_chan_try_send(&p->free_buffers, buffer), "buffer_chan_try_send");
}

void pipeline_free_file(struct pipeline *p, struct file *file) {
  must(file_chan_try_send(&p->free_files, file), "file_chan_try_send");
}

void pipeline_init(struct pipeline *p, const struct options *options, struct console *console) {
  *p = (struct pipeline){.options = options, .console = console};
  roots_init(&p->roots, options->roots);
  tally_init(&p->tally);
  results_init(&p->results);
  volt_token_init(&p->stop);
  volt_latch_init(&p->reading, options->readers);
  init_channels(p);
  p->buffers = must_allocate(options->buffers, BLOCK_BYTES);
  for (unsigned i = 0; i < options->buffers; i++) {
    pipeline_free_buffer(p, p->buffers + i * BLOCK_BYTES);
  }
  p->files = must_allocate(options->files, sizeof *p->files);
  for (unsigned i = 0; i < options->files; i++) {
    sha256_init(&p->files[i].hash);
    p->files[i].fd = -1;
    pipeline_free_file(p, &p->files[i]);
  }
}

void pipeline_destroy(struct pipeline *p) {
  destroy_channels(p);
  for (unsigned i = 0; i < p->options->files; i++) { /* those that a stop has left on their way */
    if (p->files[i].fd >= 0) close(p->files[i].fd);
    free(p->files[i].path);
    sha256_destroy(&p->files[i].hash);
  }
  free(p->files);
  free(p->buffers);
  volt_latch_destroy(&p->reading);
  volt_token_destroy(&p->stop);
  results_destroy(&p->results);
  tally_destroy(&p->tally);
  roots_destroy(&p->roots);
}

/* ---- the stages ---- */

/* Ends what has to end when what is before it has ended. */
struct closer {
  volt_task task;
  struct pipeline *pipeline;
  volt_group *hashing;
  volt_future future;
};

static int closer_poll(volt_task *t, volt_ctx *ctx) {
  struct closer *self = volt_container_of(t, struct closer, task);
  struct pipeline *p = self->pipeline;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_latch_wait_future(&self->future, &p->reading));
  for (unsigned i = 0; i < p->options->hashers; i++) volt_chan_close(&p->lanes[i].chan);
  VOLT_AWAIT(self, volt_group_wait_future(&self->future, self->hashing));
  volt_chan_close(&p->sums.chan);
  VOLT_TASK_END(self);
}

static pthread_t start(void *(*run)(void *), struct pipeline *p) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, run, p);
  if (error != 0) fatal("pthread_create: %s", strerror(error));
  return thread;
}

/* The last stage. Returns whether everything has come. */
static bool write_run(struct pipeline *p) {
  for (;;) {
    struct step step;
    struct file *file;
    volt_future_made(file_chan_recv_future(&step.operation, &p->sums, &file));
    int result = step_blocking(&step, &p->stop);
    if (result != VOLT_OK) return result == VOLT_ECLOSED;
    if (file->path) {
      results_add(&p->results, file->path, &file->status, &file->sum);
      tally_add(&p->tally, (struct counts){.summed = 1});
    }
    file->path = NULL;
    pipeline_free_file(p, file);
  }
}

bool pipeline_run(struct pipeline *p) {
  const struct options *o = p->options;
  volt_rt *rt;
  must(volt_rt_create(&rt, NULL), "volt_rt_create");
  volt_group hashing;
  volt_group_init(&hashing);
  struct hash_task *hashers = must_allocate(o->hashers, sizeof *hashers);
  for (unsigned i = 0; i < o->hashers; i++) {
    hash_task_init(&hashers[i], p, &p->lanes[i]);
    must(volt_group_spawn(&hashing, rt, &hashers[i].task), "volt_group_spawn");
  }
  struct closer closer = {.pipeline = p, .hashing = &hashing};
  volt_task_init(&closer.task, closer_poll);
  must(volt_spawn(rt, &closer.task), "volt_spawn");
  pthread_t *readers = must_allocate(o->readers, sizeof *readers);
  for (unsigned i = 0; i < o->readers; i++) readers[i] = start(read_run, p);
  pthread_t walker = start(walk_run, p);

  bool all = write_run(p);

  pthread_join(walker, NULL);
  for (unsigned i = 0; i < o->readers; i++) pthread_join(readers[i], NULL);
  volt_task_join(&closer.task);
  volt_group_destroy(&hashing);
  volt_rt_shutdown(rt, VOLT_NO_DEADLINE);
  volt_rt_destroy(rt);
  free(readers);
  free(hashers);
  return all;
}
