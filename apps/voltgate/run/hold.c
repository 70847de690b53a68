/* hold.c: the permit of a command. */
#define _GNU_SOURCE /* asprintf */
#include "run/hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/io.h>
#include <volt/select.h>

#include "run/command.h"
#include "run/nearby.h"

#define MS UINT64_C(1000000)

/* Of the tries to come to a gate again that has ended: how long to wait between them, and how long in all until the
 * user hears of it. */
static const uint64_t again_first_ns = 5 * MS, again_most_ns = 1000 * MS,
                      again_warns_ns = 10000 * MS;
/* How long to wait for a gate that does not say that it has a permit back. */
static const uint64_t give_most_ns = 1000 * MS;

/* ---- words ---- */

static int run_hold_fail(const struct run_hold *h, const char *what, int result) {
  const char *words = volt_permit_client_words(&h->client);
  fprintf(stderr, "voltgate: run: %s: %s\n", what, *words ? words : volt_strerror(result));
  bool is_late = result == VOLT_EAGAIN || result == VOLT_ETIMEDOUT;
  return is_late ? RUN_EXIT_NOT_GRANTED : RUN_EXIT_FAILED;
}

/* The command as one line, cut off. */
static void run_hold_join(char to[RUN_WORDS_MAX], char *const *words) {
  size_t size = 0;
  to[0] = '\0';
  for (; *words && size < RUN_WORDS_MAX - 1; words++) {
    int n = snprintf(to + size, RUN_WORDS_MAX - size, "%s%s", size ? " " : "", *words);
    if (n < 0) return;
    size += (size_t)n;
  }
}

/* ---- again ---- */

/* The gate has ended: the tries begin. */
static void run_again_begin(struct run_hold *h) {
  h->warns_ns = volt_rt_now_ns(h->rt) + again_warns_ns;
  h->nap_ns = again_first_ns;
}

/* How long to wait before the next try. */
static volt_future *run_again_nap(struct run_hold *h) {
  uint64_t nap_ns = h->nap_ns;
  h->nap_ns = nap_ns * 2 < again_most_ns ? nap_ns * 2 : again_most_ns;
  return volt_sleep_future(&h->nap, volt_rt_timers(h->rt), volt_rt_now_ns(h->rt) + nap_ns);
}

/* ---- get it ---- */

static volt_permit_request run_hold_request(const struct run_hold *h, unsigned flags) {
  const struct under_settings *s = h->settings;
  return (volt_permit_request){.text = s->take,
                               .flags = flags,
                               .wait_ns = flags & VOLT_PERMIT_CLAIM ? 0 : h->wait_ns,
                               .label = s->label,
                               .command = h->words};
}

