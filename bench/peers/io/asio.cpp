// asio.cpp: echo by Boost.Asio: a session for each connection, which reads what there is, writes
// all of it, and reads again. One thread, and the io_context knows it.
#include <array>
#include <boost/asio.hpp>
#include <memory>

#include "server.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : socket_(std::move(socket)) {
  }

  void read() {
    socket_.async_read_some(
        asio::buffer(bytes_),
        [self = shared_from_this()](boost::system::error_code error, std::size_t n) {
          if (!error) self->write(n);
        });
  }

 private:
  void write(std::size_t n) {
    asio::async_write(socket_, asio::buffer(bytes_, n),
                      [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  tcp::socket socket_;
  std::array<char, SERVER_BYTES> bytes_;
};

void accept_next(tcp::acceptor &acceptor) {
  acceptor.async_accept([&acceptor](boost::system::error_code error, tcp::socket socket) {
    if (!error) {
      socket.set_option(tcp::no_delay(true), error);
      std::make_shared<Session>(std::move(socket))->read();
    }
    accept_next(acceptor);
  });
}

} // namespace

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 0);
  asio::io_context context(1);
  tcp::endpoint at(asio::ip::address_v4::loopback(), static_cast<unsigned short>(o.port));
  tcp::acceptor acceptor(context);
  acceptor.open(at.protocol());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.bind(at);
  acceptor.listen(SERVER_BACKLOG);
  accept_next(acceptor);
  context.run();
}
