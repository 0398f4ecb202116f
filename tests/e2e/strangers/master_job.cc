#include "tests/e2e/strangers/master_job.h"

#include <sstream>

namespace tony {

std::set<int> ListeningPorts(const std::vector<Process>& processes) {
  std::set<std::string> inodes;
  for (const Process& process : processes) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(process.pid) + "/fd", error)) {
      const std::string target = fs::read_symlink(entry.path(), error).string();
      if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
    }
  }
  std::set<int> ports;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
      if (state == "0A" && inodes.contains(inode))
        ports.insert(std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16));
    }
  }
  return ports;
}

}  // namespace tony
