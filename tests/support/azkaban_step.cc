#include "tests/support/azkaban_step.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "tests/support/places.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTyped = "not for you\n";

void AppendUnit(std::string& out, uint32_t unit) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04X", unit & 0xFFFF);
  out += text;
}

// Removes the first character from valid UTF-8 and returns it.
uint32_t TakeCharacter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t character = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  text.remove_prefix(length);
  return character;
}

void AppendStored(std::string& out, uint32_t character) {
  constexpr std::string_view kLetters = "\tt\nn\rr\ff\\\\==::##!!";
  for (size_t i = 0; i < kLetters.size(); i += 2) {
    if (character != static_cast<unsigned char>(kLetters[i])) continue;
    out += {'\\', kLetters[i + 1]};
    return;
  }
  if (character >= 0x20 && character <= 0x7E) {
    out += static_cast<char>(character);
  } else if (character < 0x10000) {
    AppendUnit(out, character);
  } else {
    AppendUnit(out, 0xD800 + ((character - 0x10000) >> 10));
    AppendUnit(out, 0xDC00 + ((character - 0x10000) & 0x3FF));
  }
}

std::string Stored(std::string_view text, bool is_key) {
  std::string out;
  while (!text.empty()) {
    if (text[0] == ' ' && (is_key || out.empty())) out += '\\';
    AppendStored(out, TakeCharacter(text));
  }
  return out;
}

}  // namespace

std::string StoredProperties(const std::map<std::string, std::string>& properties) {
  std::string text = "#Sat Nov 21 03:14:15 UTC 2026\n";
  for (const auto& [key, value] : properties) text += Stored(key, true) + "=" + Stored(value, false) + "\n";
  return text;
}

AzkabanStep::AzkabanStep(const Sandbox& box)
    : box_(box), folder_(box.folder() / "executions" / "7"), input_(box.File("input")) {
  fs::create_directories(folder_);
  if (mkfifo(input_.c_str(), 0600) != 0) abort();
  input_fd_ = open(input_.c_str(), O_RDWR | O_CLOEXEC);
  if (write(input_fd_, kTyped.data(), kTyped.size()) != static_cast<ssize_t>(kTyped.size())) abort();
  properties = {{"type", "tony"},
                {"azkaban.job.id", "train"},
                {"azkaban.job.attempt", "0"},
                {"azkaban.job.innodes", ""},
                {"azkaban.job.outnodes", "deploy"},
                {"azkaban.job.attachment.file", attachment_file().string()},
                {"azkaban.job.metadata.file", "_job.7.train.meta"},
                {"azkaban.flow.execid", "7"},
                {"azkaban.flow.flowid", "nightly"},
                {"azkaban.flow.projectname", "ranking"},
                {"azkaban.flow.submituser", "ann"},
                {"azkaban.flow.uuid", "3f1c9d56-6a3e-4cc0-a0c5-5a9b4d1a7f10"},
                {"azkaban.webserverhost", "azkaban.example"},
                {"jvm.args", "-Dazkaban.flowid=nightly"},
                {"user.to.proxy", "ann"},
                {"working.dir", folder_.string()},
                {"command", "/opt/tony/bin/tony-azkaban"},
                {"tony.application.framework", "standalone"},
                {"tony.worker.instances", "1"},
                {"executes", "true"}};
  variables = {{"JOB_NAME", "train"},
               {"JOB_PROP_FILE", properties_file().string()},
               {"JOB_OUTPUT_PROP_FILE", outputs_file().string()},
               {"KRB5CCNAME", "/tmp/krb5cc__ranking__nightly__train__7__ann"}};
}

AzkabanStep::~AzkabanStep() { close(input_fd_); }

std::unique_ptr<Background> AzkabanStep::Start(const std::string& how) const {
  const std::string text = properties_text ? *properties_text : StoredProperties(properties);
  std::ofstream(properties_file(), std::ios::binary) << text;
  std::ofstream(outputs_file(), std::ios::binary | std::ios::trunc) << "";
  const std::vector<std::string> argv = {"/bin/bash", "-c", "exec 2>&1 < " + input_ + "; " + how, "bash",
                                         ProgramFolder() + "/tony-azkaban"};
  return std::make_unique<Background>(argv, box_.Environment(variables), folder_);
}

bool AzkabanStep::InputIsUntouched() const {
  int there = 0;
  return ioctl(input_fd_, FIONREAD, &there) == 0 && there == static_cast<int>(kTyped.size());
}

}  // namespace tony
