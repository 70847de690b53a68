/* io_file_test.c: regular files: open, read and write at an offset and at the position, parts, sync,
 * sendfile.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_kit.h"

static char path[64];

/* A file that has no name any more, with this content; the position is at 0. */
static void file_with(volt_fd *d, io_kit *k, const void *bytes, size_t size) {
  char name[] = "/tmp/volt-io-XXXXXX";
  int fd = mkostemp(name, O_CLOEXEC);
  REQUIRE(fd >= 0 && unlink(name) == 0);
  REQUIRE(pwrite(fd, bytes, size, 0) == (ssize_t)size);
  assert_result(volt_fd_init(d, k->rt, fd, 0), VOLT_OK);
}

static void expect_content(volt_fd *d, const char *text) {
  char got[256] = "";
  REQUIRE(pread(volt_fd_number(d), got, sizeof got, 0) >= 0);
  assert_string_equal(got, text);
}

static int64_t position(volt_fd *d) {
  return lseek(volt_fd_number(d), 0, SEEK_CUR);
}

/* ---- read and write ---- */

static void it_reads_at_an_offset(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    char text[8] = "";
    file_with(&d, k, "0123456789", 10);
    assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, &d, text, 4, 3)), VOLT_OK);
    assert_int_equal(op.n, 4);
    assert_string_equal(text, "3456");
    assert_int_equal(position(&d), 0);
    assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, &d, text, 8, 7)), VOLT_OK);
    assert_int_equal(op.n, 3); /* the end comes first */
    assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, &d, text, 8, 10)), VOLT_OK);
    assert_int_equal(op.n, 0);
    volt_fd_close(&d);
  }
}

static void it_reads_at_its_position(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    file_with(&d, k, "0123456789", 10);
    for (int i = 0; i < 10; i += 5) {
      char text[8] = "";
      assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, &d, text, 5, -1)), VOLT_OK);
      assert_int_equal(op.n, 5);
      assert_string_equal(text, i ? "56789" : "01234");
      assert_int_equal(position(&d), i + 5);
    }
    volt_fd_close(&d);
  }
}

static void it_writes_all_at_an_offset_and_at_its_position(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    file_with(&d, k, "----------", 10);
    assert_result(kit_run(k, (kit_way)way, volt_fd_write_future(&op, &d, "abc", 3, 4)), VOLT_OK);
    assert_int_equal(op.n, 3);
    expect_content(&d, "----abc---");
    assert_int_equal(position(&d), 0);
    assert_result(kit_run(k, (kit_way)way, volt_fd_write_future(&op, &d, "xy", 2, -1)), VOLT_OK);
    assert_result(kit_run(k, (kit_way)way, volt_fd_write_future(&op, &d, "z", 1, -1)), VOLT_OK);
    expect_content(&d, "xyz-abc---");
    assert_int_equal(position(&d), 3);
    volt_fd_close(&d);
  }
}

static void a_large_file_is_written_and_read_whole(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 3 << 20 };
  unsigned char *bytes = (unsigned char *)malloc(SIZE), *got = (unsigned char *)calloc(1, SIZE);
  REQUIRE(bytes && got);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i * 7 % 253);
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    file_with(&d, k, "", 0);
    assert_result(kit_run(k, (kit_way)way, volt_fd_write_future(&op, &d, bytes, SIZE, 0)), VOLT_OK);
    assert_int_equal(op.n, SIZE);
    for (size_t at = 0; at < SIZE; at += op.n) {
      volt_future *f = volt_fd_read_future(&op, &d, got + at, SIZE - at, (int64_t)at);
      assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      assert_true(op.n > 0);
    }
    assert_memory_equal(bytes, got, SIZE);
    memset(got, 0, SIZE);
    volt_fd_close(&d);
  }
  free(bytes);
  free(got);
}

