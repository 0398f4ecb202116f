#include "runtime/config/xml_text.h"

#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <pugixml.hpp>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/config/config_text.h"
#include "runtime/config/configuration.h"
#include "runtime/config/properties.h"
#include "runtime/os/start_program.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<std::string> OfUser(std::string UnixUser::*field) {
  const auto user = FindUser(getuid());
  if (!user.ok() || !*user) return std::nullopt;
  return (**user).*field;
}

std::optional<std::string> OfSystem(std::string_view name) {
  utsname system{};
  if (uname(&system) != 0) return std::nullopt;
  if (name == "os.name") return std::string(system.sysname);
  if (name == "os.version") return std::string(system.release);
  const std::string machine = system.machine;
  return machine == "x86_64" ? "amd64" : machine;  // Java's name
}

constexpr std::string_view kIconv = "/usr/bin/iconv";
constexpr auto kLimit = std::chrono::seconds(10);
constexpr size_t kLongestDeclaration = 200;

std::string DeclaredEncoding(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return "UTF-8";
  if (text.starts_with("\xFE\xFF") || text.starts_with(std::string_view("\0<", 2))) return "UTF-16BE";
  if (text.starts_with("\xFF\xFE") || text.starts_with(std::string_view("<\0", 2))) return "UTF-16LE";
  if (!text.starts_with("<?xml")) return "UTF-8";
  const std::string_view declaration = text.substr(0, std::min(text.find("?>"), kLongestDeclaration));
  const size_t at = declaration.find("encoding");
  const size_t open = at == declaration.npos ? at : declaration.find_first_of("'\"", at);
  const size_t close = open == declaration.npos ? open : declaration.find(declaration[open], open + 1);
  if (close == declaration.npos) return "UTF-8";
  const std::string_view name = declaration.substr(open + 1, close - open - 1);
  // A declaration of UTF-16 is wrong at this point, because a text in UTF-16 would have begun with other bytes.
  return ToLower(name).starts_with("utf-16") ? "UTF-8" : std::string(name);
}

bool IsEncodingName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

