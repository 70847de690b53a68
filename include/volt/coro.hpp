/* coro.hpp: C++20 coroutines as tasks of a runtime.
 *
 *   volt::task<int> query(volt::semaphore &pool, std::string sql) {     sql by value: it must last
 *     auto permit = co_await volt::within(pool.acquire(), 50ms);
 *     co_return co_await volt::blocking(rt, [&] { return run(sql); });
 *   }
 *   auto h = volt::spawn(rt, query, std::ref(pool), "select 1");
 *   int rows = h.get();                                  a thread, a fiber; or co_await h
 *
 * volt::task<T> is what a coroutine returns. It has begun nothing: it is awaited by another coroutine
 * (co_await query(...)), spawned (volt::spawn()), or waited for (volt::sync_wait()). It runs once.
 *
 * A coroutine may await
 *   - an operation: what the waiting functions of volt/volt.hpp return. It gives the value, or throws
 *     volt::canceled, volt::closed, volt::timed_out, or another volt::error
 *   - volt::as_result(operation): a volt::result, nothing is thrown
 *   - volt::within(x, 50ms), until(x, time), select(a, b, ...), all(a, b, ...), blocking(rt, f)
 *   - a task, or volt::as_result(task)
 *   - volt::finally(task, cleanup), volt::with_group(rt, body)
 *   - a future of C, by reference or pointer: it gives the result code
 *   - volt::yield(): others run
 * What does not have to wait does not suspend the coroutine, but for every 128th time, when others
 * run. A wait allocates nothing. A coroutine has its frame, and a task that is spawned one block more,
 * both from the runtime's pool.
 *
 * Cancellation is as in volt/async.h. To cancel a spawned task is to have one await throw
 * volt::canceled: the innermost that it is in or comes to next. Let that pass, and the destructors
 * clean up. A cleanup that awaits goes into volt::finally(), because co_await is not allowed in a
 * catch. A std::stop_token that is given to volt::spawn() cancels the task. When the runtime is
 * destroyed, all tasks are cancelled and awaited, so the destructors of all coroutines run.
 *
 * What a coroutine refers to has to live until it has ended:
 *   - Parameters by reference: fine if the caller awaits the task in the same expression; a task
 *     that is spawned takes them by value, or refers to what lives longer.
 *   - A lambda with captures: the captures are in the lambda, not in the frame. Such a coroutine does
 *     not compile, unless volt::invoke() keeps the lambda. gcc 12 destroys captures twice that have a
 *     destructor, if the lambda is written inside a co_await, with volt::invoke() and
 *     volt::with_group(), too: give it a name, and std::move() it.
 *
 * Where the frame is from: a coroutine that is called by a task has it from that task's runtime; one
 * that is called by volt::spawn(rt, f, args...) from rt; any other by malloc(). To give another
 * allocator, make std::allocator_arg and the allocator the first parameters. If there is no memory,
 * the task is empty, and to await or spawn it fails with VOLT_ENOMEM. (One that was moved from:
 * VOLT_EINVAL.)
 *
 * Without exceptions (-fno-exceptions) a coroutine awaits operations by volt::as_result() only.
 *
 * Programs need gcc 11 or clang 14 and libstdc++, and C++20. Where coroutines wait say
 * volt::print_trace() and volt_dump() (volt/sight.h), unless the compiler is clang 14. */
#ifndef VOLT_CORO_HPP
#define VOLT_CORO_HPP

#if !defined(__cpp_impl_coroutine)
#error "volt/coro.hpp needs coroutines: compile with -std=c++20 or a later one"
#else
#include "cpp/blocking.hpp"
#include "cpp/coro_future.hpp"
#include "cpp/coro_scope.hpp"
#include "cpp/coro_spawn.hpp"
#include "cpp/coro_stop.hpp"
#include "cpp/coro_task.hpp"
#include "cpp/coro_trace.hpp"
#include "cpp/deadline.hpp"
#include "cpp/select.hpp"
#include "volt.hpp"
#endif

#endif
