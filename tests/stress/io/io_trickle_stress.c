/* io_trickle_stress.c: writers of one byte, and readers that are slow: every byte arrives once and in
 * order, and who sends to a reader that does not read holds no more than its own buffer.
 *
 * All streams move at once, so none of them is over for as long as they all take. What the watchdog
 * sees is each read and write; and a writer that has written enough ends when the round does, so that a
 * slow machine moves less.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sched.h>

#include "io_load.h"

enum { STREAMS = 50, BYTES = 2000, FEW_BYTES = 100, RT_WORKERS = 2 };
enum { CHUNK = 4096, SLOW = 20, SLOW_CHUNKS = 6400, FEW_CHUNKS = 100 };
enum { ROUND_NS = 200000000 };

typedef struct writer {
  volt_task task;
  volt_fd d;
  volt_op op;
  uint64_t place, size, step;
} writer;

typedef struct reader {
  volt_task task;
  volt_fd d;
  volt_op op;
  uint64_t place, step;
  unsigned char bytes[CHUNK];
} reader;

static io_load load;
static VOLT_ATOMIC(uint64_t) enough; /* bytes of each stream */
static writer writers[STREAMS];
static reader readers[STREAMS];

static bool writer_goes_on(const writer *self) {
  if (self->place >= self->size) return false;
  return self->place < volt_load_relaxed(&enough) || !stress_stopping();
}

static int writer_poll(volt_task *t, volt_ctx *ctx) {
  writer *self = volt_container_of(t, writer, task);
  VOLT_TASK_BEGIN(self);
  for (self->place = 0; writer_goes_on(self); self->place += self->op.n) {
    VOLT_AWAIT(self,
               volt_fd_write_future(&self->op, &self->d, io_load_at(self->place), self->step, -1));
    STRESS_CHECK(self->op.n == self->step);
    stress_count_entry();
  }
  volt_fd_close(&self->d);
  VOLT_TASK_END(self);
}

static int reader_poll(volt_task *t, volt_ctx *ctx) {
  reader *self = volt_container_of(t, reader, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_read_future(&self->op, &self->d, self->bytes, self->step, -1));
    if (self->op.n == 0) break;
    io_load_check(self->place, self->bytes, self->op.n);
    self->place += self->op.n;
    stress_count_entry();
  }
  volt_fd_close(&self->d);
  VOLT_TASK_END(self);
}

/* Some megabytes, by itself: then it takes long until a slow machine has filled it. */
static void limit_tcp_buffer(int fd) {
  int bytes = 1 << 17;
  STRESS_CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0);
}

static void stream_begin(unsigned i, uint64_t size, uint64_t write_step, uint64_t read_step) {
  int ends[2];
  memset((void *)&writers[i], 0, sizeof writers[i]);
  memset((void *)&readers[i], 0, sizeof readers[i]);
  switch (i % 3) {
    case 0: io_load_pair(ends); break;
    case 1:
      io_load_tcp_pair(ends);
      limit_tcp_buffer(ends[1]);
      break;
    default: STRESS_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  }
  io_load_fd(&load, &readers[i].d, ends[0]);
  io_load_fd(&load, &writers[i].d, ends[1]);
  writers[i].size = size;
  writers[i].step = write_step;
  readers[i].step = read_step;
  volt_task_init(&writers[i].task, writer_poll);
  volt_task_init(&readers[i].task, reader_poll);
  STRESS_CHECK(volt_spawn(load.rt, &writers[i].task) == VOLT_OK);
}

static void reader_spawn(unsigned i) {
  STRESS_CHECK(volt_spawn(load.rt, &readers[i].task) == VOLT_OK);
}

static void stream_end(stress_worker *w, unsigned i) {
  STRESS_CHECK(volt_task_join(&writers[i].task) == VOLT_OK);
  STRESS_CHECK(volt_task_join(&readers[i].task) == VOLT_OK);
  STRESS_CHECK(readers[i].place == writers[i].place);
  w->acquired += 1;
  stress_progress(w, "a stream");
}

static void bytes_one_by_one(stress_worker *w, void *arg) {
  (void)arg;
  volt_store_relaxed(&enough, FEW_BYTES); /* the spawns publish it */
  for (unsigned i = 0; i < STREAMS; i++) {
    stream_begin(i, BYTES, 1, 1 + stress_below(w, 3) * 100);
    reader_spawn(i);
  }
  for (unsigned i = 0; i < STREAMS; i++) stream_end(w, i);
}

/* The writers get as far as the system's buffers reach, and wait there: the runtime holds not a byte
 * more than before. Then the readers come. */
static void readers_come_late(stress_worker *w, void *arg) {
  (void)arg;
  uint64_t held;
  volt_store_relaxed(&enough, UINT64_MAX); /* the spawns publish it */
  for (unsigned i = 0; i < SLOW; i++) {
    stream_begin(i, (uint64_t)SLOW_CHUNKS * CHUNK, CHUNK, CHUNK);
  }
  stress_progress(w, "until they are full");
  for (unsigned still = 0; still < 100;) { /* until none has moved for a while */
    bool moved = false;
    for (unsigned i = 0; i < SLOW; i++) {
      struct pollfd p = {volt_fd_number(&writers[i].d), POLLOUT, 0};
      moved |= poll(&p, 1, 0) != 0 && (p.revents & POLLOUT);
    }
    still = moved ? 0 : still + 1;
    sched_yield();
  }
  held = volt_load_relaxed(&load.held);
  for (unsigned i = 0; i < SLOW; i++) {
    STRESS_CHECK(volt_task_result(&writers[i].task) == VOLT_PENDING);
  }
  stress_progress(w, "until they are read");
  for (unsigned i = 0; i < SLOW; i++) reader_spawn(i);
  volt_store_relaxed(&enough, FEW_CHUNKS * CHUNK); /* when it is seen does not matter */
  for (unsigned i = 0; i < SLOW; i++) stream_end(w, i);
  STRESS_CHECK(volt_load_relaxed(&load.held) <= held + 65536); /* rings of tasks; no bytes */
}

int main(void) {
  stress_begin("one byte at a time, and readers that come late", "a stream", NULL);
  if (!io_load_is_there(RT_WORKERS)) return IO_LOAD_SKIPPED;
  io_load_make_bytes();
  for (unsigned round = 0; round == 0 || stress_time_left(); round++) {
    io_load_begin(&load, 1 + round % RT_WORKERS);
    stress_round(1, ROUND_NS, bytes_one_by_one, NULL);
    stress_round(1, ROUND_NS, readers_come_late, NULL);
    io_load_end(&load, 0);
  }
  return stress_end();
}
