/* tls_context_test.c: contexts: what cannot be loaded, names, tickets and their keys, sessions, the log of
 * keys; and that a reload loses no connection and keeps no memory.
 *
 *   unit.tls_context [reloads]
 *
 * BACK ENDS: none */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkstemp, setenv */
#endif
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/tls.h>

#include "hang.h"
#include "tls_scene.h"

static scene s;
static atomic_long held_bytes; /* that OpenSSL has */
static int wanted_reloads = 1000;

/* Each block has its size in front. */
static void *count_alloc(size_t size, const char *file, int line) {
  (void)file, (void)line;
  size_t *block = (size_t *)malloc(size + 16);
  if (!block) return NULL;
  *block = size;
  atomic_fetch_add(&held_bytes, (long)size);
  return block + 2;
}

static void count_free(void *p, const char *file, int line) {
  (void)file, (void)line;
  if (!p) return;
  size_t *block = (size_t *)p - 2;
  atomic_fetch_sub(&held_bytes, (long)*block);
  free(block);
}

static void *count_realloc(void *p, size_t size, const char *file, int line) {
  if (!p) return count_alloc(size, file, line);
  void *fresh = count_alloc(size, file, line);
  size_t before = ((size_t *)p)[-2];
  if (fresh) memcpy(fresh, p, before < size ? before : size);
  if (fresh) count_free(p, file, line);
  return fresh;
}

/* ---- what cannot be loaded ---- */

static void expect_why(enum volt_tls_role role, volt_tls_config config, int result,
                       const char *words) {
  char why[200] = "x";
  volt_tls_context *context = NULL;
  assert_result(volt_tls_context_create(&context, role, &config, why, sizeof why), result);
  assert_null(context);
  if (!strstr(why, words)) fprintf(stderr, "\"%s\" is not in \"%s\"\n", words, why);
  assert_non_null(strstr(why, words));
}

static void what_cannot_be_loaded_is_said(void **state) {
  (void)state;
  volt_tls_config server = scene_server_config(), none;
  memset(&none, 0, sizeof none);
  expect_why(VOLT_TLS_SERVER, none, VOLT_EINVAL, "a server needs a certificate");
  volt_tls_config c = server;
  c.certificates = "/nowhere/chain.pem";
  expect_why(VOLT_TLS_SERVER, c, VOLT_ERRNO(ENOENT), "/nowhere/chain.pem: No such file");
  c.certificates = "/proc/self/cmdline"; /* no PEM */
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL,
             "certificate in /proc/self/cmdline: there is none in it");
  c = server;
  c.key = the_ca.client.key_pem;
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "cannot be used with the certificate");
  c.key = NULL;
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "key in the text");
  c = server;
  c.alpn = "h2,,http/1.1";
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "is no list of names");
  c.alpn = NULL;
  c.ciphers = "NOTHING";
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "no cipher match");
  c = server;
  c.least = VOLT_TLS_1_3, c.most = VOLT_TLS_1_2;
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "least is 3 and most 2");
  c = server;
  c.flags = VOLT_TLS_NO_CHECKS;
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "unknown flags");
  none.key = the_ca.client.key_pem;
  expect_why(VOLT_TLS_CLIENT, none, VOLT_EINVAL, "a key without a certificate");
  none.key = NULL;
  none.revoked = "-----BEGIN nothing";
  expect_why(VOLT_TLS_CLIENT, none, VOLT_EINVAL, "CRL in the text");
  assert_result(volt_tls_context_create(NULL, VOLT_TLS_CLIENT, NULL, NULL, 0), VOLT_EINVAL);
}