static void parts_at_an_offset(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    char a[3] = "", b[3] = "";
    struct iovec in[] = {{a, 2}, {b, 2}}, out[] = {{(void *)"one", 3}, {(void *)"two", 3}};
    file_with(&d, k, "..........", 10);
    assert_result(kit_run(k, (kit_way)way, volt_fd_writev_future(&op, &d, out, 2, 2)), VOLT_OK);
    assert_int_equal(op.n, 6);
    expect_content(&d, "..onetwo..");
    assert_result(kit_run(k, (kit_way)way, volt_fd_readv_future(&op, &d, in, 2, 2)), VOLT_OK);
    assert_int_equal(op.n, 4);
    assert_string_equal(a, "on");
    assert_string_equal(b, "et");
    volt_fd_close(&d);
  }
}

/* At offsets any number may be under way. */
static void many_at_once(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MANY = 32 };
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op ops[MANY];
    kit_one ones[MANY];
    char text[MANY];
    unsigned char bytes[MANY];
    for (int i = 0; i < MANY; i++) bytes[i] = (unsigned char)(i + 1);
    file_with(&d, k, bytes, MANY);
    for (int i = 0; i < MANY; i++) {
      volt_future *f = volt_fd_read_future(&ops[i], &d, &text[i], 1, i);
      kit_start(k, &ones[i], (kit_way)way, f);
    }
    for (int i = 0; i < MANY; i++) assert_result(kit_finish(k, &ones[i]), VOLT_OK);
    assert_memory_equal(text, bytes, MANY);
    volt_fd_close(&d);
  }
}

static void what_the_system_refuses_is_said(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    char text[8];
    int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    assert_result(volt_fd_init(&d, k->rt, fd, 0), VOLT_OK);
    volt_future *f = volt_fd_write_future(&op, &d, "a", 1, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(EBADF));
    assert_int_equal(op.n, 0);
    volt_fd_close(&d);
    fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_result(volt_fd_init(&d, k->rt, fd, 0), VOLT_OK);
    f = volt_fd_read_future(&op, &d, text, sizeof text, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(EISDIR));
    volt_fd_close(&d);
  }
}

static void it_is_not_waited_for_until_it_is_ready(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    file_with(&d, k, "", 0);
    volt_future *f = volt_fd_ready_future(&op, &d, POLLIN);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_EINVAL);
    volt_fd_close(&d);
  }
}

/* ---- sync ---- */

static void it_is_synced(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    kit_link l;
    file_with(&d, k, "data", 4);
    volt_future *f = volt_fd_sync_future(&op, &d, VOLT_FD_SYNC_ALL);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    f = volt_fd_sync_future(&op, &d, VOLT_FD_SYNC_DATA);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    volt_fd_close(&d);
    kit_link_in(k, &l, PIPE);
    f = volt_fd_sync_future(&op, &l.near, VOLT_FD_SYNC_ALL);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(EINVAL));
    kit_unlink(&l);
  }
}

/* ---- open ---- */

static void it_opens(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    struct stat about;
    char text[8] = "";
    (void)snprintf(path, sizeof path, "/tmp/volt-io-%d-%d", (int)getpid(), way);
    volt_future *f =
        volt_open_future(&op, k->rt, &d, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    assert_true(fcntl(volt_fd_number(&d), F_GETFD) & FD_CLOEXEC);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_result(kit_run(k, (kit_way)way, volt_fd_write_future(&op, &d, "abc", 3, 0)), VOLT_OK);
    assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, &d, text, 8, 0)), VOLT_OK);
    assert_string_equal(text, "abc");
    volt_fd_close(&d);
    f = volt_open_future(&op, k->rt, &d, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(EEXIST));
    int directory = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    f = volt_open_future(&op, k->rt, &d, directory, path + strlen("/tmp/"), O_RDONLY, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    volt_fd_close(&d);
    close(directory);
    REQUIRE(unlink(path) == 0);
    f = volt_open_future(&op, k->rt, &d, AT_FDCWD, path, O_RDONLY, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(ENOENT));
  }
}

