/* graph_test.c: the graph of deadlocks on scripted looks: each shape of a deadlock is found, and what
 * only looks like one is not; what is told; and random graphs beside a solution by trial. */
#include "sight/graph/graph.h"
#include "rng.h"
#include "unit.h"

enum { A, B, C, S, RW, OBJECTS, WRITER = VOLT_RWLOCK_WRITER_ };

/* What ask() says. */
typedef struct scripted {
  volt_graph_object_ known;
  bool is_unknown, is_passed_on;
} scripted;

static volt_graph_ *g;
static scripted objects[OBJECTS];
static const void *before[64]; /* by the waiter of a term */
static char waiters[64];

static uintptr_t task(unsigned i) {
  return (uintptr_t)0x1000 * (i + 1) | 1;
}

static uintptr_t thread(unsigned i) {
  return (uintptr_t)(i + 1) << 2 | 2;
}

static int set_up(void **state) {
  (void)state;
  g = volt_graph_new_();
  assert_non_null(g);
  memset(objects, 0, sizeof objects);
  memset(before, 0, sizeof before);
  for (unsigned i = A; i <= C; i++)
    objects[i].known = (volt_graph_object_){.total = 1, .holder_n = 1};
  objects[S].known = (volt_graph_object_){.total = 2, .is_shared = true};
  objects[RW].known = (volt_graph_object_){.total = WRITER, .holder_n = WRITER, .is_shared = true};
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_graph_free_(g);
  return 0;
}

static unsigned index_of(const void *object) {
  return (unsigned)((const scripted *)object - objects);
}

static bool ask(void *ctx, const volt_term_ *term, volt_graph_object_ *object) {
  assert_ptr_equal(ctx, objects);
  const scripted *s = &objects[index_of(term->object)];
  *object = s->known;
  if (term->waiter) object->before = before[(const char *)term->waiter - waiters];
  return !s->is_unknown;
}

static bool is_passed_on(const void *object) {
  return objects[index_of(object)].is_passed_on;
}

/* ---- a script: party(), what it awaits, what it holds, and the next ---- */

static void party(uintptr_t who) {
  volt_graph_added_(g);
  const volt_waiting_ w = {.who = who, .instance = 7};
  volt_graph_add_(g, &w);
}

static void member(uintptr_t who, const void *group) {
  volt_graph_added_(g);
  const volt_waiting_ w = {.who = who, .instance = 7, .group = group};
  volt_graph_add_(g, &w);
}

static void awaits(uint32_t depth, volt_ends_ ends, const void *object) {
  const volt_term_ t = {.depth = depth, .ends = ends, .object = object, .operation = ""};
  volt_graph_add_term_(g, &t);
}

static void locks_within(uint32_t depth, unsigned object, uint32_t wanted) {
  const volt_term_ t = {.depth = depth,
                        .ends = VOLT_ENDS_HOLDERS_,
                        .object = &objects[object],
                        .wanted = wanted,
                        .kind = VOLT_KIND_MUTEX_};
  volt_graph_add_term_(g, &t);
}

static void locks(unsigned object) {
  locks_within(0, object, 1);
}

static void locks_by(unsigned object, uint32_t wanted, unsigned waiter) {
  const volt_term_ t = {.ends = VOLT_ENDS_HOLDERS_,
                        .object = &objects[object],
                        .wanted = wanted,
                        .waiter = &waiters[waiter],
                        .kind = VOLT_KIND_RWLOCK_};
  volt_graph_add_term_(g, &t);
}

static void holds(unsigned object, uint64_t n) {
  volt_graph_add_held_(g, &objects[object], n, "held.c", 5);
}

static void owned(unsigned object, uintptr_t who) {
  objects[object].known.holder = who;
  objects[object].known.file = "owned.c";
  objects[object].known.line = 3;
}

static unsigned first_check(void) {
  volt_graph_added_(g);
  return volt_graph_resolve_(g, ask, objects);
}

/* Both looks; nothing has changed between them. */
static unsigned stuck(void) {
  unsigned first = first_check();
  for (unsigned i = 0; i < 64; i++) {
    volt_graph_confirm_(g, task(i), 7);
    volt_graph_confirm_(g, thread(i), 7);
  }
  unsigned left = volt_graph_settle_(g, is_passed_on);
  assert_in_range(left, 0, first);
  return left;
}

/* ---- deadlocks ---- */

static void ab_ba(uintptr_t one, uintptr_t other) {
  owned(A, one);
  owned(B, other);
  party(one);
  locks(B);
  party(other);
  locks(A);
}

