/* io_select_test.c: of a select exactly one branch takes effect, I/O included: a loser has moved
 * nothing, accepted nothing, and what it waited for is still there. What needs several calls loses
 * between two of them, too, and says how much it has moved.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sys/mman.h>

#include "core/future/future_ops.h"
#include "io_scene.h"

typedef struct race {
  volt_select select;
  volt_future *branches[3];
} race;

static volt_future *race_of(race *r, volt_future *a, volt_future *b, unsigned how) {
  r->branches[0] = a;
  r->branches[1] = b;
  return volt_select_future(&r->select, r->branches, 2, how);
}

static void it_wins_when_it_can_be_done(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int before = 0; before < 2; before++) {
        scene s;
        race r;
        kit_one one;
        volt_sem never = VOLT_SEM_INIT(0);
        volt_future permit;
        scene_begin(&s, k, what);
        if (before) what->let(&s);
        volt_future *f = race_of(&r, what->begin(&s), volt_sem_acquire_future(&permit, &never, 1),
                                 VOLT_SELECT_FAIR);
        kit_start(k, &one, (kit_way)way, f);
        if (!before) {
          assert_result(kit_check(k, &one), VOLT_PENDING);
          what->let(&s);
        }
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&r.select), 0);
        what->expect_done(&s);
        volt_sem_destroy(&never);
        scene_end(&s);
      }
    }
  }
}

/* Another branch wins: at the same moment as what it waits for comes, or before that. */
static void a_loser_has_moved_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int together = 0; together < 2; together++) {
        scene s;
        race r;
        kit_one one;
        volt_sem sem = VOLT_SEM_INIT(0);
        volt_future permit;
        scene_begin(&s, k, what);
        volt_future *f = race_of(&r, volt_sem_acquire_future(&permit, &sem, 1), what->begin(&s),
                                 VOLT_SELECT_BIASED);
        kit_start(k, &one, (kit_way)way, f);
        assert_result(kit_check(k, &one), VOLT_PENDING);
        volt_sem_release(&sem, 1);
        if (together) what->let(&s);
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&r.select), 0);
        if (!together) what->let(&s);
        what->expect_nothing(&s);
        volt_sem_destroy(&sem);
        scene_end(&s);
      }
    }
  }
}

/* A channel may choose its branch at any moment, also between the poll of the other and its call. */
static void beside_a_channel_one_of_the_two_takes_effect(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int order = 0; order < 4; order++) {
        scene s;
        race r;
        kit_one one;
        volt_chan c;
        uint64_t memory[16];
        volt_future f;
        int value = 7, got = 0;
        assert_result(volt_chan_init(&c, 2, sizeof value, memory, sizeof memory), VOLT_OK);
        scene_begin(&s, k, what);
        volt_future *io = what->begin(&s), *chan = volt_chan_recv_future(&f, &c, &got);
        kit_start(k, &one, (kit_way)way,
                  order & 1 ? race_of(&r, io, chan, VOLT_SELECT_FAIR)
                            : race_of(&r, chan, io, VOLT_SELECT_FAIR));
        if (order & 2) what->let(&s);
        assert_result(volt_chan_try_send(&c, &value), VOLT_OK);
        if (!(order & 2)) what->let(&s);
        assert_result(kit_finish(k, &one), VOLT_OK);
        bool io_won = volt_select_winner(&r.select) == (order & 1 ? 0 : 1);
        assert_int_equal(got, io_won ? 0 : 7);
        assert_result(volt_chan_try_recv(&c, &got), io_won ? VOLT_OK : VOLT_EAGAIN);
        (io_won ? what->expect_done : what->expect_nothing)(&s);
        volt_chan_destroy(&c, NULL, NULL);
        scene_end(&s);
      }
    }
  }
}

