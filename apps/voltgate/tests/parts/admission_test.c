/* admission_test.c: who gets a permit, and when. Polled by hand. */
#include <pthread.h>
#include <volt/select.h>

#include "gate_kit.h"
#include "rng.h"

/* ---- one queue ---- */

static void a_free_permit_is_taken(void **state) {
  (void)state;
  kit_begin(2, NULL, 0);
  for (int i = 0; i < 3; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_result(admission_try(&admission[1], now_ns), VOLT_OK);
  assert_result(admission_try(&admission[2], now_ns), VOLT_EAGAIN);
  assert_false(admission_holds(&admission[2]));
  assert_int_equal(gate_held(&gate), 2);
  assert_int_equal(client[0].state, CLIENT_HOLDS);
  admission_release(&admission[0], now_ns + 7);
  assert_int_equal(client[0].state, CLIENT_IDLE);
  assert_result(admission_try(&admission[2], now_ns), VOLT_OK);
  admission_release(&admission[1], now_ns);
  admission_release(&admission[2], now_ns);
  struct statistics_values values;
  statistics_read(&gate.statistics, &values);
  assert_int_equal(values.counts[COUNT_ADMITTED], 3);
  assert_int_equal(values.counts[COUNT_WAITED], 0);
  assert_int_equal(values.hold.count, 3);
  assert_int_equal(values.hold.longest_ns, 7);
  kit_end();
}

static void the_first_poll_takes_the_place(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  for (int i = 0; i < 4; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  for (int i = 1; i < 4; i++) assert_result(admission_join(&admission[i], now_ns), VOLT_OK);
  assert_result(poll_one(3), VOLT_PENDING);
  assert_result(poll_one(1), VOLT_PENDING);
  assert_result(poll_one(2), VOLT_PENDING);
  const int order[] = {3, 1, 2};
  int holder = 0;
  for (int k = 0; k < 3; k++) {
    admission_release(&admission[holder], now_ns);
    holder = order[k];
    for (int i = 1; i < 4; i++) assert_int_equal(is_granted(i), i == holder);
    pick_up(holder);
  }
  admission_release(&admission[holder], now_ns);
  kit_end();
}

/* A task that counts what was registered, as the runtime does. */
struct counting {
  int wakes, drops;
};
static void counting_wake(void *c) {
  ((struct counting *)c)->wakes += 1;
}
static void counting_drop(void *c) {
  ((struct counting *)c)->drops += 1;
}
static int counting_poll(struct counting *c, int i, uint32_t *registered) {
  volt_ctx ctx = VOLT_CTX_INIT(((volt_waker){counting_wake, c}));
  ctx.drop = counting_drop;
  int result = volt_future_poll_ctx(admission_future(&admission[i]), &ctx);
  *registered += ctx.registered;
  return result;
}

static void the_accepting_task_polls_first(const char *tenant) {
  for (int i = 0; i < 3; i++) come(i, tenant);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  for (int i = 1; i < 3; i++) {
    assert_result(admission_join(&admission[i], now_ns), VOLT_OK);
    assert_result(volt_future_poll(admission_future(&admission[i]), (volt_waker){NULL, NULL}),
                  VOLT_PENDING);
  }
  struct counting task = {0, 0}, accepting = {0, 0};
  uint32_t of_task = 0, of_accepting = 0;
  assert_result(counting_poll(&task, 1, &of_task), VOLT_PENDING);
  admission_release(&admission[0], now_ns); /* 1 has its task, 2 has not */
  assert_int_equal(of_task, 1);
  assert_int_equal(task.wakes, 1);
  assert_int_equal(task.drops, 0);
  pick_up(1);
  /* the same if the accepting task registers: it is settled as the client's task polls */
  assert_result(counting_poll(&accepting, 2, &of_accepting), VOLT_PENDING);
  assert_result(counting_poll(&task, 2, &of_task), VOLT_PENDING);
  assert_int_equal(of_accepting, 1);
  assert_int_equal(accepting.wakes + accepting.drops, 1);
  admission_release(&admission[1], now_ns);
  assert_int_equal(of_task, 2);
  assert_int_equal(task.wakes, 2);
  assert_int_equal(accepting.wakes, 0);
  pick_up(2);
  admission_release(&admission[2], now_ns);
  for (int i = 0; i < 3; i++) go(i);
}

static void one_task_polls_first_and_another_then(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  the_accepting_task_polls_first(NULL);
  kit_end();
  struct tenant_settings none;
  kit_begin(1, &none, 0);
  the_accepting_task_polls_first("app");
  kit_end();
}

/* ---- the queue's bound ---- */

static void the_queue_has_a_bound(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  gate_set_queue(&gate, 2);
  for (int i = 0; i < 5; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_result(queue_up(1), VOLT_PENDING);
  assert_result(queue_up(2), VOLT_PENDING);
  assert_result(queue_up(3), VOLT_ECLOSED);
  assert_int_equal(gate.queued, 2);
  assert_int_equal(volt_sem_waiters(&gate.permits), 2);
  assert_false(admission_leave(&admission[3], now_ns));
  assert_int_equal(gate.queued, 2);
  assert_int_equal(client[3].state, CLIENT_LOGIN);
  assert_false(admission_leave(&admission[1], now_ns)); /* a place is free */
  assert_result(queue_up(3), VOLT_PENDING);
  assert_result(queue_up(4), VOLT_ECLOSED);
  admission_release(&admission[0], now_ns);
  pick_up(2);
  gate_set_queue(&gate, 0);
  assert_result(queue_up(4), VOLT_ECLOSED);
  admission_release(&admission[2], now_ns);
  pick_up(3);
  assert_result(admission_try(&admission[4], now_ns), VOLT_EAGAIN);
  assert_result(queue_up(4), VOLT_ECLOSED);
  admission_release(&admission[3], now_ns);
  assert_result(admission_try(&admission[4], now_ns), VOLT_OK); /* 0: no queue, but a permit */
  admission_release(&admission[4], now_ns);
  kit_end();
}

static atomic_uint joined, most_queued;
static void *join_and_leave(void *arg) {
  struct admission *a = (struct admission *)arg;
  for (int i = 0; i < 2000; i++) {
    if (admission_join(a, now_ns) != VOLT_OK) continue;
    (void)volt_future_poll(admission_future(a), (volt_waker){NULL, NULL});
    atomic_fetch_add(&joined, 1);
    unsigned queued = volt_sem_waiters(&gate.permits), most = atomic_load(&most_queued);
    while (queued > most && !atomic_compare_exchange_weak(&most_queued, &most, queued)) continue;
    (void)admission_leave(a, now_ns);
  }
  return NULL;
}

static void the_bound_holds_over_all_threads(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  gate_set_queue(&gate, 2);
  for (int i = 0; i < 7; i++) come(i, NULL);
  assert_result(admission_try(&admission[6], now_ns), VOLT_OK);
  atomic_store(&joined, 0);
  atomic_store(&most_queued, 0);
  pthread_t threads[6];
  for (int i = 0; i < 6; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, join_and_leave, &admission[i]), 0);
  }
  for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
  assert_true(atomic_load(&joined) >= 2000);
  assert_true(atomic_load(&most_queued) <= 2);
  admission_release(&admission[6], now_ns);
  kit_end();
}

/* ---- the ways in which a wait ends ---- */

enum { HOLDER, LEAVER, NEXT };

static void leaves_without_a_poll(void) {
  (void)admission_leave(&admission[LEAVER], now_ns);
}

static void is_cancelled_before_its_poll(void) {
  (void)admission_leave(&admission[LEAVER], now_ns);
  assert_result(admission_join(&admission[LEAVER], now_ns), VOLT_OK);
  volt_future_cancel(admission_future(&admission[LEAVER]));
  assert_false(admission_leave(&admission[LEAVER], now_ns));
}

static void is_cancelled_while_it_waits(void) {
  volt_future_cancel(admission_future(&admission[LEAVER]));
  assert_false(admission_leave(&admission[LEAVER], now_ns));
  assert_int_equal(woken[LEAVER], 0);
}

static void is_granted_and_cancelled(void) {
  admission_release(&admission[HOLDER], now_ns);
  assert_int_equal(woken[LEAVER], 1);
  volt_future_cancel(admission_future(&admission[LEAVER]));
  assert_false(admission_leave(&admission[LEAVER], now_ns));
}

static void is_granted_and_leaves(void) {
  admission_release(&admission[HOLDER], now_ns);
  assert_int_equal(woken[LEAVER], 1);
  assert_false(admission_leave(&admission[LEAVER], now_ns));
}

static void is_granted_and_releases(void) {
  admission_release(&admission[HOLDER], now_ns);
  pick_up(LEAVER);
  admission_release(&admission[LEAVER], now_ns);
}

/* Both branches are ready at the same poll; what the other won is given back. */
static void loses_a_select(void) {
  volt_sem other = VOLT_SEM_INIT(0);
  volt_future f;
  volt_select select;
  volt_future *either[] = {volt_sem_acquire_future(&f, &other, 1),
                           admission_future(&admission[LEAVER])};
  volt_future_made(volt_select_future(&select, either, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&select.future, (volt_waker){NULL, NULL}), VOLT_PENDING);
  volt_sem_release(&other, 1);
  admission_release(&admission[HOLDER], now_ns);
  assert_result(volt_future_poll(&select.future, (volt_waker){NULL, NULL}), VOLT_OK);
  assert_int_equal(volt_select_winner(&select), 0);
  assert_false(admission_leave(&admission[LEAVER], now_ns));
}

/* An async function that is cancelled as a task is, while it waits. */
struct waiting {
  volt_async async;
  struct admission *admission;
  int result;
};
static int waiting_poll(volt_async *a, volt_ctx *ctx) {
  struct waiting *self = volt_container_of(a, struct waiting, async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, admission_future(self->admission));
  VOLT_FINALLY(self);
  if (admission_leave(self->admission, now_ns)) admission_release(self->admission, now_ns);
  VOLT_ASYNC_END(self);
}

static void is_cancelled_with_its_task(bool is_granted_first) {
  struct waiting task = {.admission = &admission[LEAVER]};
  volt_future *f = volt_async_future(&task.async, waiting_poll);
  volt_ctx ctx = VOLT_CTX_INIT(((volt_waker){NULL, NULL}));
  assert_result(volt_future_poll_ctx(f, &ctx), VOLT_PENDING);
  if (is_granted_first) admission_release(&admission[HOLDER], now_ns);
  ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(volt_future_poll_ctx(f, &ctx), VOLT_ECANCELED);
  assert_false(admission_holds(&admission[LEAVER]));
}
static void its_task_is_cancelled(void) {
  is_cancelled_with_its_task(false);
}
static void is_granted_and_its_task_is_cancelled(void) {
  is_cancelled_with_its_task(true);
}

static void end_a_wait(void (*way)(void), const char *tenant) {
  for (int i = 0; i < 3; i++) come(i, tenant);
  assert_result(admission_try(&admission[HOLDER], now_ns), VOLT_OK);
  assert_result(queue_up(LEAVER), VOLT_PENDING);
  assert_result(queue_up(NEXT), VOLT_PENDING);
  way();
  assert_false(admission[LEAVER].is_queued);
  if (admission_holds(&admission[HOLDER])) {
    assert_result(poll_one(NEXT), VOLT_PENDING);
    admission_release(&admission[HOLDER], now_ns);
  }
  assert_int_equal(woken[NEXT], 1);
  woken[LEAVER] = 0;
  woken[NEXT] = 0;
  pick_up(NEXT);
  admission_release(&admission[NEXT], now_ns);
  for (int i = 0; i < 3; i++) go(i);
}

static void permits_come_back_whichever_way_a_wait_ends(void **state) {
  (void)state;
  void (*const ways[])(void) = {
      leaves_without_a_poll,    is_cancelled_before_its_poll, is_cancelled_while_it_waits,
      is_granted_and_cancelled, is_granted_and_leaves,        is_granted_and_releases,
      loses_a_select,           its_task_is_cancelled,        is_granted_and_its_task_is_cancelled,
  };
  struct tenant_settings tenants[] = {{.name = "heavy", .weight = 2, .cost = 1, .limit = 1}};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    kit_begin(1, NULL, 0);
    end_a_wait(ways[i], NULL);
    kit_end();
    kit_begin(1, tenants, 1);
    end_a_wait(ways[i], "app");
    end_a_wait(ways[i], "heavy");
    kit_end();
  }
}