static void what_is_opened_need_not_be_a_file(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    int master, side;
    char name[64], text[8] = "";
    volt_fd d;
    volt_op op;
    kit_one one;
    REQUIRE(openpty(&master, &side, name, NULL, NULL) == 0);
    volt_future *f = volt_open_future(&op, k->rt, &d, AT_FDCWD, name, O_RDWR | O_NOCTTY, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    kit_start(k, &one, (kit_way)way, volt_fd_read_future(&op, &d, text, 8, -1));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    assert_int_equal(write(master, "line\n", 5), 5);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_string_equal(text, "line\n");
    volt_fd_close(&d);
    close(master);
    close(side);
  }
}

static void one_that_is_given_up_leaves_no_descriptor(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int i = 0; i < 30; i++) {
      volt_fd d;
      volt_op op;
      kit_one one;
      int before = kit_open_descriptors();
      volt_future *f = volt_open_future(&op, k->rt, &d, AT_FDCWD, "/dev/null", O_RDONLY, 0);
      kit_start(k, &one, (kit_way)way, f);
      int result = kit_cancel(k, &one);
      if (result == VOLT_OK) {
        assert_int_equal(kit_open_descriptors(), before + 1);
        volt_fd_close(&d);
      } else {
        assert_result(result, VOLT_ECANCELED);
      }
      assert_int_equal(kit_open_descriptors(), before);
    }
  }
}

/* What was read, or written, stands. */
static void one_that_is_given_up_says_what_was_done(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int i = 0; i < 30; i++) {
      volt_fd d;
      volt_op op;
      kit_one one;
      file_with(&d, k, "----", 4);
      kit_start(k, &one, (kit_way)way, volt_fd_write_future(&op, &d, "done", 4, 0));
      int result = kit_cancel(k, &one);
      assert_int_equal(op.n, result == VOLT_OK ? 4 : 0);
      if (result != VOLT_OK) assert_result(result, VOLT_ECANCELED);
      expect_content(&d, result == VOLT_OK ? "done" : "----");
      volt_fd_close(&d);
    }
  }
}

static void a_runtime_without_io_opens_nothing(void **state) {
  (void)state;
  volt_rt *none;
  volt_fd d;
  volt_op op;
  const volt_rt_config by_hand = {.flags = VOLT_RT_BY_HAND};
  assert_result(volt_rt_create(&none, &by_hand), VOLT_OK);
  volt_future *f = volt_open_future(&op, none, &d, AT_FDCWD, "/dev/null", O_RDONLY, 0);
  assert_result(volt_rt_run_until(none, f, VOLT_NO_DEADLINE), VOLT_EINVAL);
  assert_string_equal(volt_rt_io_name(none), "none");
  assert_int_equal(volt_rt_io_descriptor(none), -1);
  assert_int_equal(volt_rt_destroy(none), 0);
}

/* ---- sendfile ---- */

static void a_part_of_a_file_is_sent(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      volt_fd file;
      volt_op op;
      kit_link l;
      file_with(&file, k, "0123456789", 10);
      kit_link_out(k, &l, kind);
      volt_future *f = volt_fd_sendfile_future(&op, &l.near, &file, 2, 5);
      assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      assert_int_equal(op.n, 5);
      kit_far_expect(&l, "23456");
      assert_int_equal(position(&file), 0);
      f = volt_fd_sendfile_future(&op, &l.near, &file, 8, 100); /* the file ends before */
      assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      assert_int_equal(op.n, 2);
      kit_far_expect(&l, "89");
      volt_fd_close(&file);
      kit_unlink(&l);
    }
  }
}

