/* coro_frames.cpp: how large the frames of coroutines are: what coro.sh asks of each compiler. Prints a
 * line "name bytes" for each. */
#include <cstdio>
#include <cstdlib>
#include <volt/coro.hpp>

using namespace std::chrono_literals;

static size_t frame_bytes;

/* Instead of the library's. */
extern "C" void *volt_rt_alloc_(size_t bytes) {
  frame_bytes = bytes;
  return std::malloc(bytes);
}
extern "C" void volt_rt_free_(void *memory) {
  std::free(memory);
}

template <class T>
static void print(const char *name, volt::task<T>) {
  std::printf("%s %zu\n", name, frame_bytes);
}

volt::task<> empty() {
  co_return;
}
volt::task<> lock_1(volt::mutex &m) {
  (void)co_await m.lock();
}
volt::task<> lock_4(volt::mutex &m) {
  (void)co_await m.lock();
  (void)co_await m.lock();
  (void)co_await m.lock();
  (void)co_await m.lock();
}
volt::task<> sleep_1() {
  co_await volt::sleep_for(1ms);
}
volt::task<> sleep_4() {
  co_await volt::sleep_for(1ms);
  co_await volt::sleep_for(1ms);
  co_await volt::sleep_for(1ms);
  co_await volt::sleep_for(1ms);
}
volt::task<> within_1(volt::mutex &m) {
  (void)co_await volt::within(m.lock(), 1ms);
}
volt::task<> within_4(volt::mutex &m) {
  (void)co_await volt::within(m.lock(), 1ms);
  (void)co_await volt::within(m.lock(), 1ms);
  (void)co_await volt::within(m.lock(), 1ms);
  (void)co_await volt::within(m.lock(), 1ms);
}
volt::task<> child_1() {
  co_await empty();
}
volt::task<> child_4() {
  co_await empty();
  co_await empty();
  co_await empty();
  co_await empty();
}

int main() {
  volt::mutex m;
  print("empty", empty());
  print("lock_1", lock_1(m));
  print("lock_4", lock_4(m));
  print("sleep_1", sleep_1());
  print("sleep_4", sleep_4());
  print("within_1", within_1(m));
  print("within_4", within_4(m));
  print("child_1", child_1());
  print("child_4", child_4());
  std::printf("slot %zu\n", volt::chain_::slot_bytes);
}
