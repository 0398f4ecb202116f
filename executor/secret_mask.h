// Masks the values of a job's secrets in all texts of its tasks that leave the executor: texts for the verdict, the
// journal and the history, published values, and pieces of logs. The files that a task itself writes are not changed.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tony::executor {

// The length of the shortest value that is masked. If shorter values were masked, texts would become unreadable. A
// single line of a value is masked only if the line has at least six characters.
inline constexpr size_t kShortestSecret = 4;

class SecretMask {
 public:
  SecretMask() = default;  // masks nothing
  // Masks each value, the value without surrounding blanks, and the password in a value that is a URL. Each of these
  // texts is masked in its plain form and as JSON, URLs and base64 encode it. In base64 the text is also found between
  // other bytes. The single lines of a value are masked in their plain form only.
  explicit SecretMask(const std::vector<std::string>& values);

  std::string Masked(std::string_view text) const;  // replaces each secret by "***"
  // Replaces each byte of a secret by a star, except line ends, so offsets in the text stay valid.
  void MaskInPlace(std::string& text) const;
  // The length in bytes of the longest text that is masked; 0 if nothing is secret.
  size_t longest() const { return longest_; }
  // Returns how many bytes at the end of `text` may be the beginning of a secret whose rest is still to come.
  size_t UnfinishedSecretAtEnd(std::string_view text) const;

 private:
  struct Span {
    size_t begin = 0, end = 0;
  };
  std::vector<Span> Find(std::string_view text) const;  // result is disjoint and sorted

  std::vector<std::string> forms_;
  size_t longest_ = 0;
};

// Returns the values of secret variables ("NAME=value"). All of `secrets` are secret. A variable of `others` is secret
// if its value has at least eight characters, and the last word of its name is one of these: PASSWORD, PASSWD, SECRET,
// TOKEN, KEY, APIKEY.
std::vector<std::string> SecretValues(const std::vector<std::string>& secrets, const std::vector<std::string>& others);

}  // namespace tony::executor
