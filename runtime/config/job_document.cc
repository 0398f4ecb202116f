#include "runtime/config/job_document.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/keys.h"

namespace tony {
namespace {

namespace json = boost::json;
using Kind = DocumentNode::Kind;

// A member that sets one key. In the object of a role, the member sets tony.ROLE.key.
struct KeyMember {
  std::string_view name, key;
  bool is_list = false;
};
constexpr KeyMember kJobMembers[] = {{"container", "tony.containers.image"},
                                     {"framework", "tony.application.framework"},
                                     {"mounts", "tony.containers.mounts", true},
                                     {"name", "tony.application.name"},
                                     {"queue", "tony.yarn.queue"},
                                     {"resources", "tony.containers.resources", true},
                                     {"tags", "tony.application.tags", true}};
constexpr KeyMember kRoleMembers[] = {{"command", "command"},
                                      {"container", "image"},
                                      {"gpus", "gpus"},
                                      {"instances", "instances"},
                                      {"max_instances", "max-instances"},
                                      {"max_restarts", "restart.budget"},
                                      {"memory", "memory"},
                                      {"min_failed", "min-failed"},
                                      {"min_succeeded", "min-succeeded"},
                                      {"parallel", "max-parallel"},
                                      {"resources", "resources", true},
                                      {"restart_scope", "restart.scope"},
                                      {"vcores", "vcores"}};

// A list here is any JSON value.
constexpr KeyMember kSweepMembers[] = {{"file", "tony.sweep.file"},
                                       {"metric", "tony.sweep.metric"},
                                       {"parallel", "tony.trial.max-parallel"},
                                       {"parameters", "tony.sweep.parameters", true},
                                       {"random", "tony.sweep.random"},
                                       {"seed", "tony.sweep.seed"},
                                       {"tolerate", "tony.sweep.tolerate"},
                                       {"trials", "tony.sweep.trials", true}};

constexpr struct {
  std::string_view name;
  Property SubmitFlags::*option;
} kOptionMembers[] = {{"executes", &SubmitFlags::executes},
                      {"python_binary_path", &SubmitFlags::python_binary_path},
                      {"python_venv", &SubmitFlags::python_venv},
                      {"src_dir", &SubmitFlags::src_dir},
                      {"task_params", &SubmitFlags::task_params}};

// The keys that list the roles whose completion is not `tracked`.
constexpr struct {
  std::string_view completion, key;
} kCompletions[] = {{"sidecar", "tony.application.sidecar.jobtypes"},
                    {"untracked", "tony.application.untracked.jobtypes"}};

std::string PathOf(const std::string& parent, std::string_view name) {
  return parent.empty() ? std::string(name) : StrCat(parent, ".", name);
}

Error Failure(const std::string& path, std::string_view what) {
  return {ErrorCode::kInvalid, StrCat(path, path.empty() ? "" : ": ", what)};
}

Error WrongKind(const std::string& path, std::string_view expected, const DocumentNode& node) {
  return Failure(path, StrCat("expected ", expected, ", not ", ToString(node.kind)));
}

// Returns the text of a scalar. Refuses a NUL, because it cannot be passed to a process.
Result<std::string> Text(const DocumentNode& node, const std::string& path) {
  if (node.kind != Kind::kText && node.kind != Kind::kNumber && node.kind != Kind::kBool)
    return WrongKind(path, "a text, a number, true or false", node);
  if (node.text.find('\0') != node.text.npos) return Failure(path, "expected a text without a NUL character");
  return node.text;
}

// Returns the texts of a list with commas between them, because the keys for lists are split at commas.
Result<std::string> ListText(const DocumentNode& node, const std::string& path) {
  if (node.kind != Kind::kArray) return WrongKind(path, "a list of texts", node);
  std::vector<std::string> items;
  for (const DocumentNode& item : node.items) {
    const std::string place = StrCat(path, "[", items.size(), "]");
    TRY_ASSIGN(std::string text, Text(item, place));
    if (text.find(',') != text.npos) return Failure(place, StrCat(InQuotes(text), ": expected a text without a comma"));
    items.push_back(std::move(text));
  }
  return Join(items, ",");
}

Status CheckObject(const DocumentNode& node, const std::string& path, std::string_view expected) {
  if (node.kind != Kind::kObject) return WrongKind(path, expected, node);
  for (const std::string& name : node.names) {
    const bool control = std::ranges::any_of(name, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; });
    if (name.empty() || control)
      return Failure(PathOf(path, InQuotes(name)), "expected a name that is not empty and has no control characters");
  }
  return Ok();
}

template <class Members>
const auto* FindMember(const Members& members, std::string_view name) {
  const auto found = std::ranges::find_if(members, [&](const auto& member) { return member.name == name; });
  return found == std::end(members) ? nullptr : &*found;
}

Error Unknown(const std::string& path, const std::string& name, std::vector<std::string> known) {
  std::ranges::sort(known);
  return {ErrorCode::kInvalid, StrCat("unknown member ", InQuotes(name), path.empty() ? "" : StrCat(" of ", path),
                                      "; known: ", Join(known, ", "))};
}

template <class Members>
void AddNames(const Members& members, std::vector<std::string>& names) {
  for (const auto& member : members) names.emplace_back(member.name);
}

class MembersReader {
 public:
  MembersReader(const std::string& path, std::span<const std::string_view> elsewhere)
      : path_(path), elsewhere_(elsewhere) {}