/* To open one of these, or to read it, may take for ever: a FIFO that nobody writes to. */
static void what_is_no_regular_file_is_refused(void **state) {
  (void)state;
  char directory[] = "/tmp/volt-tls-XXXXXX", fifo[sizeof directory + 5];
  assert_non_null(mkdtemp(directory));
  snprintf(fifo, sizeof fifo, "%s/fifo", directory);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  const char *paths[] = {fifo, directory, "/dev/zero"};
  volt_tls_context *context = NULL;
  volt_tls_config server = scene_server_config(), client = scene_client_config(), c;
  assert_result(volt_tls_context_create(&context, VOLT_TLS_SERVER, &server, NULL, 0), VOLT_OK);
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    char words[100], why[200];
    snprintf(words, sizeof words, "%s: it is no regular file", paths[i]);
    c = server, c.certificates = paths[i];
    expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, words);
    assert_result(volt_tls_context_reload(context, &c, why, sizeof why), VOLT_EINVAL);
    assert_string_equal(why, words);
    c = server, c.key = paths[i];
    expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "the file of the key: it is no regular file");
    c = client, c.trust = paths[i];
    expect_why(VOLT_TLS_CLIENT, c, VOLT_EINVAL, words);
    c = client, c.revoked = paths[i];
    expect_why(VOLT_TLS_CLIENT, c, VOLT_EINVAL, words);
  }
  volt_tls_context_drop(context);
  assert_int_equal(unlink(fifo) | rmdir(directory), 0);
}

static void a_locked_key_asks_no_terminal(void **state) {
  (void)state;
  BIO *bio = BIO_new(BIO_s_mem());
  static unsigned char word[] = "word";
  assert_int_equal(
      PEM_write_bio_PrivateKey(bio, the_ca.server.key, EVP_aes_128_cbc(), word, 4, NULL, NULL), 1);
  char *locked = ca_text(bio);
  volt_tls_config c = scene_server_config();
  c.key = locked;
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "locked by a passphrase");
  free(locked);
}

static void a_locked_certificate_asks_no_terminal(void **state) {
  (void)state;
  char text[4000];
  snprintf(text, sizeof text,
           "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n"
           "DEK-Info: AES-128-CBC,00000000000000000000000000000000\n\n%s",
           strchr(the_ca.server.pem, '\n') + 1);
  volt_tls_config c = scene_server_config();
  c.certificates = text;
  expect_why(VOLT_TLS_SERVER, c, VOLT_EINVAL, "certificate in the text");
}

/* Wherever a second root is cut off, it is not just left out. */
static void a_text_that_is_cut_off_is_refused(void **state) {
  (void)state;
  const char *root = the_ca.root.pem;
  volt_tls_config c = scene_client_config();
  for (size_t cut = 1; cut < strlen(root) - 1; cut++) {
    char text[6000];
    snprintf(text, sizeof text, "%s%.*s", root, (int)cut, root);
    c.trust = text;
    expect_why(VOLT_TLS_CLIENT, c, VOLT_EINVAL, "root in the text");
  }
}

/* A key with something in front of it, or without its first line, is in no words. */
static void no_key_is_in_the_words(void **state) {
  (void)state;
  const char *fronts[] = {"\n", "Bag Attributes\n", "\xef\xbb\xbf", "# a comment\n"};
  volt_tls_config c = scene_server_config();
  volt_tls_context *context;
  for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
    char *key = ca_join(fronts[i], the_ca.server.key_pem);
    c.key = key;
    char why[200];
    int result = volt_tls_context_create(&context, VOLT_TLS_SERVER, &c, why, sizeof why);
    assert_null(strstr(why, "PRIVATE"));
    if (result == VOLT_OK) volt_tls_context_drop(context);
    if (fronts[i][0] != '\xef') assert_result(result, VOLT_OK);
    free(key);
  }
  char bare[200];
  const char *line = strchr(the_ca.server.key_pem, '\n') + 1;
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(line, "\n"), line);
  c.key = bare;
  char why[400];
  assert_result(volt_tls_context_create(&context, VOLT_TLS_SERVER, &c, why, sizeof why),
                VOLT_ERRNO(ENOENT));
  assert_string_equal(why, "the file of the key: No such file or directory");
  c.key = NULL;
  c.certificates = "/nowhere\x1b[2J";
  expect_why(VOLT_TLS_SERVER, c, VOLT_ERRNO(ENOENT), "the file: No such file or directory");
}