Result<std::string> Iconv(std::string_view text, const std::string& encoding) {
  const UniqueFd memory(memfd_create("xml", MFD_CLOEXEC));
  if (!memory.valid() || write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Error{ErrorCode::kInvalid, ErrnoText(errno)};
  const std::string file = StrCat("/proc/", getpid(), "/fd/", memory.get());
  const auto answer = RunProgram({std::string(kIconv), "-f", encoding, "-t", "UTF-8", file}, kLimit);
  if (!answer.ok()) return Error{ErrorCode::kInvalid, answer.error().message};
  if (answer->exit_code == 0 && IsUtf8(answer->output)) return answer->output;
  return Error{ErrorCode::kInvalid, "iconv does not know this encoding, or the text is not valid in it"};
}

constexpr size_t kMostNested = 20;
constexpr size_t kMaxIncludedBytes = 2 * kMaxFileBytes;  // limit for all files together

constexpr unsigned kParseOptions = pugi::parse_default | pugi::parse_ws_pcdata_single | pugi::parse_doctype;

// The files that are being read. Each file after the first one is included by the file before it.
struct Inclusion {
  struct File {
    std::filesystem::path path;  // without links, to detect cycles
    std::string name;            // for messages
  };
  std::vector<File> open;
  size_t bytes = 0;  // bytes read so far
};

// Returns true if the element has this name, with any namespace prefix.
bool IsElement(pugi::xml_node node, std::string_view local_name) {
  const std::string_view name = node.name();
  return name == local_name || name.ends_with(StrCat(":", local_name));
}

class HadoopXml {
 public:
  HadoopXml(std::string_view text, const std::string& name, Inclusion& inclusion)
      : text_(text), name_(name), lines_(text), inclusion_(inclusion) {}

  Status ParseInto(Properties& properties) const {
    TRY(CheckConfigText(text_, name_));
    TRY(CheckCharacterReferences());
    pugi::xml_document document;
    const auto loaded = document.load_buffer(text_.data(), text_.size(), kParseOptions, pugi::encoding_utf8);
    if (!loaded) return Malformed(loaded);
    for (const auto node : document.children()) {
      if (node.type() == pugi::node_doctype) return Failure(node, "document type declarations are not accepted");
      if (node.type() == pugi::node_element) TRY(ReadConfiguration(node, properties));
    }
    return Ok();
  }

 private:
  // Refuses a reference to NUL, because pugixml would end the text there without an error.
  Status CheckCharacterReferences() const {
    for (size_t at = text_.find("&#"); at != std::string_view::npos; at = text_.find("&#", at + 2)) {
      std::string_view digits = text_.substr(at + 2);
      if (digits.starts_with('x')) digits.remove_prefix(1);
      const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
      if (zeros > 0 && digits.substr(zeros).starts_with(';')) return FailureAt(at, "the text contains a NUL character");
    }
    return Ok();
  }

  Status ReadConfiguration(pugi::xml_node configuration, Properties& properties) const {
    if (configuration.name() != std::string_view("configuration")) {
      return Failure(configuration, StrCat("expected <configuration>, not <", configuration.name(), ">"));
    }
    return ReadProperties(configuration, properties);
  }

  Status ReadProperties(pugi::xml_node parent, Properties& properties) const {
    for (const auto node : parent.children()) {
      if (node.type() != pugi::node_element) continue;
      if (IsElement(node, "include")) {
        TRY(Include(node, properties));
        continue;
      }
      if (node.name() != std::string_view("property")) {
        return Failure(node, StrCat("expected <property>, not <", node.name(), ">"));
      }
      TRY(ReadProperty(node, properties));
    }
    return Ok();
  }

  // Reads an XInclude element, as far as Hadoop's files use it: a whole local file, and a fallback for a file that
  // cannot be read.
  Status Include(pugi::xml_node node, Properties& properties) const {
    TRY_ASSIGN(const Inclusion::File file, WhatIsIncluded(node));
    const auto text = ReadTextFile(file.path);
    if (!text.ok()) {
      for (const auto child : node.children())
        if (IsElement(child, "fallback")) return ReadProperties(child, properties);
      return Failure(node, StrCat("include ", file.name, ": ", text.error().message));
    }
    inclusion_.bytes += text->size();
    if (inclusion_.bytes > kMaxIncludedBytes)
      return Failure(node, StrCat("include ", file.name, ": the included files have more than ",
                                  kMaxIncludedBytes >> 20, " MiB together"));
    inclusion_.open.push_back(file);
    TRY_ASSIGN(const std::string decoded, XmlAsUtf8(*text, file.name));
    TRY(HadoopXml(decoded, file.name, inclusion_).ParseInto(properties));
    inclusion_.open.pop_back();
    return Ok();
  }

  Result<Inclusion::File> WhatIsIncluded(pugi::xml_node node) const {
    std::string href = node.attribute("href").value();
    if (inclusion_.open.empty()) return Failure(node, "include: this file cannot include other files");
    if (href.empty()) return Failure(node, "include: expected href=\"FILE\"");
    if (node.attribute("xpointer") ||
        (node.attribute("parse") && node.attribute("parse").value() != std::string_view("xml")))
      return Failure(node, StrCat("include ", href, ": only whole XML files can be included"));
    if (href.starts_with("file:")) href.erase(0, href.starts_with("file://") ? 7 : 5);
    if (href.find("://") != std::string::npos)
      return Failure(node, StrCat("include ", href, ": only local files can be included"));
    std::error_code ignored;
    const auto path = std::filesystem::weakly_canonical(inclusion_.open.back().path.parent_path() / href, ignored);
    Inclusion::File file{path, (std::filesystem::path(name_).parent_path() / href).string()};
    TRY(CheckNesting(node, file));
    return file;
  }

  Status CheckNesting(pugi::xml_node node, const Inclusion::File& file) const {
    std::string chain;
    bool is_cycle = false;
    for (const Inclusion::File& outer : inclusion_.open) {
      is_cycle = is_cycle || outer.path == file.path;
      if (is_cycle) chain += StrCat(outer.name, " > ");
    }
    if (is_cycle)
      return Failure(node, StrCat("include: these files include one another in a cycle: ", chain, file.name));
    if (inclusion_.open.size() <= kMostNested) return Ok();
    return Failure(node,
                   StrCat("include ", file.name, ": included files are nested more than ", kMostNested, " levels deep"));
  }

  // Reads a property. Name, value and final are elements or, in Hadoop's short form, attributes. Without a value the
  // key is not set.
  Status ReadProperty(pugi::xml_node node, Properties& properties) const {
    TRY_ASSIGN(const auto name, Part(node, "name"));
    TRY_ASSIGN(auto value, Part(node, "value"));
    TRY_ASSIGN(const auto final, Part(node, "final"));
    const std::string key(Trim(name.value_or("")));
    if (key.empty()) return Failure(node, "this <property> has no <name>");
    const Property* present = properties.Find(key);
    if (!value || (present && present->is_final)) return Ok();
    properties.Set(key,
                   {std::move(*value), StrCat(name_, ":", LineOf(node)), ToLower(Trim(final.value_or(""))) == "true"});
    return Ok();
  }

  Result<std::optional<std::string>> Part(pugi::xml_node property, const char* part) const {
    std::optional<std::string> text;
    if (const auto attribute = property.attribute(part)) text = attribute.value();
    const auto element = property.child(part);
    if (!element) return text;
    text = "";
    for (const auto child : element.children()) {
      if (child.type() == pugi::node_element) {
        return Failure(child, StrCat("<", part, "> contains <", child.name(), ">; a < in a text is written &lt;"));
      }
      if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) text->append(child.value());
    }
    return text;
  }

  Error Malformed(const pugi::xml_parse_result& result) const {
    if (result.status == pugi::status_no_document_element) {
      return FailureAt(text_.size(), "expected <configuration>, but the file contains no element");
    }
    std::string what = result.description();
    if (!what.empty()) what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    return FailureAt(static_cast<size_t>(result.offset), StrCat("malformed XML: ", what));
  }

  size_t LineOf(pugi::xml_node node) const { return lines_.LineOf(static_cast<size_t>(node.offset_debug())); }
  Error Failure(pugi::xml_node node, std::string_view what) const {
    return {ErrorCode::kInvalid, StrCat(name_, ":", LineOf(node), ": ", what)};
  }
  Error FailureAt(size_t offset, std::string_view what) const {
    return {ErrorCode::kInvalid, StrCat(name_, ":", lines_.LineOf(offset), ": ", what)};
  }

  const std::string_view text_;
  const std::string& name_;
  const LineIndex lines_;
  Inclusion& inclusion_;
};