  Result<SubmitFlags> Run(const DocumentNode& object) {
    TRY(CheckObject(object, path_, "an object"));
    const DocumentNode* conf = nullptr;
    for (size_t i = 0; i < object.items.size(); ++i) {
      if (object.names[i] == "conf") {
        conf = &object.items[i];
      } else {
        TRY(ReadMember(object.names[i], object.items[i]));
      }
    }
    if (conf && conf->kind != Kind::kNull) TRY(ReadConf(*conf));
    return std::move(flags_);
  }

 private:
  Status ReadMember(const std::string& name, const DocumentNode& node) {
    const KeyMember* key = FindMember(kJobMembers, name);
    const auto* option = FindMember(kOptionMembers, name);
    const bool is_object = name == "env" || name == "tasks" || name == "sweep";
    const bool is_elsewhere = std::ranges::find(elsewhere_, name) != elsewhere_.end();
    if (!key && !option && !is_object && !is_elsewhere) return Unknown(path_, name, Known());
    if (node.kind == Kind::kNull || is_elsewhere) return Ok();
    const std::string path = PathOf(path_, name);
    if (key) return ReadKey(*key, std::string(key->key), node, path);
    if (option) {
      TRY_ASSIGN(std::string text, Text(node, path));
      flags_.*(option->option) = {std::move(text), path};
      return Ok();
    }
    if (name == "sweep") return ReadSweep(node, path);
    return name == "env" ? ReadEnvironment(node, path) : ReadRoles(node, path);
  }

  std::vector<std::string> Known() const {
    std::vector<std::string> names = {"conf", "env", "sweep", "tasks"};
    names.insert(names.end(), elsewhere_.begin(), elsewhere_.end());
    AddNames(kJobMembers, names);
    AddNames(kOptionMembers, names);
    return names;
  }

  Status ReadKey(const KeyMember& member, std::string key, const DocumentNode& node, const std::string& path) {
    TRY_ASSIGN(std::string text, member.is_list ? ListText(node, path) : Text(node, path));
    flags_.conf.push_back({std::move(key), {std::move(text), path}});
    return Ok();
  }

  Status ReadEnvironment(const DocumentNode& node, const std::string& path) {
    TRY_ASSIGN(auto pairs, ReadPairs(node, path));
    for (auto& [name, value] : pairs) flags_.shell_env[name] = {std::move(value), PathOf(path, name)};
    return Ok();
  }

  // The parameters and the trials become JSON texts, because their order and their types count.
  Status ReadSweep(const DocumentNode& node, const std::string& path) {
    TRY(CheckObject(node, path, "an object"));
    for (size_t i = 0; i < node.items.size(); ++i) {
      const KeyMember* member = FindMember(kSweepMembers, node.names[i]);
      if (!member) {
        std::vector<std::string> known;
        AddNames(kSweepMembers, known);
        return Unknown(path, node.names[i], std::move(known));
      }
      const DocumentNode& value = node.items[i];
      if (value.kind == Kind::kNull) continue;
      const std::string place = PathOf(path, member->name);
      if (member->is_list) {
        flags_.conf.push_back({std::string(member->key), {ToJson(value), place}});
      } else {
        TRY(ReadKey(*member, std::string(member->key), value, place));
      }
    }
    return Ok();
  }