static void one_text_may_have_all(void **state) {
  (void)state;
  volt_tls_config server = scene_server_config();
  char *both = ca_join(the_ca.server.key_pem, the_ca.server.pem);
  server.certificates = both;
  server.key = NULL;
  scene_begin(&s, NULL, &server);
  scene_shake(&s);
  scene_end(&s);
  free(both);
}

/* ---- names ---- */

/* A client asks for the name. Returns the name of the certificate that it gets. */
static const char *certificate_for(volt_tls_context *server, const char *name) {
  static char peer[100];
  volt_tls_config client = scene_client_config();
  client.flags = VOLT_TLS_ANY_NAME;
  scene_begin(&s, &client, NULL);
  volt_tls_context_drop(s.context[SCENE_SERVER]);
  s.context[SCENE_SERVER] = volt_tls_context_hold(server);
  int of_server;
  assert_result(scene_shake_as(&s, name, &of_server), VOLT_OK);
  volt_tls_peer(&s.tls[0], peer, sizeof peer);
  char to[4];
  scene_send(&s, SCENE_SERVER, "ok", 2);
  assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 2);
  scene_end(&s);
  return peer;
}

static void a_server_picks_its_context_by_name(void **state) {
  (void)state;
  volt_tls_config config = scene_server_config();
  volt_tls_context *first = scene_context(VOLT_TLS_SERVER, &config);
  ca_one one = ca_make(&the_ca.root, (ca_want){.name = "one"});
  ca_one wild = ca_make(&the_ca.root, (ca_want){.name = "wild"});
  config.certificates = one.pem, config.key = one.key_pem;
  volt_tls_context *of_one = scene_context(VOLT_TLS_SERVER, &config);
  config.certificates = wild.pem, config.key = wild.key_pem;
  volt_tls_context *of_wild = scene_context(VOLT_TLS_SERVER, &config);
  assert_result(volt_tls_context_name(first, "One.example.org", of_one), VOLT_OK);
  assert_result(volt_tls_context_name(first, "*.example.org", of_wild), VOLT_OK);
  assert_result(volt_tls_context_name(first, "", of_wild), VOLT_EINVAL);
  assert_result(volt_tls_context_name(first, "x.org", first), VOLT_EINVAL);
  volt_tls_context_drop(of_one); /* first holds them */
  volt_tls_context_drop(of_wild);
  assert_string_equal(certificate_for(first, "one.example.org"), "CN=one");
  assert_string_equal(certificate_for(first, "two.EXAMPLE.org"), "CN=wild");
  assert_string_equal(certificate_for(first, "a.b.example.org"), "CN=server");
  assert_string_equal(certificate_for(first, "example.org"), "CN=server");
  assert_string_equal(certificate_for(first, NULL), "CN=server");
  assert_result(volt_tls_context_name(first, "one.example.org", NULL), VOLT_OK);
  assert_string_equal(certificate_for(first, "one.example.org"), "CN=wild");
  volt_tls_context_drop(first);
  ca_free(&one);
  ca_free(&wild);
}

static void a_name_may_go_while_its_stream_runs(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  volt_tls_config config = scene_server_config();
  volt_tls_context *other = scene_context(VOLT_TLS_SERVER, &config);
  assert_result(volt_tls_context_name(s.context[1], "example.org", other), VOLT_OK);
  volt_tls_context_drop(other);
  scene_shake(&s);
  assert_result(volt_tls_context_name(s.context[1], "example.org", NULL), VOLT_OK);
  volt_tls_context_drop(s.context[1]);
  s.context[1] = NULL;
  char to[4];
  scene_send(&s, SCENE_SERVER, "ok", 2);
  assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 2);
  scene_end(&s);
}

/* ---- sessions ---- */

static unsigned char session[20000];
static size_t session_size;

