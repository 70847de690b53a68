/* io_select_test.c: of a select exactly one branch takes effect, I/O included: a loser has moved
 * nothing, accepted nothing, and what it waited for is still there.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

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
          assert_result(kit_look(k, &one), VOLT_PENDING);
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
        assert_result(kit_look(k, &one), VOLT_PENDING);
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
        assert_result(kit_look(k, &one), VOLT_PENDING);
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
                  race_of(&r, volt_token_future(&f, &token), io, VOLT_SELECT_BIASED));
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
      assert_result(kit_look(k, &one), VOLT_PENDING);
      what->let(&s[0]);
      assert_result(kit_finish(k, &one), VOLT_OK);
      for (int i = 0; i < 2; i++) {
        what->expect_done(&s[i]);
        scene_end(&s[i]);
      }
    }
  }
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
  };
  return kit_main(tests);
}
