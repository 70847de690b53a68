/* handover_test.c: messages between two processes, their channel, and the ledger of permits: both
 * sides by hand, with messages that are late and processes that die at any step. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <volt/net.h>

#include "gate/admission.h"
#include "handover/channel.h"
#include "handover/ledger.h"
#include "unit.h"

/* ---- messages ---- */

static void a_message_is_read_as_it_was_written(void **state) {
  (void)state;
  unsigned char bytes[MESSAGE_MAX];
  char text[MESSAGE_TEXT + 10];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = 0;
  for (int kind = MESSAGE_HELLO; kind < MESSAGE_KINDS; kind++) {
    uint32_t number = kind == MESSAGE_LISTENER ? MESSAGE_OF_ADMIN : 0x80010203u + (unsigned)kind;
    size_t size = handover_message_write(bytes, (enum message_kind)kind, number, "main",
                                         kind % 2 ? text : NULL);
    struct message m;
    size_t used = 99;
    for (size_t i = 0; i < size; i++) {
      assert_int_equal(handover_message_read(&m, bytes, i, &used), MESSAGE_NEEDS_MORE);
      assert_int_equal(used, 0);
    }
    assert_int_equal(handover_message_read(&m, bytes, sizeof bytes, &used), MESSAGE_DONE);
    assert_int_equal(used, size);
    assert_int_equal(m.kind, kind);
    assert_int_equal(m.number, number);
    assert_string_equal(m.name, "main");
    assert_int_equal(strlen(m.text), kind % 2 ? MESSAGE_TEXT : 0);
  }
}

static enum message_result read_bytes(const unsigned char *bytes, size_t size) {
  struct message m;
  size_t used;
  return handover_message_read(&m, bytes, size, &used);
}

