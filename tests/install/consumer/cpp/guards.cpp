// A user's program in C++: guards, a channel, a fiber, an exception. Ends with 0 if all is right.
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <volt/volt.hpp>

using namespace std::chrono_literals;

int main() {
  volt::semaphore pool(1);
  volt::channel<std::unique_ptr<std::string>, 4> words;
  volt::runtime rt;
  volt::fiber says(rt, [&] {
    volt::permits permit = pool.acquire().wait_for(10s);
    words.send(std::make_unique<std::string>("hello")).wait();
    words.close();
    throw std::runtime_error("and goes");
    return 0;
  });
  std::string said;
  for (std::unique_ptr<std::string> word : words) said += *word;
  try {
    (void)says.join().wait();
    return 1;
  } catch (const std::runtime_error &e) {
    said += e.what();
  }
  return said == "helloand goes" && pool.available() == 1 ? 0 : 2;
}
