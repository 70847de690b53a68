/* 23_cpp_io.cpp: a TCP server in C++: a fiber for each connection, a deadline for each message, and
 * a shutdown that ends all of them.
 *
 *   c++ -std=c++17 23_cpp_io.cpp $(pkg-config --cflags --libs volt-io)
 *
 * prints: 20 clients got back 60 lines
 * prints: one client was silent, and was dropped */
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <volt/io.hpp>

using namespace std::chrono_literals;

static volt_rt_config with_io() {
  volt_rt_config config{};
  config.io = volt_io_auto();
  return config;
}

static volt::channel<int, 1> silent; /* how many clients were dropped: one */

/* Send back what comes, until the peer has sent all or says nothing for too long. */
static void serve(volt::fd connection) {
  std::array<char, 512> buffer;
  try {
    while (size_t n = connection.recv(buffer).wait_for(300ms)) {
      connection.send(buffer.data(), n).wait();
    }
  } catch (const volt::timed_out &) {
    silent.send(1).wait();
  }
}

/* Until this fiber is cancelled, which the group of connections does not outlive. */
static void accept_all(volt::runtime &rt, volt::listener &listener) {
  volt::group connections(VOLT_GROUP_KEEP_GOING); /* one that fails cancels no other */
  for (;;) {
    auto accepted = listener.accept().result();
    if (accepted) {
      connections.spawn(rt, [c = std::move(*accepted)]() mutable { serve(std::move(c)); });
    } else {
      listener.pause(accepted.code()).wait(); /* or throws: there is no use in trying again */
    }
  }
}

static int talk(volt::runtime &rt, const std::string &to, int number) {
  volt::fd server = volt::dial(rt, to.c_str()).wait_for(10s);
  int lines = 0;
  for (int i = 0; i < 3; i++) {
    std::string line = "client " + std::to_string(number) + " line " + std::to_string(i) + "\n";
    server.send(line).wait();
    std::string back(line.size(), '\0');
    for (size_t got = 0; got < back.size();) {
      got += server.recv(&back[got], back.size() - got).wait_for(10s);
    }
    lines += back == line;
  }
  return lines;
}

int main() {
  volt::runtime rt(with_io());
  volt::listener listener(rt, "127.0.0.1:0");
  std::string address = listener.local().text();
  volt::fiber server(rt, [&] { accept_all(rt, listener); });

  volt::mutex lock;
  int lines = 0;
  volt::group clients;
  for (int i = 0; i < 20; i++) {
    clients.spawn(rt, [&, i] {
      int mine = talk(rt, address, i);
      volt::lock guard(lock);
      lines += mine;
    });
  }
  clients.joined().wait(); /* throws what the first client that failed has thrown */
  std::printf("20 clients got back %d lines\n", lines);

  volt::fd mute = volt::dial(rt, address.c_str()).wait();
  int dropped = silent.recv().wait();
  std::printf("%s client was silent, and was dropped\n", dropped == 1 ? "one" : "some");
} /* the server is cancelled and waited for, and so are its connections */
