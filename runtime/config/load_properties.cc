#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/config/config_text.h"
#include "runtime/config/job_document.h"
#include "runtime/config/properties.h"
#include "runtime/config/submit_flags.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

// The folder where LinkedIn's TonY expected its site file, for users who have never set $TONY_CONF_DIR.
constexpr const char* kUsualSiteFolder = "/export/apps/tony/conf";

struct ConfigFile {
  std::string_view kind;  // for messages, e.g. "conf file"
  std::string name;       // for origins, in the user's spelling
  std::filesystem::path path;
  // True: Azkaban wrote the file for a step. The file is then read as Azkaban's properties, and its file name is
  // ignored.
  bool is_step = false;
  // True: the file is a job document on standard input, and `path` does not exist.
  bool is_stdin = false;
  ReadRemoteFile read{};  // null: a file of this machine
};

// Where a job's files are found: the folder for relative paths, and the reader of remote files.
struct Places {
  const std::filesystem::path& directory;
  const ReadRemoteFile& read_remote;
};

Error FileError(const ConfigFile& file, std::string_view what) {
  return {ErrorCode::kInvalid, StrCat(file.kind, " ", file.path.string(), ": ", what)};
}

Result<std::string> ReadConfigFile(const ConfigFile& file) {
  if (file.read) {
    auto text = file.read(file.name);
    return text.ok() ? text : Annotate(text.error(), StrCat(file.kind, " ", file.name));
  }
  const UniqueFd input(file.is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : -1);
  if (file.is_stdin && !input.valid()) return FileError(file, "not open");
  auto text = file.is_stdin ? ReadText(input.get()) : ReadTextFile(file.path);
  if (!text.ok()) return FileError(file, text.error().message);
  return text;
}

Result<std::map<std::string, std::string>> LoadSecrets(int number) {
  const UniqueFd fd(number);
  const ConfigFile file{.kind = "the secrets on", .name = "--secrets-fd", .path = StrCat("descriptor ", number)};
  const auto text = ReadText(fd.get());
  if (!text.ok()) return FileError(file, text.error().message);
  return ReadSecrets(*text, file.name);
}

bool IsXml(const ConfigFile& file, std::string_view text) {
  if (file.path.extension() == ".xml") return true;
  if (file.path.extension() == ".properties") return false;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return Trim(text).starts_with('<');
}

struct LoadedFile {
  Properties properties;
  // True: the file has an Azkaban step's properties, some of which are submit flags.
  bool is_job_file = false;
};

bool IsYaml(const ConfigFile& file) { return file.path.extension() == ".yaml" || file.path.extension() == ".yml"; }

bool IsDocument(const ConfigFile& file) {
  return file.is_stdin || (!file.is_step && (file.path.extension() == ".json" || IsYaml(file)));
}

Result<JobDocument> LoadDocument(const ConfigFile& file) {
  if (file.is_stdin && ::isatty(STDIN_FILENO)) {
    return Error{ErrorCode::kUsage,
                 "the argument - means that the job document comes from standard input, but standard input is a terminal"};
  }
  TRY_ASSIGN(const std::string text, ReadConfigFile(file));
  const auto format = IsYaml(file) ? DocumentFormat::kYaml : DocumentFormat::kJson;
  if (Trim(text).empty()) return FileError(file, "the document is empty; expected an object");
  return ReadJobDocument(text, file.name, format);
}

Result<LoadedFile> Load(const ConfigFile& file) {
  TRY_ASSIGN(const std::string text, ReadConfigFile(file));
  LoadedFile loaded;
  if (file.is_step) {
    TRY_ASSIGN(loaded.properties, ParseStepProperties(text, file.name));
    loaded.is_job_file = true;
    return loaded;
  }
  if (IsXml(file, text)) {
    // A remote file cannot include other files, because they would be remote as well.
    TRY_ASSIGN(loaded.properties,
               file.read ? ParseRawHadoopXml(text, file.name) : ParseHadoopXmlWithIncludes(file.path, text, file.name));
    return loaded;
  }
  if (IsDocument(file)) return FileError(file, "this is a job document; main.args must name a tony.xml or a job file");
  TRY_ASSIGN(loaded.properties, ParseJavaProperties(text, file.name));
  loaded.is_job_file = true;
  return loaded;
}

ConfigFile NamedFile(std::string_view kind, std::string name, const Places& places) {
  if (name.starts_with("file://")) name.erase(0, 7);
  const size_t colon = name.find(':');
  const bool is_remote = colon != std::string::npos && name.find('/') == colon + 1;  // "hdfs:/x/y", not "a:b"
  if (is_remote) return {.kind = kind, .name = name, .path = name, .read = places.read_remote};
  return {.kind = kind, .name = name, .path = places.directory / ExpandTilde(name)};
}

// Returns whether the key is meant for the step and not for the job: a key tony.azkaban.*, which Azkaban's adapter
// reads, or an output of an earlier step. LinkedIn's TonY had none of these keys.
bool BelongsToTheStep(std::string_view key) {
  if (key.starts_with("tony.azkaban.") || key.starts_with("tony.output.")) return true;
  return key == "tony.job.id" || key == "tony.job.url" || key == "tony.job.logs" || key == "tony.model.path";
}

