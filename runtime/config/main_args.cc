#include "runtime/config/main_args.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kLongestOption = 40;  // longer than any option: it is not one, and may be a secret

// An option and where its value goes: to `single`, or behind the others in `pairs`. With neither it takes none, and
// says nothing to us.
struct Option {
  std::string_view name;
  std::string SubmitOptions::*single = nullptr;
  std::vector<std::string> SubmitOptions::*pairs = nullptr;
};
constexpr Option kOptions[] = {
    {"conf", nullptr, &SubmitOptions::conf},
    {"conf_file", &SubmitOptions::conf_file},
    {"container_env", nullptr, &SubmitOptions::container_env},
    {"debug"},
    {"executes", &SubmitOptions::executes},
    {"hdfs_classpath", &SubmitOptions::hdfs_classpath},
    {"python_binary_path", &SubmitOptions::python_binary_path},
    {"python_venv", &SubmitOptions::python_venv},
    {"shell_env", nullptr, &SubmitOptions::shell_env},
    {"sidecar_tensorboard_log_dir", &SubmitOptions::sidecar_tensorboard_log_dir},
    {"src_dir", &SubmitOptions::src_dir},
    {"task_params", &SubmitOptions::task_params},
};

// A word, read as an option.
struct OptionWord {
  std::string_view name;  // without dashes
  std::string_view value;
  bool has_value = false;          // in the same word
  const Option* option = nullptr;  // null: there is none of this name
};

std::optional<OptionWord> ReadOption(std::string_view word) {
  if (!word.starts_with('-')) return std::nullopt;
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const size_t sign = word.find('=');
  OptionWord read{.name = word.substr(0, sign), .has_value = sign != word.npos};
  if (read.has_value) read.value = word.substr(sign + 1);
  const auto found = std::ranges::find(kOptions, read.name, &Option::name);
  if (found != std::end(kOptions)) read.option = &*found;
  return read;
}

bool IsKnownOption(std::string_view word) {
  const auto read = ReadOption(word);
  return read && read->option;
}

bool LooksLikeName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestOption &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '-'; });
}

std::string AllOptions() {
  std::string names;
  for (const Option& option : kOptions) names += StrCat(names.empty() ? "-" : ", -", option.name);
  return names;
}

class Reader {
 public:
  explicit Reader(const Property& main_args) : main_args_(main_args), words_(SplitCommandLine(main_args.value)) {}

  Result<SubmitOptions> Run() {
    while (next_ < words_.size()) {
      const auto word = ReadOption(words_[next_++]);
      if (!word) {
        return Failure(
            "", StrCat("expected an option; a value of several words belongs in quotes. Options: ", AllOptions()));
      }
      if (!word->option) {
        return Failure(LooksLikeName(word->name) ? word->name : "", StrCat("no such option; expected ", AllOptions()));
      }
      TRY(Take(*word));
    }
    return std::move(options_);
  }

 private:
  // A word that is an option itself is nobody's value; TonY's parser has the same rule.
  Status Take(const OptionWord& word) {
    const Option& option = *word.option;
    if (!option.single && !option.pairs) {
      if (word.has_value) return Failure(option.name, "takes no value");
      return Ok();
    }
    std::string value(word.value);
    const size_t at = next_;
    if (!word.has_value && next_ < words_.size() && !IsKnownOption(words_[next_])) value = words_[next_++];
    if (value.empty()) return FailureAt(at, option.name, "expected a value");
    if (option.single) {
      if ((options_.*option.single).empty()) options_.*option.single = std::move(value);
      return Ok();
    }
    if (Trim(std::string_view(value).substr(0, value.find('='))).empty() || value.find('=') == value.npos) {
      return FailureAt(at, option.name, "expected NAME=VALUE");
    }
    (options_.*option.pairs).push_back(std::move(value));
    return Ok();
  }

  Error Failure(std::string_view name, std::string_view what) const { return FailureAt(next_, name, what); }

  // `number`: the word's, from 1.
  Error FailureAt(size_t number, std::string_view name, std::string_view what) const {
    return {ErrorCode::kInvalid,
            StrCat(MainArgsOrigin(main_args_), ", word ", number, name.empty() ? "" : ", -", name, ": ", what)};
  }

  const Property& main_args_;
  const std::vector<std::string> words_;
  size_t next_ = 0;
  SubmitOptions options_;
};

}  // namespace

std::vector<std::string> SplitCommandLine(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char open = 0;  // the quote within which we are
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (const char c : line) {
    if (c == open) {
      open = 0;
    } else if (open == 0 && (c == '\'' || c == '"')) {
      open = c;
    } else if (open == 0 && c == ' ') {
      end_word();
    } else {
      word.push_back(c);
    }
  }
  end_word();
  return words;
}

std::string MainArgsOrigin(const Property& main_args) { return StrCat("main.args (from ", main_args.origin, ")"); }

Result<SubmitOptions> ParseMainArgs(const Property& main_args) { return Reader(main_args).Run(); }

}  // namespace tony
