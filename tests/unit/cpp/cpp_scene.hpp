/* cpp_scene.hpp: a scene: an object, a wait on it, and what ends that wait. cpp_scenes.hpp has one for
 * each operation of C++. The test that includes that defines before how it waits: a class `scene`,
 * derived from scene_base, and scene_of<Its>, derived from that, which waits for Its::operation(). */
#ifndef VOLT_TEST_CPP_SCENE_HPP
#define VOLT_TEST_CPP_SCENE_HPP

struct scene_base {
  virtual ~scene_base() = default;
  /* End the wait. */
  virtual void let() = 0;
  /* Called before and after the whole. */
  virtual void before() {
  }
  virtual void after() {
  }
  /* Whether there is nothing to wait for, asked before each wait; and whether to wait again. */
  virtual bool is_over() {
    return false;
  }
  virtual bool repeats() {
    return false;
  }
  /* Whether a wait on a condition variable has locked again. A coroutine's that fails does not. */
  bool relocks = true;

  /* For cpp_losing_test.cpp. What has lost a select although let() was called leaves what it would have
   * got to the next wait; and so does what volt::all() drops, where keeps() says so. Else dropped()
   * looks for it. */
  virtual bool loses_nothing() {
    return true;
  }
  virtual bool keeps() {
    return true;
  }
  virtual void dropped() {
  }
  /* Whether the waiter has got it, after let(): where another thread brings it. */
  virtual bool has_it() {
    return true;
  }
  /* Whether it waits until let(): if not, it may be ready at once. */
  virtual bool waits() {
    return true;
  }
  /* After it has lost, and nothing had come. */
  virtual void lost() {
  }
  /* Whether it can be waited for once more. */
  virtual bool goes_on() {
    return true;
  }
};

#endif
