/* serve.c: the main thread. It runs no task: it waits for signals, for the end of gates that
 * drain, and for the next look at the clock, and does what takes long itself. */
#define _GNU_SOURCE /* sigset_t */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <volt/process.h>
#include <volt/select.h>

#include "admin/sight.h"
#include "main/run.h"
#include "process/log.h"
#include "process/systemd.h"
#include "program/budget.h"
#include "program/site.h"

/* ---- drain ---- */

static void serve_begin_drain(struct program *p) {
  pthread_mutex_lock(&p->control);
  /* release: a thread that sees it finds what was set before */
  atomic_store_explicit(&p->is_draining, true, memory_order_release);
  log_line(LOG_INFO, NULL, "drains: no more clients are accepted");
  bool goes_on = atomic_load_explicit(&p->handing, memory_order_relaxed) == HANDOVER_GIVES;
  if (!goes_on) (void)systemd_stopping(); /* relaxed: else the successor is the service now */
  for (struct site *s = p->first; s; s = s->next) site_end(s);
  pthread_mutex_unlock(&p->control);
}

static void serve_stop(struct program *p) {
  log_line(LOG_WARN, NULL, "ends at once: a second signal");
  volt_token_cancel(&p->host.stop);
  pthread_mutex_lock(&p->control);
  for (struct site *s = p->first; s; s = s->next) site_stop(s);
  pthread_mutex_unlock(&p->control);
}

/* ---- signals ---- */

static void serve_reload_by_signal(struct program *p) {
  const char *what = "";
  (void)systemd_reloading();
  char *wrong = program_reload(p);
  if (wrong) log_line(LOG_ERROR, NULL, "reload: nothing was changed: %s", wrong);
  free(wrong);
  if (log_reopen(&what) != VOLT_OK) log_line(LOG_ERROR, NULL, "cannot open %s", what);
  (void)systemd_ready("reloaded");
}

static void serve_reopen_logs(void) {
  const char *what = "";
  if (log_reopen(&what) != VOLT_OK) log_line(LOG_ERROR, NULL, "cannot open %s", what);
}

static void serve_dump_gate(void *arg, struct gate *g) {
  (void)arg;
  char reason[BREAKER_REASON_MAX];
  uint64_t since_ns = breaker_reason(&g->breaker, reason);
  log_line(LOG_INFO, g->name,
           "limit %" PRIu32 ", held %" PRIu32 ", excess %" PRIu32
           ", queued %u of %u, clients %u, "
           "servers %u%s%s",
           gate_limit(g), gate_held(g), volt_sem_excess(&g->permits), atomic_load(&g->queued),
           atomic_load(&g->queue_bound), atomic_load(&g->clients.count), atomic_load(&g->servers),
           since_ns ? ", breaker: " : "", since_ns ? reason : "");
}

/* ---- no clients ---- */

static void serve_count_clients(void *arg, struct gate *g) {
  *(uint64_t *)arg += atomic_load(&g->clients.count);
}

/* Drain, if there was no client for as long as the settings say. *since_ns: when that began; 0: not yet. */
static void serve_end_unused(struct program *p, uint64_t *since_ns) {
  const struct settings *settings = atomic_load(&p->settings);
  uint64_t clients = 0, now_ns = volt_rt_now_ns(p->rt);
  program_each_gate(p, serve_count_clients, &clients);
  if (settings->end_unused_ns == 0 || clients > 0) {
    *since_ns = 0;
  } else if (*since_ns == 0) {
    *since_ns = now_ns;
  } else if (now_ns - *since_ns >= settings->end_unused_ns) {
    log_line(LOG_INFO, NULL, "there was no client for as long as end-unused says");
    program_drain(p);
  }
}

/* ---- the loop ---- */

struct program_loop {
  struct program *program;
  volt_signals signals;
  volt_signal signal;
  volt_op op;
  volt_future drain, ends;
  volt_sleep_op tick;
  volt_select select;
  volt_future *either[4];
  uint64_t unused_ns; /* since when there are no clients; 0: there are */
  bool is_draining;
};

static const int program_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
enum { PROGRAM_SIGNALS = sizeof program_signals / sizeof program_signals[0] };
enum program_event { EVENT_SIGNAL, EVENT_DRAIN, EVENT_TICK, EVENT_ENDS, EVENTS };

int serve_block_signals(void) {
  signal(SIGPIPE, SIG_IGN);
  return volt_signals_block(program_signals, PROGRAM_SIGNALS);
}

static volt_future *serve_tick_future(struct program_loop *loop) {
  uint64_t every_ns = UINT64_C(1000000000);
  uint64_t watchdog_ns = systemd_watchdog_ns();
  if (watchdog_ns && watchdog_ns < every_ns) every_ns = watchdog_ns;
  return volt_sleep_future(&loop->tick, volt_rt_timers(loop->program->rt),
                           volt_rt_now_ns(loop->program->rt) + every_ns);
}

static void serve_took_signal(struct program_loop *loop) {
  struct program *p = loop->program;
  switch (loop->signal.number) {
    case SIGHUP: serve_reload_by_signal(p); break;
    case SIGUSR1: serve_reopen_logs(); break;
    case SIGUSR2:
      program_each_gate(p, serve_dump_gate, NULL);
      admin_sight_log_dump(p->rt);
      break;
    default:
      if (loop->is_draining) {
        serve_stop(p);
      } else {
        program_drain(p);
      }
      break;
  }
  loop->either[EVENT_SIGNAL] = volt_signal_future(&loop->op, &loop->signals, &loop->signal);
}

static void serve_took_drain(struct program_loop *loop) {
  loop->is_draining = true;
  loop->either[EVENT_DRAIN] = NULL;
  serve_begin_drain(loop->program);
  loop->either[EVENT_ENDS] = volt_group_wait_future(&loop->ends, &loop->program->ends);
}

/* Returns false: it is over. */
static bool serve_step(struct program_loop *loop) {
  volt_future *next = volt_select_future(&loop->select, loop->either, EVENTS,
                                         VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
  (void)!volt_future_wait(next);
  switch (volt_select_winner(&loop->select)) {
    case EVENT_SIGNAL: serve_took_signal(loop); return true;
    case EVENT_DRAIN: serve_took_drain(loop); return true;
    case EVENT_TICK:
      (void)systemd_watchdog();
      fd_budget_follow(loop->program); /* the admin side changes limits, too */
      serve_end_unused(loop->program, &loop->unused_ns);
      loop->either[EVENT_TICK] = serve_tick_future(loop);
      return true;
    default: return false;
  }
}

int serve_program(struct program *p) {
  struct program_loop loop = {.program = p};
  int result = volt_signals_open(&loop.signals, p->rt, program_signals, PROGRAM_SIGNALS);
  if (result != VOLT_OK) return result;
  loop.either[EVENT_SIGNAL] = volt_signal_future(&loop.op, &loop.signals, &loop.signal);
  loop.either[EVENT_DRAIN] = volt_token_wait_future(&loop.drain, &p->drain);
  loop.either[EVENT_TICK] = serve_tick_future(&loop);
  while (serve_step(&loop)) continue;
  for (unsigned i = 0; i < EVENTS; i++) {
    if (loop.either[i]) volt_future_cancel(loop.either[i]);
  }
  volt_signals_close(&loop.signals);
  return VOLT_OK;
}
