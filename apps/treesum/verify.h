/* verify.h: has sha256sum check what we have computed. */
#ifndef TREESUM_VERIFY_H
#define TREESUM_VERIFY_H

#include "console.h"
#include "results.h"

/* Run sha256sum --check on all results and report what it says. What it prints goes to standard
 * error. Returns its exit code: 0 if every sum is right; 127 if it could not be run; 128 and more
 * if it was killed. To be called when there are no other threads. */
int verify(const struct results *results, struct console *console);

#endif
