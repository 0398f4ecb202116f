#include <pugixml.hpp>

#include "runtime/base/utf8.h"
#include "runtime/config/configuration.h"

namespace tony {
namespace {

// XML 1.0 has no way to say most control characters, not even by their numbers, which pugixml would write; nor U+FFFE
// and U+FFFF.
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
