// The submit flags of TonY, from a command line, an Azkaban step's properties or a job document, and the keys that they
// set.
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
  // A role to add to the list of a key, or to remove from it. Other roles in the list stay.
  struct Listing {
    std::string key;
    Property role;
    bool is_listed = false;
  };
  std::vector<Setting> conf;  // applied in this order
  // The roles to add to lists or to remove from lists, after all keys have been set.
  std::vector<Listing> listings;

  Property executes, src_dir, task_params, python_binary_path, python_venv;  // an empty value: not given
  Property default_src_dir;                                                  // used if no src_dir is given
  Variables shell_env, container_env;
  Property conf_file;  // only from a job file's main.args
  std::vector<std::string> warnings;
  // A list of tags, only from a job file. They are added after the tags of tony.application.tags.
  Property tags;
};

// Returns the flags of a command line. kUsage names a flag whose value is not NAME=VALUE, or not UTF-8. The origin of a
// value is `where` and the flag, e.g. "-conf".
Result<SubmitFlags> FlagsOfCommandLine(const SubmitOptions& options, const std::string& where = "");

// Returns the flags of a job file. A job file contains the flags without the dash, under the names that TonY's Azkaban
// job type knows: executes, src_dir, task_params, python_binary_path, python_venv, hdfs_classpath, worker_env.NAME,
// azkaban.{input,output}.dataset, main.args, and the properties from which its tags are made. If a step (a file with
// `type`) names no src_dir, its src_dir is the folder `src` under `directory`, if that folder exists.
Result<SubmitFlags> FlagsOfJobFile(const Properties& file, const std::filesystem::path& directory);

SubmitFlags WithDefaults(SubmitFlags flags, const SubmitFlags& defaults);

// Removes from `lower` everything that `key` decides, because a higher rank has set `key`.
void DropOverridden(const std::string& key, SubmitFlags& lower);

void ApplySettings(const SubmitFlags& flags, Properties& properties);  // sets conf, tags and variables only
Status ApplyFlags(const SubmitFlags& flags, Properties& properties);

// ---- main.args of an Azkaban step. The job type of LinkedIn's TonY put the text of main.args unchanged at the
// beginning of the command line of its client. The text therefore contains options of that client.

// Splits a command line into words by the rules of Azkaban's ProcessJob, which differ from a shell's. Only the blank
// separates words. ' and " group and are removed; each is literal within the other, and the last one need not be
// closed. A backslash is an ordinary character. Words are never empty.
std::vector<std::string> SplitCommandLine(std::string_view line);

// Returns the name of main.args for messages, e.g. "main.args (from train.job:2)".
std::string MainArgsOrigin(const Property& main_args);

// Returns the options among the words of main.args: -x V, --x V, -x=V or --x=V. spec_file and spec_name stay empty. If
// an option is given twice, the first counts, as in TonY, except for -conf, -shell_env and -container_env, which count
// each time. This function is stricter than TonY, which dropped everything behind an unknown word. kInvalid: an unknown
// word, a missing value, or a -conf or -..._env without NAME=. The message names the word by its number, never a value,
// which may be a secret.
Result<SubmitOptions> ParseMainArgs(const Property& main_args);

// ---- TonY's sidecar TensorBoard, which runs next to the job and shows a folder with the job's logs

// Translates tony.application.tensorboard-log-dir to properties that other code reads. Every task gets TB_LOG_DIR,
// and a job with roles gets another role, "tensorboard", a sidecar of one task. Properties that are already set stay.
// `python`: the interpreter of the job's command; empty: python3, of the job's environment if it has one.
void AddTensorBoard(const std::string& python, Properties& properties);

// ---- The roles that a framework needs besides the user's own

// Horovod: adds the role driver, which runs the rendezvous server. Ray: adds the role head, and makes all other roles
// untracked, unless the user has listed untracked roles. kInvalid: a key of the user's own contradicts the added role.
Status AddFrameworkRoles(Properties& properties);

}  // namespace tony
