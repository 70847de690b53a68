/* cpp_rt_scenes.hpp: a scene (cpp_scene.hpp) for each operation of C++ that needs a runtime, has others in
 * it, or is I/O. Each system call that is not volt's is made by the test's own thread. */
#ifndef VOLT_TEST_CPP_RT_SCENES_HPP
#define VOLT_TEST_CPP_RT_SCENES_HPP

/* ---- time ---- */

static void pass(std::chrono::nanoseconds by) {
  virtual_->advance(by);
  (void)virtual_->run();
}

SCENE(a_sleep){auto operation(){return volt::sleep_for(*virtual_, 5ms);
}
void let() override {
  pass(5ms);
}
bool loses_nothing() override {
  return false; /* the next one begins now */
}
bool keeps() override {
  return false;
}
}
;

SCENE(a_tick) {
  volt::interval every{*virtual_, 5ms};
  a_tick() {
    EXPECT_CODE(volt_future_wait(volt_interval_tick_future(every.c())), VOLT_OK);
  }
  auto operation() {
    return every.tick();
  }
  void let() override {
    pass(5ms);
  }
  bool keeps() override {
    return false; /* it was due, and is over */
  }
};

SCENE(a_pause) {
  volt_accept_pause pause{};
  auto operation() {
    return volt::pause_operation(pause, virtual_->c(), VOLT_ERRNO(EMFILE));
  }
  void let() override {
    pass(2s);
  }
  bool loses_nothing() override {
    return false;
  }
  bool keeps() override {
    return false;
  }
};

/* ---- of others ---- */

struct has_permits {
  volt::semaphore s{0};
};

template <class Its>
struct releases : scene_of<Its>, has_permits {
  void let() override {
    s.release(1);
  }
};

struct a_deadline : releases<a_deadline> {
  auto operation() {
    return volt::within(virtual_->c(), s.acquire(), 1h);
  }
};

struct a_result : releases<a_result> {
  auto operation() {
    return volt::as_result(s.acquire());
  }
};

struct a_select : releases<a_select> {
  volt::notify news;
  auto operation() {
    return volt::select(volt::biased, s.acquire(), news.notified());
  }
};

SCENE(an_all) {
  volt::semaphore s{0};
  volt::notify news;
  auto operation() {
    return volt::all(s.acquire(), news.notified());
  }
  void let() override {
    s.release(1);
    news.one();
  }
};

/* What a future of C has got is its owner's. */
struct a_future : releases<a_future> {
  volt_future f = VOLT_FUTURE_INIT;
  auto operation() {
    return volt::future_operation(*volt_sem_acquire_future(&f, s.c(), 1));
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT_CODE(volt_future_poll(&f, volt_waker{nullptr, nullptr}), VOLT_OK);
    EXPECT(s.available() == 0);
  }
};

/* ---- calls, tasks ---- */

SCENE(a_call) {
  volt::latch go{1};
  auto operation() {
    return volt::blocking(*real, [this] { return go.opened().result().code(); });
  }
  void let() override {
    go.count_down();
  }
  bool waits() override {
    return false; /* one that loses is awaited: cpp_fiber_test.cpp */
  }
};

static std::unique_ptr<int> forty_two() {
  return std::make_unique<int>(42);
}

struct a_fiber : releases<a_fiber> {
  volt::fiber<std::unique_ptr<int>> fiber{*real, [this] {
                                            s.acquire().wait().forget();
                                            return forty_two();
                                          }};
  auto operation() {
    return fiber.join();
  }
  bool has_it() override {
    return fiber.has_ended();
  }
  void got(std::unique_ptr<int> value) {
    EXPECT(value && *value == 42);
  }
};

static volt::task<std::unique_ptr<int>> acquires(volt::semaphore &s) {
  auto permit = co_await s.acquire();
  co_return forty_two();
}

struct a_coroutine : releases<a_coroutine> {
  volt::join_handle<std::unique_ptr<int>> handle = volt::spawn(*real, acquires(s));
  auto operation() {
    return handle.join();
  }
  bool has_it() override {
    return handle.is_done();
  }
  void got(std::unique_ptr<int> value) {
    EXPECT(value && *value == 42);
  }
};

struct a_task : releases<a_task> {
  auto operation() {
    return volt::task_operation<std::unique_ptr<int>>(acquires(s));
  }
  void got(std::unique_ptr<int> value) {
    EXPECT(value && *value == 42);
  }
};

struct a_group : releases<a_group> {
  volt::group group;
  a_group() {
    group.spawn(*real, [this] { (void)s.acquire().wait(); });
  }
  auto operation() {
    return group.joined();
  }
  bool has_it() override {
    return group.size() == 0;
  }
  void lost() override {
    EXPECT(group.size() == 0); /* it was cancelled, and awaited */
  }
  bool goes_on() override {
    return false;
  }
};

