/* tls_certificate_test.c: each failure of a certificate that public test sites list, of a server and of
 * a client: which code it has, and that the other side is refused. And protocols and ciphers of old.
 *
 * BACK ENDS: none */
#include <openssl/ssl.h>
#include <volt/tls.h>

#include "tls_scene.h"

static scene s;
static char weak[] = "DEFAULT@SECLEVEL=0"; /* the bad side has to be able to use it */

/* A server with this certificate, and a client that wants this name. Returns what the client says. */
static int as_client(const char *certificates, const char *key, const char *name,
                     volt_tls_config client) {
  volt_tls_config server = scene_server_config();
  server.certificates = certificates;
  server.key = key;
  server.ciphers = weak;
  scene_begin(&s, &client, &server);
  int of_server;
  int result = scene_shake_as(&s, name, &of_server);
  if (result == VOLT_OK) assert_result(of_server, VOLT_OK);
  if (result != VOLT_OK) assert_result(of_server, VOLT_TLS_EREFUSED);
  scene_end(&s);
  return result;
}

/* A client with this certificate, and a server that wants one. Returns what the server says. */
static int as_server(const char *certificates, const char *key, volt_tls_config server) {
  volt_tls_config client = scene_client_config();
  client.certificates = certificates;
  client.key = key;
  client.ciphers = weak;
  scene_begin(&s, &client, &server);
  scene_init(&s, "example.org");
  job jobs[2];
  char to[4];
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s.tls[i]));
  int of_client = job_finish(&s.h, &jobs[0]), result = job_finish(&s.h, &jobs[1]);
  assert_result(of_client, VOLT_OK); /* it learns later, by TLS 1.3 */
  if (result == VOLT_OK) scene_send(&s, SCENE_SERVER, "x", 1);
  volt_tls_op op;
  of_client = scene_run(&s, volt_tls_recv_future(&op, &s.tls[0], to, sizeof to));
  assert_result(of_client, result == VOLT_OK ? VOLT_OK : VOLT_TLS_EREFUSED);
  if (result != VOLT_OK) assert_string_not_equal(volt_tls_why(&s.tls[1]), "");
  scene_end(&s);
  return result;
}

static volt_tls_config demanding(void) {
  volt_tls_config server = scene_server_config();
  server.trust = the_ca.root.pem;
  server.flags = VOLT_TLS_REQUIRE_CLIENT;
  return server;
}

/* Of a server and of a client. */
static void expect_both(ca_one c, int result) {
  assert_result(as_client(c.pem, c.key_pem, "example.org", scene_client_config()), result);
  assert_result(as_server(c.pem, c.key_pem, demanding()), result);
  ca_free(&c);
}

/* One that is good but for what the caller changes. */
static ca_want good(void) {
  return (ca_want){.name = "example.org", .dns = "DNS:example.org", .serial = 20};
}

static void a_good_one(void **state) {
  (void)state;
  expect_both(ca_make(&the_ca.root, good()), VOLT_OK);
}

static void expired(void **state) {
  (void)state;
  ca_want want = good();
  want.from = -86400, want.until = -60;
  expect_both(ca_make(&the_ca.root, want), VOLT_TLS_EEXPIRED);
}

static void not_valid_yet(void **state) {
  (void)state;
  ca_want want = good();
  want.from = 3600, want.until = 86400;
  expect_both(ca_make(&the_ca.root, want), VOLT_TLS_ENOTYET);
}

static void of_another_host(void **state) {
  (void)state;
  volt_tls_config client = scene_client_config();
  const char *pem = the_ca.server.pem, *key = the_ca.server.key_pem;
  assert_result(as_client(pem, key, "example.com", client), VOLT_TLS_ENAME);
  assert_result(as_client(pem, key, "server", client), VOLT_TLS_ENAME); /* no CN */
  assert_result(as_client(pem, key, "EXAMPLE.org", client), VOLT_OK);
  assert_result(as_client(pem, key, "10.1.2.3", client), VOLT_OK);
  assert_result(as_client(pem, key, "10.1.2.4", client), VOLT_TLS_ENAME);
}

