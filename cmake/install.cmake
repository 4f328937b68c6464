# `cmake --install` gives headers, the libraries (C++ static, C shared), the command, the problem files and a package for find_package(lather).
include(CMakePackageConfigHelpers)
install(TARGETS lather lather_shared lather_options EXPORT latherTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS lather_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET lather_mpi)
  install(TARGETS lather_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lather)
endif()
install(DIRECTORY lather DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "*.h")
install(DIRECTORY problems DESTINATION ${CMAKE_INSTALL_DATADIR}/lather)
install(FILES docs/lather.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(EXPORT latherTargets NAMESPACE lather:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lather)
configure_package_config_file(cmake/latherConfig.cmake.in ${CMAKE_BINARY_DIR}/latherConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lather)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/latherConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/latherConfig.cmake ${CMAKE_BINARY_DIR}/latherConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lather)
