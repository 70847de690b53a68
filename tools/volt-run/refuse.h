/* refuse.h: programs that cannot be watched, and why. */
#ifndef VOLT_RUN_REFUSE_H
#define VOLT_RUN_REFUSE_H

/* Why the program in this file cannot be watched; NULL: it can, or nothing is known that speaks against it. */
const char *refuse_why(const char *path);

#endif
