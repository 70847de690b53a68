/* detail/channel.h: how an element goes through a channel in which no thread waits: inline, so that
 * it costs a compare-and-swap and a copy.
 *
 * Not an interface: programs use volt/channel.h. The protocol is in src/sync/channel.c. */
#ifndef VOLT_DETAIL_CHANNEL_H
#define VOLT_DETAIL_CHANNEL_H

#include "../channel.h"

/* One place of the ring. Its element follows. In each lap around the ring the sequence number is
 * 2 * lap while the place is empty, and 2 * lap + 1 while the element is there. */
typedef struct volt_chan_slot {
  VOLT_ATOMIC(uint32_t) sequence;
  uint32_t unused; /* elements are aligned to 8 */
} volt_chan_slot;

/* The word of a channel:
 *
 *   bits 0-2    QUEUED, LOCKED, CLOSED, as in detail/fifo.h
 *   bit 3       WATCHED    a future has awaited the close, at any time
 *   bits 8-35   len        how many elements there are
 *   bits 36-63  tail       the position of the next element
 *
 * The elements are at the positions tail - len .. tail - 1. With QUEUED the waiters are receivers
 * if len is 0; else they are senders, and there is no room. */
#define VOLT_CHAN_WATCHED_ UINT64_C(8)
#ifndef VOLT_CHAN_POSITION_BITS_
#define VOLT_CHAN_POSITION_BITS_ 28
#endif

VOLT_BEGIN_DECLS

/* ---- the word ---- */

/* Positions wrap around. */
static inline uint32_t volt_chan_wrap_(uint32_t position) {
  return position & ((UINT32_C(1) << VOLT_CHAN_POSITION_BITS_) - 1);
}

/* A word with this tail and this len; also a difference of words, which changes both by so many. */
static inline uint64_t volt_chan_word_(uint32_t tail, uint32_t len) {
  return (uint64_t)tail << (64 - VOLT_CHAN_POSITION_BITS_) | (uint64_t)len << 8;
}

static inline uint32_t volt_chan_len_in_(uint64_t word) {
  return volt_chan_wrap_((uint32_t)(word >> 8));
}

/* The position at which the next element is sent. */
static inline uint32_t volt_chan_tail_in_(uint64_t word) {
  return (uint32_t)(word >> (64 - VOLT_CHAN_POSITION_BITS_));
}

/* The position of the oldest element. */
static inline uint32_t volt_chan_head_in_(uint64_t word) {
  return volt_chan_wrap_(volt_chan_tail_in_(word) - volt_chan_len_in_(word));
}

/* ---- functions of the library that the inline ones call ---- */

/* As volt_chan_send_waiter(), ...: the caller has found that it must wait, or needs the lock to
 * know. */
VOLT_API int volt_chan_send_slow_(volt_chan *c, volt_waiter *w, const void *elem, volt_waker waker);
VOLT_API int volt_chan_recv_slow_(volt_chan *c, volt_waiter *w, void *elem, volt_waker waker);
VOLT_API int volt_chan_try_send_slow_(volt_chan *c, const void *elem);
VOLT_API int volt_chan_try_recv_slow_(volt_chan *c, void *elem);
/* A compare-and-swap has failed: pause for a moment. Returns the word. */
VOLT_API uint64_t volt_chan_contended_(volt_chan *c);
/* Wait until a copy in progress has brought the slot to this sequence number. */
VOLT_API void volt_chan_await_sequence_(volt_chan_slot *slot, uint32_t sequence);

/* ---- the ring ---- */

/* Where the ring is: a copy, which the compiler keeps in registers. */
typedef struct volt_chan_ring_ {
  unsigned char *slots;
  uint32_t stride;
  uint32_t shift;
} volt_chan_ring_;

static inline volt_chan_ring_ volt_chan_ring_of_(const volt_chan *c) {
  volt_chan_ring_ ring = {c->slots, c->stride, c->shift};
  return ring;
}

static inline volt_chan_slot *volt_chan_slot_(volt_chan_ring_ ring, uint32_t position) {
  size_t index = position & ((UINT32_C(1) << ring.shift) - 1);
  return (volt_chan_slot *)(void *)(ring.slots + index * ring.stride);
}

static inline void *volt_chan_elem_(volt_chan_slot *slot) {
  return (unsigned char *)(void *)slot + sizeof *slot;
}

/* The sequence number of a place that is empty, for the sender at a position. Once the element is
 * there, for the receiver, it is one higher. */
