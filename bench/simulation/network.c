/* network.c: one thread of the host runs the whole simulation, so nothing here is protected.
 *
 * Sets: a set is a list of what is ready, each at most once, and a word that counts what was put
 *   there. A look is a system call; it takes the lock of the set, a line that travels between cores,
 *   if there is anything to take. A thread that finds nothing sleeps on the word, as on a futex. It is
 *   woken by what comes, and sleeps on if another has taken that meanwhile: as in Linux.
 * Connections: what the kernel keeps of each is some lines, which go to the core that receives or
 *   sends. What arrives, and what clients do, costs no core of the machine anything.
 * Clients: those of a core work by turns, so answers that come together are answered one after the
 *   other. */
#include "network.h"

#include <math.h>
#include <stdlib.h>

#include "machine.h"

enum { SOCKET_LINES = 4, LINE = 64 };
static const uint64_t quiet_after_ns = 20000000, closes_after_ns = 40000000;
static const uint64_t an_hour_ns = UINT64_C(3600000000000); /* sim_now_ns() when the run began */

typedef struct set set;

typedef struct source {
  struct source *next;
  set *in;
  net_event event;
  bool is_listed;
} source;

struct set {
  uint32_t *word, *lock; /* on lines of their own */
  source *first, *last;
};

typedef struct request {
  struct request *next;
  uint64_t ns; /* when it arrives */
} request;

typedef struct connection {
  source source; /* first */
  char *socket;
  request *arrived, *arrived_last, *received;
  uint64_t free_ns; /* its task has computed until then */
  bool has_closed, is_over;
} connection;

static net_setup the;
static set *sets;
static connection *connections;
static source bells[SIM_CORES];
static uint64_t *client_free_ns;
static request *unused;
static uint64_t sent, arrivals, received, answered, begin_ns, end_ns, over;
static bool counts, is_stopped;
static net_says says;
static double *waits;
static uint64_t *computes; /* when each began */
static uint64_t compute_count, compute_room, computes_until_ns;

static void *all_zero(size_t count, size_t bytes) {
  void *memory = calloc(count + 1, bytes);
  if (!memory) sim_stop("no memory");
  return memory;
}

void net_begin(const net_setup *s) {
  the = *s;
  sets = (set *)all_zero(s->sets, sizeof *sets);
  connections = (connection *)all_zero(s->connections, sizeof *connections);
  client_free_ns = (uint64_t *)all_zero(s->clients, sizeof *client_free_ns);
  waits = (double *)all_zero(s->operations, sizeof *waits);
  for (unsigned i = 0; i < s->sets; i++) {
    sets[i].word = (uint32_t *)sim_alloc_lines(LINE);
    sets[i].lock = (uint32_t *)sim_alloc_lines(LINE);
  }
}

/* ---- sets ---- */

static void watch(unsigned in, source *s, bool is_bell, uint32_t name) {
  s->in = &sets[in];
  s->event = (net_event){is_bell, name};
}

void net_watch(unsigned in, unsigned i) {
  watch(in, &connections[i].source, false, i);
  connections[i].socket = (char *)sim_alloc_lines(SOCKET_LINES * LINE);
}

void net_watch_bell(unsigned in, unsigned bell) {
  watch(in, &bells[bell], true, bell);
}

static void becomes_ready(source *s) {
  set *in = s->in;
  if (s->is_listed) return;
  s->is_listed = true;
  s->next = NULL;
  if (in->first) {
    in->last->next = s;
  } else {
    in->first = s;
  }
  in->last = s;
  *in->word += 1;
}

static unsigned take(set *in, net_event events[NET_EVENTS]) {
  unsigned count = 0;
  if (!in->first) return 0;
  sim_rmw(in->lock);
  for (; in->first && count < NET_EVENTS; count++) {
    source *s = in->first;
    in->first = s->next;
    s->is_listed = false;
    events[count] = s->event;
  }
  sim_work(count * sim_cost.event);
  return count;
}

unsigned net_look(unsigned i, net_event events[NET_EVENTS], uint64_t deadline_ns) {
  set *in = &sets[i];
  sim_work(sim_cost.look);
  unsigned count = take(in, events);
  bool may_sleep = true;
  while (count == 0 && may_sleep && deadline_ns > an_hour_ns + sim_peek_ns()) {
    if (!in->first) may_sleep = sim_sleep(in->word, *in->word, deadline_ns);
    count = take(in, events);
  }
  return count;
}

void net_ring(unsigned bell) {
  becomes_ready(&bells[bell]);
  sim_wake(bells[bell].in->word, 1);
}

/* ---- clients ---- */

static double share(void) {
  return (double)(sim_random() >> 11) / (double)(UINT64_C(1) << 53);
}

/* No two take equally long. */
static uint64_t about(double ns) {
  return (uint64_t)(ns * (0.5 + share()));
}

static void arrives(connection *c, uint64_t ns) {
  request *r = unused;
  if (r) {
    unused = r->next;
  } else {
    r = (request *)all_zero(1, sizeof *r);
  }
  r->next = NULL;
  r->ns = ns;
  if (c->arrived) {
    c->arrived_last->next = r;
  } else {
    c->arrived = r;
  }
  c->arrived_last = r;
  if (++arrivals == the.lose) return;
  becomes_ready(&c->source);
  says.woken += sim_wake_at(c->source.in->word, ns) && counts;
}

static void request_arrives(void *arg, uint64_t ns) {
  arrives((connection *)arg, ns);
}

