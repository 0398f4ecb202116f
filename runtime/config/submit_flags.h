// The submit flags of TonY, from a command line, an Azkaban step's properties or a job document, and what they set.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"

namespace tony {

struct SubmitFlags {
  using Variables = std::map<std::string, Property>;
  struct Setting {
    std::string key;
    Property property;
  };
  // A role that is to stand in the list of a key, or not to; the others that are there stay.
  struct Listing {
    std::string key;
    Property role;
    bool is_listed = false;
  };
  std::vector<Setting> conf;      // in this order
  std::vector<Listing> listings;  // the same, when all keys are set

  Property executes, src_dir, task_params, python_binary_path, python_venv;  // an empty value: not given
  Property default_src_dir;                                                  // where nobody gives a src_dir
  Variables shell_env, container_env;
  Property conf_file;  // of a job file's main.args only
  std::vector<std::string> warnings;
  Property tags;  // a list: of a job file only, behind those of tony.application.tags
};

// kUsage names the flag that is no NAME=VALUE, or not UTF-8. An origin is `where` and the flag: "-conf".
Result<SubmitFlags> FlagsOfCommandLine(const SubmitOptions& options, const std::string& where = "");

// The names without dash that TonY's Azkaban job type knows: executes, src_dir, task_params, python_binary_path,
// python_venv, hdfs_classpath, worker_env.NAME, azkaban.{input,output}.dataset, main.args, and what its tags are made
// of. A step (a file with `type`) that names no src_dir has its folder `src` under `directory`, if there is one.
Result<SubmitFlags> FlagsOfJobFile(const Properties& file, const std::filesystem::path& directory);

SubmitFlags WithDefaults(SubmitFlags flags, const SubmitFlags& defaults);

// Leaves out of `lower` what `key` decides, which somebody of a higher rank has set.
void YieldTo(const std::string& key, SubmitFlags& lower);

void ApplySettings(const SubmitFlags& flags, Properties& properties);  // conf, tags and variables alone
Status ApplyFlags(const SubmitFlags& flags, Properties& properties);

// main.args of an Azkaban step. TonY's job type put it first on the command line of TonY's client, as it stood; so it
// holds that program's options.

// The words of a command line, by the rules of Azkaban's ProcessJob, which are no shell's: only the blank separates;
// ' and " group and vanish, each literal within the other, the last one need not be closed; a backslash is a character
// like others; there are no empty words.
std::vector<std::string> SplitCommandLine(std::string_view line);

// "main.args (from train.job:2)"
std::string MainArgsOrigin(const Property& main_args);

// The options among its words: -x V, --x V, -x=V or --x=V; spec_file and spec_name stay empty. Of an option that is
// given twice the first counts, as in TonY, but all of -conf, -shell_env and -container_env. Stricter than TonY, which
// dropped whatever stood behind a word that it did not know: such a word, a value that is missing and a -conf or
// -..._env without NAME= are kInvalid. The message names the word by its number, never a value, which may be a secret.
Result<SubmitOptions> ParseMainArgs(const Property& main_args);

// TonY's sidecar: TensorBoard beside the job, on a folder of its logs.

// What tony.application.tensorboard-log-dir says in short, said in properties that others understand: every task has
// TB_LOG_DIR, and a job with roles has one more, "tensorboard", a sidecar of one task. What is set of all that already
// stays. `python`: the interpreter of the job's command; empty: python3.
void AddTensorBoard(const std::string& python, Properties& properties);

}  // namespace tony
