/* binding_test.c: what a client in the clear is offered by a server that speaks TLS. */
#include <string.h>

#include "session/postgres_binding.h"
#include "unit.h"

static struct server server;
static struct session session;
static volt_tls tls; /* it is only there */

static void begin(bool has_tls) {
  memset((void *)&session, 0, sizeof session);
  server.link.tls = has_tls ? &tls : NULL;
  session.server = &server;
}

#define OFFER "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"
#define HIDDEN "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-NONE\0SCRAM-SHA-256\0\0"
#define OTHER "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUT\0SCRAM-SHA-256\0\0"
#define SECOND "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256\0SCRAM-SHA-256-PLUS\0\0"
#define SECOND_HIDDEN "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256\0SCRAM-SHA-256-NONE\0\0"
#define FINAL "R\0\0\0\x2a\0\0\0\x0cSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"
#define ERROR_OF "E\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"

#define VERSION "v\0\0\0\x0c\0\x03\0\0\0\0\0\0"
#define VERSION_OF_MORE "v\0\0\0\xf0\0\x03\0\0\0\0\0\0"

/* from becomes to; all bytes count, the 0 at its end, too. */
static void expect(bool has_tls, const char *from, const char *to, size_t size) {
  char bytes[64];
  begin(has_tls);
  memcpy(bytes, from, size);
  postgres_binding_look(&session, bytes, size);
  assert_memory_equal(bytes, to, size);
}

static void the_offer_is_hidden_from_a_client_in_the_clear(void **state) {
  (void)state;
  expect(true, OFFER, HIDDEN, sizeof OFFER - 1);
  expect(true, SECOND, SECOND_HIDDEN, sizeof SECOND - 1);
}

/* The client has asked for a newer protocol: both messages come in one record. */
static void it_is_hidden_behind_another_version_too(void **state) {
  (void)state;
  expect(true, VERSION OFFER, VERSION HIDDEN, sizeof VERSION + sizeof OFFER - 2);
  expect(false, VERSION OFFER, VERSION OFFER, sizeof VERSION + sizeof OFFER - 2);
  expect(true, VERSION_OF_MORE OFFER, VERSION_OF_MORE OFFER,
         sizeof VERSION_OF_MORE + sizeof OFFER - 2);
  for (size_t size = 0; size < sizeof VERSION; size++)
    expect(true, VERSION OFFER, VERSION OFFER, size);
}

static void all_else_stays(void **state) {
  (void)state;
  expect(false, OFFER, OFFER, sizeof OFFER - 1); /* the server speaks no TLS */
  expect(true, OTHER, OTHER, sizeof OTHER - 1);
  expect(true, FINAL, FINAL, sizeof FINAL - 1);
  expect(true, ERROR_OF, ERROR_OF, sizeof ERROR_OF - 1);
}

/* Nothing behind the message is looked at, nor behind what has come. */
static void no_byte_outside_is_touched(void **state) {
  (void)state;
  static const char end = sizeof "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS";
  for (size_t size = 0; size < sizeof OFFER - 1; size++) {
    bool is_whole = size >= (size_t)end;
    expect(true, OFFER, is_whole ? HIDDEN : OFFER, size);
  }
  static const char behind[] = "R\0\0\0\x08\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0";
  expect(true, behind, behind, sizeof behind - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_offer_is_hidden_from_a_client_in_the_clear),
      cmocka_unit_test(it_is_hidden_behind_another_version_too),
      cmocka_unit_test(all_else_stays),
      cmocka_unit_test(no_byte_outside_is_touched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
