#include "tests/unit/layering/layering.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "runtime/base/strings.h"

namespace tony::layering {
namespace {

// Maps a folder to the folders whose headers it may include in addition to its own.
const std::map<std::string, std::vector<std::string>>& AllowedArrows() {
  static const auto& table = *new std::map<std::string, std::vector<std::string>>{
      {"runtime/base", {}},
      {"runtime/job", {"runtime/base"}},
      {"runtime/os", {"runtime/base"}},
      {"runtime/config", {"runtime/base", "runtime/os"}},
      {"runtime/net", {"runtime/base", "runtime/os"}},
      {"runtime/hadoop", {"runtime/base", "runtime/config", "runtime/net", "runtime/os"}},
      {"runtime/records", {"runtime/base", "runtime/job", "runtime/os"}},
      {"runtime/framework", {"runtime/base", "runtime/job", "runtime/os", "runtime/records"}},
      {"runtime/ledger", {"runtime/base", "runtime/job", "runtime/os", "runtime/records"}},
      {"runtime/logs", {"runtime/base", "runtime/job", "runtime/os", "runtime/records"}},
      {"runtime/records/hdfs", {"runtime/base", "runtime/hadoop", "runtime/job", "runtime/os", "runtime/records"}},
      {"runtime/rpc", {"runtime/base", "runtime/job", "runtime/net", "runtime/os"}},
      {"runtime/spec", {"runtime/base", "runtime/config", "runtime/job", "runtime/os"}},
      {"runtime/backend",
       {"runtime/base", "runtime/job", "runtime/logs", "runtime/net", "runtime/records", "runtime/spec"}},
      {"am/core", {"runtime/base", "runtime/framework", "runtime/job", "runtime/records"}},
      {"runtime/history",
       {"runtime/base", "runtime/config", "runtime/job", "runtime/os", "runtime/records", "runtime/spec"}},
      {"runtime/page",
       {"runtime/base", "runtime/config", "runtime/job", "runtime/logs", "runtime/net", "runtime/os", "runtime/records",
        "runtime/spec"}},
      {"runtime/keeper",
       {"runtime/backend", "runtime/base", "runtime/history", "runtime/job", "runtime/ledger", "runtime/net",
        "runtime/os", "runtime/page", "runtime/records"}},
      {"runtime/local",
       {"runtime/backend", "runtime/base", "runtime/job", "runtime/keeper", "runtime/ledger", "runtime/logs",
        "runtime/net", "runtime/os", "runtime/records"}},
      {"runtime/staging", {"runtime/base", "runtime/job", "runtime/os", "runtime/records", "runtime/spec"}},
      {"runtime/yarn",
       {"runtime/backend", "runtime/base", "runtime/hadoop", "runtime/history", "runtime/job", "runtime/logs",
        "runtime/net", "runtime/os", "runtime/records", "runtime/records/hdfs", "runtime/rpc", "runtime/spec",
        "runtime/staging"}},
      {"am",
       {"am/core", "runtime/backend", "runtime/base", "runtime/hadoop", "runtime/job", "runtime/local", "runtime/net",
        "runtime/os", "runtime/page", "runtime/records", "runtime/rpc", "runtime/yarn"}},
      {"executor",
       {"runtime/base", "runtime/framework", "runtime/job", "runtime/logs", "runtime/net", "runtime/os",
        "runtime/records", "runtime/rpc", "runtime/yarn"}},
      {"runtime/cli",
       {"runtime/backend", "runtime/base", "runtime/client", "runtime/config", "runtime/framework", "runtime/history",
        "runtime/job", "runtime/logs", "runtime/net", "runtime/os", "runtime/page", "runtime/portal", "runtime/records",
        "runtime/spec", "runtime/staging"}},
      {"runtime/portal",
       {"runtime/backend", "runtime/base", "runtime/client", "runtime/config", "runtime/history", "runtime/job",
        "runtime/logs", "runtime/net", "runtime/os", "runtime/page", "runtime/records", "runtime/spec"}},
      {"runtime/client",
       {"runtime/backend", "runtime/base", "runtime/config", "runtime/framework", "runtime/job", "runtime/local",
        "runtime/logs", "runtime/net", "runtime/os", "runtime/records", "runtime/rpc", "runtime/spec",
        "runtime/staging", "runtime/yarn"}},
      {"azkaban-plugin",
       {"runtime/backend", "runtime/base", "runtime/cli", "runtime/client", "runtime/config", "runtime/job",
        "runtime/os", "runtime/records", "runtime/spec"}},
  };
  return table;
}

// The folders for jobs on one machine, and the files outside of them that may include their headers.
constexpr std::string_view kOneMachine[] = {"runtime/keeper/", "runtime/ledger/", "runtime/local/"};
constexpr std::string_view kKnowOneMachine[] = {"am/main.cc", "runtime/client/backends.cc"};
// The only file outside of runtime/logs that knows how logs are read on this machine.
constexpr std::string_view kLocalBackend = "runtime/local/local_backend.cc";

// The header for reading logs on this machine, and the file that reads the logs of its own task for others. All other
// readers use runtime/logs/log_source.h.
constexpr std::string_view kLocalLogs = "runtime/logs/local_log_source.h";
constexpr std::string_view kReadsItsOwnLogs = "executor/task_logs.cc";

// The headers that know where the jobs of this machine are, and the files that may include them: their backend, the
// upkeep of $TONY_HOME, and the check who owns a checkpoint folder on this machine.
constexpr std::string_view kLocalStores[] = {
    "runtime/records/local_job_store.h",
    "runtime/records/local_request_index.h",
};
constexpr std::string_view kKnowLocalStores[] = {
    "runtime/local/local_backend.cc",
    // Request ids are stored on this machine, for now.
    "runtime/yarn/yarn_backend.cc",
    "runtime/cli/gc.cc",
    "runtime/cli/history_list.cc",
};

// An include that starts with `prefix` may only be in files whose path starts with one of `users`. The first rule that
// matches decides. A public header must not have such an include.
struct ThirdPartyRule {
  std::string_view prefix;
  std::vector<std::string_view> users;
};
const std::vector<ThirdPartyRule>& ThirdPartyRules() {
  static const auto& rules = *new std::vector<ThirdPartyRule>{
      {"boost/process", {"runtime/os/boost_process_runner.cc"}},
      {"boost/asio", {"runtime/base/event_loop.cc", "runtime/os/boost_process_runner.cc"}},
      {"boost/beast", {"runtime/net/http_server.cc"}},
      {"boost/", {""}},
      {"thrift/", {"runtime/rpc/"}},
      // generated from tony.thrift, like the next three
      {"ClientService.h", {"runtime/rpc/"}},
      {"ExecutorService.h", {"runtime/rpc/"}},
      {"tony_constants.h", {"runtime/rpc/"}},
      {"tony_types.h", {"runtime/rpc/"}},
      {"google/protobuf", {"runtime/hadoop/"}},
      {"gssapi/", {"runtime/hadoop/gss_main.cc"}},
      {"runtime/hadoop/wire/", {"runtime/hadoop/"}},  // generated from its .proto files
      {"spdlog/", {"runtime/base/log.cc"}},
      {"fmt/", {"runtime/base/log.cc"}},
      {"pugixml", {"runtime/config/"}},
      {"curl/", {"runtime/net/http_client.cc"}},
      {"archive", {"runtime/staging/archive_reader.cc"}},  // libarchive's header
      {"openssl/",
       {"runtime/os/sha256.cc", "runtime/hadoop/digest_md5.cc", "runtime/hadoop/file_coding.cc",
        "runtime/hadoop/key_store.cc", "runtime/hadoop/trust_store.cc", "runtime/net/tls.cc"}},
      {"yaml.h", {"runtime/config/document_yaml.cc"}},
      {"re2/", {"runtime/cli/log_session.cc"}},
      {"utf8proc", {"runtime/cli/terminal.cc"}},
      {"zlib", {"runtime/hadoop/log_bytes.cc", "runtime/history/jhist.cc", "runtime/staging/pack_folder.cc"}},
      {"gtest/", {"tests/"}},
      {"gmock/", {"tests/"}},
  };
  return rules;
}

// The headers of this folder may show its library. Code outside of the folder may include only these two headers, which
// include none of the others.
constexpr std::string_view kAdapterFolder = "runtime/rpc/";
constexpr std::string_view kAdapterPublicHeaders[] = {"runtime/rpc/am_connection.h", "runtime/rpc/rpc_server.h"};
// Headers that show their library, in a folder that has other headers, too.
constexpr std::string_view kPrivateHeaders[] = {"runtime/hadoop/data_node.h",   "runtime/hadoop/data_packets.h",
                                                "runtime/hadoop/digest_md5.h",  "runtime/hadoop/file_coding.h",
                                                "runtime/hadoop/gss_mechanism.h", "runtime/hadoop/rpc_frames.h",
                                                "runtime/hadoop/rpc_hdfs_calls.h", "runtime/hadoop/sasl.h",
                                                "runtime/hadoop/wire_records.h"};

// Headers that a pure function of (state, observation, now) does not need. Interfaces are among them, because the core
// gets values.
constexpr std::string_view kImpureIncludes =
    "thread mutex shared_mutex condition_variable future atomic fstream iostream filesystem unistd.h fcntl.h sys/ "
    "runtime/base/event_loop.h runtime/base/log.h runtime/base/unique_fd.h runtime/os/ runtime/records/ "
    "runtime/rpc/ runtime/keeper/ runtime/ledger/ runtime/local/ runtime/backend/ thrift/";
// The headers of runtime/records that only define values.
constexpr std::string_view kPureRecords[] = {
    "runtime/records/decisions.h",
    "runtime/records/history.h",
    "runtime/records/journal_format.h",
    "runtime/records/submit_machine.h",
};
constexpr std::string_view kImpureCode = "::now() getenv( time(nullptr) std::thread random_device";
// Pure functions that convert the core's values to bytes and back, and the libraries that they may use.
constexpr std::string_view kFormatSources[] = {"runtime/records/decisions.cc", "runtime/records/journal_format.cc"};
constexpr std::string_view kFormatLibraries[] = {"boost/json.hpp", "boost/json/", "boost/crc.hpp"};

struct Include {
  int line = 0;
  std::string name;
  bool quoted = false;
};

std::string WithoutComment(std::string_view line) { return std::string(line.substr(0, line.find("//"))); }

std::optional<Include> ParseInclude(const std::string& code, int line) {
  std::string_view rest = Trim(code);
  if (rest.empty() || rest.front() != '#') return std::nullopt;
  rest = Trim(rest.substr(1));
  if (rest.substr(0, 7) != "include") return std::nullopt;
  rest = Trim(rest.substr(7));
  if (rest.size() < 2) return std::nullopt;
  const bool quoted = rest.front() == '"';
  const size_t end = rest.find(quoted ? '"' : '>', 1);
  return Include{line, std::string(rest.substr(1, end - 1)), quoted};
}

template <class Visit>
void ForEachRawLine(const SourceFile& source, Visit visit) {
  std::istringstream lines(source.text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) visit(number, line);
}

template <class Visit>
void ForEachLine(const SourceFile& source, Visit visit) {
  ForEachRawLine(source, [&](int number, const std::string& line) { visit(number, WithoutComment(line)); });
}

// Reads the raw lines, because in "am//job.h" no comment begins.
std::vector<Include> Includes(const SourceFile& source) {
  std::vector<Include> includes;
  ForEachRawLine(source, [&](int number, const std::string& line) {
    if (auto include = ParseInclude(line, number)) includes.push_back(*include);
  });
  return includes;
}

// "runtime/hadoop/wire/rpc.proto" -> "runtime/hadoop"; "am/core/job.h" -> "am/core"; any other path -> "". The longest
// matching folder of the table counts.
std::string FolderOf(const std::string& path) {
  std::string found;
  for (const auto& [folder, unused] : AllowedArrows()) {
    if (path.starts_with(folder + "/") && folder.size() > found.size()) found = folder;
  }
  return found;
}

bool IsOurs(const std::string& path) {
  constexpr std::array<std::string_view, 4> kFolders = {"runtime/", "am/", "executor/", "azkaban-plugin/"};
  return std::ranges::any_of(kFolders, [&path](std::string_view folder) { return path.starts_with(folder); });
}

std::string At(const SourceFile& source, int line, const std::string& what) {
  return StrCat(source.path, ":", line, ": ", what);
}

bool IsPrivateHeader(const std::string& path) {
  if (std::ranges::count(kPrivateHeaders, path)) return true;
  return path.starts_with(kAdapterFolder) && path.ends_with(".h") &&
         std::find(std::begin(kAdapterPublicHeaders), std::end(kAdapterPublicHeaders), path) ==
             std::end(kAdapterPublicHeaders);
}

template <class Prefixes>
bool StartsWithAny(const std::string& text, const Prefixes& prefixes) {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](auto prefix) { return text.starts_with(prefix); });
}

