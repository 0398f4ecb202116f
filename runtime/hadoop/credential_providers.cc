#include "runtime/hadoop/credential_providers.h"

#include <string_view>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/key_store.h"
#include "runtime/os/files.h"

namespace tony::hadoop {
namespace {

constexpr const char* kPasswordVariable = "HADOOP_CREDSTORE_PASSWORD";
constexpr const char* kPasswordFile = "hadoop.security.credstore.java-keystore-provider.password-file";
constexpr const char* kPlainText = "hadoop.security.credential.clear-text-fallback";
constexpr const char* kUsualPassword = "none";
// A password takes 500 bytes.
constexpr size_t kLargestProvider = 1 << 20;

using Folders = std::vector<std::filesystem::path>;
using SiteValue = SiteConfiguration::Value;

// Returns the password of the providers' files.
Result<std::string> ProviderPassword(const SiteConfiguration& site, const Folders& folders,
                                     const SiteConfiguration::Environment& environment) {
  if (auto variable = environment(kPasswordVariable)) return *std::move(variable);
  TRY_ASSIGN(const auto name, site.Find(kPasswordFile));
  if (!name || name->text.empty()) return std::string(kUsualPassword);
  for (const std::filesystem::path& folder : folders) {
    const auto text = ReadFile(folder / name->text);
    if (text.ok()) return std::string(Trim(*text));
    if (text.error().code != ErrorCode::kNotFound)
      return InvalidError(name->origin, ": ", kPasswordFile, ": ", text.error().message);
  }
  return InvalidError(name->origin, ": ", kPasswordFile, " is \"", name->text,
                      "\", expected the name of a file beside the site files");
}

// Returns the file of a provider.
Result<std::string> FileOf(const std::string& provider, const SiteValue& path) {
  for (const std::string_view scheme : {"jceks://file/", "localjceks://file/"})
    if (provider.starts_with(scheme)) return provider.substr(scheme.size() - 1);
  return InvalidError(path.origin, ": ", kCredentialProviders, " is \"", path.text,
                      "\", expected jceks://file/PATH or localjceks://file/PATH, because TonY reads only Java's "
                      "keystores on this machine");
}

}  // namespace

Result<std::optional<SiteConfiguration::Value>> FindPassword(const SiteConfiguration& site, const Folders& folders,
                                                             const SiteConfiguration::Environment& environment,
                                                             const std::string& key) {
  TRY_ASSIGN(const auto path, site.Find(kCredentialProviders));
  for (const std::string& provider : SplitAtAny(path ? path->text : "", ", \t\n")) {
    TRY_ASSIGN(const std::string file, FileOf(provider, *path));
    const std::string from = StrCat(path->origin, ": ", kCredentialProviders, ": ", file);
    const auto bytes = ReadFile(file);
    if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) continue;
    if (!bytes.ok()) return InvalidError(from, ": ", bytes.error().message);
    if (bytes->size() > kLargestProvider)
      return InvalidError(from, ": the file is larger than ", kLargestProvider >> 20, " MiB");
    TRY_ASSIGN(const std::string password, ProviderPassword(site, folders, environment));
    TRY_ASSIGN(auto secret, Annotate(SecretInJceks(*bytes, password, key), from));
    if (secret)
      return std::optional(SiteValue{*std::move(secret), StrCat(file, ", ", kCredentialProviders, ", ", path->origin)});
  }
  TRY_ASSIGN(const auto plain_text, site.Find(kPlainText));
  if (plain_text && ToLower(plain_text->text) == "false") return std::optional<SiteValue>();
  return site.Find(key);
}

}  // namespace tony::hadoop