/* Of a text that is longer than a message no more is looked at than goes into it: behind that, nothing can be read. */
static void what_is_longer_is_not_looked_at(void **state) {
  unsigned char bytes[MESSAGE_MAX];
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  (void)state;
  char *pages =
      (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(pages, MAP_FAILED);
  assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
  memset(pages, 'x', page);
  size_t size = handover_message_write(bytes, MESSAGE_PART, 0, NULL, pages + page - MESSAGE_TEXT);
  assert_int_equal(size, MESSAGE_HEAD + MESSAGE_TEXT);
  munmap(pages, 2 * page);
}

static void what_is_malformed_is_found(void **state) {
  (void)state;
  unsigned char bytes[MESSAGE_MAX];
  size_t size = handover_message_write(bytes, MESSAGE_GATE, 7, "main", "x");
  bytes[0] = 0;
  assert_int_equal(read_bytes(bytes, size), MESSAGE_MALFORMED);
  bytes[0] = MESSAGE_KINDS;
  assert_int_equal(read_bytes(bytes, size), MESSAGE_MALFORMED);
  bytes[0] = MESSAGE_GATE;
  bytes[5] = 3; /* a name of 772 bytes: found by the head alone */
  assert_int_equal(read_bytes(bytes, MESSAGE_HEAD), MESSAGE_MALFORMED);
  bytes[5] = 0;
  bytes[MESSAGE_HEAD + 1] = 0; /* a zero within the name */
  assert_int_equal(read_bytes(bytes, size), MESSAGE_MALFORMED);
  size = handover_message_write(bytes, MESSAGE_LISTENER, MESSAGE_LISTENERS, "main", "x");
  assert_int_equal(read_bytes(bytes, size), MESSAGE_MALFORMED);
}

/* ---- a channel ---- */

static void open_pair(struct channel *one, struct channel *other) {
  int pair[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  channel_open(one, pair[0], -1);
  channel_open(other, pair[1], -1);
}

static bool is_same_file(int one, int other) {
  struct stat a, b;
  assert_int_equal(fstat(one, &a), 0);
  assert_int_equal(fstat(other, &b), 0);
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void descriptors_come_with_their_messages(void **state) {
  (void)state;
  struct channel one, other;
  struct message m;
  int pipes[2][2];
  open_pair(&one, &other);
  for (int i = 0; i < 2; i++) assert_int_equal(pipe(pipes[i]), 0);
  assert_true(channel_send(&one, MESSAGE_HELLO, 1, NULL, "1.0"));
  for (int i = 0; i < 2; i++) {
    assert_true(channel_send_number(&one, MESSAGE_LISTENER, MESSAGE_OF_GATE, "main", i ? "b" : "a",
                                    pipes[i][0]));
  }
  assert_true(channel_send(&one, MESSAGE_OFFERED, 2, NULL, NULL));
  assert_int_equal(channel_receive(&other, &m), CHANNEL_MESSAGE);
  assert_int_equal(m.kind, MESSAGE_HELLO);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(channel_receive(&other, &m), CHANNEL_MESSAGE);
    assert_string_equal(m.text, i ? "b" : "a");
    int number = channel_take_number(&other);
    assert_true(is_same_file(number, pipes[i][0]));
    close(number);
  }
  assert_int_equal(channel_receive(&other, &m), CHANNEL_MESSAGE);
  assert_int_equal(m.number, 2);
  assert_int_equal(channel_take_number(&other), -1);
  assert_int_equal(channel_receive(&other, &m), CHANNEL_NOTHING);
  assert_int_equal(channel_await(&other, &m, 0), CHANNEL_NOTHING);
  channel_close(&one);
  assert_int_equal(channel_await(&other, &m, -1), CHANNEL_ENDED);
  assert_false(channel_send(&other, MESSAGE_GO, 0, NULL, NULL));
  channel_close(&other);
  for (int i = 0; i < 4; i++) close(pipes[i / 2][i % 2]);
}

static void what_came_is_read_before_the_end(void **state) {
  (void)state;
  struct channel one, other;
  struct message m;
  open_pair(&one, &other);
  assert_true(channel_send(&one, MESSAGE_GIVE, 5, "main", NULL));
  assert_int_equal(send(one.number, "\x02", 1, 0), 1); /* a part of another */
  channel_close(&one);
  assert_int_equal(channel_receive(&other, &m), CHANNEL_MESSAGE);
  assert_int_equal(m.number, 5);
  assert_int_equal(channel_receive(&other, &m), CHANNEL_ENDED);
  channel_close(&other);
}

/* ---- the ledger: two processes ---- */

enum { CLIENTS = 8, MESSAGES = 4096, TENANTS = 3 };

struct side {
  struct gate gate;
  struct gate_settings settings;
  struct client client[CLIENTS];
  struct admission admission[CLIENTS];
  struct ledger_says queue[MESSAGES]; /* to the other side */
  size_t sent, received;
  bool is_told, is_alive;
};

static struct side old_side, new_side;
static struct giver giver;
static struct keeper keeper;
static struct tenant_settings tenant_settings[TENANTS] = {{.name = "a", .weight = 1, .cost = 1},
                                                          {.name = "b", .weight = 2, .cost = 2},
                                                          {.name = "c", .weight = 1, .cost = 3}};
static uint64_t dice;
static bool is_lowered;

static uint32_t throw_dice(uint32_t sides) {
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  return (uint32_t)(dice >> 33) % sides;
}

static void is_told(void *side) {
  ((struct side *)side)->is_told = true;
}

static void side_begin(struct side *s, uint32_t limit, bool has_tenants) {
  static const char *const names[] = {"a", "b", "c"};
  memset(s, 0, sizeof *s);
  s->settings = (struct gate_settings){.name = "main",
                                       .to = "127.0.0.1:1",
                                       .limit = limit,
                                       .queue = CLIENTS,
                                       .clients = CLIENTS,
                                       .tenant_by = has_tenants ? TENANT_BY_USER : TENANT_BY_NONE,
                                       .tenant_default = {.weight = 1, .cost = 1},
                                       .tenant_max = 10,
                                       .tenants = tenant_settings,
                                       .tenant_count = has_tenants ? TENANTS : 0};
  assert_true(gate_init(&s->gate, NULL, NULL, &s->settings));
  for (int i = 0; i < CLIENTS; i++) {
    clients_add(&s->gate.clients, &s->client[i]);
    if (has_tenants)
      s->client[i].tenant = tenants_enter(gate_tenants(&s->gate), names[i % TENANTS]);
    admission_init(&s->admission[i], &s->gate, &s->client[i]);
  }
  s->is_alive = true;
}

static uint32_t side_held(const struct side *s) {
  uint32_t held = 0;
  for (int i = 0; s->is_alive && i < CLIENTS; i++) held += s->admission[i].cost;
  return held;
}

static unsigned side_waiting(struct side *s) {
  unsigned n = 0;
  for (int i = 0; s->is_alive && i < CLIENTS; i++) n += s->admission[i].is_queued;
  return n;
}

static int side_poll(struct side *s, int i) {
  static const volt_waker none = {NULL, NULL};
  return volt_future_poll(admission_future(&s->admission[i]), none);
}

static void side_pick_up(struct side *s, int i) {
  if (s->admission[i].is_queued && side_poll(s, i) == VOLT_OK) {
    assert_true(admission_leave(&s->admission[i], 2));
  }
}

/* A client does something. */
static void side_act(struct side *s) {
  int i = (int)throw_dice(CLIENTS);
  struct admission *a = &s->admission[i];
  if (!s->is_alive) return;
  if (admission_holds(a)) {
    if (throw_dice(2)) admission_release(a, 3);
  } else if (!a->is_queued) {
    if (admission_try(a, 1) == VOLT_OK) return;
    assert_result(admission_join(a, 1), VOLT_OK);
    if (throw_dice(3)) (void)side_poll(s, i); /* else it has its place a little later */
  } else if (throw_dice(8) == 0) {
    (void)admission_leave(a, 2);
  } else {
    side_pick_up(s, i);
  }
}

static void side_send(struct side *s, struct ledger_says says) {
  if (says.give == 0 && says.want == 0 && says.want_not == 0) return;
  assert_true(s->sent < MESSAGES);
  s->queue[s->sent++] = says;
}

static void look_at_giver(void) {
  old_side.is_told = false;
  if (!old_side.is_alive) return;
  struct ledger_says says = giver_look(&giver);
  if (giver.is_over) assert_int_equal(says.give + says.want + says.want_not, 0);
  side_send(&old_side, says);
}

static void look_at_keeper(void) {
  new_side.is_told = false;
  if (!new_side.is_alive || keeper.is_over) return;
  side_send(&new_side, (struct ledger_says){.give = keeper_look(&keeper)});
}

/* One message arrives, if there is one. */
static bool new_receives(void) {
  if (!new_side.is_alive || keeper.is_over || old_side.received == old_side.sent) return false;
  const struct ledger_says *m = &old_side.queue[old_side.received++];
  assert_true(keeper_given(&keeper, m->give));
  keeper_want_not(&keeper, m->want_not);
  assert_true(m->together ? m->want == 0 || keeper_want_together(&keeper, m->want)
                          : keeper_want_each(&keeper, m->want));
  look_at_keeper();
  return true;
}

static bool old_receives(void) {
  if (!old_side.is_alive || giver.is_over || new_side.received == new_side.sent) return false;
  assert_true(giver_bring(&giver, new_side.queue[new_side.received++].give));
  look_at_giver();
  return true;
}

/* ---- what has to be so ---- */

static void never_too_many(uint32_t limit) {
  if (is_lowered) return;
  uint32_t held = side_held(&old_side) + side_held(&new_side);
  if (held > limit) fail_msg("%u permits are held, and the limit is %u", held, limit);
}

/* Everything that is on its way has come. */
static void settle(void) {
  for (int rounds = 0;; rounds++) {
    assert_true(rounds < 100000);
    /* as each 50 ms, but while there is no other process: then only when it is told to */
    if (!giver.is_over || old_side.is_told) look_at_giver();
    look_at_keeper();
    if (new_receives() || old_receives()) continue;
    if (!old_side.is_told && !new_side.is_told) return;
  }
}

static void pick_up_all(void) {
  for (int i = 0; i < CLIENTS; i++) {
    if (old_side.is_alive) side_pick_up(&old_side, i);
    if (new_side.is_alive) side_pick_up(&new_side, i);
  }
}

/* In quiet all permits are somewhere, and nobody waits for one that is free. */
static void quiet_is_whole(bool has_tenants) {
  for (int i = 0; i < 2 * CLIENTS; i++) {
    settle();
    pick_up_all();
  }
  settle();
  if (!new_side.is_alive || !old_side.is_alive) {
    struct side *s = old_side.is_alive ? &old_side : &new_side;
    unsigned waiting = side_waiting(s);
    assert_int_equal(s->gate.away, 0);
    /* with tenants a part of what the next one costs may be set aside */
    if (!has_tenants || waiting == 0) assert_int_equal(gate_held(&s->gate), side_held(s));
    if (!has_tenants && waiting > 0) assert_int_equal(volt_sem_available(&s->gate.permits), 0);
    return;
  }
  const struct gate *now = &new_side.gate, *before = &old_side.gate;
  uint32_t limit = volt_sem_limit(&now->permits), excess = volt_sem_excess(&now->permits);
  uint32_t unused = volt_sem_available(&now->permits);
  uint32_t held = side_held(&old_side) + side_held(&new_side);
  assert_int_equal(now->away, side_held(&old_side)); /* the old one has what it uses */
  assert_int_equal(volt_sem_limit(&before->permits) - before->away, now->away);
  unsigned waiting = side_waiting(&old_side) + side_waiting(&new_side);
  if (!has_tenants || waiting == 0) assert_int_equal(held + unused, limit + excess);
  if (!has_tenants && waiting > 0) assert_int_equal(unused, 0);
}

/* Clients that hold give back, until nobody waits: none is forgotten. */
static void all_are_served(bool has_tenants) {
  for (int rounds = 0;; rounds++) {
    assert_true(rounds < 4 * CLIENTS * CLIENTS);
    quiet_is_whole(has_tenants);
    unsigned waiting = side_waiting(&old_side) + side_waiting(&new_side);
    uint32_t held = side_held(&old_side) + side_held(&new_side);
    if (waiting == 0 && held == 0) return;
    if (held == 0) fail_msg("%u wait, and no permit is held", waiting);
    for (int i = 0; i < CLIENTS; i++) {
      struct side *s = throw_dice(2) ? &old_side : &new_side;
      if (s->is_alive && admission_holds(&s->admission[i])) admission_release(&s->admission[i], 3);
    }
  }
}

/* ---- death ---- */

static void side_forget(struct side *s) {
  for (int i = 0; i < CLIENTS; i++) {
    (void)admission_leave(&s->admission[i], 4);
    if (admission_holds(&s->admission[i])) admission_release(&s->admission[i], 4);
    clients_remove(&s->gate.clients, &s->client[i]);
    if (s->client[i].tenant) tenant_leave(gate_tenants(&s->gate), s->client[i].tenant);
  }
}

static void old_dies(void) {
  if (!old_side.is_alive || !new_side.is_alive) return;
  old_side.is_alive = false; /* its memory is tidied up in the end */
  if (throw_dice(2)) {       /* what it has sent may be read before its end */
    while (new_receives()) continue;
  }
  keeper_end(&keeper);
}

static void new_dies(void) {
  if (!old_side.is_alive || !new_side.is_alive) return;
  new_side.is_alive = false;
  if (throw_dice(2)) {
    while (old_receives()) continue;
  }
  giver_take_back(&giver);
  assert_int_equal(volt_sem_limit(&old_side.gate.permits), old_side.settings.limit);
}

static void side_end(struct side *s) {
  side_forget(s);
  gate_destroy(&s->gate);
}

static void both_end(void) {
  keeper_end(&keeper);
  side_forget(&old_side);
  giver_end(&giver);
  gate_destroy(&old_side.gate);
  side_end(&new_side);
}

/* ---- runs ---- */

static void limit_changes(uint32_t *limit) {
  uint32_t next = 3 + throw_dice(5);
  is_lowered |= next < *limit;
  *limit = next;
  gate_set_limit(&new_side.gate, next);
}

static void one_run(uint64_t seed) {
  dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  bool has_tenants = throw_dice(2);
  uint32_t limit = 3 + throw_dice(4);
  int steps = 20 + (int)throw_dice(200);
  unsigned death = throw_dice(3); /* 0: none, 1: old, 2: new */
  int death_at = (int)throw_dice((uint32_t)steps);
  is_lowered = false;
  side_begin(&old_side, limit, has_tenants);
  side_begin(&new_side, limit, has_tenants);
  for (int i = 0; i < 30; i++) side_act(&old_side);
  keeper_begin(&keeper, &new_side.gate, limit, (struct ledger_tell){is_told, &new_side});
  giver_begin(&giver, &old_side.gate, (struct ledger_tell){is_told, &old_side});
  for (int i = 0; i < steps; i++) {
    switch (throw_dice(7)) {
      case 0:
      case 1: side_act(&old_side); break;
      case 2:
      case 3: side_act(&new_side); break;
      case 4: (void)new_receives(); break;
      case 5: (void)old_receives(); break;
      default:
        look_at_giver();
        look_at_keeper();
        break;
    }
    if (new_side.is_alive && throw_dice(60) == 0) limit_changes(&limit);
    if (death == 1 && i == death_at) old_dies();
    if (death == 2 && i == death_at) {
      new_dies(); /* and with it the limit that was set there */
      is_lowered |= volt_sem_limit(&old_side.gate.permits) < limit;
      limit = volt_sem_limit(&old_side.gate.permits);
    }
    never_too_many(limit);
    if (throw_dice(40) == 0) quiet_is_whole(has_tenants);
  }
  all_are_served(has_tenants);
  both_end();
}

static void permits_are_never_more_and_never_lost(void **state) {
  (void)state;
  const char *text = getenv("VOLT_TEST_RUNS");
  uint64_t runs = text ? strtoull(text, NULL, 10) : 3000;
  for (uint64_t seed = 1; seed <= runs; seed++) one_run(seed);
}

/* The new limit is lower than the old one: nobody is admitted above it once the old queue is served. */
static void a_lower_limit_holds_with_what_comes_back(void **state) {
  (void)state;
  side_begin(&old_side, 6, false);
  side_begin(&new_side, 4, false);
  is_lowered = false;
  for (int i = 0; i < 6; i++) assert_result(admission_try(&old_side.admission[i], 1), VOLT_OK);
  keeper_begin(&keeper, &new_side.gate, 6, (struct ledger_tell){is_told, &new_side});
  giver_begin(&giver, &old_side.gate, (struct ledger_tell){is_told, &old_side});
  assert_int_equal(volt_sem_excess(&new_side.gate.permits), 2);
  assert_int_equal(volt_sem_limit(&new_side.gate.permits), 4);
  assert_result(admission_try(&new_side.admission[0], 1), VOLT_EAGAIN);
  assert_result(admission_join(&new_side.admission[0], 1), VOLT_OK);
  assert_result(side_poll(&new_side, 0), VOLT_PENDING);
  for (int i = 0; i < 2; i++) {
    admission_release(&old_side.admission[i], 2);
    settle();
    assert_result(side_poll(&new_side, 0), VOLT_PENDING); /* 4 are held in the old one */
  }
  admission_release(&old_side.admission[2], 2);
  settle();
  assert_result(side_poll(&new_side, 0), VOLT_OK);
  assert_int_equal(gate_held(&new_side.gate), 1);
  assert_int_equal(new_side.gate.away, 3);
  both_end();
}

/* Who queued in the old process before the handover is served before who comes to the new one. */
static void the_old_queue_is_served_first(void **state) {
  (void)state;
  side_begin(&old_side, 1, false);
  side_begin(&new_side, 1, false);
  assert_result(admission_try(&old_side.admission[0], 1), VOLT_OK);
  for (int i = 1; i < 4; i++) {
    assert_result(admission_join(&old_side.admission[i], 1), VOLT_OK);
    assert_result(side_poll(&old_side, i), VOLT_PENDING);
  }
  keeper_begin(&keeper, &new_side.gate, 1, (struct ledger_tell){is_told, &new_side});
  giver_begin(&giver, &old_side.gate, (struct ledger_tell){is_told, &old_side});
  settle();
  assert_result(admission_join(&new_side.admission[0], 1), VOLT_OK);
  assert_result(side_poll(&new_side, 0), VOLT_PENDING);
  assert_result(admission_join(&old_side.admission[4], 1), VOLT_OK); /* after that */
  for (int i = 0; i < 3; i++) {
    admission_release(&old_side.admission[i], 2);
    settle();
    assert_result(side_poll(&new_side, 0), VOLT_PENDING);
    side_pick_up(&old_side, i + 1);
    assert_true(admission_holds(&old_side.admission[i + 1]));
  }
  admission_release(&old_side.admission[3], 2);
  settle();
  side_pick_up(&new_side, 0);
  assert_true(admission_holds(&new_side.admission[0]));
  assert_result(side_poll(&old_side, 4), VOLT_PENDING);
  admission_release(&new_side.admission[0], 2);
  settle();
  side_pick_up(&old_side, 4);
  assert_true(admission_holds(&old_side.admission[4]));
  both_end();
}

/* The other process dies, so a client that waits at the loan is given a permit; it leaves before it has
 * seen that. */
static void a_grant_of_a_client_that_leaves_comes_back(void **state) {
  (void)state;
  side_begin(&old_side, 1, false);
  side_begin(&new_side, 1, false);
  keeper_begin(&keeper, &new_side.gate, 1, (struct ledger_tell){is_told, &new_side});
  giver_begin(&giver, &old_side.gate, (struct ledger_tell){is_told, &old_side});
  settle();
  assert_result(admission_try(&new_side.admission[0], 1), VOLT_OK);
  assert_result(admission_join(&old_side.admission[0], 1), VOLT_OK);
  settle();
  assert_result(side_poll(&old_side, 0), VOLT_PENDING);
  new_side.is_alive = false;
  giver_take_back(&giver);
  assert_int_equal(volt_sem_available(&old_side.gate.permits), 0); /* it is granted */
  assert_false(admission_leave(&old_side.admission[0], 2));
  assert_true(old_side.is_told);
  settle();
  assert_int_equal(volt_sem_available(&old_side.gate.permits), 1);
  both_end();
}

static void more_than_was_lent_is_refused(void **state) {
  (void)state;
  side_begin(&old_side, 3, false);
  side_begin(&new_side, 3, false);
  keeper_begin(&keeper, &new_side.gate, 3, (struct ledger_tell){is_told, &new_side});
  giver_begin(&giver, &old_side.gate, (struct ledger_tell){is_told, &old_side});
  assert_false(keeper_given(&keeper, 4));
  assert_false(giver_bring(&giver, VOLT_SEM_MAX));
  assert_true(keeper_given(&keeper, 3));
  assert_int_equal(volt_sem_available(&new_side.gate.permits), 3);
  both_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_message_is_read_as_it_was_written),
      cmocka_unit_test(what_is_longer_is_not_looked_at),
      cmocka_unit_test(what_is_malformed_is_found),
      cmocka_unit_test(descriptors_come_with_their_messages),
      cmocka_unit_test(what_came_is_read_before_the_end),
      cmocka_unit_test(a_lower_limit_holds_with_what_comes_back),
      cmocka_unit_test(the_old_queue_is_served_first),
      cmocka_unit_test(a_grant_of_a_client_that_leaves_comes_back),
      cmocka_unit_test(more_than_was_lent_is_refused),
      cmocka_unit_test(permits_are_never_more_and_never_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
