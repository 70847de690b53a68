/* cluster_ensemble_test.c: the simulated ensemble does what ZooKeeper does: by its back end alone,
 * without what volt_cluster makes of it. Each peer is a client in a host of its own. */
#include <volt/ensemble.h>

#include "require.h"
#include "unit.h"

enum { PEERS = 3, ACTIONS = 4, NAMES = 16, NAME = 64, EVENTS = 16, MS = 1000000 };
#define SECOND UINT64_C(1000000000)
#define SESSION (2 * SECOND)

typedef struct peer {
  volt_cluster_backend *b;
  uint32_t host;
  enum volt_cluster_session_event event;
  uint32_t news, agains, aways, expireds;
  uint64_t session;
  uint32_t watches[EVENTS], fired;
  bool is_done;
  volt_cluster_request r;
  volt_cluster_action a[ACTIONS];
  char names[NAMES][NAME];
  uint32_t name_count;
  char data[NAME];
} peer;

static const volt_cluster_kind *kind;
static volt_ensemble *e;
static peer peers[PEERS];
static uint64_t hash; /* of all that was traced */
static uint32_t changes;

/* ---- the world ---- */

static void traced(void *ctx, const char *text) {
  (void)ctx;
  hash = (hash ^ volt_ensemble_now_ns(e)) * UINT64_C(0x100000001b3);
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
}

static void changed(void *ctx, const volt_ensemble_change *change) {
  (void)ctx;
  REQUIRE(change->path[0] == '/');
  changes += 1;
}

static void on_session(void *ctx, enum volt_cluster_session_event event, uint64_t session,
                       uint64_t session_ns, uint64_t since_ns) {
  peer *p = (peer *)ctx;
  p->event = event;
  p->news += event == VOLT_CLUSTER_SESSION_NEW;
  p->agains += event == VOLT_CLUSTER_SESSION_AGAIN;
  p->aways += event == VOLT_CLUSTER_SESSION_AWAY;
  p->expireds += event == VOLT_CLUSTER_SESSION_EXPIRED;
  p->session = session;
  bool is_connected = event == VOLT_CLUSTER_SESSION_NEW || event == VOLT_CLUSTER_SESSION_AGAIN;
  REQUIRE(session_ns > 0 && (since_ns != 0) == is_connected);
}

static void on_event(void *ctx, uint32_t watch) {
  peer *p = (peer *)ctx;
  REQUIRE(p->fired < EVENTS);
  p->watches[p->fired++] = watch;
}

static void say(void *ctx, enum volt_cluster_level level, const char *text) {
  (void)ctx;
  (void)level;
  (void)text;
}

static void process_all(void) {
  for (uint32_t i = 0; i < PEERS; i++) {
    if (peers[i].b) kind->process(peers[i].b);
  }
}

/* A wait sets the timers of the clients. */
static void step(uint64_t until_ns) {
  for (uint32_t i = 0; i < PEERS; i++) {
    if (peers[i].b) volt_future_cancel(kind->wait_future(peers[i].b, VOLT_NO_DEADLINE));
  }
  volt_ensemble_step(e, until_ns);
  process_all();
}

static void run(uint64_t for_ns) {
  uint64_t until_ns = volt_ensemble_now_ns(e) + for_ns;
  while (volt_ensemble_now_ns(e) < until_ns) step(until_ns);
}

static void begin_with(volt_ensemble_config *config) {
  memset(peers, 0, sizeof peers);
  hash = changes = 0;
  config->traced = traced;
  config->changed = changed;
  kind = volt_cluster_simulated();
  assert_result(volt_ensemble_create(&e, config), VOLT_OK);
  for (uint32_t i = 0; i < PEERS; i++) {
    peer *p = &peers[i];
    p->host = volt_ensemble_host_add(e);
    volt_cluster_config of_host = {
        .rt = volt_ensemble_host_rt(e, p->host), .of_kind = e, .session_ns = SESSION};
    volt_cluster_client client = {
        .on_session = on_session, .on_event = on_event, .log = say, .ctx = p};
    assert_result(kind->open(&p->b, &of_host, &client), VOLT_OK);
    kind->connect(p->b);
  }
  run(SECOND / 2);
  for (uint32_t i = 0; i < PEERS; i++) assert_int_equal(peers[i].news, 1);
}

static void begin(void) {
  volt_ensemble_config config = {.seed = 1, .hop_more_ns = MS / 2};
  begin_with(&config);
}

