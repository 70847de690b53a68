/* io.hpp: volt/io.h and volt/net.h in C++17: descriptors, sockets, names. See cpp/fd.hpp and
 * cpp/net.hpp. A program that includes it is linked with volt-io. */
#ifndef VOLT_IO_HPP
#define VOLT_IO_HPP

#include "cpp/fd.hpp"
#include "cpp/net.hpp"
#include "volt.hpp"

#endif
