// A NameNode and a DataNode in one, for tests: files in memory, answers as Hadoop 3.4.3 gives them. The answers
// follow what real ones were seen to send (tests/conformance/hadoop), and can be lost on purpose.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/hadoop/hdfs_answer.h"
#include "tests/support/scripted_http_server.h"

namespace tony::hadoop {

class FakeNameNode {
 public:
  explicit FakeNameNode(EventLoop& loop, MakeChannel tls = nullptr)
      : server_(loop, [this](const ServedRequest& r) { return Answer(r); }, std::move(tls)) {}

  std::string url() const { return server_.Url(""); }
  ScriptedHttpServer& server() { return server_; }

  std::map<std::string, std::string> files;
  std::map<std::string, std::string> folders;  // permissions as sent, by path
  std::map<std::string, std::string> owners;   // by path; others belong to eve
  std::string permission_of_files = "640";
  // Values as sent, by path and name.
  std::map<std::string, std::map<std::string, std::string>> xattrs;
  std::set<std::string> unreadable;  // files that CHECKACCESS refuses
  // This operation is executed, and the connection is closed instead of an answer.
  std::string loses_answer_of;
  // This operation is not executed, and the connection is closed.
  std::string does_not_do;
  // Bytes of a body behind this offset are lost, as when a gateway cuts the body.
  size_t keeps_of_a_body = 1 << 30;
  // Answers only calls that read, as an observer does.
  bool is_observer = false;
  // The name of the paging parameter that this NameNode reads.
  std::string start_after = "startafter";
  // Answers with status 307, as a NameNode that does not know `noredirect`.
  bool redirects_by_status = false;
  bool refuses_create = false;
  // CREATE is refused. A body of more than one byte closes the connection instead.
  bool is_over_quota = false;
  std::optional<ServedAnswer> answers_all;

  static ServedAnswer Refused(int status, std::string_view exception, std::string_view message) {
    return Answered(status, StrCat("{\"RemoteException\":{\"exception\":\"", exception, "\",\"javaClassName\":\"x.",
                                   exception, "\",\"message\":\"", message, "\"}}"));
  }

  // Returns the decoded parameters of a request.
  static std::map<std::string, std::string> QueryOf(const std::string& target) {
    std::map<std::string, std::string> query;
    const size_t begin = target.find('?');
    for (const std::string& pair : Split(target.substr(begin + 1), '&')) {
      const size_t equals = pair.find('=');
      query[pair.substr(0, equals)] = Decoded(pair.substr(equals + 1));
    }
    return query;
  }
  static std::string PathOf(const std::string& target) {
    return Decoded(target.substr(0, target.find('?'))).substr(std::string_view("/webhdfs/v1").size());
  }

