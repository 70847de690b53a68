/* numbers.c: numbers.h. */
#include "admin/numbers.h"

#include <stddef.h>
#include <string.h>

#define MEMBER(type, member, is_leased) \
  offsetof(type, member), sizeof(((type *)0)->member), (is_leased)
#define AT(member) MEMBER(struct gate_view, member, false)
#define OF_TENANT(member) MEMBER(struct tenant_view, member, false)
#define OF_LEASE(member) MEMBER(struct tenant_view, member, true)
#define COUNTED(kind) AT(statistics.counts[kind])
#define GAUGE NUMBER_GAUGE
#define COUNTER NUMBER_COUNTER
#define OF_BYTES "Bytes that were relayed; up: from clients to the server."

/* clang-format off: a row is a line, or two */
static const struct number of_gate[] = {
    {"", "limit", "voltgate_limit", NULL, "limit", GAUGE, "Permits that there are.", AT(limit)},
    {"", "held", "voltgate_held", NULL, "held", GAUGE, "Permits that are held.", AT(held)},
    {"", "excess", "voltgate_excess", NULL, NULL, GAUGE,
     "Permits that are held above the limit, since it was lowered.", AT(excess)},
    {"", "away", "voltgate_away", NULL, NULL, GAUGE,
     "Permits that another process has, while one takes over.", AT(away)},
    {"queue", "length", "voltgate_queue_length", NULL, "queued", GAUGE,
     "Clients that wait for a permit.", AT(queued)},
    {"queue", "bound", "voltgate_queue_bound", NULL, NULL, GAUGE,
     "Clients that may wait for a permit.", AT(bound)},
    {"", "clients", "voltgate_clients", NULL, "clients", GAUGE, "Clients that are connected.",
     AT(clients)},
    {"", "servers", "voltgate_servers", NULL, NULL, GAUGE, "Connections to the server.",
     AT(servers)},
    {"", NULL, "voltgate_breaker_open", NULL, NULL, GAUGE,
     "1 while the server is thought to be away.", AT(is_broken)},
    {"", NULL, "voltgate_server_silent", NULL, NULL, GAUGE,
     "1 while the server accepts connections, and does not answer.", AT(is_silent)},
    {"totals", "accepted", "voltgate_accepted_total", NULL, NULL, COUNTER,
     "Connections of clients.", COUNTED(COUNT_ACCEPTED)},
    {"totals", "admitted", "voltgate_admitted_total", NULL, "admitted", COUNTER,
     "Permits given to clients.", COUNTED(COUNT_ADMITTED)},
    {"totals", "waited", "voltgate_waited_total", NULL, NULL, COUNTER,
     "Permits given to clients after a wait.", COUNTED(COUNT_WAITED)},
    {"totals", NULL, NULL, NULL, "refused", COUNTER,
     "Clients that were refused or ended, for any reason.", AT(statistics.refused_all)},
    {"totals", "left", "voltgate_left_total", NULL, "left", COUNTER,
     "Clients that hung up while they waited.", COUNTED(COUNT_LEFT)},
    {"totals", "ended", "voltgate_ended_total", NULL, NULL, COUNTER,
     "Connections of clients that have ended.", COUNTED(COUNT_ENDED)},
    {"totals", "connect_failures", "voltgate_connect_failures_total", NULL, NULL, COUNTER,
     "Connections to the server that failed.", COUNTED(COUNT_CONNECT_FAILURES)},
    {"totals", "cancels", "voltgate_cancels_total", NULL, NULL, COUNTER,
     "Cancel requests that were passed on.", COUNTED(COUNT_CANCELS)},
    {"totals", "blocking", "voltgate_blocking_commands_total", NULL, NULL, COUNTER,
     "Blocking commands, which hold no permit.", COUNTED(COUNT_BLOCKING)},
    {"totals", "bytes_up", "voltgate_bytes_total", "direction=\"up\"", "bytes_up", COUNTER,
     OF_BYTES, COUNTED(COUNT_BYTES_UP)},
    {"totals", "bytes_down", "voltgate_bytes_total", "direction=\"down\"", "bytes_down", COUNTER,
     OF_BYTES, COUNTED(COUNT_BYTES_DOWN)},
};

