/* help.h: the table of options as text. */
#ifndef VOLTGATE_CONFIG_HELP_H
#define VOLTGATE_CONFIG_HELP_H

#include <stdio.h>

/* What --help prints. */
void help_print(FILE *to);

/* The reference of options for docs/voltgate/options.md. */
void help_markdown(FILE *to);

/* The same for the manual page, voltgate.8. */
void help_mdoc(FILE *to);

#endif