  Status ReadConf(const DocumentNode& node) {
    const std::string path = PathOf(path_, "conf");
    TRY_ASSIGN(auto pairs, ReadPairs(node, path));
    for (auto& [key, value] : pairs) flags_.conf.push_back({key, {std::move(value), path}});
    return Ok();
  }

  Status ReadRoles(const DocumentNode& node, const std::string& path) {
    TRY(CheckObject(node, path, "an object {ROLE: {...}, ...}"));
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (node.items[i].kind != Kind::kNull) TRY(ReadRole(node.names[i], node.items[i], path));
    }
    return Ok();
  }

  Status ReadRole(const std::string& role, const DocumentNode& node, const std::string& parent) {
    const bool is_name = std::ranges::all_of(role, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_name) return Failure(parent, StrCat(InQuotes(role), ": a role's name has lower-case letters only"));
    if (IsReservedRole(role))
      return Failure(parent, StrCat(InQuotes(role), " cannot be a role: tony.", role, ".* keys mean something else"));
    const std::string path = PathOf(parent, role);
    TRY(CheckObject(node, path, "an object"));
    for (size_t i = 0; i < node.items.size(); ++i) TRY(ReadRoleMember(role, node.names[i], node.items[i], path));
    return Ok();
  }

  Status ReadRoleMember(const std::string& role, const std::string& name, const DocumentNode& node,
                        const std::string& parent) {
    const KeyMember* member = FindMember(kRoleMembers, name);
    if (!member && name != "completion") {
      std::vector<std::string> known = {"completion"};
      AddNames(kRoleMembers, known);
      return Unknown(parent, name, std::move(known));
    }
    if (node.kind == Kind::kNull) return Ok();
    const std::string path = PathOf(parent, name);
    return member ? ReadKey(*member, StrCat("tony.", role, ".", member->key), node, path)
                  : ReadCompletion(role, node, path);
  }

  // A role is in at most one of these lists, so it is removed from the others.
  Status ReadCompletion(const std::string& role, const DocumentNode& node, const std::string& path) {
    TRY_ASSIGN(const std::string completion, Text(node, path));
    const auto of_list = [&](const auto& row) { return row.completion == completion; };
    if (completion != "tracked" && std::ranges::none_of(kCompletions, of_list))
      return Failure(path, StrCat(InQuotes(completion), ": expected tracked, untracked or sidecar"));
    for (const auto& row : kCompletions) {
      flags_.listings.push_back({std::string(row.key), {role, path}, row.completion == completion});
    }
    return Ok();
  }

  const std::string& path_;
  const std::span<const std::string_view> elsewhere_;
  SubmitFlags flags_;
};

// The handler that boost::json::basic_parser calls, value by value.
class Builder {
 public:
  static constexpr size_t max_object_size = SIZE_MAX, max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX, max_string_size = SIZE_MAX;
  using Code = json::error_code;
  using Text = json::string_view;

