/* ledger.c: clients of a gate and the server behind it in one thread, so that what each
 * sees is in one order; it keeps the books. tcp mode; every client sends its number and is answered
 * with it.
 *
 *   voltgate_ledger UPSTREAM_FD GATE_PORT ADMIN_PORT TOKEN PHASE CONNECTIONS LIMIT WINDOW CHANGES SEED
 *
 * UPSTREAM_FD is the server's listening socket, LIMIT the gate's limit at the beginning, WINDOW how
 * many clients are connected at once, CHANGES how often the limit is changed by HTTP. PHASE:
 *
 *   order   The server ends connections only when as many are open as the limit admits, and then
 *           one to all of them at once: nothing is on its way when it looks. A client connects
 *           after the one before has connected. With limit 1 the server must see them in that order;
 *           with limit L no client may be L places from where it belongs, because only those that
 *           were admitted at the same time may arrive in another order.
 *   free    The server ends each after 0 to 2 ms. A client that is passed by a later one while as
 *           many are open as the limit admits was not admitted before it: that is an inversion.
 *   leave   As free; clients that wait shut down their sending side and look when the gate ends the
 *           connection, which it does once it has left the queue. A connection to a thread that
 *           does nothing else is ended in the same way, for what the machine takes.
 *
 * Every hundredth client or so hangs up while it waits: by FIN, RST or half-close. A change of the
 * limit is made either when everything that was admitted has arrived (then the next connection
 * above the limit is one too many) or at any time (then one is that comes after a look, 60 ms later
 * or more, that finds no permit held but of connections that have arrived). It prints one line; exit code 1 if the books do not balance. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ll

enum { STUCK_MS = 30000, SLACK_MS = 60, MOST_WRONG = 10, SAMPLES = 1 << 17, DESCRIPTORS = 1 << 16 };

enum phase { ORDER, FREE, LEAVE };

/* One that the server has accepted; `number` is -1 until the client's bytes have come. */
struct arrival {
  int fd;
  int number;
  bool was_full;
  bool is_open;
  int64_t ends_at;
};

enum client_state { CLIENT_NONE, CLIENT_WAITS, CLIENT_GONE, CLIENT_SERVED };

struct client {
  int fd;
  enum client_state state;
};

static struct {
  int upstream;
  int gate_port;
  int admin_port;
  const char *token;
  enum phase phase;
  int connections;
  int window;
  int changes;
  uint64_t seed;

  int epoll;
  int limit;
  int limit_before;
  int64_t changed_at; /* answered */
  bool was_quiet;     /* nothing was on its way when it was changed */
  bool is_settled;    /* every arrival from now on was admitted after the change */

  struct client *clients;
  int connected;
  int waiting; /* clients that are connected, have not hung up and have no answer */
  int served;
  int hung_up;
  int made_changes;

  struct arrival *arrivals;
  int arrived;
  int oldest_open; /* none before it is */
  int open_count;
  int most_open;

  int by_fd[DESCRIPTORS]; /* a client's number or ~arrival */

  int64_t leave[SAMPLES], control[SAMPLES];
  int leave_count;
  int control_port;
  int wrong;
} ledger;

static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void wrong(const char *format, ...) {
  if (ledger.wrong++ >= MOST_WRONG) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "WRONG: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
}

static void give_up(const char *what) {
  fprintf(stderr,
          "%s (%s); limit %d, %d connected, %d served, %d hung up, %d wait or are served, "
          "%d arrived, %d open\n",
          what, strerror(errno), ledger.limit, ledger.connected, ledger.served, ledger.hung_up,
          ledger.waiting, ledger.arrived, ledger.open_count);
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static uint32_t below(uint32_t end) {
  ledger.seed ^= ledger.seed << 13;
  ledger.seed ^= ledger.seed >> 7;
  ledger.seed ^= ledger.seed << 17;
  return (uint32_t)(ledger.seed >> 20) % end;
}

static void watch(int fd, int whose) {
  if (fd >= DESCRIPTORS) give_up("too many descriptors");
  ledger.by_fd[fd] = whose;
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  if (epoll_ctl(ledger.epoll, EPOLL_CTL_ADD, fd, &event)) give_up("epoll_ctl");
}

static int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to)) give_up("connect");
  return fd;
}

/* ---- the limit, by HTTP ---- */

