/* options.h: what the command lines of programs have in common: numbers, and how it ends. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { EXIT_USAGE = 2 }; /* beside EXIT_SUCCESS and EXIT_FAILURE */

/* What to do after a command line is read. */
enum options_result { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_WRONG };

/* Read a decimal number from least to most, digits only. text: or NULL, which is none.
 * Returns false, and *number is unchanged: it is none. */
bool number_read(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* The same for the value of an option.
 * option: its name, without dashes. Returns false: it is none, and standard error says what --option
 * wants. */
bool option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                   uint64_t *number);

/* The same, where an unsigned has room. */
bool option_unsigned(const char *option, const char *text, unsigned least, unsigned most,
                     unsigned *number);

#endif