static void both_branches_may_be_of_io(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int first = 0; first < 2; first++) {
        scene s[2];
        race r;
        kit_one one;
        for (int i = 0; i < 2; i++) scene_begin(&s[i], k, what);
        volt_future *a = what->begin(&s[0]);
        kit_start(k, &one, (kit_way)way, race_of(&r, a, what->begin(&s[1]), VOLT_SELECT_FAIR));
        what->let(&s[first]);
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&r.select), first);
        what->expect_done(&s[first]);
        what->let(&s[!first]);
        what->expect_nothing(&s[!first]);
        for (int i = 0; i < 2; i++) scene_end(&s[i]);
      }
    }
  }
}

/* KEEP: the loser waits on, and is selected again, or awaited alone. */
static void a_loser_that_is_kept_waits_on(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      scene s;
      race r;
      kit_one one;
      volt_sem sem = VOLT_SEM_INIT(0);
      volt_future permit;
      scene_begin(&s, k, what);
      volt_future *io = what->begin(&s);
      for (int i = 0; i < 3; i++) {
        volt_future *f = volt_sem_acquire_future(&permit, &sem, 1);
        kit_start(k, &one, (kit_way)way, race_of(&r, f, io, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
        assert_result(kit_check(k, &one), VOLT_PENDING);
        volt_sem_release(&sem, 1);
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&r.select), 0);
      }
      what->let(&s);
      kit_settle(k);
      assert_result(kit_run(k, (kit_way)way, io), VOLT_OK);
      what->expect_done(&s);
      volt_sem_destroy(&sem);
      scene_end(&s);
    }
  }
}

static void a_loser_that_is_kept_may_be_cancelled(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      scene s;
      race r;
      kit_one one;
      volt_sem sem = VOLT_SEM_INIT(0);
      volt_future permit;
      scene_begin(&s, k, what);
      volt_future *io = what->begin(&s);
      volt_future *f = volt_sem_acquire_future(&permit, &sem, 1);
      kit_start(k, &one, (kit_way)way, race_of(&r, f, io, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
      volt_sem_release(&sem, 1);
      assert_result(kit_finish(k, &one), VOLT_OK);
      kit_start(k, &one, (kit_way)way, io);
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      what->let(&s);
      what->expect_nothing(&s);
      volt_sem_destroy(&sem);
      scene_end(&s);
    }
  }
}

static void a_token_ends_it(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int before = 0; before < 2; before++) {
        scene s;
        race r;
        kit_one one;
        volt_token token = VOLT_TOKEN_INIT;
        volt_future f;
        scene_begin(&s, k, what);
        if (before) volt_token_cancel(&token);
        volt_future *io = what->begin(&s);
        kit_start(k, &one, (kit_way)way,
                  race_of(&r, volt_token_wait_future(&f, &token), io, VOLT_SELECT_BIASED));
        if (!before) volt_token_cancel(&token);
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&r.select), 0);
        what->let(&s);
        what->expect_nothing(&s);
        volt_token_destroy(&token);
        scene_end(&s);
      }
    }
  }
}

static void a_select_that_is_cancelled_has_moved_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      scene s;
      race r;
      kit_one one;
      volt_sem never = VOLT_SEM_INIT(0);
      volt_future permit;
      scene_begin(&s, k, what);
      volt_future *io = what->begin(&s);
      kit_start(k, &one, (kit_way)way,
                race_of(&r, volt_sem_acquire_future(&permit, &never, 1), io, VOLT_SELECT_FAIR));
      what->let(&s);
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      what->expect_nothing(&s);
      volt_sem_destroy(&never);
      scene_end(&s);
    }
  }
}

/* All branches of a join take effect; if it is cancelled, each says what it has done. */
static void the_branches_of_a_join_are_done_side_by_side(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      scene s[2];
      volt_join join;
      volt_future *both[2];
      kit_one one;
      for (int i = 0; i < 2; i++) {
        scene_begin(&s[i], k, what);
        both[i] = what->begin(&s[i]);
      }
      kit_start(k, &one, (kit_way)way, volt_join_future(&join, both, 2, VOLT_JOIN_ALL));
      what->let(&s[1]);
      assert_result(kit_check(k, &one), VOLT_PENDING);
      what->let(&s[0]);
      assert_result(kit_finish(k, &one), VOLT_OK);
      for (int i = 0; i < 2; i++) {
        what->expect_done(&s[i]);
        scene_end(&s[i]);
      }
    }
  }
}

