// sharded_rwlock_model: readers of any shard and writers exclude each other; a writer that gives up
// leaves nothing locked. Checks sharded_rwlock.c I1, I2, R1-R4.
// PROGRAM: library
#include "model.hpp"
#include "poller.hpp"

struct sharded_model : model {
  volt_rwlock_shard shards[2];
  volt_sharded_rwlock lock;
  VOLT_PLAIN(int) value;

  sharded_model() {
    lock.shards = shards; // as init, but for the alignment, which does not matter here
    lock.count = 2;
    for (auto &shard : shards) volt_rwlock_init(&shard.lock);
  }

  // The race checker objects if a reader and a writer are inside together, or two writers.
  void read(uint32_t shard) {
    EXPECT(volt_sharded_rwlock_read_until(&lock, shard, VOLT_NO_DEADLINE) == VOLT_OK);
    int seen = value;
    EXPECT(seen == value);
    volt_sharded_rwlock_read_unlock(&lock, shard);
  }
  void write_and_unlock() {
    value += 1;
    volt_sharded_rwlock_write_unlock(&lock);
  }
  void write() {
    volt_sharded_rwlock_write(&lock);
    write_and_unlock();
  }
  void write_by_future() {
    volt_sharded_write w;
    int result = volt_future_wait(volt_sharded_rwlock_write_future(&w, &lock));
    EXPECT(result == VOLT_OK);
    write_and_unlock();
  }
  void expect_free(int writes) {
    EXPECT(value == writes);
    EXPECT(volt_sharded_rwlock_readers(&lock) == 0 && volt_sharded_rwlock_waiters(&lock) == 0);
    EXPECT(volt_sharded_rwlock_try_write(&lock) == VOLT_OK);
  }
};

// R3: the reader of each shard in turn, and a writer.
template <uint32_t shard>
struct sharded_reader_x_writer : sharded_model {
  void thread(unsigned index) override {
    index == 0 ? read(shard) : write();
  }
  void check() override {
    expect_free(1);
  }
};
struct sharded_first_reader_x_writer : sharded_reader_x_writer<0> {};
MODEL(sharded_first_reader_x_writer, 2, bounded)
struct sharded_last_reader_x_writer : sharded_reader_x_writer<1> {};
MODEL(sharded_last_reader_x_writer, 2, bounded)

// R3, by a future.
struct sharded_last_reader_x_future : sharded_model {
  void thread(unsigned index) override {
    index == 0 ? read(1) : write_by_future();
  }
  void check() override {
    expect_free(1);
  }
};
MODEL(sharded_last_reader_x_future, 2, bounded)

// R1: one writer blocks, the other waits by a future.
struct sharded_writer_x_future : sharded_model {
  void thread(unsigned index) override {
    index == 0 ? write() : write_by_future();
  }
  void check() override {
    expect_free(2);
  }
};
MODEL(sharded_writer_x_future, 2, bounded)

// I2: a writer that tries and fails.
struct sharded_try_x_reader : sharded_model {
  int result;
  void thread(unsigned index) override {
    if (index == 0) return read(1);
    result = volt_sharded_rwlock_try_write(&lock);
    if (result == VOLT_OK) write_and_unlock();
  }
  void check() override {
    expect_free(result == VOLT_OK ? 1 : 0);
  }
};
MODEL(sharded_try_x_reader, 2, bounded)

// R2, I2: a writer has one shard, waits for the next, and gives up as that is granted.
struct sharded_cancel_x_unlock : sharded_model {
  volt_sharded_write w;
  poller::trace left;
  sharded_cancel_x_unlock() {
    EXPECT(volt_sharded_rwlock_try_read(&lock, 1) == VOLT_OK);
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_sharded_rwlock_write_future(&w, &lock)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sharded_rwlock_read_unlock(&lock, 1);
    } else {
      volt_future_cancel(&w.future);
    }
  }
  void check() override {
    EXPECT(left.gone(1));
    expect_free(0);
  }
};
MODEL(sharded_cancel_x_unlock, 2, full)

// I2: the same with a deadline, which passes or not.
struct sharded_deadline_x_reader : sharded_model {
  int result;
  void thread(unsigned index) override {
    if (index == 0) return read(1);
    result = volt_sharded_rwlock_write_until(&lock, 1);
    if (result == VOLT_OK) write_and_unlock();
  }
  void check() override {
    expect_free(result == VOLT_OK ? 1 : 0);
  }
};
MODEL(sharded_deadline_x_reader, 2, bounded)

// R4: the second writer that comes is the last user, and ends the lock at once.
struct sharded_last_writer_frees : model {
  struct memory {
    volt_rwlock_shard shards[2];
    volt_sharded_rwlock lock;
    VOLT_PLAIN(int) users;
  };
  memory *it = new memory();

  sharded_last_writer_frees() {
    it->lock.shards = it->shards;
    it->lock.count = 2;
    for (auto &shard : it->shards) volt_rwlock_init(&shard.lock);
    it->users = 2;
  }
  void thread(unsigned) override {
    volt_sharded_rwlock_write(&it->lock);
    bool last = --it->users == 0;
    volt_sharded_rwlock_write_unlock(&it->lock);
    if (!last) return;
    for (auto &shard : it->shards) poison(&shard.lock.queue);
    delete it;
  }
};
MODEL(sharded_last_writer_frees, 2, bounded)
