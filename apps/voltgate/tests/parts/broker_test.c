/* broker_test.c: the amounts of a permit gate without its sessions: in which order requests come to its FIFO, and what
 * becomes of those that wait for their tenant. */
#include <stdlib.h>
#include <string.h>

#include "config/kinds.h"
#include "gate/broker.h"
#include "permit/peer.h"
#include "stage.h"
#include "unit.h"

enum { CLIENTS = 6 };

struct set {
  struct stage stage;
  struct tenant_settings tenants[2];
  struct broker *broker;
  struct broker_entry of[CLIENTS];
};

static void begin(struct set *s, const char *kinds, const char *of_ci, const char *of_qa) {
  const char *why;
  memset(s, 0, sizeof *s);
  stage_begin(&s->stage, 1);
  struct gate_settings *g = &s->stage.settings;
  g->protocol = PROTOCOL_PERMIT;
  g->refuse = REFUSE_PERMIT;
  g->to = NULL;
  g->tenant_by = TENANT_BY_LABEL;
  g->tenants = s->tenants;
  g->tenant_count = 2;
  s->tenants[0] = (struct tenant_settings){.name = (char *)"ci", .weight = 1, .cost = 1};
  s->tenants[1] = (struct tenant_settings){.name = (char *)"qa", .weight = 1, .cost = 1};
  assert_true(kinds_read(kinds, true, &g->kinds, &why));
  assert_true(kinds_read(of_ci, false, &s->tenants[0].kinds, &why));
  assert_true(kinds_read(of_qa, false, &s->tenants[1].kinds, &why));
  stage_open(&s->stage);
  s->broker = s->stage.gate->broker;
  for (int i = 0; i < CLIENTS; i++) broker_entry_init(&s->of[i]);
}

/* All have left. */
static void end(struct set *s) {
  struct broker_view v;
  for (int i = 0; i < CLIENTS; i++) {
    if (s->of[i].stand == BROKER_WAITS) broker_leave(s->broker, &s->of[i]);
    if (s->of[i].stand == BROKER_HOLDS) broker_give_all(s->broker, &s->of[i]);
    volt_notify_destroy(&s->of[i].moved);
  }
  broker_read_view(s->broker, &v);
  assert_int_equal(v.of[0].held, 0);
  assert_int_equal(v.waiters, 0);
  stage_end(&s->stage);
}

/* A reload brings other limits of the tenants. */
static void reload(struct set *s, const char *of_ci, const char *of_qa) {
  const char *why;
  struct gate_settings settings = s->stage.settings;
  struct tenant_settings tenants[2] = {s->tenants[0], s->tenants[1]};
  settings.tenants = tenants;
  assert_true(kinds_read(of_ci, false, &tenants[0].kinds, &why));
  assert_true(kinds_read(of_qa, false, &tenants[1].kinds, &why));
  assert_true(broker_set(s->broker, &settings));
}

static enum broker_outcome take(struct set *s, int i, const char *label, uint64_t cores) {
  char why[BROKER_WHY];
  memset(&s->of[i].amounts, 0, sizeof s->of[i].amounts);
  strcpy(s->of[i].label, label);
  s->of[i].amounts.of[0] = cores;
  return broker_take(s->broker, &s->of[i], true, 0, why);
}

static enum broker_outcome ready(struct set *s, int i) {
  char why[BROKER_WHY];
  return broker_ready(s->broker, &s->of[i], 0, why);
}

/* One release lets several in: they come to the gate in their order, and before whoever asks afterwards. */
static void test_those_let_in_keep_their_order(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=4", "cores=2", "cores=4");
  assert_int_equal(take(&s, 0, "ci", 2), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "", 2), BROKER_GRANTED);
  assert_int_equal(take(&s, 2, "ci", 1), BROKER_QUEUED);
  assert_int_equal(take(&s, 3, "ci", 1), BROKER_QUEUED);
  assert_int_equal(s.of[2].where, BROKER_OUTSIDE);
  assert_int_equal(take(&s, 4, "", 4), BROKER_QUEUED); /* for the gate: nothing passes it */
  broker_give_all(s.broker, &s.of[0]);
  assert_int_equal(take(&s, 5, "", 1), BROKER_QUEUED); /* before any of their tasks has run */
  for (int i = 2; i < 6; i++) assert_int_equal(s.of[i].where, BROKER_AT_GATE);
  broker_give_all(s.broker, &s.of[1]);
  assert_int_equal(ready(&s, 4), BROKER_GRANTED);
  broker_set_limit(s.broker, 0, 6); /* two are free */
  assert_int_equal(ready(&s, 2), BROKER_GRANTED);
  assert_int_equal(ready(&s, 3), BROKER_GRANTED);
  assert_int_equal(ready(&s, 5), BROKER_QUEUED);
  end(&s);
}

