/* httpd: a server of static files by HTTP/1.1: README.md beside this.
 *
 *   text.c date.c target.c request.c body.c conditions.c response.c mime.c session.c
 *                   HTTP without a descriptor: bytes in, bytes out, no volt
 *   beneath.c files.c pool.c counters.c
 *                   what connections share
 *   plain.c secure.c
 *                   how its bytes go
 *   connection.c answer.c sending.c
 *                   a connection as a task
 *   server.c        accepting, and the end
 *   main.c          options and signals */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <volt/process.h>
#include <volt/select.h>

#include "common/options.h"
#include "common/program.h"
#include "server.h"

/* ---- the command line ---- */

static const char usage_text[] =
    "usage: volt-httpd [options] [directory]\n"
    "\n"
    "Serves the files in and below the directory, or nothing but /hello and /status.\n"
    "\n"
    "  -l, --listen ADDRESS    127.0.0.1:8080 if not given; port 0: any\n"
    "      --tls CERT KEY      by HTTPS: files of the certificate, with those that lead to the "
    "root,\n"
    "                          and of its key. SIGHUP loads them anew\n"
    "      --redirect PORT     send clients of HTTP, at this port, on to HTTPS\n"
    "      --hsts SECONDS      tell browsers to come by HTTPS alone, for so long\n"
    "  -r, --root DIR          the directory\n"
    "  -w, --workers N         threads; if not given, one for each CPU\n"
    "      --hello             answer /hello with a text in memory\n"
    "      --status            answer /status with counters, as JSON\n"
    "\n"
    "  -c, --connections N     at most N (10000), and as many by --redirect; more wait to be "
    "accepted\n"
    "  -b, --buffers N         at most N requests at work at once (1024); more wait\n"
    "      --requests N        requests on one connection (100000)\n"
    "      --head-bytes N      of a request's first line and fields (16384)\n"
    "      --fields N          in one request (100)\n"
    "      --body-bytes N      of a body, which is thrown away (1048576)\n"
    "      --open-files N      files that are kept open (256)\n"
    "      --cache-ms N        how old what is known of a file may be (1000)\n"
    "\n"
    "      --handshake-s N     how long a handshake of TLS may take (20)\n"
    "      --idle-s N          how long a connection may have no request (60)\n"
    "      --request-s N       how long a request may take to come (20)\n"
    "      --send-s N          how long a client may take nothing (30)\n"
    "      --stop-s N          how long SIGTERM and SIGINT leave to what is at work (10)\n"
    "  -h, --help              show this\n"
    "\n"
    "Exit code: 0 after SIGTERM or SIGINT, 1 it cannot serve, 2 wrong usage.\n";

enum {
  OPTION_HELLO = 256,
  OPTION_STATUS,
  OPTION_TLS,
  OPTION_REDIRECT,
  OPTION_NUMBER /* the first of those that want a number */
};

#define MOST 1000000000u

/* Options that want a number of 1 and more, and where it goes. head-bytes: a head has room in a buffer. */
struct number_option {
  const char *name;
  unsigned max;
  unsigned *value;
};

static bool read_number(const struct number_option *option) {
  return option_unsigned(option->name, optarg, 1, option->max, option->value);
}

/* --tls CERT KEY: getopt knows of the first. */
static bool read_tls(struct options *o, int argc, char **argv) {
  o->certificates = optarg;
  o->key = optind < argc ? argv[optind++] : NULL;
  if (o->key == NULL) complain("--tls wants two files: a certificate and its key");
  return o->key != NULL;
}

static bool read_redirect(struct options *o) {
  o->redirects = true;
  return option_unsigned("redirect", optarg, 0, UINT16_MAX, &o->redirect_port);
}

/* What holds for several options at once. */
static bool are_right(const struct options *o) {
  bool needs_tls = o->redirects || o->hsts_s != 0;
  if (needs_tls && o->certificates == NULL) complain("--redirect and --hsts want --tls");
  return (o->root != NULL || o->has_hello || o->has_status) &&
         (!needs_tls || o->certificates != NULL);
}

