/* future_ctx_test.c: volt_ctx: what it counts, and its budget.
 *
 * Each way in which a registration can end, over each leaf there is: exactly one of wake and drop
 * comes, and no later event calls either again. */
#include "bcs_holder.h"
#include "core/park/spin.h"
#include "fake_waker.h"
#include "poller.h"

static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rw;
static volt_timers timers;
static volt_sleep_op nap;
static volt_bcs_lock bcs;
static volt_bcs_section section;
static bcs_holder holder;
static uint32_t ran;
static volt_future own; /* of all but the sleep */
static volt_future *f;
static poller p;
static poller q;

static const volt_waker nobody = {NULL, NULL};

/* A leaf that does not become ready before it is granted. */
typedef struct leaf {
  const char *name;
  volt_future *(*make)(void);
  void (*grant)(void);
  void (*clean)(bool has_got_it); /* after it has ended, ungranted or with what it got */
  bool is_held;                   /* a thread holds what it waits for, and lets go at the end */
} leaf;

static volt_future *make_sem(void) {
  volt_sem_init(&sem, 0);
  return volt_sem_acquire_future(&own, &sem, 2);
}
static void grant_sem(void) {
  volt_sem_release(&sem, 1);
  volt_sem_release(&sem, 1);
}
static void clean_sem(bool has_got_it) {
  (void)has_got_it;
  assert_int_equal(volt_sem_waiters(&sem), 0);
  volt_sem_destroy(&sem);
}

static volt_future *make_mutex(void) {
  volt_mutex_init(&mutex);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  return volt_mutex_lock_future(&own, &mutex);
}
static void unlock_mutex(void) {
  volt_mutex_unlock(&mutex);
}
static void clean_mutex(bool has_got_it) {
  if (has_got_it || volt_mutex_is_locked(&mutex)) volt_mutex_unlock(&mutex);
  volt_mutex_destroy(&mutex);
}

static volt_future *make_read(void) {
  volt_rwlock_init(&rw);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  return volt_rwlock_read_future(&own, &rw);
}
static void unlock_write(void) {
  volt_rwlock_write_unlock(&rw);
}
static void clean_read(bool has_got_it) {
  if (has_got_it) volt_rwlock_read_unlock(&rw);
  if (volt_rwlock_try_write(&rw) != VOLT_OK) volt_rwlock_write_unlock(&rw);
}

static volt_future *make_write(void) {
  volt_rwlock_init(&rw);
  assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
  return volt_rwlock_write_future(&own, &rw);
}
static void unlock_read(void) {
  volt_rwlock_read_unlock(&rw);
}
static void clean_write(bool has_got_it) {
  if (has_got_it) volt_rwlock_write_unlock(&rw);
  assert_int_equal(volt_rwlock_waiters(&rw), 0);
}

static volt_future *make_sleep(void) {
  volt_timers_init_virtual(&timers, nobody);
  return volt_sleep_future(&nap, &timers, 100);
}
static void expire_sleep(void) {
  (void)volt_timers_expire(&timers, 100);
}
static void clean_sleep(bool has_got_it) {
  (void)has_got_it;
  volt_timers_destroy(&timers);
}

static void count(void *arg) {
  *(uint32_t *)arg += 1;
}
static volt_future *make_section(void) {
  volt_bcs_lock_init(&bcs);
  bcs_holder_start(&holder, &bcs);
  return volt_bcs_lock_run_future(&own, &bcs, &section, count, &ran);
}
static void end_section(void) {
  bcs_holder_end(&holder);
}
static void clean_section(bool has_got_it) {
  (void)has_got_it;
  volt_bcs_lock_destroy(&bcs);
}

static const leaf leaves[] = {
    {"semaphore", make_sem, grant_sem, clean_sem, false},
    {"mutex", make_mutex, unlock_mutex, clean_mutex, false},
    {"rwlock read", make_read, unlock_write, clean_read, false},
    {"rwlock write", make_write, unlock_read, clean_write, false},
    {"sleep", make_sleep, expire_sleep, clean_sleep, false},
    {"section", make_section, end_section, clean_section, true},
};

#define EACH_LEAF(l) for (const leaf *l = leaves; l != leaves + sizeof leaves / sizeof *leaves; l++)

/* f is of this leaf, and p has polled it. */
static void wait_with_p(const leaf *l) {
  poller_init(&p);
  poller_init(&q);
  f = l->make();
  for (int i = 0; i < 3; i++) assert_result(poller_poll(&p, f), VOLT_PENDING);
  poller_expect(&p, 1, 0, 0); /* the same waker again is the same registration */
}

