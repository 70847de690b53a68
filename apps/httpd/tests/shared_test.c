/* shared_test.c: what connections share, without a connection: the pool, paths below a directory,
 * the counters. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "counters.h"
#include "pool.h"

/* ---- the pool ---- */

static void the_last_piece_comes_first(void **state) {
  (void)state;
  struct pool pool;
  pool_init(&pool, 3, 100);
  char *a = pool_take(&pool), *b = pool_take(&pool), *c = pool_take(&pool);
  assert_true(a != b && b != c && a != c);
  memset(a, 1, 100);
  memset(b, 2, 100);
  memset(c, 3, 100);
  assert_int_equal(a[99] + b[99] * 10 + c[99] * 100, 321);
  pool_give(&pool, b);
  pool_give(&pool, a);
  assert_ptr_equal(pool_take(&pool), a);
  assert_ptr_equal(pool_take(&pool), b);
  for (int i = 0; i < 1000; i++) {
    pool_give(&pool, a);
    assert_ptr_equal(pool_take(&pool), a);
  }
  pool_destroy(&pool);
}

enum { THREADS = 4, ROUNDS = 20000 };

static struct pool shared;
static atomic_uint taken_twice;

/* Holds two pieces at a time, and marks them: another owner would see the mark. */
static void *take_and_give(void *arg) {
  (void)arg;
  for (int i = 0; i < ROUNDS; i++) {
    atomic_int *pieces[2];
    for (int k = 0; k < 2; k++) {
      pieces[k] = pool_take(&shared);
      if (atomic_exchange(pieces[k], 1) != 0) atomic_fetch_add(&taken_twice, 1);
    }
    for (int k = 0; k < 2; k++) {
      atomic_store(pieces[k], 0);
      pool_give(&shared, pieces[k]);
    }
  }
  return NULL;
}

static void no_piece_has_two_owners(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  pool_init(&shared, THREADS * 2, sizeof(atomic_int)); /* none is left at times */
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&taken_twice), 0);
  void *all[THREADS * 2];
  for (int i = 0; i < THREADS * 2; i++) {
    all[i] = pool_take(&shared);
    for (int k = 0; k < i; k++) assert_ptr_not_equal(all[i], all[k]);
  }
  pool_destroy(&shared);
}

/* ---- below a directory ---- */

static char root[] = "/tmp/httpd-test.XXXXXX";

static void make(const char *path, const char *content) {
  char name[256];
  snprintf(name, sizeof name, "%s/%s", root, path);
  if (content == NULL) {
    assert_int_equal(mkdir(name, 0755), 0);
    return;
  }
  FILE *file = fopen(name, "we");
  assert_non_null(file);
  fputs(content, file);
  fclose(file);
}

static void make_link(const char *to, const char *path) {
  char name[256];
  snprintf(name, sizeof name, "%s/%s", root, path);
  assert_int_equal(symlink(to, name), 0);
}

static int make_tree(void **state) {
  (void)state;
  if (mkdtemp(root) == NULL) return -1;
  make("site", NULL);
  make("site/a", NULL);
  make("site/a/b", "content");
  make("outside", "secret");
  make_link("a/b", "site/inside");
  make_link("../outside", "site/up");
  make_link("/etc/passwd", "site/absolute");
  make_link("a", "site/door");
  make_link("..", "site/a/out");
  return 0;
}

static int remove_tree(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -r '%s'", root);
  return system(command);
}

static int site(void) {
  char name[256];
  snprintf(name, sizeof name, "%s/site", root);
  int fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  assert_true(fd >= 0);
  return fd;
}

/* Returns 0 if it is opened and has the content, or the errno. */
static int try_open(int (*how)(int directory, const char *path), const char *path) {
  char bytes[8] = "";
  int directory = site(), fd = how(directory, path);
  close(directory);
  if (fd < 0) return -fd;
  assert_int_equal(read(fd, bytes, sizeof bytes), 7);
  assert_memory_equal(bytes, "content", 7);
  close(fd);
  return 0;
}

static int beneath(int directory, const char *path) {
  return beneath_open(directory, path, O_RDONLY, BENEATH_WAIT);
}