/* What the admin side answers, to the end of the connection. */
static const char *ask(const char *what, const char *body) {
  static char text[1 << 16];
  const int fd = connect_to(ledger.admin_port);
  const int all = snprintf(text, sizeof text,
                           "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                           "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                           what, ledger.token, strlen(body), body);
  if (write(fd, text, (size_t)all) != all) give_up("cannot ask");
  size_t got = 0;
  for (;;) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, STUCK_MS) != 1) give_up("no answer of the admin side");
    const ssize_t more = read(fd, text + got, sizeof text - 1 - got);
    if (more <= 0) break;
    got += (size_t)more;
  }
  text[got] = '\0';
  close(fd);
  return text;
}

static void put_limit(int limit) {
  char body[16];
  (void)snprintf(body, sizeof body, "%d", limit);
  const char *answer = ask("PUT /gates/main/limit", body);
  if (strncmp(answer, "HTTP/1.1 200", 12) != 0) wrong("the limit is not changed: %.60s", answer);
}

/* How many permits are held. */
static int held(void) {
  static const char name[] = "\"held\":";
  const char *at = strstr(ask("GET /status", ""), name);
  if (at == NULL) give_up("a status without what is held");
  return atoi(at + strlen(name));
}

static void end_the_dead(void);

/* Whether as many are open as the limit admits, and none of them ends unless the server ends it. */
static bool is_quiet(void) {
  for (int i = ledger.oldest_open; i < ledger.arrived; i++) {
    const struct arrival *a = &ledger.arrivals[i];
    if (!a->is_open) continue;
    if (a->number < 0 || ledger.clients[a->number].state != CLIENT_WAITS) return false;
  }
  return ledger.is_settled && ledger.open_count == ledger.limit;
}

static void change_limit(void) {
  end_the_dead();
  const bool was_quiet = is_quiet();
  const int limit = 1 + (int)below(32);
  if (ledger.is_settled || ledger.limit > ledger.limit_before) ledger.limit_before = ledger.limit;
  if (limit > ledger.limit_before) ledger.limit_before = limit;
  put_limit(limit);
  ledger.limit = limit;
  ledger.changed_at = now_ns();
  ledger.is_settled = ledger.was_quiet = was_quiet;
  ledger.made_changes++;
}

/* ---- clients ---- */

static void forget_client(int number) {
  struct client *c = &ledger.clients[number];
  if (c->state == CLIENT_WAITS) ledger.waiting--;
  close(c->fd);
  c->fd = -1;
}

static void connect_client(void) {
  const int number = ledger.connected++;
  struct client *c = &ledger.clients[number];
  *c = (struct client){.fd = connect_to(ledger.gate_port), .state = CLIENT_WAITS};
  const uint32_t word = htonl((uint32_t)number);
  if (send(c->fd, &word, sizeof word, MSG_NOSIGNAL) != sizeof word) give_up("cannot send");
  watch(c->fd, number);
  ledger.waiting++;
}

static bool has_arrived(int number) {
  for (int i = ledger.oldest_open; i < ledger.arrived; i++) {
    if (ledger.arrivals[i].number == number) return true;
  }
  return false;
}

/* How long it takes until the other side, which has been told that no more comes, ends it. */
static int64_t time_to_end(int fd) {
  const int64_t begun = now_ns();
  shutdown(fd, SHUT_WR);
  struct pollfd p = {.fd = fd, .events = POLLIN};
  if (poll(&p, 1, STUCK_MS) != 1) give_up("a client that has hung up is not let go");
  return now_ns() - begun;
}

static void *end_connections(void *listener) {
  for (;;) {
    const int fd = accept(*(int *)listener, NULL, NULL);
    if (fd < 0) return NULL;
    char byte;
    while (read(fd, &byte, 1) > 0) {
    }
    close(fd);
  }
}

/* The client of that number hangs up while it waits. */
static void hang_up(int number) {
  struct client *c = &ledger.clients[number];
  ledger.hung_up++;
  ledger.waiting--;
  c->state = CLIENT_GONE;
  switch (ledger.phase == LEAVE ? 3 : below(3)) {
    case 0: forget_client(number); break;
    case 1:
      setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1},
                 sizeof(struct linger));
      forget_client(number);
      break;
    case 2: shutdown(c->fd, SHUT_WR); break;
    default: {
      const int64_t took = time_to_end(c->fd);
      char byte;
      const ssize_t got = recv(c->fd, &byte, 1, MSG_DONTWAIT);
      const bool is_end = got == 0 || (got < 0 && errno == ECONNRESET);
      if (is_end && ledger.leave_count < SAMPLES) { /* it has left, and was not served */
        ledger.leave[ledger.leave_count] = took;
        const int other = connect_to(ledger.control_port);
        ledger.control[ledger.leave_count++] = time_to_end(other);
        close(other);
      }
      forget_client(number);
    }
  }
}

