/* main.c: which command it is. */
#include <stdio.h>
#include <stdlib.h>

#include "admin/admin.h"
#include "config/command.h"
#include "program.h"

enum { EXIT_WRONG = 2 };

static int main_check(const struct command *c) {
  struct settings settings;
  if (settings_read(&settings, c->argc, c->argv) != SETTINGS_RUN) return EXIT_WRONG;
  settings_free(&settings);
  puts("the configuration is fine");
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  struct command command;
  int code = EXIT_SUCCESS;
  switch (command_read(&command, argc, argv)) {
    case COMMAND_RUN: code = program_run(command.argc, command.argv); break;
    case COMMAND_CHECK: code = main_check(&command); break;
    case COMMAND_TOP:
    case COMMAND_LIMIT:
    case COMMAND_RELOAD:
    case COMMAND_DRAIN:
    case COMMAND_STATUS: code = admin_command(command.kind, &command.client); break;
    case COMMAND_SHOWN: break;
    case COMMAND_WRONG: code = EXIT_WRONG; break;
  }
  command_free(&command);
  return code;
}