static void what_was_given_to_no_client_is_taken_back(void **state) {
  (void)state;
  struct tenant_settings none;
  kit_begin(1, &none, 0);
  come(0, "app");
  come(1, "other app");
  assert_result(admission_join(&admission[0], now_ns),
                VOLT_OK); /* it is dealt one, and not there */
  assert_int_equal(gate_held(&gate), 1);
  assert_result(queue_up(1), VOLT_PENDING);
  volt_future_cancel(admission_future(&admission[0]));
  assert_false(admission_leave(&admission[0], now_ns));
  pick_up(1);
  admission_release(&admission[1], now_ns);
  kit_end();
}

/* ---- the gate's limit ---- */

static void nothing_is_granted_above_a_lowered_limit(const char *tenant) {
  for (int i = 0; i < 6; i++) come(i, tenant);
  for (int i = 0; i < 3; i++) assert_result(admission_try(&admission[i], now_ns), VOLT_OK);
  for (int i = 3; i < 6; i++) assert_result(queue_up(i), VOLT_PENDING);
  gate_set_limit(&gate, 1);
  assert_int_equal(volt_sem_excess(&gate.permits), 2);
  assert_int_equal(gate_held(&gate), 3);
  admission_release(&admission[0], now_ns);
  admission_release(&admission[1], now_ns);
  for (int i = 3; i < 6; i++) assert_int_equal(woken[i], 0);
  assert_int_equal(gate_held(&gate), 1);
  admission_release(&admission[2], now_ns);
  for (int i = 3; i < 6; i++) assert_int_equal(woken[i], i == 3);
  gate_set_limit(&gate, 3);
  for (int i = 3; i < 6; i++) {
    pick_up(i);
    woken[i] = 0;
  }
  assert_int_equal(gate_held(&gate), 3);
  for (int i = 3; i < 6; i++) admission_release(&admission[i], now_ns);
  for (int i = 0; i < 6; i++) go(i);
}

