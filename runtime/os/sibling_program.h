// Our programs find each other in one folder: in the build tree, where they are installed, and where a job keeps its
// own.
#pragma once

#include <string>
#include <string_view>

namespace tony {

// What a job runs, beside `tony` or the engine's adapter. A job keeps a copy of these (staging/programs.h).
inline constexpr std::string_view kJobPrograms[] = {"tony-am", "tony-executor", "tony-keeper"};
// What tasks with GPUs need beside those; release builds have it. The driver's library wants a C library to be loaded
// with, and that of the machine may be older than ours: so the executor brings its own, and the loader of that.
inline constexpr std::string_view kGpuExecutor = "tony-gpu-executor", kGpuLoader = "tony-gpu-loader";
inline constexpr std::string_view kGpuPrograms[] = {kGpuExecutor, kGpuLoader,        "libc.so.6", "libm.so.6",
                                                    "libdl.so.2", "libpthread.so.0", "librt.so.1"};

std::string SiblingProgram(std::string_view name);  // "tony-am" -> "/folder/of/this/program/tony-am"

}  // namespace tony
