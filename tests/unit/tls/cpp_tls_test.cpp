/* cpp_tls_test.cpp: volt/tls.hpp: a server as a coroutine, a client on a thread; errors, and what a send
 * that is given up has committed.
 *
 * STANDARD: C++20
 * BACK ENDS: epoll, uring */
#include <volt/coro.hpp>
#include <volt/tls.hpp>

#include <array>
#include <string>

#include "unit.hpp"
extern "C" {
#include "tls_ca.h"
}

using namespace std::chrono_literals;

static ca_one root, server_one;

static volt_rt_config kind_of_io() {
  volt_rt_config config{};
  const char *name = getenv("VOLT_TEST_IO");
  config.workers = 2;
  config.io = name && std::string(name) == "uring" ? volt_io_uring() : volt_io_epoll();
  return config;
}

static volt::tls::context server_context() {
  volt_tls_config config{};
  config.certificates = server_one.pem;
  config.key = server_one.key_pem;
  config.alpn = "echo/1";
  return volt::tls::context(VOLT_TLS_SERVER, config);
}

static volt::tls::context client_context() {
  volt_tls_config config{};
  config.trust = root.pem;
  config.alpn = "echo/1";
  return volt::tls::context(VOLT_TLS_CLIENT, config);
}

static volt::task<void> echo(volt::tls::context with, volt::fd d) {
  volt::tls::stream s(with, std::move(d));
  std::array<char, 1000> bytes;
  co_await s.handshake();
  while (size_t n = co_await s.recv(bytes)) co_await s.send_all(bytes.data(), n);
  co_await s.shutdown();
  co_await s.closing();
}

TEST(a_coroutine_echoes) {
  volt::runtime rt(kind_of_io());
  volt::listener listener(rt, "127.0.0.1:0");
  std::string at = listener.local().text();
  volt::fd client = volt::dial(rt, at.c_str()).wait_for(60s);
  auto server = volt::spawn(rt, echo(server_context(), listener.accept().wait_for(60s)));
  volt::tls::stream s(client_context(), std::move(client), "example.org");
  s.handshake().wait_for(60s);
  EXPECT(std::string(s.version()) == "TLSv1.3");
  EXPECT(std::string(s.alpn().c_str()) == "echo/1");
  EXPECT(std::string(s.peer().c_str()) == "CN=server");
  std::array<char, 10> back;
  s.send_all("hello").wait_for(60s);
  EXPECT(s.recv(back).wait_for(60s) == 5);
  EXPECT(std::string(back.data(), 5) == "hello");
  size_t moved = 99;
  auto none = s.recv(back.data(), back.size(), &moved).result_for(1ms);
  EXPECT_CODE(none.code(), VOLT_ETIMEDOUT);
  EXPECT(moved == 0);
  s.shutdown().wait_for(60s);
  EXPECT(s.recv(back).wait_for(60s) == 0);
  server.join().wait_for(60s);
}

TEST(no_context_is_refused) {
  volt::tls::context some = server_context(), none;
  volt::tls::stream s;
  EXPECT_CODE(s.start(none, volt::fd()), VOLT_EINVAL);
  EXPECT_CODE(none.name("example.org", some), VOLT_EINVAL);
  EXPECT_CODE(some.name("example.org", none), VOLT_EINVAL);
  EXPECT_CODE(none.forget("example.org"), VOLT_EINVAL);
  volt::tls::context moved = std::move(some);
  EXPECT_CODE(s.start(some, volt::fd()), VOLT_EINVAL);
  EXPECT_CODE(moved.name("example.org", server_context()), VOLT_OK);
  EXPECT_CODE(moved.forget("example.org"), VOLT_OK);
}

TEST(a_refusal_is_an_error_with_words) {
  volt::runtime rt(kind_of_io());
  volt::listener listener(rt, "127.0.0.1:0");
  std::string at = listener.local().text();
  volt::fd client = volt::dial(rt, at.c_str()).wait_for(60s);
  auto server = volt::spawn(rt, echo(server_context(), listener.accept().wait_for(60s)));
  volt::tls::stream s(client_context(), std::move(client), "example.com");
  bool was_refused = false;
  try {
    s.handshake().wait_for(60s);
  } catch (const volt::error &e) {
    was_refused = e.code() == VOLT_TLS_ENAME;
  }
  EXPECT(was_refused);
  EXPECT(std::string(s.why()) == "hostname mismatch");
  s.close();
  EXPECT_CODE(server.join().result_for(60s).code(), VOLT_TLS_EREFUSED);
}

TEST(a_send_that_is_given_up_says_what_is_committed) {
  volt::runtime rt(kind_of_io());
  volt::listener listener(rt, "127.0.0.1:0");
  std::string at = listener.local().text();
  volt::fd client = volt::dial(rt, at.c_str()).wait_for(60s);
  volt::tls::stream peer(server_context(), listener.accept().wait_for(60s));
  volt::tls::stream s(client_context(), std::move(client), "example.org");
  auto shake = [](volt::tls::stream &one) -> volt::task<void> { co_await one.handshake(); };
  auto other = volt::spawn(rt, shake(peer));
  s.handshake().wait_for(60s);
  other.join().wait_for(60s);
  std::string big(64 << 20, 'x');
  size_t moved = 0;
  auto result = s.send_all(big, &moved).result_for(50ms);
  EXPECT_CODE(result.code(), VOLT_ETIMEDOUT);
  EXPECT(moved > 0 && moved < big.size());
  size_t received = 0;
  std::string to(1 << 20, ' ');
  auto rest = volt::spawn(rt, [](volt::tls::stream &one) -> volt::task<void> {
    co_await one.send_all("");
    co_await one.shutdown();
  }(s));
  while (size_t n = peer.recv(to).wait_for(60s)) received += n;
  rest.join().wait_for(60s);
  EXPECT(received == moved);
}

TEST(a_context_that_cannot_be_loaded_says_why) {
  std::string why;
  volt_tls_config config{};
  auto made = volt::tls::context::make(VOLT_TLS_SERVER, config, &why);
  EXPECT_CODE(made.code(), VOLT_EINVAL);
  EXPECT(std::string(why.c_str()) == "a server needs a certificate");
}

int main() {
  volt_rt *rt;
  volt_rt_config config = kind_of_io();
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 77; /* the system refuses it */
  volt_rt_destroy(rt);
  ca_want want{};
  want.name = "root";
  want.is_ca = true;
  root = ca_make(nullptr, want);
  want.name = "server";
  want.dns = "DNS:example.org";
  want.is_ca = false;
  server_one = ca_make(&root, want);
  int failed = run_unit_tests();
  ca_free(&root);
  ca_free(&server_one);
  return failed;
}