  explicit Builder(size_t most_values) : most_values_(most_values) {}

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code& code) { return Open(DocumentNode::Kind::kObject, code); }
  bool on_object_end(size_t, Code&) { return Close(); }
  bool on_array_begin(Code& code) { return Open(DocumentNode::Kind::kArray, code); }
  bool on_array_end(size_t, Code&) { return Close(); }
  bool on_key_part(Text part, size_t, Code&) { return Append(part); }
  bool on_key(Text part, size_t, Code& code) {
    Append(part);
    std::string name = std::exchange(text_, {});
    if (!open_.back().seen.insert(name).second) return Refuse(StrCat("member ", InQuotes(name), " occurs twice"), code);
    open_.back().node.names.push_back(std::move(name));
    return true;
  }
  bool on_string_part(Text part, size_t, Code&) { return Append(part); }
  bool on_string(Text part, size_t, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kText, code); }
  bool on_number_part(Text part, Code&) { return Append(part); }
  bool on_int64(int64_t, Text part, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kNumber, code); }
  bool on_uint64(uint64_t, Text part, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kNumber, code); }
  bool on_double(double, Text part, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kNumber, code); }
  bool on_bool(bool value, Code& code) {
    return Append(value ? "true" : "false") && Scalar(DocumentNode::Kind::kBool, code);
  }
  bool on_null(Code& code) { return Scalar(DocumentNode::Kind::kNull, code); }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

  DocumentNode TakeRoot() { return std::move(root_); }
  // Returns the reason why this class has stopped the parser (Refuse()); empty if the class has not stopped the parser.
  const std::string& problem() const { return problem_; }

 private:
  struct Frame {
    DocumentNode node;
    std::set<std::string> seen;
  };

  bool Append(Text part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool Refuse(std::string problem, Code& code) {
    problem_ = std::move(problem);
    code = json::error::syntax;
    return false;
  }

  bool Count(Code& code) {
    return ++values_ <= most_values_ || Refuse(StrCat("the document has more than ", most_values_, " values"), code);
  }

  bool Scalar(DocumentNode::Kind kind, Code& code) {
    if (!Count(code)) return false;
    Put({.kind = kind, .text = std::exchange(text_, {})});
    return true;
  }

  bool Open(DocumentNode::Kind kind, Code& code) {
    if (!Count(code)) return false;
    open_.push_back({{.kind = kind}, {}});
    return true;
  }

  bool Close() {
    DocumentNode done = std::move(open_.back().node);
    open_.pop_back();
    Put(std::move(done));
    return true;
  }

  void Put(DocumentNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().node.items.push_back(std::move(node));
    }
  }

  std::vector<Frame> open_;  // from the outermost to the innermost
  std::string text_;         // text of the current value
  const size_t most_values_;
  size_t values_ = 0;
  DocumentNode root_;
  std::string problem_;
};

// Returns an error such as "NAME:3: ..., at byte 14 of the line".
Error FailureAt(std::string_view text, size_t offset, const std::string& name, std::string_view what) {
  const size_t line_start = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  return {ErrorCode::kInvalid, StrCat(name, ":", LineIndex(text).LineOf(offset), ": ", what, ", at byte ",
                                      offset - line_start + 1, " of the line")};
}

// Reads properties that are given as one text. A text has no file name, so its first character decides which format it
// has.
Status ReadPropertiesText(const std::string& text, JobDocument& document) {
  std::string_view start = text;
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
  document.has_step_properties = !Trim(start).starts_with('<');
  const auto parse = document.has_step_properties ? ParseJavaProperties : ParseRawHadoopXml;
  TRY_ASSIGN(document.properties, parse(text, "properties"));
  return Ok();
}

Status ReadProperties(const DocumentNode& node, JobDocument& document) {
  if (node.kind == DocumentNode::Kind::kText) return ReadPropertiesText(node.text, document);
  if (node.kind != DocumentNode::Kind::kObject) {
    return Error{ErrorCode::kInvalid,
                 StrCat("properties: expected a text or an object {KEY: value, ...}, not ", ToString(node.kind))};
  }
  document.has_step_properties = true;
  TRY_ASSIGN(const auto pairs, ReadPairs(node, "properties"));
  for (const auto& [key, value] : pairs) document.properties.Set(key, value, "properties");
  return Ok();
}

void YieldToAll(const std::vector<SubmitFlags::Setting>& higher, SubmitFlags& lower) {
  for (const SubmitFlags::Setting& setting : higher) DropOverridden(setting.key, lower);
}

Result<std::map<std::string, std::string>> SecretsOf(const DocumentNode& node, const std::string& path) {
  TRY_ASSIGN(const auto pairs, ReadPairs(node, path));
  return std::map<std::string, std::string>(pairs.begin(), pairs.end());
}

Status ReadDocument(const DocumentNode& root, JobDocument& document) {
  constexpr std::string_view kLayers[] = {"properties", "secrets", "spec"};
  TRY_ASSIGN(document.members, ReadMembers(root, "", kLayers));
  YieldToAll(document.members.conf, document.members);
  for (size_t i = 0; i < root.names.size(); ++i) {
    const DocumentNode& member = root.items[i];
    if (member.kind == DocumentNode::Kind::kNull) continue;
    if (root.names[i] == "properties") TRY(ReadProperties(member, document));
    if (root.names[i] == "secrets") {
      TRY_ASSIGN(document.secrets, SecretsOf(member, "secrets"));
    }
    if (root.names[i] == "spec") {
      TRY_ASSIGN(document.spec, ReadMembers(member, "spec", {}));
    }
  }
  YieldToAll(document.spec.conf, document.spec);
  ApplySettings(document.spec, document.base);
  document.spec.conf.clear();
  document.spec.shell_env.clear();
  return Ok();
}

}  // namespace

