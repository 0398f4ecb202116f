#include "runtime/hadoop/auth_to_local.h"

#include <optional>
#include <regex>
#include <vector>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr const char* kRulesKey = "hadoop.security.auth_to_local";

// The parts of a principal: its realm, its name, and the host if it has one.
std::vector<std::string> PartsOf(const std::string& principal) {
  const size_t at = principal.rfind('@');
  std::vector<std::string> parts = {at == std::string::npos ? "" : principal.substr(at + 1)};
  for (std::string& part : Split(principal.substr(0, at), '/')) parts.push_back(std::move(part));
  return parts;
}

// Replaces $0 by the realm, $1 by the name, and $2 by the host.
std::string Filled(const std::string& format, const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    const size_t number = format[i] == '$' && i + 1 < format.size() ? static_cast<size_t>(format[i + 1] - '0') : 10;
    if (number < parts.size()) {
      text += parts[number];
      ++i;
    } else {
      text.push_back(format[i]);
    }
  }
  return text;
}

// RULE:[2:$1@$0](regex)s/regex/text/g/L, of which all parts behind "]" may be missing.
std::optional<std::string> Applied(const std::string& rule, const std::vector<std::string>& parts,
                                   const std::string& default_realm) {
  static const std::regex form(R"((DEFAULT|RULE:\[(\d+):([^\]]*)\](\(([^)]*)\))?(s/([^/]*)/([^/]*)/(g)?)?)/?(L)?)");
  std::smatch of;
  if (!std::regex_match(rule, of, form)) throw std::regex_error(std::regex_constants::error_badrepeat);
  std::string name;
  if (rule.starts_with("DEFAULT")) {
    if (parts[0] != default_realm) return std::nullopt;
    name = parts[1];
  } else {
    if (ParseInt(of[2].str()) != static_cast<int64_t>(parts.size()) - 1) return std::nullopt;
    name = Filled(of[3], parts);
    if (of[4].matched && !std::regex_match(name, std::regex(of[5].str()))) return std::nullopt;
    const auto count = of[9].matched ? std::regex_constants::format_default : std::regex_constants::format_first_only;
    if (of[6].matched) name = std::regex_replace(name, std::regex(of[7].str()), of[8].str(), count);
  }
  return of[10].matched ? ToLower(name) : name;
}

}  // namespace

Result<std::string> UserOf(const std::string& principal, const std::string& rules, const std::string& default_realm) {
  // The name of an impersonated user has no realm.
  if (principal.find_first_of("/@") == std::string::npos) return principal;
  std::string text = rules;
  for (char& c : text)
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  for (const std::string& rule : Split(text, ' ')) {
    if (rule.empty()) continue;
    std::optional<std::string> name;
    try {
      name = Applied(rule, PartsOf(principal), default_realm);
    } catch (const std::regex_error&) {
      return InvalidError(kRulesKey, ": \"", rule, "\" is not a rule, expected RULE:[N:FORMAT](REGEX)s/REGEX/TEXT/");
    }
    if (name && !name->empty() && name->find_first_of("/@") == std::string::npos) return *std::move(name);
  }
  return InvalidError(kRulesKey, ": no rule gives ", principal,
                      " a user name; set the value that the NameNode has in core-site.xml");
}

}  // namespace tony::hadoop
