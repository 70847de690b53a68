# Headers, the libraries, static and shared, find_package(volt), pkg-config, the license.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/volt")

set(installed sync rt)
if(VOLT_IO)
  list(APPEND installed io)
endif()
if(VOLT_CLUSTER)
  list(APPEND installed cluster)
endif()
if(VOLT_TLS)
  list(APPEND installed tls)
endif()
list(TRANSFORM installed REPLACE "(.+)" "volt_\\1_static;volt_\\1_shared" OUTPUT_VARIABLE targets)
install(TARGETS ${targets} EXPORT volt${volt_suffix}-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/volt
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Commands of gdb: to be loaded by hand; and where gdb finds them as it loads the library, if it trusts
# the prefix (/usr).
install(FILES tools/volt_gdb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/volt")
install(DIRECTORY tools/bpftrace
  DESTINATION "${CMAKE_INSTALL_DATADIR}/volt" FILES_MATCHING PATTERN "*.bt")
install(DIRECTORY tools/voltgdb
  DESTINATION "${CMAKE_INSTALL_DATADIR}/volt" FILES_MATCHING PATTERN "*.py")
install(FILES tools/volt_gdb.py
  DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}"
  RENAME "libvolt-rt${volt_suffix}.so.${PROJECT_VERSION}-gdb.py")

install(EXPORT volt${volt_suffix}-targets NAMESPACE volt:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/volt-config.cmake.in volt-config.cmake
  INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(volt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/volt-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/volt-config-version.cmake"
  DESTINATION "${package_dir}")

# The prefix is where the .pc file is found, so that an installed tree can be moved.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(ABSOLUTE_PATH pc_dir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE
  OUTPUT_VARIABLE pc_dir_absolute)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${pc_dir_absolute}"
  OUTPUT_VARIABLE pc_up)
cmake_path(APPEND libdir_for_pc "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND includedir_for_pc "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
if(VOLT_SIGHT)
  set(sight_for_pc " -DVOLT_SIGHT=1")
else()
  set(sight_for_pc "")
endif()
foreach(library IN LISTS installed)
  set(pc "volt-${library}${volt_suffix}.pc")
  configure_file(cmake/volt-${library}.pc.in "${pc}" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${pc}" DESTINATION "${pc_dir}")
endforeach()

# Manual pages, written by the build where there is Python 3, and left out where there is none: to
# install needs no Python. A docstring that breaks the form stops the test docs.man, not the build.
find_package(Python3 3.10 QUIET COMPONENTS Interpreter)
option(VOLT_MAN "Write and install manual pages (needs Python 3)" ${Python3_FOUND})
if(VOLT_MAN AND NOT Python3_FOUND)
  message(FATAL_ERROR "VOLT_MAN needs Python 3.10 or later")
endif()
if(VOLT_MAN)
  file(GLOB man_inputs CONFIGURE_DEPENDS include/volt/*.h src/*.map docs/reference/*.py)
  add_custom_command(OUTPUT man.stamp
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/docs/reference/reference.py"
      --lenient --man "${CMAKE_CURRENT_BINARY_DIR}/man"
    COMMAND "${CMAKE_COMMAND}" -E touch man.stamp
    DEPENDS ${man_inputs} CHANGELOG.md
    VERBATIM)
  add_custom_target(volt_man ALL DEPENDS man.stamp)
  install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
endif()