static void end(void) {
  for (uint32_t i = 0; i < PEERS; i++) {
    if (!peers[i].b) continue;
    bool is_away = peers[i].event == VOLT_CLUSTER_SESSION_AWAY;
    volt_future *f = kind->close_future(peers[i].b);
    assert_int_equal(volt_ensemble_run_future(e, f, volt_ensemble_now_ns(e) + 2 * SECOND),
                     is_away ? (int)VOLT_CLUSTER_EAWAY : VOLT_OK);
    kind->destroy(peers[i].b);
  }
  volt_ensemble_destroy(e);
}

/* ---- requests ---- */

static void is_done(volt_cluster_request *r) {
  peer *p = volt_container_of(r, peer, r);
  REQUIRE(!p->is_done);
  p->is_done = true;
  p->name_count = r->name_count;
  for (uint32_t i = 0; i < r->name_count; i++) {
    REQUIRE(i < NAMES && strlen(r->names[i]) < NAME);
    strcpy(p->names[i], r->names[i]);
  }
  REQUIRE(r->size < NAME);
  if (r->size > 0) memcpy(p->data, r->data, r->size);
  p->data[r->size] = 0;
}

static void ask(peer *p, enum volt_cluster_request_kind request, const char *path, uint32_t watch) {
  memset(&p->r, 0, sizeof p->r);
  p->r.kind = request;
  p->r.watch = watch;
  p->r.done = is_done;
  p->r.actions = p->a;
  p->is_done = false;
  if (path) strcpy(p->r.path, path);
}

static int finish(peer *p) {
  kind->submit(p->b, &p->r);
  uint64_t until_ns = volt_ensemble_now_ns(e) + 10 * SECOND;
  while (!p->is_done && volt_ensemble_now_ns(e) < until_ns) step(until_ns);
  REQUIRE(p->is_done);
  return p->r.result;
}

static volt_cluster_action *add(peer *p, enum volt_cluster_action_kind action, const char *path,
                                const char *data) {
  volt_cluster_action *a = &p->a[p->r.count++];
  memset(a, 0, sizeof *a);
  a->kind = action;
  a->data = data;
  a->size = data ? (uint32_t)strlen(data) : 0;
  a->version = -1;
  strcpy(a->path, path);
  return a;
}

static int create(peer *p, const char *path, bool is_ephemeral, bool is_sequential) {
  ask(p, VOLT_CLUSTER_WRITE, NULL, 0);
  volt_cluster_action *a = add(p, VOLT_CLUSTER_CREATE, path, "x");
  a->is_ephemeral = is_ephemeral;
  a->is_sequential = is_sequential;
  return finish(p);
}

static int delete_(peer *p, const char *path) {
  ask(p, VOLT_CLUSTER_WRITE, NULL, 0);
  add(p, VOLT_CLUSTER_DELETE, path, NULL);
  return finish(p);
}

static int read_(peer *p, enum volt_cluster_request_kind request, const char *path,
                 uint32_t watch) {
  ask(p, request, path, watch);
  return finish(p);
}

static bool is_there(const char *path) {
  volt_cluster_node node;
  return volt_ensemble_look(e, path, &node, NULL, NULL) == VOLT_OK;
}

/* ---- nodes ---- */

static void nodes_are_made_read_and_deleted(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", false, false), VOLT_OK);
  assert_true(p->a[0].node.created > 0);
  assert_int_equal(create(p, "/a", false, false), VOLT_CLUSTER_EEXISTS);
  assert_int_equal(create(p, "/b/c", false, false), VOLT_CLUSTER_ENONODE);
  assert_int_equal(create(p, "/a/n-", false, true), VOLT_OK);
  assert_string_equal(p->a[0].path, "/a/n-0000000000");
  assert_int_equal(create(p, "/a/n-", true, true), VOLT_OK);
  assert_string_equal(p->a[0].path, "/a/n-0000000001");
  assert_int_equal(p->a[0].node.owner, p->session);
  assert_int_equal(read_(p, VOLT_CLUSTER_CHILDREN, "/a", 0), VOLT_OK);
  assert_int_equal(p->name_count, 2);
  assert_int_equal(read_(p, VOLT_CLUSTER_READ, "/a", 0), VOLT_OK);
  assert_string_equal(p->data, "x");
  assert_int_equal(delete_(p, "/a"), VOLT_CLUSTER_ENOTEMPTY);
  assert_int_equal(delete_(p, "/a/n-0000000000"), VOLT_OK);
  assert_int_equal(delete_(p, "/a/n-0000000000"), VOLT_CLUSTER_ENONODE);
  assert_int_equal(changes, 4);
  end();
}

