/* unit.h: cmocka with the headers it wants, and the assertions that nearly every unit test makes.
 * cmocka's assertions leave by longjmp: use them on the main thread only, REQUIRE elsewhere. */
#ifndef VOLT_TEST_UNIT_H
#define VOLT_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <volt/volt.h>

#include "ignore.h"

/* Two result codes are the same; says them by name if not. */
#define assert_result(got, want) assert_string_equal(volt_strresult(got), volt_strresult(want))

/* A deadline that has passed, whatever the clock says. */
#define PAST_DEADLINE UINT64_C(0)

#endif