static void drop_the_rest(const leaf *l) {
  if (!l->is_held) {
    volt_future_cancel(f);
    l->clean(false);
    return;
  }
  /* a section leaves the queue only when who holds it comes to its node: cancel waits for that */
  bcs_holder_end(&holder);
  volt_future_cancel(f);
  l->clean(true);
}

/* ---- the ways to end ---- */

static void granted(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l);
    l->grant();
    poller_expect(&p, 1, 1, 0);
    assert_result(poller_poll(&p, f), VOLT_OK);
    assert_result(poller_poll(&q, f), VOLT_OK);
    volt_future_cancel(f);
    l->clean(true);
    poller_expect(&p, 1, 1, 0);
    poller_expect(&q, 0, 0, 0);
  }
}

static void granted_and_dropped_unpolled(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l);
    l->grant();
    volt_future_cancel(f);
    l->clean(false);
    poller_expect(&p, 1, 1, 0); /* the wake has come: no drop */
  }
}

static void granted_before_the_move(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l);
    l->grant();
    assert_result(poller_poll(&q, f), VOLT_OK);
    l->clean(true);
    poller_expect(&p, 1, 1, 0);
    poller_expect(&q, 0, 0, 0);
  }
}

static void let_go(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  WAIT_UNTIL(volt_load_relaxed(&section.job.hold) & 2); /* the owner has said so */
  bcs_holder_let_go(&holder);
}

static void cancelled(void **state) {
  (void)state;
  EACH_LEAF(l) {
    for (int by_ctx = 0; by_ctx < 2; by_ctx++) {
      thread_team helper;
      wait_with_p(l);
      if (l->is_held) thread_team_start(&helper, 1, let_go, NULL);
      if (by_ctx) {
        q.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
        assert_result(poller_poll(&q, f), VOLT_ECANCELED);
      } else {
        volt_future_cancel(f);
      }
      poller_expect_dropped(&p, 1);
      volt_future_cancel(f);
      if (l->is_held) {
        thread_team_join(&helper);
        thread_team_join(&holder.team);
      } else {
        l->grant();
      }
      l->clean(false);
      poller_expect_dropped(&p, 1);
      poller_expect(&q, 0, 0, 0);
    }
  }
}

static void replaced_by_another_ctx(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l);
    assert_result(poller_poll(&q, f), VOLT_PENDING);
    poller_expect_dropped(&p, 1);
    poller_expect(&q, 1, 0, 0);
    assert_result(poller_poll(&p, f), VOLT_PENDING); /* and back */
    poller_expect(&p, 2, 0, 1);
    poller_expect_dropped(&q, 1);
    l->grant();
    poller_expect(&p, 2, 1, 1);
    assert_result(poller_poll(&q, f), VOLT_OK);
    l->clean(true);
    poller_expect_dropped(&q, 1);
  }
}

static void replaced_by_a_plain_waker(void **state) {
  (void)state;
  EACH_LEAF(l) {
    fake_waker a;
    fake_waker_init(&a, 0, NULL);
    wait_with_p(l);
    assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
    poller_expect_dropped(&p, 1);
    assert_result(poller_poll(&q, f), VOLT_PENDING); /* of a plain one nobody is told */
    assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
    poller_expect_dropped(&q, 1);
    drop_the_rest(l);
    assert_int_equal(fake_waker_calls(&a), l->is_held);
    poller_expect_dropped(&p, 1);
    poller_expect_dropped(&q, 1);
  }
}

static void replaced_by_a_thread_that_blocks(void **state) {
  (void)state;
  EACH_LEAF(l) {
    thread_team helper;
    wait_with_p(l);
    if (l->is_held) thread_team_start(&helper, 1, let_go, NULL);
    assert_result(volt_future_wait_until(f, PAST_DEADLINE), VOLT_ETIMEDOUT);
    if (l->is_held) thread_team_join(&helper);
    if (l->is_held) thread_team_join(&holder.team);
    l->clean(false);
    poller_expect_dropped(&p, 1);
  }
}

static void granted_before_a_thread_blocks(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l);
    l->grant();
    assert_result(volt_future_wait_until(f, PAST_DEADLINE), VOLT_OK);
    l->clean(true);
    poller_expect(&p, 1, 1, 0);
  }
}

static void closed(void **state) {
  (void)state;
  for (int polled = 0; polled < 2; polled++) {
    wait_with_p(&leaves[0]);
    volt_sem_close(&sem);
    poller_expect(&p, 1, 1, 0);
    if (polled) assert_result(poller_poll(&q, f), VOLT_ECLOSED);
    volt_future_cancel(f);
    clean_sem(false);
    poller_expect(&p, 1, 1, 0);
    poller_expect(&q, 0, 0, 0);
  }
}

