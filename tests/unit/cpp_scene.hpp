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
};

#endif