/* One connection, which takes up the session if there is one, and saves the next. Returns whether it was
 * taken up. */
static bool connects_as(const char *name, volt_tls_context *client, volt_tls_context *server) {
  static const volt_simulated_faults none;
  scene_begin_with(&s, 1, &none);
  s.context[0] = volt_tls_context_hold(client);
  s.context[1] = volt_tls_context_hold(server);
  scene_init(&s, name);
  if (session_size > 0)
    assert_result(volt_tls_session_load(&s.tls[0], session, session_size), VOLT_OK);
  job jobs[2];
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s.tls[i]));
  for (int i = 0; i < 2; i++) assert_result(job_finish(&s.h, &jobs[i]), VOLT_OK);
  char to[4];
  scene_send(&s, SCENE_SERVER, "ok", 2);
  assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 2);
  bool was_resumed = volt_tls_is_resumed(&s.tls[0]);
  assert_int_equal(was_resumed, volt_tls_is_resumed(&s.tls[1]));
  int result = volt_tls_session_save(&s.tls[0], session, sizeof session, &session_size);
  if (result != VOLT_OK) session_size = 0;
  scene_end(&s);
  return was_resumed;
}

static bool connects(volt_tls_context *client, volt_tls_context *server) {
  return connects_as("example.org", client, server);
}

static void sessions_are_taken_up(void **state) {
  (void)state;
  for (unsigned version = VOLT_TLS_1_2; version <= VOLT_TLS_1_3; version++) {
    volt_tls_config client_config = scene_client_config(), config = scene_server_config();
    client_config.most = version;
    session_size = 0;
    volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
    volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &config);
    assert_false(connects(client, server));
    assert_true(session_size > 0);
    assert_true(connects(client, server));
    assert_true(connects(client, server));
    assert_result(volt_tls_context_reload(server, &config, NULL, 0), VOLT_OK);
    assert_true(connects(client, server)); /* the keys outlive a reload */
    volt_tls_context *another = scene_context(VOLT_TLS_SERVER, &config);
    assert_false(connects(client, another));
    volt_tls_context_drop(another);
    volt_tls_context_drop(client);
    volt_tls_context_drop(server);
  }
}

static void ticket_keys_rotate_and_are_shared(void **state) {
  (void)state;
  volt_tls_config client_config = scene_client_config(), config = scene_server_config();
  volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
  volt_tls_context *one = scene_context(VOLT_TLS_SERVER, &config);
  volt_tls_context *two = scene_context(VOLT_TLS_SERVER, &config);
  volt_tls_ticket_key keys[3];
  for (int i = 0; i < 3; i++) assert_result(volt_tls_ticket_key_make(&keys[i]), VOLT_OK);
  assert_result(volt_tls_context_tickets(one, keys, 1), VOLT_OK);
  assert_result(volt_tls_context_tickets(two, keys, 1), VOLT_OK);
  session_size = 0;
  assert_false(connects(client, one));
  assert_true(connects(client, two)); /* as another process */
  volt_tls_ticket_key rotated[2] = {keys[1], keys[0]};
  assert_result(volt_tls_context_tickets(one, rotated, 2), VOLT_OK);
  assert_true(connects(client, one)); /* the old one is taken, and renewed */
  assert_result(volt_tls_context_tickets(one, &keys[1], 1), VOLT_OK);
  assert_true(connects(client, one)); /* by the new key */
  assert_result(volt_tls_context_tickets(one, &keys[2], 1), VOLT_OK);
  assert_false(connects(client, one)); /* it is gone */
  assert_result(volt_tls_context_tickets(one, keys, 0), VOLT_EINVAL);
  assert_result(volt_tls_context_tickets(one, keys, VOLT_TLS_TICKET_KEYS + 1), VOLT_EINVAL);
  assert_result(volt_tls_context_tickets(client, keys, 1), VOLT_EINVAL);
  volt_tls_context_drop(client);
  volt_tls_context_drop(one);
  volt_tls_context_drop(two);
}

