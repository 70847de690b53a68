/* asio_error.hpp: volt's result codes as error_codes of Asio.
 *
 *   volt::async_wait(io, jobs.recv(), [](std::error_code ec, job j) {
 *     if (ec == VOLT_ECLOSED) ...
 *   }); */
#ifndef VOLT_CPP_ASIO_ERROR_HPP
#define VOLT_CPP_ASIO_ERROR_HPP

#include "asio_which.hpp"
#include "result.hpp"

VOLT_ASIO_BEGIN_

namespace asio_detail {

namespace net = VOLT_ASIO_;
namespace errors = ::VOLT_ASIO_ERRORS_;

class asio_category : public errors::error_category {
 public:
  const char *name() const noexcept override {
    return "volt";
  }
  std::string message(int code) const override {
    return volt_strerror(code);
  }
};

} // namespace asio_detail

/* The category of volt's codes. */
inline const asio_detail::errors::error_category &error_category() noexcept {
  static const asio_detail::asio_category its;
  return its;
}

/* A result code of volt as Asio's error_code: none if it is a success; operation_aborted for
 * VOLT_ECANCELED; an error of the system for VOLT_ERRNO(e). */
inline asio_detail::errors::error_code asio_error(int code) noexcept {
  if (volt_is_ok(code)) return {};
  if (code == VOLT_ECANCELED) return asio_detail::net::error::operation_aborted;
  if (int e = volt_errno(code)) return {e, asio_detail::net::error::get_system_category()};
  return {code, error_category()};
}

} // namespace on_asio or on_boost_asio
} // namespace volt

/* So that an error_code is compared with VOLT_ECLOSED and its like. */
namespace VOLT_ASIO_ERRORS_ {
template <>
struct is_error_code_enum<volt_result> : ::std::true_type {};
} // namespace VOLT_ASIO_ERRORS_
static inline ::VOLT_ASIO_ERRORS_::error_code make_error_code(volt_result code) noexcept {
  return volt::asio_error(code);
}

#endif