// Returns the step's properties, with the conf file in place of its tony.* properties. TonY wrote these properties into
// a tony.xml, which its client did not read if -conf_file was given.
Result<Properties> WithConfFile(const Properties& step, const Property& conf_file, const Places& places) {
  auto loaded = Load(NamedFile("conf file", conf_file.value, places));
  if (!loaded.ok()) return Annotate(loaded.error(), conf_file.origin);
  Properties properties;
  std::vector<std::string> left_out;
  for (const auto& [key, property] : step.all()) {
    if (!key.starts_with("tony.") || BelongsToTheStep(key)) {
      properties.Set(key, property);
    } else {
      left_out.push_back(key);
    }
  }
  properties.Merge(loaded->properties);
  if (!left_out.empty()) {
    properties.Warn(StrCat(conf_file.origin,
                           ": this file replaces the step's own tony.* properties, as in LinkedIn's TonY; "
                           "the step's ignored properties are: ",
                           Join(left_out, ", ")));
  }
  return properties;
}

Result<std::optional<ConfigFile>> UserFile(const SubmitOptions& options, const Places& places) {
  std::optional<ConfigFile> file;
  if (!options.spec_file.empty() && !options.conf_file.empty()) {
    return Error{ErrorCode::kUsage, StrCat("both ", options.spec_file, " and -conf_file ", options.conf_file,
                                           ": give only one of them, because a job has one file")};
  }
  if (options.spec_file == "-") {
    file = ConfigFile{
        .kind = "the job document on", .name = "the job document", .path = "standard input", .is_stdin = true};
  } else if (!options.spec_file.empty()) {
    const bool is_step = !options.spec_name.empty();
    file = NamedFile(is_step ? std::string_view(options.spec_name) : "job file", options.spec_file, places);
    if (is_step) file->name = options.spec_name;
    file->is_step = is_step;
  } else if (!options.conf_file.empty()) {
    file = NamedFile("conf file", options.conf_file, places);
  } else if (std::error_code ignored; std::filesystem::exists(places.directory / "tony.xml", ignored)) {
    file = NamedFile("conf file", "tony.xml", places);
  }
  return file;
}

// Returns the submit flags of a job file. If they contain a -conf_file, that file replaces the tony.* properties in
// `properties`.
Result<SubmitFlags> TakeStep(Properties& properties, const Places& places) {
  TRY_ASSIGN(SubmitFlags step, FlagsOfJobFile(properties, places.directory));
  if (!step.conf_file.value.empty()) {
    TRY_ASSIGN(properties, WithConfFile(properties, step.conf_file, places));
  }
  // LinkedIn's DSL writes shell_env, but TonY's job type never read it.
  if (const Property* variables = properties.Find("shell_env"))
    properties.Warn(
        StrCat("shell_env (from ", variables->origin,
               "): ignored, as in LinkedIn's TonY; set a variable by worker_env.NAME"));
  return step;
}

// The content of the user's file, divided by rank (level of precedence).
struct UserLayers {
  Properties properties;
  SubmitFlags step;
  // The rest of a job document. Its base and its properties have been moved to `properties`.
  std::optional<JobDocument> document;
};

Result<UserLayers> LoadUserFile(const ConfigFile& file, const Places& places) {
  UserLayers layers;
  LoadedFile loaded;
  if (IsDocument(file)) {
    TRY_ASSIGN(layers.document, LoadDocument(file));
    loaded = {std::move(layers.document->properties), layers.document->has_step_properties};
    layers.properties = std::move(layers.document->base);
  } else {
    TRY_ASSIGN(loaded, Load(file));
  }
  if (loaded.is_job_file) {
    TRY_ASSIGN(layers.step, TakeStep(loaded.properties, places));
  }
  layers.properties.Merge(loaded.properties);
  return layers;
}

}  // namespace

Result<std::string> NoRemoteFile(const std::string&) {
  return Error{ErrorCode::kInvalid, "this command can read only files on this machine"};
}

std::optional<std::filesystem::path> SiteFile() {
  const char* folder = std::getenv("TONY_CONF_DIR");
  if (!folder || !*folder) folder = kUsualSiteFolder;
  auto path = std::filesystem::path(ExpandTilde(folder)) / "tony-site.xml";
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? std::optional(std::move(path)) : std::nullopt;
}

Result<Properties> LoadProperties(const SubmitOptions& options, const std::filesystem::path& directory,
                                  const ReadRemoteFile& read_remote) {
  const Places places{directory, read_remote};
  TRY_ASSIGN(SubmitFlags flags, FlagsOfCommandLine(options));
  TRY_ASSIGN(const auto file, UserFile(options, places));
  UserLayers user;
  if (file) {
    TRY_ASSIGN(user, LoadUserFile(*file, places));
  }
  Properties properties = std::move(user.properties);
  std::map<std::string, std::string> secrets;
  if (options.secrets_fd >= 0) {
    TRY_ASSIGN(secrets, LoadSecrets(options.secrets_fd));
  }
  if (user.document) secrets.merge(user.document->secrets);
  properties.SetSecrets(std::move(secrets));
  if (const auto site = SiteFile()) {
    TRY_ASSIGN(const LoadedFile loaded, Load({"site file", site->string(), *site}));
    properties.Merge(loaded.properties);
  }
  flags = user.document
              ? MergeDocumentFlags(std::move(flags), *std::move(user.document), std::move(user.step), properties)
              : WithDefaults(std::move(flags), user.step);
  TRY(ApplyFlags(flags, properties));
  TRY_ASSIGN(Properties expanded, ExpandVariables(properties));
  expanded.SetIsTonyJob(file && !IsDocument(*file));
  return expanded;
}

}  // namespace tony