bool IsImpure(const std::string& include) {
  if (StartsWithAny(include, kPureRecords)) return false;
  const std::vector<std::string> impure = Split(kImpureIncludes, ' ');
  return std::any_of(impure.begin(), impure.end(), [&](const std::string& name) {
    return name.ends_with('/') ? include.starts_with(name) : include == name;
  });
}

std::vector<std::string> CoreSourceNames(std::string_view cmake_lists) {
  std::vector<std::string> names;
  std::istringstream words{std::string(cmake_lists)};
  std::string word;
  bool in_core = false;
  while (words >> word) {
    if (word.starts_with("tony_library(")) in_core = word.ends_with("_core");
    if (in_core && word.ends_with(".cc")) names.push_back(word);
  }
  return names;
}

}  // namespace

std::vector<SourceFile> ReadSources(const std::string& root, const std::string& folder) {
  std::vector<SourceFile> sources;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/" + folder)) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cc") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    sources.push_back({std::filesystem::relative(entry.path(), root).string(), text.str()});
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return sources;
}

std::vector<std::string> PureCores(const std::vector<SourceFile>& sources, const std::string& folder,
                                   std::string_view cmake_lists) {
  std::vector<std::string> to_visit;
  for (const std::string& name : CoreSourceNames(cmake_lists)) to_visit.push_back(folder + "/" + name);
  std::set<std::string> seen;
  while (!to_visit.empty()) {
    const std::string path = to_visit.back();
    to_visit.pop_back();
    if (!path.starts_with(folder + "/") || !seen.insert(path).second) continue;
    for (const SourceFile& source : sources) {
      if (source.path != path) continue;
      for (const Include& include : Includes(source)) to_visit.push_back(include.name);
    }
  }
  return {seen.begin(), seen.end()};
}

