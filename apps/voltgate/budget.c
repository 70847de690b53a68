/* budget.c: descriptors. A tcp gate needs one descriptor for each client and two for each permit: the
 * server's, and one more, because a socket that is being closed may still be there when the next is
 * opened. A session of another protocol has its server's connection from beginning to end: it needs
 * two for each client. */
#include "budget.h"

#include <inttypes.h>
#include <stdio.h>

#include "gate/gate.h"
#include "process/log.h"
#include "program.h"
#include "session/acceptor.h"

enum { BUDGET_PROCESS = 32 }; /* logs, epoll, doorbells, the admin side, DNS */
enum { BUDGET_CLUSTER = 8 };  /* its connection, twice while it changes, clock, names */

static uint64_t budget_kept(const struct gate_settings *gate, uint32_t limit) {
  uint64_t servers = gate->protocol == PROTOCOL_TCP ? 2 * (uint64_t)limit : 0;
  return servers + gate->listen_count;
}

static uint64_t budget_process(const struct settings *settings) {
  return BUDGET_PROCESS + (settings->cluster ? BUDGET_CLUSTER : 0);
}

bool budget_compute(struct budget *b, const struct settings *settings, uint64_t all, char *words,
                    size_t room) {
  *b = (struct budget){.all = all, .kept = budget_process(settings)};
  uint64_t least = 0;
  for (size_t i = 0; i < settings->gate_count; i++) {
    const struct gate_settings *gate = &settings->gates[i];
    b->kept += budget_kept(gate, gate->limit);
    b->wanted += (uint64_t)gate->clients * acceptor_cost(gate->protocol);
    least += acceptor_cost(gate->protocol);
  }
  if (b->kept + least > all) {
    snprintf(words, room,
             "the limits need %" PRIu64
             " descriptors (two for each permit of a tcp gate, %d for "
             "the process), and the process may have %" PRIu64 ": raise nofile or lower the limit",
             b->kept + least, (int)budget_process(settings), all);
    return false;
  }
  b->clients = all - b->kept;
  return true;
}

void budget_say(const struct budget *b) {
  if (b->wanted <= b->clients) {
    log_line(LOG_DEBUG, NULL, "descriptors: %" PRIu64 " of %" PRIu64 " are for clients", b->clients,
             b->all);
    return;
  }
  log_line(LOG_WARN, NULL,
           "descriptors: %" PRIu64 " of %" PRIu64
           " are for clients, and as many as may connect need %" PRIu64
           ": raise nofile or lower clients, or accept pauses when they are used up",
           b->clients, b->all, b->wanted);
}

/* ---- limits that change while the program runs ---- */

static void budget_add(void *arg, struct gate *g) {
  *(uint64_t *)arg += budget_kept(gate_settings(g), gate_limit(g));
}

void budget_follow(struct program *p) {
  uint64_t kept = budget_process(program_settings(p));
  program_each_gate(p, budget_add, &kept);
  uint64_t clients = p->descriptors_all > kept ? p->descriptors_all - kept : 0;
  if (clients > VOLT_SEM_MAX) clients = VOLT_SEM_MAX;
  if (clients == volt_sem_limit(&p->descriptors)) return;
  volt_sem_set_limit(&p->descriptors, (uint32_t)clients);
  log_line(clients ? LOG_DEBUG : LOG_ERROR, NULL,
           "descriptors: %" PRIu64 " of %" PRIu64 " are for clients now", clients,
           p->descriptors_all);
}
