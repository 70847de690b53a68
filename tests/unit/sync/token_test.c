/* token_test.c: cancellation tokens, polled by hand. */
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"
#include "unit.h"

FAMILY(token, volt_token it[1] = {VOLT_TOKEN_INIT}, volt_token_wait_waiter(it, w, waker),
       volt_token_wait_until(it, past), volt_token_wait_future(f, it), volt_token_cancel(it),
       volt_token_destroy(it))

enum { MANY = 100, DEEP = 20000 };

static volt_token root;
static wake_log wakes;
static volt_waiter waiters[MANY];
static fake_waker wakers[MANY];

static int set_up(void **state) {
  (void)state;
  volt_token_init(&root);
  wake_log_init(&wakes);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, &wakes);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_token_destroy(&root);
  return 0;
}

static int wait(volt_token *t, uint32_t i) {
  return volt_token_wait_waiter(t, &waiters[i], fake_waker_of(&wakers[i]));
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_waiter_result(&waiters[i]), result);
  assert_int_equal(fake_waker_calls(&wakers[i]), calls);
}

/* ---- one token ---- */

static void zero_is_valid(void **state) {
  (void)state;
  static volt_token zero;
  volt_token from_macro = VOLT_TOKEN_INIT;
  assert_false(volt_token_is_cancelled(&zero));
  volt_token_cancel(&zero);
  assert_true(volt_token_is_cancelled(&zero));
  assert_false(volt_token_is_cancelled(&from_macro));
  volt_token_destroy(&zero);
  volt_token_destroy(&from_macro);
}

static void cancel_tells_everybody_once(void **state) {
  (void)state;
  for (uint32_t i = 0; i < MANY; i++) assert_result(wait(&root, i), VOLT_PENDING);
  assert_int_equal(volt_token_waiters(&root), MANY);
  volt_token_cancel(&root);
  assert_true(wake_log_is_run(&wakes, 0, MANY)); /* more than a batch */
  volt_token_cancel(&root);
  assert_int_equal(wake_log_count(&wakes), MANY);
  for (uint32_t i = 0; i < MANY; i++) expect(i, VOLT_OK, 1);
  assert_int_equal(volt_token_waiters(&root), 0);
}

static void waiting_for_what_has_happened(void **state) {
  (void)state;
  volt_token_cancel(&root);
  assert_result(wait(&root, 0), VOLT_OK);
  expect(0, VOLT_ECANCELED, 0); /* not used */
  assert_result(volt_token_wait_until(&root, PAST_DEADLINE), VOLT_OK);
}

static void leaving(void **state) {
  (void)state;
  assert_result(wait(&root, 0), VOLT_PENDING);
  assert_result(wait(&root, 1), VOLT_PENDING);
  assert_true(volt_token_cancel_wait(&root, &waiters[0]));
  expect(0, VOLT_ECANCELED, 0);
  volt_token_cancel(&root);
  assert_false(volt_token_cancel_wait(&root, &waiters[1]));
  expect(0, VOLT_ECANCELED, 0);
  expect(1, VOLT_OK, 1);
}

static void a_new_waker(void **state) {
  (void)state;
  assert_result(wait(&root, 0), VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&waiters[0], fake_waker_of(&wakers[7])));
  volt_token_cancel(&root);
  assert_true(wake_log_is_run(&wakes, 7, 1));
  assert_false(volt_waiter_set_waker(&waiters[0], fake_waker_of(&wakers[8])));
}

