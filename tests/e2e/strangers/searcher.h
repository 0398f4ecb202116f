// Everything of one user's that the asking process can read, searched for secrets: files, /proc of all processes, and
// what listening sockets answer. Run it in another user's process (OtherUser::Do).
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
  // `secrets`: what each is called, and the bytes that must not be found.
  Searcher(std::map<std::string, std::string> secrets, uid_t owner) : secrets_(std::move(secrets)), owner_(owner) {}

  // All below it, by name and content. In a folder that many use (/tmp): the owner's files alone.
  void Folder(const std::filesystem::path& folder, bool owners_alone = false);
  void Processes();  // of everybody: what /proc/PID shows, and the files behind its descriptors
  void Sockets();    // of the owner, TCP and Unix: asks each that listens, and reads
  void Text(const std::string& where, std::string_view text);

  // "where: what" for each secret found, then a line with how much was looked at.
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