static void ready_at_once(void **state) {
  (void)state;
  poller_init(&p);
  volt_sem_init(&sem, 1);
  volt_future_made(volt_sem_acquire_future(&own, &sem, 1));
  assert_result(poller_poll(&p, &own), VOLT_OK);
  volt_future_made(volt_sem_acquire_future(&own, &sem, UINT32_MAX));
  assert_result(poller_poll(&p, &own), VOLT_EINVAL);
  poller_expect(&p, 0, 0, 0);
}

/* A poller that is not counted is not told. */
static void nobody_counts(void **state) {
  (void)state;
  poller_init(&p);
  p.ctx.drop = NULL;
  f = make_sem();
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  volt_future_cancel(f);
  clean_sem(false);
  poller_expect(&p, 1, 0, 0);
}

/* ---- budget ---- */

static void without_budget_nothing_begins(void **state) {
  (void)state;
  poller_init(&p);
  p.ctx.budget = 0;
  volt_sem_init(&sem, 1);
  volt_future_made(volt_sem_acquire_future(&own, &sem, 1));
  assert_result(poller_poll(&p, &own), VOLT_PENDING);
  assert_true(p.ctx.yield);
  assert_int_equal(volt_sem_available(&sem), 1);
  poller_expect(&p, 0, 0, 0);
  volt_select select;
  volt_future *one[] = {&own};
  volt_future_made(volt_select_future(&select, one, 1, VOLT_SELECT_FAIR));
  assert_result(poller_poll(&p, &select.future), VOLT_PENDING);
  assert_true(p.ctx.yield);
  p.ctx.budget = 1;
  assert_result(poller_poll(&p, &select.future), VOLT_OK);
  assert_false(p.ctx.yield);
  assert_int_equal(p.ctx.budget, 0);
  assert_result(poller_poll(&p, &select.future), VOLT_OK); /* a result stands */
  assert_result(poller_poll(&p, &own), VOLT_OK);
  assert_false(p.ctx.yield);
}

static void only_what_turns_out_ready_uses_budget(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l); /* has polled three times */
    assert_int_equal(p.ctx.budget, VOLT_CTX_BUDGET_MAX_);
    p.ctx.budget = 5;
    l->grant();
    for (int i = 0; i < 3; i++) assert_result(poller_poll(&p, f), VOLT_OK);
    assert_int_equal(p.ctx.budget, 4);
    l->clean(true);
  }
}

static void a_grant_is_kept_until_there_is_budget(void **state) {
  (void)state;
  EACH_LEAF(l) {
    wait_with_p(l);
    l->grant();
    p.ctx.budget = 0;
    for (int i = 0; i < 2; i++) {
      assert_result(poller_poll(&p, f), VOLT_PENDING);
      assert_true(p.ctx.yield);
    }
    p.ctx.budget = 1;
    assert_result(poller_poll(&p, f), VOLT_OK);
    l->clean(true);
    poller_expect(&p, 1, 1, 0);
  }
}

/* Code that drives futures by hand may give any budget: also more than a poll can use. */
static void a_cancel_is_seen_whatever_the_budget(void **state) {
  (void)state;
  static const uint32_t cancels[] = {VOLT_CTX_CANCEL_ONCE, VOLT_CTX_CANCEL_ALL};
  static const uint32_t budgets[] = {1, VOLT_CTX_BUDGET_MAX_, UINT32_C(1) << 31, UINT32_MAX};
  for (unsigned i = 0; i < sizeof cancels / sizeof *cancels; i++) {
    for (unsigned j = 0; j < sizeof budgets / sizeof *budgets; j++) {
      EACH_LEAF(l) {
        poller_init(&p);
        f = l->make();
        p.ctx.cancel = cancels[i];
        p.ctx.budget = budgets[j];
        assert_result(poller_poll(&p, f), VOLT_ECANCELED);
        if (l->is_held) l->grant();
        l->clean(false);
        poller_expect(&p, 0, 0, 0);
      }
    }
  }
}

static void any_budget_but_none_is_enough(void **state) {
  (void)state;
  static const uint32_t budgets[] = {1, VOLT_CTX_BUDGET_MAX_, UINT32_C(1) << 31, UINT32_MAX};
  for (unsigned i = 0; i < sizeof budgets / sizeof *budgets; i++) {
    EACH_LEAF(l) {
      wait_with_p(l);
      l->grant();
      p.ctx.budget = budgets[i];
      assert_result(poller_poll(&p, f), VOLT_OK);
      assert_int_equal(p.ctx.budget, budgets[i] - 1);
      l->clean(true);
    }
  }
}