static void the_limit_may_change(void **state) {
  (void)state;
  kit_begin(3, NULL, 0);
  nothing_is_granted_above_a_lowered_limit(NULL);
  kit_end();
  struct tenant_settings none;
  kit_begin(3, &none, 0);
  nothing_is_granted_above_a_lowered_limit("app");
  kit_end();
}

/* ---- tenants ---- */

/* 0 holds; the others queue in this order, tenants by their letters; all are admitted one by one. */
static void expect_order(const char *tenants, const char *order) {
  int count = (int)strlen(tenants);
  int holder = 0;
  char seen[KIT_CLIENTS] = "";
  for (int i = 0; i < count; i++) {
    char name[2] = {tenants[i], 0};
    come(i, name);
    if (i == 0) assert_result(admission_try(&admission[i], now_ns), VOLT_OK);
    if (i != 0) assert_result(queue_up(i), VOLT_PENDING);
  }
  int last[128] = {0}; /* of each tenant */
  for (int k = 1; k < count; k++) {
    admission_release(&admission[holder], now_ns);
    holder = 0;
    for (int i = 1; i < count; i++) {
      if (!is_granted(i)) continue;
      assert_int_equal(holder, 0); /* one at a time */
      holder = i;
    }
    assert_int_not_equal(holder, 0);
    seen[k - 1] = tenants[holder];
    assert_true(holder > last[(unsigned char)tenants[holder]]); /* FIFO within the tenant */
    last[(unsigned char)tenants[holder]] = holder;
    pick_up(holder);
  }
  admission_release(&admission[holder], now_ns);
  assert_string_equal(seen, order);
  for (int i = 0; i < count; i++) go(i);
}

