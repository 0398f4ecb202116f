#include <cctype>
#include <filesystem>
#include <optional>
#include <pugixml.hpp>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/properties.h"
#include "runtime/config/xml_encoding.h"

namespace tony {
namespace {

constexpr size_t kMostNested = 20;
constexpr size_t kMaxIncludedBytes = 2 * kMaxFileBytes;  // of all files together

constexpr unsigned kParseOptions = pugi::parse_default | pugi::parse_ws_pcdata_single | pugi::parse_doctype;

// The files that are being read, each included by the one before it.
struct Inclusion {
  struct File {
    std::filesystem::path path;  // without links, so that a cycle is seen
    std::string name;            // for messages
  };
  std::vector<File> open;
  size_t bytes = 0;  // read so far
};

bool IsInclude(pugi::xml_node node) {
  const std::string_view name = node.name();
  return name == "include" || name.ends_with(":include");
}

bool IsFallback(pugi::xml_node node) {
  const std::string_view name = node.name();
  return name == "fallback" || name.ends_with(":fallback");
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
  // pugixml would end a text there and say nothing.
  Status CheckCharacterReferences() const {
    for (size_t at = text_.find("&#"); at != std::string_view::npos; at = text_.find("&#", at + 2)) {
      std::string_view digits = text_.substr(at + 2);
      if (digits.starts_with('x')) digits.remove_prefix(1);
      const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
      if (zeros > 0 && digits.substr(zeros).starts_with(';')) return FailureAt(at, "a NUL character");
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
      if (IsInclude(node)) {
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

  // XInclude, as far as Hadoop's files use it: a whole local file, and what to read where there is none.
  Status Include(pugi::xml_node node, Properties& properties) const {
    TRY_ASSIGN(const Inclusion::File file, WhatIsIncluded(node));
    const auto text = ReadTextFile(file.path);
    if (!text.ok()) {
      for (const auto child : node.children())
        if (IsFallback(child)) return ReadProperties(child, properties);
      return Failure(node, StrCat("include ", file.name, ": ", text.error().message));
    }
    inclusion_.bytes += text->size();
    if (inclusion_.bytes > kMaxIncludedBytes)
      return Failure(node, StrCat("include ", file.name, ": more than ", kMaxIncludedBytes >> 20, " MiB in all files"));
    inclusion_.open.push_back(file);
    TRY_ASSIGN(const std::string decoded, XmlAsUtf8(*text, file.name));
    TRY(HadoopXml(decoded, file.name, inclusion_).ParseInto(properties));
    inclusion_.open.pop_back();
    return Ok();
  }

  Result<Inclusion::File> WhatIsIncluded(pugi::xml_node node) const {
    std::string href = node.attribute("href").value();
    if (inclusion_.open.empty()) return Failure(node, "include: no file may be included here");
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
    if (is_cycle) return Failure(node, StrCat("include: a cycle: ", chain, file.name));
    if (inclusion_.open.size() <= kMostNested) return Ok();
    return Failure(node, StrCat("include ", file.name, ": more than ", kMostNested, " files within one another"));
  }

  // Name, value and final are elements, or in Hadoop's short form attributes. Without a value the key is not set.
  Status ReadProperty(pugi::xml_node node, Properties& properties) const {
    TRY_ASSIGN(const auto name, Part(node, "name"));
    TRY_ASSIGN(auto value, Part(node, "value"));
    TRY_ASSIGN(const auto final, Part(node, "final"));
    const std::string key(Trim(name.value_or("")));
    if (key.empty()) return Failure(node, "a <property> without a <name>");
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
        return Failure(child, StrCat("<", part, "> holds <", child.name(), ">; a < in a text is written &lt;"));
      }
      if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) text->append(child.value());
    }
    return text;
  }

  Error Malformed(const pugi::xml_parse_result& result) const {
    if (result.status == pugi::status_no_document_element) {
      return FailureAt(text_.size(), "expected <configuration>, but the file holds no element");
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

}  // namespace

Result<Properties> ParseRawHadoopXml(std::string_view text, const std::string& name) {
  Inclusion none;
  Properties properties;
  TRY_ASSIGN(const std::string decoded, XmlAsUtf8(text, name));
  TRY(HadoopXml(decoded, name, none).ParseInto(properties));
  return properties;
}

Result<Properties> ParseHadoopXmlOf(const std::filesystem::path& file, std::string_view text, const std::string& name) {
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

}  // namespace tony
