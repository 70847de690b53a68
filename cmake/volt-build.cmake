# What every target of volt is compiled with, and how programs and tests are made from files.

# Warnings, sanitizers, debug checks, and no build path in any binary. PRIVATE: users get none of it.
function(volt_target_defaults target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    "-ffile-prefix-map=${volt_SOURCE_DIR}=."
    "-ffile-prefix-map=${volt_BINARY_DIR}=./build")
  if(VOLT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(VOLT_DEBUG)
    target_compile_definitions(${target} PRIVATE VOLT_DEBUG=1)
  endif()
  if(VOLT_SIGHT)
    target_compile_definitions(${target} PRIVATE VOLT_SIGHT=1)
  else()
    target_compile_definitions(${target} PRIVATE VOLT_SIGHT=0) # also with VOLT_DEBUG
  endif()
  if(VOLT_CHAOS)
    target_compile_definitions(${target} PRIVATE VOLT_CHAOS=1)
  endif()
  if(VOLT_SMALL)
    target_compile_definitions(${target} PRIVATE VOLT_WAKE_BATCH=1 VOLT_EXPIRE_BATCH=1
      VOLT_CANCEL_BATCH=1 VOLT_BCS_BATCH=1 VOLT_BCS_BATCH_ASLEEP=1 VOLT_BCS_WAKERS=1 VOLT_BCS_SPIN=0
      VOLT_BCS_YIELDS=0 VOLT_SPIN=0 VOLT_PARK_SPIN=0 VOLT_YIELDS=1 VOLT_SPIN_TRIES=0 VOLT_SPIN_YIELDS=0
      VOLT_CHAN_BACKOFF=0 VOLT_CHAN_PATIENCE=0 VOLT_RT_RING=2u VOLT_RT_SEARCH_ROUNDS=1 VOLT_CTX_BUDGET=1u)
    target_compile_options(${target} PRIVATE -Wno-type-limits) # no count is below 0
  endif()
  if(VOLT_SANITIZE)
    set(sanitize "-fsanitize=${VOLT_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE ${sanitize})
    target_link_options(${target} PRIVATE ${sanitize})
  endif()
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
endfunction()

# The files of the library in this target, a room of src/ in one unit of the compiler, with UNITY_BUILD: as a
# parent project asks for by CMAKE_UNITY_BUILD, and VOLT_UNITY here. compile.library has each file alone.
# volt_by_rooms(<target> <source>...)
function(volt_by_rooms target)
  foreach(source IN LISTS ARGN)
    string(REPLACE "${volt_SOURCE_DIR}/src/" "" path "${source}")
    if(NOT path MATCHES "^cluster/host/" AND path MATCHES "^([a-z]+)/") # tests replace single files of a host
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  if(VOLT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  endif()
  target_compile_definitions(${target} PRIVATE # before the first header
    $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:_GNU_SOURCE=1>)
endfunction()

# What a test that computes is started with: those that hold times have the cores first.
find_program(VOLT_NICE nice)
mark_as_advanced(VOLT_NICE)
set(VOLT_AT_EASE "")
if(VOLT_NICE)
  set(VOLT_AT_EASE "${VOLT_NICE}" -n 5)
endif()

# The test does nothing but compute, for about so many seconds. At most as many of these run at once as
# there are cores, those that take long first: ctest counts them by cores.json, which the presets name.
# volt_computes(<test> <seconds>)
function(volt_computes test seconds)
  math(EXPR cost "100 + ${seconds}")
  set_tests_properties(${test} PROPERTIES RESOURCE_GROUPS "cores:1" COST ${cost})
endfunction()

# The cores of this machine, as ctest wants them.
function(volt_write_cores)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(slots "")
  foreach(i RANGE 1 ${cores})
    list(APPEND slots "{\"id\": \"${i}\", \"slots\": 1}")
  endforeach()
  list(JOIN slots ", " slots)
  file(WRITE "${volt_BINARY_DIR}/cores.json"
    "{\"version\": {\"major\": 1, \"minor\": 0}, \"local\": [{\"cores\": [${slots}]}]}\n")
endfunction()
if(PROJECT_IS_TOP_LEVEL)
  volt_write_cores()
endif()

# An executable from C or C++ files, linked with the sync library and threads.
# volt_program(<target> <source>...)
function(volt_program target)
  find_package(Threads REQUIRED)
  add_executable(${target} ${ARGN})
  volt_target_defaults(${target})
  volt_use_standard_of(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE volt_sync_static Threads::Threads)
endfunction()

# C++20 for a target one of whose C++ files says so in its first fifteen lines: "STANDARD: C++20".
function(volt_use_standard_of target)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "[.]cpp$")
      file(STRINGS "${source}" of_20 LIMIT_COUNT 15 REGEX "STANDARD:[ ]*C[+][+]20")
      if(of_20)
        set_target_properties(${target} PROPERTIES CXX_STANDARD 20)
        if(VOLT_SANITIZE MATCHES undefined) # clang 14 to 16 cannot compile some coroutines with it
          target_compile_options(${target} PRIVATE
            "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>")
        endif()
      endif()
    endif()
  endforeach()
endfunction()

# The libraries whose event loops volt has bridges to (volt/uv.h and its like), where they are, as
# volt_loop_uv, _glib, _event, _ev; and _epoll, which is the system's. Tests and examples alone use them.
function(volt_find_loops)
  add_library(volt_loop_epoll INTERFACE)
  if(CMAKE_CROSSCOMPILING)
    return() # those that are here are of this machine
  endif()
  foreach(loop IN ITEMS "uv;uv.h;uv" "event;event2/event.h;event_core" "ev;ev.h;ev")
    list(GET loop 0 name)
    list(GET loop 1 header)
    list(GET loop 2 library)
    find_path(VOLT_LOOP_${name}_INCLUDE ${header})
    find_library(VOLT_LOOP_${name}_LIBRARY ${library})
    mark_as_advanced(VOLT_LOOP_${name}_INCLUDE VOLT_LOOP_${name}_LIBRARY)
    if(VOLT_LOOP_${name}_INCLUDE AND VOLT_LOOP_${name}_LIBRARY)
      add_library(volt_loop_${name} INTERFACE)
      target_include_directories(volt_loop_${name} SYSTEM INTERFACE "${VOLT_LOOP_${name}_INCLUDE}")
      target_link_libraries(volt_loop_${name} INTERFACE "${VOLT_LOOP_${name}_LIBRARY}")
    endif()
  endforeach()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(VOLT_LOOP_GLIB QUIET IMPORTED_TARGET GLOBAL glib-2.0)
  endif()
  if(VOLT_LOOP_GLIB_FOUND)
    add_library(volt_loop_glib INTERFACE)
    target_link_libraries(volt_loop_glib INTERFACE PkgConfig::VOLT_LOOP_GLIB)
  endif()
endfunction()

# Asio, where it is, as volt_asio: standalone, or Boost's if that has cancellation slots. It is headers alone.
# Tests and examples of <volt/asio.hpp> use it.
function(volt_find_asio)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(VOLT_ASIO_INCLUDE asio.hpp)
  find_path(VOLT_BOOST_ASIO_INCLUDE boost/asio/cancellation_signal.hpp)
  mark_as_advanced(VOLT_ASIO_INCLUDE VOLT_BOOST_ASIO_INCLUDE)
  foreach(include IN ITEMS "${VOLT_ASIO_INCLUDE}" "${VOLT_BOOST_ASIO_INCLUDE}")
    if(include AND NOT TARGET volt_asio)
      add_library(volt_asio INTERFACE)
      target_include_directories(volt_asio SYSTEM INTERFACE "${include}")
      # clang has coroutines in C++20; Asio before 1.26 looks for those of before.
      target_compile_definitions(volt_asio INTERFACE "$<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT=1>"
        "$<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_STD_COROUTINE=1>")
      if(VOLT_SANITIZE MATCHES thread) # gcc warns of the fences beside Asio's locks
        target_compile_options(volt_asio INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
      endif()
    endif()
  endforeach()
endfunction()

# Whether a file that includes <volt/asio.hpp> is left out, and that, in words.
function(volt_lacks_asio result what source)
  file(STRINGS "${source}" of_asio REGEX "^#include <volt/asio[.]hpp>")
  set(${result} FALSE PARENT_SCOPE)
  if(of_asio AND NOT TARGET volt_asio)
    message(STATUS "${what} is left out: Asio is not here")
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Compile a target with Asio, if its file includes <volt/asio.hpp>.
function(volt_use_asio target source)
  file(STRINGS "${source}" of_asio REGEX "^#include <volt/asio[.]hpp>")
  if(of_asio)
    target_link_libraries(${target} PRIVATE volt_asio)
  endif()
endfunction()

# The event loop whose bridge a file includes: its name, or nothing.
function(volt_loop_of result source)
  file(STRINGS "${source}" lines REGEX "^#include <volt/(uv|glib|event|ev|epoll)[.]h>")
  set(name "")
  if(lines)
    string(REGEX REPLACE ".*<volt/([a-z]+)[.]h>.*" "\\1" name "${lines}")
  endif()
  set(${result} "${name}" PARENT_SCOPE)
endfunction()

# The engines a file is to be compiled for: "library", and each variant if one of its first fifteen
# lines says "ENGINE: all". Looked at again when the file changes.
function(volt_engines_of result source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(STRINGS "${source}" lines LIMIT_COUNT 15)
  set(engines library)
  if(lines MATCHES "ENGINE:[ ]*all")
    list(APPEND engines ${VOLT_VARIANTS})
  endif()
  set(${result} ${engines} PARENT_SCOPE)
endfunction()

# The back ends of libvolt-io on which a test is to run: what one of its first fifteen lines says,
# "BACK ENDS: epoll, uring"; or "none": it needs that library and chooses for itself. Empty: it does
# not need it.
function(volt_back_ends_of result source)
  file(STRINGS "${source}" lines LIMIT_COUNT 15)
  set(back_ends "")
  if(lines MATCHES "BACK ENDS:[ ]*([a-z, ]+)")
    string(REGEX MATCHALL "[a-z]+" back_ends "${CMAKE_MATCH_1}")
  endif()
  set(${result} ${back_ends} PARENT_SCOPE)
endfunction()

# <kind>.<name>.<back end> for each of them: the program, told which one by VOLT_TEST_IO. It exits with
# 77 if the system refuses that.
function(volt_io_tests target kind back_ends)
  target_link_libraries(${target} PRIVATE volt_io_static)
  foreach(back_end IN LISTS back_ends)
    set(test ${target})
    if(NOT back_end STREQUAL none)
      string(APPEND test .${back_end})
    endif()
    add_test(NAME ${test} COMMAND ${target})
    set_tests_properties(${test} PROPERTIES LABELS ${kind} SKIP_RETURN_CODE 77
      ENVIRONMENT "VOLT_TEST_IO=${back_end};${VOLT_TEST_ENVIRONMENT}" ${ARGN})
  endforeach()
endfunction()

# The event loops that a test is to be built with: what one of its first fifteen lines says, "LOOPS: uv,
# glib, event, ev, epoll", as far as they are here. "none" for all other tests.
function(volt_loops_of result source)
  file(STRINGS "${source}" lines LIMIT_COUNT 15)
  set(found none)
  if(lines MATCHES "LOOPS:[ ]*([a-z, ]+)")
    string(REGEX MATCHALL "[a-z]+" loops "${CMAKE_MATCH_1}")
    set(found "")
    foreach(loop IN LISTS loops)
      if(TARGET volt_loop_${loop})
        list(APPEND found ${loop})
      else()
        message(STATUS "skipped with ${loop}: ${source}: its library is not here")
      endif()
    endforeach()
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Build a test of all loops (tests/support/any_loop.h) with that one.
function(volt_use_loop target loop)
  if(NOT loop STREQUAL none)
    string(TOUPPER ${loop} upper)
    target_compile_definitions(${target} PRIVATE ANY_LOOP_${upper})
    target_link_libraries(${target} PRIVATE volt_loop_${loop})
  endif()
endfunction()

# One executable and one test for each file <room>/<name><ending> below this directory, and for each <name>
# with the ending of C++ (_test.cpp for _test.c), named <kind>.<name>, whatever its room,
# and <kind>.<name>.<variant> for the variants, linked with the runtime as well. The C files
# here, which are in no room, are shared by all of them and do not know which engine they test. Tests of libvolt-io and
# libvolt-cluster and libvolt-tls are left out where these are.
# A test of all loops is built and run with each, as <kind>.<name>.<loop>.
# <kind>_tests builds all of them.
# volt_tests(<kind> <ending> [SUPPORT <target>...] [PROPERTIES <ctest property> <value>...])
function(volt_tests kind ending)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SUPPORT;PROPERTIES")
  file(GLOB sources CONFIGURE_DEPENDS
    "${CMAKE_CURRENT_SOURCE_DIR}/*/*${ending}" "${CMAKE_CURRENT_SOURCE_DIR}/*/*${ending}pp")
  file(GLOB shared CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.c")
  if(shared)
    volt_test_objects(${kind}_shared ${shared})
    list(APPEND arg_SUPPORT ${kind}_shared)
  endif()
  add_custom_target(${kind}_tests)
  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME name)
    string(REGEX REPLACE "${ending}(pp)?$" "" name "${name}")
    volt_engines_of(engines "${source}")
    volt_back_ends_of(back_ends "${source}")
    if(back_ends AND NOT VOLT_IO)
      continue()
    endif()
    file(STRINGS "${source}" of_cluster REGEX "^#include [<\"](volt/ensemble[.]|(volt/)?cluster[_a-z]*[./])")
    if(of_cluster AND NOT VOLT_CLUSTER)
      continue()
    endif()
    file(STRINGS "${source}" of_tls REGEX "^#include ([<]volt/tls[.]|\"tls_scene[.]h)")
    if(of_tls AND NOT VOLT_TLS)
      continue()
    endif()
    volt_lacks_asio(lacks_asio ${kind}.${name} "${source}")
    if(lacks_asio)
      continue()
    endif()
    volt_loops_of(loops "${source}")
    foreach(engine IN LISTS engines)
      foreach(loop IN LISTS loops)
        set(target ${kind}.${name})
        if(NOT engine STREQUAL library)
          string(APPEND target .${engine})
        endif()
        if(NOT loop STREQUAL none)
          string(APPEND target .${loop})
        endif()
        volt_program(${target} "${source}")
        volt_use_engine(${target} ${engine})
        volt_use_loop(${target} ${loop})
        volt_use_asio(${target} "${source}")
        target_link_libraries(${target} PRIVATE volt_rt_static volt_test_headers ${arg_SUPPORT})
        if(of_cluster)
          target_link_libraries(${target} PRIVATE volt_cluster_static)
        endif()
        if(of_tls)
          target_link_libraries(${target} PRIVATE volt_tls_static PkgConfig::OPENSSL3)
        endif()
        add_dependencies(${kind}_tests ${target})
        if(back_ends)
          volt_io_tests(${target} ${kind} "${back_ends}" ${arg_PROPERTIES})
          continue()
        endif()
        add_test(NAME ${target} COMMAND ${target})
        set_tests_properties(${target} PROPERTIES
          LABELS ${kind} ENVIRONMENT "${VOLT_TEST_ENVIRONMENT}" ${arg_PROPERTIES})
      endforeach()
    endforeach()
  endforeach()
endfunction()

# C files that are linked whole into every test that names the target.
function(volt_test_objects target)
  add_library(${target} OBJECT ${ARGN})
  volt_target_defaults(${target})
  target_link_libraries(${target} PRIVATE volt_sync_static volt_test_headers)
endfunction()

# A fuzzer of a parser: <name>_fuzz.c, and <name>.corpus, its first inputs: a line each, in hexadecimal.
# fuzz.<name> replays the corpus in every build. With clang there is the target <name>_fuzzer, too, to
# be run by hand:
#   fuzz_<name> <name>.corpus DIRECTORY; <name>_fuzzer -runs=3000000 DIRECTORY
# LINKED: what the test is linked with; PARSERS: what <name>_fuzzer compiles for itself, finds in INCLUDES
# and links with LIBRARIES.
# volt_fuzzer(<source> LINKED <target>... PARSERS <file>... [INCLUDES <directory>...] [LIBRARIES <target>...])
function(volt_fuzzer source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKED;PARSERS;INCLUDES;LIBRARIES")
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" name "${name}")
  volt_program(fuzz_${name} "${source}" "${volt_SOURCE_DIR}/tests/fuzz/replay.c")
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LINKED})
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} "${CMAKE_CURRENT_SOURCE_DIR}/${name}.corpus")
  set_tests_properties(fuzz.${name} PROPERTIES
    LABELS app TIMEOUT 300 ENVIRONMENT "${VOLT_TEST_ENVIRONMENT}")
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    add_executable(${name}_fuzzer EXCLUDE_FROM_ALL "${source}" ${arg_PARSERS})
    target_include_directories(${name}_fuzzer PRIVATE
      ${arg_INCLUDES} "${volt_SOURCE_DIR}/include" "${volt_SOURCE_DIR}/src")
    target_compile_options(${name}_fuzzer PRIVATE -O1 -g -fsanitize=fuzzer,address,undefined
      -fno-sanitize-recover=all)
    target_link_libraries(${name}_fuzzer PRIVATE volt_rt_static ${arg_LIBRARIES})
    target_link_options(${name}_fuzzer PRIVATE -fsanitize=fuzzer,address,undefined)
  endif()
endfunction()

# Point the semaphore under test (tests/support/engine.h) at the library or at a variant.
function(volt_use_engine target engine)
  if(NOT engine STREQUAL library)
    string(TOUPPER ${engine} upper)
    target_compile_definitions(${target} PRIVATE ENGINE_${upper})
  endif()
  if(TARGET volt_variants)
    target_link_libraries(${target} PRIVATE volt_variants)
  endif()
endfunction()

# What a sanitizer is told when a test runs: the first finding ends it.
set(VOLT_TEST_ENVIRONMENT
  "ASAN_OPTIONS=halt_on_error=1:detect_stack_use_after_return=1"
  "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
