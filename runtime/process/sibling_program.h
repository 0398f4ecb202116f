// Our programs find each other in one folder: in the build tree, where they are installed, and where a job keeps its
// own.
#pragma once

#include <string>
#include <string_view>

namespace tony {

// What a job runs, beside `tony` or the engine's adapter. A job keeps a copy of these (staging/programs.h).
inline constexpr std::string_view kJobPrograms[] = {"tony-am", "tony-executor", "tony-keeper"};
inline constexpr std::string_view kOptionalJobProgram = "tony-gpu-executor";  // release builds have it

std::string SiblingProgram(std::string_view name);  // "tony-am" -> "/folder/of/this/program/tony-am"

}  // namespace tony
