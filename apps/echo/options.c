/* options.c: the command line. */
#define _GNU_SOURCE /* getopt_long */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/program.h"
#include "echo.h"

#define MAX_BUFFER_BYTES (16 << 20)
#define MAX_GRACE_S 86400

static const char usage_text[] =
    "usage: volt-echo [options]\n"
    "\n"
    "Sends back what each client sends, or passes it on to another server and back.\n"
    "\n"
    "  -l, --listen ADDRESS     where (by default 127.0.0.1:0, a port that is free): an IPv4 or\n"
    "                           IPv6 address with a port, :PORT for all, unix:PATH, unix:@NAME\n"
    "  -r, --relay-to ADDRESS   pass on to this server: an address or NAME:PORT\n"
    "  -w, --workers N          with so many threads (by default as many as CPUs)\n"
    "  -b, --buffer BYTES       at most so many at once for each direction (by default 32768)\n"
    "  -f, --fibers             a fiber for each connection (without --relay-to)\n"
    "  -g, --grace SECONDS      on SIGTERM or SIGINT accept no more, give the connections so\n"
    "                           long to end, and then cut them off (by default 5)\n"
    "  -h, --help               show this\n"
    "\n"
    "Prints \"listening on ADDRESS\" when it does. VOLT_IO=uring or VOLT_IO=epoll in the\n"
    "environment says how it does its I/O. Exit code: 0 ended by a signal, 1 it could not start,\n"
    "2 wrong usage.\n";

static bool parse_option(struct options *options, int option) {
  switch (option) {
    case 'l': options->listen = optarg; return true;
    case 'r': options->relay_to = optarg; return true;
    case 'w': return option_unsigned("workers", optarg, 1, VOLT_RT_WORKERS_MAX, &options->workers);
    case 'b': return option_unsigned("buffer", optarg, 1, MAX_BUFFER_BYTES, &options->buffer_bytes);
    case 'f': return options->fibers = true;
    case 'g': return option_unsigned("grace", optarg, 0, MAX_GRACE_S, &options->grace_s);
    default: return false;
  }
}

enum options_result options_parse(struct options *options, int argc, char **argv) {
  static const struct option known[] = {
      {"listen", required_argument, NULL, 'l'},  {"relay-to", required_argument, NULL, 'r'},
      {"workers", required_argument, NULL, 'w'}, {"buffer", required_argument, NULL, 'b'},
      {"fibers", no_argument, NULL, 'f'},        {"grace", required_argument, NULL, 'g'},
      {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
  };
  *options = (struct options){.listen = "127.0.0.1:0", .buffer_bytes = 32768, .grace_s = 5};
  bool right = true;
  for (int option; (option = getopt_long(argc, argv, "l:r:w:b:fg:h", known, NULL)) != -1;) {
    if (option == 'h') {
      fputs(usage_text, stdout);
      return OPTIONS_HELP_SHOWN;
    }
    right &= parse_option(options, option);
  }
  if (optind < argc) {
    complain("'%s' is no option", argv[optind]);
    right = false;
  }
  if (options->fibers && options->relay_to) {
    complain("--fibers is for an echo, not for a relay");
    right = false;
  }
  if (!right) fputs(usage_text, stderr);
  return right ? OPTIONS_RUN : OPTIONS_WRONG;
}
