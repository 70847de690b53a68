/* framing_test.c: what the gate believes about a PostgreSQL session, beside PostgreSQL itself.
 *
 * Random pipelines of messages, errors and COPY among them, go through a gate to a server that the
 * test has started. Whenever the gate gives its permit back, pg_stat_activity must say that the session
 * is idle, and nothing but ReadyForQuery may still come. In the end of each round, behind the answer to
 * a last query, nothing may be outstanding, and no permit held.
 *
 * It takes a second; VOLT_TEST_SECONDS changes that, VOLT_TEST_SEED what is sent. Without
 * PostgreSQL it is skipped. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pg_script.h"

enum {
  SKIPPED = 77,
  PATH_ROOM = 96,
  NAP_MS = 10,
  START_MS = 60000,
  ANSWER_MS = 20000,
  CRASH_MS = 60000
};

/* ---- the server ---- */

static char directory[] = "/tmp/voltgate_framing_XXXXXX";
static char programs[256]; /* the directory of initdb and postgres */
static pid_t postmaster;
static uid_t user;
static gid_t group;

static void stop_server(void) {
  if (postmaster > 0) {
    kill(postmaster, SIGQUIT);
    waitpid(postmaster, NULL, 0);
  }
  postmaster = 0;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  if (system(command) != 0) fprintf(stderr, "%s is left\n", directory);
}

static void die(const char *what) {
  fprintf(stderr, "framing_test: %s\n", what);
  stop_server();
  exit(1);
}

/* Debian does not put PostgreSQL's programs into PATH. */
static void find_programs(void) {
  glob_t found;
  if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0) {
    snprintf(programs, sizeof programs, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return;
  }
  const char *at = getenv("PATH");
  while (at != NULL && *at != 0) {
    int size = (int)strcspn(at, ":");
    char path[300];
    snprintf(programs, sizeof programs, "%.*s", size, at);
    snprintf(path, sizeof path, "%s/initdb", programs);
    if (access(path, X_OK) == 0) return;
    at += size + (at[size] == ':');
  }
}

/* PostgreSQL does not run as root: it is run by a user without rights then. */
static bool find_server(void) {
  find_programs();
  user = geteuid();
  group = getegid();
  if (user == 0) {
    struct passwd *entry = getpwnam("postgres");
    if (entry == NULL) entry = getpwnam("nobody");
    if (entry == NULL) return false;
    user = entry->pw_uid;
    group = entry->pw_gid;
  }
  char path[300];
  snprintf(path, sizeof path, "%s/initdb", programs);
  return programs[0] != 0 && access(path, X_OK) == 0;
}

static pid_t start(const char *program, char **arguments) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", programs, program);
  arguments[0] = path;
  pid_t child = fork();
  if (child != 0) return child;
  char log[PATH_ROOM];
  snprintf(log, sizeof log, "%s/log", directory);
  if (geteuid() == 0 && (setgroups(1, &group) != 0 || setgid(group) != 0 || setuid(user) != 0)) {
    _exit(125);
  }
  int output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (output < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 || chdir(directory) != 0) _exit(126);
  execv(path, arguments);
  _exit(127);
}

static void start_server(void) {
  if (mkdtemp(directory) == NULL || chown(directory, user, group) != 0) die("no directory");
  char data[PATH_ROOM], sockets[PATH_ROOM + 32];
  snprintf(data, sizeof data, "%s/data", directory);
  snprintf(sockets, sizeof sockets, "unix_socket_directories=%s", directory);
  char *make[] = {"", "-D", data, "-A", "trust", "-U", "postgres", "-N", "--no-instructions", NULL};
  pid_t child = start("initdb", make);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) die("initdb has failed");
  char *run[] = {"",   "-D",
                 data, "-F",
                 "-c", "listen_addresses=",
                 "-c", sockets,
                 "-c", "shared_buffers=8MB",
                 "-c", "autovacuum=off",
                 NULL};
  postmaster = start("postgres", run);
  if (postmaster < 0) die("postgres cannot be started");
}

