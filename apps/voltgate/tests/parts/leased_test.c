/* leased_test.c: leases of gates and tenants, by hand: the test is the engine. What a gate may use in
 * each mode, while the ensemble goes away and comes back; what gates say that they want and hold. */
#include <stdio.h>

#include "cluster/away.h"
#include "cluster/cluster.h"
#include "cluster/leased.h"
#include "config/cluster_name.h"
#include "gate_kit.h"

enum { NAMES = 8 };
#define S UINT64_C(1000000000)

/* ---- the engine ---- */

/* One name: it is handed out as the handle. */
struct fake {
  char name[CLUSTER_NAME_MAX + 1];
  volt_cluster_sem_config config;
  volt_cluster_lease_user user;
  volt_cluster_lease_stats stats;
  bool is_waiting;
  unsigned looks;
};

static struct fake fake[NAMES];
static size_t fakes;
static struct away_sees sees;
static struct engine engine;
static struct leases leases;

static struct fake *fake_of(const volt_cluster_lease *l) {
  return (struct fake *)(uintptr_t)l;
}

static int fake_open(struct engine *e, volt_cluster_lease **out, const char *name,
                     const volt_cluster_sem_config *config, const volt_cluster_lease_user *user) {
  (void)e;
  assert_true(fakes < NAMES);
  for (size_t i = 0; i < fakes; i++) assert_string_not_equal(fake[i].name, name);
  struct fake *f = &fake[fakes++];
  *f = (struct fake){.config = *config, .user = *user};
  snprintf(f->name, sizeof f->name, "%s", name);
  *out = (volt_cluster_lease *)(uintptr_t)f;
  return VOLT_OK;
}

static void fake_check(volt_cluster_lease *l) {
  fake_of(l)->looks += 1;
}

static bool fake_is_waiting(const volt_cluster_lease *l) {
  return fake_of(l)->is_waiting;
}

static void fake_stats(const volt_cluster_lease *l, volt_cluster_lease_stats *stats) {
  *stats = fake_of(l)->stats;
}

static void fake_sees(struct engine *e, struct away_sees *to) {
  (void)e;
  *to = sees;
}

static const struct engine_calls fake_calls = {fake_open, fake_check, fake_is_waiting, fake_stats,
                                               fake_sees};

static struct fake *named(const char *name) {
  for (size_t i = 0; i < fakes; i++) {
    if (strcmp(fake[i].name, name) == 0) return &fake[i];
  }
  fail_msg("%s was not opened", name);
  return NULL;
}

static uint32_t wanted(const char *name) {
  return named(name)->user.wanted(named(name)->user.ctx);
}

static uint32_t held(const char *name) {
  return named(name)->user.held(named(name)->user.ctx);
}

static void lease(const char *name, uint32_t limit) {
  struct fake *f = named(name);
  f->stats.leased = limit;
  f->user.set_limit(limit, f->user.ctx);
}

static void lose(const char *name) {
  struct fake *f = named(name);
  lease(name, 0);
  f->user.lost(f->user.ctx);
}

static bool was_looked_at(const char *name) {
  unsigned looks = named(name)->looks;
  named(name)->looks = 0;
  return looks != 0;
}

/* ---- a gate with leases ---- */

static void begin_with(enum cluster_away away, struct tenant_settings *tenants, size_t count) {
  fakes = 0;
  engine.calls = &fake_calls;
  leases_init(&leases, &engine, 3);
  sees = (struct away_sees){.session_ns = 10 * S, .now_ns = 100 * S};
  kit_begin(64, tenants, count);
  kit_settings.cluster_away = away;
  assert_true(gate_lease_from(&gate, &leases.lessor));
}

static void begin(enum cluster_away away) {
  begin_with(away, NULL, 0);
}

static void end(void) {
  gate_end_leases(&gate);
  assert_int_equal(volt_sem_limit(&gate.permits) + volt_sem_excess(&gate.permits) -
                       volt_sem_available(&gate.permits),
                   0);
  gate_destroy(&gate);
  leases_destroy(&leases);
}