static void tenants_take_turns(void **state) {
  (void)state;
  struct tenant_settings tenants[] = {{.name = "b", .weight = 2, .cost = 1},
                                      {.name = "c", .weight = 3, .cost = 1}};
  kit_begin(1, tenants, 2);
  expect_order("aaaaadddd", "adadadad");
  expect_order("aaaaaaaad", "adaaaaaa"); /* who comes last and alone is next but one */
  expect_order("aaaabbbbbb", "abbabbabb");
  expect_order("accccccaabb", "cccabbccca");
  kit_end();
}

static void a_weight_may_change(void **state) {
  (void)state;
  struct tenant_settings before[] = {{.name = "b", .weight = 1, .cost = 1}};
  struct tenant_settings after[] = {{.name = "b", .weight = 3, .cost = 1}};
  kit_begin(1, before, 1);
  expect_order("aaaabbb", "ababab");
  struct gate_settings changed = kit_settings;
  changed.tenants = after;
  assert_true(gate_set(&gate, &changed));
  expect_order("aaaabbb", "abbbaa");
  kit_end();
}

static void a_tenant_has_a_limit(void **state) {
  (void)state;
  struct tenant_settings tenants[] = {{.name = "small", .limit = 1, .weight = 1, .cost = 1}};
  kit_begin(4, tenants, 1);
  for (int i = 0; i < 4; i++) come(i, "small");
  come(4, "app");
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_result(admission_try(&admission[1], now_ns), VOLT_EAGAIN);
  for (int i = 1; i < 4; i++) assert_result(queue_up(i), VOLT_PENDING);
  assert_int_equal(tenant_queued(client[1].tenant), 3);
  assert_int_equal(tenant_limit(client[1].tenant), 1);
  assert_int_equal(tenant_limit(client[4].tenant), 0);
  assert_result(admission_try(&admission[4], now_ns), VOLT_OK); /* others do not wait for it */
  assert_true(tenants_set_limit(gate_tenants(&gate), "small", 3));
  assert_false(tenants_set_limit(gate_tenants(&gate), "unknown", 3));
  pick_up(1);
  pick_up(2);
  assert_result(poll_one(3), VOLT_PENDING);
  assert_true(tenants_set_limit(gate_tenants(&gate), "small", 1));
  admission_release(&admission[0], now_ns);
  admission_release(&admission[1], now_ns);
  assert_result(poll_one(3), VOLT_PENDING);
  assert_int_equal(client[3].tenant->held, 1);
  assert_true(tenants_set_limit(gate_tenants(&gate), "small", 0));
  pick_up(3);
  assert_int_equal(tenant_admitted(client[3].tenant), 4);
  for (int i = 2; i < 5; i++) admission_release(&admission[i], now_ns);
  kit_end();
}