/* ---- a connection ---- */

static int dial(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", directory);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("no socket");
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    close(fd);
    return -1;
  }
  static const char startup[] = "\0\0\0\x29\0\3\0\0user\0postgres\0database\0postgres\0";
  if (write(fd, startup, sizeof startup) != sizeof startup) die("the server is gone");
  return fd;
}

static void write_all(int fd, struct pg_side *side) {
  size_t done = 0;
  while (done < side->size) {
    ssize_t n = send(fd, side->bytes + done, side->size - done, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) break; /* it has given up: reading says so */
    if (n > 0) done += (size_t)n;
  }
  side->size = 0;
}

/* Read what has come within so many milliseconds. Returns its size; 0: nothing; -1: it has closed. */
static ssize_t read_some(int fd, char *to, size_t room, int ms) {
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  if (poll(&ready, 1, ms) <= 0) return 0;
  ssize_t n = read(fd, to, room);
  return n <= 0 ? -1 : n;
}

/* ---- the other connection, which looks ---- */

static int watcher = -1;

/* Ask, and read up to ReadyForQuery. Returns the first column of the last row.
 * question: NULL: just read. NULL is returned then if the server is not ready yet. */
static const char *ask(const char *question) {
  static char row[128];
  struct pg_side out = {0}, in = {0};
  bool is_over = question == NULL;
  row[0] = 0;
  if (question != NULL) pg_side_message(&out, 'Q', question, strlen(question) + 1);
  write_all(watcher, &out);
  for (is_over = false; !is_over;) {
    char bytes[4096];
    ssize_t n = read_some(watcher, bytes, sizeof bytes, ANSWER_MS);
    if (n <= 0) die("the watcher gets no answer");
    pg_side_add(&in, bytes, (size_t)n);
    while (in.size >= 5) {
      const uint8_t *at = (const uint8_t *)in.bytes;
      size_t whole = ((size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4]) + 1;
      if (in.size < whole) break;
      if (at[0] == 'D' && whole >= 11 && at[7] != 0xff) {
        size_t size = at[10] < sizeof row - 1 ? at[10] : sizeof row - 1;
        memcpy(row, at + 11, size);
        row[size] = 0;
      }
      if (at[0] == 'E' && question != NULL) die((const char *)at + 5);
      if (at[0] == 'E') {
        pg_side_free(&in);
        return NULL;
      }
      is_over = at[0] == 'Z';
      pg_side_drop(&in, whole);
    }
  }
  pg_side_free(&in);
  pg_side_free(&out);
  return row;
}

static void open_watcher(void) {
  struct timespec nap = {.tv_nsec = NAP_MS * 1000000};
  for (int waited = 0; (watcher = dial()) < 0 || ask(NULL) == NULL; waited += NAP_MS) {
    if (waited > START_MS || waitpid(postmaster, NULL, WNOHANG) != 0)
      die("postgres does not start");
    if (watcher >= 0) close(watcher);
    nanosleep(&nap, NULL);
  }
}

static void prepare(void) {
  open_watcher();
  ask("set client_min_messages = error; create table t (a int);"
      "create table u (a int unique deferrable initially deferred); create table v (a int unique);"
      "create table b (a int); insert into v values (7);"
      "create function refuse() returns trigger language plpgsql as"
      " $$ begin raise exception 'no'; end $$;"
      "create trigger refuse before insert on b for each statement execute function refuse()");
}

/* ---- what is sent ---- */

static uint64_t state;

static unsigned below(unsigned limit) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (unsigned)((state * 0x2545f4914f6cdd1d) >> 33) % limit;
}

static struct pg_gate gate;
static int server = -1;
static struct pg_side made; /* messages that the client has made and not sent */
static unsigned copies;     /* COPY FROM STDIN that a polite client is to end */
static char sent[65536];    /* what was sent in this round, for a report */
static size_t sent_size;
static unsigned long long rounds, messages, releases, fatal, lost, crashes;

