/* stages.c: the stages but for the last, and how a stage waits.
 *
 * In a step the token comes first: a stage that could go on, and is to stop, stops. An element that
 * was granted in the instant in which the token was cancelled is not lost: a select takes one
 * branch or the other. */
#define _GNU_SOURCE
#include "stages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/sums/tree.h"

/* ---- a step ---- */

enum { STOP, OPERATION };

volt_future *step_future(struct step *step, volt_token *stop) {
  step->both[STOP] = volt_token_wait_future(&step->stop, stop);
  step->both[OPERATION] = &step->operation;
  return volt_select_future(&step->select, step->both, 2, VOLT_SELECT_BIASED);
}

int step_result(const struct step *step, int result) {
  return volt_select_winner(&step->select) == STOP ? VOLT_ECANCELED : result;
}

int step_blocking(struct step *step, volt_token *stop) {
  return step_result(step, volt_future_wait(step_future(step, stop)));
}

/* ---- walk: a thread that finds files ---- */

static int send_files(struct pipeline *p, struct tree *tree) {
  int result = VOLT_OK;
  for (char *path; result == VOLT_OK && (path = tree_next_file(tree)) != NULL;) {
    struct step step;
    volt_future_made(path_chan_send_future(&step.operation, &p->paths, &path));
    result = step_blocking(&step, &p->stop);
    if (result != VOLT_OK) free(path); /* it is still ours */
  }
  return result;
}

static int walk_root(struct pipeline *p, struct tree *tree, const char *root) {
  tree_enter(tree, root);
  int result = send_files(p, tree);
  while (result == VOLT_OK && tree_next_directory(tree)) {
    do {
      tree_read(tree);
    } while (tree_is_open(tree) && !volt_token_is_cancelled(&p->stop));
    tree_close(tree);
    result = send_files(p, tree);
  }
  return result;
}

void *walk_run(void *pipeline) {
  struct pipeline *p = pipeline;
  struct tree tree;
  tree_init(&tree, &p->roots, &p->tally, p->console);
  int result = VOLT_OK;
  for (char *const *root = p->options->roots; *root != NULL && result == VOLT_OK; root++) {
    result = walk_root(p, &tree, *root);
  }
  tree_destroy(&tree);
  volt_chan_close(&p->paths.chan);
  return NULL;
}

/* ---- read: threads; a file goes to one lane, so its blocks stay in order ---- */

/* The file will have no sum, and why was printed. */
static void forget(struct pipeline *p, struct file *file) {
  if (file->fd >= 0) close(file->fd);
  file->fd = -1;
  free(file->path);
  file->path = NULL;
  pipeline_free_file(p, file);
  tally_add(&p->tally, (struct counts){.skipped = 1});
}

