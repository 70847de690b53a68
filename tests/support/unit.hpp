/* unit.hpp: what a unit test in C++ is made of. A test is a function that registers itself; an
 * expectation that fails says where, and aborts. (cmocka's leave by longjmp, past destructors.)
 *
 *   TEST(moves_the_lock) { EXPECT(...); EXPECT_CODE(r.code(), VOLT_OK); }
 *   int main() { return run_unit_tests(); } */
#ifndef VOLT_TEST_UNIT_HPP
#define VOLT_TEST_UNIT_HPP

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <volt/volt.hpp>

#include "callers.h"
#include "hang.h"

struct unit_test {
  const char *name;
  void (*run)();
  unit_test *next;

  static unit_test *&first() {
    static unit_test *list = nullptr;
    return list;
  }
  unit_test(const char *its_name, void (*its_run)()) : name(its_name), run(its_run), next(nullptr) {
    unit_test **end = &first();
    while (*end) end = &(*end)->next;
    *end = this;
  }
};

#define TEST(name)                               \
  static void name();                            \
  static unit_test entry_of_##name(#name, name); \
  static void name()

[[noreturn]] inline void unit_failed(const char *what, const char *file, int line) {
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  SAY_CALLERS(file, line);
  std::abort();
}

#define EXPECT(...) ((__VA_ARGS__) ? (void)0 : unit_failed(#__VA_ARGS__, __FILE__, __LINE__))

inline void unit_expect_code(int got, int want, const char *what, const char *file, int line) {
  if (got == want) return;
  std::fprintf(stderr, "%s is %s, not %s\n", what, volt_strresult(got), volt_strresult(want));
  unit_failed(what, file, line);
}

/* Two result codes are the same; says them by name if not. */
#define EXPECT_CODE(got, want) unit_expect_code((got), (want), #got, __FILE__, __LINE__)

/* Look until it is so; lets others run between two looks. */
#define UNTIL(...)                        \
  do {                                    \
    while (!(__VA_ARGS__)) sched_yield(); \
  } while (0)

#if VOLT_CPP_THROWS_
/* The expression throws an exception of exactly this type, whose code is this, and that says this. */
#define EXPECT_THROWS_TEXT(type, its_code, text, ...) \
  do {                                                \
    bool has_thrown_ = false;                         \
    try {                                             \
      (void)(__VA_ARGS__);                            \
    } catch (const volt::error &e_) {                 \
      has_thrown_ = true;                             \
      EXPECT_CODE(e_.code(), its_code);               \
      EXPECT(typeid(e_) == typeid(type));             \
      EXPECT(std::strcmp(e_.what(), text) == 0);      \
    }                                                 \
    EXPECT(has_thrown_);                              \
  } while (0)
/* The same of one that says its code. */
#define EXPECT_THROWS(type, its_code, ...) \
  EXPECT_THROWS_TEXT(type, its_code, volt_strerror(its_code), __VA_ARGS__)
#endif

/* Runs all; says the name of each. */
inline int run_unit_tests() {
  int count = 0;
  for (unit_test *t = unit_test::first(); t; t = t->next) {
    std::printf("%s\n", t->name);
    std::fflush(stdout);
    hang_begin(t->name);
    t->run();
    count += 1;
  }
  std::printf("%d tests\n", count);
  return count > 0 ? 0 : 1;
}

#endif
