/* require.h: an assertion for any thread and for code that must not return: says where, aborts. */
#ifndef VOLT_TEST_REQUIRE_H
#define VOLT_TEST_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#include "callers.h"

#define REQUIRE(condition) ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__))

#ifdef __cplusplus
#define REQUIRE_NORETURN [[noreturn]]
#else
#define REQUIRE_NORETURN _Noreturn
#endif

REQUIRE_NORETURN static inline void require_failed(const char *what, const char *file, int line) {
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  SAY_CALLERS(file, line);
  abort();
}

#endif
