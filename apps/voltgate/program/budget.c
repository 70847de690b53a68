/* budget.c: descriptors. A tcp gate needs one descriptor for each client and two for each permit: the
 * server's, and one more, because a socket that is being closed may still be there when the next is
 * opened. A session of another protocol has its server's connection from beginning to end: it needs
 * two for each client. */
#include "program/budget.h"

#include <inttypes.h>
#include <stdio.h>

#include "gate/gate.h"
#include "process/log.h"
#include "program/program.h"
#include "session/acceptor.h"

enum { BUDGET_PROCESS = 24 }; /* logs, epoll, doorbells, DNS, the listener of the admin side */
enum { BUDGET_ADMIN_LEAST = 8, BUDGET_WORDS = 384 };
enum { BUDGET_CLUSTER = 8 }; /* its connection, twice while it changes, clock, names */

static uint64_t fd_budget_kept(const struct gate_settings *gate, uint32_t limit) {
  uint64_t servers = gate->protocol == PROTOCOL_TCP ? 2 * (uint64_t)limit : 0;
  return servers + gate->listen_count;
}

uint32_t fd_budget_admin(uint64_t all) {
  uint64_t share = all / 16;
  if (share < BUDGET_ADMIN_LEAST) return BUDGET_ADMIN_LEAST;
  return share < ADMIN_CONNECTIONS ? (uint32_t)share : ADMIN_CONNECTIONS;
}

static uint64_t fd_budget_process(const struct settings *settings, uint64_t all) {
  return BUDGET_PROCESS + fd_budget_admin(all) + (settings->cluster ? BUDGET_CLUSTER : 0);
}

bool fd_budget_compute(struct budget *b, const struct settings *settings, uint64_t all, char *words,
                       size_t room) {
  *b = (struct budget){.all = all, .kept = fd_budget_process(settings, all)};
  uint64_t least = 0;
  for (size_t i = 0; i < settings->gate_count; i++) {
    const struct gate_settings *gate = &settings->gates[i];
    b->kept += fd_budget_kept(gate, gate->limit);
    uint32_t cost = acceptor_cost(gate->protocol);
    b->wanted += (uint64_t)gate->clients * cost;
    b->may += gate->clients;
    b->is_given |= gate->clients_given;
    if (cost > b->cost) b->cost = cost;
    least += cost * gate->listen_count; /* an acceptor keeps those of its next client */
  }
  if (b->kept + least > all) {
    snprintf(words, room,
             "the limits need %" PRIu64
             " descriptors (two for each permit of a tcp gate, %d for "
             "the process), and the process may have %" PRIu64 ": raise nofile or lower the limit",
             b->kept + least, (int)fd_budget_process(settings, all), all);
    return false;
  }
  b->clients = all - b->kept;
  return true;
}

bool fd_budget_words(const struct budget *b, char *words, size_t room) {
  words[0] = '\0';
  if (b->wanted <= b->clients) return false;
  int n = snprintf(words, room,
                   "descriptors: of %" PRIu64 ", %" PRIu64
                   " are kept back, and the rest is enough for %" PRIu64
                   " clients at once; more wait in the kernel until one leaves",
                   b->all, b->kept, b->clients / b->cost);
  if (!b->is_given) return false; /* how many are wanted is not known */
  snprintf(words + n, room - (size_t)n,
           ". For all %" PRIu64
           " that may come, set nofile (and the hard limit: LimitNOFILE=, "
           "ulimit -Hn) to %" PRIu64 ", or lower clients",
           b->may, b->kept + b->wanted);
  return true;
}

void fd_budget_say(struct program *p, const struct budget *b) {
  char words[BUDGET_WORDS];
  bool is_to_be_done = fd_budget_words(b, words, sizeof words);
  uint64_t said = words[0] ? b->kept + b->wanted : 0;
  if (said != 0 && said != p->descriptors_said) {
    log_line(is_to_be_done ? LOG_WARN : LOG_INFO, NULL, "%s", words);
  }
  p->descriptors_said = said;
}

/* ---- limits that change while the program runs ---- */

static void fd_budget_add(void *arg, struct gate *g) {
  *(uint64_t *)arg += fd_budget_kept(gate_settings(g), gate_limit(g));
}

void fd_budget_follow(struct program *p) {
  uint64_t kept = fd_budget_process(program_settings(p), p->descriptors_all);
  program_each_gate(p, fd_budget_add, &kept);
  uint64_t clients = p->descriptors_all > kept ? p->descriptors_all - kept : 0;
  if (clients > VOLT_SEM_MAX) clients = VOLT_SEM_MAX;
  if (clients == volt_sem_limit(&p->host.descriptors)) return;
  volt_sem_set_limit(&p->host.descriptors, (uint32_t)clients);
  log_line(clients ? LOG_DEBUG : LOG_ERROR, NULL,
           "descriptors: %" PRIu64 " of %" PRIu64 " are for clients now", clients,
           p->descriptors_all);
}
