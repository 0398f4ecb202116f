// A regular expression for one line of text that nobody vouches for.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// POSIX extended syntax with \w, \s and \b, without {counts} and back-references: what is left matches in time that
// grows with the line, whatever the line and the pattern. Case counts; ^ and $ are the ends of the line.
class LinePattern {
 public:
  // kInvalid says what is wrong with it, without quoting it. At most 256 bytes.
  static Result<LinePattern> Parse(std::string_view pattern);

  // Looks at the first 1024 bytes of the line.
  bool Matches(std::string_view line) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tony
