/* cpp_io_test.cpp: volt/cpp/fd.hpp and net.hpp: each operation by a thread and by a fiber;
 * descriptors that move, close, and are given back.
 *
 * BACK ENDS: epoll, uring */
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>
#include <volt/io.hpp>

#include "unit.hpp"

using namespace std::chrono_literals;

static_assert(sizeof(volt::fd) == sizeof(volt_fd) && sizeof(volt::address) == sizeof(volt_address));
static_assert(!std::is_copy_constructible_v<volt::fd>);
static_assert(std::is_nothrow_move_constructible_v<volt::fd>);
static_assert(std::is_nothrow_move_assignable_v<volt::fd>);

static volt_rt_config with_io() {
  const char *name = std::getenv("VOLT_TEST_IO");
  volt_rt_config config{};
  config.workers = 2;
  config.io = name && std::strcmp(name, "uring") == 0 ? volt_io_uring() : volt_io_epoll();
  return config;
}

static bool is_open(int number) {
  return fcntl(number, F_GETFD) >= 0;
}

/* Run the same function on this thread and in a fiber. */
template <class Fn>
static void on_both(Fn fn) {
  volt::runtime rt(with_io());
  fn(rt);
  volt::fiber<> f(rt, [&] { fn(rt); });
  f.join().wait();
}

TEST(bytes_are_sent_and_received) {
  on_both([](volt::runtime &rt) {
    auto [one, two] = volt::open_pair(rt);
    std::array<char, 16> buffer;
    EXPECT_CODE(two.try_recv(buffer.data(), buffer.size()).code(), VOLT_EAGAIN);
    EXPECT_CODE(two.recv(buffer).result_for(1us).code(), VOLT_ETIMEDOUT);
    one.send("hello").wait();
    EXPECT(two.recv(buffer).wait() == 5 && std::memcmp(buffer.data(), "hello", 5) == 0);
    size_t sent = 99;
    two.send(buffer.data(), 3, 0, &sent).wait();
    EXPECT(sent == 3);
    std::vector<unsigned char> more(8);
    EXPECT(one.recv(more).wait_for(10s) == 3 && more[2] == 'l');
    EXPECT(*one.try_send("abc", 3) == 3);
    EXPECT(*two.try_recv(buffer.data(), 2) == 2);
    char rest;
    EXPECT(two.recv(&rest, 1).wait() == 1 && rest == 'c');
    EXPECT(two.ready(POLLOUT).wait() & POLLOUT);
    one.close();
    EXPECT(two.recv(buffer).wait() == 0);
    EXPECT_THROWS(volt::error, VOLT_ERRNO(EPIPE), (two.send("x").wait(), 0));
  });
}

/* More than fits: it times out, and says how many bytes have gone. */
TEST(a_send_that_does_not_end) {
  on_both([](volt::runtime &rt) {
    auto [one, two] = volt::open_pair(rt);
    std::string much(8 << 20, 'x');
    size_t sent = 0;
    EXPECT_CODE(one.send(much, 0, &sent).result_for(10ms).code(), VOLT_ETIMEDOUT);
    EXPECT(sent > 0 && sent < much.size());
    size_t got = 0;
    std::vector<char> to(1 << 20);
    while (got < sent) got += two.recv(to).wait();
    EXPECT(got == sent);
    EXPECT_CODE(two.recv(to).result_for(1us).code(), VOLT_ETIMEDOUT);
  });
}

TEST(a_peer_is_waited_for) {
  volt::runtime rt(with_io());
  auto ends = volt::open_pair(rt);
  volt::fiber<std::string> reader(rt, [&] {
    std::string text;
    std::array<char, 4> buffer;
    while (size_t n = ends.first.recv(buffer).wait()) text.append(buffer.data(), n);
    return text;
  });
  for (const char *word : {"one ", "two ", "three"}) ends.second.send(word).wait();
  ends.second.close();
  EXPECT(reader.join().wait() == "one two three");
}

TEST(a_fiber_is_cancelled_in_a_receive) {
  volt::runtime rt(with_io());
  auto ends = volt::open_pair(rt);
  volt::latch begun(1);
  volt::fiber<> reader(rt, [&] {
    std::array<char, 4> buffer;
    begun.count_down();
    (void)ends.first.recv(buffer).wait();
  });
  begun.opened().wait();
  reader.cancel();
  EXPECT_THROWS(volt::canceled, VOLT_ECANCELED, (reader.join().wait(), 0));
}

