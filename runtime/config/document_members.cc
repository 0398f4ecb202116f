#include "runtime/config/document_members.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/keys.h"

namespace tony {
namespace {

using Kind = DocumentNode::Kind;

// A member that sets one key; of a role, tony.ROLE.key.
struct KeyMember {
  std::string_view name, key;
  bool is_list = false;
};
constexpr KeyMember kJobMembers[] = {{"framework", "tony.application.framework"},
                                     {"name", "tony.application.name"},
                                     {"queue", "tony.yarn.queue"},
                                     {"resources", "tony.containers.resources", true},
                                     {"tags", "tony.application.tags", true}};
constexpr KeyMember kRoleMembers[] = {{"command", "command"},
                                      {"gpus", "gpus"},
                                      {"instances", "instances"},
                                      {"max_instances", "max-instances"},
                                      {"max_restarts", "restart.budget"},
                                      {"memory", "memory"},
                                      {"min_failed", "min-failed"},
                                      {"min_succeeded", "min-succeeded"},
                                      {"resources", "resources", true},
                                      {"restart_scope", "restart.scope"},
                                      {"vcores", "vcores"}};

constexpr struct {
  std::string_view name;
  Property SubmitFlags::*option;
} kOptionMembers[] = {{"executes", &SubmitFlags::executes},
                      {"python_binary_path", &SubmitFlags::python_binary_path},
                      {"python_venv", &SubmitFlags::python_venv},
                      {"src_dir", &SubmitFlags::src_dir},
                      {"task_params", &SubmitFlags::task_params}};

// The keys that list the roles of another completion than tracked.
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

// A scalar's. No process can be given a NUL.
Result<std::string> Text(const DocumentNode& node, const std::string& path) {
  if (node.kind != Kind::kText && node.kind != Kind::kNumber && node.kind != Kind::kBool)
    return WrongKind(path, "a text, a number, true or false", node);
  if (node.text.find('\0') != node.text.npos) return Failure(path, "expected a text without a NUL character");
  return node.text;
}

// The keys for lists split at commas.
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
      return Failure(PathOf(path, InQuotes(name)), "expected a name, without control characters");
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
    const bool is_object = name == "env" || name == "tasks";
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
    return name == "env" ? ReadEnvironment(node, path) : ReadRoles(node, path);
  }

  std::vector<std::string> Known() const {
    std::vector<std::string> names = {"conf", "env", "tasks"};
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

  Status ReadConf(const DocumentNode& node) {
    const std::string path = PathOf(path_, "conf");
    TRY_ASSIGN(auto pairs, ReadPairs(node, path));
    for (auto& [key, value] : pairs) flags_.conf.push_back({key, {std::move(value), path}});
    return Ok();
  }

  Status ReadRoles(const DocumentNode& node, const std::string& path) {
    TRY(CheckObject(node, path, "an object ROLE: {...}"));
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

  // A role stands in one list at most.
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

}  // namespace

Result<SubmitFlags> ReadMembers(const DocumentNode& object, const std::string& path,
                                std::span<const std::string_view> read_elsewhere) {
  return MembersReader(path, read_elsewhere).Run(object);
}

Result<std::vector<std::pair<std::string, std::string>>> ReadPairs(const DocumentNode& object,
                                                                   const std::string& path) {
  TRY(CheckObject(object, path, "an object NAME: value"));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < object.items.size(); ++i) {
    if (object.items[i].kind == Kind::kNull) continue;
    TRY_ASSIGN(std::string value, Text(object.items[i], PathOf(path, InQuotes(object.names[i]))));
    pairs.emplace_back(object.names[i], std::move(value));
  }
  return pairs;
}

}  // namespace tony