static void fail(const char *what) {
  fprintf(stderr, "%s; pid %u, status %c, permit %d, count %u, current %u, doubtful %u\n%s\n", what,
          gate.pg.backend, gate.pg.status, gate.pg.has_permit, gate.pg.count, gate.pg.current,
          gate.pg.doubtful, sent);
  char command[128];
  snprintf(command, sizeof command, "tail -n 20 %s/log >&2", directory);
  if (system(command) != 0) fprintf(stderr, "there is no log\n");
  die("wrong");
}

static void log_sent(char type, const char *text) {
  messages++;
  if (sent_size > sizeof sent - 200) return;
  sent_size += (size_t)snprintf(sent + sent_size, 150, "%c %s\n", type, text);
}

static void message(char type, const char *body, size_t size, const char *text) {
  pg_side_message(&made, type, body, size);
  log_sent(type, text);
}

static void query(const char *sql) {
  message('Q', sql, strlen(sql) + 1, sql);
}

static void parse(const char *name, const char *sql) {
  char body[256];
  int size = snprintf(body, sizeof body - 3, "%s%c%s", name, 0, sql);
  memset(body + size, 0, 3);
  message('P', body, (size_t)size + 3, sql);
}

static void bind_to(const char *statement) {
  char body[64] = {0};
  size_t size = strlen(statement);
  memcpy(body + 1, statement, size);
  message('B', body, size + 8, statement);
}

static void execute(unsigned rows) {
  char body[5] = {0, 0, 0, 0, (char)rows};
  message('E', body, sizeof body, rows == 0 ? "" : "some rows");
}

/* With names of its own, so that nothing else executes it. */
static void batch_copy(const char *sql) {
  message('C', "Sc", 3, "statement c");
  parse("c", sql);
  message('B', "c\0c\0\0\0\0\0\0", 10, "c");
  message('E', "c\0\0\0\0", 6, "c");
}

static void batch(const char *sql) {
  parse("", sql);
  bind_to("");
  if (below(2)) message('D', "P", 2, "portal");
  execute(0);
}

static void send_function(bool is_right) { /* int4pl(int4, int4) */
  static const char call[] = "\0\0\0\xb1\0\1\0\1\0\2\0\0\0\4\0\0\0\1\0\0\0\4\0\0\0\2\0\1";
  message('F', call, is_right ? sizeof call - 1 : 5, is_right ? "int4pl" : "cut");
}

static void random_query(bool is_polite) {
  static const char *const queries[] = {"select 1",
                                        "select 1/0",
                                        "",
                                        "select 1; select 2",
                                        "select 1; select 1/0; select 3",
                                        "begin",
                                        "commit",
                                        "rollback",
                                        "select generate_series(1, 40)",
                                        "copy v to stdout",
                                        "begin; insert into u values (1), (1); commit",
                                        "select pg_sleep(0.001)",
                                        "selec",
                                        "listen x",
                                        "notify x",
                                        "set application_name = 'x'",
                                        "do $$ begin raise notice 'x'; end $$"};
  static const char *const copying[] = {"copy t from stdin", "copy b from stdin",
                                        "copy v from stdin", "copy t from stdin; select 1",
                                        "copy t from stdin; copy t from stdin"};
  if (below(4) != 0) {
    query(queries[below(sizeof queries / sizeof *queries)]);
    return;
  }
  unsigned which = below(5);
  query(copying[which]);
  if (is_polite) copies = which == 4 ? 2 : 1;
}

static void random_asked(bool is_polite) {
  switch (below(12)) {
    case 0: parse("", "select 1"); break;
    case 1: parse("", "selec"); break;
    case 2: parse("s", "select generate_series(1, 3)"); break; /* the second time: an error */
    case 3: bind_to(""); break;
    case 4: bind_to("s"); break;
    case 5: execute(below(2)); break;
    case 6: message('D', "P", 2, "portal"); break;
    case 7: message('D', "Ss", 3, "statement"); break;
    case 8: message('C', "Ss", 3, "statement"); break;
    case 9: batch(below(2) ? "select 1" : "insert into u values (1), (1)"); break;
    case 10: batch(below(2) ? "" : "select 1/0"); break;
    default:
      batch_copy(below(2)   ? "copy t from stdin"
                 : below(2) ? "copy b from stdin"
                            : "copy v from stdin");
      if (is_polite) copies = 1;
      break;
  }
}