/* One of those that are far from being served, so that it does wait. */
static void somebody_hangs_up(void) {
  if (ledger.connected < ledger.window) return;
  const int number = ledger.connected - 1 - (int)below((uint32_t)ledger.window / 2 + 1);
  if (number < 0 || ledger.clients[number].state != CLIENT_WAITS || has_arrived(number)) return;
  hang_up(number);
}

static void read_client(int number) {
  struct client *c = &ledger.clients[number];
  uint32_t word;
  const ssize_t size = recv(c->fd, &word, sizeof word, 0);
  if (size == sizeof word) {
    if (ntohl(word) != (uint32_t)number)
      wrong("client %d is answered with %u", number, ntohl(word));
    if (c->state == CLIENT_WAITS) {
      ledger.waiting--;
      ledger.served++;
      c->state = CLIENT_SERVED;
    }
  } else {
    if (c->state == CLIENT_WAITS) wrong("client %d is ended without an answer", number);
    forget_client(number);
  }
}

/* ---- the server ---- */

static void end_arrival(struct arrival *a, bool is_answered) {
  if (is_answered) {
    const uint32_t word = htonl((uint32_t)a->number);
    (void)!send(a->fd, &word, sizeof word, MSG_NOSIGNAL);
  }
  a->is_open = false;
  ledger.open_count--;
  close(a->fd);
}

static void read_arrival(struct arrival *a) {
  uint32_t word;
  const ssize_t size = recv(a->fd, &word, sizeof word, 0);
  if (size == sizeof word && a->number < 0) {
    a->number = (int)ntohl(word);
    if (a->number >= ledger.connected) give_up("bytes that no client has sent");
  } else if (size <= 0) {
    end_arrival(a, false); /* the client has hung up */
  } else {
    wrong("%zd bytes of a client that sends no more", size);
  }
}

static bool has_event(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1;
}

/* Those that the gate has ended before this moment, of which the events are still to be read: also
 * one that was admitted as its client hung up, and that has said nothing, or its number just now. */
static void end_the_dead(void) {
  for (int i = ledger.oldest_open; i < ledger.arrived; i++) {
    char byte;
    struct arrival *a = &ledger.arrivals[i];
    if (a->is_open && a->number < 0 && has_event(a->fd)) read_arrival(a);
    if (!a->is_open || a->number < 0) continue;
    const ssize_t size = recv(a->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN)) end_arrival(a, false);
  }
}

static void accept_arrival(int fd) {
  const int index = ledger.arrived++;
  struct arrival *a = &ledger.arrivals[index];
  const int most = ledger.is_settled ? ledger.limit : ledger.limit_before;
  if (++ledger.open_count > most || ledger.open_count >= ledger.limit) end_the_dead();
  *a = (struct arrival){
      .fd = fd, .number = -1, .is_open = true, .was_full = ledger.open_count >= ledger.limit};
  a->ends_at = now_ns() + (int64_t)below(2001) * 1000;
  if (ledger.open_count > ledger.most_open) ledger.most_open = ledger.open_count;
  if (ledger.open_count > most) {
    wrong("arrival %d is one of %d, limit %d%s, %lld us after the change", index, ledger.open_count,
          ledger.limit, ledger.was_quiet ? " (quiet)" : "",
          (long long)(now_ns() - ledger.changed_at) / 1000);
  }
  watch(fd, ~index);
}

static void accept_all(void) {
  for (;;) {
    const int fd = accept4(ledger.upstream, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) break;
    if (ledger.arrived >= ledger.connections * 2) give_up("more arrive than there are clients");
    accept_arrival(fd);
  }
}

/* Whether it is time that what was admitted before the change has arrived. */
static bool settles(void) {
  return !ledger.is_settled && now_ns() - ledger.changed_at > SLACK_MS * MS;
}