/* The oldest that is outside leaves: the next may fit. */
static void test_the_oldest_outside_leaves(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=8", "cores=3", "cores=8");
  assert_int_equal(take(&s, 0, "ci", 2), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "ci", 2), BROKER_QUEUED);
  assert_int_equal(take(&s, 2, "ci", 1), BROKER_QUEUED); /* it would fit, but is not the first */
  assert_int_equal(take(&s, 3, "qa", 1), BROKER_GRANTED);
  broker_leave(s.broker, &s.of[1]);
  assert_int_equal(ready(&s, 2), BROKER_GRANTED);
  end(&s);
}

/* A reload raises the limits of two tenants: their requests come in the order of arrival among both. */
static void test_limits_of_tenants_change(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=4", "cores=1", "cores=1");
  assert_int_equal(take(&s, 0, "ci", 1), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "qa", 1), BROKER_GRANTED);
  assert_int_equal(take(&s, 2, "ci", 1), BROKER_QUEUED);
  assert_int_equal(take(&s, 3, "qa", 1), BROKER_QUEUED);
  assert_int_equal(take(&s, 4, "ci", 1), BROKER_QUEUED);
  reload(&s, "cores=4", "cores=4");
  assert_int_equal(ready(&s, 2), BROKER_GRANTED);
  assert_int_equal(ready(&s, 3), BROKER_GRANTED);
  assert_int_equal(ready(&s, 4), BROKER_QUEUED); /* the gate has no more */
  assert_int_equal(s.of[4].where, BROKER_AT_GATE);
  end(&s);
}

/* A limit is lowered below what one asks for that waits for its tenant: the gate's, and its tenant's. */
static void test_refused_while_outside(void **state) {
  static struct set s;
  char why[BROKER_WHY];
  (void)state;
  begin(&s, "cores=4", "cores=3", "cores=4");
  assert_int_equal(take(&s, 0, "ci", 2), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "ci", 3), BROKER_QUEUED);
  assert_int_equal(take(&s, 2, "ci", 2), BROKER_QUEUED);
  assert_int_equal(take(&s, 3, "ci", 1), BROKER_QUEUED);
  broker_set_limit(s.broker, 0, 2);
  assert_int_equal(broker_ready(s.broker, &s.of[1], 0, why), BROKER_IMPOSSIBLE);
  assert_string_equal(why, "cores: 3 asked for, the limit is 2");
  assert_int_equal(s.of[1].stand, BROKER_IDLE);
  assert_int_equal(ready(&s, 2), BROKER_QUEUED);
  broker_set_limit(s.broker, 0, 4);
  reload(&s, "cores=1", "cores=4");
  assert_int_equal(broker_ready(s.broker, &s.of[2], 0, why), BROKER_NEVER);
  assert_string_equal(why, "cores: 2 asked for, the limit is 1");
  assert_int_equal(take(&s, 4, "ci", 1), BROKER_QUEUED);
  broker_give_all(s.broker, &s.of[0]);
  assert_int_equal(ready(&s, 3), BROKER_GRANTED);
  assert_int_equal(ready(&s, 4), BROKER_QUEUED);
  end(&s);
}

/* Refused, and it hangs up before it has seen that. */
static void test_refused_and_leaves(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=4", "cores=3", "cores=4");
  assert_int_equal(take(&s, 0, "ci", 2), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "ci", 3), BROKER_QUEUED);
  broker_set_limit(s.broker, 0, 2);
  broker_leave(s.broker, &s.of[1]);
  assert_int_equal(take(&s, 1, "ci", 1), BROKER_QUEUED); /* the gate has none */
  assert_int_equal(s.of[1].where, BROKER_AT_GATE);
  end(&s);
}

/* ---- another process takes over ---- */

struct order {
  const struct set *set;
  int all[CLIENTS], count;
  bool are_waiting[CLIENTS];
};

static bool note(void *arg, struct broker_entry *e, bool is_waiting) {
  struct order *o = (struct order *)arg;
  o->are_waiting[o->count] = is_waiting;
  o->all[o->count++] = (int)(e - o->set->of);
  return true;
}

/* They stand still; a limit is raised, and one is granted what it asks for and does not know of it. It is the first of
 * those that wait in the other process, and so it has the same there. */