std::string InQuotes(std::string_view text, size_t longest) {
  std::string out = "\"";
  for (const char c : ReplaceInvalidUtf8(text.substr(0, longest))) {
    const bool control = (c >= 0 && c < ' ') || c == '\x7F';
    out.push_back(control ? '?' : c);
  }
  return StrCat(out, text.size() > longest ? "..." : "", "\"");
}

Result<SubmitFlags> ReadMembers(const DocumentNode& object, const std::string& path,
                                std::span<const std::string_view> read_elsewhere) {
  return MembersReader(path, read_elsewhere).Run(object);
}

Result<std::vector<std::pair<std::string, std::string>>> ReadPairs(const DocumentNode& object,
                                                                   const std::string& path) {
  TRY(CheckObject(object, path, "an object {NAME: value, ...}"));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < object.items.size(); ++i) {
    if (object.items[i].kind == Kind::kNull) continue;
    TRY_ASSIGN(std::string value, Text(object.items[i], PathOf(path, InQuotes(object.names[i]))));
    pairs.emplace_back(object.names[i], std::move(value));
  }
  return pairs;
}

std::string ToJson(const DocumentNode& node) {
  std::vector<std::string> items;
  for (size_t i = 0; i < node.items.size(); ++i)
    items.push_back(node.kind == Kind::kObject ? StrCat(JsonString(node.names[i]), ":", ToJson(node.items[i]))
                                               : ToJson(node.items[i]));
  switch (node.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
    case Kind::kNumber:
      return node.text;
    case Kind::kText:
      return JsonString(node.text);
    case Kind::kArray:
      return StrCat("[", Join(items, ","), "]");
    case Kind::kObject:
      return StrCat("{", Join(items, ","), "}");
  }
  return {};
}

Result<DocumentNode> ParseDocumentJson(std::string_view text, const std::string& name, size_t most_values) {
  TRY(CheckConfigText(text, name));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // an editor's byte order mark
  json::parse_options options;
  options.max_depth = kMostDocumentDepth;
  json::basic_parser<Builder> parser(options, most_values);
  json::error_code code;
  const size_t parsed = parser.write_some(false, text.data(), text.size(), code);
  const std::string& problem = parser.handler().problem();
  if (!problem.empty()) return FailureAt(text, parsed, name, problem);
  if (code == json::error::too_deep)
    return FailureAt(text, parsed, name, StrCat("nested deeper than ", kMostDocumentDepth, " levels"));
  if (code) return FailureAt(text, parsed, name, StrCat("not JSON: ", code.message()));
  if (parsed < text.size()) return FailureAt(text, parsed, name, "not JSON: text follows the end of the document");
  return parser.handler().TakeRoot();
}

Result<JobDocument> ReadJobDocument(std::string_view text, const std::string& name, DocumentFormat format) {
  TRY_ASSIGN(const DocumentNode root,
             format == DocumentFormat::kYaml ? ParseDocumentYaml(text, name) : ParseDocumentJson(text, name));
  if (root.kind != DocumentNode::Kind::kObject)
    return Error{ErrorCode::kInvalid, StrCat(name, ": expected an object, not ", ToString(root.kind))};
  JobDocument document;
  if (const Status read = ReadDocument(root, document); !read.ok()) return Annotate(read.error(), name);
  return document;
}

Result<std::map<std::string, std::string>> ReadSecrets(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const DocumentNode root, ParseDocumentJson(text, name));
  return SecretsOf(root, name);
}

SubmitFlags MergeDocumentFlags(SubmitFlags flags, JobDocument document, SubmitFlags step, const Properties& files) {
  for (const auto& [key, property] : files.all()) DropOverridden(key, document.spec);
  YieldToAll(step.conf, document.spec);
  for (const auto* higher : {&document.members.conf, &flags.conf}) {
    YieldToAll(*higher, document.spec);
    YieldToAll(*higher, step);
  }
  YieldToAll(flags.conf, document.members);
  step = WithDefaults(std::move(step), document.spec);
  return WithDefaults(std::move(flags), WithDefaults(std::move(document.members), step));
}

}  // namespace tony