static void two_tasks(void **state) {
  (void)state;
  ab_ba(task(0), task(1));
  assert_int_equal(stuck(), 2);
}

static void two_threads(void **state) {
  (void)state;
  ab_ba(thread(0), thread(1));
  assert_int_equal(stuck(), 2);
}

static void a_task_and_a_thread(void **state) {
  (void)state;
  ab_ba(task(0), thread(1));
  assert_int_equal(stuck(), 2);
}

static void one_locks_twice(void **state) {
  (void)state;
  owned(A, task(0));
  party(task(0));
  locks(A);
  assert_int_equal(stuck(), 1);
}

static void three_in_a_ring(void **state) {
  (void)state;
  owned(A, task(0));
  owned(B, task(1));
  owned(C, thread(2));
  party(task(0));
  locks(B);
  party(task(1));
  locks(C);
  party(thread(2));
  locks(A);
  assert_int_equal(stuck(), 3);
}

static void a_reader_behind_a_writer_behind_itself(void **state) {
  (void)state;
  before[1] = &waiters[0];
  party(task(0));
  locks_by(RW, 1, 1);
  holds(RW, 1);
  party(task(1));
  locks_by(RW, WRITER, 0);
  assert_int_equal(stuck(), 2);
}

static void two_readers_want_to_write(void **state) {
  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    party(task(i));
    locks_by(RW, WRITER, i);
    holds(RW, 1);
  }
  assert_int_equal(stuck(), 2);
}

static void permits(void **state) {
  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    party(task(i));
    locks(S);
    holds(S, 1);
  }
  assert_int_equal(stuck(), 2);
}

static void all_permits(void **state) {
  (void)state;
  party(task(0));
  locks_within(0, S, 0); /* all of them */
  holds(S, 1);
  assert_int_equal(stuck(), 1);
}

static void two_selects(void **state) {
  (void)state;
  owned(A, task(0));
  owned(B, task(1));
  owned(C, task(1));
  party(task(0));
  awaits(0, VOLT_ENDS_ANY_, NULL);
  locks_within(1, B, 1);
  locks_within(1, C, 1);
  party(task(1));
  awaits(0, VOLT_ENDS_ANY_, NULL);
  locks_within(1, A, 1);
  assert_int_equal(stuck(), 2);
}

static void tasks_join_each_other(void **state) {
  (void)state;
  for (unsigned i = 0; i < 3; i++) {
    party(task(i));
    awaits(0, VOLT_ENDS_TASK_, (const void *)(task((i + 1) % 3) & ~(uintptr_t)3));
  }
  assert_int_equal(stuck(), 3);
}

/* One of the branches goes on for ever; the other never ends, so the join does not. */
static void a_join_of_which_one_cannot_end(void **state) {
  (void)state;
  owned(A, task(1));
  party(task(0));
  awaits(0, VOLT_ENDS_ALL_, NULL);
  locks_within(1, A, 1);
  awaits(1, VOLT_ENDS_TIME_, NULL);
  party(task(1));
  awaits(0, VOLT_ENDS_TASK_, (const void *)(task(0) & ~(uintptr_t)3));
  assert_int_equal(stuck(), 2);
}

static void a_group_waits_for_its_parent(void **state) {
  (void)state;
  static int group;
  owned(A, task(0));
  party(task(0));
  awaits(0, VOLT_ENDS_GROUP_, &group);
  member(task(1), &group);
  locks(A);
  member(task(2), &group);
  awaits(0, VOLT_ENDS_TIME_, NULL);
  assert_int_equal(stuck(), 2);
}

static void granted_and_never_polled(void **state) {
  (void)state;
  owned(A, task(0) | 3); /* the ctx of its waker */
  owned(B, task(1));
  party(task(0));
  locks(B);
  party(task(1));
  locks(A);
  assert_int_equal(stuck(), 2);
}

static void behind_async_functions(void **state) {
  (void)state;
  owned(A, task(0));
  owned(B, task(1));
  for (unsigned i = 0; i < 2; i++) {
    party(task(i));
    awaits(0, VOLT_ENDS_INNER_, NULL);
    awaits(1, VOLT_ENDS_INNER_, NULL);
    locks_within(2, i == 0 ? B : A, 1);
  }
  assert_int_equal(stuck(), 2);
}

/* ---- what only looks like one ---- */

static void a_deadline(void **state) {
  (void)state;
  owned(A, task(0));
  owned(B, task(1));
  party(task(0));
  const volt_term_ timeout = {.ends = VOLT_ENDS_INNER_, .has_deadline = true};
  volt_graph_add_term_(g, &timeout);
  locks_within(1, B, 1);
  party(task(1));
  locks(A);
  assert_int_equal(first_check(), 0);
}