static void no_tickets_no_sessions(void **state) {
  (void)state;
  volt_tls_config client_config = scene_client_config(), config = scene_server_config();
  config.flags = VOLT_TLS_NO_TICKETS;
  volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
  volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &config);
  session_size = 0;
  assert_false(connects(client, server));
  assert_int_equal(session_size, 0);
  volt_tls_context_drop(client);
  volt_tls_context_drop(server);
}

/* OpenSSL wipes plaintext in buffers that it releases, unless the flag says no, on both sides. */
static void plaintext_is_wiped_unless_it_is_said(void **state) {
  (void)state;
  for (unsigned flags = 0; flags <= VOLT_TLS_NO_WIPE; flags += VOLT_TLS_NO_WIPE) {
    volt_tls_config client = scene_client_config(), server = scene_server_config();
    client.flags = server.flags = flags;
    scene_begin(&s, &client, &server);
    scene_init(&s, "example.org");
    for (int i = 0; i < 2; i++)
      assert_int_equal((SSL_get_options(s.tls[i].ssl) & SSL_OP_CLEANSE_PLAINTEXT) != 0, flags == 0);
    scene_end(&s);
  }
}

/* With names, the flag of the named context counts. */
static void no_tickets_are_of_the_named_context(void **state) {
  (void)state;
  for (unsigned i = 0; i < 4; i++) {
    bool has_tickets = i / 2;
    volt_tls_config client_config = scene_client_config(), first = scene_server_config(),
                    second = first;
    client_config.most = i % 2 ? VOLT_TLS_1_3 : VOLT_TLS_1_2;
    (has_tickets ? &first : &second)->flags = VOLT_TLS_NO_TICKETS;
    volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
    volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &first);
    volt_tls_context *named = scene_context(VOLT_TLS_SERVER, &second);
    assert_result(volt_tls_context_name(server, "example.org", named), VOLT_OK);
    session_size = 0;
    assert_false(connects(client, server));
    assert_int_equal(session_size > 0, has_tickets);
    assert_int_equal(connects(client, server), has_tickets);
    volt_tls_context_drop(client);
    volt_tls_context_drop(server);
    volt_tls_context_drop(named);
  }
}