static void connect_it(uint64_t session) {
  sees.is_connected = true;
  sees.session = session;
  leases_follow(&leases);
}

static void cut_off(void) {
  sees.is_connected = false;
  leases_follow(&leases);
}

static uint32_t in_force(void) {
  return volt_sem_limit(&gate.permits);
}

static enum lease_mode mode(void) {
  struct lease_view l;
  gate_lease_read(gate_lease(&gate), &l);
  assert_int_equal(l.in_force, in_force());
  uint32_t all = l.leased + l.lost;
  assert_true(l.used <= all);
  return l.mode;
}

/* Connected, three hosts, and so many of 64 are leased, for ten seconds. */
static void lease_and_see(uint32_t limit) {
  connect_it(7);
  named("main")->stats.limit = 64;
  named("main")->stats.hosts = 3;
  lease("main", limit);
  sees.valid_until_ns = sees.now_ns + 5 * S;
  leases_follow(&leases);
  assert_int_equal(in_force(), limit);
  assert_int_equal(mode(), LEASE_LEASED);
}

static void pass_validity(void) {
  cut_off();
  sees.now_ns = sees.valid_until_ns;
  lose("main");
}

static void nothing_is_admitted_before_a_lease(void **state) {
  (void)state;
  static const enum cluster_away all[] = {CLUSTER_AWAY_CLOSED, CLUSTER_AWAY_KEEP,
                                          CLUSTER_AWAY_SHARE};
  for (size_t i = 0; i < 3; i++) {
    begin(all[i]);
    assert_int_equal(named("main")->config.limit, 64);
    assert_int_equal(named("main")->config.era, 3);
    assert_int_equal(gate_limit(&gate), 64); /* as it is shown */
    assert_int_equal(in_force(), 0);
    assert_int_equal(mode(), LEASE_CLOSED);
    leases_follow(&leases);
    assert_int_equal(mode(), LEASE_CLOSED);
    come(0, NULL);
    assert_result(admission_try(&admission[0], now_ns), VOLT_EAGAIN);
    connect_it(7);
    assert_int_equal(mode(), LEASE_LEASED);
    assert_int_equal(in_force(), 0);
    assert_result(admission_try(&admission[0], now_ns), VOLT_EAGAIN);
    lease("main", 1);
    assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
    admission_release(&admission[0], now_ns);
    end();
  }
}

/* Away, and valid: nothing changes. Not valid: as the mode says; then back. */
static void goes_away(enum cluster_away away, uint32_t leased, enum lease_mode as,
                      uint32_t expected) {
  begin(away);
  lease_and_see(leased);
  cut_off();
  assert_int_equal(in_force(), leased);
  assert_int_equal(mode(), LEASE_LEASED);
  sees.now_ns = sees.valid_until_ns - 1;
  leases_follow(&leases);
  assert_int_equal(in_force(), leased);
  pass_validity();
  assert_int_equal(mode(), as);
  assert_int_equal(in_force(), expected);
  assert_int_equal(gate_limit(&gate), 64);
  sees.now_ns += 1000 * S; /* however long */
  leases_follow(&leases);
  assert_int_equal(in_force(), expected);
  connect_it(8); /* a new session */
  assert_int_equal(mode(), LEASE_LEASED);
  assert_int_equal(in_force(), 0);
  lease("main", 5);
  assert_int_equal(in_force(), 5);
  end();
}

static void closed_admits_nothing(void **state) {
  (void)state;
  goes_away(CLUSTER_AWAY_CLOSED, 40, LEASE_CLOSED, 0);
}

static void keep_goes_on_with_what_it_had(void **state) {
  (void)state;
  goes_away(CLUSTER_AWAY_KEEP, 40, LEASE_KEEP, 40);
}

static void share_goes_on_with_its_part(void **state) {
  (void)state;
  goes_away(CLUSTER_AWAY_SHARE, 40, LEASE_SHARE, 64 / 3);
  goes_away(CLUSTER_AWAY_SHARE, 4, LEASE_SHARE, 4); /* never more than it had */
}

