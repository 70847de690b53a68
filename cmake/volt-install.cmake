# Headers, the libraries, static and shared, find_package(volt), pkg-config, the license.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/volt")

install(TARGETS volt_sync_static volt_sync_shared volt_rt_static volt_rt_shared EXPORT volt-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/volt
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT volt-targets NAMESPACE volt:: DESTINATION "${package_dir}")
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
foreach(library IN ITEMS sync rt)
  configure_file(cmake/volt-${library}.pc.in volt-${library}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/volt-${library}.pc" DESTINATION "${pc_dir}")
endforeach()