TEST(operations_end_when_it_closes) {
  volt::runtime rt(with_io());
  auto ends = volt::open_pair(rt);
  volt::fiber<int> reader(rt, [&] {
    std::array<char, 4> buffer;
    return ends.first.recv(buffer).result().code();
  });
  volt::sleep_for(1ms).wait(); /* before or in its receive: the same comes of it */
  ends.first.closing().wait();
  EXPECT_CODE(reader.join().wait(), VOLT_ECLOSED);
  EXPECT(!ends.first && ends.first.number() == -1);
}

/* ---- descriptors ---- */

TEST(a_descriptor_moves) {
  volt::runtime rt(with_io());
  auto [one, two] = volt::open_pair(rt);
  std::array<char, 8> buffer;
  EXPECT_CODE(two.recv(buffer).result_for(1ms).code(), VOLT_ETIMEDOUT); /* it is watched now */
  int number = two.number();
  volt::fd moved(std::move(two));
  EXPECT(!two && moved && moved.number() == number);
  volt::fiber<size_t> reader(rt, [&] { return moved.recv(buffer).wait(); });
  one.send("abc").wait();
  EXPECT(reader.join().wait() == 3);
  volt::fd other(rt, dup(number));
  int closed = other.number();
  other = std::move(moved);
  EXPECT(!is_open(closed) && other.number() == number);
  volt::fd &self = other;
  other = std::move(self);
  EXPECT(other.number() == number);
  volt::fiber<size_t> again(rt,
                            [&, d = std::move(other)]() mutable { return d.recv(buffer).wait(); });
  one.send("de").wait();
  EXPECT(again.join().wait() == 2);
  EXPECT(!is_open(number)); /* it ended with the captures */
}

TEST(a_descriptor_is_given_back) {
  volt::runtime rt(with_io());
  int ends[2];
  EXPECT(pipe(ends) == 0);
  {
    volt::fd reader(rt, ends[0]);
    auto writer = volt::fd::make(rt, ends[1]);
    EXPECT(writer->number() == ends[1]);
    writer->write("text").wait();
    std::array<char, 8> buffer;
    EXPECT(reader.read(buffer).wait() == 4);
    EXPECT(reader.release() == ends[0] && !reader && reader.release() == -1);
  }
  EXPECT(is_open(ends[0]) && !is_open(ends[1]));
  close(ends[0]);
  EXPECT_THROWS(volt::error, VOLT_ERRNO(EBADF), volt::fd(rt, ends[0]));
  EXPECT_CODE(volt::fd::make(rt, ends[0]).code(), VOLT_ERRNO(EBADF));
}

TEST(files) {
  on_both([](volt::runtime &rt) {
    char path[] = "/tmp/volt-cpp-io-XXXXXX";
    close(mkstemp(path));
    {
      volt::fd file = volt::open(rt, path, O_RDWR).wait();
      size_t written = 0;
      file.write("0123456789", 0, &written).wait();
      EXPECT(written == 10);
      file.sync(VOLT_FD_SYNC_DATA).wait();
      std::array<char, 4> buffer;
      EXPECT(file.read(buffer, 6).wait() == 4 && buffer[0] == '6');
      char a[2], b[3];
      iovec parts[] = {{a, 2}, {b, 3}};
      EXPECT(file.readv(parts, 2, 0).wait() == 5 && b[2] == '4');
      EXPECT(file.writev(parts, 2, 5).wait() == 5);
      auto [one, two] = volt::open_pair(rt);
      EXPECT(one.sendfile(file, 5, 5).wait() == 5);
      std::array<char, 8> got;
      EXPECT(two.recv(got).wait() == 5 && got[4] == '4');
    }
    unlink(path);
    EXPECT_THROWS(volt::error, VOLT_ERRNO(ENOENT), volt::open(rt, path, O_RDONLY).wait());
  });
}

/* ---- net ---- */

TEST(addresses) {
  volt::address a("127.0.0.1:80");
  EXPECT(a.text() == "127.0.0.1:80" && a.port() == 80);
  EXPECT_CODE(volt::address::parse("nonsense").code(), VOLT_EINVAL);
  EXPECT(volt::address::parse("[::1]:7")->port() == 7);
  EXPECT_THROWS(volt::error, VOLT_EINVAL, volt::address("nonsense"));
}

