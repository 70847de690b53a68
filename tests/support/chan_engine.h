/* chan_engine.h: the channel under test: the library's, or with -DENGINE_CHAN_<NAME> one of the
 * variants. All have these functions of volt/channel.h. */
#ifndef VOLT_TESTS_CHAN_ENGINE_H
#define VOLT_TESTS_CHAN_ENGINE_H

#if defined(ENGINE_CHAN_DEKKER)

#include "chan_dekker.h"
#define CHAN_ENGINE_NAME "chan_dekker"
#define CHAN_ENGINE_FN_(op) volt_chan_dekker_##op
typedef volt_chan_dekker engine_chan;

#elif defined(ENGINE_CHAN_SLOTS)

#include "chan_slots.h"
#define CHAN_ENGINE_NAME "chan_slots"
#define CHAN_ENGINE_FN_(op) volt_chan_slots_##op
typedef volt_chan_slots engine_chan;

#else

#include <volt/channel.h>
#define CHAN_ENGINE_NAME "volt"
#define CHAN_ENGINE_FN_(op) volt_chan_##op
typedef volt_chan engine_chan;

#define engine_chan_set_waker(c, w, waker) ((void)(c), volt_waiter_set_waker((w), (waker)))

#endif

#ifndef engine_chan_set_waker /* the library's is that of every waiter */
#define engine_chan_set_waker CHAN_ENGINE_FN_(set_waker)
#endif

#define engine_chan_bytes CHAN_ENGINE_FN_(bytes)
#define engine_chan_init CHAN_ENGINE_FN_(init)
#define engine_chan_destroy CHAN_ENGINE_FN_(destroy)
#define engine_chan_try_send CHAN_ENGINE_FN_(try_send)
#define engine_chan_try_recv CHAN_ENGINE_FN_(try_recv)
#define engine_chan_send CHAN_ENGINE_FN_(send)
#define engine_chan_recv CHAN_ENGINE_FN_(recv)
#define engine_chan_cancel_send CHAN_ENGINE_FN_(cancel_send)
#define engine_chan_cancel_recv CHAN_ENGINE_FN_(cancel_recv)
#define engine_chan_close CHAN_ENGINE_FN_(close)
#define engine_chan_is_closed CHAN_ENGINE_FN_(is_closed)
#define engine_chan_len CHAN_ENGINE_FN_(len)
#define engine_chan_waiters CHAN_ENGINE_FN_(waiters)
#define engine_chan_send_blocking CHAN_ENGINE_FN_(send_blocking)
#define engine_chan_recv_blocking CHAN_ENGINE_FN_(recv_blocking)
#define engine_chan_send_future CHAN_ENGINE_FN_(send_future)
#define engine_chan_recv_future CHAN_ENGINE_FN_(recv_future)

#endif