/* ---- what needs several calls ---- */

enum { LONG = 1 << 20, ROOM = 64 << 10 }; /* more than a way out takes */

typedef struct long_scene {
  io_kit *k;
  kit_link l;
  volt_fd file;
  volt_op op;
  size_t taken;
} long_scene;

static const unsigned char *long_bytes(void) {
  static unsigned char bytes[LONG];
  bool is_made = bytes[1] != 0;
  for (size_t i = 0; !is_made && i < LONG; i++) bytes[i] = (unsigned char)(i % 251);
  return bytes;
}

static volt_future *long_send(long_scene *s) {
  return volt_fd_send_future(&s->op, &s->l.near, long_bytes(), LONG, 0);
}

static volt_future *long_write(long_scene *s) {
  return volt_fd_write_future(&s->op, &s->l.near, long_bytes(), LONG, -1);
}

static volt_future *long_sendfile(long_scene *s) {
  int file = memfd_create("long", MFD_CLOEXEC);
  REQUIRE(file >= 0 && write(file, long_bytes(), LONG) == LONG);
  REQUIRE(volt_fd_init(&s->file, s->k->rt, file, 0) == VOLT_OK);
  return volt_fd_sendfile_future(&s->op, &s->l.near, &s->file, 0, LONG);
}

static const struct long_kind {
  int link;
  volt_future *(*begin)(long_scene *s);
} long_kinds[] = {{TCP4, long_send},           {UNIX_STREAM, long_send}, {TCP6, long_write},
                  {UNIX_STREAM, long_write},   {PIPE, long_write},       {TCP4, long_sendfile},
                  {UNIX_STREAM, long_sendfile}};

#define FOR_EACH_LONG(what)                       \
  for (const struct long_kind *what = long_kinds; \
       what < long_kinds + sizeof long_kinds / sizeof *long_kinds; what++)