 private:
  static std::string Decoded(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out.push_back(text[i]);
        continue;
      }
      out.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    }
    return out;
  }

  ServedAnswer Answer(const ServedRequest& request) {
    if (answers_all) return *answers_all;
    auto query = QueryOf(request.target);
    const std::string op = query["op"];
    const bool to_data_node = query.count("datanode") != 0;
    const bool has_two_steps = op == "CREATE" || op == "APPEND" || op == "OPEN";
    if (is_observer && !to_data_node && (request.method != "GET" || op == kActiveOperation))
      return Refused(403, "ObserverRetryOnActiveException", "WRITE is not supported in state observer");
    if (has_two_steps && !to_data_node) return Locate(request.target);
    if (op == does_not_do) return {"", true};
    if (is_over_quota && op == "CREATE") {
      if (request.body.size() > 1) return {"", true};
      return Refused(403, "DSQuotaExceededException", "The DiskSpace quota of /user/eve is exceeded");
    }
    ServedAnswer answer = Do(op, PathOf(request.target), query, request.body);
    if (op == loses_answer_of) return {"", true};
    return answer;
  }
  ServedAnswer Locate(const std::string& target) {
    const std::string location = server_.Url(target + "&datanode=1");
    if (redirects_by_status) return Answered(307, "", StrCat("Location: ", location, "\r\n"));
    return Answered(200, StrCat("{\"Location\":\"", location, "\"}"));
  }

  ServedAnswer Do(const std::string& op, const std::string& path, std::map<std::string, std::string>& query,
                  const std::string& body) {
    if (op == "CREATE") return Create(path, query, body.substr(0, keeps_of_a_body));
    if (op == "OPEN") return Open(path, query);
    if (op == "RENAME") return Rename(path, query["destination"], query["renameoptions"]);
    if (op == "DELETE") return Answered(200, files.erase(path) != 0 ? "{\"boolean\":true}" : "{\"boolean\":false}");
    if (op == "GETFILESTATUS") {
      if (folders.count(path)) return Answered(200, StrCat("{\"FileStatus\":", FolderJson(path), "}"));
      if (!files.count(path)) return Missing(path);
      return Answered(200, StrCat("{\"FileStatus\":", StatusJson("", files[path].size(), "FILE", OwnerOf(path)), "}"));
    }
    if (op == "CHECKACCESS") return CheckAccess(path, query["fsaction"]);
    if (op == "LISTSTATUS_BATCH") return List(path, query[start_after]);
    if (op == "SETXATTR") return SetXattr(path, query);
    if (op == "GETXATTRS") return GetXattrs(path);
    if (op == "APPEND") files[path] += body;
    if (op == "MKDIRS") folders.emplace(path, query["permission"]);
    if (op == "SETPERMISSION" && folders.count(path)) folders[path] = query["permission"];
    return Answered(200, "{\"boolean\":true}");
  }
  ServedAnswer CheckAccess(const std::string& path, const std::string& action) {
    if (!files.count(path) && !folders.count(path)) return Missing(path);
    if (!unreadable.count(path)) return Answered(200, "");
    return Refused(403, "AccessControlException",
                   StrCat("Permission denied: user=eve, access=", action == "r--" ? "READ" : action));
  }
  static ServedAnswer Missing(const std::string& path) {
    return Refused(404, "FileNotFoundException", StrCat("File does not exist: ", path));
  }
  std::string OwnerOf(const std::string& path) const { return owners.count(path) ? owners.at(path) : "eve"; }
  std::string StatusJson(std::string_view name, size_t length, std::string_view type,
                         const std::string& owner = "eve") const {
    return StrCat(
        "{\"accessTime\":1,\"blockSize\":134217728,\"childrenNum\":0,\"fileId\":16387,\"group\":\"supergroup\","
        "\"length\":",
        length, ",\"modificationTime\":1700000000123,\"owner\":\"", owner, "\",\"pathSuffix\":\"", name,
        "\",\"permission\":\"", permission_of_files,
        "\",\"replication\":1,\"storagePolicy\":0,\"type\":\"", type, "\"}");
  }
  std::string FolderJson(const std::string& path) const {
    return StrCat("{\"group\":\"supergroup\",\"length\":0,\"modificationTime\":1700000000123,\"owner\":\"",
                  OwnerOf(path), "\",\"pathSuffix\":\"\",\"permission\":\"", folders.at(path),
                  "\",\"type\":\"DIRECTORY\"}");
  }
  ServedAnswer Create(const std::string& path, std::map<std::string, std::string>& query, const std::string& body) {
    if (refuses_create) return Refused(403, "AccessControlException", "Permission denied: user=eve, access=WRITE");
    if (query["overwrite"] != "true" && files.count(path)) {
      return Refused(403, "FileAlreadyExistsException", StrCat(path, " for client 127.0.0.1 already exists"));
    }
    files[path] = body;
    return Answered(201, "");
  }
  ServedAnswer Open(const std::string& path, std::map<std::string, std::string>& query) {
    if (!files.count(path)) return Missing(path);
    return Answered(200, files[path].substr(std::stoul(query["offset"]), std::stoul(query["length"])));
  }
  ServedAnswer Rename(const std::string& from, const std::string& to, const std::string& options) {
    if (!files.count(from)) return Missing(from);
    if (options != "OVERWRITE" && files.count(to)) {
      return Refused(403, "FileAlreadyExistsException", StrCat("rename destination ", to, " already exists"));
    }
    files[to] = files[from];
    files.erase(from);
    xattrs[to] = xattrs[from];
    xattrs.erase(from);
    return Answered(200, "");
  }
  ServedAnswer List(const std::string& path, const std::string& after) {
    constexpr size_t kAtOnce = 3;
    std::map<std::string, std::string> inside;  // entries by name
    const auto add = [&](const std::string& at, size_t length, std::string_view type) {
      const std::string name = at.substr(std::min(at.size(), path.size() + 1));
      const bool is_inside = at.starts_with(path + "/") && name.find('/') == std::string::npos;
      if (is_inside && name > after) inside[name] = StatusJson(name, length, type);
    };
    for (const auto& [at, content] : files) add(at, content.size(), "FILE");
    for (const auto& [at, permission] : folders) add(at, 0, "DIRECTORY");
    std::string entries;
    size_t count = 0, left = 0;
    for (const auto& [name, status] : inside) {
      if (++count > kAtOnce) {
        ++left;
        continue;
      }
      entries += StrCat(count > 1 ? "," : "", status);
    }
    return Answered(200, StrCat("{\"DirectoryListing\":{\"partialListing\":{\"FileStatuses\":{\"FileStatus\":[",
                                entries, "]}},\"remainingEntries\":", left, "}}"));
  }
  ServedAnswer SetXattr(const std::string& path, std::map<std::string, std::string>& query) {
    auto& of_path = xattrs[path];
    const std::string name = query["xattr.name"];
    if (query["flag"] == "CREATE" && of_path.count(name)) {
      return Refused(403, "IOException",
                     StrCat("XAttr: ", name, " already exists. The REPLACE flag must be specified."));
    }
    of_path[name] = query["xattr.value"];
    return Answered(200, "");
  }

  ServedAnswer GetXattrs(const std::string& path) {
    if (!files.count(path) && !folders.count(path)) return Missing(path);
    std::string all;
    for (const auto& [name, value] : xattrs[path]) {
      all += StrCat(all.empty() ? "" : ",", "{\"name\":\"", name, "\",\"value\":\"", value, "\"}");
    }
    return Answered(200, StrCat("{\"XAttrs\":[", all, "]}"));
  }

  ScriptedHttpServer server_;
};

}  // namespace tony::hadoop