static enum options_result options_read(struct options *o, int argc, char **argv) {
  unsigned requests = 100000, head = 16384, fields = 100, body = 1048576;
  const struct number_option numbers[] = {
      {"workers", VOLT_RT_WORKERS_MAX, &o->workers},
      {"connections", 1000000, &o->connections},
      {"buffers", 65536, &o->buffers},
      {"requests", MOST, &requests},
      {"head-bytes", 1048576, &head},
      {"fields", 10000, &fields},
      {"body-bytes", MOST, &body},
      {"open-files", 65536, &o->open_files},
      {"cache-ms", 3600000, &o->cache_ms},
      {"handshake-s", MOST, &o->handshake_s},
      {"idle-s", MOST, &o->idle_s},
      {"request-s", MOST, &o->request_s},
      {"send-s", MOST, &o->send_s},
      {"stop-s", MOST, &o->stop_s},
      {"hsts", MOST, &o->hsts_s},
  };
  enum { NUMBERS = sizeof numbers / sizeof *numbers };
  struct option known[NUMBERS + 8] = {{"listen", required_argument, NULL, 'l'},
                                      {"root", required_argument, NULL, 'r'},
                                      {"hello", no_argument, NULL, OPTION_HELLO},
                                      {"status", no_argument, NULL, OPTION_STATUS},
                                      {"tls", required_argument, NULL, OPTION_TLS},
                                      {"redirect", required_argument, NULL, OPTION_REDIRECT},
                                      {"help", no_argument, NULL, 'h'}};
  for (int i = 0; i < NUMBERS; i++) {
    known[7 + i] = (struct option){numbers[i].name, required_argument, NULL, OPTION_NUMBER + i};
  }
  bool right = true;
  for (int option; (option = getopt_long(argc, argv, "l:r:w:c:b:h", known, NULL)) != -1;) {
    switch (option) {
      case 'l': o->listen = optarg; break;
      case 'r': o->root = optarg; break;
      case 'w': right &= read_number(&numbers[0]); break;
      case 'c': right &= read_number(&numbers[1]); break;
      case 'b': right &= read_number(&numbers[2]); break;
      case OPTION_HELLO: o->has_hello = true; break;
      case OPTION_STATUS: o->has_status = true; break;
      case OPTION_TLS: right &= read_tls(o, argc, argv); break;
      case OPTION_REDIRECT: right &= read_redirect(o); break;
      case 'h': fputs(usage_text, stdout); return OPTIONS_HELP_SHOWN;
      case '?': right = false; break;
      default: right &= read_number(&numbers[option - OPTION_NUMBER]);
    }
  }
  if (optind < argc && o->root == NULL) o->root = argv[optind++];
  o->limits = (struct limits){
      .head_bytes = head, .fields = fields, .body_bytes = body, .requests = requests};
  if (right && optind == argc && are_right(o)) return OPTIONS_RUN;
  fputs(usage_text, stderr);
  return OPTIONS_WRONG;
}

/* As many descriptors as the system allows: a connection has one, and so has a file. */
static void raise_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- until a signal ---- */

/* SIGHUP is taken with TLS alone; else it ends the program, as it does any. */
static const int taken[] = {SIGTERM, SIGINT, SIGHUP};

static unsigned taken_count(const struct options *options) {
  return options->certificates != NULL ? 3 : 2;
}

/* Waits for a signal that is to end it. */
static int serve(struct server *server, volt_signals *signals) {
  volt_op op;
  volt_signal signal;
  for (;;) {
    int result = volt_future_wait(volt_signal_future(&op, signals, &signal));
    if (result != VOLT_OK || signal.number != SIGHUP) return result;
    server_reload(server);
  }
}

/* Lets what is at work end, until a second signal, but for SIGHUP. Returns NULL: all has; or why not. */
static const char *stop(struct server *server, volt_signals *signals) {
  volt_op op;
  volt_signal signal;
  volt_future end;
  volt_select select;
  uint64_t deadline_ns = volt_deadline_s(server->options->stop_s);
  uint64_t given_up_ns = volt_deadline_s(server->options->stop_s + 5u);
  server_stop(server, deadline_ns);
  for (;;) {
    volt_future *either[] = {server_end_future(&end, server),
                             volt_signal_future(&op, signals, &signal)};
    int result = volt_future_wait_until(volt_select_future(&select, either, 2, VOLT_SELECT_BIASED),
                                        given_up_ns);
    if (result == VOLT_ETIMEDOUT) return "what is at work does not end, and --stop-s is over";
    if (volt_select_winner(&select) == 0) return NULL;
    if (result != VOLT_OK) return volt_strerror(result);
    if (signal.number != SIGHUP) return "stopped by a second signal";
  }
}

int main(int argc, char **argv) {
  struct options options = {.listen = "127.0.0.1:8080",
                            .connections = 10000,
                            .buffers = 1024,
                            .open_files = 256,
                            .cache_ms = 1000,
                            .handshake_s = 20,
                            .idle_s = 60,
                            .request_s = 20,
                            .send_s = 30,
                            .stop_s = 10};
  switch (options_read(&options, argc, argv)) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP_SHOWN: return EXIT_SUCCESS;
    case OPTIONS_WRONG: return EXIT_USAGE;
  }
  if (volt_signals_block(taken, taken_count(&options)) != VOLT_OK) fatal("cannot block signals");
  raise_limit();
  static struct server server;
  volt_signals signals;
  const char *what;
  int result = server_start(&server, &options, &what);
  if (result == VOLT_OK) {
    what = "signals";
    result = volt_signals_open(&signals, server.rt, taken, taken_count(&options));
  }
  if (result != VOLT_OK) fatal("%s: %s", what, volt_strerror(result));
  printf("listening on %s\n", server.door.address);
  if (options.redirects) printf("redirecting on %s\n", server.redirect.address);
  fflush(stdout);

  result = serve(&server, &signals);
  if (result != VOLT_OK) fatal("signals: %s", volt_strerror(result));
  const char *why = stop(&server, &signals);
  if (why != NULL) fatal("%s", why);
  fprintf(stderr, "volt-httpd: stopped after %" PRIu64 " requests, %u connections cut off\n",
          counters_requests(&server.counters), atomic_load(&server.cut_off));
  volt_signals_close(&signals);
  server_destroy(&server);
  return EXIT_SUCCESS;
}
