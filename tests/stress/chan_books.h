/* chan_books.h: what must hold of what goes through channels. A stream is what one sender sends
 * into one channel: numbered from 1 on, without a gap. Each element is received once, or is given
 * back and its number used again; whoever receives one after the other sees the numbers of a stream
 * rise. A party, a thread or a task, keeps a book of its own, so nothing here is atomic. */
#ifndef VOLT_STRESS_CHAN_BOOKS_H
#define VOLT_STRESS_CHAN_BOOKS_H

#include <string.h>

#include "harness.h"

enum { CHAN_STREAMS = 128 };

typedef struct chan_msg {
  uint32_t stream;
  uint32_t number;
  uint64_t check;
} chan_msg;

typedef struct chan_book {
  uint32_t sent[CHAN_STREAMS]; /* the last number */
  uint32_t last[CHAN_STREAMS]; /* received */
  uint64_t count[CHAN_STREAMS];
  uint64_t sum[CHAN_STREAMS];
} chan_book;

static inline uint64_t chan_check(uint32_t stream, uint32_t number) {
  rng r = rng_seeded(((uint64_t)stream << 32) + number);
  return rng_next(&r);
}

/* The next n elements of a stream; none of them is sent yet. */
static inline void chan_make(const chan_book *b, uint32_t stream, chan_msg *m, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t number = b->sent[stream] + 1 + i;
    m[i] = (chan_msg){stream, number, chan_check(stream, number)};
  }
}

/* The first n of them are. */
static inline void chan_sent(chan_book *b, uint32_t stream, uint32_t n) {
  b->sent[stream] += n;
}

static inline void chan_count(chan_book *b, const chan_msg *m) {
  STRESS_CHECK(m->stream < CHAN_STREAMS && m->check == chan_check(m->stream, m->number));
  b->count[m->stream] += 1;
  b->sum[m->stream] += m->check;
}

/* n elements were received, one after the other. */
static inline void chan_received(chan_book *b, const chan_msg *m, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    chan_count(b, &m[i]);
    STRESS_CHECK(m[i].number > b->last[m[i].stream]); /* FIFO */
    b->last[m[i].stream] = m[i].number;
  }
}

/* drop of volt_chan_destroy(): ctx is a book. */
static inline void chan_dropped(void *elem, void *ctx) {
  chan_received((chan_book *)ctx, (const chan_msg *)elem, 1);
}

/* Memory that is to be received into, and that nobody refers to any more. */
static inline void chan_poison(void *memory, size_t bytes) {
  memset(memory, 0xa5, bytes);
}

/* All is over: what was sent was received, once. Books are cleared. */
static inline void chan_balance(chan_book *books, uint32_t count) {
  for (uint32_t stream = 0; stream < CHAN_STREAMS; stream++) {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      sent += books[i].sent[stream];
      received += books[i].count[stream];
      sum += books[i].sum[stream];
    }
    STRESS_CHECK(received == sent);
    for (uint64_t number = 1; number <= sent; number++) {
      sum -= chan_check(stream, (uint32_t)number);
    }
    STRESS_CHECK(sum == 0);
  }
  memset(books, 0, count * sizeof *books);
}

#endif