static void a_channel_in_a_select(void **state) {
  (void)state;
  owned(A, task(0));
  owned(B, task(1));
  party(task(0));
  awaits(0, VOLT_ENDS_ANY_, NULL);
  locks_within(1, B, 1);
  awaits(1, VOLT_ENDS_UNKNOWN_, NULL);
  party(task(1));
  locks(A);
  assert_int_equal(first_check(), 0);
}

static void an_owner_that_is_not_known(void **state) {
  (void)state;
  owned(A, task(0));
  party(task(0));
  locks(B);
  party(task(1));
  locks(A);
  assert_int_equal(first_check(), 0);
}

static void an_owner_that_does_not_wait(void **state) {
  (void)state;
  owned(A, task(0));
  owned(B, task(5)); /* it runs, or is the waker of something else */
  party(task(0));
  locks(B);
  assert_int_equal(first_check(), 0);
}

static void an_object_of_which_nothing_is_known(void **state) {
  (void)state;
  ab_ba(task(0), task(1));
  objects[A].is_unknown = true;
  assert_int_equal(first_check(), 0);
}

static void an_object_that_was_passed_on(void **state) {
  (void)state;
  ab_ba(task(0), task(1));
  objects[B].is_passed_on = true;
  assert_int_equal(stuck(), 0);
}

static void a_wait_that_ends_between_the_looks(void **state) {
  (void)state;
  ab_ba(task(0), task(1));
  assert_int_equal(first_check(), 2);
  volt_graph_confirm_(g, task(0), 7);
  assert_int_equal(volt_graph_settle_(g, is_passed_on), 0);
}

static void another_wait_in_the_second_look(void **state) {
  (void)state;
  ab_ba(task(0), task(1));
  assert_int_equal(first_check(), 2);
  volt_graph_confirm_(g, task(0), 7);
  volt_graph_confirm_(g, task(1), 8);
  assert_int_equal(volt_graph_settle_(g, is_passed_on), 0);
}

/* Those that are not in it stay. */
static void one_of_two_ends_between_the_looks(void **state) {
  (void)state;
  ab_ba(task(0), task(1));
  owned(C, thread(4));
  party(thread(4));
  locks(C);
  assert_int_equal(first_check(), 3);
  volt_graph_confirm_(g, task(1), 7);
  volt_graph_confirm_(g, thread(4), 7);
  assert_int_equal(volt_graph_settle_(g, is_passed_on), 1);
  assert_true(volt_graph_has_(g, thread(4)));
  assert_false(volt_graph_has_(g, task(0)));
  assert_false(volt_graph_has_(g, task(1)));
}

static void enough_permits_elsewhere(void **state) {
  (void)state;
  objects[S].known.total = 3; /* the third is held by a party that runs, or is free */
  for (unsigned i = 0; i < 2; i++) {
    party(task(i));
    locks(S);
    holds(S, 1);
  }
  assert_int_equal(first_check(), 0);
}

/* A queue of places: who takes one does not give it back. */
static void permits_that_are_passed_on(void **state) {
  (void)state;
  objects[S].is_unknown = true; /* `kept` is not set */
  party(task(0));
  locks(S);
  holds(S, 2);
  assert_int_equal(first_check(), 0);
}

static void a_reader_behind_a_writer(void **state) {
  (void)state;
  before[1] = &waiters[0]; /* the writer waits for a reader that runs */
  party(task(0));
  locks_by(RW, 1, 1);
  party(task(1));
  locks_by(RW, WRITER, 0);
  assert_int_equal(first_check(), 0);
}

static void readers_beside_readers(void **state) {
  (void)state;
  for (unsigned i = 0; i < 2;
       i++) { /* each has it for reading, and waits to read: who is before? */
    party(task(i));
    locks_by(RW, 1, i);
    holds(RW, 1);
  }
  assert_int_equal(first_check(), 0);
}

static void a_join_of_which_one_may_release(void **state) {
  (void)state;
  owned(A, task(1));
  owned(B, task(0));
  party(task(0));
  awaits(0, VOLT_ENDS_ALL_, NULL);
  locks_within(1, A, 1);
  awaits(1, VOLT_ENDS_TIME_, NULL); /* this branch may unlock B */
  party(task(1));
  locks(B);
  assert_int_equal(first_check(), 0);
}