static inline uint32_t volt_chan_sequence_(volt_chan_ring_ ring, uint32_t position) {
  return volt_chan_wrap_(position) >> ring.shift << 1;
}

/* How many of the n places from a position on are empty. A hint: the claimer looks again. */
static inline uint32_t volt_chan_ready_places_(volt_chan_ring_ ring, uint32_t position,
                                               uint32_t n) {
  uint32_t i = 0;
  for (; i < n; i++) {
    volt_chan_slot *slot = volt_chan_slot_(ring, position + i);
    uint32_t sequence = volt_chan_sequence_(ring, position + i);
    if (volt_load_relaxed(&slot->sequence) != sequence) break; /* S1 follows */
  }
  return i;
}

/* How many of the n elements from a position on are there. A hint: the claimer looks again. */
static inline uint32_t volt_chan_ready_elems_(volt_chan_ring_ ring, uint32_t position, uint32_t n) {
  uint32_t i = 0;
  for (; i < n; i++) {
    volt_chan_slot *slot = volt_chan_slot_(ring, position + i);
    uint32_t sequence = volt_chan_sequence_(ring, position + i) + 1;
    if (volt_load_relaxed(&slot->sequence) != sequence) break; /* S3 follows */
  }
  return i;
}

/* ---- claims ---- */

/* Claim up to n places. Returns how many, from *position on. Returns 0: a waiter is queued, the
 * channel is closed or full, or the place is not empty yet. *word: the word that was read last. */
static inline uint32_t volt_chan_claim_places_(volt_chan *c, volt_chan_ring_ ring, uint32_t n,
                                               uint32_t *position, uint64_t *word) {
  *word = volt_load_relaxed(&c->queue.word); /* a guess: the CAS decides */
  while ((*word & (VOLT_WORD_QUEUED_ | VOLT_WORD_CLOSED_)) == 0) {
    uint32_t room = c->capacity - volt_chan_len_in_(*word);
    *position = volt_chan_tail_in_(*word);
    uint32_t k = volt_chan_ready_places_(ring, *position, n < room ? n : room);
    if (k == 0) break;
    uint64_t next = *word + volt_chan_word_(k, k);
    /* channel:P1 <-> channel:C1, channel:P1, fifo:U1: a claim sees all earlier ones, so it reads no
     * sequence number of an earlier round (R8) */
    if (volt_cas_acq_rel(&c->queue.word, word, next)) return k;
    *word = volt_chan_contended_(c);
  }
  return 0;
}

/* Claim up to n elements. Returns how many, from *position on. Returns 0: a waiter is queued, there
 * is no element, or it is not there yet. *word: the word that was read last. */
static inline uint32_t volt_chan_claim_elems_(volt_chan *c, volt_chan_ring_ ring, uint32_t n,
                                              uint32_t *position, uint64_t *word) {
  *word = volt_load_relaxed(&c->queue.word); /* a guess: the CAS decides */
  while ((*word & VOLT_WORD_QUEUED_) == 0) {
    uint32_t len = volt_chan_len_in_(*word);
    *position = volt_chan_head_in_(*word);
    uint32_t k = volt_chan_ready_elems_(ring, *position, n < len ? n : len);
    if (k == 0) break;
    uint64_t next = *word - volt_chan_word_(0, k);
    /* channel:P1 <-> channel:C1, channel:P1, fifo:U1: a claim sees all earlier ones, so it reads no
     * sequence number of an earlier round (R8) */
    if (volt_cas_acq_rel(&c->queue.word, word, next)) return k;
    *word = volt_chan_contended_(c);
  }
  return 0;
}

/* ---- copies ---- */

/* Copy an element; one of 8 bytes without a call. */
static inline void volt_chan_move_(void *to, const void *from, size_t bytes) {
  if (bytes == 8) {
    VOLT_COPY_(to, from, 8);
  } else {
    VOLT_COPY_(to, from, bytes);
  }
}

/* The position is claimed. Copy *elem into the place, as soon as that is empty. */
static inline void volt_chan_fill_(volt_chan_ring_ ring, uint32_t position, const void *elem,
                                   size_t bytes) {
  volt_chan_slot *slot = volt_chan_slot_(ring, position);
  uint32_t sequence = volt_chan_sequence_(ring, position);
  /* channel:S1 <- channel:S4: the place is empty, its last receiver is done (R3, R8) */
  if (VOLT_UNLIKELY(volt_load_acquire(&slot->sequence) != sequence)) {
    volt_chan_await_sequence_(slot, sequence);
  }
  volt_chan_move_(volt_chan_elem_(slot), elem, bytes);
  /* channel:S2 -> channel:S3: the receiver sees the element, and what this thread did before */
  volt_store_release(&slot->sequence, sequence + 1);
}