static void a_transaction_is_all_or_nothing(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", false, false), VOLT_OK);
  ask(p, VOLT_CLUSTER_WRITE, NULL, 0);
  add(p, VOLT_CLUSTER_SET, "/a", "new");
  add(p, VOLT_CLUSTER_CREATE, "/a/b", "");
  add(p, VOLT_CLUSTER_DELETE, "/c", NULL);
  assert_int_equal(finish(p), VOLT_CLUSTER_ENONODE);
  assert_int_equal(p->a[0].result, VOLT_CLUSTER_EUNDONE);
  assert_int_equal(p->a[2].result, VOLT_CLUSTER_ENONODE);
  assert_false(is_there("/a/b"));
  assert_int_equal(read_(p, VOLT_CLUSTER_READ, "/a", 0), VOLT_OK);
  assert_string_equal(p->data, "x");
  ask(p, VOLT_CLUSTER_WRITE, NULL, 0);
  add(p, VOLT_CLUSTER_SET, "/a", "new")->version = 0;
  add(p, VOLT_CLUSTER_CHECK, "/a", NULL);
  add(p, VOLT_CLUSTER_CREATE, "/a/b", "")->is_sequential = true;
  add(p, VOLT_CLUSTER_CREATE, "/a/b", "")->is_sequential = true;
  assert_int_equal(finish(p), VOLT_OK);
  assert_string_equal(p->a[3].path, "/a/b0000000001");
  assert_int_equal(p->a[2].node.created, p->a[3].node.created);
  ask(p, VOLT_CLUSTER_WRITE, NULL, 0);
  add(p, VOLT_CLUSTER_SET, "/a", "newer")->version = 0;
  assert_int_equal(finish(p), VOLT_CLUSTER_EVERSION);
  end();
}

static void sequence_sticks_or_wraps(void **state) {
  (void)state;
  for (uint32_t wraps = 0; wraps < 2; wraps++) {
    volt_ensemble_config config = {.seed = 1, .sequence = INT32_MAX, .sequence_wraps = wraps};
    begin_with(&config);
    peer *p = &peers[0];
    assert_int_equal(create(p, "/a", false, false), VOLT_OK);
    assert_int_equal(create(p, "/a/q", false, true), VOLT_OK);
    assert_string_equal(p->a[0].path, "/a/q2147483647");
    assert_int_equal(create(p, "/a/q", false, true), wraps ? VOLT_OK : (int)VOLT_CLUSTER_EEXISTS);
    if (wraps) assert_string_equal(p->a[0].path, "/a/q-2147483648");
    assert_int_equal(volt_ensemble_set_sequence(e, "/a", 7), VOLT_OK);
    assert_int_equal(create(p, "/a/q", false, true), VOLT_OK);
    assert_string_equal(p->a[0].path, "/a/q0000000007");
    end();
  }
}

/* ---- watches ---- */

static void a_watch_fires_once(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0], *other = &peers[1];
  assert_int_equal(create(p, "/a", false, false), VOLT_OK);
  assert_int_equal(read_(p, VOLT_CLUSTER_CHILDREN, "/a", 1), VOLT_OK);
  assert_int_equal(read_(p, VOLT_CLUSTER_STAT, "/a/b", 2), VOLT_CLUSTER_ENONODE);
  assert_int_equal(read_(p, VOLT_CLUSTER_READ, "/a", 3), VOLT_OK);
  assert_int_equal(read_(p, VOLT_CLUSTER_READ, "/a", 3), VOLT_OK);
  assert_int_equal(create(other, "/a/b", false, false), VOLT_OK);
  assert_int_equal(create(other, "/a/c", false, false), VOLT_OK);
  run(SECOND / 10);
  assert_int_equal(p->fired, 2);
  assert_int_equal(p->watches[0] + p->watches[1], 3);
  assert_int_equal(volt_ensemble_set_data(e, "/a", "y", 1), VOLT_OK);
  run(SECOND / 10);
  assert_int_equal(p->fired, 3);
  assert_int_equal(p->watches[2], 3);
  end();
}