/* A client that the first context has not checked does not pass as one that the second has. */
static void a_session_does_not_pass_where_clients_are_checked(void **state) {
  (void)state;
  volt_tls_config client_config = scene_client_config(), open = scene_server_config(),
                  checks = open;
  checks.flags = VOLT_TLS_REQUIRE_CLIENT;
  checks.trust = the_ca.root.pem;
  client_config.certificates = the_ca.client.pem, client_config.key = the_ca.client.key_pem;
  volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
  volt_tls_context *one = scene_context(VOLT_TLS_SERVER, &open);
  volt_tls_context *two = scene_context(VOLT_TLS_SERVER, &checks);
  volt_tls_ticket_key key;
  assert_result(volt_tls_ticket_key_make(&key), VOLT_OK);
  assert_result(volt_tls_context_tickets(one, &key, 1), VOLT_OK);
  assert_result(volt_tls_context_tickets(two, &key, 1), VOLT_OK);
  session_size = 0;
  assert_false(connects(client, one));
  assert_false(connects(client, two));
  assert_true(connects(client, two));
  assert_result(volt_tls_context_name(one, "example.org", two), VOLT_OK);
  session_size = 0;
  assert_false(connects(client, one)); /* by its name it is with two */
  assert_true(connects(client, one));
  volt_tls_context_drop(client);
  volt_tls_context_drop(one);
  volt_tls_context_drop(two);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A client that is revoked by a CRL that is loaded anew does not pass by its session: the path is the
 * same, and the bytes are not. Nor does one whose root was taken out. */
static void a_session_does_not_outlive_what_it_was_checked_by(void **state) {
  (void)state;
  char *none = ca_crl(&the_ca.root, 0), *with = ca_crl(&the_ca.root, 8);
  ca_one other = ca_make(NULL, (ca_want){.name = "other root", .is_ca = true});
  char *two_roots = ca_join(the_ca.root.pem, other.pem);
  char path[] = "/tmp/volt-tls-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  for (unsigned i = 0; i < 4; i++) {
    bool by_crl = i / 2;
    volt_tls_config client_config = scene_client_config(), config = scene_server_config();
    client_config.most = i % 2 ? VOLT_TLS_1_3 : VOLT_TLS_1_2;
    client_config.certificates = the_ca.client.pem, client_config.key = the_ca.client.key_pem;
    config.flags = VOLT_TLS_REQUIRE_CLIENT;
    config.trust = by_crl ? the_ca.root.pem : path;
    config.revoked = by_crl ? path : NULL;
    write_file(path, by_crl ? none : two_roots);
    session_size = 0;
    volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
    volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &config);
    assert_false(connects(client, server));
    assert_result(volt_tls_context_reload(server, &config, NULL, 0), VOLT_OK);
    assert_true(connects(client, server)); /* nothing has changed */
    if (!by_crl) write_file(path, the_ca.root.pem);
    if (by_crl) write_file(path, with);
    assert_result(volt_tls_context_reload(server, &config, NULL, 0), VOLT_OK);
    if (!by_crl) assert_false(connects(client, server));
    scene_begin(&s, NULL, NULL);
    volt_tls_context_drop(s.context[0]);
    volt_tls_context_drop(s.context[1]);
    s.context[0] = client, s.context[1] = server;
    scene_init(&s, "example.org");
    job jobs[2];
    assert_result(volt_tls_session_load(&s.tls[0], session, session_size), VOLT_OK);
    for (int side = 0; side < 2; side++)
      job_start(&s.h, &jobs[side], volt_tls_handshake_future(&jobs[side].op, &s.tls[side]));
    assert_result(job_finish(&s.h, &jobs[1]), by_crl ? VOLT_TLS_EREVOKED : VOLT_OK);
    (void)job_finish(&s.h, &jobs[0]);
    scene_end(&s);
  }
  assert_int_equal(close(fd), 0);
  assert_int_equal(unlink(path), 0);
  ca_free(&other);
  free(two_roots);
  free(none);
  free(with);
}

/* A session that was not checked, or for another name, does not pass where that counts. */
static void a_client_takes_up_only_what_it_has_checked_alike(void **state) {
  (void)state;
  volt_tls_config checks = scene_client_config(), open = checks, config = scene_server_config();
  open.flags = VOLT_TLS_NO_CHECKS;
  volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &checks);
  volt_tls_context *without = scene_context(VOLT_TLS_CLIENT, &open);
  volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &config);
  session_size = 0;
  assert_false(connects_as("example.org", without, server));
  assert_true(connects_as("Example.ORG", without, server));
  volt_tls *t = &s.tls[0];
  scene_begin(&s, NULL, NULL);
  assert_result(volt_tls_init(t, client, &s.fd[0], "example.org"), VOLT_OK);
  assert_result(volt_tls_session_load(t, session, session_size), VOLT_EINVAL);
  volt_tls_close(t);
  volt_fd_close(&s.fd[1]);
  assert_result(volt_pair_open(&s.fd[0], &s.fd[1], s.h.rt, SOCK_STREAM), VOLT_OK);
  assert_result(volt_tls_init(t, without, &s.fd[0], "example.com"), VOLT_OK);
  assert_result(volt_tls_session_load(t, session, session_size), VOLT_EINVAL);
  volt_tls_close(t);
  volt_fd_close(&s.fd[1]);
  assert_result(volt_pair_open(&s.fd[0], &s.fd[1], s.h.rt, SOCK_STREAM), VOLT_OK);
  assert_result(volt_tls_init(t, without, &s.fd[0], "example.org"), VOLT_OK);
  session[session_size] = 0; /* one byte behind it */
  assert_result(volt_tls_session_load(t, session, session_size + 1), VOLT_EINVAL);
  assert_result(volt_tls_session_load(t, session, session_size), VOLT_OK);
  scene_end(&s);
  volt_tls_context_drop(client);
  volt_tls_context_drop(without);
  volt_tls_context_drop(server);
}

