// The environment that Azkaban gives the process of a job of type tony, without Azkaban: a working folder, the
// properties as java.util.Properties.store() writes them, an empty file for the outputs, an input that stays open and
// empty, and one pipe for standard output and error.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/tony_runner.h"

namespace tony {

// Encodes properties given in UTF-8. Each character that is not printable ASCII becomes \uXXXX, or a pair of them
// beyond the first 65536 characters.
std::string StoredProperties(const std::map<std::string, std::string>& properties);

// Job "train" of flow "nightly" in execution 7. It starts with the properties of Azkaban 3.58 and one task that does
// nothing. A test may change the members between starts; the files are written again for each start.
class AzkabanStep {
 public:
  explicit AzkabanStep(const Sandbox& box);
  ~AzkabanStep();
  AzkabanStep(const AzkabanStep&) = delete;

  std::map<std::string, std::string> properties;
  std::optional<std::string> properties_text;  // replaces the bytes of the file
  // Variables of the process in addition to the variables of the sandbox; a test may erase some.
  std::map<std::string, std::string> variables;

  const std::filesystem::path& folder() const { return folder_; }  // working folder
  std::filesystem::path outputs_file() const { return folder_ / "train_output_1_tmp"; }
  std::filesystem::path attachment_file() const { return folder_ / "_job.7.train.attach"; }

  // Starts the adapter. `how` is a bash command in which "$@" is the adapter.
  std::unique_ptr<Background> Start(const std::string& how = "exec \"$@\"") const;
  Ran Run(Limit limit = kGenerous) const { return Start()->Wait(limit); }
  bool InputIsUntouched() const;  // no started process read it

 private:
  std::filesystem::path properties_file() const { return folder_ / "train_props_1_tmp"; }

  const Sandbox& box_;
  std::filesystem::path folder_;
  std::string input_;
  // both ends, so the input never ends
  int input_fd_ = -1;
};

}  // namespace tony