/* ---- descriptors ---- */

/* How many bytes can be read. */
static size_t pending(const volt::fd &d) {
  int n = -1;
  EXPECT(ioctl(d.number(), FIONREAD, &n) == 0);
  return static_cast<size_t>(n);
}

template <class Its>
struct moves : scene_of<Its> {
  std::pair<volt::fd, volt::fd> ends; /* the first waits */
  size_t moved = 9;
  bool keeps() override {
    return false; /* what was moved stays so, and is told */
  }
  void lost() override {
    EXPECT(moved == 0);
  }
};

/* Waits for bytes. */
template <class Its>
struct receives : moves<Its> {
  char to[8] = {};
  iovec part{to, sizeof to};
  receives() {
    this->ends = volt::open_pair(*real);
  }
  void let() override {
    EXPECT(write(this->ends.second.number(), "text", 4) == 4);
  }
  bool has_it() override {
    return pending(this->ends.first) == 0;
  }
  void dropped() override {
    EXPECT(this->moved == 4 && std::memcmp(to, "text", 4) == 0);
  }
};

struct a_recv : receives<a_recv> {
  auto operation() {
    return ends.first.recv(to, sizeof to, 0, &moved);
  }
};
struct a_recvmsg : receives<a_recvmsg> {
  msghdr message{};
  auto operation() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return ends.first.recvmsg(message, 0, &moved);
  }
};
struct a_read_of_a_socket : receives<a_read_of_a_socket> {
  auto operation() {
    return ends.first.read(to, sizeof to, -1, &moved);
  }
};
struct a_readv : receives<a_readv> {
  auto operation() {
    return ends.first.readv(&part, 1, -1, &moved);
  }
};
struct a_ready : receives<a_ready> {
  auto operation() {
    return ends.first.ready(POLLIN);
  }
  bool has_it() override {
    return true;
  }
  void lost() override {
  }
  void dropped() override {
    EXPECT(pending(ends.first) == 4);
  }
};

/* Waits for room. */
template <class Its>
struct sends : moves<Its> {
  size_t filled = 0;
  char from[4] = {'t', 'e', 'x', 't'};
  iovec part{from, sizeof from};
  sends() {
    this->ends = volt::open_pair(*real);
    static const char zeros[4096] = {};
    for (;;) {
      ssize_t n = ::send(this->ends.first.number(), zeros, sizeof zeros, MSG_DONTWAIT);
      if (n < 0) break;
      filled += static_cast<size_t>(n);
    }
    EXPECT(errno == EAGAIN && filled > 0);
  }
  void let() override {
    std::vector<char> zeros(filled);
    EXPECT(::recv(this->ends.second.number(), zeros.data(), filled, MSG_WAITALL) ==
           static_cast<ssize_t>(filled));
  }
  bool has_it() override {
    return pending(this->ends.second) == 4;
  }
  void dropped() override {
    EXPECT(this->moved == 4);
  }
};

struct a_send_of_bytes : sends<a_send_of_bytes> {
  auto operation() {
    return ends.first.send(from, sizeof from, 0, &moved);
  }
};
struct a_sendmsg : sends<a_sendmsg> {
  msghdr message{};
  auto operation() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return ends.first.sendmsg(message, 0, &moved);
  }
};
struct a_write_to_a_socket : sends<a_write_to_a_socket> {
  auto operation() {
    return ends.first.write(from, sizeof from, -1, &moved);
  }
};
struct a_writev : sends<a_writev> {
  auto operation() {
    return ends.first.writev(&part, 1, -1, &moved);
  }
};
struct a_sendfile : sends<a_sendfile> {
  volt::fd file{*real, ::open("/tmp", O_TMPFILE | O_RDWR, 0600)};
  a_sendfile() {
    EXPECT(pwrite(file.number(), from, sizeof from, 0) == sizeof from);
  }
  auto operation() {
    return ends.first.sendfile(file, 0, sizeof from, &moved);
  }
};

/* A part is sent before the peer stalls. */
template <class Its>
struct sends_a_part : moves<Its> {
  std::vector<char> from = std::vector<char>(8 << 20);
  sends_a_part() {
    this->ends = volt::open_pair(*real);
  }
  void let() override {
  }
  bool waits() override {
    return false;
  }
  bool has_it() override {
    return pending(this->ends.second) > 0;
  }
  void dropped() override {
    EXPECT(this->moved > 0 && this->moved == pending(this->ends.second));
  }
};

