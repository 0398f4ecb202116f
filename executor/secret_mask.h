// Takes the values of a job's secrets out of the lines of its tasks that leave the executor: for the verdict, the
// journal, the history, published values, and readers of logs. The files that a task writes itself stay as they are.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tony::executor {

// A value that is shorter stays: its mask would destroy the text. So do lines of a value that are shorter than six.
inline constexpr size_t kShortestSecret = 4;

class SecretMask {
 public:
  SecretMask() = default;  // nothing is secret
  // Masks each value as it is, without blanks around it, each of its lines, the password of a URL, and these as
  // JSON, a URL and base64 have them, in base64 also amid other bytes.
  explicit SecretMask(const std::vector<std::string>& values);

  std::string Masked(std::string_view text) const;  // "***" in place of each
  void MaskInPlace(std::string& text) const;        // a star for each byte except line ends: offsets stay right
  size_t longest() const { return longest_; }       // bytes of the longest text that is masked; 0: nothing is secret
  // The bytes at the end of `text` with which a text that is masked may begin, and the rest is still to come.
  size_t OpenEnd(std::string_view text) const;

 private:
  struct Span {
    size_t begin = 0, end = 0;
  };
  std::vector<Span> Find(std::string_view text) const;  // disjoint, in order

  std::vector<std::string> forms_;
  size_t longest_ = 0;
};

// The values of variables that are secret: those of `secrets` ("NAME=value"), and of `others` those whose name ends
// with PASSWORD, SECRET, TOKEN or KEY as a word of its own, if they have eight characters.
std::vector<std::string> SecretValues(const std::vector<std::string>& secrets, const std::vector<std::string>& others);

}  // namespace tony::executor
