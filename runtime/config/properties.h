// Flat key=value input. Each value remembers where it came from, for error messages and `plan --explain`.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct Property {
  std::string value;
  std::string origin;     // "tony.xml:12", "-conf", "job.properties:3", "built-in default"
  bool is_final = false;  // Hadoop's <final>: files that come later may not replace it, flags may
};

class Properties {
 public:
  void Set(const std::string& key, std::string value, std::string origin);  // replaces
  void Set(const std::string& key, Property property);                      // replaces
  void Merge(const Properties& later);  // a later file's: replace all but final ones
  const Property* Find(std::string_view key) const;
  bool Has(std::string_view key) const;  // set, and to more than blanks
  const std::map<std::string, Property, std::less<>>& all() const { return values_; }

  // Variables of the tasks that stand in no file and are told nobody: beside the values, so that no reader of those
  // meets them.
  void SetSecrets(std::map<std::string, std::string> secrets) { secrets_ = std::move(secrets); }
  const std::map<std::string, std::string>& secrets() const { return secrets_; }

  // The job is one of a file as TonY read it: a tony.xml or a job file, and no job document.
  void SetOfTonys(bool is_it) { is_of_tonys_ = is_it; }
  bool is_of_tonys() const { return is_of_tonys_; }

  // What its reader should be told, one line each; Merge adds the later file's.
  void Warn(std::string line) { warnings_.push_back(std::move(line)); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::map<std::string, Property, std::less<>> values_;
  std::map<std::string, std::string> secrets_;
  std::vector<std::string> warnings_;
  bool is_of_tonys_ = false;
};

// Hadoop's configuration format: <configuration><property><name/><value/><final/></property>...</configuration>.
// `name` stands in messages and origins. Unexpandable ${x} stay as they are; ${key} of the same file is expanded.
Result<Properties> ParseHadoopXml(std::string_view text, const std::string& name);

// Hadoop's ${...}: ${env.X} and Java's system properties (xml_text.h), else the value of the key of that name,
// itself expanded; any other stays as it is (a shell's), with a warning where no shell would know it. kInvalid for a
// key that refers to itself, and for a text made to explode.
Result<Properties> ExpandVariables(const Properties& properties);

// java.util.Properties' text format: comments, separators, escapes with \uXXXX, continuation lines; UTF-8.
Result<Properties> ParseJavaProperties(std::string_view text, const std::string& name);

// The same format as Azkaban hands it to a step, each time in another order: an origin is `name` alone, errors name the
// key, and what is not UTF-8 is ISO-8859-1, which is java.util.Properties' own encoding. A value that was UTF-8 before
// Azkaban read it as ISO-8859-1 is UTF-8 again, with a warning.
Result<Properties> ParseStepProperties(std::string_view text, const std::string& name);

// What a command line asks for; what its options mean is TonY's (-conf, -conf_file, ...).
struct SubmitOptions {
  std::string spec_file;  // positional: tony.xml, job.properties, or a job document: FILE.json or - (standard input)
  // Not empty: the spec file is what Azkaban hands to a step (ParseStepProperties), and goes by this name, which has
  // no colon, in messages and origins.
  std::string spec_name;
  std::string conf_file;          // -conf_file
  std::vector<std::string> conf;  // -conf key=value
  std::string executes, src_dir, task_params, python_binary_path, python_venv;
  std::string hdfs_classpath, sidecar_tensorboard_log_dir;
  std::vector<std::string> shell_env, container_env;  // K=V
  // Variables of the tasks that are told nobody come as a JSON object on this descriptor, which is closed then: no
  // process of the job inherits it. Below 0: none.
  int secrets_fd = -1;
};

// The content of a file that is named by a URI, "hdfs://nn:8020/jobs/tony.xml". Errors do not name it.
using ReadRemoteFile = std::function<Result<std::string>(const std::string& source)>;
Result<std::string> NoRemoteFile(const std::string& source);  // kInvalid: only files of this machine are read

// The one loader. Precedence, low to high: built-in defaults < spec file or -conf_file (or ./tony.xml if neither is
// given and it exists) < the administrator's $TONY_CONF_DIR/tony-site.xml (where that is not set, as in TonY,
// /export/apps/tony/conf/tony-site.xml) < flags. Values of tony.containers.envs,
// tony.execution.envs and tony.containers.resources from flags are appended to, not replacing, the file's. The
// defaults stay in the key table: a key that nobody set is absent from the result.
//
// What becomes of flags, and of the same names without dash in a job.properties file (rank of a flag, below real ones):
//   -executes         tony.containers.command, behind -python_binary_path and before -task_params
//                     (relative and with a Python environment: the environment's own, venv/PATH)
//   -src_dir          tony.src-dir
//   -python_venv      tony.python-venv
//   -hdfs_classpath, -sidecar_tensorboard_log_dir  tony.hdfs-classpath, tony.application.tensorboard-log-dir
//   -shell_env K=V    tony.execution.env.K (in a job file: worker_env.K);
//   -container_env K=V  tony.containers.env.K. TonY cut both at commas: so is what holds nothing but further NAME=...
//                     behind each of its commas. Any other value is one variable's, with a warning if it has a comma.
//                     The list keys tony.{execution,containers}.envs split at all commas, worker_env.K at none.
// A job file's main.args are TonY's arguments too (submit_flags.h). With a -conf_file among them that file is read instead
// of the job file's own tony.* properties, and a warning says so. The tags that TonY's Azkaban type gave to a job are
// behind those of tony.application.tags. A job document has parts of several ranks (job_document.h).
// Spec file and -conf_file may be remote. Errors: kUsage for flags, kInvalid for files, and those of `read_remote`.
Result<Properties> LoadProperties(const SubmitOptions& options, const std::filesystem::path& directory,
                                  const ReadRemoteFile& read_remote = NoRemoteFile);

}  // namespace tony