static void what_is_no_session_is_refused(void **state) {
  (void)state;
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  size_t size;
  assert_result(volt_tls_session_load(&s.tls[0], "nonsense", 8), VOLT_EINVAL);
  assert_result(volt_tls_session_save(&s.tls[0], session, sizeof session, &size), VOLT_EAGAIN);
  scene_end(&s);
}

/* ---- the log of keys ---- */

static void keys_are_logged_by_an_explicit_call(void **state) {
  (void)state;
  char path[] = "/tmp/volt-tls-XXXXXX", line[400] = "";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(setenv("SSLKEYLOGFILE", path, 1), 0);
  scene_begin(&s, NULL, NULL);
  scene_shake(&s);
  assert_int_equal(lseek(fd, 0, SEEK_END), 0); /* the environment alone does nothing */
  scene_end(&s);
  scene_begin(&s, NULL, NULL);
  assert_result(volt_tls_context_log_keys(s.context[0], "/nowhere/keys"), VOLT_ERRNO(ENOENT));
  char fifo[sizeof path + 5];
  snprintf(fifo, sizeof fifo, "%s.fifo", path);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_result(volt_tls_context_log_keys(s.context[0], fifo), VOLT_EINVAL); /* nothing reads it */
  int reader = open(fifo, O_RDONLY | O_NONBLOCK);
  assert_result(volt_tls_context_log_keys(s.context[0], fifo), VOLT_EINVAL);
  assert_int_equal(close(reader) | unlink(fifo), 0);
  assert_result(volt_tls_context_log_keys(s.context[0], path), VOLT_OK);
  scene_shake(&s);
  FILE *file = fdopen(fd, "r");
  rewind(file);
  assert_non_null(fgets(line, sizeof line, file));
  assert_non_null(strstr(line, "_SECRET"));
  fclose(file);
  assert_int_equal(unlink(path), 0);
  scene_end(&s);
}

/* ---- memory ---- */

static void an_idle_stream_keeps_no_buffers(void **state) {
  (void)state;
  static char data[40000], to[sizeof data];
  scene_begin(&s, NULL, NULL);
  scene_shake(&s);
  char byte;
  job waits[2];
  scene_send(&s, SCENE_SERVER, "x", 1); /* and tickets */
  assert_int_equal(scene_recv(&s, SCENE_CLIENT, &byte, 1), 1);
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &waits[i], volt_tls_recv_future(&waits[i].op, &s.tls[i], to, sizeof to));
  (void)by_hand_run(&s.h);
  for (int i = 0; i < 2; i++) assert_result(job_cancel(&s.h, &waits[i]), VOLT_ECANCELED);
  long idle = atomic_load(&held_bytes);
  for (int round = 0; round < 3; round++) {
    job sender;
    job_start(&s.h, &sender, volt_tls_send_all_future(&sender.op, &s.tls[0], data, sizeof data));
    for (size_t have = 0; have < sizeof data;) have += scene_recv(&s, SCENE_SERVER, to, sizeof to);
    assert_result(job_finish(&s.h, &sender), VOLT_OK);
    for (int i = 0; i < 2; i++)
      job_start(&s.h, &waits[i], volt_tls_recv_future(&waits[i].op, &s.tls[i], to, sizeof to));
    (void)by_hand_run(&s.h);
    assert_true(atomic_load(&held_bytes) - idle < 1000);
    for (int i = 0; i < 2; i++) assert_result(job_cancel(&s.h, &waits[i]), VOLT_ECANCELED);
  }
  scene_end(&s);
}

