/* token_stress.c: threads make tokens below tokens that are shared, wait for them in every way
 * there is, cancel their own or those of all, and end them while others cancel above; also before what
 * is below them, and so does a root whose tree is in use. */
#include <sched.h>
#include <string.h>

#include "harness.h"

enum { GROUPS = 3 };

static struct {
  volt_token root;
  volt_token passing; /* the root of the last group, for a while */
  volt_token groups[GROUPS];
} shared;

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 100000));
}

static void wait_by_hand(stress_worker *w, volt_token *t, bool to_the_end) {
  volt_waiter waiter = VOLT_WAITER_INIT;
  stress_slot *slot = stress_any_slot(w);
  int result = volt_token_wait_waiter(t, &waiter, stress_waker(slot));
  stress_dawdle(w);
  if (result == VOLT_PENDING) {
    while (to_the_end && volt_waiter_result(&waiter) == VOLT_PENDING) sched_yield();
    if (volt_token_cancel_wait(t, &waiter)) {
      w->gave_up += 1;
    } else {
      slot->expected += 1;
      result = volt_waiter_result(&waiter);
    }
  }
  if (result == VOLT_OK) STRESS_CHECK(volt_token_is_cancelled(t));
  memset((void *)&waiter, 0xee, sizeof waiter);
}

static void wait_as_future(stress_worker *w, volt_token *t) {
  volt_future f;
  volt_future_made(volt_token_wait_future(&f, t));
  if (stress_below(w, 2)) {
    static const volt_waker nobody = {NULL, NULL};
    (void)volt_future_poll(&f, nobody);
    stress_dawdle(w);
    bool cancelled = volt_token_is_cancelled(t);
    int result = volt_future_poll(&f, nobody);
    STRESS_CHECK(result == VOLT_OK || !cancelled);
    volt_future_cancel(&f);
  } else if (volt_future_wait_until(&f, soon(w)) == VOLT_OK) {
    STRESS_CHECK(volt_token_is_cancelled(t));
  }
}

static void wait_for(stress_worker *w, volt_token *t, bool comes) {
  switch (stress_below(w, 4)) {
    case 0: wait_by_hand(w, t, comes); break;
    case 1: wait_as_future(w, t); break;
    case 2: (void)volt_token_wait_until(t, soon(w)); break;
    default:
      if (comes) STRESS_CHECK(volt_token_wait(t) == VOLT_OK);
  }
}

/* Above, in the middle, below: some are cancelled here, some from elsewhere. */
static void use_tree(stress_worker *w) {
  volt_token *group = &shared.groups[stress_below(w, GROUPS)];
  volt_token mine, below, beside;
  bool cancelled = volt_token_is_cancelled(group);
  volt_token_init_child(&mine, group);
  volt_token_init_child(&below, &mine);
  volt_token_init_child(&beside, &mine);
  if (cancelled) STRESS_CHECK(volt_token_is_cancelled(&below));
  wait_for(w, &below, cancelled);
  bool mine_too = stress_below(w, 2) == 0;
  if (mine_too) {
    volt_token_cancel(&mine);
    STRESS_CHECK(volt_token_is_cancelled(&below) && volt_token_is_cancelled(&beside));
  }
  if (stress_below(w, 64) == 0) {
    volt_token_cancel(group);
    STRESS_CHECK(volt_token_is_cancelled(&beside));
    mine_too = true;
  }
  wait_for(w, stress_below(w, 2) ? &mine : &beside, mine_too);
  bool parent_first = stress_below(w, 2) == 0;
  if (parent_first) volt_token_destroy(&mine);
  if (parent_first) memset((void *)&mine, 0xee, sizeof mine);
  volt_token_destroy(&below);
  volt_token_destroy(&beside);
  if (!parent_first) volt_token_destroy(&mine);
  memset((void *)&below, 0xee, sizeof below);
  memset((void *)&beside, 0xee, sizeof beside);
  memset((void *)&mine, 0xee, sizeof mine);
}

/* The last group is the root of its own tree then. */
static void end_passing(void) {
  volt_token_destroy(&shared.passing);
  memset((void *)&shared.passing, 0xee, sizeof shared.passing);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  uint32_t ends_after = stress_below(w, 50);
  if (w->index > 0 && stress_below(w, 4) == 0) { /* until the end of the round */
    STRESS_CHECK(volt_token_wait(&shared.groups[0]) == VOLT_OK);
  }
  uint32_t trees = 0;
  while (!stress_stopping()) {
    if (w->index == 0 && trees == ends_after) end_passing();
    use_tree(w);
    trees += 1;
    w->acquired += 1;
    stress_progress(w, "tree");
  }
  if (w->index == 0 && trees <= ends_after) end_passing();
  volt_token_cancel(&shared.root);
  volt_token_cancel(&shared.groups[GROUPS - 1]);
  for (int i = 0; i < GROUPS; i++) STRESS_CHECK(volt_token_is_cancelled(&shared.groups[i]));
}

static void round_of(unsigned threads) {
  volt_token_init(&shared.root);
  volt_token_init(&shared.passing);
  for (int i = 0; i < GROUPS; i++) {
    volt_token_init_child(&shared.groups[i], i < GROUPS - 1 ? &shared.root : &shared.passing);
  }
  stress_round(threads, 3000000, body, NULL);
  for (int i = 0; i < GROUPS; i++) volt_token_destroy(&shared.groups[i]);
  volt_token_destroy(&shared.root);
}

int main(void) {
  stress_begin("cancellation token", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    round_of(2 + turn % (stress_threads() - 1));
  }
  return stress_end();
}