static void test_order_of_those_that_stand_still(void **state) {
  static struct set s, other;
  struct order o = {.set = &s};
  (void)state;
  begin(&s, "cores=4", "cores=1", "cores=4");
  assert_int_equal(take(&s, 0, "", 3), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "ci", 1), BROKER_GRANTED);
  assert_int_equal(take(&s, 2, "ci", 1), BROKER_QUEUED); /* outside */
  assert_int_equal(take(&s, 3, "", 2), BROKER_QUEUED);
  assert_int_equal(take(&s, 4, "", 2), BROKER_QUEUED);
  assert_false(broker_stand_still(s.broker, &s.of[0])); /* not yet */
  broker_stop(s.broker);
  for (int i = CLIENTS - 1; i >= 0; i--) assert_true(broker_stand_still(s.broker, &s.of[i]));
  broker_set_limit(s.broker, 0, 6);
  broker_lock(s.broker);
  assert_true(broker_each_still(s.broker, note, &o));
  broker_unlock(s.broker);
  static const int right[CLIENTS] = {0, 1, 3, 4, 2, 5};
  assert_int_equal(o.count, CLIENTS);
  for (int i = 0; i < CLIENTS; i++) assert_int_equal(o.all[i], right[i]);
  for (int i = 0; i < CLIENTS; i++) assert_int_equal(o.are_waiting[i], i >= 2 && i < 5);

  begin(&other, "cores=6", "cores=1", "cores=4");
  broker_begin_adoption(other.broker);
  for (int i = 0; i < CLIENTS; i++) {
    struct broker_entry *from = &s.of[right[i]], *to = &other.of[right[i]];
    to->amounts = from->amounts;
    strcpy(to->label, from->label);
    assert_true(broker_adopt(other.broker, to, from->stand, from->id, 0));
  }
  assert_int_equal(ready(&other, 3), BROKER_QUEUED); /* nothing is granted before all are there */
  broker_end_adoption(other.broker, false);
  assert_int_equal(ready(&other, 3), BROKER_GRANTED);
  assert_int_equal(ready(&other, 4), BROKER_QUEUED);
  assert_int_equal(other.of[2].where, BROKER_OUTSIDE);
  assert_int_equal(take(&other, 5, "", 1), BROKER_QUEUED);
  assert_int_equal(other.of[5].id, 6); /* numbers go on */
  end(&other);

  broker_go_on(s.broker, false); /* it was not to be */
  for (int i = 0; i < CLIENTS; i++) assert_false(broker_move_on(s.broker, &s.of[i]));
  assert_int_equal(ready(&s, 3), BROKER_GRANTED);
  assert_int_equal(ready(&s, 4), BROKER_QUEUED);
  end(&s);
}

/* Clients that were passed on see that, also if others have to stand still again meanwhile. */
static void test_passed_on(void **state) {
  static struct set s;
  bool has_lost;
  (void)state;
  begin(&s, "cores=4", "cores=1", "cores=4");
  broker_stop(s.broker);
  assert_true(broker_is_still(s.broker, &has_lost)); /* the stage has no clients */
  assert_true(broker_stand_still(s.broker, &s.of[0]));
  assert_true(broker_stand_still(s.broker, &s.of[1]));
  assert_true(broker_has_to_stand(s.broker, &s.of[0]));
  broker_go_on(s.broker, true);
  assert_true(broker_move_on(s.broker, &s.of[0]));
  broker_stop(s.broker);
  assert_false(broker_has_to_stand(s.broker, &s.of[1]));
  assert_false(broker_is_still(s.broker, &has_lost)); /* one of the first stop is left */
  assert_true(broker_move_on(s.broker, &s.of[1]));
  assert_true(broker_stand_still(s.broker, &s.of[2]));
  broker_go_on(s.broker, false);
  assert_false(broker_move_on(s.broker, &s.of[2]));
  broker_stop(s.broker);
  assert_true(broker_stand_still(s.broker, &s.of[3]));
  (void)broker_move_on(s.broker, &s.of[3]); /* it is cut off */
  (void)broker_is_still(s.broker, &has_lost);
  assert_true(has_lost);
  broker_go_on(s.broker, false);
  end(&s);
}

/* While what was held is adopted or claimed, it may be above a limit; sums that cannot be counted may not. */
static void test_claims_that_cannot_be_counted(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=4", "cores=1", "cores=4");
  broker_begin_adoption(s.broker);
  for (int i = 0; i < 2; i++) s.of[i].amounts.of[0] = VOLT_BUDGET_MAX;
  assert_true(broker_claim(s.broker, &s.of[0], 0));
  assert_false(broker_claim(s.broker, &s.of[1], 0));
  assert_false(broker_adopt(s.broker, &s.of[1], BROKER_HOLDS, 7, 0));
  broker_end_adoption(s.broker, false);
  assert_int_equal(take(&s, 2, "", 1), BROKER_QUEUED);
  broker_give_all(s.broker, &s.of[0]);
  assert_int_equal(ready(&s, 2), BROKER_GRANTED);
  end(&s);
}

