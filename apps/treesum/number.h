/* number.h: numbers on the command line. */
#ifndef TREESUM_NUMBER_H
#define TREESUM_NUMBER_H

#include <stdbool.h>

/* Read a number from 1 to max. Returns false, and says on standard error what --option wants, if
 * text is none. */
bool number_parse(const char *option, const char *text, unsigned max, unsigned *number);

#endif