typedef struct taker {
  volt_async async;
  volt_future permit;
  uint32_t taken;
} taker;

enum { PERMITS = 10, BUDGET = 3 };

static int take_them(volt_async *async, volt_ctx *ctx) {
  taker *self = volt_container_of(async, taker, async);
  VOLT_ASYNC_BEGIN(self);
  for (self->taken = 0; self->taken < PERMITS; self->taken++) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  }
  VOLT_ASYNC_END(self);
}

static void a_function_yields_when_its_budget_is_used_up(void **state) {
  (void)state;
  taker t;
  poller_init(&p);
  volt_sem_init(&sem, PERMITS);
  volt_future_made(volt_async_future(&t.async, take_them));
  for (uint32_t turn = 1; turn <= PERMITS / BUDGET; turn++) {
    p.ctx.budget = BUDGET;
    assert_result(poller_poll(&p, &t.async.future), VOLT_PENDING);
    assert_true(p.ctx.yield);
    assert_int_equal(t.taken, turn * BUDGET);
    assert_int_equal(volt_sem_available(&sem), PERMITS - turn * BUDGET);
  }
  p.ctx.budget = BUDGET;
  assert_result(poller_poll(&p, &t.async.future), VOLT_OK);
  assert_int_equal(p.ctx.budget, BUDGET - PERMITS % BUDGET);
  poller_expect(&p, 0, 0, 0);
}

/* ---- block_on: its count of wakes goes round ---- */

/* A server: a job comes with each poll, while one registration stays open; and as if so many had
 * come meanwhile. */
struct server {
  volt_async async;
  volt_future stop;
  volt_future job;
  volt_sem stops;
  volt_sem jobs;
  uint32_t meanwhile;
  uint32_t polls;
};

static int serve(volt_async *a, volt_ctx *ctx) {
  struct server *s = volt_container_of(a, struct server, async);
  s->polls += 1;
  volt_parker *parker = (volt_parker *)ctx->waker.ctx;
  volt_future *due = s->polls == 1 ? &s->stop : &s->job;
  assert_result(volt_future_poll_ctx(due, ctx), s->polls == 1 ? VOLT_PENDING : VOLT_OK);
  ctx->registered += s->meanwhile;
  (void)volt_fetch_add_relaxed(&parker->word, s->meanwhile * VOLT_PARKER_UNPARK_);
  if (ctx->cancel != VOLT_CTX_GO_ON || s->polls > 20) {
    volt_future_cancel(&s->stop);
    return VOLT_OK;
  }
  volt_future_made(volt_sem_acquire_future(&s->job, &s->jobs, 1));
  assert_result(volt_future_poll_ctx(&s->job, ctx), VOLT_PENDING);
  volt_sem_release(&s->jobs, 1);
  return VOLT_PENDING;
}

static void block_on_counts_on_and_on(void **state) {
  (void)state;
  const uint32_t meanwhile[] = {0, 1, UINT32_C(1) << 27, (UINT32_C(1) << 29) - 2};
  for (size_t i = 0; i < sizeof meanwhile / sizeof *meanwhile; i++) {
    struct server s;
    memset((void *)&s, 0, sizeof s);
    s.meanwhile = meanwhile[i];
    volt_future_made(volt_sem_acquire_future(&s.stop, &s.stops, 1));
    assert_result(volt_future_wait_until(volt_async_future(&s.async, serve), volt_deadline_s(60)),
                  VOLT_OK);
    assert_int_equal(s.polls, 21);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(block_on_counts_on_and_on),
      cmocka_unit_test(granted),
      cmocka_unit_test(granted_and_dropped_unpolled),
      cmocka_unit_test(granted_before_the_move),
      cmocka_unit_test(cancelled),
      cmocka_unit_test(replaced_by_another_ctx),
      cmocka_unit_test(replaced_by_a_plain_waker),
      cmocka_unit_test(replaced_by_a_thread_that_blocks),
      cmocka_unit_test(granted_before_a_thread_blocks),
      cmocka_unit_test(closed),
      cmocka_unit_test(ready_at_once),
      cmocka_unit_test(nobody_counts),
      cmocka_unit_test(without_budget_nothing_begins),
      cmocka_unit_test(only_what_turns_out_ready_uses_budget),
      cmocka_unit_test(a_grant_is_kept_until_there_is_budget),
      cmocka_unit_test(a_cancel_is_seen_whatever_the_budget),
      cmocka_unit_test(any_budget_but_none_is_enough),
      cmocka_unit_test(a_function_yields_when_its_budget_is_used_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