/* Nothing is on its way if no more permits are held than connections are open afterwards: one that the
 * gate ends meanwhile must not stand for one that is on its way. The gate may still hold those of some
 * that were ended: then it is looked again. */
static void settle(void) {
  accept_all();
  const int permits = held();
  end_the_dead();
  ledger.is_settled = permits <= ledger.open_count;
}

/* Ends the oldest of those that have said who they are, and whose time has come. */
static void end_some(int count, int64_t now) {
  while (ledger.oldest_open < ledger.arrived && !ledger.arrivals[ledger.oldest_open].is_open) {
    ledger.oldest_open++;
  }
  for (int i = ledger.oldest_open; i < ledger.arrived && count > 0; i++) {
    struct arrival *a = &ledger.arrivals[i];
    if (!a->is_open || a->number < 0 || a->ends_at > now) continue;
    end_arrival(a, true);
    count--;
  }
}

/* Whether all that can be open is: no client waits for anything but the server. */
static bool all_have_arrived(void) {
  int served = 0;
  for (int i = ledger.oldest_open; i < ledger.arrived; i++) {
    const struct arrival *a = &ledger.arrivals[i];
    if (!a->is_open) continue;
    if (a->number < 0) return false;
    served += ledger.clients[a->number].state == CLIENT_WAITS;
  }
  return ledger.open_count >= ledger.limit || served == ledger.waiting;
}

static void serve(void) {
  if (settles()) return;
  if (ledger.phase != ORDER) {
    end_some(ledger.open_count, now_ns());
  } else if (ledger.open_count && all_have_arrived()) {
    const int over = ledger.open_count > ledger.limit ? ledger.open_count - ledger.limit : 0;
    end_some(over + 1 + (int)below((uint32_t)ledger.limit), INT64_MAX);
  }
}

/* ---- the books ---- */

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static double percentile_us(int64_t *samples, int count, double part) {
  if (!count) return 0;
  qsort(samples, (size_t)count, sizeof *samples, compare);
  return (double)samples[(int)(part * (count - 1))] / 1000;
}

static int compare_numbers(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}

static void check_order(int *inversions, int *proven, int *displacement) {
  int *order = malloc(sizeof *order * (size_t)(ledger.arrived + 1));
  int *sorted = malloc(sizeof *sorted * (size_t)(ledger.arrived + 1));
  int count = 0, most = -1, most_when_full = -1;
  for (int i = 0; i < ledger.arrived; i++) {
    const struct arrival *a = &ledger.arrivals[i];
    if (a->number >= 0) {
      order[count] = sorted[count] = a->number;
      count++;
      *inversions += a->number < most;
      *proven += a->number < most_when_full;
      if (a->number > most) most = a->number;
    }
    if (a->was_full) most_when_full = most;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, compare_numbers);
  for (int i = 0; i < count; i++) {
    const int *place = bsearch(&order[i], sorted, (size_t)count, sizeof *sorted, compare_numbers);
    const int moved = abs((int)(place - sorted) - i);
    if (moved > *displacement) *displacement = moved;
    if (i && sorted[i] == sorted[i - 1]) wrong("client %d came twice", sorted[i]);
  }
  free(order);
  free(sorted);
}

static int report(int first_limit, double seconds) {
  int inversions = 0, proven = 0, displacement = 0;
  check_order(&inversions, &proven, &displacement);
  if (ledger.changes == 0) {
    if (proven) wrong("%d were passed by a later one that was admitted before", proven);
    if (first_limit == 1 && inversions) wrong("%d inversions with limit 1", inversions);
    if (ledger.phase == ORDER && displacement >= first_limit) {
      wrong("somebody is %d places from where it belongs, limit %d", displacement, first_limit);
    }
  }
  if (ledger.served + ledger.hung_up != ledger.connected) {
    wrong("%d served and %d hung up of %d", ledger.served, ledger.hung_up, ledger.connected);
  }
  printf(
      "connected=%d served=%d hung_up=%d arrived=%d changes=%d most_open=%d inversions=%d "
      "proven=%d displacement=%d leave_samples=%d leave_p50_us=%.0f leave_p90_us=%.0f "
      "leave_p99_us=%.0f "
      "control_p50_us=%.0f control_p99_us=%.0f seconds=%.2f wrong=%d\n",
      ledger.connected, ledger.served, ledger.hung_up, ledger.arrived, ledger.made_changes,
      ledger.most_open, inversions, proven, displacement, ledger.leave_count,
      percentile_us(ledger.leave, ledger.leave_count, 0.5),
      percentile_us(ledger.leave, ledger.leave_count, 0.9),
      percentile_us(ledger.leave, ledger.leave_count, 0.99),
      percentile_us(ledger.control, ledger.leave_count, 0.5),
      percentile_us(ledger.control, ledger.leave_count, 0.99), seconds, ledger.wrong);
  return ledger.wrong ? 1 : 0;
}