static void random_copy(bool is_polite) {
  unsigned which = below(8);
  if (which < 4) {
    message('d', which == 3 ? "x\n" : "1\n", 2, which == 3 ? "bad" : "good");
  } else if (which == 4) {
    message('d', "7\n", 2, "a duplicate in v");
  } else if (which == 5) {
    message('f', "no", 3, "fail");
  } else {
    message('c', "", 0, "");
  }
  if (!is_polite || copies == 0 || which < 5) return;
  copies = which == 5 ? 0 : copies - 1;
  if (copies == 0) message('S', "", 0, "");
}

/* One more message of a client. A polite one keeps to a COPY while it is on. */
static void random_message(bool is_polite) {
  unsigned which = below(100);
  if (is_polite && copies > 0 && which < 65) which = 80 + which % 20;
  if (which < 25) {
    random_query(is_polite);
  } else if (which < 60) {
    random_asked(is_polite);
  } else if (which < 65) {
    send_function(below(3) != 0);
  } else if (which < 80) {
    message('S', "", 0, "");
  } else if (which < 85) {
    message('H', "", 0, "");
  } else {
    random_copy(is_polite);
  }
}

/* ---- what comes ---- */

/* After the permit was given back nothing but ReadyForQuery, and what comes at any time, may come. */
static void check_quiet(size_t from) {
  static const char may_come[] = "ZANS";
  const struct pg_side *all = &gate.to_client;
  for (size_t at = from; at + 5 <= all->size;) {
    const uint8_t *b = (const uint8_t *)all->bytes + at;
    if (strchr(may_come, (char)b[0]) == NULL) fail("the permit was given back too early");
    at += ((size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4]) + 1;
  }
}

/* Read for so long. Returns false if the server has closed. */
static bool hear(int ms) {
  char bytes[16384];
  uint32_t before = gate.released;
  ssize_t n = read_some(server, bytes, sizeof bytes, ms);
  if (n < 0) return false;
  if (n == 0) return true;
  size_t piece = below(3) == 0 ? below(20) + 1 : SIZE_MAX;
  if (!pg_gate_server(&gate, bytes, (size_t)n, piece)) fail("malformed");
  if (gate.released != before && !gate.pg.has_permit) {
    char question[96];
    snprintf(question, sizeof question, "select state from pg_stat_activity where pid = %u",
             gate.pg.backend);
    releases++;
    if (strcmp(ask(question), "idle") != 0) fail("the permit was given back, and it is not idle");
    size_t from = gate.to_client.size;
    if (below(8) == 0) {
      n = read_some(server, bytes, sizeof bytes, 3);
      if (n > 0 && !pg_gate_server(&gate, bytes, (size_t)n, SIZE_MAX)) fail("malformed");
      if (n > 0) check_quiet(from);
    }
  }
  gate.event_count = 0;
  write_all(server, &gate.to_server);
  return n >= 0;
}

static void send_made(void) {
  size_t piece = below(4) == 0 ? below(9) + 1 : SIZE_MAX;
  if (!pg_gate_client(&gate, made.bytes, made.size, piece)) fail("malformed");
  made.size = 0;
  write_all(server, &gate.to_server);
}

static bool has_heard(const char *mark) {
  const struct pg_side *all = &gate.to_client;
  size_t size = strlen(mark);
  return all->size > 6 && memmem(all->bytes, all->size, mark, size) != NULL &&
         all->bytes[all->size - 6] == 'Z' && gate.down.size == 0 && pg_is_between(&gate.pg);
}

static void open_session(void) {
  pg_gate_free(&gate);
  pg_gate_begin(&gate);
  made.size = 0;
  server = dial();
  if (server < 0) die("postgres does not accept");
  while (!pg_is_ready(&gate.pg)) {
    if (!hear(ANSWER_MS)) die("no session");
  }
}