struct a_part_of_a_send : sends_a_part<a_part_of_a_send> {
  auto operation() {
    return ends.first.send(from.data(), from.size(), 0, &moved);
  }
};
struct a_part_of_a_write : sends_a_part<a_part_of_a_write> {
  auto operation() {
    return ends.first.write(from.data(), from.size(), -1, &moved);
  }
};
struct a_part_of_a_sendfile : sends_a_part<a_part_of_a_sendfile> {
  volt::fd file{*real, ::open("/tmp", O_TMPFILE | O_RDWR, 0600)};
  a_part_of_a_sendfile() {
    EXPECT(ftruncate(file.number(), static_cast<off_t>(from.size())) == 0);
  }
  auto operation() {
    return ends.first.sendfile(file, 0, from.size(), &moved);
  }
};

/* ---- connections, files ---- */

SCENE(an_accept) {
  volt::listener listener{*real, "127.0.0.1:0"};
  int peer = -1;
  ~an_accept() override {
    if (peer >= 0) (void)::close(peer);
  }
  auto operation() {
    return listener.accept();
  }
  void let() override {
    volt::address at = listener.local();
    peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(::connect(peer, &at.c()->as.any, at.c()->size) == 0);
  }
  bool has_it() override {
    pollfd look = {listener.socket().number(), POLLIN, 0};
    return poll(&look, 1, 0) == 0;
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    char byte;
    EXPECT(::recv(peer, &byte, 1, 0) == 0); /* it was closed */
  }
};

/* A unix socket that listens, and has no room. */
struct full_listener {
  std::string name = "volt-losing-" + std::to_string(getpid());
  int number = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> peers;
  sockaddr_un at{};
  socklen_t size;

  full_listener() {
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT(::bind(number, address(), size) == 0 && ::listen(number, 0) == 0);
    for (;;) {
      peers.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (::connect(peers.back(), address(), size) != 0) break;
    }
    EXPECT(errno == EAGAIN);
  }
  ~full_listener() {
    for (int peer : peers) (void)::close(peer);
    (void)::close(number);
  }
  const sockaddr *address() const {
    return reinterpret_cast<const sockaddr *>(&at);
  }
  /* Make room for one. */
  void accept() {
    peers.push_back(::accept4(number, nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT(peers.back() >= 0);
  }
};

template <class Its>
struct connects : scene_of<Its> {
  full_listener listener;
  void let() override {
    listener.accept();
  }
  bool loses_nothing() override {
    return false; /* a connection that was made, and closed, takes the room */
  }
  bool keeps() override {
    return false;
  }
};

struct a_connect : connects<a_connect> {
  volt::fd socket;
  auto operation() {
    socket = volt::fd(*real, ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return socket.connect(listener.address(), listener.size);
  }
};
struct a_dial : connects<a_dial> {
  std::string to = "unix:@" + listener.name;
  auto operation() {
    return volt::dial(*real, to.c_str());
  }
};

/* What is ready by itself. */
template <class Its>
struct ends_by_itself : scene_of<Its> {
  void let() override {
  }
  bool waits() override {
    return false;
  }
};

struct a_lookup : ends_by_itself<a_lookup> {
  auto operation() {
    return volt::resolve(*real, "127.0.0.1:80");
  }
};

static long open_descriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

struct an_open : ends_by_itself<an_open> {
  long were_open = open_descriptors();
  auto operation() {
    return volt::open(*real, "/dev/null", O_RDONLY);
  }
  void dropped() override {
    EXPECT(open_descriptors() == were_open);
  }
};

struct a_sync : ends_by_itself<a_sync> {
  volt::fd file{*real, ::open("/tmp", O_TMPFILE | O_RDWR, 0600)};
  auto operation() {
    return file.sync();
  }
};

struct a_closing : ends_by_itself<a_closing> {
  volt::fd file{*real, ::open("/tmp", O_TMPFILE | O_RDWR, 0600)};
  auto operation() {
    return file.closing();
  }
  bool keeps() override {
    return false;
  }
  void dropped() override {
    EXPECT(!file);
  }
};

static const std::vector<maker> of_runtimes = {
    OF(a_sleep),
    OF(a_tick),
    OF(a_pause),
    OF(a_deadline),
    OF(a_result),
    OF(a_select),
    OF(an_all),
    OF(a_future),
    OF(a_call),
    OF(a_fiber),
    OF(a_coroutine),
    OF(a_task),
    OF(a_group),
    OF(a_recv),
    OF(a_recvmsg),
    OF(a_read_of_a_socket),
    OF(a_readv),
    OF(a_ready),
    OF(a_send_of_bytes),
    OF(a_sendmsg),
    OF(a_write_to_a_socket),
    OF(a_writev),
    OF(a_sendfile),
    OF(a_part_of_a_send),
    OF(a_part_of_a_write),
    OF(a_part_of_a_sendfile),
    OF(an_accept),
    OF(a_connect),
    OF(a_dial),
    OF(a_lookup),
    OF(an_open),
    OF(a_sync),
    OF(a_closing),
};

#endif