/* ---- the loop ---- */

static void look(void) {
  struct epoll_event events[256];
  const int count =
      epoll_wait(ledger.epoll, events, 256, ledger.phase == ORDER && ledger.is_settled ? 1000 : 1);
  static int64_t last;
  if (count > 0) last = now_ns();
  if (last && now_ns() - last > STUCK_MS * MS) give_up("nothing happens any more");
  bool arrives = false;
  for (int i = 0; i < count; i++) {
    const int fd = events[i].data.fd;
    if (fd == ledger.upstream) {
      arrives = true;
    } else if (ledger.by_fd[fd] >= 0) {
      read_client(ledger.by_fd[fd]);
    } else {
      read_arrival(&ledger.arrivals[~ledger.by_fd[fd]]);
    }
  }
  if (arrives) accept_all();
  if (settles()) settle();
}

static void run(void) {
  const int every = ledger.changes ? ledger.connections / (ledger.changes + 1) : ledger.connections;
  const uint32_t one_of = ledger.phase == LEAVE ? 8 : 100;
  int pause_at = every; /* until the limit has been changed */
  while (ledger.served + ledger.hung_up < ledger.connections) {
    const int end = ledger.made_changes < ledger.changes ? pause_at : ledger.connections;
    while (ledger.connected < end && ledger.waiting < ledger.window) {
      connect_client();
      if (below(one_of) == 0) somebody_hangs_up();
    }
    look();
    bool is_patient = false;
    if (ledger.connected == end && end < ledger.connections) {
      /* Most of the changes wait for a moment at which nothing is on its way. */
      is_patient = ledger.made_changes % 4 && ledger.waiting >= 2 * ledger.limit;
      if (!is_patient || (ledger.is_settled && ledger.open_count == ledger.limit)) {
        change_limit();
        pause_at += every;
        is_patient = false;
      }
    }
    if (is_patient && ledger.open_count <= ledger.limit) continue;
    serve();
  }
  while (ledger.open_count) look(); /* those whose clients have hung up */
}

static int make_control(void) {
  static int listener;
  static pthread_t thread;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 16) ||
      getsockname(listener, (struct sockaddr *)&at, &size) ||
      pthread_create(&thread, NULL, end_connections, &listener)) {
    give_up("the other server");
  }
  return ntohs(at.sin_port);
}

int main(int count, char **arguments) {
  if (count != 11) {
    fprintf(stderr,
            "usage: %s UPSTREAM_FD GATE_PORT ADMIN_PORT TOKEN order|free|leave CONNECTIONS "
            "LIMIT WINDOW CHANGES SEED\n",
            arguments[0]);
    return 2;
  }
  ledger.upstream = atoi(arguments[1]);
  ledger.gate_port = atoi(arguments[2]);
  ledger.admin_port = atoi(arguments[3]);
  ledger.token = arguments[4];
  ledger.phase = arguments[5][0] == 'o' ? ORDER : arguments[5][0] == 'f' ? FREE : LEAVE;
  ledger.connections = atoi(arguments[6]);
  ledger.limit = ledger.limit_before = atoi(arguments[7]);
  ledger.window = atoi(arguments[8]);
  ledger.changes = atoi(arguments[9]);
  ledger.seed = strtoull(arguments[10], NULL, 10) * 2654435761u + 88172645463325252u;
  ledger.is_settled = true;
  const int first_limit = ledger.limit;
  ledger.clients = calloc((size_t)ledger.connections, sizeof *ledger.clients);
  ledger.arrivals = calloc((size_t)ledger.connections * 2, sizeof *ledger.arrivals);
  ledger.epoll = epoll_create1(EPOLL_CLOEXEC);
  ledger.control_port = make_control();
  watch(ledger.upstream, 0);
  const int64_t begun = now_ns();
  run();
  return report(first_limit, (double)(now_ns() - begun) / 1e9);
}