static volt_future *long_begin(long_scene *s, io_kit *k, const struct long_kind *what) {
  memset((void *)s, 0, sizeof *s);
  s->k = k;
  kit_link_out(k, &s->l, what->link);
  const int room = ROOM; /* a pipe has no such options, and 64 KiB */
  (void)setsockopt(volt_fd_number(&s->l.near), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  (void)setsockopt(s->l.far, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  return what->begin(s);
}

/* The far end gets so many bytes, and no more. */
static void long_expect(long_scene *s, size_t n) {
  struct pollfd p = {s->l.far, POLLIN, 0};
  while (s->taken < n) {
    REQUIRE(poll(&p, 1, KIT_SECONDS * 1000) == 1);
    (void)kit_drain(s->l.far, &s->taken);
  }
  assert_int_equal(s->taken, n);
  assert_int_equal(poll(&p, 1, 0), 0);
}

static void long_end(long_scene *s) {
  volt_fd_close(&s->file);
  kit_unlink(&s->l);
}

/* It has moved a part, and the far end does not read: it says how much, and has lost. */
static void long_expect_lost(long_scene *s, const race *r, unsigned winner) {
  assert_int_equal(volt_select_winner(&r->select), winner);
  assert_result(volt_future_result_(&s->op.as.future), VOLT_ECANCELED);
  assert_true(s->op.n > 0 && s->op.n < LONG);
  long_expect(s, s->op.n);
}

/* What may win beside it: of each, how it is begun, and how it comes. */
typedef struct rival {
  volt_sem sem;
  volt_token token;
  volt_chan chan;
  uint64_t memory[16];
  volt_future f;
  volt_sleep_op nap;
  volt_timeout timeout;
  volt_select inner;
  volt_future *inside[2];
  int got;
} rival;

static volt_future *rival_permit(rival *v, io_kit *k) {
  (void)k;
  return volt_sem_acquire_future(&v->f, &v->sem, 1);
}

static volt_future *rival_token(rival *v, io_kit *k) {
  (void)k;
  return volt_token_wait_future(&v->f, &v->token);
}

static volt_future *rival_nap(rival *v, io_kit *k) {
  return volt_sleep_future(&v->nap, volt_rt_timers(k->rt), volt_deadline_ms(20));
}

static volt_future *rival_element(rival *v, io_kit *k) {
  (void)k;
  return volt_chan_recv_future(&v->f, &v->chan, &v->got);
}

/* In a timeout, in a select: it is found there, too. */
static volt_future *rival_element_inside(rival *v, io_kit *k) {
  v->inside[0] = volt_chan_recv_future(&v->f, &v->chan, &v->got);
  v->inside[1] = volt_sleep_future(&v->nap, volt_rt_timers(k->rt), VOLT_NO_DEADLINE);
  return volt_timeout_future(&v->timeout,
                             volt_select_future(&v->inner, v->inside, 2, VOLT_SELECT_FAIR),
                             volt_rt_timers(k->rt), VOLT_NO_DEADLINE);
}

static void rival_let(rival *v) {
  static const int element = 7;
  volt_sem_release(&v->sem, 1);
  volt_token_cancel(&v->token);
  assert_result(volt_chan_try_send(&v->chan, &element), VOLT_OK);
}

static volt_future *(*const rivals[])(rival *v, io_kit *k) = {rival_permit, rival_token, rival_nap,
                                                              rival_element, rival_element_inside};

enum { RIVALS = sizeof rivals / sizeof *rivals };

static void rival_begin(rival *v) {
  memset((void *)v, 0, sizeof *v);
  assert_result(volt_chan_init(&v->chan, 2, sizeof v->got, v->memory, sizeof v->memory), VOLT_OK);
}

static void rival_end(rival *v, bool has_won) {
  int element;
  assert_result(volt_chan_try_recv(&v->chan, &element), has_won ? VOLT_EAGAIN : VOLT_OK);
  assert_int_equal(v->got, has_won ? 7 : 0);
  volt_chan_destroy(&v->chan, NULL, NULL);
  volt_token_destroy(&v->token);
}

static void a_part_that_was_moved_decides_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_LONG(what) {
      for (int i = 0; i < 2 * RIVALS; i++) {
        long_scene s;
        race r;
        rival v;
        kit_one one;
        unsigned first = i & 1;
        rival_begin(&v);
        volt_future *io = long_begin(&s, k, what), *other = rivals[i / 2](&v, k);
        kit_start(k, &one, (kit_way)way,
                  race_of(&r, first ? other : io, first ? io : other, VOLT_SELECT_BIASED));
        if (rivals[i / 2] != rival_nap) assert_result(kit_check(k, &one), VOLT_PENDING);
        rival_let(&v);
        assert_result(kit_finish(k, &one), VOLT_OK);
        long_expect_lost(&s, &r, !first);
        rival_end(&v, i / 2 >= 3);
        long_end(&s);
      }
    }
  }
}

/* The same in a select that is a branch itself: what was withdrawn there is polled again, too. */
static void a_part_that_was_moved_inside_decides_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_LONG(what) {
      long_scene s;
      race r;
      rival v;
      kit_one one;
      volt_select outer;
      rival_begin(&v);
      volt_future *io = long_begin(&s, k, what), *other = rival_element(&v, k);
      volt_future *only[] = {race_of(&r, other, io, VOLT_SELECT_BIASED)};
      kit_start(k, &one, (kit_way)way, volt_select_future(&outer, only, 1, VOLT_SELECT_BIASED));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      rival_let(&v);
      assert_result(kit_finish(k, &one), VOLT_OK);
      long_expect_lost(&s, &r, 0);
      rival_end(&v, true);
      long_end(&s);
    }
  }
}

/* The far end reads on: it wins when all is moved, and nothing else has taken effect. */
static void all_that_was_moved_wins(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_LONG(what) {
      for (int first = 0; first < 2; first++) {
        long_scene s;
        race r;
        rival v;
        kit_one one;
        rival_begin(&v);
        volt_future *io = long_begin(&s, k, what), *other = rival_element(&v, k);
        kit_start(k, &one, (kit_way)way,
                  race_of(&r, first ? other : io, first ? io : other, VOLT_SELECT_BIASED));
        while (kit_check(k, &one) == VOLT_PENDING) (void)kit_drain(s.l.far, &s.taken);
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&r.select), first);
        assert_int_equal(s.op.n, LONG);
        long_expect(&s, LONG);
        rival_let(&v);
        rival_end(&v, false);
        long_end(&s);
      }
    }
  }
}