/* A reload lowers a tenant's limit below what one asks for that is at the gate already. */
static void test_refused_at_the_gate(void **state) {
  static struct set s;
  char why[BROKER_WHY];
  (void)state;
  begin(&s, "cores=4", "cores=4", "cores=4");
  assert_int_equal(take(&s, 0, "", 4), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "ci", 3), BROKER_QUEUED);
  assert_int_equal(take(&s, 2, "ci", 1), BROKER_QUEUED);
  assert_int_equal(s.of[1].where, BROKER_AT_GATE);
  reload(&s, "cores=2", "cores=4");
  assert_int_equal(broker_ready(s.broker, &s.of[1], 0, why), BROKER_NEVER);
  assert_string_equal(why, "cores: 3 asked for, the limit is 2");
  assert_int_equal(s.of[1].stand, BROKER_IDLE);
  broker_give_all(s.broker, &s.of[0]);
  assert_int_equal(ready(&s, 2), BROKER_GRANTED);
  end(&s);
}

/* The other process has died with all: one claims before those that were passed on have ended here. */
static void test_claims_before_all_have_ended(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=4", "cores=4", "cores=4");
  assert_int_equal(take(&s, 0, "", 4), BROKER_GRANTED);
  assert_int_equal(take(&s, 1, "ci", 3), BROKER_QUEUED);
  assert_int_equal(take(&s, 2, "ci", 2), BROKER_QUEUED);
  assert_int_equal(s.of[2].where, BROKER_OUTSIDE);
  broker_stop(s.broker);
  for (int i = 0; i < 3; i++) assert_true(broker_stand_still(s.broker, &s.of[i]));
  broker_go_on(s.broker, true);
  s.stage.settings.claim_period_ns = STAGE_S;
  broker_claim_again(s.broker);
  s.of[3].amounts.of[0] = 4;
  assert_true(broker_claim(s.broker, &s.of[3], 0));
  for (int i = 0; i < 3; i++) assert_true(broker_move_on(s.broker, &s.of[i]));
  assert_int_equal(take(&s, 4, "ci", 1), BROKER_QUEUED);
  stage_pass(&s.stage, STAGE_S);
  assert_int_equal(s.of[4].where, BROKER_AT_GATE);
  end(&s);
}

/* A tenant that is not named any more is not found in place of one that is, although both have the same user. */
static void test_users_change(void **state) {
  static struct set s;
  struct gate_settings *g = &s.stage.settings;
  (void)state;
  begin(&s, "cores=4", "cores=2", "cores=4");
  g->tenant_by = TENANT_BY_USER;
  g->tenant_count = 1; /* ci; qa is gone. Each has the number 0 */
  assert_true(broker_set(s.broker, g));
  s.of[0].has_peer = true;
  assert_int_equal(take(&s, 0, "", 3), BROKER_NEVER);
  end(&s);
}

/* The nearest cgroup that is named counts, and all below it. */
static void test_tenants_by_cgroup(void **state) {
  static struct set s;
  (void)state;
  begin(&s, "cores=9", "cores=1", "cores=1");
  s.tenants[0].name = (char *)"a.slice";
  s.tenants[1].name = (char *)"/a.slice/b";
  s.stage.settings.tenant_by = TENANT_BY_CGROUP;
  assert_true(broker_set(s.broker, &s.stage.settings));
  const char *of[CLIENTS] = {"/a.slice/b/c", "/a.slice",  "/a.slicer", "/",
                             "/a.slice/bb",  "/a.slice/b"};
  for (int i = 0; i < CLIENTS; i++) strcpy(s.of[i].cgroup, of[i]);
  assert_int_equal(take(&s, 0, "", 1), BROKER_GRANTED); /* of b */
  assert_int_equal(take(&s, 1, "", 1), BROKER_GRANTED); /* of a */
  assert_int_equal(take(&s, 2, "", 2), BROKER_GRANTED); /* of none, as the next */
  assert_int_equal(take(&s, 3, "", 2), BROKER_GRANTED);
  assert_int_equal(take(&s, 4, "", 1), BROKER_QUEUED); /* of a */
  assert_int_equal(take(&s, 5, "", 1), BROKER_QUEUED); /* of b */
  broker_give_all(s.broker, &s.of[0]);
  assert_int_equal(ready(&s, 5), BROKER_GRANTED);
  assert_int_equal(ready(&s, 4), BROKER_QUEUED);
  s.stage.settings.tenant_count = 1; /* b is not named any more: it is a part of a */
  assert_true(broker_set(s.broker, &s.stage.settings));
  assert_int_equal(take(&s, 0, "", 1), BROKER_QUEUED);
  broker_give_all(s.broker, &s.of[1]);
  assert_int_equal(ready(&s, 4), BROKER_GRANTED);
  assert_int_equal(ready(&s, 0), BROKER_QUEUED);
  end(&s);
}

