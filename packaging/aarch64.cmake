# The toolchain of the presets for aarch64: Debian's cross compiler, and the libraries of scripts/sysroot.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TONY_DEBIAN_ARCHITECTURE arm64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
cmake_path(SET CMAKE_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/aarch64)
if(NOT EXISTS ${CMAKE_SYSROOT}/made-from)
  message(FATAL_ERROR "${CMAKE_SYSROOT}: there are no libraries; scripts/package OUT --for aarch64 fetches them and builds")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Else the linker takes the C library that came with the cross compiler, which gets no security updates.
set(CMAKE_EXE_LINKER_FLAGS_INIT -B${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
# For what the build itself starts: the manual page is made by the program.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
