/* asio_which.hpp: which Asio volt/asio.hpp is for: standalone, or Boost's. Private. */
#ifndef VOLT_CPP_ASIO_WHICH_HPP
#define VOLT_CPP_ASIO_WHICH_HPP

#include <utility> /* Boost 1.74 forgets it */

#if !defined(VOLT_ASIO_BOOST)
#if defined(BOOST_ASIO_VERSION) && !defined(ASIO_VERSION)
#define VOLT_ASIO_BOOST 1
#elif defined(ASIO_VERSION) || __has_include(<asio.hpp>)
#define VOLT_ASIO_BOOST 0
#else
#define VOLT_ASIO_BOOST 1
#endif
#endif

#if VOLT_ASIO_BOOST
#include <boost/asio.hpp>
#define VOLT_ASIO_ ::boost::asio
#define VOLT_ASIO_ERRORS_ boost::system
#define VOLT_ASIO_VERSION_ BOOST_ASIO_VERSION
#define VOLT_ASIO_BEGIN_ \
  namespace volt {       \
  inline namespace on_boost_asio {
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#define VOLT_ASIO_TOKEN_ = ::boost::asio::use_awaitable_t<>
#endif
#else
#include <asio.hpp>
#define VOLT_ASIO_ ::asio
#define VOLT_ASIO_ERRORS_ std
#define VOLT_ASIO_VERSION_ ASIO_VERSION
#define VOLT_ASIO_BEGIN_ \
  namespace volt {       \
  inline namespace on_asio {
#if defined(ASIO_HAS_CO_AWAIT)
#define VOLT_ASIO_TOKEN_ = ::asio::use_awaitable_t<>
#endif
#endif
#if !defined(VOLT_ASIO_TOKEN_)
#define VOLT_ASIO_TOKEN_
#endif
#define VOLT_ASIO_CANCELS_ (VOLT_ASIO_VERSION_ >= 102000)
#if VOLT_ASIO_VERSION_ >= 102200 && !VOLT_ASIO_BOOST
#include <asio/recycling_allocator.hpp>
#elif VOLT_ASIO_VERSION_ >= 102200
#include <boost/asio/recycling_allocator.hpp>
#endif

#endif
