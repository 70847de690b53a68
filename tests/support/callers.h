/* callers.h: who called the line that has failed. A helper's own line says little. */
#ifndef VOLT_TEST_CALLERS_H
#define VOLT_TEST_CALLERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Say on stderr which lines of the test led here: those of the test's files, the nearest first. Says nothing where that
 * cannot be told. Of programs that are linked without callers.c it is null. */
__attribute__((weak)) void say_callers(const char *file, int line);

/* What REQUIRE and EXPECT do when they fail. */
#define SAY_CALLERS(file, line) (say_callers ? say_callers(file, line) : (void)0)

#ifdef __cplusplus
}
#endif

#endif