std::vector<std::string> ArrowViolations(const SourceFile& source) {
  const std::string from = FolderOf(source.path);
  if (from.empty()) return {At(source, 1, "this folder is not in the table of allowed arrows")};
  std::vector<std::string> violations;
  const std::vector<std::string>& allowed = AllowedArrows().at(from);
  for (const Include& include : Includes(source)) {
    const std::string to = FolderOf(include.name);
    if (to == from) continue;
    if (to.empty() && !IsOurs(include.name)) continue;
    if (std::find(allowed.begin(), allowed.end(), to) != allowed.end()) continue;
    violations.push_back(At(source, include.line, StrCat(from, " may not know ", include.name)));
  }
  return violations;
}

std::vector<std::string> ThirdPartyViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  const auto report = [&](const Include& include, std::string_view what) {
    violations.push_back(At(source, include.line, StrCat(include.name, what)));
  };
  const bool public_header = source.path.ends_with(".h") && !IsPrivateHeader(source.path);
  for (const Include& include : Includes(source)) {
    const auto& rules = ThirdPartyRules();
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const ThirdPartyRule& r) { return include.name.starts_with(r.prefix); });
    if (rule != rules.end()) {
      if (public_header) report(include, " in a header that others include");
      if (!StartsWithAny(source.path, rule->users)) report(include, " outside of its adapter");
    } else if (IsPrivateHeader(include.name)) {
      if (public_header) report(include, " is private, in a header that others include");
      if (FolderOf(source.path) != FolderOf(include.name)) report(include, " is private to its folder");
    } else if (include.quoted && !IsOurs(include.name)) {
      report(include, ": name our headers by their whole path");
    }
  }
  return violations;
}