static void test_what_proc_says(void **state) {
  char to[PEER_CGROUP], text[600];
  (void)state;
  assert_true(peer_find_cgroup("0::/user.slice/a b\n", to));
  assert_string_equal(to, "/user.slice/a b");
  assert_true(peer_find_cgroup("9:name=systemd:/x\n1:cpu:/y\n0::/\n", to));
  assert_string_equal(to, "/");
  assert_false(peer_find_cgroup("9:name=systemd:/x\n1:cpu:/y\n", to));
  assert_false(peer_find_cgroup("", to));
  assert_false(peer_find_cgroup("10::/x\n", to));
  memset(text, 'x', sizeof text);
  memcpy(text, "0::/", 4);
  text[PEER_CGROUP + 2] = '\0'; /* 255 bytes */
  assert_true(peer_find_cgroup(text, to));
  text[PEER_CGROUP + 2] = 'x';
  text[PEER_CGROUP + 3] = '\0';
  assert_false(peer_find_cgroup(text, to));
}

/* Any calls in any order: never above a limit of the gate or of a tenant; whoever is outside cannot go in; and what
 * is at the gate is in the order of its requests, of each tenant. */
static void is_right(struct set *s) {
  uint64_t all = 0, of_ci = 0;
  uint64_t left = 5;
  const struct broker_entry *first = NULL;
  for (int i = 0; i < CLIENTS; i++) {
    const struct broker_entry *e = &s->of[i];
    bool counts = e->where == BROKER_AT_GATE || e->where == BROKER_HOLDERS;
    if (e->where == BROKER_HOLDERS) all += e->amounts.of[0];
    if (counts && strcmp(e->label, "ci") == 0) of_ci += e->amounts.of[0];
    if (e->where == BROKER_OUTSIDE && (!first || e->id < first->id)) first = e;
    for (int k = 0; k < CLIENTS; k++) {
      const struct broker_entry *o = &s->of[k];
      bool are_both = e->where == BROKER_AT_GATE && o->where == BROKER_AT_GATE;
      if (are_both && strcmp(e->label, o->label) == 0 && e->id < o->id) {
        assert_true(e->order < o->order);
      }
    }
  }
  assert_true(all <= left && of_ci <= 3);
  if (first) assert_true(first->amounts.of[0] > 3 - of_ci);
}

static void test_any_order(void **state) {
  static struct set s;
  (void)state;
  for (uint32_t seed = 1; seed <= 50; seed++) {
    uint32_t random = seed;
    begin(&s, "cores=5", "cores=3", "cores=5");
    for (int step = 0; step < 300; step++) {
      random = random * 1664525 + 1013904223;
      int i = (int)((random >> 24) % CLIENTS);
      struct broker_entry *e = &s.of[i];
      if (e->stand == BROKER_IDLE) {
        (void)take(&s, i, random >> 20 & 1 ? "ci" : "", 1 + (random >> 12) % 3);
      } else if (e->stand == BROKER_HOLDS) {
        broker_give_all(s.broker, e);
      } else if (random >> 16 & 1) {
        (void)ready(&s, i);
      } else if (random >> 17 & 1) {
        broker_leave(s.broker, e);
      }
      is_right(&s);
    }
    end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_those_let_in_keep_their_order),
      cmocka_unit_test(test_the_oldest_outside_leaves),
      cmocka_unit_test(test_limits_of_tenants_change),
      cmocka_unit_test(test_refused_while_outside),
      cmocka_unit_test(test_refused_and_leaves),
      cmocka_unit_test(test_order_of_those_that_stand_still),
      cmocka_unit_test(test_passed_on),
      cmocka_unit_test(test_claims_that_cannot_be_counted),
      cmocka_unit_test(test_refused_at_the_gate),
      cmocka_unit_test(test_claims_before_all_have_ended),
      cmocka_unit_test(test_users_change),
      cmocka_unit_test(test_tenants_by_cgroup),
      cmocka_unit_test(test_what_proc_says),
      cmocka_unit_test(test_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