static void the_same_session_is_back_when_it_is_valid(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_KEEP);
  lease_and_see(40);
  pass_validity();
  assert_int_equal(in_force(), 40);
  connect_it(7); /* a server that answers reads may be cut off itself */
  assert_int_equal(mode(), LEASE_KEEP);
  sees.now_ns += 4 * S;
  cut_off();
  sees.now_ns += 4 * S;
  connect_it(7);
  sees.now_ns += 10 * S - 1;
  leases_follow(&leases);
  assert_int_equal(mode(), LEASE_KEEP);
  sees.now_ns += 1; /* a session's time on one connection: no cut-off server keeps it */
  leases_follow(&leases);
  assert_int_equal(mode(), LEASE_LEASED);
  assert_int_equal(in_force(), 0);
  lease_and_see(40);
  pass_validity();
  connect_it(7);
  assert_int_equal(mode(), LEASE_KEEP);
  sees.valid_until_ns = sees.now_ns + 1; /* an answered write */
  leases_follow(&leases);
  assert_int_equal(mode(), LEASE_LEASED);
  end();
}

static void a_lease_ends_being_away(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_KEEP);
  lease_and_see(40);
  pass_validity();
  sees.is_connected = true; /* and the follower has not looked yet */
  lease("main", 3);
  assert_int_equal(mode(), LEASE_LEASED);
  assert_int_equal(in_force(), 3);
  end();
}

/* Somebody deletes the node: that is no reason to go on. */
static void lost_while_it_is_reached_is_not_away(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_KEEP);
  lease_and_see(40);
  lose("main");
  assert_int_equal(mode(), LEASE_LEASED);
  assert_int_equal(in_force(), 0);
  end();
}

/* The session ended while the process was stopped: it goes on only until it is connected again. */
static void an_ended_session_is_away_until_the_next(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_KEEP);
  lease_and_see(40);
  sees.now_ns += 60 * S;
  lose("main"); /* still connected, for all it knows */
  assert_int_equal(mode(), LEASE_KEEP);
  assert_int_equal(in_force(), 40);
  connect_it(8);
  assert_int_equal(mode(), LEASE_LEASED);
  assert_int_equal(in_force(), 0);
  end();
}

static void an_idle_gate_has_nothing_to_go_on_with(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_KEEP);
  lease_and_see(40);
  lease("main", 0); /* given back */
  cut_off();
  assert_int_equal(mode(), LEASE_KEEP);
  assert_int_equal(in_force(), 0);
  connect_it(7); /* nothing was at stake: it is back at once */
  assert_int_equal(mode(), LEASE_LEASED);
  end();
}

static void the_mode_can_change_while_it_is_away(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_CLOSED);
  lease_and_see(40);
  pass_validity();
  assert_int_equal(in_force(), 0);
  struct gate_settings changed = kit_settings;
  changed.cluster_away = CLUSTER_AWAY_KEEP;
  assert_true(gate_set(&gate, &changed));
  assert_int_equal(in_force(), 40);
  changed.cluster_away = CLUSTER_AWAY_SHARE;
  assert_true(gate_set(&gate, &changed));
  assert_int_equal(in_force(), 21);
  end();
}

/* ---- what it wants and holds ---- */

static void clients_that_wait_are_wanted(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_CLOSED);
  connect_it(7);
  (void)was_looked_at("main");
  for (int i = 0; i < 4; i++) come(i, NULL);
  assert_int_equal(wanted("main"), 0);
  assert_result(queue_up(0), VOLT_PENDING);
  assert_true(was_looked_at("main"));
  assert_int_equal(wanted("main"), 1);
  assert_result(queue_up(1), VOLT_PENDING);
  assert_int_equal(wanted("main"), 2);
  assert_int_equal(held("main"), 0);
  lease("main", 1);
  assert_int_equal(wanted("main"), 2); /* granted, and not picked up: it is held */
  assert_int_equal(held("main"), 1);
  pick_up(0);
  assert_int_equal(wanted("main"), 2);
  assert_false(admission_leave(&admission[1], now_ns));
  assert_int_equal(wanted("main"), 1);
  (void)was_looked_at("main");
  admission_release(&admission[0], now_ns);
  assert_false(was_looked_at("main")); /* nobody waits for it */
  assert_int_equal(wanted("main"), 0);
  end();
}

