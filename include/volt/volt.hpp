/* volt.hpp: volt in C++17: objects, guards, operations, typed channels.
 *
 *   volt::mutex lock;                                  objects: destroyed by their destructors
 *   volt::semaphore pool(8);
 *
 *   auto permit = pool.acquire().wait_for(50ms);       a thread blocks, a fiber is suspended;
 *   auto permit = co_await pool.acquire();             a coroutine (volt/coro.hpp, C++20)
 *
 * Everything is inline and on top of the C functions: an object is its C struct, which c() gives,
 * so C and C++ share it. Nothing is allocated unless its comment says so. cpp/operation.hpp says
 * how operations are waited for, cpp/result.hpp what errors are. */
#ifndef VOLT_VOLT_HPP
#define VOLT_VOLT_HPP

#include "cpp/batch.hpp"
#include "cpp/blocking.hpp"
#include "cpp/budget.hpp"
#include "cpp/channel.hpp"
#include "cpp/cond.hpp"
#include "cpp/deadline.hpp"
#include "cpp/fiber.hpp"
#include "cpp/group.hpp"
#include "cpp/lock_all.hpp"
#include "cpp/mailbox.hpp"
#include "cpp/mutex.hpp"
#include "cpp/operation.hpp"
#include "cpp/permit_channel.hpp"
#include "cpp/promise.hpp"
#include "cpp/result.hpp"
#include "cpp/runtime.hpp"
#include "cpp/rwlock.hpp"
#include "cpp/select.hpp"
#include "cpp/semaphore.hpp"
#include "cpp/sight.hpp"
#include "cpp/signals.hpp"
#include "cpp/time.hpp"
#include "cpp/values.hpp"

#endif