static void a_wildcard_that_is_too_wide(void **state) {
  (void)state;
  volt_tls_config client = scene_client_config();
  const char *pem = the_ca.server.pem, *key = the_ca.server.key_pem;
  assert_result(as_client(pem, key, "a.wild.org", client), VOLT_OK);
  assert_result(as_client(pem, key, "wild.org", client), VOLT_TLS_ENAME);
  assert_result(as_client(pem, key, "a.b.wild.org", client), VOLT_TLS_ENAME);
  const char *names[] = {"DNS:*.org", "DNS:*", "DNS:ex*.org", "DNS:*.*.org"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    ca_want want = good();
    want.dns = names[i];
    ca_one c = ca_make(&the_ca.root, want);
    assert_result(as_client(c.pem, c.key_pem, "example.org", client), VOLT_TLS_ENAME);
    ca_free(&c);
  }
}

static void signed_by_itself(void **state) {
  (void)state;
  expect_both(ca_make(NULL, good()), VOLT_TLS_EUNTRUSTED);
}

static void of_a_root_that_is_not_trusted(void **state) {
  (void)state;
  ca_one other = ca_make(NULL, (ca_want){.name = "other root", .is_ca = true});
  expect_both(ca_make(&other, good()), VOLT_TLS_EUNTRUSTED);
  ca_free(&other);
}

static void a_root_of_the_same_name_is_not_the_root(void **state) {
  (void)state;
  ca_one other = ca_make(NULL, (ca_want){.name = "root", .is_ca = true});
  expect_both(ca_make(&other, good()), VOLT_TLS_EUNTRUSTED);
  ca_free(&other);
}

static void of_one_that_is_no_ca(void **state) {
  (void)state;
  expect_both(ca_make(&the_ca.server, good()), VOLT_TLS_EUNTRUSTED);
}

static void a_chain_that_is_incomplete(void **state) {
  (void)state;
  ca_one between = ca_make(&the_ca.root, (ca_want){.name = "between", .is_ca = true, .serial = 30});
  ca_one c = ca_make(&between, good());
  char *whole = ca_join(c.pem, between.pem);
  volt_tls_config client = scene_client_config();
  assert_result(as_client(c.pem, c.key_pem, "example.org", client), VOLT_TLS_EUNTRUSTED);
  assert_result(as_client(whole, c.key_pem, "example.org", client), VOLT_OK);
  assert_result(as_server(c.pem, c.key_pem, demanding()), VOLT_TLS_EUNTRUSTED);
  assert_result(as_server(whole, c.key_pem, demanding()), VOLT_OK);
  free(whole);
  ca_free(&c);
  ca_free(&between);
}

static void revoked(void **state) {
  (void)state;
  char *with = ca_crl(&the_ca.root, 7), *without = ca_crl(&the_ca.root, 0);
  char *of_client = ca_crl(&the_ca.root, 8);
  volt_tls_config client = scene_client_config(), server = demanding();
  const char *pem = the_ca.server.pem, *key = the_ca.server.key_pem;
  client.revoked = with;
  assert_result(as_client(pem, key, "example.org", client), VOLT_TLS_EREVOKED);
  client.revoked = without;
  assert_result(as_client(pem, key, "example.org", client), VOLT_OK);
  server.revoked = of_client;
  assert_result(as_server(the_ca.client.pem, the_ca.client.key_pem, server), VOLT_TLS_EREVOKED);
  server.revoked = with;
  assert_result(as_server(the_ca.client.pem, the_ca.client.key_pem, server), VOLT_OK);
  ca_one other = ca_make(NULL, (ca_want){.name = "other root", .is_ca = true});
  char *of_other = ca_crl(&other, 7);
  client.revoked = of_other; /* none of the issuer */
  assert_result(as_client(pem, key, "example.org", client), VOLT_TLS_EUNTRUSTED);
  free(of_other);
  ca_free(&other);
  free(with);
  free(without);
  free(of_client);
}