static void a_branch_that_is_ready(void **state) {
  (void)state;
  owned(A, task(1));
  owned(B, task(0));
  party(task(0));
  awaits(0, VOLT_ENDS_ALL_, NULL);
  locks_within(1, A, 1);
  const volt_term_ ready = {.depth = 1, .ends = VOLT_ENDS_UNKNOWN_, .is_ready = true};
  volt_graph_add_term_(g, &ready); /* it has ended, and wakes nobody */
  party(task(1));
  locks(B);
  assert_int_equal(stuck(), 2);
}

static void more_than_there_is(void **state) {
  (void)state;
  party(task(0));
  locks_within(0, S, 5); /* until the limit is raised */
  assert_int_equal(first_check(), 0);
}

static void nobody_waits(void **state) {
  (void)state;
  assert_int_equal(first_check(), 0);
  assert_int_equal(volt_graph_settle_(g, is_passed_on), 0);
}

/* ---- what is told ---- */

static struct {
  unsigned cycle;
  uint32_t place;
  uintptr_t who, by;
  const char *file;
  uint32_t line;
} told[16];
static unsigned tellings;

static void tell(void *ctx, unsigned cycle, uint32_t place, const volt_waiting_ *w,
                 const volt_term_ *term, const volt_waiting_ *by) {
  assert_ptr_equal(ctx, told);
  told[tellings].cycle = cycle;
  told[tellings].place = place;
  told[tellings].who = w->who;
  told[tellings].by = by->who;
  told[tellings].file = term->file;
  told[tellings++].line = term->taken_line;
}

static void cycles_and_those_behind_are_told(void **state) {
  (void)state;
  tellings = 0;
  party(task(9));
  locks(A); /* behind the first */
  ab_ba(task(0), task(1));
  owned(C, task(2));
  party(task(2));
  locks(C);
  assert_int_equal(stuck(), 4);
  volt_graph_report_all_(g, tell, told);
  assert_int_equal(tellings, 4);
  assert_int_equal(told[0].cycle, 1);
  assert_int_equal(told[0].place, 0);
  assert_int_equal(told[1].cycle, 1);
  assert_int_equal(told[1].place, 1);
  assert_int_equal(told[1].who, told[0].by);
  assert_int_equal(told[0].who, told[1].by);
  assert_string_equal(told[0].file, "owned.c");
  assert_int_equal(told[0].line, 3);
  assert_int_equal(told[2].cycle, 2);
  assert_int_equal(told[2].who, task(2));
  assert_int_equal(told[2].by, task(2));
  assert_int_equal(told[3].cycle, 0);
  assert_int_equal(told[3].place, UINT32_MAX);
  assert_int_equal(told[3].who, task(9));
  assert_int_equal(told[3].by, task(0));
}

static void where_a_share_was_taken_is_told(void **state) {
  (void)state;
  tellings = 0;
  permits(NULL);
  volt_graph_report_all_(g, tell, told);
  assert_int_equal(tellings, 2);
  assert_string_equal(told[0].file, "held.c");
  assert_int_equal(told[0].line, 5);
}

static void a_graph_is_used_again(void **state) {
  (void)state;
  two_tasks(NULL);
  volt_graph_clear_(g);
  assert_int_equal(first_check(), 0);
  volt_graph_clear_(g);
  two_tasks(NULL);
}

/* ---- many ---- */

static void a_long_queue(void **state) {
  (void)state;
  enum { MANY = 100000 };
  ab_ba(task(0), task(1));
  volt_graph_added_(g);
  for (unsigned i = 2; i < MANY; i++) {
    const volt_waiting_ w = {.who = task(i), .instance = 7};
    volt_graph_add_(g, &w);
    awaits(0, VOLT_ENDS_TASK_, (const void *)(task(i - 1) & ~(uintptr_t)3));
    volt_graph_added_(g);
  }
  assert_int_equal(first_check(), MANY);
  volt_graph_confirm_(g, task(0), 7); /* task(1) has gone on: so all have, one by one */
  assert_int_equal(volt_graph_settle_(g, is_passed_on), 0);
}

/* Random graphs of mutexes, selects, joins and joined tasks; against trying until nothing changes. */
enum { PARTIES = 7, BRANCHES = 3 };

typedef struct random_party {
  bool all;
  unsigned branches;
  int lock[BRANCHES]; /* below 3: a mutex; else 3 + a party that it joins; -1: time */
  bool runs, ends;
} random_party;

static random_party random_parties[PARTIES];
static int random_owner[3]; /* -1: not known */

