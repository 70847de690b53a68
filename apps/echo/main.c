/* volt-echo: a server that sends back what it receives, or passes it on.
 *
 *   options.c      the command line
 *   server.c       one task accepts
 *   connection.c   one task for each connection: recv, send; or both directions of a relay
 *
 * This thread runs no task: it waits for the signal that ends the server. */
#define _GNU_SOURCE /* sigset_t */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>
#include <volt/process.h>
#include <volt/select.h>

#include "common/program.h"
#include "echo.h"

static const int ending[] = {SIGTERM, SIGINT};
enum { ENDING = sizeof ending / sizeof ending[0] };

static bool must(int result, const char *what) {
  if (result == VOLT_OK) return true;
  complain("%s: %s", what, volt_strerror(result));
  return false;
}

/* As many connections as the system allows. */
static void raise_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool create_runtime(volt_rt **rt, const struct options *options) {
  volt_rt_config config = {
      .workers = options->workers, .io = volt_io_auto(), .thread_prefix = "echo"};
  int result = volt_rt_create(rt, &config);
  if (result != VOLT_EINVAL) return must(result, "cannot start");
  complain("cannot start: VOLT_IO is not 'uring' or 'epoll'");
  return false;
}

static bool start_listening(struct server *server, volt_address *at) {
  const struct options *options = server->service.options;
  const unsigned flags = VOLT_LISTEN_REPLACE_UNIX;
  if (volt_address_parse(at, options->listen) != VOLT_OK) {
    complain("'%s' is no address to listen at", options->listen);
    return false;
  }
  if (!must(volt_listen(&server->listener, server->service.rt, at, 0, flags), options->listen) ||
      !must(volt_fd_local(&server->listener, at), options->listen))
    return false;
  char text[VOLT_ADDRESS_TEXT];
  printf("listening on %s\n", volt_address_text(at, text));
  return fflush(stdout) == 0;
}

/* Until a signal says that the server is to end, or it has ended by itself. A second signal ends the
 * process at once. */
static void wait_for_signal(struct server *server, volt_signals *signals) {
  volt_op op;
  volt_signal signal;
  volt_future ended;
  volt_select select;
  volt_future *const either[] = {volt_signal_future(&op, signals, &signal),
                                 volt_task_join_future(&ended, &server->task)};
  (void)!volt_future_wait(volt_select_future(&select, either, 2, VOLT_SELECT_FAIR));
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < ENDING; i++) sigaddset(&set, ending[i]);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool serve(struct server *server, volt_signals *signals) {
  volt_address at;
  if (!start_listening(server, &at)) return false;
  if (!must(volt_spawn(server->service.rt, &server->task), "cannot start")) return false;
  wait_for_signal(server, signals);
  (void)volt_task_cancel(&server->task);
  int result = volt_task_join(&server->task);
  if (at.as.any.sa_family == AF_UNIX && at.as.local.sun_path[0]) unlink(at.as.local.sun_path);
  printf("served %" PRIuFAST64 " connections, %" PRIuFAST64 " bytes\n",
         atomic_load(&server->service.connections), atomic_load(&server->service.bytes));
  return must(result, "cannot accept");
}

int main(int argc, char **argv) {
  struct options options;
  switch (options_parse(&options, argc, argv)) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP_SHOWN: return EXIT_SUCCESS;
    case OPTIONS_WRONG: return EXIT_USAGE;
  }
  raise_limit();
  volt_rt *rt;
  if (!must(volt_signals_block(ending, ENDING), "signals") || !create_runtime(&rt, &options))
    return EXIT_FAILURE;
  struct server server;
  volt_signals signals = {0};
  if (!server_init(&server, rt, &options)) {
    complain("cannot start: too many keys");
    volt_rt_destroy(rt);
    return EXIT_FAILURE;
  }
  bool served =
      must(volt_signals_open(&signals, rt, ending, ENDING), "signals") && serve(&server, &signals);
  volt_signals_close(&signals);
  volt_fd_close(&server.listener);
  volt_rt_destroy(rt);
  server_destroy(&server);
  return served ? EXIT_SUCCESS : EXIT_FAILURE;
}