static void a_client_may_cost_more(void **state) {
  (void)state;
  struct tenant_settings tenants[] = {{.name = "heavy", .weight = 1, .cost = 3},
                                      {.name = "huge", .weight = 1, .cost = 100}};
  kit_begin(4, tenants, 2);
  for (int i = 0; i < 2; i++) come(i, "app");
  for (int i = 2; i < 5; i++) come(i, "heavy");
  for (int i = 5; i < 7; i++) come(i, "huge");
  for (int i = 0; i < 2; i++) assert_result(admission_try(&admission[i], now_ns), VOLT_OK);
  assert_result(queue_up(2), VOLT_PENDING); /* it wants 3 of 2 */
  assert_result(admission_try(&admission[5], now_ns), VOLT_EAGAIN);
  assert_result(queue_up(5), VOLT_PENDING); /* it wants all */
  admission_release(&admission[0], now_ns);
  pick_up(2);
  assert_int_equal(admission[2].cost, 3);
  assert_int_equal(gate_held(&gate), 4);
  admission_release(&admission[1], now_ns);
  admission_release(&admission[2], now_ns);
  pick_up(5);
  assert_int_equal(admission[5].cost, 4);
  assert_result(queue_up(6), VOLT_PENDING);
  assert_result(queue_up(3), VOLT_PENDING);
  gate_set_limit(&gate, 2); /* what waits wants no more than there can be */
  admission_release(&admission[5], now_ns);
  pick_up(6);
  assert_int_equal(admission[6].cost, 2);
  gate_set_limit(&gate, 3);
  assert_result(poll_one(3), VOLT_PENDING);
  admission_release(&admission[6], now_ns);
  pick_up(3);
  assert_int_equal(admission[3].cost, 3);
  admission_release(&admission[3], now_ns);
  kit_end();
}