static void signed_by_sha_1(void **state) {
  (void)state;
  ca_one root = ca_make(NULL, (ca_want){.name = "RSA root", .is_ca = true, .rsa_bits = 2048});
  volt_tls_config client = scene_client_config(), server = demanding();
  client.trust = server.trust = root.pem;
  for (int is_old = 0; is_old < 2; is_old++) {
    ca_want want = good();
    want.md = is_old ? EVP_sha1() : EVP_sha256();
    ca_one c = ca_make(&root, want);
    int result = is_old ? VOLT_TLS_EUNTRUSTED : VOLT_OK;
    assert_result(as_client(c.pem, c.key_pem, "example.org", client), result);
    assert_result(as_server(c.pem, c.key_pem, server), result);
    ca_free(&c);
  }
  ca_free(&root);
}

static void of_rsa_with_1024_bits(void **state) {
  (void)state;
  ca_want want = good();
  want.rsa_bits = 1024;
  expect_both(ca_make(&the_ca.root, want), VOLT_TLS_EUNTRUSTED);
  want.rsa_bits = 2048;
  expect_both(ca_make(&the_ca.root, want), VOLT_OK);
}

static void a_weak_one_of_its_own_is_not_loaded(void **state) {
  (void)state;
  ca_want want = good();
  want.rsa_bits = 1024;
  ca_one c = ca_make(&the_ca.root, want);
  char why[200];
  volt_tls_context *context = NULL;
  volt_tls_config server = {.certificates = c.pem, .key = c.key_pem};
  assert_result(volt_tls_context_create(&context, VOLT_TLS_SERVER, &server, why, sizeof why),
                VOLT_EINVAL);
  assert_non_null(strstr(why, "too small"));
  ca_free(&c);
}

static void checks_can_be_left_out_by_name(void **state) {
  (void)state;
  volt_tls_config client = scene_client_config();
  client.flags = VOLT_TLS_ANY_NAME;
  assert_result(as_client(the_ca.server.pem, the_ca.server.key_pem, NULL, client), VOLT_OK);
  assert_result(as_client(the_ca.server.pem, the_ca.server.key_pem, "example.com", client),
                VOLT_OK);
  ca_one c = ca_make(NULL, good());
  assert_result(as_client(c.pem, c.key_pem, NULL, client), VOLT_TLS_EUNTRUSTED);
  client.flags = VOLT_TLS_NO_CHECKS;
  assert_result(as_client(c.pem, c.key_pem, "example.com", client), VOLT_OK);
  ca_free(&c);
}

static void a_client_without_one(void **state) {
  (void)state;
  volt_tls_config server = demanding();
  assert_result(as_server(NULL, NULL, server), VOLT_TLS_EPROTOCOL);
  server.flags = VOLT_TLS_ASK_CLIENT;
  assert_result(as_server(NULL, NULL, server), VOLT_OK);
  ca_one c = ca_make(NULL, good());
  assert_result(as_server(c.pem, c.key_pem, server), VOLT_TLS_EUNTRUSTED);
  ca_free(&c);
}

/* ---- protocols and ciphers of old: the other side is made to have nothing else ---- */

static void expect_refused(int bad, void (*make_bad)(SSL *ssl)) {
  scene_begin(&s, NULL, NULL);
  scene_init(&s, "example.org");
  SSL_set_security_level(s.tls[bad].ssl, 0);
  make_bad(s.tls[bad].ssl);
  job jobs[2];
  int results[2];
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s.tls[i]));
  for (int i = 0; i < 2; i++) {
    int side = i == 0 ? 1 - bad : bad;
    results[side] = job_finish(&s.h, &jobs[side]);
    if (i == 0) volt_tls_close(&s.tls[side]);
  }
  assert_true(results[1 - bad] == VOLT_TLS_EPROTOCOL || results[1 - bad] == VOLT_TLS_EREFUSED);
  assert_int_not_equal(results[bad], VOLT_OK);
  scene_end(&s);
}

