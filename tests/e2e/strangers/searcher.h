// Searches everything that the calling process can read of a user for secrets: files, /proc of all processes, and the
// answers of listening sockets. Run it in a process of another user (OtherUser::Do).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tony {

class Searcher {
 public:
  // `secrets` maps a name to the bytes that must not be found.
  Searcher(std::map<std::string, std::string> secrets, uid_t owner) : secrets_(std::move(secrets)), owner_(owner) {}

  // Searches all entries below `folder`, by name and content. `owners_alone` skips files of other users, e.g. in /tmp.
  void Folder(const std::filesystem::path& folder, bool owners_alone = false);
  // Searches /proc/PID of all processes, and the files behind their descriptors.
  void Processes();
  // Sends requests to each listening socket of the owner, TCP and Unix, and searches the answers.
  void Sockets();
  void Text(const std::string& where, std::string_view text);

  // Returns a line "place: secret" for each secret found, then a line with the numbers of searched files, processes and
  // sockets.
  std::string Report() const;

 private:
  void File(const std::filesystem::path& file);
  void Process(const std::filesystem::path& folder);
  void Ask(const std::string& where, int socket);
  void AskTcp(int family, int port);
  void AskUnix(const std::string& name);

  const std::map<std::string, std::string> secrets_;
  const uid_t owner_;
  std::set<std::string> found_;
  int files_ = 0, processes_ = 0, sockets_ = 0;
};

}  // namespace tony