static bool random_can(int what) {
  if (what < 0) return true;
  if (what >= 3) return random_parties[what - 3].ends;
  return random_owner[what] < 0 || random_parties[random_owner[what]].runs;
}

static unsigned random_solution(void) {
  for (bool again = true; again;) {
    again = false;
    for (unsigned i = 0; i < PARTIES; i++) {
      random_party *p = &random_parties[i];
      bool any = false, all = true;
      for (unsigned b = 0; b < p->branches; b++) {
        any = any || random_can(p->lock[b]);
        all = all && random_can(p->lock[b]);
      }
      bool ends = p->all ? all : any;
      again = again || (any && !p->runs) || (ends && !p->ends);
      p->runs = p->runs || any;
      p->ends = p->ends || ends;
    }
  }
  unsigned left = 0;
  for (unsigned i = 0; i < PARTIES; i++) left += !random_parties[i].ends;
  return left;
}

static void random_make(rng *r) {
  for (unsigned i = 0; i < 3; i++) random_owner[i] = (int)rng_below(r, PARTIES + 1) - 1;
  for (unsigned i = 0; i < PARTIES; i++) {
    random_party *p = &random_parties[i];
    p->all = rng_below(r, 2);
    p->runs = p->ends = false;
    p->branches = 1 + rng_below(r, BRANCHES);
    for (unsigned b = 0; b < p->branches; b++) {
      unsigned kind = rng_below(r, 8);
      p->lock[b] = kind == 0  ? -1
                   : kind < 5 ? (int)rng_below(r, 3)
                              : 3 + (int)rng_below(r, PARTIES);
    }
  }
}

static void random_script(void) {
  for (unsigned i = 0; i < 3; i++)
    owned(i, random_owner[i] < 0 ? 0 : task((unsigned)random_owner[i]));
  for (unsigned i = 0; i < PARTIES; i++) {
    const random_party *p = &random_parties[i];
    party(task(i));
    awaits(0, p->all ? VOLT_ENDS_ALL_ : VOLT_ENDS_ANY_, NULL);
    for (unsigned b = 0; b < p->branches; b++) {
      int what = p->lock[b];
      if (what < 0) {
        awaits(1, VOLT_ENDS_TIME_, NULL);
      } else if (what < 3) {
        locks_within(1, (unsigned)what, 1);
      } else {
        awaits(1, VOLT_ENDS_TASK_, (const void *)(task((unsigned)what - 3) & ~(uintptr_t)3));
      }
    }
  }
}

static void random_graphs(void **state) {
  (void)state;
  rng r = rng_seeded(20);
  unsigned with = 0;
  for (unsigned i = 0; i < 20000; i++) {
    volt_graph_clear_(g);
    random_make(&r);
    random_script();
    unsigned want = random_solution();
    assert_int_equal(stuck(), want);
    with += want > 0;
    for (unsigned k = 0; k < PARTIES; k++) {
      assert_int_equal(volt_graph_has_(g, task(k)), !random_parties[k].ends);
    }
  }
  assert_in_range(with, 2000, 18000); /* there were both */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(two_tasks),
      TEST(two_threads),
      TEST(a_task_and_a_thread),
      TEST(one_locks_twice),
      TEST(three_in_a_ring),
      TEST(a_reader_behind_a_writer_behind_itself),
      TEST(two_readers_want_to_write),
      TEST(permits),
      TEST(all_permits),
      TEST(two_selects),
      TEST(tasks_join_each_other),
      TEST(a_join_of_which_one_cannot_end),
      TEST(a_group_waits_for_its_parent),
      TEST(granted_and_never_polled),
      TEST(behind_async_functions),
      TEST(a_deadline),
      TEST(a_channel_in_a_select),
      TEST(an_owner_that_is_not_known),
      TEST(an_owner_that_does_not_wait),
      TEST(an_object_of_which_nothing_is_known),
      TEST(an_object_that_was_passed_on),
      TEST(a_wait_that_ends_between_the_looks),
      TEST(another_wait_in_the_second_look),
      TEST(one_of_two_ends_between_the_looks),
      TEST(enough_permits_elsewhere),
      TEST(permits_that_are_passed_on),
      TEST(a_reader_behind_a_writer),
      TEST(readers_beside_readers),
      TEST(a_join_of_which_one_may_release),
      TEST(a_branch_that_is_ready),
      TEST(more_than_there_is),
      TEST(nobody_waits),
      TEST(cycles_and_those_behind_are_told),
      TEST(where_a_share_was_taken_is_told),
      TEST(a_graph_is_used_again),
      TEST(a_long_queue),
      TEST(random_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