static void a_large_file_is_sent_as_room_appears(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 6 << 20 };
  unsigned char *bytes = (unsigned char *)malloc(SIZE);
  REQUIRE(bytes);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 251);
  FOR_EACH_WAY(way) {
    for (int cancelled = 0; cancelled < 2; cancelled++) {
      volt_fd file;
      volt_op op;
      kit_link l;
      kit_one one;
      size_t at = 0;
      file_with(&file, k, bytes, SIZE);
      kit_link_out(k, &l, TCP4);
      kit_start(k, &one, (kit_way)way, volt_fd_sendfile_future(&op, &l.near, &file, 0, SIZE));
      for (int i = 0; kit_check(k, &one) == VOLT_PENDING && !(cancelled && i == 2); i++) {
        if (cancelled) {
          kit_take(l.far, &at, 4096);
        } else {
          (void)kit_drain(l.far, &at);
        }
      }
      int result = cancelled ? kit_cancel(k, &one) : kit_finish(k, &one);
      assert_result(result, cancelled ? VOLT_ECANCELED : VOLT_OK);
      assert_true(cancelled ? op.n < SIZE : op.n == SIZE);
      assert_int_equal(shutdown(volt_fd_number(&l.near), SHUT_WR), 0);
      while (at < op.n) (void)kit_drain(l.far, &at);
      (void)kit_drain(l.far, &at);
      assert_int_equal(at, op.n);
      volt_fd_close(&file);
      kit_unlink(&l);
    }
  }
  free(bytes);
}

/* Opens a file outside of a select, and in the same poll inside of one. */
typedef struct opener {
  volt_task task;
  volt_rt *rt;
  volt_op op;
  volt_fd file;
  volt_select select;
  volt_future *both[2];
  volt_future permit;
  volt_sem sem;
} opener;

static volt_future *opener_race(opener *self, unsigned how) {
  self->both[1] = volt_sem_acquire_future(&self->permit, &self->sem, 1);
  return volt_select_future(&self->select, self->both, 2, how);
}

static int opener_poll(volt_task *t, volt_ctx *ctx) {
  opener *self = volt_container_of(t, opener, task);
  VOLT_TASK_BEGIN(self);
  self->both[0] =
      volt_open_future(&self->op, self->rt, &self->file, AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
  VOLT_AWAIT(self, opener_race(self, VOLT_SELECT_KEEP | VOLT_SELECT_BIASED));
  VOLT_AWAIT(self, opener_race(self, VOLT_SELECT_BIASED));
  VOLT_TASK_END(self);
}

static void one_that_was_begun_goes_on_in_a_select(void **state) {
  io_kit *k = (io_kit *)*state;
  (void)snprintf(path, sizeof path, "/dev/null");
  for (int i = 0; i < 200; i++) {
    opener o;
    memset((void *)&o, 0, sizeof o);
    o.rt = k->rt;
    o.sem = (volt_sem)VOLT_SEM_INIT(1);
    volt_task_init(&o.task, opener_poll);
    assert_result(volt_spawn(k->rt, &o.task), VOLT_OK);
    volt_future f;
    volt_future_made(volt_task_join_future(&f, &o.task));
    assert_result(volt_rt_run_until(k->rt, &f, volt_deadline_s(KIT_SECONDS)), VOLT_OK);
    assert_result(volt_task_result(&o.task), VOLT_OK);
    assert_int_equal(volt_select_winner(&o.select), 0);
    assert_true(volt_fd_number(&o.file) >= 0);
    volt_fd_close(&o.file);
    volt_sem_destroy(&o.sem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(it_reads_at_an_offset),
      kit_test(it_reads_at_its_position),
      kit_test(it_writes_all_at_an_offset_and_at_its_position),
      kit_test(a_large_file_is_written_and_read_whole),
      kit_test(parts_at_an_offset),
      kit_test(many_at_once),
      kit_test(what_the_system_refuses_is_said),
      kit_test(it_is_not_waited_for_until_it_is_ready),
      kit_test(it_is_synced),
      kit_test(it_opens),
      kit_test(what_is_opened_need_not_be_a_file),
      kit_test(one_that_is_given_up_leaves_no_descriptor),
      kit_test(one_that_is_given_up_says_what_was_done),
      kit_test(one_that_was_begun_goes_on_in_a_select),
      kit_test(a_runtime_without_io_opens_nothing),
      kit_test(a_part_of_a_file_is_sent),
      kit_test(a_large_file_is_sent_as_room_appears),
  };
  return kit_main(tests);
}
