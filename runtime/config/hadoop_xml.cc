#include <cctype>
#include <optional>
#include <pugixml.hpp>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/properties.h"

namespace tony {
namespace {

constexpr unsigned kParseOptions = pugi::parse_default | pugi::parse_ws_pcdata_single | pugi::parse_doctype;

class HadoopXml {
 public:
  HadoopXml(std::string_view text, const std::string& name) : text_(text), name_(name), lines_(text) {}

  Result<Properties> Parse() {
    TRY(CheckConfigText(text_, name_));
    TRY(CheckCharacterReferences());
    pugi::xml_document document;
    const auto loaded = document.load_buffer(text_.data(), text_.size(), kParseOptions, pugi::encoding_utf8);
    if (!loaded) return Malformed(loaded);
    Properties properties;
    for (const auto node : document.children()) {
      if (node.type() == pugi::node_doctype) return Failure(node, "document type declarations are not accepted");
      if (node.type() == pugi::node_element) TRY(ReadConfiguration(node, properties));
    }
    return properties;
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
    for (const auto node : configuration.children()) {
      if (node.type() != pugi::node_element) continue;
      if (node.name() != std::string_view("property")) {
        return Failure(node, StrCat("expected <property>, not <", node.name(), ">"));
      }
      TRY(ReadProperty(node, properties));
    }
    return Ok();
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
};

}  // namespace

Result<Properties> ParseRawHadoopXml(std::string_view text, const std::string& name) {
  return HadoopXml(text, name).Parse();
}

Result<Properties> ParseHadoopXml(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const Properties properties, ParseRawHadoopXml(text, name));
  return ExpandVariables(properties);
}

}  // namespace tony