static const struct number of_tenant[] = {
    {"", "limit", "voltgate_tenant_limit", NULL, NULL, GAUGE,
     "Permits of one tenant at most; 0: only the gate's limit.", OF_TENANT(limit)},
    {"", "leased", "voltgate_tenant_leased", NULL, NULL, GAUGE,
     "Permits of one tenant that are leased from the cluster; `/status`: if there is one.",
     OF_LEASE(leased)},
    {"", "weight", NULL, NULL, NULL, GAUGE,
     "Its share of the permits, beside other tenants that wait.", OF_TENANT(weight)},
    {"", "held", "voltgate_tenant_held", NULL, NULL, GAUGE,
     "Clients of a tenant that hold a permit.", OF_TENANT(held)},
    {"", "queued", "voltgate_tenant_queued", NULL, NULL, GAUGE,
     "Clients of a tenant that wait for a permit.", OF_TENANT(queued)},
    {"", "admitted", "voltgate_tenant_admitted_total", NULL, NULL, COUNTER,
     "Permits given to clients of a tenant.", OF_TENANT(admitted)},
    {"", "refused", "voltgate_tenant_refused_total", NULL, NULL, COUNTER,
     "Clients of a tenant that were refused.", OF_TENANT(refused)},
};
/* clang-format on */

const struct numbers gate_numbers = {of_gate, sizeof of_gate / sizeof *of_gate};
const struct numbers tenant_numbers = {of_tenant, sizeof of_tenant / sizeof *of_tenant};

uint64_t number_of(const struct number *n, const void *of) {
  const char *at = (const char *)of + n->offset;
  uint64_t number = 0;
  uint32_t half = 0;
  bool yes = false;
  switch (n->size) {
    case sizeof yes: memcpy(&yes, at, sizeof yes); return yes;
    case sizeof half: memcpy(&half, at, sizeof half); return half;
    default: memcpy(&number, at, sizeof number); return number;
  }
}

const char *number_type(const struct number *n) {
  return n->kind == NUMBER_COUNTER ? "counter" : "gauge";
}

void numbers_put(struct json *j, const struct numbers *numbers, const char *group, const void *of) {
  for (size_t i = 0; i < numbers->count; i++) {
    const struct number *n = &numbers->at[i];
    if (n->status == NULL || n->is_leased || strcmp(n->group, group) != 0) continue;
    json_put_number(j, n->status, number_of(n, of));
  }
}

/* ---- the list ---- */

/* A cell; name: NULL: an empty one. */
static void numbers_print_name(FILE *to, const char *before, const char *name, const char *label) {
  if (name == NULL) {
    fputs("| ", to);
  } else if (label != NULL) {
    fprintf(to, "| `%s%s{%s}` ", before, name, label);
  } else {
    fprintf(to, "| `%s%s` ", before, name);
  }
}

static void numbers_print_rows(FILE *to, const struct numbers *numbers, const char *whose) {
  for (size_t i = 0; i < numbers->count; i++) {
    const struct number *n = &numbers->at[i];
    char where[32];
    snprintf(where, sizeof where, "%s%s%s", whose, n->group, n->group[0] != '\0' ? "." : "");
    numbers_print_name(to, "", n->metric, n->label);
    numbers_print_name(to, where, n->status, NULL);
    numbers_print_name(to, "", n->history, NULL);
    fprintf(to, "| %s |\n", n->help);
  }
}

void numbers_markdown(FILE *to) {
  fputs("| `/metrics` | `/status` | `/history` | |\n| --- | --- | --- | --- |\n", to);
  numbers_print_rows(to, &gate_numbers, "");
  numbers_print_rows(to, &tenant_numbers, "tenants[].");
}
