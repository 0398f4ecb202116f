// The log files of one attempt.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "executor/secret_mask.h"

namespace tony::executor {

// What a program left in a log, for people, in an outcome: as valid UTF-8 (bad bytes replaced) without control
// characters other than tab and line end. What cannot be read, or is no regular file but a link or a pipe, is empty.
struct LastWords {
  std::string lines;  // the last 20, at most 4 KiB
  // The last MiB, because the lines of other threads may follow the cause of a failure.
  std::string text;
};

// Secrets are masked before anything is cut.
LastWords ReadLastWords(const std::filesystem::path& file, const SecretMask& mask = SecretMask());

// The same of a text.
LastWords LastWordsOf(std::string_view text);
std::string LastLines(std::string_view text);

}  // namespace tony::executor
