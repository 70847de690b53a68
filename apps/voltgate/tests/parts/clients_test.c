/* clients_test.c: the clients of a gate, and its queue to be looked at. */
#include <stdio.h>

#include "gate/clients.h"
#include "gate/tenant.h"
#include "unit.h"

enum { COUNT = 100 };
static struct clients clients;
static struct client client[COUNT];

static void set_address(struct client *one, const char *text) {
  volt_address address;
  assert_result(volt_address_parse(&address, text), VOLT_OK);
  client_address_set(one, &address);
}

static void expect_text(const char *text, const char *want) {
  char got[VOLT_ADDRESS_TEXT];
  set_address(&client[0], text);
  assert_string_equal(client_address_text(&client[0], got), want);
}

static void an_address_is_text(void **state) {
  (void)state;
  expect_text("127.0.0.1:5123", "127.0.0.1:5123");
  expect_text("[::1]:5123", "[::1]:5123");
  expect_text("[2001:db8::7]:1", "[2001:db8::7]:1");
  expect_text("unix:/run/x.sock", "unix");
  expect_text("unix:@x", "unix");
  char got[VOLT_ADDRESS_TEXT];
  volt_address none = {.size = 0};
  client_address_set(&client[0], &none);
  assert_string_equal(client_address_text(&client[0], got), "unix");
}

static void the_oldest_are_copied_in_order(void **state) {
  (void)state;
  static struct tenant tenant;
  snprintf(tenant.name, sizeof tenant.name, "app");
  clients_init(&clients);
  memset(client, 0, sizeof client);
  for (unsigned i = 0; i < COUNT; i++) {
    struct client *one = &client[i];
    clients_add(&clients, one);
    set_address(one, "127.0.0.1:7");
    one->ticket = 1 + i * 37 % COUNT; /* each ticket once */
    one->since_ns = 1000 + one->ticket;
    one->deadline_ns = 2000;
    if (one->ticket % 2 == 0) one->tenant = &tenant;
    one->state = one->ticket % 10 == 0 ? CLIENT_HOLDS : CLIENT_QUEUED;
  }
  assert_int_equal(clients.count, COUNT);
  static struct client_seen queued[COUNT];
  assert_int_equal(clients_oldest(&clients, CLIENT_QUEUED, queued, 0), 0);
  assert_int_equal(clients_oldest(&clients, CLIENT_QUEUED, queued, 5), 5);
  for (unsigned i = 0; i < 5; i++) assert_int_equal(queued[i].ticket, i + 1);
  assert_int_equal(clients_oldest(&clients, CLIENT_QUEUED, queued, COUNT), 90);
  uint64_t ticket = 0;
  for (unsigned i = 0; i < 90; i++) {
    ticket += (ticket + 1) % 10 == 0 ? 2 : 1;
    assert_int_equal(queued[i].ticket, ticket);
    assert_int_equal(queued[i].since_ns, 1000 + ticket);
    assert_int_equal(queued[i].deadline_ns, 2000);
    assert_string_equal(queued[i].tenant, ticket % 2 == 0 ? "app" : "");
    assert_string_equal(queued[i].address, "127.0.0.1:7");
  }
  for (unsigned i = 0; i < COUNT; i++) clients_remove(&clients, &client[i * 61 % COUNT]);
  assert_int_equal(clients.count, 0);
  assert_int_equal(clients_oldest(&clients, CLIENT_QUEUED, queued, COUNT), 0);
  clients_destroy(&clients);
}

/* Those that have held their permits for the longest time, with what they have done since. */
static void holders_are_copied_in_order(void **state) {
  (void)state;
  static struct client_details details = {.user = "ann", .database = "shop", .up = 5, .down = 6};
  static struct client_seen seen[COUNT];
  clients_init(&clients);
  memset(client, 0, sizeof client);
  for (unsigned i = 0; i < 10; i++) {
    clients_add(&clients, &client[i]);
    client[i].ticket = 100 - i; /* which is no order of theirs */
    client[i].since_ns = 1000 + i * 7 % 10;
    client[i].state = i == 9 ? CLIENT_QUEUED : CLIENT_HOLDS;
  }
  client[0].details = &details;
  client_begins(&details, 1000);
  details.up += 10;
  details.down += 20;
  assert_int_equal(clients_oldest(&clients, CLIENT_HOLDS, seen, 3), 3);
  for (unsigned i = 0; i < 3; i++) assert_int_equal(seen[i].since_ns, 1000 + i);
  assert_int_equal(seen[0].work, CLIENT_ACTIVE);
  assert_int_equal(seen[0].asked_ns, 1000);
  assert_int_equal(seen[0].rests_ns, 0);
  assert_int_equal(seen[0].up, 10);
  assert_int_equal(seen[0].down, 20);
  assert_string_equal(seen[0].user, "ann");
  assert_string_equal(seen[0].database, "shop");
  assert_int_equal(seen[1].work, CLIENT_CONNECTING);
  client_rests(&details, true, 1005);
  assert_int_equal(clients_oldest(&clients, CLIENT_HOLDS, seen, COUNT), 9);
  assert_int_equal(seen[0].work, CLIENT_RESTS);
  assert_int_equal(seen[0].asked_ns, 1000);
  assert_int_equal(seen[0].rests_ns, 1005);
  for (unsigned i = 0; i < 10; i++) clients_remove(&clients, &client[i]);
  clients_destroy(&clients);
}

static void a_client_is_small(void **state) {
  (void)state;
  assert_true(sizeof(struct client) <= 88);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_address_is_text),
      cmocka_unit_test(the_oldest_are_copied_in_order),
      cmocka_unit_test(holders_are_copied_in_order),
      cmocka_unit_test(a_client_is_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
