/* any_loop.h: the event loops that volt has bridges to, each in the same five functions. A test says
 * in its first lines "LOOPS: uv, glib, event, ev, epoll", and is built once with each that is here:
 * ANY_LOOP_UV or its like is defined then. One thread uses a loop, and each thread may have one.
 *
 *   any_loop_make()         a new loop of the library
 *   any_loop_open()         a bridge in it, in memory of its own, which its closed() frees by free()
 *   any_loop_wait(), _look()   handle what happens: wait for something, or not
 *   any_loop_tick_start(), _stop()   a timer of the library's own, which counts
 *   any_loop_free()         when no bridge is open and the timer is stopped */
#ifndef VOLT_TEST_ANY_LOOP_H
#define VOLT_TEST_ANY_LOOP_H

#ifndef _GNU_SOURCE
#error "a test of all loops defines _GNU_SOURCE before its first include"
#endif

#include <stdlib.h>

#include "require.h"
#include "sanitizer.h"

enum { ANY_LOOP_TICK_MS = 1 };

#if defined(ANY_LOOP_UV)

#include <volt/uv.h>

#define ANY_LOOP_RECURSES 0

#if UNDER_TSAN
/* libuv closes descriptors by a bare system call, which ThreadSanitizer does not see. So when another
 * thread gets a descriptor of the same number, it looks as if both had made it. This leaves out
 * what is said of calls that make descriptors, and nothing else. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
  return "race_top:epoll_create1\nrace_top:pipe2\nrace_top:eventfd\n";
}
#endif

typedef volt_uv any_loop_bridge;

typedef struct any_loop {
  uv_loop_t loop;
  uv_timer_t timer;
  unsigned *ticks;
} any_loop;

static inline any_loop *any_loop_make(void) {
  any_loop *l = (any_loop *)calloc(1, sizeof *l);
  REQUIRE(l && uv_loop_init(&l->loop) == 0);
  return l;
}

static inline int any_loop_open_in(any_loop *l, any_loop_bridge *b, const volt_rt_config *config) {
  return volt_uv_open(b, &l->loop, config);
}

static inline void any_loop_wait(any_loop *l) {
  (void)uv_run(&l->loop, UV_RUN_ONCE);
}

static inline void any_loop_look(any_loop *l) {
  (void)uv_run(&l->loop, UV_RUN_NOWAIT);
}

static inline void any_loop_ticked_(uv_timer_t *timer) {
  *((any_loop *)timer->data)->ticks += 1;
}

static inline void any_loop_tick_start(any_loop *l, unsigned *ticks) {
  l->ticks = ticks;
  l->timer.data = l;
  REQUIRE(uv_timer_init(&l->loop, &l->timer) == 0);
  REQUIRE(uv_timer_start(&l->timer, any_loop_ticked_, ANY_LOOP_TICK_MS, ANY_LOOP_TICK_MS) == 0);
}

static inline void any_loop_tick_stop(any_loop *l) {
  uv_close((uv_handle_t *)&l->timer, NULL);
}

static inline void any_loop_free(any_loop *l) {
  (void)uv_run(&l->loop, UV_RUN_NOWAIT); /* closes the timer */
  REQUIRE(uv_loop_close(&l->loop) == 0); /* no handle is left */
  free(l);
}

#elif defined(ANY_LOOP_GLIB)

#include <volt/glib.h>

#define ANY_LOOP_RECURSES 1

typedef volt_glib any_loop_bridge;

typedef struct any_loop {
  GMainContext *context;
  GSource *timer;
  unsigned *ticks;
} any_loop;

static inline any_loop *any_loop_make(void) {
  any_loop *l = (any_loop *)calloc(1, sizeof *l);
  REQUIRE(l);
  l->context = g_main_context_new();
  return l;
}

static inline int any_loop_open_in(any_loop *l, any_loop_bridge *b, const volt_rt_config *config) {
  return volt_glib_open(b, l->context, config);
}

static inline void any_loop_wait(any_loop *l) {
  (void)g_main_context_iteration(l->context, TRUE);
}

static inline void any_loop_look(any_loop *l) {
  (void)g_main_context_iteration(l->context, FALSE);
}

static inline gboolean any_loop_ticked_(gpointer l) {
  *((any_loop *)l)->ticks += 1;
  return G_SOURCE_CONTINUE;
}

static inline void any_loop_tick_start(any_loop *l, unsigned *ticks) {
  l->ticks = ticks;
  l->timer = g_timeout_source_new(ANY_LOOP_TICK_MS);
  g_source_set_callback(l->timer, any_loop_ticked_, l, NULL);
  (void)g_source_attach(l->timer, l->context);
}

static inline void any_loop_tick_stop(any_loop *l) {
  g_source_destroy(l->timer);
  g_source_unref(l->timer);
}

static inline void any_loop_free(any_loop *l) {
  REQUIRE(!g_main_context_pending(l->context)); /* no source is left */
  g_main_context_unref(l->context);
  free(l);
}

#elif defined(ANY_LOOP_EVENT)

#include <volt/event.h>

#define ANY_LOOP_RECURSES 0

typedef volt_event any_loop_bridge;

typedef struct any_loop {
  struct event_base *base;
  struct event *timer;
} any_loop;

static inline any_loop *any_loop_make(void) {
  any_loop *l = (any_loop *)calloc(1, sizeof *l);
  REQUIRE(l && (l->base = event_base_new()) != NULL);
  return l;
}

static inline int any_loop_open_in(any_loop *l, any_loop_bridge *b, const volt_rt_config *config) {
  return volt_event_open(b, l->base, config);
}

static inline void any_loop_wait(any_loop *l) {
  (void)event_base_loop(l->base, EVLOOP_ONCE);
}