static void what_is_taken_back_is_held_until_it_is_released(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_CLOSED);
  lease_and_see(3);
  for (int i = 0; i < 4; i++) come(i, NULL);
  for (int i = 0; i < 3; i++) assert_result(admission_try(&admission[i], now_ns), VOLT_OK);
  assert_result(queue_up(3), VOLT_PENDING);
  named("main")->is_waiting = true;
  lease("main", 1);
  assert_int_equal(held("main"), 3);
  assert_int_equal(wanted("main"), 4);
  (void)was_looked_at("main");
  admission_release(&admission[0], now_ns);
  assert_true(was_looked_at("main"));
  assert_int_equal(held("main"), 2);
  admission_release(&admission[1], now_ns);
  assert_int_equal(held("main"), 1);
  assert_false(is_granted(3));
  named("main")->is_waiting = false;
  admission_release(&admission[2], now_ns);
  pick_up(3);
  admission_release(&admission[3], now_ns);
  end();
}

/* Leases are lost with clients in them: they finish, and count until then. */
static void held_permits_outlive_their_leases(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_CLOSED);
  lease_and_see(2);
  for (int i = 0; i < 3; i++) come(i, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_result(admission_try(&admission[1], now_ns), VOLT_OK);
  pass_validity();
  assert_int_equal(held("main"), 2);
  assert_result(queue_up(2), VOLT_PENDING);
  assert_int_equal(wanted("main"), 3);
  connect_it(8);
  lease("main", 2); /* others have not: these two are for those that hold */
  assert_false(is_granted(2));
  admission_release(&admission[0], now_ns);
  pick_up(2);
  admission_release(&admission[1], now_ns);
  admission_release(&admission[2], now_ns);
  end();
}

static void the_limit_is_not_the_gates_to_set(void **state) {
  (void)state;
  begin(CLUSTER_AWAY_CLOSED);
  lease_and_see(3);
  gate_set_limit(&gate, 50);
  assert_int_equal(in_force(), 3);
  struct gate_settings changed = kit_settings;
  changed.limit = 10;
  assert_true(gate_set(&gate, &changed));
  assert_int_equal(in_force(), 3);
  assert_int_equal(gate_limit(&gate), 64); /* the ensemble's */
  named("main")->stats.limit = 32;         /* another gate has changed it */
  leases_follow(&leases);
  assert_int_equal(gate_limit(&gate), 32);
  end();
}

/* ---- tenants ---- */

static void a_tenant_with_a_limit_leases_it(void **state) {
  (void)state;
  struct tenant_settings tenants[] = {
      {.name = (char *)(uintptr_t) "a.b_c d", .limit = 2, .weight = 1, .cost = 1},
      {.name = (char *)(uintptr_t) "free", .limit = 0, .weight = 1, .cost = 1}};
  begin_with(CLUSTER_AWAY_CLOSED, tenants, 2);
  const char *name = "main.a_2eb_5fc_20d";
  assert_int_equal(fakes, 2);
  assert_int_equal(named(name)->config.limit, 2);
  connect_it(7);
  for (int i = 0; i < 3; i++) come(i, "a.b_c d");
  come(3, "free");
  assert_int_equal(tenant_limit(client[0].tenant), 2);
  for (int i = 0; i < 3; i++) assert_result(queue_up(i), VOLT_PENDING);
  assert_true(was_looked_at(name));
  assert_int_equal(wanted(name), 3);
  assert_int_equal(wanted("main"), 0); /* none of them could use a permit of the gate */
  lease(name, 2);
  assert_true(was_looked_at("main"));
  assert_int_equal(wanted(name), 3); /* one in hand, for the first; two more */
  assert_int_equal(wanted("main"), 2);
  assert_result(queue_up(3), VOLT_PENDING);
  assert_int_equal(wanted("main"), 3);
  lease("main", 2); /* one for each tenant */
  pick_up(0);
  pick_up(3);
  assert_int_equal(wanted("main"), 3);
  lease("main", 3);
  pick_up(1);
  assert_int_equal(held(name), 2);
  assert_int_equal(wanted(name), 3);
  assert_int_equal(wanted("main"), 3);
  named(name)->is_waiting = named("main")->is_waiting = true;
  lease(name, 1);
  admission_release(&admission[0], now_ns);
  assert_true(was_looked_at(name) && was_looked_at("main"));
  assert_int_equal(held(name), 1);
  assert_false(is_granted(2));
  admission_release(&admission[1], now_ns);
  pick_up(2);
  admission_release(&admission[2], now_ns);
  admission_release(&admission[3], now_ns);
  assert_int_equal(wanted("main") + wanted(name), 0);
  for (int i = 0; i < 4; i++) go(i);
  end();
}

