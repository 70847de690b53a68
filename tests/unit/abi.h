/* abi.h: a table of functions, each held against the type that was promised. */
#ifndef VOLT_TEST_ABI_H
#define VOLT_TEST_ABI_H

typedef void any_fn(void);

/* The function; no other type than this compiles without a warning. */
#define FN(type, name) (any_fn *)(0 ? (type)NULL : name)

#endif