static void a_watch_is_set_again_after_a_disconnect(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0], *other = &peers[1];
  assert_int_equal(create(p, "/a", false, false), VOLT_OK);
  assert_int_equal(read_(p, VOLT_CLUSTER_STAT, "/a", 1), VOLT_OK);
  assert_int_equal(read_(p, VOLT_CLUSTER_CHILDREN, "/a", 2), VOLT_OK);
  volt_ensemble_host_cut(e, p->host);
  volt_ensemble_host_disconnect(e, p->host);
  assert_int_equal(create(other, "/a/b", false, false), VOLT_OK); /* it misses that */
  volt_ensemble_host_heal(e, p->host);
  volt_ensemble_host_disconnect(e, p->host);
  run(SECOND);
  assert_int_equal(p->agains, 1);
  assert_int_equal(p->fired, 1);
  assert_int_equal(p->watches[0], 2);
  assert_int_equal(delete_(other, "/a/b"), VOLT_OK);
  assert_int_equal(delete_(other, "/a"), VOLT_OK);
  run(SECOND / 10);
  assert_int_equal(p->fired, 2);
  assert_int_equal(p->watches[1], 1);
  end();
}

/* ---- what is lost ---- */

static void a_request_or_an_answer_is_lost(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  volt_ensemble_host_lose_request(e, p->host);
  assert_int_equal(create(p, "/a", false, false), VOLT_CLUSTER_EAWAY);
  run(SECOND / 2);
  assert_false(is_there("/a"));
  volt_ensemble_host_lose_answer(e, p->host);
  assert_int_equal(create(p, "/a", false, false), VOLT_CLUSTER_EAWAY);
  run(SECOND / 2);
  assert_true(is_there("/a"));
  assert_int_equal(p->aways, 2);
  assert_int_equal(p->agains, 2);
  assert_int_equal(create(p, "/a", false, false), VOLT_CLUSTER_EEXISTS);
  end();
}

static void own_writes_are_seen(void **state) {
  (void)state;
  volt_ensemble_config config = {.seed = 5, .hop_more_ns = 20 * MS};
  begin_with(&config);
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", false, false), VOLT_OK);
  for (uint32_t i = 1; i <= 10; i++) { /* whichever server it is connected to by then */
    assert_int_equal(create(p, "/a/n", false, true), VOLT_OK);
    if (i % 3 == 0) volt_ensemble_host_disconnect(e, p->host);
    run(SECOND / 2);
    assert_int_equal(read_(p, VOLT_CLUSTER_CHILDREN, "/a", 0), VOLT_OK);
    assert_int_equal(p->name_count, i);
  }
  assert_true(p->agains >= 3);
  end();
}

/* ---- sessions ---- */

static void keep_alive(peer *p, uint64_t for_ns) {
  uint64_t until_ns = volt_ensemble_now_ns(e) + for_ns;
  while (volt_ensemble_now_ns(e) < until_ns) {
    assert_int_equal(read_(p, VOLT_CLUSTER_TOUCH, NULL, 0), VOLT_OK);
    run(SESSION / 6);
  }
}

static void a_session_ends_with_its_nodes(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0], *other = &peers[1];
  assert_int_equal(create(p, "/gone", true, false), VOLT_OK);
  assert_int_equal(create(other, "/stays", true, false), VOLT_OK);
  assert_int_equal(create(p, "/gone/child", false, false), VOLT_CLUSTER_ENONODE);
  volt_ensemble_host_cut(e, p->host);
  keep_alive(other, SESSION * 5 / 6);
  assert_true(is_there("/gone"));
  keep_alive(other, SESSION);
  assert_false(is_there("/gone"));
  assert_true(is_there("/stays"));
  volt_ensemble_host_heal(e, p->host);
  keep_alive(other, SESSION * 2);
  assert_int_equal(p->expireds, 1);
  kind->connect(p->b);
  run(SECOND);
  assert_int_equal(p->news, 2);
  end();
}

static void a_session_that_is_touched_lives(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", true, false), VOLT_OK);
  keep_alive(p, SESSION * 4);
  assert_true(is_there("/a"));
  assert_int_equal(p->expireds, 0);
  assert_int_equal(volt_ensemble_expire(e, p->session), VOLT_OK);
  run(SECOND);
  assert_false(is_there("/a"));
  assert_int_equal(p->expireds, 1);
  end();
}

