/* channel_ops.h: the library's channel and those of variants/ as tables of functions: what they
 * have in common. */
#ifndef VOLT_TESTS_CHANNEL_OPS_H
#define VOLT_TESTS_CHANNEL_OPS_H

#include <volt/channel.h>

#include "chan_dekker.h"
#include "chan_slots.h"

/* Each as the function of volt/channel.h; c is of the type that the table is of. */
typedef struct channel_ops {
  const char *name;
  size_t (*bytes)(uint32_t capacity, size_t elem_bytes);
  int (*init)(void *c, uint32_t capacity, size_t elem_bytes, void *mem, size_t mem_bytes);
  void (*destroy)(void *c, void (*drop)(void *elem, void *ctx), void *ctx);
  int (*try_send)(void *c, const void *elem);
  int (*try_recv)(void *c, void *elem);
  int (*send)(void *c, volt_waiter *w, const void *elem, volt_waker waker);
  int (*recv)(void *c, volt_waiter *w, void *elem, volt_waker waker);
  bool (*cancel_send)(void *c, volt_waiter *w);
  bool (*cancel_recv)(void *c, volt_waiter *w);
  bool (*set_waker)(void *c, volt_waiter *w, volt_waker waker);
  int (*send_until)(void *c, const void *elem, uint64_t deadline_ns);
  int (*recv_until)(void *c, void *elem, uint64_t deadline_ns);
  volt_future *(*send_future)(volt_future *f, void *c, const void *elem);
  volt_future *(*recv_future)(volt_future *f, void *c, void *elem);
  void (*close)(void *c);
  bool (*is_closed)(void *c);
  uint32_t (*len)(void *c);
  uint32_t (*waiters)(void *c);
} channel_ops;

/* The library's is that of every waiter. */
static inline bool volt_chan_set_waker(volt_chan *c, volt_waiter *w, volt_waker waker) {
  (void)c;
  return volt_waiter_set_waker(w, waker);
}

#define CHANNEL_OPS(type, prefix)                                                         \
  static size_t prefix##_bytes_of(uint32_t capacity, size_t elem_bytes) {                 \
    return type##_bytes(capacity, elem_bytes);                                            \
  }                                                                                       \
  static int prefix##_init(void *c, uint32_t capacity, size_t elem_bytes, void *mem,      \
                           size_t mem_bytes) {                                            \
    return type##_init((type *)c, capacity, elem_bytes, mem, mem_bytes);                  \
  }                                                                                       \
  static void prefix##_destroy(void *c, void (*drop)(void *elem, void *ctx), void *ctx) { \
    type##_destroy((type *)c, drop, ctx);                                                 \
  }                                                                                       \
  static int prefix##_try_send(void *c, const void *elem) {                               \
    return type##_try_send((type *)c, elem);                                              \
  }                                                                                       \
  static int prefix##_try_recv(void *c, void *elem) {                                     \
    return type##_try_recv((type *)c, elem);                                              \
  }                                                                                       \
  static int prefix##_send(void *c, volt_waiter *w, const void *elem, volt_waker waker) { \
    return type##_send_waiter((type *)c, w, elem, waker);                                 \
  }                                                                                       \
  static int prefix##_recv(void *c, volt_waiter *w, void *elem, volt_waker waker) {       \
    return type##_recv_waiter((type *)c, w, elem, waker);                                 \
  }                                                                                       \
  static bool prefix##_cancel_send(void *c, volt_waiter *w) {                             \
    return type##_cancel_send((type *)c, w);                                              \
  }                                                                                       \
  static bool prefix##_cancel_recv(void *c, volt_waiter *w) {                             \
    return type##_cancel_recv((type *)c, w);                                              \
  }                                                                                       \
  static bool prefix##_set_waker(void *c, volt_waiter *w, volt_waker waker) {             \
    return type##_set_waker((type *)c, w, waker);                                         \
  }                                                                                       \
  static int prefix##_send_until(void *c, const void *elem, uint64_t deadline_ns) {       \
    return type##_send_until((type *)c, elem, deadline_ns);                               \
  }                                                                                       \
  static int prefix##_recv_until(void *c, void *elem, uint64_t deadline_ns) {             \
    return type##_recv_until((type *)c, elem, deadline_ns);                               \
  }                                                                                       \
  static volt_future *prefix##_send_future(volt_future *f, void *c, const void *elem) {   \
    return type##_send_future(f, (type *)c, elem);                                        \
  }                                                                                       \
  static volt_future *prefix##_recv_future(volt_future *f, void *c, void *elem) {         \
    return type##_recv_future(f, (type *)c, elem);                                        \
  }                                                                                       \
  static void prefix##_close(void *c) {                                                   \
    type##_close((type *)c);                                                              \
  }                                                                                       \
  static bool prefix##_is_closed(void *c) {                                               \
    return type##_is_closed((type *)c);                                                   \
  }                                                                                       \
  static uint32_t prefix##_len(void *c) {                                                 \
    return type##_len((type *)c);                                                         \
  }                                                                                       \
  static uint32_t prefix##_waiters(void *c) {                                             \
    return type##_waiters((type *)c);                                                     \
  }                                                                                       \
  static const channel_ops prefix##_ops = {#type,                                         \
                                           prefix##_bytes_of,                             \
                                           prefix##_init,                                 \
                                           prefix##_destroy,                              \
                                           prefix##_try_send,                             \
                                           prefix##_try_recv,                             \
                                           prefix##_send,                                 \
                                           prefix##_recv,                                 \
                                           prefix##_cancel_send,                          \
                                           prefix##_cancel_recv,                          \
                                           prefix##_set_waker,                            \
                                           prefix##_send_until,                           \
                                           prefix##_recv_until,                           \
                                           prefix##_send_future,                          \
                                           prefix##_recv_future,                          \
                                           prefix##_close,                                \
                                           prefix##_is_closed,                            \
                                           prefix##_len,                                  \
                                           prefix##_waiters};

CHANNEL_OPS(volt_chan, library)
CHANNEL_OPS(volt_chan_dekker, dekker)
CHANNEL_OPS(volt_chan_slots, slots)

enum { CHANNEL_ENGINES = 3 };

static const channel_ops *const channel_engines[CHANNEL_ENGINES] = {&library_ops, &dekker_ops,
                                                                    &slots_ops};

/* Room for any of them. */
typedef union any_channel {
  volt_chan library;
  volt_chan_dekker dekker;
  volt_chan_slots slots;
} any_channel;

#endif