/* Show the place on a terminal, over what was shown before. */
static void run_hold_show(const struct run_hold *h, bool *is_shown) {
  uint32_t place = volt_permit_client_place(&h->client);
  if (place == 0 || !isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\r\033[Kvoltgate: waits for %s, place %u", h->settings->take, place);
  *is_shown = true;
}

static int run_hold_acquire(struct run_hold *h) {
  const volt_permit_request request =
      run_hold_request(h, h->settings->is_now ? (unsigned)VOLT_PERMIT_NOW : 0u);
  volt_future place;
  volt_select select;
  uint64_t seen = 1; /* the version before any place */
  bool is_shown = false;
  volt_future *either[] = {volt_permit_client_acquire_future(&h->client, &request),
                           volt_permit_client_place_future(&place, &h->client, &seen)};
  for (;;) {
    volt_future *next =
        volt_select_future(&select, either, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
    int result = volt_rt_run_until(h->rt, next, VOLT_NO_DEADLINE);
    if (volt_select_winner(&select) == 0) {
      volt_future_cancel(&place);
      if (is_shown) fputs("\r\033[K", stderr);
      return result;
    }
    h->has_queued = true;
    run_hold_show(h, &is_shown);
    either[1] = volt_permit_client_place_future(&place, &h->client, &seen);
  }
}

/* Whether the gate has ended, or began to end, before it has answered: there may be another by now. */
static bool run_hold_is_gone(int result) {
  int e = volt_errno(result);
  return result == VOLT_ECLOSED || e == ECONNRESET || e == EPIPE;
}

static bool run_hold_is_away(int result) {
  int e = volt_errno(result);
  return run_hold_is_gone(result) || e == ECONNREFUSED || e == ENOENT;
}

/* The time that is left for the next try. Returns false: none. */
static bool run_hold_may_wait(struct run_hold *h, uint64_t asked_ns) {
  uint64_t passed_ns = volt_rt_now_ns(h->rt) - asked_ns;
  if (h->settings->wait_ns == 0) return true;
  h->wait_ns = h->settings->wait_ns > passed_ns ? h->settings->wait_ns - passed_ns : 0;
  return h->wait_ns > 0;
}

/* Connect, and wait for the permit. One that has waited in the queue of a gate that ends queues at the next one; the
 * gate has not said before that it is there: then two more tries are enough for a gate that was about to end. */
static int run_hold_get(struct run_hold *h) {
  uint64_t asked_ns = 0;
  h->wait_ns = h->settings->wait_ns;
  for (unsigned tries = 0;; tries++) {
    int result = run_nearby_connect(h);
    if (asked_ns == 0) asked_ns = volt_rt_now_ns(h->rt);
    if (result == VOLT_OK) result = run_hold_acquire(h);
    if (h->has_queued) run_again_begin(h);
    h->has_queued = false;
    if (h->warns_ns == 0 && (tries == 2 || !run_hold_is_gone(result))) return result;
    if (!run_hold_is_away(result) || volt_rt_now_ns(h->rt) > h->warns_ns) return result;
    volt_permit_client_close(&h->client);
    if (h->warns_ns != 0) (void)!volt_rt_run_until(h->rt, run_again_nap(h), VOLT_NO_DEADLINE);
    if (!run_hold_may_wait(h, asked_ns)) return VOLT_ETIMEDOUT;
  }
}

int run_hold_take(struct run_hold *h) {
  const volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .workers = 1, .io = volt_io_epoll()};
  volt_permit_client_init(&h->client, NULL);
  run_hold_join(h->words, h->settings->words);
  h->gate = run_nearby_address(h->settings->gate);
  h->is_own = run_nearby_is_own(h->settings->gate);
  if (!h->gate) return run_hold_fail(h, "the address of the gate", VOLT_ENOMEM);
  int result = volt_rt_create(&h->rt, &config);
  if (result != VOLT_OK) return run_hold_fail(h, "cannot start", result);
  volt_permit_client_init(&h->client, h->rt);
  result = run_hold_get(h);
  return result == VOLT_OK ? 0 : run_hold_fail(h, h->gate, result);
}

/* ---- more of it ---- */

void run_hold_more(struct run_hold *h, const struct run_hold *of) {
  h->settings = of->settings;
  h->gate = of->gate;
  h->is_own = of->is_own;
  h->rt = of->rt;
  memcpy(h->words, of->words, sizeof h->words);
  volt_permit_client_init(&h->client, h->rt);
}

volt_future *run_hold_acquire_future(struct run_hold *h) {
  const volt_permit_request request = run_hold_request(h, 0);
  return volt_permit_client_acquire_future(&h->client, &request);
}

/* ---- keep it ---- */

/* Whether the gate has said that it will not grant this. */
static bool run_keep_is_refused(const struct run_hold *h, int result) {
  return result == VOLT_EINVAL || volt_errno(result) == EACCES ||
         (volt_errno(result) == EPROTO && volt_permit_client_words(&h->client)[0]);
}

/* The gate could not be asked, or did not grant it. */
static volt_future *run_keep_nap(struct run_hold *h) {
  volt_permit_client_close(&h->client);
  if (volt_rt_now_ns(h->rt) >= h->warns_ns && !h->has_warned) {
    fprintf(stderr, "voltgate: run: %s: the gate has ended: the command goes on without a permit\n",
            h->gate);
    h->has_warned = true;
  }
  return run_again_nap(h);
}

/* Whether the user's gate, which was not there, was started. It may end at once, so not too often. If another process
 * starts it, this one has a command to look after meanwhile. */
static bool run_keep_starts(struct run_hold *h) {
  if (h->starts == 3 || run_nearby_start(h, h->result, false) != VOLT_OK) return false;
  h->starts += 1;
  return true;
}

static volt_future *run_keep_claim(struct run_hold *h) {
  const volt_permit_request request = run_hold_request(h, VOLT_PERMIT_CLAIM);
  return volt_permit_client_acquire_future(&h->client, &request);
}

static int run_keep_poll(volt_async *a, volt_ctx *ctx) {
  struct run_hold *self = volt_container_of(a, struct run_hold, async);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    VOLT_AWAIT_RESULT(self, self->result, volt_permit_client_lost_future(&self->client));
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, self->result);
    run_again_begin(self);
    self->has_warned = false;
    self->starts = 0;
    volt_permit_client_close(&self->client);
    for (;;) {
      VOLT_AWAIT_RESULT(self, self->result,
                        volt_permit_client_connect_future(&self->client, self->gate));
      if (self->result == VOLT_OK) VOLT_AWAIT_RESULT(self, self->result, run_keep_claim(self));
      if (self->result == VOLT_OK) break;
      if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, self->result);
      if (run_keep_starts(self)) continue;
      if (run_keep_is_refused(self, self->result)) {
        (void)run_hold_fail(self, "the command goes on without a permit", self->result);
        VOLT_RETURN(self, self->result);
      }
      VOLT_AWAIT(self, run_keep_nap(self));
    }
  }
  VOLT_ASYNC_END(self);
}

volt_future *run_hold_keep_future(struct run_hold *h) {
  return volt_async_future(&h->async, run_keep_poll);
}

/* ---- give it back ---- */

volt_future *run_hold_give_future(struct run_hold *h) {
  bool has_it = volt_permit_client_holds(&h->client);
  volt_future *given = has_it ? volt_permit_client_release_future(&h->client, NULL)
                              : volt_permit_client_settle_future(&h->client);
  return volt_timeout_future(&h->timeout, given, volt_rt_timers(h->rt),
                             volt_rt_now_ns(h->rt) + give_most_ns);
}

void run_hold_give(struct run_hold *h) {
  (void)!volt_rt_run_until(h->rt, run_hold_give_future(h), VOLT_NO_DEADLINE);
}

int run_hold_detach(struct run_hold *h) {
  return volt_permit_client_detach(&h->client);
}

void run_hold_end(struct run_hold *h) {
  if (h->rt) {
    volt_permit_client_close(&h->client);
    volt_rt_destroy(h->rt);
  }
  free(h->gate);
}
