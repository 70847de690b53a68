// rwlock_model: readers and writers exclude each other; nobody is left behind.
// PROGRAM: library
#include "model.hpp"

struct rwlock_model : model {
  volt_rwlock rw;
  VOLT_PLAIN(int) value;

  rwlock_model() {
    volt_rwlock_init(&rw);
  }

  // The race checker objects if a reader and a writer are inside together, or two writers.
  void read() {
    EXPECT(volt_rwlock_read_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    int seen = value;
    EXPECT(seen == value);
    volt_rwlock_read_unlock(&rw);
  }
  void write() {
    EXPECT(volt_rwlock_write_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    value += 1;
    volt_rwlock_write_unlock(&rw);
  }
  void expect_free(int writes) {
    EXPECT(value == writes);
    EXPECT(volt_rwlock_readers(&rw) == 0 && volt_rwlock_waiters(&rw) == 0);
    EXPECT(volt_rwlock_try_write(&rw) == VOLT_OK);
  }
};

struct reader_x_writer : rwlock_model {
  void thread(unsigned index) override {
    index == 0 ? read() : write();
  }
  void check() override {
    expect_free(1);
  }
};
MODEL(reader_x_writer, 2, full)

struct writer_x_writer : rwlock_model {
  void thread(unsigned) override {
    write();
  }
  void check() override {
    expect_free(2);
  }
};
MODEL(writer_x_writer, 2, full)

struct two_readers_x_writer : rwlock_model {
  void thread(unsigned index) override {
    index < 2 ? read() : write();
  }
  void check() override {
    expect_free(1);
  }
};
MODEL(two_readers_x_writer, 3, bounded)

struct reader_x_two_writers : rwlock_model {
  void thread(unsigned index) override {
    index == 0 ? read() : write();
  }
  void check() override {
    expect_free(2);
  }
};
MODEL(reader_x_two_writers, 3, bounded)

// A writer that becomes a reader lets readers in, and no writer before it has read.
struct downgrade_x_writer : rwlock_model {
  void thread(unsigned index) override {
    if (index != 0) {
      write();
      return;
    }
    EXPECT(volt_rwlock_write_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    value += 1;
    int written = value;
    volt_rwlock_downgrade(&rw);
    EXPECT(value == written);
    volt_rwlock_read_unlock(&rw);
  }
  void check() override {
    expect_free(2);
  }
};
MODEL(downgrade_x_writer, 2, bounded)

struct downgrade_x_reader_x_writer : rwlock_model {
  void thread(unsigned index) override {
    if (index == 1) read();
    if (index == 2) write();
    if (index != 0) return;
    EXPECT(volt_rwlock_write_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    value += 1;
    int written = value;
    volt_rwlock_downgrade(&rw);
    EXPECT(value == written);
    volt_rwlock_read_unlock(&rw);
  }
  void check() override {
    expect_free(2);
  }
};
MODEL(downgrade_x_reader_x_writer, 3, bounded)

// A queued writer gives up: the readers behind it get in, whatever it had gathered.
struct cancel_writer_x_unlock : rwlock_model {
  volt_waiter writer, reader;
  wake_count woken[2];
  bool was_cancelled = false;
  cancel_writer_x_unlock() {
    EXPECT(volt_rwlock_try_read(&rw) == VOLT_OK);
    EXPECT(volt_rwlock_write_waiter(&rw, &writer, woken[0].waker()) == VOLT_PENDING);
    EXPECT(volt_rwlock_read_waiter(&rw, &reader, woken[1].waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      was_cancelled = volt_rwlock_cancel(&rw, &writer);
      if (!was_cancelled) volt_rwlock_write_unlock(&rw);
    }
    if (index == 1) volt_rwlock_read_unlock(&rw);
  }
  void check() override {
    EXPECT(granted(&reader) && woken[1].seen() == 1);
    EXPECT(woken[0].seen() == (was_cancelled ? 0u : 1u));
    EXPECT(volt_rwlock_readers(&rw) == 1);
  }
};
MODEL(cancel_writer_x_unlock, 2, full)

// Two readers leave; the writer that waits gets all the permits.
struct readers_leave_x_writer : rwlock_model {
  readers_leave_x_writer() {
    EXPECT(volt_rwlock_try_read(&rw) == VOLT_OK);
    EXPECT(volt_rwlock_try_read(&rw) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      volt_rwlock_read_unlock(&rw);
    } else {
      write();
    }
  }
  void check() override {
    expect_free(1);
  }
};
MODEL(readers_leave_x_writer, 3, bounded)