static void make_tls_1_0(SSL *ssl) {
  REQUIRE(SSL_set_min_proto_version(ssl, TLS1_VERSION) == 1);
  REQUIRE(SSL_set_max_proto_version(ssl, TLS1_VERSION) == 1);
}

static void make_tls_1_1(SSL *ssl) {
  REQUIRE(SSL_set_min_proto_version(ssl, TLS1_1_VERSION) == 1);
  REQUIRE(SSL_set_max_proto_version(ssl, TLS1_1_VERSION) == 1);
}

static void make_null_ciphers(SSL *ssl) {
  REQUIRE(SSL_set_max_proto_version(ssl, TLS1_2_VERSION) == 1);
  REQUIRE(SSL_set_cipher_list(ssl, "eNULL:@SECLEVEL=0") == 1);
}

static void tls_1_0(void **state) {
  (void)state;
  for (int bad = 0; bad < 2; bad++) expect_refused(bad, make_tls_1_0);
}

static void tls_1_1(void **state) {
  (void)state;
  for (int bad = 0; bad < 2; bad++) expect_refused(bad, make_tls_1_1);
}

static void null_ciphers(void **state) {
  (void)state;
  for (int bad = 0; bad < 2; bad++) expect_refused(bad, make_null_ciphers);
}

/* OpenSSL 3 has none: a hello made by hand, of TLS 1.2 with RSA_EXPORT_WITH_RC4_40_MD5 alone. */
static void export_ciphers(void **state) {
  (void)state;
  unsigned char hello[] = {22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3};
  unsigned char rest[39] = {0}; /* 32 random bytes, and an empty session */
  rest[34] = 2;                 /* the size of the list of ciphers */
  rest[36] = 3;
  rest[37] = 1; /* the size of the list of compressions: none */
  scene_begin(&s, NULL, NULL);
  volt_op plain;
  volt_tls_op op;
  assert_result(volt_tls_init(&s.tls[1], s.context[1], &s.fd[1], NULL), VOLT_OK);
  assert_result(scene_run(&s, volt_fd_send_future(&plain, &s.fd[0], hello, sizeof hello, 0)),
                VOLT_OK);
  assert_result(scene_run(&s, volt_fd_send_future(&plain, &s.fd[0], rest, sizeof rest, 0)),
                VOLT_OK);
  assert_result(scene_run(&s, volt_tls_handshake_future(&op, &s.tls[1])), VOLT_TLS_EPROTOCOL);
  assert_string_equal(volt_tls_why(&s.tls[1]), "no shared cipher");
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_one),
      cmocka_unit_test(expired),
      cmocka_unit_test(not_valid_yet),
      cmocka_unit_test(of_another_host),
      cmocka_unit_test(a_wildcard_that_is_too_wide),
      cmocka_unit_test(signed_by_itself),
      cmocka_unit_test(of_a_root_that_is_not_trusted),
      cmocka_unit_test(a_root_of_the_same_name_is_not_the_root),
      cmocka_unit_test(of_one_that_is_no_ca),
      cmocka_unit_test(a_chain_that_is_incomplete),
      cmocka_unit_test(revoked),
      cmocka_unit_test(signed_by_sha_1),
      cmocka_unit_test(of_rsa_with_1024_bits),
      cmocka_unit_test(a_weak_one_of_its_own_is_not_loaded),
      cmocka_unit_test(checks_can_be_left_out_by_name),
      cmocka_unit_test(a_client_without_one),
      cmocka_unit_test(tls_1_0),
      cmocka_unit_test(tls_1_1),
      cmocka_unit_test(null_ciphers),
      cmocka_unit_test(export_ciphers),
  };
  scene_make_ca();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scene_free_ca();
  return failed;
}
