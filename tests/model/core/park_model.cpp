// park_model: the parker. park.c R1, R2; pairs U1 -> P1.
// PROGRAM: library
#include "model.hpp"

// A thread parks until two unparks have come, from two threads or one; sees what each wrote.
struct park_x_unpark : model {
  volt_parker parker;
  VOLT_PLAIN(int) message;

  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_park_until(&parker, 1, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(message == 1);
    } else {
      message = 1;
      volt_unpark(&parker);
    }
  }
};
MODEL(park_x_unpark, 2, full)

// Counted before it parks: what has come carries its past.
struct count_x_unpark : model {
  volt_parker parker;
  VOLT_PLAIN(int) message;

  void thread(unsigned index) override {
    if (index == 0) {
      if (volt_unparks_since_(&parker, 0) == 1) EXPECT(message == 1);
    } else {
      message = 1;
      volt_unpark(&parker);
    }
  }
};
MODEL(count_x_unpark, 2, full)

struct park_for_two : model {
  volt_parker parker;
  VOLT_PLAIN(int) message[2];

  void thread(unsigned index) override {
    if (index == 2) {
      EXPECT(volt_park_until(&parker, 2, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(message[0] == 1 && message[1] == 1);
    } else {
      message[index] = 1;
      volt_unpark(&parker);
    }
  }
};
MODEL(park_for_two, 3, bounded)

// With a deadline: in time, or not, but never a wake lost and never one made up.
struct park_deadline : model {
  volt_parker parker;
  VOLT_PLAIN(int) message;

  void thread(unsigned index) override {
    if (index == 0) {
      int result = volt_park_until(&parker, 1, 1);
      if (result == VOLT_OK) EXPECT(message == 1);
      if (result == VOLT_ETIMEDOUT)
        EXPECT(volt_park_until(&parker, 1, VOLT_NO_DEADLINE) == VOLT_OK);
    } else {
      message = 1;
      volt_unpark(&parker);
    }
  }
};
MODEL(park_deadline, 2, full)

// Two threads park, each with a deadline, and a third ends: each thread runs once, and until its end.
struct park_deadlines_x_end : model {
  volt_parker parker[2];
  VOLT_PLAIN(uint32_t) begun[3], ended[3];

  void thread(unsigned index) override {
    begun[index] += 1;
    if (index < 2) EXPECT(volt_park_until(&parker[index], 1, 1) == VOLT_ETIMEDOUT);
    ended[index] += 1;
  }
  void check() override {
    for (unsigned i = 0; i < 3; i++) EXPECT(begun[i] == 1 && ended[i] == 1);
  }
};
MODEL(park_deadlines_x_end, 3, bounded)

// Two threads park, one unparks both through a list.
struct park_list : model {
  volt_parker parker[2];
  VOLT_PLAIN(int) message;

  void thread(unsigned index) override {
    if (index < 2) {
      EXPECT(volt_park_until(&parker[index], 1, VOLT_NO_DEADLINE) == VOLT_OK);
      EXPECT(message == 1);
      return;
    }
    message = 1;
    volt_unpark_list list;
    list.count = 0;
    volt_unpark_later(&parker[0], &list);
    volt_unpark_later(&parker[1], &list);
    volt_unpark_all(&list);
    EXPECT(list.count == 0);
  }
};
MODEL(park_list, 3, bounded)
