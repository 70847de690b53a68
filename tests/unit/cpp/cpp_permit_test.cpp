/* cpp_permit_test.cpp: volt/permit_client.hpp: each operation by a thread and by a coroutine; what is given
 * up gives back; a client that ends gives back.
 *
 * BACK ENDS: epoll, uring
 * STANDARD: C++20 */
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <volt/coro.hpp>
#include <volt/permit_client.hpp>

#include "unit.hpp"

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<volt::permit_client>);
static_assert(!std::is_move_constructible_v<volt::permit_client>);

static volt_rt_config with_io() {
  const char *name = std::getenv("VOLT_TEST_IO");
  volt_rt_config config{};
  config.workers = 2;
  config.io = name && std::strcmp(name, "uring") == 0 ? volt_io_uring() : volt_io_epoll();
  return config;
}

static const std::string address = "unix:@volt-test-" + std::to_string(getpid());
static const char *const there = address.c_str();

/* A gate that grants what is asked for, but "busy=1" for ever not. Serves one connection after another, and
 * writes down what it was told. */
class gate {
 public:
  explicit gate(volt::runtime &rt)
      : listener_(rt, there), thread_([this] {
          for (bool goes_on = true; goes_on;) goes_on = serve();
        }) {
  }
  ~gate() {
    listener_.closing().wait();
    thread_.join();
  }
  std::string told() {
    std::lock_guard<std::mutex> hold(lock_);
    return told_;
  }

 private:
  void note(const std::string &line) {
    std::lock_guard<std::mutex> hold(lock_);
    told_ += line + ";";
  }
  bool serve() {
    auto accepted = listener_.accept().result();
    if (!accepted) return false;
    volt::fd client = std::move(*accepted);
    std::string rest;
    char bytes[256];
    for (;;) {
      auto n =
          client.recv(bytes, sizeof bytes).result(); /* a client that is gone may have reset it */
      if (!n || *n == 0) break;
      rest.append(bytes, *n);
      for (size_t end; (end = rest.find('\n')) != rest.npos; rest.erase(0, end + 1))
        answer(client, rest.substr(0, end));
    }
    note("closed");
    return true;
  }
  void answer(volt::fd &client, const std::string &line) {
    note(line);
    std::string say = line == "hello 1"                ? "hello 1 voltgate 0 test\n"
                      : line.find("busy") != line.npos ? "queued 3\n"
                      : line.find("take") == 0         ? "granted cores=2 id=x.1 wait_ms=1\n"
                      : line == "give cores=1"         ? "given cores=1\n"
                      : line.find("give memory") == 0  ? "refused state: not held\n"
                                                       : "given\n";
    (void)client.send(say).result(); /* the client may be gone */
  }
  volt::listener listener_;
  std::mutex lock_;
  std::string told_; /* under the lock */
  std::thread thread_;
};

TEST(a_thread_acquires_and_gives_back) {
  volt::runtime rt(with_io());
  {
    gate its(rt);
    {
      volt::permit_client c(rt);
      EXPECT_THROWS(volt::closed, VOLT_ECLOSED, (c.acquire("cores=2").wait(), 0));
      c.connect(there).wait();
      c.acquire("cores=2").wait();
      EXPECT(c && c.held("cores") == 2 && std::string(c.id()) == "x.1" && c.place() == 0);
      c.release("cores=1").wait();
      EXPECT(c.held("cores") == 1);
      EXPECT_CODE(c.release("memory=1").result().code(), VOLT_EINVAL);
      EXPECT(std::string(c.words()) == "state: not held");
      EXPECT_CODE(c.lost().result_for(1ms).code(), VOLT_ETIMEDOUT);
      c.release().wait();
      EXPECT(!c);
      EXPECT_CODE(c.acquire("busy=1").result_for(1ms).code(), VOLT_ETIMEDOUT);
      c.settle().wait();
      EXPECT(c.outcome() == VOLT_PERMIT_LEFT || c.outcome() == VOLT_PERMIT_NOT_ASKED);
      volt_permit_request labelled{};
      labelled.text = "cores=2";
      labelled.label = "by C++";
      c.acquire(labelled).wait();
      EXPECT(c.outcome() == VOLT_PERMIT_KEPT);
    }
    volt::permit_client next(
        rt); /* the gate is done with the one before when it answers this one */
    next.connect(there).wait();
    EXPECT(its.told().find("take cores=2 label=\"by C++\";closed;hello 1;") != std::string::npos);
  }
}

TEST(a_permit_is_given_away) {
  volt::runtime rt(with_io());
  gate its(rt);
  int number;
  {
    volt::permit_client c(rt);
    EXPECT(c.detach() == -1);
    c.connect(there).wait();
    c.acquire("cores=2").wait();
    number = c.detach();
    EXPECT(number >= 0 && !c && c.detach() == -1);
  }
  EXPECT(write(number, "ping\n", 5) == 5); /* it is open still */
  EXPECT(close(number) == 0);
  volt::permit_client next(rt);
  next.connect(there).wait();
  EXPECT(its.told() == "hello 1;take cores=2;ping;closed;hello 1;");
}

static volt::task<int> in_a_coroutine(volt::permit_client &c) {
  co_await c.connect(there);
  co_await c.acquire("cores=2");
  int held = static_cast<int>(c.held("cores"));
  co_await c.release();
  auto lost = co_await volt::as_result(c.acquire("cores"));
  co_return lost.code() == VOLT_EINVAL ? held : -1;
}

TEST(a_coroutine_does_the_same) {
  volt::runtime rt(with_io());
  gate its(rt);
  volt::permit_client c(rt);
  EXPECT(volt::spawn(rt, in_a_coroutine(c)).get() == 2);
}

int main() {
  int code = volt::runtime::make(with_io()).code();
  if (code != VOLT_OK) {
    std::fprintf(stderr, "skipped: %s\n", volt_strerror(code));
    return 77;
  }
  return run_unit_tests();
}