/* A select that is given up, and a select of two: each says how much. */
static void each_says_how_much_it_has_moved(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_LONG(what) {
      long_scene s[2];
      race r;
      kit_one one;
      volt_future *a = long_begin(&s[0], k, what);
      kit_start(k, &one, (kit_way)way,
                race_of(&r, a, long_begin(&s[1], k, what), VOLT_SELECT_FAIR));
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      for (int i = 0; i < 2; i++) {
        long_expect_lost(&s[i], &r, UINT32_MAX);
        long_end(&s[i]);
      }
    }
  }
}

/* ---- an element comes within the call of the other branch ---- */

static struct {
  volt_chan *to; /* NULL: no more */
  unsigned sent;
} within;

static void within_send(void) {
  static const int element = 7;
  if (!within.to) return;
  assert_result(volt_chan_try_send(within.to, &element), VOLT_OK);
  within.to = NULL;
  within.sent += 1;
}

static ssize_t within_a_send(int fd, const void *from, size_t size, int flags) {
  within_send();
  return volt_sys_real_.send(fd, from, size, flags);
}

static int within_an_accept(int fd) {
  (void)fd;
  within_send();
  return -ECONNABORTED;
}

/* The decision was taken for the call, and is free again: the branch that was dismissed wins. */
static void what_was_dismissed_within_a_call_wins(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_io_ *io = volt_io_of_driver_(volt_rt_driver_(k->rt));
  volt_sys_ table = volt_sys_real_;
  table.send = within_a_send;
  table.accept = within_an_accept;
  io->sys = &table;
  FOR_EACH_WAY(way) {
    for (int is_accept = 0; is_accept < 2; is_accept++) {
      for (int is_inside = 0; is_inside < 2; is_inside++) {
        long_scene s;
        scene listens = {.client = -1};
        race r;
        rival v;
        kit_one one;
        rival_begin(&v);
        within.to = &v.chan;
        within.sent = 0;
        volt_future *other = is_inside ? rival_element_inside(&v, k) : rival_element(&v, k);
        volt_future *op = long_begin(&s, k, &long_kinds[0]);
        if (is_accept) {
          listens.kind = TCP4;
          listens.k = k;
          scene_make_accept(&listens);
          scene_let_accept(&listens);
          op = scene_accept(&listens);
        }
        kit_start(k, &one, (kit_way)way, race_of(&r, other, op, VOLT_SELECT_BIASED));
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(within.sent, 1);
        assert_int_equal(volt_select_winner(&r.select), 0);
        rival_end(&v, true);
        if (!is_accept) long_expect_lost(&s, &r, 0);
        if (is_accept) scene_accept_nothing(&listens);
        if (is_accept) scene_end(&listens);
        long_end(&s);
      }
    }
  }
  io->sys = &volt_sys_real_;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(it_wins_when_it_can_be_done),
      kit_test(a_loser_has_moved_nothing),
      kit_test(beside_a_channel_one_of_the_two_takes_effect),
      kit_test(both_branches_may_be_of_io),
      kit_test(a_loser_that_is_kept_waits_on),
      kit_test(a_loser_that_is_kept_may_be_cancelled),
      kit_test(a_token_ends_it),
      kit_test(a_select_that_is_cancelled_has_moved_nothing),
      kit_test(the_branches_of_a_join_are_done_side_by_side),
      kit_test(a_part_that_was_moved_decides_nothing),
      kit_test(a_part_that_was_moved_inside_decides_nothing),
      kit_test(all_that_was_moved_wins),
      kit_test(each_says_how_much_it_has_moved),
      kit_test(what_was_dismissed_within_a_call_wins),
  };
  return kit_main(tests);
}
