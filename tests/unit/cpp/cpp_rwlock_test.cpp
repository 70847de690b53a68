/* cpp_rwlock_test.cpp: volt/cpp/rwlock.hpp: each way to wait, each thing a guard does. */
#include <chrono>
#include <thread>
#include <typeinfo>

#include "unit.hpp"

using namespace std::chrono_literals;

static_assert(sizeof(volt::rwlock) == sizeof(volt_rwlock));
static_assert(sizeof(volt::read_lock) == sizeof(void *) &&
              sizeof(volt::write_lock) == sizeof(void *));
static_assert(!std::is_copy_constructible_v<volt::read_lock>);
static_assert(!std::is_copy_constructible_v<volt::write_lock>);
static_assert(!std::is_copy_constructible_v<volt::sharded_write_lock>);

static volt::rwlock a_static_lock;

TEST(readers_share_and_a_writer_does_not) {
  {
    volt::read_lock one = a_static_lock.read().wait();
    volt::read_lock two = a_static_lock.try_read().value();
    EXPECT(a_static_lock.readers() == 2);
    EXPECT_CODE(a_static_lock.try_write().code(), VOLT_EAGAIN);
    EXPECT_CODE(a_static_lock.write().result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT_THROWS(volt::timed_out, VOLT_ETIMEDOUT, a_static_lock.write().wait_for(1us));
  }
  EXPECT(a_static_lock.readers() == 0);
  volt::write_lock writes = a_static_lock.write().wait();
  EXPECT_CODE(a_static_lock.try_read().code(), VOLT_EAGAIN);
  EXPECT_CODE(a_static_lock.read().result_for(1us).code(), VOLT_ETIMEDOUT);
}

TEST(a_reader_and_a_writer_are_waited_for) {
  volt::rwlock rw = volt::rwlock::with_bypass(4);
  volt::write_lock writes = rw.write().wait();
  bool read = false;
  std::thread reader([&] { read = bool(rw.read().wait()); });
  UNTIL(rw.waiters() == 1);
  writes.unlock();
  reader.join();
  EXPECT(read && rw.readers() == 0);
  volt::read_lock reads = rw.read().wait();
  bool written = false;
  std::thread writer([&] { written = bool(rw.write().result()); });
  UNTIL(rw.waiters() == 1);
  reads.unlock();
  writer.join();
  EXPECT(written && rw.try_write());
}

TEST(guards_unlock_once) {
  volt::rwlock rw, other;
  volt::read_lock reads = rw.read().wait();
  volt::read_lock moved(std::move(reads));
  EXPECT(!reads && moved);
  volt::read_lock more = other.read().wait();
  more = std::move(moved);
  EXPECT(other.readers() == 0 && rw.readers() == 1);
  EXPECT(more.release() == rw.c() && !more && rw.readers() == 1);
  { volt::read_lock adopted(*rw.c(), volt::adopt); }
  EXPECT(rw.readers() == 0);
  volt::write_lock writes = rw.write().wait();
  volt::write_lock taken(std::move(writes));
  writes.unlock();
  EXPECT(!writes && !rw.try_read());
  volt::write_lock others = other.write().wait();
  others = std::move(taken);
  EXPECT(other.try_write());
  EXPECT(others.release() == rw.c());
  volt::write_lock adopted(*rw.c(), volt::adopt);
  adopted.unlock_fair();
  EXPECT(rw.try_write());
}

TEST(a_writer_goes_on_reading) {
  volt::rwlock rw;
  volt::write_lock writes = rw.write().wait();
  volt::read_lock reads = std::move(writes).downgrade();
  EXPECT(!writes && reads && rw.readers() == 1 && rw.try_read());
}

/* ---- sharded ---- */

TEST(a_sharded_lock) {
  volt::sharded_rwlock lock(4);
  {
    volt::read_lock mine = lock.read().wait();
    volt::read_lock other = lock.read(3).wait();
    EXPECT(lock.readers() == 2 && lock.try_read());
    EXPECT_CODE(lock.try_write().code(), VOLT_EAGAIN);
    EXPECT_CODE(lock.write().result_for(1us).code(), VOLT_ETIMEDOUT);
    EXPECT(lock.readers() == 2);
  }
  volt::sharded_write_lock writes = lock.write().wait();
  EXPECT_CODE(lock.read(0).result_now().code(), VOLT_EAGAIN);
  EXPECT_CODE(lock.read(3).result_for(1us).code(), VOLT_ETIMEDOUT);
  volt::sharded_write_lock moved(std::move(writes));
  EXPECT(!writes && moved);
  writes = std::move(moved);
  EXPECT(writes.release() == lock.c());
  volt::sharded_write_lock adopted(*lock.c(), volt::adopt);
  adopted.unlock();
  EXPECT(lock.try_write());
}

TEST(a_sharded_lock_in_memory_of_the_callers) {
  static volt_rwlock_shard shards[2];
  volt::sharded_rwlock lock(shards, 2);
  volt::read_lock reads = lock.read(1).wait();
  bool written = false;
  std::thread writer([&] { written = bool(lock.write().wait()); });
  UNTIL(lock.waiters() == 1);
  reads.unlock();
  writer.join();
  EXPECT(written);
}

int main() {
  return run_unit_tests();
}