/* The answer to the last request leaves at that time. */
static void send_next(connection *c, uint64_t ns) {
  uint64_t *free_ns = &client_free_ns[(size_t)(c - connections) % the.clients];
  uint64_t at_ns = ns + about(the.way_ns / 2);
  if (at_ns < *free_ns) at_ns = *free_ns;
  *free_ns = at_ns + about(the.client_ns);
  sent += 1;
  sim_at(*free_ns + about(the.way_ns / 2), request_arrives, c);
}

static void any_arrives(void *arg, uint64_t ns) {
  (void)arg;
  if (is_stopped) return;
  sent += 1;
  arrives(&connections[sim_random() % the.connections], ns);
  double gap_ns = -log(1 - share()) * 1e9 / the.rate;
  sim_at(ns + (uint64_t)gap_ns, any_arrives, NULL);
}

void net_start(void) {
  uint64_t now_ns = sim_peek_ns();
  if (the.rate > 0) {
    sim_at(now_ns, any_arrives, NULL);
    return;
  }
  for (unsigned i = 0; i < the.connections; i++) send_next(&connections[i], now_ns);
}

static void closes(void *arg, uint64_t ns) {
  (void)arg;
  the.stage(the.ctx, NET_CLOSES);
  for (unsigned i = 0; i < the.connections; i++) {
    connections[i].has_closed = true;
    becomes_ready(&connections[i].source);
    (void)sim_wake_at(connections[i].source.in->word, ns);
  }
}

static void is_quiet(void *arg, uint64_t ns) {
  (void)arg, (void)ns;
  the.stage(the.ctx, NET_IS_QUIET);
}

/* ---- receive, send ---- */

static void touch(connection *c, double cost_ns) {
  sim_work(cost_ns);
  for (unsigned i = 0; i < SOCKET_LINES; i++) sim_write(c->socket + (size_t)i * LINE);
}

static double waited_ns(const connection *c, const request *r) {
  uint64_t from_ns = r->ns > c->free_ns ? r->ns : c->free_ns;
  return (double)(sim_peek_ns() - from_ns);
}

int net_receive(unsigned i) {
  connection *c = &connections[i];
  touch(c, sim_cost.receive);
  if (c->received) sim_stop("a connection is received from before it was answered");
  int count = 0;
  for (request *r = c->arrived; r; r = r->next) {
    double ns = waited_ns(c, r);
    if (counts && ns > says.delay_ns) says.delay_ns = ns;
    count += 1;
  }
  c->received = c->arrived;
  c->arrived = NULL;
  received += (uint64_t)count;
  says.batches += count > 0 && counts;
  if (count > 0 || !c->has_closed) return count;
  if (c->is_over) sim_stop("a connection ends twice");
  c->is_over = true;
  over += 1;
  return -1;
}

static void note_stage(uint64_t now_ns) {
  if (answered == the.warm_up) {
    counts = true;
    begin_ns = now_ns;
    the.stage(the.ctx, NET_BEGINS);
  } else if (answered == the.warm_up + the.operations) {
    counts = false;
    is_stopped = true;
    end_ns = now_ns;
    the.stage(the.ctx, NET_ENDS);
  }
}

void net_send(unsigned i) {
  connection *c = &connections[i];
  touch(c, sim_cost.send);
  uint64_t now_ns = sim_peek_ns();
  while (c->received) {
    request *r = c->received;
    c->received = r->next;
    if (counts) waits[says.operations++] = waited_ns(c, r);
    r->next = unused;
    unused = r;
    answered += 1;
    note_stage(now_ns);
    if (the.rate == 0 && !is_stopped) send_next(c, now_ns);
  }
  if (is_stopped && answered == sent) {
    sim_at(now_ns + quiet_after_ns, is_quiet, NULL);
    sim_at(now_ns + closes_after_ns, closes, NULL);
  }
}

void net_compute(unsigned i) {
  if (sim_peek_ns() < computes_until_ns) return;
  if (compute_count == compute_room) {
    compute_room = compute_room ? 2 * compute_room : 64;
    computes = (uint64_t *)realloc(computes, compute_room * sizeof *computes);
    if (!computes) sim_stop("no memory");
  }
  computes[compute_count++] = sim_peek_ns();
  says.computed += counts;
  computes_until_ns = sim_peek_ns() + (uint64_t)the.compute_ns;
  sim_work(the.compute_ns);
  connections[i].free_ns = sim_peek_ns();
}

/* ---- the end ---- */

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* How much of what was computed was between the first answer that counts and the last. */
static double computing_ns(void) {
  double sum = 0;
  for (uint64_t i = 0; i < compute_count; i++) {
    double from = (double)computes[i], to = from + the.compute_ns;
    if (from < (double)begin_ns) from = (double)begin_ns;
    if (to > (double)end_ns) to = (double)end_ns;
    if (to > from) sum += to - from;
  }
  return sum;
}

net_says net_end(void) {
  if (sent != received || sent != answered || !is_stopped) sim_stop("requests are lost");
  if (says.operations != the.operations) sim_stop("it was counted wrongly");
  if (over != the.connections) sim_stop("a connection does not end");
  qsort(waits, the.operations, sizeof *waits, compare);
  says.p50_ns = waits[the.operations / 2];
  says.p99_ns = waits[the.operations * 99 / 100];
  says.longest_ns = waits[the.operations - 1];
  says.window_ns = (double)(end_ns - begin_ns);
  says.computing_ns = computing_ns();
  return says;
}