/* Everything is ended, and the answer to a last query waited for.
 * Returns false if the server has closed. */
static bool finish(bool is_polite) {
  char mark[32], last[64];
  for (int i = 0; i < 3; i++) message('c', "", 0, "");
  message('S', "", 0, "");
  query("rollback");
  snprintf(mark, sizeof mark, "mark %llu", rounds);
  snprintf(last, sizeof last, "select '%s'", mark);
  query(last);
  send_made();
  for (int waited = 0; !has_heard(mark); waited += NAP_MS) {
    if (!hear(NAP_MS)) return false;
    if (waited > ANSWER_MS) fail("no answer: the client is stuck");
  }
  const struct pg *p = &gate.pg;
  if (p->status != 'I' || p->status != gate.to_client.bytes[gate.to_client.size - 1]) {
    fail("the status is another one");
  }
  if (p->is_lost) {
    if (is_polite) fail("the session is lost");
    lost++;
    return false;
  }
  if (gate.up.size > 0 || gate.want != PG_GOES_ON) fail("bytes of the client are kept back");
  if (p->count > 0 || p->current != 0 || p->has_permit) fail("the permit is kept");
  return true;
}

static bool play(bool is_polite) {
  unsigned count =
      below(8) == 0 ? 200 + below(300) : 1 + below(25); /* at times more than the queue */
  bool is_hasty = count > 30 || below(2);
  copies = 0;
  sent_size = 0;
  gate.to_client.size = 0;
  for (unsigned i = 0; i < count; i++) {
    random_message(is_polite);
    if (below(is_hasty ? 40 : 3) == 0) send_made();
    if (below(is_hasty ? 60 : 4) == 0 && !hear((int)below(3))) return false;
  }
  for (; copies > 0; copies--) message('c', "", 0, "");
  return finish(is_polite);
}

/* The session was closed without a word. PostgreSQL 15 has been seen to crash of what is sent here,
 * and starts again then: which is no fault of the gate. */
static void recover(void) {
  char command[128];
  struct timespec nap = {.tv_nsec = NAP_MS * 1000000};
  snprintf(command, sizeof command, "grep -q 'was terminated by signal' %s/log", directory);
  for (int waited = 0; system(command) != 0; waited += NAP_MS) { /* it is written a little later */
    if (waited > CRASH_MS) fail("the server has closed without a word");
    nanosleep(&nap, NULL);
  }
  crashes++;
  snprintf(command, sizeof command, "%s/log", directory);
  if (truncate(command, 0) != 0) die("no log"); /* the next crash is another one */
  close(watcher);
  open_watcher();
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(void) {
  if (!find_server()) {
    printf("skipped: there is no PostgreSQL (./x test fetches it)\n");
    return SKIPPED;
  }
  const char *seed = getenv("VOLT_TEST_SEED"), *seconds = getenv("VOLT_TEST_SECONDS");
  state = seed == NULL ? (uint64_t)getpid() << 20 | 1 : strtoull(seed, NULL, 0) | 1;
  printf("VOLT_TEST_SEED=%llu\n", (unsigned long long)state);
  start_server();
  prepare();
  double end = now() + (seconds == NULL ? 1 : atof(seconds));
  for (; now() < end; rounds++) {
    bool is_polite = below(3) != 0;
    if (server < 0) open_session();
    if (play(is_polite)) continue;
    if (gate.pg.has_failed) fatal++;
    bool is_crash = !gate.pg.has_failed && !gate.pg.is_lost;
    if (is_crash) recover();
    if (is_polite && !is_crash) fail("a polite client has lost its connection");
    close(server);
    server = -1;
  }
  printf(
      "%llu rounds, %llu messages, %llu permits given back, %llu connections ended, %llu lost, "
      "%llu crashes of PostgreSQL\n",
      rounds, messages, releases, fatal, lost, crashes);
  stop_server();
  return releases > 0 && rounds > 0 ? 0 : 1;
}