/* A connection that talks all the time, and others that come and go, while the server reloads. */
static void reloads_lose_no_connection_and_keep_no_memory(void **state) {
  (void)state;
  enum { EACH = 20 };
  volt_tls_config config = scene_server_config(), second = config;
  ca_want want = {
      .name = "one", .dns = "DNS:example.org", .rsa_bits = 2048}; /* read the quickest */
  ca_one one = ca_make(&the_ca.root, want);
  want.name = "other";
  ca_one other = ca_make(&the_ca.root, want);
  config.certificates = one.pem, config.key = one.key_pem;
  second.certificates = other.pem, second.key = other.key_pem;
  scene_begin(&s, NULL, NULL);
  scene_shake(&s);
  long at_first = 0;
  char to[8], peer[100];
  for (int i = 0; i < wanted_reloads; i++) {
    const volt_tls_config *now = i % 2 ? &second : &config;
    assert_result(volt_tls_context_reload(s.context[SCENE_SERVER], now, NULL, 0), VOLT_OK);
    scene_send(&s, SCENE_CLIENT, "hello", 5);
    assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
    if (i % EACH != EACH - 1) continue;
    scene fresh = s; /* one more connection of the same runtime */
    assert_result(volt_pair_open(&fresh.fd[0], &fresh.fd[1], s.h.rt, SOCK_STREAM), VOLT_OK);
    scene_shake(&fresh);
    volt_tls_peer(&fresh.tls[0], peer, sizeof peer);
    assert_string_equal(peer, i % 2 ? "CN=other" : "CN=one");
    for (int side = 0; side < 2; side++) volt_tls_close(&fresh.tls[side]);
    if (i < wanted_reloads / 10) at_first = atomic_load(&held_bytes);
  }
  assert_true(atomic_load(&held_bytes) - at_first < 10000);
  char bad[200];
  config.certificates = "/nowhere";
  assert_result(volt_tls_context_reload(s.context[SCENE_SERVER], &config, bad, sizeof bad),
                VOLT_ERRNO(ENOENT));
  scene_send(&s, SCENE_CLIENT, "hello", 5);
  assert_int_equal(scene_recv(&s, SCENE_SERVER, to, sizeof to), 5);
  scene_end(&s);
  ca_free(&one);
  ca_free(&other);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_cannot_be_loaded_is_said),
      cmocka_unit_test(what_is_no_regular_file_is_refused),
      cmocka_unit_test(a_locked_key_asks_no_terminal),
      cmocka_unit_test(a_locked_certificate_asks_no_terminal),
      cmocka_unit_test(a_text_that_is_cut_off_is_refused),
      cmocka_unit_test(no_key_is_in_the_words),
      cmocka_unit_test(one_text_may_have_all),
      cmocka_unit_test(a_server_picks_its_context_by_name),
      cmocka_unit_test(a_name_may_go_while_its_stream_runs),
      cmocka_unit_test(sessions_are_taken_up),
      cmocka_unit_test(ticket_keys_rotate_and_are_shared),
      cmocka_unit_test(no_tickets_no_sessions),
      cmocka_unit_test(plaintext_is_wiped_unless_it_is_said),
      cmocka_unit_test(no_tickets_are_of_the_named_context),
      cmocka_unit_test(a_session_does_not_pass_where_clients_are_checked),
      cmocka_unit_test(a_session_does_not_outlive_what_it_was_checked_by),
      cmocka_unit_test(a_client_takes_up_only_what_it_has_checked_alike),
      cmocka_unit_test(what_is_no_session_is_refused),
      cmocka_unit_test(keys_are_logged_by_an_explicit_call),
      cmocka_unit_test(an_idle_stream_keeps_no_buffers),
      cmocka_unit_test(reloads_lose_no_connection_and_keep_no_memory),
  };
  if (argc > 1) hang_never();
  if (argc > 1) wanted_reloads = atoi(argv[1]);
  REQUIRE(CRYPTO_set_mem_functions(count_alloc, count_realloc, count_free) == 1);
  scene_make_ca();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scene_free_ca();
  return failed;
}
