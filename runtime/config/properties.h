// Flat key=value input. Each value remembers where it came from, for error messages and `plan --explain`.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct Property {
  std::string value;
  std::string origin;  // "tony.xml:12", "-conf", "job.properties:3", "built-in default"
  // Hadoop's <final>. Files that are read later must not replace the value, but flags may replace it.
  bool is_final = false;
};

class Properties {
 public:
  void Set(const std::string& key, std::string value, std::string origin);  // replaces an earlier value
  void Set(const std::string& key, Property property);                      // replaces an earlier value
  // Adds the values of a file that is read later. They replace all values except final ones.
  void Merge(const Properties& later);
  const Property* Find(std::string_view key) const;
  bool Has(std::string_view key) const;  // set, and not only to blanks
  const std::map<std::string, Property, std::less<>>& all() const { return values_; }

  // Secret variables of the tasks. They are in no file, and are never shown. Code that reads the values does not see
  // these variables, because they are stored separately.
  void SetSecrets(std::map<std::string, std::string> secrets) { secrets_ = std::move(secrets); }
  const std::map<std::string, std::string>& secrets() const { return secrets_; }

  // True if the job comes from a file that TonY could read: a tony.xml or a job file, not a job document.
  void SetIsTonyJob(bool is_it) { is_of_tonys_ = is_it; }
  bool is_tony_job() const { return is_of_tonys_; }

  // Warnings for the user, one line each. Merge() adds the warnings of the later file.
  void Warn(std::string line) { warnings_.push_back(std::move(line)); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::map<std::string, Property, std::less<>> values_;
  std::map<std::string, std::string> secrets_;
  std::vector<std::string> warnings_;
  bool is_of_tonys_ = false;
};

// Parses Hadoop's configuration format: <configuration><property><name/><value/><final/></property>...</configuration>.
// Messages and origins contain `name`. ${key} of the same file is expanded; a ${x} that cannot be expanded stays as it
// is.
Result<Properties> ParseHadoopXml(std::string_view text, const std::string& name);

// Expands Hadoop's ${...}. ${env.X} and Java's system properties (xml_text.h) are replaced with their values. Otherwise
// the name of a key is replaced with the key's value, which is expanded in the same way. Any other ${...} stays as it
// is, because a shell may expand it. A warning reports a ${...} that no shell could expand. kInvalid: a key refers to
// itself, or the values grow too large.
Result<Properties> ExpandVariables(const Properties& properties);

// Parses the text format of java.util.Properties: comments, separators, escapes with \uXXXX, continuation lines; UTF-8.
Result<Properties> ParseJavaProperties(std::string_view text, const std::string& name);

// Parses the format of java.util.Properties as Azkaban passes it to a step. Azkaban writes the lines in another order
// each time, so an origin is `name` alone, and errors name the key. A text that is not UTF-8 is ISO-8859-1, which is
// java.util.Properties' own encoding. If Azkaban read a UTF-8 value as ISO-8859-1, the value becomes UTF-8 again, with
// a warning.
Result<Properties> ParseStepProperties(std::string_view text, const std::string& name);

// The options of a command line, with TonY's meaning (-conf, -conf_file, ...).
struct SubmitOptions {
  // The positional argument: tony.xml, job.properties, or a job document (FILE.json, FILE.yaml, FILE.yml, or - for
  // standard input).
  std::string spec_file;
  // Not empty: the spec file is what Azkaban passes to a step (ParseStepProperties), and messages and origins use this
  // name instead of the path. The name has no colon.
  std::string spec_name;
  std::string conf_file;          // -conf_file
  std::vector<std::string> conf;  // -conf key=value
  std::string executes, src_dir, task_params, python_binary_path, python_venv;
  std::string hdfs_classpath, sidecar_tensorboard_log_dir;
  std::vector<std::string> shell_env, container_env;  // each is NAME=VALUE
  // The descriptor with a JSON object of secret variables for the tasks. It is closed after reading, so no process of
  // the job inherits it. Negative: none.
  int secrets_fd = -1;
};

// Returns the administrator's tony-site.xml; nullopt if this machine has none.
std::optional<std::filesystem::path> SiteFile();

// Returns the content of a file that a URI names, e.g. "hdfs://nn:8020/jobs/tony.xml". Errors do not name the file.
using ReadRemoteFile = std::function<Result<std::string>(const std::string& source)>;
// A ReadRemoteFile for callers that read only local files. It always returns kInvalid.
Result<std::string> NoRemoteFile(const std::string& source);

// The only loader. Precedence, low to high: built-in defaults < spec file or -conf_file (or ./tony.xml if neither is
// given and it exists) < the administrator's $TONY_CONF_DIR/tony-site.xml (if that variable is not set, as in TonY,
// /export/apps/tony/conf/tony-site.xml) < flags. Values of tony.containers.envs, tony.execution.envs and
// tony.containers.resources from flags are appended to the file's values and do not replace them. Defaults stay in the
// table of keys: a key that is not set is absent from the result.
//
// Flags set the keys below. A job.properties file may set the same names without the dash; real flags override them:
//   -executes         tony.containers.command, behind -python_binary_path and before -task_params (with a Python
//                     environment, a relative -python_binary_path PATH means the environment's: venv/PATH)
//   -src_dir          tony.src-dir
//   -python_venv      tony.python-venv
//   -hdfs_classpath, -sidecar_tensorboard_log_dir  tony.hdfs-classpath, tony.application.tensorboard-log-dir
//   -shell_env K=V    tony.execution.env.K (in a job file: worker_env.K)
//   -container_env K=V  tony.containers.env.K. LinkedIn's TonY cut both values at commas. This TonY cuts a value only
//                     if NAME=... follows each comma. Any other value belongs to one variable, and a comma in it causes
//                     a warning.
//                     The list keys tony.{execution,containers}.envs are cut at all commas, worker_env.K at none.
// A job file's main.args are TonY's arguments, too (submit_flags.h). With a -conf_file among them, that file is read
// instead of the job file's own tony.* properties, and a warning reports it. The tags that TonY's Azkaban type gave to
// a job come after the tags of tony.application.tags. A job document has parts of several ranks (job_document.h).
// The spec file and the -conf_file may be remote. Errors: kUsage for flags, kInvalid for files, and the errors of
// `read_remote`.
Result<Properties> LoadProperties(const SubmitOptions& options, const std::filesystem::path& directory,
                                  const ReadRemoteFile& read_remote = NoRemoteFile);

}  // namespace tony