static void closing_ends_a_session_at_once(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", true, false), VOLT_OK);
  volt_future *f = kind->close_future(p->b);
  assert_result(volt_ensemble_run_future(e, f, volt_ensemble_now_ns(e) + SECOND), VOLT_OK);
  assert_false(is_there("/a"));
  kind->destroy(p->b);
  p->b = NULL;
  end();
}

/* ---- servers ---- */

static void another_server_leads_when_the_leader_dies(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", true, false), VOLT_OK);
  uint64_t before = p->a[0].node.created;
  uint32_t leader = volt_ensemble_leader(e);
  volt_ensemble_server_kill(e, leader);
  assert_int_equal(volt_ensemble_leader(e), VOLT_ENSEMBLE_NONE);
  run(SECOND);
  assert_int_not_equal(volt_ensemble_leader(e), VOLT_ENSEMBLE_NONE);
  assert_int_not_equal(volt_ensemble_leader(e), leader);
  assert_true(is_there("/a"));
  assert_int_equal(create(p, "/b", false, false), VOLT_OK);
  assert_true(p->a[0].node.created > before);
  volt_ensemble_server_kill(e, volt_ensemble_leader(e));
  run(2 * SECOND);
  assert_int_equal(volt_ensemble_leader(e), VOLT_ENSEMBLE_NONE); /* one is no majority */
  volt_ensemble_server_start(e, leader);
  run(2 * SECOND);
  assert_int_not_equal(volt_ensemble_leader(e), VOLT_ENSEMBLE_NONE);
  assert_true(is_there("/b"));
  end();
}

static void a_server_that_is_cut_off_answers_reads_for_a_while(void **state) {
  (void)state;
  volt_ensemble_config config = {.seed = 1, .sync_limit = 2}; /* 1 s, half the session */
  begin_with(&config);
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", false, false), VOLT_OK);
  while (volt_ensemble_server_of(e, p->host) == volt_ensemble_leader(e)) {
    volt_ensemble_host_disconnect(e, p->host);
    run(SECOND / 4);
  }
  uint32_t server = volt_ensemble_server_of(e, p->host);
  volt_ensemble_server_cut(e, server);
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(read_(p, VOLT_CLUSTER_CHILDREN, "/", 0), VOLT_OK);
    run(SECOND / 4);
  }
  uint32_t aways = p->aways;
  assert_int_equal(p->agains, aways);
  assert_int_equal(volt_ensemble_create_node(e, "/new", "", 0), VOLT_OK);
  run(SECOND / 10);
  assert_true(is_there("/new"));
  assert_int_equal(read_(p, VOLT_CLUSTER_STAT, "/new", 0), VOLT_CLUSTER_ENONODE); /* old */
  run(SECOND);
  assert_int_equal(p->aways, aways + 1);
  assert_int_equal(p->agains, aways + 1);
  assert_int_not_equal(volt_ensemble_server_of(e, p->host), server);
  assert_int_equal(read_(p, VOLT_CLUSTER_STAT, "/new", 0), VOLT_OK);
  end();
}

static void new_servers_know_nothing(void **state) {
  (void)state;
  begin();
  peer *p = &peers[0];
  assert_int_equal(create(p, "/a", true, false), VOLT_OK);
  uint64_t created = p->a[0].node.created;
  run(SECOND);
  volt_ensemble_server_kill(e, volt_ensemble_leader(e));
  run(SECOND);
  volt_ensemble_replace(e);
  assert_false(is_there("/a"));
  run(10 * SECOND);
  assert_int_equal(p->expireds, 1);
  kind->connect(p->b);
  run(SECOND);
  assert_int_equal(create(p, "/a", true, false), VOLT_OK);
  assert_true(p->a[0].node.created <= created);
  end();
}

/* ---- clocks ---- */

static void clocks_stand_drift_and_go_on(void **state) {
  (void)state;
  begin();
  uint32_t host = peers[0].host;
  uint64_t boot_ns = volt_ensemble_host_now_ns(e, host);
  volt_ensemble_host_drift(e, host, 10000);
  run(SECOND);
  assert_int_equal(volt_ensemble_host_now_ns(e, host) - boot_ns, SECOND + SECOND / 100);
  volt_ensemble_host_drift(e, host, 0);
  uint64_t rt_ns = volt_rt_now_ns(volt_ensemble_host_rt(e, host));
  volt_ensemble_host_suspend(e, host);
  boot_ns = volt_ensemble_host_now_ns(e, host);
  run(SECOND);
  volt_ensemble_host_resume(e, host);
  run(MS);
  assert_int_equal(volt_ensemble_host_now_ns(e, host) - boot_ns, SECOND + MS);
  assert_true(volt_rt_now_ns(volt_ensemble_host_rt(e, host)) - rt_ns < 2 * SECOND);
  end();
}

