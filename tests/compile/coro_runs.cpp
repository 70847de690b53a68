/* coro_runs.cpp: what depends on how a compiler optimises, run with a small stack by coro.sh. The captures of
 * a lambda that a coroutine keeps are destroyed once, in the forms that guide 8 shows: a lambda that has a name
 * and is moved; one without captures, and arguments; and, of captures without destructors, a lambda in the
 * co_await itself. And children need no stack, neither many that are ready nor one in another. */
#include <cstdio>
#include <memory>
#include <utility>
#include <volt/coro.hpp>

using shared = std::shared_ptr<int>;

static volt::task<int> named(shared p) {
  auto f = [p](volt::kept) -> volt::task<int> { co_return *p; };
  co_return co_await volt::invoke(std::move(f));
}
static volt::task<int> by_argument(shared p) {
  co_return co_await volt::invoke([](shared its) -> volt::task<int> { co_return *its; }, p);
}
static volt::task<int> by_reference(shared p) {
  co_return co_await volt::invoke([&p](volt::kept) -> volt::task<int> { co_return *p; });
}
static volt::task<int> in_a_group(shared p, volt_rt *rt) {
  auto body = [p](volt::kept, volt::task_group &) -> volt::task<> { co_return; };
  co_await volt::with_group(rt, std::move(body));
  co_return *p;
}

static volt::task<long> one() {
  co_return 1;
}
static volt::task<long> ready(long n) {
  long sum = 0;
  while (n-- > 0) sum += co_await one();
  co_return sum;
}
static volt::task<long> deep(long n) {
  if (n == 0) co_return 0;
  co_return 1 + co_await deep(n - 1);
}

static int captures_that_are_lost() {
  volt::runtime rt;
  auto seven = std::make_shared<int>(7);
  int failed = 0;
  auto is_kept = [&](const char *what, int given) {
    if (given == 7 && seven.use_count() == 1) return;
    std::printf("%s: %d, %ld owners\n", what, given, seven.use_count());
    failed += 1;
  };
  is_kept("a lambda with a name", volt::spawn(rt, named(seven)).get());
  is_kept("arguments", volt::spawn(rt, by_argument(seven)).get());
  is_kept("references", volt::spawn(rt, by_reference(seven)).get());
  is_kept("a group", volt::spawn(rt, in_a_group(seven, rt.c())).get());
  return failed;
}

int main() {
  if (volt::sync_wait(ready(1000000)) != 1000000) return 1;
  if (volt::sync_wait(deep(100000)) != 100000) return 1;
  return captures_that_are_lost();
}
