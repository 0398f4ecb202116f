#include "runtime/base/strings.h"
#include "runtime/config/keys.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kTonyPrefix = "tony.";
constexpr int kMostUnknown = 20;  // a wrong file altogether should not fill the screen

bool IsOff(std::string_view value) { return Trim(value).empty() || ToLower(Trim(value)) == "false"; }

// The part between "tony." and the next dot.
std::string_view SecondPart(std::string_view key) {
  key.remove_prefix(kTonyPrefix.size());
  return key.substr(0, key.find('.'));
}

bool IsOfRole(const Key* row) { return row && row->name.starts_with("tony.<role>."); }

// Whether another name in the place of the role would make it a known key.
bool HasBadRole(const std::string& key) {
  if (IsReservedRole(SecondPart(key))) return false;
  const size_t end = kTonyPrefix.size() + SecondPart(key).size();
  return IsOfRole(FindKey(StrCat("tony.role", std::string_view(key).substr(end))));
}

bool NamesAGroup(const std::string& key) {
  return key.starts_with("tony.application.group.") || key.find(".timeout.after.") != key.npos;
}

std::string UnknownText(const std::string& key, const Property& property) {
  const std::string ignored = StrCat(key, " (from ", property.origin, "): ");
  if (HasBadRole(key)) return ignored + "ignored, as in TonY: a role's name has lower-case letters only";
  const std::string nearest = NearestKey(key);
  if (!nearest.empty()) return StrCat(ignored, "unknown key, ignored; did you mean ", nearest, "?");
  return ignored + (NamesAGroup(key)
                        ? "ignored, as in TonY: a role's name has lower-case letters only, a group's letters"
                        : "unknown key, ignored");
}

class KeyCheck {
 public:
  KeyCheck(const PropertyValues& values, Warnings& warnings) : values_(values), warnings_(warnings) {}

  Status Run() {
    for (const auto& [key, property] : values_.properties().all()) {
      if (key.starts_with(kTonyPrefix)) TRY(CheckKey(key, property));
    }
    if (unknown_ > kMostUnknown) warnings_.push_back(StrCat(unknown_ - kMostUnknown, " more unknown tony.* keys"));
    return Ok();
  }

 private:
  Status CheckKey(const std::string& key, const Property& property) {
    const Key* row = FindKey(key);
    if (!row) {
      if (++unknown_ <= kMostUnknown) warnings_.push_back(UnknownText(key, property));
      return Ok();
    }
    if (row->effect == KeyEffect::kRefused && !IsOff(property.value))
      return values_.Bad(key, StrCat("not supported yet: ", row->reason));
    NoteNoEffect(key, property, *row);
    if (IsOfRole(row)) CheckRole(key, property);
    return Ok();
  }

  void NoteNoEffect(const std::string& key, const Property& property, const Key& row) {
    const std::string why = WhyNoEffect(row, scheduler_);
    if (why.empty() || row.effect == KeyEffect::kNotNeeded || IsDefault(row, property.value)) return;
    warnings_.push_back(StrCat(key, " (from ", property.origin, "): accepted, ", why));
  }

  // A role with instances set to 0 is switched off on purpose.
  void CheckRole(const std::string& key, const Property& property) {
    const std::string instances = StrCat(kTonyPrefix, SecondPart(key), ".instances");
    if (values_.Has(instances)) return;
    warnings_.push_back(StrCat(key, " (from ", property.origin, "): ignored, as ", instances, " is not set"));
  }

  const PropertyValues& values_;
  const std::string scheduler_ = SchedulerOf(values_);
  Warnings& warnings_;
  int unknown_ = 0;
};

}  // namespace

Status CheckKeys(const PropertyValues& values, Warnings& warnings) { return KeyCheck(values, warnings).Run(); }

}  // namespace tony