std::vector<std::string> PurityViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  for (const Include& include : Includes(source)) {
    const bool for_format = StartsWithAny(include.name, kFormatLibraries) && StartsWithAny(source.path, kFormatSources);
    if (IsImpure(include.name) || (include.name.starts_with("boost/") && !for_format)) {
      violations.push_back(At(source, include.line, include.name + " in a pure core"));
    }
  }
  ForEachLine(source, [&](int line, const std::string& code) {
    for (const std::string& impure : Split(kImpureCode, ' ')) {
      if (code.find(impure) != std::string::npos) violations.push_back(At(source, line, impure + " in a pure core"));
    }
  });
  return violations;
}

std::vector<std::string> LocalSchedulerViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  if (StartsWithAny(source.path, kOneMachine) || std::ranges::count(kKnowOneMachine, source.path)) return violations;
  for (const Include& include : Includes(source)) {
    if (StartsWithAny(include.name, kOneMachine))
      violations.push_back(At(source, include.line, include.name + " is its backend's to know"));
  }
  ForEachLine(source, [&](int line, const std::string& code) {
    for (const char* lock : {"\"keeper.lock\"", "\"keeper.start\"", "\"am.lock\""}) {
      // An AM holds its own lock.
      const bool is_own = source.path.starts_with("am/") || source.path.starts_with("runtime/records/");
      if (!is_own && code.find(lock) != std::string::npos)
        violations.push_back(At(source, line, StrCat(lock, " is its backend's to know")));
    }
  });
  return violations;
}

