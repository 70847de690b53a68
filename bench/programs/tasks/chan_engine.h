/* chan_engine.h: the channel that a file is compiled for, under one name: the library's, or with
 * CHAN_DEKKER or CHAN_SLOTS one of variants/, whose functions are called alike. */
#ifndef VOLT_BENCH_CHAN_ENGINE_H
#define VOLT_BENCH_CHAN_ENGINE_H

#if defined(CHAN_DEKKER)
#include "chan_dekker.h"
typedef volt_chan_dekker engine_chan;
#define ENGINE_CHAN_(name) volt_chan_dekker_##name
#elif defined(CHAN_SLOTS)
#include "chan_slots.h"
typedef volt_chan_slots engine_chan;
#define ENGINE_CHAN_(name) volt_chan_slots_##name
#else
#include <volt/channel.h>
typedef volt_chan engine_chan;
#define ENGINE_CHAN_(name) volt_chan_##name
#endif

#define engine_chan_bytes ENGINE_CHAN_(bytes)
#define engine_chan_init ENGINE_CHAN_(init)
#define engine_chan_destroy ENGINE_CHAN_(destroy)
#define engine_chan_len ENGINE_CHAN_(len)
#define engine_chan_try_send ENGINE_CHAN_(try_send)
#define engine_chan_try_recv ENGINE_CHAN_(try_recv)
#define engine_chan_send_future ENGINE_CHAN_(send_future)
#define engine_chan_recv_future ENGINE_CHAN_(recv_future)

#endif