static void blocking_times_out(void **state) {
  (void)state;
  assert_result(volt_token_wait_until(&root, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(volt_token_waiters(&root), 0);
}

/* ---- trees ---- */

static void only_descendants_are_cancelled(void **state) {
  (void)state;
  volt_token a, b, below_a, below_b, below_below_a;
  volt_token_init_child(&a, &root);
  volt_token_init_child(&b, &root);
  volt_token_init_child(&below_a, &a);
  volt_token_init_child(&below_b, &b);
  volt_token_init_child(&below_below_a, &below_a);
  assert_result(wait(&below_below_a, 2), VOLT_PENDING);
  assert_result(wait(&a, 0), VOLT_PENDING);
  assert_result(wait(&below_a, 1), VOLT_PENDING);
  assert_result(wait(&below_b, 3), VOLT_PENDING);
  volt_token_cancel(&a);
  assert_true(wake_log_is_run(&wakes, 0, 3)); /* parents first */
  assert_true(volt_token_is_cancelled(&below_a) && volt_token_is_cancelled(&below_below_a));
  assert_false(volt_token_is_cancelled(&root) || volt_token_is_cancelled(&b));
  assert_false(volt_token_is_cancelled(&below_b));
  volt_token_cancel(&root);
  assert_true(wake_log_is_run(&wakes, 0, 4)); /* nobody twice */
  assert_true(volt_token_is_cancelled(&below_b));
  volt_token_destroy(&below_below_a);
  volt_token_destroy(&below_a);
  volt_token_destroy(&a);
  volt_token_destroy(&below_b);
  volt_token_destroy(&b);
}

static void born_cancelled(void **state) {
  (void)state;
  volt_token child, below;
  volt_token_cancel(&root);
  volt_token_init_child(&child, &root);
  volt_token_init_child(&below, &child);
  assert_true(volt_token_is_cancelled(&child) && volt_token_is_cancelled(&below));
  assert_result(wait(&below, 0), VOLT_OK);
  volt_token_cancel(&below);
  volt_token_destroy(&below);
  volt_token_destroy(&child);
}

/* The youngest, the oldest, the one in the middle: whoever is left is found. */
static void children_end_in_any_order(void **state) {
  (void)state;
  static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (unsigned i = 0; i < 6; i++) {
    volt_token parent, child[3];
    volt_token_init_child(&parent, &root);
    for (int k = 0; k < 3; k++) volt_token_init_child(&child[k], &parent);
    volt_token_destroy(&child[orders[i][0]]);
    volt_token_destroy(&child[orders[i][1]]);
    volt_token_cancel(&parent);
    assert_true(volt_token_is_cancelled(&child[orders[i][2]]));
    volt_token_destroy(&child[orders[i][2]]);
    volt_token_destroy(&parent);
  }
}

/* Their grandparent has them then. */
static void a_parent_ends_before_its_children(void **state) {
  (void)state;
  volt_token middle, other, below[3], deep;
  volt_token_init_child(&other, &root);
  volt_token_init_child(&middle, &root);
  for (uint32_t i = 0; i < 3; i++) volt_token_init_child(&below[i], &middle);
  volt_token_init_child(&deep, &below[1]);
  volt_token_destroy(&middle);
  memset((void *)&middle, 0xa5, sizeof middle);
  volt_token_destroy(&below[2]);
  volt_token_cancel(&other);
  for (uint32_t i = 0; i < 2; i++) assert_false(volt_token_is_cancelled(&below[i]));
  assert_result(wait(&deep, 0), VOLT_PENDING);
  volt_token_cancel(&root);
  expect(0, VOLT_OK, 1);
  for (uint32_t i = 0; i < 2; i++) assert_true(volt_token_is_cancelled(&below[i]));
  volt_token_destroy(&other);
  volt_token_destroy(&below[1]);
  volt_token_destroy(&below[0]);
  volt_token_destroy(&deep);
}

/* Each of its children is the root of its own tree then. */
static void a_root_ends_before_its_children(void **state) {
  (void)state;
  volt_token first, child[2], below[2], deep[2], late;
  volt_token_init(&first);
  for (uint32_t i = 0; i < 2; i++) {
    volt_token_init_child(&child[i], &first);
    volt_token_init_child(&below[i], &child[i]);
    volt_token_init_child(&deep[i], &below[i]);
    assert_result(wait(&deep[i], i), VOLT_PENDING);
  }
  volt_token_destroy(&first);
  memset((void *)&first, 0xa5, sizeof first);
  volt_token_init_child(&late, &deep[0]);
  volt_token_cancel(&child[0]);
  assert_true(volt_token_is_cancelled(&late) && volt_token_is_cancelled(&below[0]));
  expect(0, VOLT_OK, 1);
  assert_false(volt_token_is_cancelled(&child[1]) || volt_token_is_cancelled(&deep[1]));
  volt_token_destroy(&child[1]);
  volt_token_cancel(&below[1]);
  expect(1, VOLT_OK, 1);
  for (uint32_t i = 0; i < 2; i++) volt_token_destroy(&below[i]);
  volt_token_destroy(&deep[1]);
  volt_token_destroy(&child[0]);
  volt_token_destroy(&deep[0]);
  volt_token_destroy(&late);
}

static void a_deep_tree_and_a_wide_one(void **state) {
  (void)state;
  static volt_token tree[2 * DEEP];
  for (int i = 0; i < DEEP; i++) {
    volt_token_init_child(&tree[i], i == 0 ? &root : &tree[i - 1]);
    volt_token_init_child(&tree[DEEP + i], &root);
  }
  volt_token_cancel(&root);
  for (int i = 2 * DEEP; i-- > 0;) {
    assert_true(volt_token_is_cancelled(&tree[i]));
    volt_token_destroy(&tree[i]);
  }
}

/* ---- wakers that come back ---- */

static void cancel_and_add(hostile_waker *h) {
  volt_token *t = (volt_token *)h->object;
  volt_token late;
  volt_token_cancel(t);
  volt_token_init_child(&late, t);
  h->result = volt_token_wait_waiter(&late, h->other, fake_waker_of(&wakers[9]));
  volt_token_destroy(&late);
}

static void a_waker_comes_back(void **state) {
  (void)state;
  hostile_waker h;
  volt_token child;
  volt_token_init_child(&child, &root);
  hostile_waker_init(&h, 5, &wakes, cancel_and_add, &root);
  h.other = &waiters[9];
  h.result = VOLT_PENDING;
  assert_result(volt_token_wait_waiter(&root, &waiters[0], hostile_waker_of(&h)), VOLT_PENDING);
  assert_result(wait(&child, 6), VOLT_PENDING);
  volt_token_cancel(&root);
  assert_result(h.result, VOLT_OK);
  assert_true(wake_log_is_run(&wakes, 5, 2));
  volt_token_destroy(&child);
}

static void destroy_it(hostile_waker *h) {
  volt_token_destroy((volt_token *)h->object);
  memset(h->object, 0xee, sizeof(volt_token));
}

/* Whoever is told may end the token. */
static void a_waker_ends_the_token(void **state) {
  (void)state;
  hostile_waker h;
  volt_token a, b;
  volt_token_init_child(&b, &root);
  volt_token_init_child(&a, &root);
  hostile_waker_init(&h, 0, &wakes, destroy_it, &a);
  assert_result(volt_token_wait_waiter(&a, &waiters[0], hostile_waker_of(&h)), VOLT_PENDING);
  assert_result(wait(&b, 1), VOLT_PENDING);
  volt_token_cancel(&root);
  assert_true(wake_log_is_run(&wakes, 0, 2));
  volt_token_destroy(&b);
}

/* ---- futures ---- */

static void a_future(void **state) {
  (void)state;
  volt_future f;
  poller p;
  poller_init(&p);
  volt_future_made(volt_token_wait_future(&f, &root));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_int_equal(volt_token_waiters(&root), 1);
  volt_token_cancel(&root);
  poller_expect(&p, 1, 1, 0);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  volt_future_made(volt_token_wait_future(&f, &root));
  assert_result(poller_poll(&p, &f), VOLT_OK);
  poller_expect(&p, 1, 1, 0);
}

static void a_future_is_dropped(void **state) {
  (void)state;
  volt_future f;
  poller p;
  poller_init(&p);
  assert_result(poller_poll(&p, volt_token_wait_future(&f, &root)), VOLT_PENDING);
  volt_future_cancel(&f);
  poller_expect_dropped(&p, 1);
  assert_int_equal(volt_token_waiters(&root), 0);
  assert_result(poller_poll(&p, volt_token_wait_future(&f, &root)), VOLT_PENDING);
  volt_token_cancel(&root);
  volt_future_cancel(&f); /* after its grant: nothing to give back */
  assert_result(poller_poll(&p, &f), VOLT_ECANCELED);
}

static void in_a_select(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future stop, permit;
  volt_select select;
  poller p;
  poller_init(&p);
  volt_future *branches[] = {volt_token_wait_future(&stop, &root),
                             volt_sem_acquire_future(&permit, &sem, 1)};
  volt_future_made(volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED));
  assert_result(poller_poll(&p, &select.future), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  volt_token_cancel(&root);
  assert_result(poller_poll(&p, &select.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&select), 0);
  assert_int_equal(volt_sem_available(&sem), 1); /* given back */
  poller_expect(&p, 2, 2, 0);
  volt_sem_destroy(&sem);
}

/* ---- misuse ---- */

static void init_child_again(void *arg) {
  volt_token_init_child((volt_token *)arg, &root);
  volt_token_init_child((volt_token *)arg, &root);
}

static void init_own_child(void *arg) {
  (void)arg;
  volt_token_init_child(&root, &root);
}

static void destroy_waited_for(void *arg) {
  (void)arg;
  (void)wait(&root, 0);
  volt_token_destroy(&root);
}

static void misuse_aborts(void **state) {
  (void)state;
  static volt_token child;
  assert_death(init_child_again, &child, "volt_token", "it is that already", death_address(&root),
               death_address(&child));
  assert_death(init_own_child, &child, "volt_token", "it is that already", death_address(&root));
  assert_death(destroy_waited_for, NULL, "volt_token", "1 waiters");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(token),
      TEST(zero_is_valid),
      TEST(cancel_tells_everybody_once),
      TEST(waiting_for_what_has_happened),
      TEST(leaving),
      TEST(a_new_waker),
      TEST(blocking_times_out),
      TEST(only_descendants_are_cancelled),
      TEST(born_cancelled),
      TEST(children_end_in_any_order),
      TEST(a_parent_ends_before_its_children),
      TEST(a_root_ends_before_its_children),
      TEST(a_deep_tree_and_a_wide_one),
      TEST(a_waker_comes_back),
      TEST(a_waker_ends_the_token),
      TEST(a_future),
      TEST(a_future_is_dropped),
      TEST(in_a_select),
      TEST(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
