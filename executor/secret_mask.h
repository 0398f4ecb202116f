// Masks the values of a job's secrets in all lines of its tasks that leave the executor: for the verdict, the journal,
// the history, published values, and readers of logs. Files that a task writes itself stay as they are. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tony::executor {

// Shorter values are not masked, because their mask would destroy the text. Lines of a value are masked only from six
// characters on.
inline constexpr size_t kShortestSecret = 4;

class SecretMask {
 public:
  SecretMask() = default;  // masks nothing
  // Masks each value, the value without blanks around it, and the password in it if it is a URL. These are masked as
  // they are, and as JSON, URLs and base64 encode them, in base64 also amid other bytes. Each line of a value is masked
  // as it is.
  explicit SecretMask(const std::vector<std::string>& values);

  std::string Masked(std::string_view text) const;  // replaces each secret by "***"
  // Replaces each byte of a secret by a star, except line ends. Offsets in the text stay right.
  void MaskInPlace(std::string& text) const;
  // The length in bytes of the longest text that is masked; 0 if nothing is secret.
  size_t longest() const { return longest_; }
  // Returns how many bytes at the end of `text` may be the beginning of a secret whose rest is still to come.
  size_t UnfinishedSecretAtEnd(std::string_view text) const;

 private:
  struct Span {
    size_t begin = 0, end = 0;
  };
  std::vector<Span> Find(std::string_view text) const;  // disjoint and sorted

  std::vector<std::string> forms_;
  size_t longest_ = 0;
};

// Returns the values of secret variables ("NAME=value"). All of `secrets` are secret. A variable of `others` is secret
// if the last word of its name is PASSWORD, PASSWD, SECRET, TOKEN, KEY or APIKEY, and its value has at least eight
// characters.
std::vector<std::string> SecretValues(const std::vector<std::string>& secrets, const std::vector<std::string>& others);

}  // namespace tony::executor