static inline void any_loop_look(any_loop *l) {
  (void)event_base_loop(l->base, EVLOOP_NONBLOCK);
}

static inline void any_loop_ticked_(evutil_socket_t descriptor, short events, void *ticks) {
  (void)descriptor;
  (void)events;
  *(unsigned *)ticks += 1;
}

static inline void any_loop_tick_start(any_loop *l, unsigned *ticks) {
  const struct timeval period = {0, ANY_LOOP_TICK_MS * 1000};
  l->timer = event_new(l->base, -1, EV_PERSIST, any_loop_ticked_, ticks);
  REQUIRE(l->timer && event_add(l->timer, &period) == 0);
}

static inline void any_loop_tick_stop(any_loop *l) {
  event_free(l->timer);
}

static inline void any_loop_free(any_loop *l) {
  REQUIRE(event_base_get_num_events(l->base, EVENT_BASE_COUNT_ADDED) == 0);
  event_base_free(l->base);
  free(l);
}

#elif defined(ANY_LOOP_EV)

#include <volt/ev.h>

#define ANY_LOOP_RECURSES 1

typedef volt_ev any_loop_bridge;

typedef struct any_loop {
  struct ev_loop *loop;
  ev_timer timer;
} any_loop;

static inline any_loop *any_loop_make(void) {
  any_loop *l = (any_loop *)calloc(1, sizeof *l);
  REQUIRE(l && (l->loop = ev_loop_new(EVFLAG_AUTO)) != NULL);
  return l;
}

static inline int any_loop_open_in(any_loop *l, any_loop_bridge *b, const volt_rt_config *config) {
  return volt_ev_open(b, l->loop, config);
}

static inline void any_loop_wait(any_loop *l) {
  (void)ev_run(l->loop, EVRUN_ONCE);
}

static inline void any_loop_look(any_loop *l) {
  (void)ev_run(l->loop, EVRUN_NOWAIT);
}

static inline void any_loop_ticked_(struct ev_loop *loop, ev_timer *timer, int events) {
  (void)loop;
  (void)events;
  *(unsigned *)timer->data += 1;
}

static inline void any_loop_tick_start(any_loop *l, unsigned *ticks) {
  const double period = ANY_LOOP_TICK_MS / 1000.;
  ev_timer_init(&l->timer, any_loop_ticked_, period, period);
  l->timer.data = ticks;
  ev_timer_start(l->loop, &l->timer);
}

static inline void any_loop_tick_stop(any_loop *l) {
  ev_timer_stop(l->loop, &l->timer);
}

static inline void any_loop_free(any_loop *l) {
  REQUIRE(ev_pending_count(l->loop) == 0);
  ev_loop_destroy(l->loop);
  free(l);
}

#elif defined(ANY_LOOP_EPOLL)

#include <sys/timerfd.h>
#include <unistd.h>
#include <volt/epoll.h>

#define ANY_LOOP_RECURSES 1

typedef volt_epoll any_loop_bridge;

typedef struct any_loop {
  int epoll;
  int timer;
  unsigned *ticks;
} any_loop;

static inline any_loop *any_loop_make(void) {
  any_loop *l = (any_loop *)calloc(1, sizeof *l);
  REQUIRE(l && (l->epoll = epoll_create1(EPOLL_CLOEXEC)) >= 0);
  return l;
}

static inline int any_loop_open_in(any_loop *l, any_loop_bridge *b, const volt_rt_config *config) {
  return volt_epoll_open(b, l->epoll, (epoll_data_t){.ptr = b}, config);
}

/* The bridges have their addresses in the events, the timer has NULL. */
static inline void any_loop_handle_(any_loop *l, int timeout) {
  struct epoll_event events[4];
  int count = epoll_wait(l->epoll, events, 4, timeout);
  for (int i = 0; i < count; i++) {
    uint64_t ticks;
    if (events[i].data.ptr) {
      volt_bridge_run(&((volt_epoll *)events[i].data.ptr)->bridge);
    } else if (read(l->timer, &ticks, sizeof ticks) == sizeof ticks) {
      *l->ticks += (unsigned)ticks;
    }
  }
}

static inline void any_loop_wait(any_loop *l) {
  any_loop_handle_(l, -1);
}

static inline void any_loop_look(any_loop *l) {
  any_loop_handle_(l, 0);
}

static inline void any_loop_tick_start(any_loop *l, unsigned *ticks) {
  const struct timespec period = {0, ANY_LOOP_TICK_MS * 1000000};
  const struct itimerspec times = {period, period};
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  l->ticks = ticks;
  REQUIRE((l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) >= 0);
  REQUIRE(timerfd_settime(l->timer, 0, &times, NULL) == 0);
  REQUIRE(epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &event) == 0);
}

static inline void any_loop_tick_stop(any_loop *l) {
  close(l->timer);
}

static inline void any_loop_free(any_loop *l) {
  struct epoll_event event;
  REQUIRE(epoll_wait(l->epoll, &event, 1, 0) == 0); /* nothing is left in it */
  close(l->epoll);
  free(l);
}

#else
#error "a test of all loops is built with one of them: LOOPS in its first lines"
#endif

/* Returns what the bridge's open has returned, and the bridge in *b. */
static inline int any_loop_open(any_loop *l, volt_bridge **b, const volt_rt_config *config) {
  any_loop_bridge *memory = (any_loop_bridge *)malloc(sizeof *memory);
  REQUIRE(memory);
  int result = any_loop_open_in(l, memory, config);
  *b = result == VOLT_OK ? &memory->bridge : NULL;
  if (result != VOLT_OK) free(memory);
  return result;
}

#endif