std::vector<std::string> LocalLogViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  if (source.path.starts_with("runtime/logs/") || source.path == kLocalBackend) return violations;
  if (source.path == kReadsItsOwnLogs) return violations;
  for (const Include& include : Includes(source)) {
    if (include.name == kLocalLogs)
      violations.push_back(At(source, include.line, include.name + " is its backend's to know"));
  }
  return violations;
}

// All other code reaches a job by its records, which may be on another machine.
std::vector<std::string> JobFolderViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  const bool knows = StartsWithAny(source.path, kOneMachine) || source.path.starts_with("runtime/records/");
  if (knows || source.path == "am/main.cc") return violations;
  for (const Include& include : Includes(source)) {
    if (include.name == "runtime/records/job_folder.h")
      violations.push_back(At(source, include.line, include.name + " is the local scheduler's to know"));
  }
  return violations;
}

std::vector<std::string> LocalStoreViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  if (source.path.starts_with("runtime/records/") || std::ranges::count(kKnowLocalStores, source.path))
    return violations;
  for (const Include& include : Includes(source)) {
    if (std::ranges::count(kLocalStores, include.name))
      violations.push_back(At(source, include.line, include.name + " is its backend's to know"));
  }
  return violations;
}

std::vector<std::string> IncludePathViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  for (const Include& include : Includes(source)) {
    const std::vector<std::string> parts = Split(include.name, '/');
    if (std::ranges::any_of(parts, [](const auto& part) { return part.empty() || part == "." || part == ".."; }))
      violations.push_back(At(source, include.line, include.name + ": write the shortest path"));
  }
  return violations;
}

// Tests replace functions of the C library (tests/faults). A raw system call would bypass them.
std::vector<std::string> RawCallViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  ForEachLine(source, [&](int line, const std::string& code) {
    for (const char* raw : {"syscall(", "sys/syscall.h"}) {
      if (code.find(raw) != std::string::npos)
        violations.push_back(At(source, line, StrCat(raw, ": call a function of the C library")));
    }
  });
  return violations;
}

std::vector<std::string> UsingNamespaceViolations(const SourceFile& source) {
  std::vector<std::string> violations;
  ForEachLine(source, [&](int line, const std::string& code) {
    if (Trim(code).starts_with("using namespace")) violations.push_back(At(source, line, "using namespace"));
  });
  return violations;
}

std::vector<std::string> TypesOfOneName(const std::vector<SourceFile>& sources) {
  std::vector<std::string> violations;
  std::map<std::string, std::string> known;  // name with its namespace -> header
  for (const SourceFile& source : sources) {
    if (!source.path.ends_with(".h")) continue;
    std::string space;
    ForEachLine(source, [&](int line, const std::string& code) {
      std::vector<std::string> words = Split(code, ' ');
      std::erase_if(words, [](const std::string& word) { return word.starts_with("[["); });  // attributes
      if (words.size() > 1 && words[0] == "namespace") space = words[1];
      const bool is_type = words.size() > 2 && (words[0] == "class" || words[0] == "struct" || words[0] == "enum");
      if (!is_type || code.ends_with(';')) return;
      const std::string name = StrCat(space, "::", words[1] == "class" ? words[2] : words[1]);
      const auto [other, is_new] = known.emplace(name, source.path);
      if (!is_new) violations.push_back(At(source, line, StrCat(name, " is also in ", other->second)));
    });
  }
  return violations;
}

}  // namespace tony::layering