static int walk(int directory, const char *path) {
  return beneath_walk(directory, path, O_RDONLY);
}

static void links_stay_below_the_root(void **state) {
  (void)state;
  int probe = site();
  bool walks = beneath_open(probe, "inside", O_RDONLY | O_CLOEXEC, BENEATH_WAIT) == -ELOOP;
  close(probe);
  assert_int_equal(try_open(beneath, "a/b"), 0);
  assert_int_equal(try_open(beneath, "inside"), walks ? ELOOP : 0);
  if (!walks) assert_int_equal(try_open(beneath, "door/b"), 0);
  if (!walks) assert_int_equal(try_open(beneath, "a/out/a/b"), 0);
  assert_int_not_equal(try_open(beneath, "up"), 0);
  assert_int_not_equal(try_open(beneath, "absolute"), 0);
  assert_int_not_equal(try_open(beneath, "a/out/../outside"), 0);
  assert_int_equal(try_open(beneath, "missing"), ENOENT);
  assert_int_equal(try_open(beneath, "a/b/c"), ENOTDIR);
}

static void a_walk_follows_no_link(void **state) {
  (void)state;
  char deep[2000] = "";
  assert_int_equal(try_open(walk, "a/b"), 0);
  assert_int_equal(try_open(walk, "inside"), ELOOP);
  assert_int_equal(try_open(walk, "up"), ELOOP);
  assert_int_equal(try_open(walk, "absolute"), ELOOP);
  assert_int_equal(try_open(walk, "door/b"), ENOTDIR);
  assert_int_equal(try_open(walk, "a/out/a/b"), ENOTDIR);
  assert_int_equal(try_open(walk, "missing/b"), ENOENT);
  memset(deep, 'x', 300);
  assert_int_equal(try_open(walk, deep), ENAMETOOLONG);
}

static void what_is_in_memory_needs_no_wait(void **state) {
  (void)state;
  int directory = site();
  int fd = beneath_open(directory, "a/b", O_RDONLY, BENEATH_NOW);
  if (fd >= 0) close(fd);
  assert_true(fd >= 0 || fd == -EAGAIN); /* older systems: it always has to wait */
  fd = beneath_open(directory, "up", O_RDONLY, BENEATH_NOW);
  assert_true(fd < 0);
  close(directory);
}

/* ---- counters ---- */

static struct counters counters;

static void *count_some(void *arg) {
  (void)arg;
  for (int i = 0; i < 1000; i++) count(&counters, COUNT_2XX, 2);
  return NULL;
}

static void threads_count_on_their_own(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  char text[STATUS_MAX];
  struct writer to = {text, text + sizeof text - 1, false};
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, count_some, NULL), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  count(&counters, COUNT_4XX, 1);
  assert_int_equal(counters_sum(&counters, COUNT_2XX), THREADS * 2000);
  assert_int_equal(counters_requests(&counters), THREADS * 2000 + 1);
  counters_write(&to, &counters, &(struct about){.io = "epoll", .workers = 2});
  *to.at = '\0';
  assert_false(to.is_cut);
  assert_non_null(strstr(text, "\"requests\": 8001,"));
  assert_non_null(strstr(text, "\"io\": \"epoll\","));
}

static void a_status_of_large_numbers_fits(void **state) {
  (void)state;
  char text[STATUS_MAX];
  static struct counters large;
  struct writer to = {text, text + sizeof text, false};
  for (int i = 0; i < COUNTERS; i++) count(&large, (enum counter)i, UINT64_MAX);
  counters_write(&to, &large, &(struct about){.io = "simulated", .uptime_s = UINT64_MAX});
  assert_false(to.is_cut);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_piece_comes_first),
      cmocka_unit_test(no_piece_has_two_owners),
      cmocka_unit_test_setup_teardown(links_stay_below_the_root, make_tree, NULL),
      cmocka_unit_test(a_walk_follows_no_link),
      cmocka_unit_test_setup_teardown(what_is_in_memory_needs_no_wait, NULL, remove_tree),
      cmocka_unit_test(threads_count_on_their_own),
      cmocka_unit_test(a_status_of_large_numbers_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
