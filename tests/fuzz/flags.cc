// Fuzzes a command line with one word per line: the kind of each word, and the settings that the submit flags make.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/cli/command_line.h"
#include "runtime/config/submit_flags.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

using Kind = OptionSpec::Kind;

VerbSpec Submit() {
  return {.name = "submit",
          .words = "[SPEC]",
          .max_words = 1,
          .options = {{"executes", Kind::kFirst},
                      {"task_params", Kind::kFirst},
                      {"conf", Kind::kRepeated},
                      {"shell_env", Kind::kRepeated},
                      {"container_env", Kind::kRepeated},
                      {"sidecar_tensorboard_log_dir", Kind::kFirst},
                      {"owner", Kind::kValue},
                      {"json", Kind::kFlag},
                      {"f", Kind::kFlag}}};
}

void Apply(const CommandLine& line) {
  const SubmitOptions options{.conf = line.Values("conf"),
                              .executes = line.Value("executes"),
                              .task_params = line.Value("task_params"),
                              .sidecar_tensorboard_log_dir = line.Value("sidecar_tensorboard_log_dir"),
                              .shell_env = line.Values("shell_env"),
                              .container_env = line.Values("container_env")};
  const auto flags = FlagsOfCommandLine(options);
  if (!flags.ok()) return CHECK(flags.error().code == ErrorCode::kUsage && !flags.error().message.empty());
  Properties properties;
  (void)ApplyFlags(*flags, properties);
}

}  // namespace

void Read(std::string_view input) {
  const std::vector<std::string> words = Split(input, '\n');
  const auto line = CommandLine::Parse(Submit(), words);
  if (!line.ok()) return CHECK(line.error().code == ErrorCode::kUsage && !line.error().message.empty());
  for (const OptionSpec& option : Submit().options) {
    for (const std::string& value : line->Values(option.name)) CHECK(input.find(value) != input.npos);
  }
  CHECK(line->words().size() <= 1);
  Apply(*line);
}

std::vector<std::string> Seeds() {
  return {"job.xml\n-executes\npython train.py\n-conf\ntony.worker.instances=2\n--json",
          "-shell_env\nA=1,B=2\n--shell_env=C=3,4\n-container_env\nD\n-f\n--\n-x",
          "--conf=tony.application.untracked.jobtypes=ps\n-conf=a\n-task_params\n--lr 0.1 -b\n--owner\n--json\nx.yaml",
          "-sidecar_tensorboard_log_dir\n/logs\n-execute\ntrue\n-conf"};
}

}  // namespace tony::fuzz