static void a_cost_changes_between_a_grant_and_its_pickup(void **state) {
  (void)state;
  struct tenant_settings before[] = {{.name = "heavy", .weight = 1, .cost = 2}};
  struct tenant_settings after[] = {{.name = "heavy", .weight = 1, .cost = 1}};
  kit_begin(2, before, 1);
  for (int i = 0; i < 3; i++) come(i, "heavy");
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  for (int i = 1; i < 3; i++) assert_result(queue_up(i), VOLT_PENDING);
  admission_release(&admission[0], now_ns); /* 1 is granted 2 permits */
  struct gate_settings changed = kit_settings;
  changed.tenants = after;
  assert_true(gate_set(&gate, &changed));
  assert_int_equal(client[1].tenant->turns.cost, 2);
  pick_up(1);
  assert_int_equal(admission[1].cost, 2);
  assert_int_equal(client[1].tenant->turns.cost, 1);
  assert_result(poll_one(2), VOLT_PENDING);
  admission_release(&admission[1], now_ns);
  pick_up(2);
  assert_int_equal(admission[2].cost, 1);
  assert_int_equal(gate_held(&gate), 1);
  admission_release(&admission[2], now_ns);
  kit_end();
}

static void a_gate_gets_its_first_tenants(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  for (int i = 0; i < 2; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_result(queue_up(1), VOLT_PENDING);
  struct gate_settings changed = kit_settings;
  changed.tenant_by = TENANT_BY_USER;
  assert_true(gate_set(&gate, &changed));
  come(2, "app");
  assert_result(queue_up(2), VOLT_PENDING);
  admission_release(&admission[0], now_ns);
  assert_int_equal(woken[2], 0);
  pick_up(1);
  admission_release(&admission[1], now_ns);
  pick_up(2);
  admission_release(&admission[2], now_ns);
  kit_end();
}

/* ---- shedding ---- */

static void who_waited_too_long_is_shed(void **state) {
  (void)state;
  kit_begin(1, NULL, 0);
  kit_settings.shed_target_ns = 10;
  kit_settings.shed_interval_ns = 100;
  for (int i = 0; i < 4; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  for (int i = 1; i < 4; i++) assert_result(queue_up(i), VOLT_PENDING);
  now_ns += 150; /* the interval that had an admission without a wait ends */
  admission_release(&admission[0], now_ns);
  pick_up(1);
  now_ns += 100; /* in this one all have waited longer than the target */
  admission_release(&admission[1], now_ns);
  assert_result(poll_one(2), VOLT_OK);
  assert_false(admission_leave(&admission[2], now_ns));
  assert_true(admission[2].is_shed);
  assert_false(admission_holds(&admission[2]));
  kit_settings.shed_target_ns = 0; /* off */
  pick_up(3);
  assert_false(admission[3].is_shed);
  admission_release(&admission[3], now_ns);
  kit_end();
}

/* ---- by chance ---- */

enum { CHANCE_CLIENTS = 24, CHANCE_STEPS = 20000 };
static const char *const chance_names[] = {"a", "b", "small", "heavy"};
static uint64_t chance_place[CHANCE_CLIENTS]; /* in its tenant's FIFO */
static uint32_t chance_held, chance_most;     /* permits; the highest that they may be */

static void chance_admitted(int i) {
  for (int k = 0; k < CHANCE_CLIENTS; k++) { /* nobody of the tenant has come before, and waits */
    if (k == i || !admission[k].is_queued || client[k].tenant != client[i].tenant) continue;
    if (chance_place[k] < chance_place[i]) assert_result(poll_one(k), VOLT_OK);
  }
  chance_held += admission[i].cost;
}

static void chance_set_limit(uint32_t limit) {
  gate_set_limit(&gate, limit);
  uint32_t held = gate_held(&gate);
  chance_most = held > limit ? held : limit;
}

/* When nothing is under way, no client waits for what is there. */
static void chance_expect_no_waste(void) {
  for (int i = 0; i < CHANCE_CLIENTS; i++) {
    if (!admission[i].is_queued || poll_one(i) == VOLT_OK) continue;
    struct turns_member *m = &client[i].tenant->turns;
    if (m->awaits_pickup) continue; /* another client has a grant, and will pick it up */
    bool has_own = m->in_hand != 0 || volt_sem_available(&m->permits) >= m->cost;
    assert_false(has_own && !m->is_in_round);
    assert_false(m->is_in_round && m == gate.turns.first &&
                 volt_sem_available(&gate.permits) >= m->cost);
  }
}

static void chance_step(rng *r, uint64_t step) {
  int i = (int)rng_below(r, CHANCE_CLIENTS);
  struct admission *a = &admission[i];
  now_ns += 1;
  if (rng_below(r, 40) == 0) {
    chance_set_limit(1 + rng_below(r, 6));
  } else if (rng_below(r, 40) == 0) {
    tenants_set_limit(gate_tenants(&gate), chance_names[rng_below(r, 4)], rng_below(r, 4));
  } else if (admission_holds(a)) {
    chance_held -= a->cost;
    admission_release(a, now_ns);
  } else if (!a->is_queued) {
    chance_place[i] = step;
    if (rng_below(r, 2) && admission_try(a, now_ns) == VOLT_OK) {
      chance_admitted(i);
    } else if (queue_up(i) == VOLT_OK) {
      assert_true(admission_leave(a, now_ns));
      chance_admitted(i);
    }
  } else if (rng_below(r, 4) == 0) { /* it hangs up */
    if (rng_below(r, 2)) volt_future_cancel(admission_future(a));
    if (admission_leave(a, now_ns)) {
      chance_held += a->cost;
      chance_held -= a->cost;
      admission_release(a, now_ns);
    }
  } else if (poll_one(i) == VOLT_OK) {
    assert_true(admission_leave(a, now_ns));
    chance_admitted(i);
  }
}

static void invariants_hold_whatever_comes(void **state) {
  (void)state;
  struct tenant_settings tenants[] = {{.name = "b", .weight = 3, .cost = 1},
                                      {.name = "heavy", .weight = 1, .cost = 3},
                                      {.name = "small", .weight = 1, .cost = 1, .limit = 1}};
  for (uint64_t seed = 1; seed <= 5; seed++) {
    rng r = rng_seeded(seed);
    kit_begin(4, tenants, 3);
    chance_held = 0;
    chance_most = 4;
    for (int i = 0; i < CHANCE_CLIENTS; i++) come(i, chance_names[i % 4]);
    for (uint64_t step = 0; step < CHANCE_STEPS; step++) {
      chance_step(&r, step);
      assert_true(gate_held(&gate) <= chance_most);
      assert_true(chance_held <= gate_held(&gate));
      if (gate_held(&gate) < chance_most) {
        uint32_t limit = volt_sem_limit(&gate.permits), held = gate_held(&gate);
        chance_most = held > limit ? held : limit;
      }
      chance_expect_no_waste();
    }
    for (int i = 0; i < CHANCE_CLIENTS; i++) {
      if (admission_leave(&admission[i], now_ns)) admission_release(&admission[i], now_ns);
    }
    kit_end();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_free_permit_is_taken),
      cmocka_unit_test(the_first_poll_takes_the_place),
      cmocka_unit_test(one_task_polls_first_and_another_then),
      cmocka_unit_test(the_queue_has_a_bound),
      cmocka_unit_test(the_bound_holds_over_all_threads),
      cmocka_unit_test(permits_come_back_whichever_way_a_wait_ends),
      cmocka_unit_test(what_was_given_to_no_client_is_taken_back),
      cmocka_unit_test(the_limit_may_change),
      cmocka_unit_test(tenants_take_turns),
      cmocka_unit_test(a_weight_may_change),
      cmocka_unit_test(a_tenant_has_a_limit),
      cmocka_unit_test(a_client_may_cost_more),
      cmocka_unit_test(a_cost_changes_between_a_grant_and_its_pickup),
      cmocka_unit_test(a_gate_gets_its_first_tenants),
      cmocka_unit_test(who_waited_too_long_is_shed),
      cmocka_unit_test(invariants_hold_whatever_comes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