// Replaces characters that XML 1.0 cannot express: most control characters, U+FFFE and U+FFFF. pugixml would write
// control characters as numeric references, which XML 1.0 does not allow either.
std::string XmlText(const std::string& text) {
  std::string out = ReplaceInvalidUtf8(text);
  for (char& c : out) {
    if (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') c = '?';
  }
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (size_t at = out.find(none); at != out.npos; at = out.find(none, at)) out.replace(at, none.size(), "?");
  }
  return out;
}

class StringWriter : public pugi::xml_writer {
 public:
  void write(const void* data, size_t size) override { text.append(static_cast<const char*>(data), size); }
  std::string text;
};

}  // namespace

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::string> FromEnvironment(const std::string& name, const EnvironmentLookup& environment) {
  const size_t dash = name.find('-');
  if (dash == std::string::npos) return environment(name);
  const bool or_empty = dash > 0 && name[dash - 1] == ':';
  const auto value = environment(name.substr(0, or_empty ? dash - 1 : dash));
  if (value && !(or_empty && value->empty())) return value;
  return name.substr(dash + 1);
}

std::optional<std::string> SystemProperty(std::string_view name) {
  if (name == "user.name") return OfUser(&UnixUser::name);
  if (name == "user.home") return OfUser(&UnixUser::folder);
  if (name == "user.dir") {
    std::error_code error;
    const std::filesystem::path here = std::filesystem::current_path(error);
    return error ? std::nullopt : std::optional<std::string>(here.string());
  }
  if (name == "java.io.tmpdir") return "/tmp";  // Java ignores TMPDIR
  if (name == "os.name" || name == "os.version" || name == "os.arch") return OfSystem(name);
  if (name == "file.separator") return "/";
  if (name == "path.separator") return ":";
  if (name == "line.separator") return "\n";
  return std::nullopt;
}

bool CannotBeShellVariable(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == 0 || dot == name.npos || name.ends_with('.')) return false;
  return std::ranges::all_of(name.substr(0, dot), IsWordCharacter) &&
         std::ranges::all_of(name.substr(dot), [](char c) { return IsWordCharacter(c) || c == '.' || c == '-'; });
}

Result<std::string> XmlAsUtf8(std::string_view text, const std::string& name) {
  const std::string encoding = DeclaredEncoding(text);
  const std::string lower = ToLower(encoding);
  if (lower == "utf-8" || lower == "utf8" || lower == "us-ascii" || lower == "ascii") return std::string(text);
  if (lower == "iso-8859-1" || lower == "latin1") return Utf8FromLatin1(text);
  Result<std::string> read =
      IsEncodingName(encoding) ? Iconv(text, encoding) : Error{ErrorCode::kInvalid, "not the name of an encoding"};
  if (!read.ok())
    return Error{ErrorCode::kInvalid, StrCat(name, ": encoding \"", encoding.substr(0, 40),
                                             "\": ", read.error().message, "; write the file in UTF-8")};
  if (read->starts_with("\xEF\xBB\xBF")) read->erase(0, 3);
  return read;
}

Result<Properties> ParseRawHadoopXml(std::string_view text, const std::string& name) {
  Inclusion none;
  Properties properties;
  TRY_ASSIGN(const std::string decoded, XmlAsUtf8(text, name));
  TRY(HadoopXml(decoded, name, none).ParseInto(properties));
  return properties;
}

Result<Properties> ParseHadoopXmlWithIncludes(const std::filesystem::path& file, std::string_view text,
                                              const std::string& name) {
  std::error_code ignored;
  Inclusion inclusion{.open = {{std::filesystem::weakly_canonical(file, ignored), name}}};
  Properties properties;
  TRY_ASSIGN(const std::string decoded, XmlAsUtf8(text, name));
  TRY(HadoopXml(decoded, name, inclusion).ParseInto(properties));
  return properties;
}

Result<Properties> ParseHadoopXml(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const Properties properties, ParseRawHadoopXml(text, name));
  return ExpandVariables(properties);
}

std::string ToHadoopXml(const Configuration& configuration) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("configuration");
  for (const ConfiguredValue& value : configuration) {
    pugi::xml_node property = root.append_child("property");
    const auto add = [&](const char* name, const std::string& text) {
      property.append_child(name).text().set(XmlText(text).c_str());
    };
    add("name", value.key);
    add("value", value.value);
    add("final", "false");
    add("source", value.source);
  }
  StringWriter writer;
  document.save(writer, "", pugi::format_default, pugi::encoding_utf8);
  return writer.text;
}

}  // namespace tony