TEST(a_connection_is_dialled_and_accepted) {
  on_both([](volt::runtime &rt) {
    volt::listener listener(rt, "127.0.0.1:0");
    EXPECT_CODE(listener.accept().result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT_CODE(listener.socket().try_accept().code(), VOLT_EAGAIN);
    std::string at = listener.local().text();
    volt::fd client = volt::dial(rt, at.c_str()).wait_for(10s);
    volt::fd server = listener.accept().wait();
    EXPECT(volt::peer_address(client)->text() == at);
    EXPECT(volt::local_address(server)->text() == at);
    client.send("ping").wait();
    std::array<char, 8> buffer;
    EXPECT(server.recv(buffer).wait() == 4);
    /* dialled and not accepted: dropped */
    volt::fd second = volt::dial(rt, at.c_str()).wait();
    volt::fd third = listener.socket().try_accept().value();
    EXPECT(third);
    volt::fd raw;
    EXPECT_CODE(volt_socket_open(raw.c(), rt.c(), AF_INET, SOCK_STREAM, 0), VOLT_OK);
    volt::address to(at.c_str());
    raw.connect(&to.c()->as.any, to.c()->size).wait();
    EXPECT(listener.accept().wait());
    listener.close();
    EXPECT_CODE(listener.accept().result().code(), VOLT_ECLOSED);
    EXPECT_CODE(listener.pause(VOLT_ECLOSED).result().code(), VOLT_ECLOSED);
    EXPECT_CODE(listener.pause(VOLT_ERRNO(EPERM)).result().code(), VOLT_OK);
    EXPECT_CODE(volt::dial(rt, at.c_str()).result().code(), VOLT_ERRNO(ECONNREFUSED));
  });
}

TEST(a_listener_that_is_started) {
  volt::runtime rt(with_io());
  volt::listener one, two;
  EXPECT_CODE(one.start(rt, volt::address("127.0.0.1:0"), VOLT_LISTEN_STRICT), VOLT_OK);
  EXPECT_CODE(two.start(rt, one.local(), VOLT_LISTEN_STRICT), VOLT_ERRNO(EADDRINUSE));
  volt::fiber<int> accepts(rt, [&] { return one.accept().result().code(); });
  volt::sleep_for(1ms).wait();
  one.closing().wait();
  EXPECT_CODE(accepts.join().wait(), VOLT_ECLOSED);
}

TEST(names) {
  on_both([](volt::runtime &rt) {
    std::vector<volt::address> found = volt::resolve(rt, "127.0.0.1:80").wait();
    EXPECT(found.size() == 1 && found[0].port() == 80);
    found = volt::resolve(rt, "localhost:81").wait();
    EXPECT(found.size() >= 1 && found[0].port() == 81);
    EXPECT_THROWS(volt::error, VOLT_EINVAL, volt::resolve(rt, "nonsense").wait());
  });
}

TEST(datagrams) {
  on_both([](volt::runtime &rt) {
    volt::fd one = volt::bind_udp(rt, volt::address("127.0.0.1:0"));
    volt::fd two = volt::bind_udp(rt, volt::address("127.0.0.1:0"));
    volt::address to = volt::local_address(two).value();
    char text[] = "datagram";
    iovec part = {text, 8};
    msghdr out{};
    out.msg_name = &to.c()->as;
    out.msg_namelen = to.c()->size;
    out.msg_iov = &part;
    out.msg_iovlen = 1;
    EXPECT(one.sendmsg(out).wait() == 8);
    char got[16];
    iovec room = {got, sizeof got};
    msghdr in{};
    in.msg_iov = &room;
    in.msg_iovlen = 1;
    EXPECT(two.recvmsg(in).wait_for(10s) == 8 && std::memcmp(got, text, 8) == 0);
    auto [reader, writer] = volt::open_pipe(rt);
    writer.write("p").wait();
    EXPECT(reader.read(got, 1).wait() == 1);
  });
}

int main() {
  int code = volt::runtime::make(with_io()).code();
  if (code != VOLT_OK) {
    std::fprintf(stderr, "skipped: %s\n", volt_strerror(code));
    return 77;
  }
  return run_unit_tests();
}