/* ---- the same seed ---- */

static uint64_t a_run(uint64_t seed) {
  volt_ensemble_config config = {.seed = seed, .hop_more_ns = 3 * MS, .log_more_ns = 5 * MS};
  begin_with(&config);
  for (uint32_t i = 0; i < 30; i++) {
    peer *p = &peers[i % PEERS];
    (void)create(p, "/n", i % 2, true);
    if (i % 5 == 0) volt_ensemble_host_disconnect(e, p->host);
    if (i == 10) volt_ensemble_server_kill(e, 0);
    if (i == 20) volt_ensemble_server_start(e, 0);
  }
  end();
  return hash;
}

static void the_same_seed_is_the_same_run(void **state) {
  (void)state;
  assert_true(a_run(3) == a_run(3));
  assert_true(a_run(3) != a_run(4));
}

/* ---- what is slow ---- */

static uint64_t time_of_a_write(peer *p) {
  uint64_t from_ns = volt_ensemble_now_ns(e);
  assert_result(create(p, "/slow-", false, true), VOLT_OK);
  return volt_ensemble_now_ns(e) - from_ns;
}

static void links_are_slow(void **state) {
  (void)state;
  begin();
  uint64_t usual_ns = time_of_a_write(&peers[0]);
  assert_in_range(usual_ns, 1, 20 * MS);
  volt_ensemble_host_slow(e, peers[0].host, 100 * MS, 30 * MS, 20 * MS);
  for (int i = 0; i < 5; i++) {
    assert_in_range(time_of_a_write(&peers[0]), 130 * MS, 170 * MS + 20 * MS);
    assert_in_range(time_of_a_write(&peers[1]), 1, 20 * MS); /* the others' are not */
  }
  volt_ensemble_host_slow(e, peers[0].host, 0, 0, 0);
  assert_in_range(time_of_a_write(&peers[0]), 1, 20 * MS);
  end();
}

static void disks_are_slow(void **state) {
  (void)state;
  begin();
  uint32_t leader = volt_ensemble_leader(e);
  volt_ensemble_server_slow(e, leader, 200 * MS); /* a majority is quick without it */
  for (uint32_t i = 0; i < PEERS; i++) {
    bool is_there_slow = volt_ensemble_server_of(e, peers[i].host) == leader;
    if (!is_there_slow) assert_in_range(time_of_a_write(&peers[i]), 1, 20 * MS);
  }
  for (uint32_t i = 0; i < 3; i++) volt_ensemble_server_slow(e, i, 200 * MS);
  for (uint32_t i = 0; i < PEERS; i++)
    assert_in_range(time_of_a_write(&peers[i]), 200 * MS, 220 * MS);
  for (uint32_t i = 0; i < 3; i++) volt_ensemble_server_slow(e, i, 0);
  run(SECOND / 2);
  assert_in_range(time_of_a_write(&peers[0]), 1, 20 * MS);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_are_made_read_and_deleted),
      cmocka_unit_test(a_transaction_is_all_or_nothing),
      cmocka_unit_test(sequence_sticks_or_wraps),
      cmocka_unit_test(a_watch_fires_once),
      cmocka_unit_test(a_watch_is_set_again_after_a_disconnect),
      cmocka_unit_test(a_request_or_an_answer_is_lost),
      cmocka_unit_test(own_writes_are_seen),
      cmocka_unit_test(a_session_ends_with_its_nodes),
      cmocka_unit_test(a_session_that_is_touched_lives),
      cmocka_unit_test(closing_ends_a_session_at_once),
      cmocka_unit_test(another_server_leads_when_the_leader_dies),
      cmocka_unit_test(a_server_that_is_cut_off_answers_reads_for_a_while),
      cmocka_unit_test(new_servers_know_nothing),
      cmocka_unit_test(clocks_stand_drift_and_go_on),
      cmocka_unit_test(the_same_seed_is_the_same_run),
      cmocka_unit_test(links_are_slow),
      cmocka_unit_test(disks_are_slow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