/* The position is claimed. Copy the element out of its place, as soon as it is there. */
static inline void volt_chan_empty_(volt_chan_ring_ ring, uint32_t position, void *elem,
                                    size_t bytes) {
  volt_chan_slot *slot = volt_chan_slot_(ring, position);
  uint32_t sequence = volt_chan_sequence_(ring, position) + 1;
  /* channel:S3 <- channel:S2: the element is there, with what its sender did before (R3, R8) */
  if (VOLT_UNLIKELY(volt_load_acquire(&slot->sequence) != sequence)) {
    volt_chan_await_sequence_(slot, sequence);
  }
  volt_chan_move_(elem, volt_chan_elem_(slot), bytes);
  uint32_t next = volt_chan_sequence_(ring, position + (UINT32_C(1) << ring.shift));
  /* channel:S4 -> channel:S1: the next sender writes here after this copy */
  volt_store_release(&slot->sequence, next);
}

/* ---- send and receive ---- */

/* Send without the lock. Returns VOLT_OK, VOLT_EAGAIN (full), or VOLT_PENDING (the lock is
 * needed). */
static inline int volt_chan_send_now_(volt_chan *c, const void *elem, size_t bytes) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  uint32_t position;
  uint64_t word;
  if (VOLT_LIKELY(volt_chan_claim_places_(c, ring, 1, &position, &word) != 0)) {
    volt_chan_fill_(ring, position, elem, bytes);
    return VOLT_OK;
  }
  bool full = !(word & VOLT_WORD_CLOSED_) && volt_chan_len_in_(word) == c->capacity;
  return full ? VOLT_EAGAIN : VOLT_PENDING;
}

/* Receive without the lock. Returns VOLT_OK, VOLT_EAGAIN (empty), or VOLT_PENDING (the lock is
 * needed). */
static inline int volt_chan_recv_now_(volt_chan *c, void *elem, size_t bytes) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  uint32_t position;
  uint64_t word;
  if (VOLT_LIKELY(volt_chan_claim_elems_(c, ring, 1, &position, &word) != 0)) {
    volt_chan_empty_(ring, position, elem, bytes);
    return VOLT_OK;
  }
  bool none = !(word & VOLT_WORD_CLOSED_) && volt_chan_len_in_(word) == 0;
  return none ? VOLT_EAGAIN : VOLT_PENDING;
}

/* Hide from the compiler what elem points to, if bytes is known at run time only. Else it sees how
 * small the caller's element is, and warns of the 8 bytes that volt_chan_move_() copies only if
 * bytes is 8. */
#define VOLT_CHAN_FORGET_SIZE_(elem, bytes)            \
  do {                                                 \
    if (!VOLT_IS_CONSTANT_(bytes)) VOLT_FORGET_(elem); \
  } while (0)

static inline int volt_chan_try_send_(volt_chan *c, const void *elem, size_t bytes) {
  VOLT_CHAN_FORGET_SIZE_(elem, bytes);
  int result = volt_chan_send_now_(c, elem, bytes);
  return result == VOLT_PENDING ? volt_chan_try_send_slow_(c, elem) : result;
}

static inline int volt_chan_try_recv_(volt_chan *c, void *elem, size_t bytes) {
  VOLT_CHAN_FORGET_SIZE_(elem, bytes);
  int result = volt_chan_recv_now_(c, elem, bytes);
  return result == VOLT_PENDING ? volt_chan_try_recv_slow_(c, elem) : result;
}

static inline int volt_chan_send_(volt_chan *c, volt_waiter *w, const void *elem, size_t bytes,
                                  volt_waker waker) {
  VOLT_CHAN_FORGET_SIZE_(elem, bytes);
  int result = volt_chan_send_now_(c, elem, bytes);
  return result == VOLT_OK ? result : volt_chan_send_slow_(c, w, elem, waker);
}

static inline int volt_chan_recv_(volt_chan *c, volt_waiter *w, void *elem, size_t bytes,
                                  volt_waker waker) {
  VOLT_CHAN_FORGET_SIZE_(elem, bytes);
  int result = volt_chan_recv_now_(c, elem, bytes);
  return result == VOLT_OK ? result : volt_chan_recv_slow_(c, w, elem, waker);
}

VOLT_END_DECLS
#endif