static void clients_that_leave_are_not_wanted(void **state) {
  (void)state;
  struct tenant_settings tenants[] = {
      {.name = (char *)(uintptr_t) "a", .limit = 2, .weight = 1, .cost = 1}};
  begin_with(CLUSTER_AWAY_CLOSED, tenants, 1);
  for (int i = 0; i < 3; i++) come(i, "a");
  for (int i = 0; i < 3; i++) assert_result(queue_up(i), VOLT_PENDING);
  lease("main.a", 2);
  assert_int_equal(wanted("main"), 2);
  for (int i = 0; i < 3; i++) assert_false(admission_leave(&admission[i], now_ns));
  assert_int_equal(wanted("main"), 0);
  assert_int_equal(wanted("main.a"), 0);
  assert_int_equal(held("main.a"), 0);
  for (int i = 0; i < 3; i++) go(i);
  end();
}

/* tenant-limit, for each that comes; a tenant that is forgotten wants nothing, and its name stays. */
static void tenants_come_and_go(void **state) {
  (void)state;
  struct tenant_settings none;
  begin_with(CLUSTER_AWAY_CLOSED, &none, 0);
  struct gate_settings changed = kit_settings;
  changed.tenant_default.limit = 5;
  changed.tenant_max = 1;
  assert_true(gate_set(&gate, &changed));
  come(0, "one");
  assert_int_equal(named("main.one")->config.limit, 5);
  lease("main.one", 4);
  assert_int_equal(volt_sem_limit(&client[0].tenant->turns.permits), 4);
  go(0);
  come(1, "two"); /* in the memory of the first */
  assert_ptr_equal(client[1].tenant, client[0].tenant);
  assert_int_equal(volt_sem_limit(&client[1].tenant->turns.permits), 0);
  lease("main.one", 3); /* it is nobody's */
  assert_int_equal(volt_sem_limit(&client[1].tenant->turns.permits), 0);
  go(1);
  come(2, "one");
  assert_int_equal(volt_sem_limit(&client[2].tenant->turns.permits), 3);
  changed.tenant_default.limit = 0;
  struct gate_settings unlimited = changed;
  assert_true(gate_set(&gate, &unlimited));
  assert_int_equal(tenant_limit(client[2].tenant), 0);
  assert_int_equal(volt_sem_limit(&client[2].tenant->turns.permits), VOLT_SEM_MAX);
  lease("main.one", 2);
  assert_int_equal(volt_sem_limit(&client[2].tenant->turns.permits), VOLT_SEM_MAX);
  assert_true(tenants_set_limit(gate_tenants(&gate), "one", 9)); /* by hand */
  assert_int_equal(volt_sem_limit(&client[2].tenant->turns.permits), 2);
  assert_non_null(tenants_lease(gate_tenants(&gate), "one"));
  assert_null(tenants_lease(gate_tenants(&gate), "three"));
  go(2);
  end();
}

/* ---- a gate that a reload takes away, and another brings back ---- */

