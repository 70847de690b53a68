/* main.c: which command it is. */
#include <stdio.h>
#include <stdlib.h>

#include "admin/admin.h"
#include "config/command.h"
#include "main/run.h"
#include "run/command.h"
#include "run/nearby.h"

enum { EXIT_WRONG = 2 };

/* Certificates and keys that cannot be used: each is printed. */
static bool main_has_certificates(const struct settings *settings) {
  bool has_all = true;
  for (size_t i = 0; i < settings->gate_count; i++) {
    struct certificates certificates;
    if (!connect_read_certificates(&certificates, &settings->gates[i])) has_all = false;
    certificates_drop(&certificates);
  }
  return has_all;
}

static int main_check(const struct command *c) {
  struct settings settings;
  if (settings_read(&settings, c->argc, c->argv) != SETTINGS_RUN) return EXIT_WRONG;
  bool is_fine = c->connects ? connect_to_servers(&settings) : main_has_certificates(&settings);
  settings_free(&settings);
  if (!is_fine) return EXIT_WRONG;
  puts("the configuration is fine");
  return EXIT_SUCCESS;
}

/* The gate of a user. */
static int main_permits(const struct command *c) {
  char *argv[RUN_NEARBY_ARGUMENTS];
  return start_program(run_nearby_arguments(argv, c->argc > 1), argv);
}

int main(int argc, char **argv) {
  struct command command;
  int code = EXIT_SUCCESS;
  switch (command_read(&command, argc, argv)) {
    case COMMAND_RUN: code = start_program(command.argc, command.argv); break;
    case COMMAND_CHECK: code = main_check(&command); break;
    case COMMAND_TOP:
    case COMMAND_LIMIT:
    case COMMAND_RELOAD:
    case COMMAND_DRAIN:
    case COMMAND_STATUS:
    case COMMAND_DUMP: code = admin_command(command.kind, &command.client); break;
    case COMMAND_PERMITS: code = main_permits(&command); break;
    case COMMAND_UNDER: code = run_command(&command.under); break;
    case COMMAND_WRONG_UNDER: code = RUN_EXIT_FAILED; break;
    case COMMAND_SHOWN: break;
    case COMMAND_WRONG: code = EXIT_WRONG; break;
  }
  command_free(&command);
  return code;
}
