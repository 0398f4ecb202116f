// What Azkaban gives the process of a job of type tony, without Azkaban: a working folder, the properties as
// java.util.Properties.store() writes them, an empty file for the outputs, an input that stays open and says nothing,
// and one pipe for standard output and error.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/tony_runner.h"

namespace tony {

// UTF-8 in; what is no printable ASCII is \uXXXX there, in pairs beyond the first 65536 characters.
std::string StoredProperties(const std::map<std::string, std::string>& properties);

// Job "train" of flow "nightly" in execution 7, at first with what Azkaban 3.58 says of it and one task that does
// nothing. A test changes what it likes between starts; the files are written anew for each.
class AzkabanStep {
 public:
  explicit AzkabanStep(const Sandbox& box);
  ~AzkabanStep();
  AzkabanStep(const AzkabanStep&) = delete;

  std::map<std::string, std::string> properties;
  std::optional<std::string> properties_text;    // the file's bytes, instead of those
  std::map<std::string, std::string> variables;  // of the process, beside those of the sandbox; may be erased

  const std::filesystem::path& folder() const { return folder_; }  // its working folder
  std::filesystem::path outputs_file() const { return folder_ / "train_output_1_tmp"; }
  std::filesystem::path attachment_file() const { return folder_ / "_job.7.train.attach"; }

  // `how` is bash's; "$@" there is the adapter.
  std::unique_ptr<Background> Start(const std::string& how = "exec \"$@\"") const;
  Ran Run(Limit limit = kGenerous) const { return Start()->Wait(limit); }
  bool InputIsUntouched() const;  // by all that were started

 private:
  std::filesystem::path properties_file() const { return folder_ / "train_props_1_tmp"; }

  const Sandbox& box_;
  std::filesystem::path folder_;
  std::string input_;
  int input_fd_ = -1;  // both ends, so that it never ends
};

}  // namespace tony