static bool is_same_state(const struct stat *a, const struct stat *b) {
  return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Returns whether it is to be read. Else it is forgotten. */
static bool open_file(struct pipeline *p, struct file *file) {
  const char *wrong = NULL;
  file->fd = roots_open(&p->roots, file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file->fd < 0 || fstat(file->fd, &file->status) != 0) {
    wrong = strerror(errno);
  } else if (!S_ISREG(file->status.st_mode)) {
    wrong = "is no regular file any more";
  } else if (file->status.st_ino == p->list.st_ino && file->status.st_dev == p->list.st_dev) {
    console_mention(p->console, file->path, "is the list itself: left out");
    forget(p, file);
    return false;
  }
  if (!wrong) return true;
  console_complain(p->console, file->path, wrong);
  forget(p, file);
  return false;
}

static int send_block(struct pipeline *p, block_chan *lane, struct block block) {
  struct step step;
  volt_future_made(block_chan_send_future(&step.operation, lane, &block));
  return step_blocking(&step, &p->stop);
}

/* All of it has been read, or reading failed: error. Returns VOLT_OK, or VOLT_ECANCELED. */
static int end_file(struct pipeline *p, struct file *file, block_chan *lane, int error) {
  struct stat after;
  if (error == 0 && fstat(file->fd, &after) != 0) error = errno;
  bool changed = error == 0 && !is_same_state(&file->status, &after);
  close(file->fd);
  file->fd = -1;
  if (error != 0 || changed) {
    console_complain(p->console, file->path,
                     changed ? "changed while it was read" : strerror(error));
    free(file->path);
    file->path = NULL; /* the next stages pass it through */
    tally_add(&p->tally, (struct counts){.skipped = 1});
  }
  return send_block(p, lane, (struct block){file, NULL, 0});
}

/* Returns VOLT_OK, or VOLT_ECANCELED. */
static int read_file(struct pipeline *p, struct file *file, block_chan *lane) {
  for (;;) {
    struct step step;
    unsigned char *buffer;
    volt_future_made(buffer_chan_recv_future(&step.operation, &p->free_buffers, &buffer));
    int result = step_blocking(&step, &p->stop);
    if (result != VOLT_OK) return result;
    ssize_t bytes;
    do {
      bytes = read(file->fd, buffer, BLOCK_BYTES);
    } while (bytes < 0 && errno == EINTR);
    if (bytes <= 0) {
      int error = bytes < 0 ? errno : 0;
      pipeline_free_buffer(p, buffer);
      return end_file(p, file, lane, error);
    }
    tally_add(&p->tally, (struct counts){.bytes = (uint64_t)bytes});
    result = send_block(p, lane, (struct block){file, buffer, (size_t)bytes});
    if (result != VOLT_OK) return result;
  }
}

/* A path, and a file for it. Returns VOLT_OK, VOLT_ECLOSED, or VOLT_ECANCELED. */
static int take_file(struct pipeline *p, struct file **file) {
  struct step step;
  volt_future_made(file_chan_recv_future(&step.operation, &p->free_files, file));
  int result = step_blocking(&step, &p->stop);
  if (result != VOLT_OK) return result;
  volt_future_made(path_chan_recv_future(&step.operation, &p->paths, &(*file)->path));
  result = step_blocking(&step, &p->stop);
  if (result != VOLT_OK) pipeline_free_file(p, *file);
  return result;
}

void *read_run(void *pipeline) {
  struct pipeline *p = pipeline;
  int result = VOLT_OK;
  while (result == VOLT_OK) {
    struct file *file;
    result = take_file(p, &file);
    if (result != VOLT_OK || !open_file(p, file)) continue;
    sha256_begin(&file->hash);
    block_chan *lane = &p->lanes[(size_t)file->status.st_ino % p->options->hashers];
    result = read_file(p, file, lane);
  }
  volt_latch_done(&p->reading);
  return NULL;
}

/* ---- hash: tasks, each with a lane of its own ---- */

/* Hash what has come. Returns whether the file is done. */
static bool handle(struct hash_task *h) {
  struct block *block = &h->block;
  if (!block->buffer) {
    block->file->sum = sha256_end(&block->file->hash);
    return true;
  }
  sha256_add(&block->file->hash, block->buffer, block->bytes);
  pipeline_free_buffer(h->pipeline, block->buffer);
  return false;
}

static int hash_poll(volt_task *t, volt_ctx *ctx) {
  struct hash_task *self = volt_container_of(t, struct hash_task, task);
  struct pipeline *p = self->pipeline;
  VOLT_TASK_BEGIN(self);
  for (;;) {
    volt_future_made(block_chan_recv_future(&self->step.operation, self->lane, &self->block));
    VOLT_AWAIT_RESULT(self, self->result, step_future(&self->step, &p->stop));
    if (step_result(&self->step, self->result) != VOLT_OK) break;
    if (!handle(self)) continue;
    volt_future_made(file_chan_send_future(&self->step.operation, &p->sums, &self->block.file));
    VOLT_AWAIT_RESULT(self, self->result, step_future(&self->step, &p->stop));
    if (step_result(&self->step, self->result) != VOLT_OK) break;
  }
  VOLT_TASK_END(self);
}

void hash_task_init(struct hash_task *h, struct pipeline *p, block_chan *lane) {
  *h = (struct hash_task){.pipeline = p, .lane = lane};
  volt_task_init(&h->task, hash_poll);
}