static void two_gates_of_one_name_take_turns(void **state) {
  (void)state;
  static struct gate later;
  begin(CLUSTER_AWAY_CLOSED);
  lease_and_see(4);
  come(0, NULL);
  assert_result(admission_try(&admission[0], now_ns), VOLT_OK);
  assert_true(gate_init(&later, NULL, NULL, &kit_settings));
  assert_true(gate_lease_from(&later, &leases.lessor));
  assert_int_equal(fakes, 1);
  assert_int_equal(volt_sem_limit(&later.permits), 0);
  lease("main", 6);
  assert_int_equal(in_force(), 6);
  assert_int_equal(volt_sem_limit(&later.permits), 0);
  admission_release(&admission[0], now_ns);
  (void)was_looked_at("main");
  gate_end_leases(&gate);
  gate_end_leases(&gate); /* once more does nothing */
  assert_true(was_looked_at("main"));
  assert_int_equal(volt_sem_limit(&later.permits), 6);
  gate_end_leases(&later);
  assert_int_equal(wanted("main"), 0);
  lease("main", 0);
  gate_destroy(&later);
  gate_destroy(&gate);
  leases_destroy(&leases);
}

/* ---- names ---- */

static void names_are_those_of_nodes(void **state) {
  (void)state;
  char to[CLUSTER_NAME_MAX + 1], other[CLUSTER_NAME_MAX + 1];
  struct gate_settings g = {.name = (char *)(uintptr_t) "a.b_c"};
  assert_string_equal(cluster_name(to, &g, NULL), "a.b_c");
  assert_string_equal(cluster_name(to, &g, "x"), "a.b_c.x");
  assert_string_equal(cluster_name(to, &g, "10.1.2.0/24"), "a.b_c.10_2e1_2e2_2e0_2f24");
  assert_string_equal(cluster_name(to, &g, "\xc3\xa4"), "a.b_c._c3_a4");
  assert_string_equal(cluster_name(to, &g, "_2e"), "a.b_c._5f2e");
  g.cluster_name = (char *)(uintptr_t) "shop";
  assert_string_equal(cluster_name(to, &g, NULL), "shop");
  g.cluster_name = NULL;
  g.name = (char *)(uintptr_t) ".hidden";
  assert_string_equal(cluster_name(to, &g, NULL), "_2ehidden");
  char tenant[64];
  memset(tenant, '/', 63);
  tenant[63] = '\0';
  cluster_name(to, &g, tenant);
  assert_int_equal(strlen(to), CLUSTER_NAME_MAX);
  assert_true(cluster_name_is_one(to));
  tenant[62] = '!';
  assert_string_not_equal(to, cluster_name(other, &g, tenant));
  assert_memory_equal(to, other, 60);
  assert_true(cluster_name_is_one("a"));
  assert_true(cluster_name_is_one("A.b_c-9"));
  assert_false(cluster_name_is_one(""));
  assert_false(cluster_name_is_one(".a"));
  assert_false(cluster_name_is_one("a/b"));
  assert_false(cluster_name_is_one("\xc3\xa4"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_admitted_before_a_lease),
      cmocka_unit_test(closed_admits_nothing),
      cmocka_unit_test(keep_goes_on_with_what_it_had),
      cmocka_unit_test(share_goes_on_with_its_part),
      cmocka_unit_test(the_same_session_is_back_when_it_is_valid),
      cmocka_unit_test(a_lease_ends_being_away),
      cmocka_unit_test(lost_while_it_is_reached_is_not_away),
      cmocka_unit_test(an_ended_session_is_away_until_the_next),
      cmocka_unit_test(an_idle_gate_has_nothing_to_go_on_with),
      cmocka_unit_test(the_mode_can_change_while_it_is_away),
      cmocka_unit_test(clients_that_wait_are_wanted),
      cmocka_unit_test(what_is_taken_back_is_held_until_it_is_released),
      cmocka_unit_test(held_permits_outlive_their_leases),
      cmocka_unit_test(the_limit_is_not_the_gates_to_set),
      cmocka_unit_test(a_tenant_with_a_limit_leases_it),
      cmocka_unit_test(clients_that_leave_are_not_wanted),
      cmocka_unit_test(tenants_come_and_go),
      cmocka_unit_test(two_gates_of_one_name_take_turns),
      cmocka_unit_test(names_are_those_of_nodes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
