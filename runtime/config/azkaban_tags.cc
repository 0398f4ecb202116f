#include "runtime/config/azkaban_tags.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kLongestTag = 100;
constexpr std::string_view kHost = "azkaban.webserverhost";
constexpr std::string_view kUrl = "azkaban.url";
constexpr std::string_view kOfFlow[] = {"azkaban.flow.execid", "azkaban.flow.flowid", "azkaban.flow.projectname"};

// In "http://ann@[::1]:8081/x" that is "[::1]:8081".
std::string_view AddressIn(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const size_t user = url.rfind('@'); user != url.npos) url.remove_prefix(user + 1);
  return url;
}

// In "[::1]:8081" that is "::1".
std::string_view HostIn(std::string_view address) {
  if (address.starts_with('[')) return address.substr(1, address.find(']') - 1);
  return address.substr(0, address.find(':'));
}

// `text` is UTF-8, of which a character's first byte is no 10xxxxxx.
std::string_view FirstCharacters(std::string_view text, size_t most) {
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && ++characters > most) return text.substr(0, at);
  }
  return text;
}

}  // namespace

std::string StepText(const Properties& step, std::string_view key) {
  const Property* found = step.Find(key);
  return std::string(found ? Trim(found->value) : "");
}

std::string AzkabanHost(const Properties& step) {
  std::string host = StepText(step, kHost);
  return host.empty() ? std::string(HostIn(AddressIn(StepText(step, kUrl)))) : host;
}

std::string AzkabanAddress(const Properties& step) {
  std::string address(AddressIn(StepText(step, kUrl)));
  return address.empty() ? StepText(step, kHost) : address;
}

std::vector<std::string> AzkabanTags(const Properties& step) {
  std::vector<std::string> tags;
  const auto add = [&tags](std::string_view key, std::string value) {
    std::ranges::replace(value, ',', ';');  // tags are a list
    if (!value.empty()) tags.emplace_back(FirstCharacters(StrCat(key, ":", value), kLongestTag));
  };
  for (const std::string_view key : kOfFlow) add(key, StepText(step, key));
  add(kHost, AzkabanHost(step));
  return tags;
}

}  // namespace tony
