#include "runtime/hadoop/java_objects.h"

#include <algorithm>
#include <utility>

#include "runtime/hadoop/credentials.h"

namespace tony::hadoop {
namespace {

// Hadoop's indexes have eight levels, seven classes, and at most six fields in a class.
constexpr int kDeepest = 32;
constexpr size_t kMostClasses = 16;
constexpr uint64_t kMostFields = 64;
// A log has two objects and eight values. These many take about 100 MB of memory.
constexpr size_t kMostObjects = 1 << 19;
constexpr size_t kMostValues = 2 << 20;
constexpr uint64_t kFirstHandle = 0x7e0000;
constexpr std::string_view kByteArrayClass = "[B";
constexpr std::string_view kStreamMagic("\xac\xed\0\5", 4);

// Names of the specification.
enum Type : uint8_t {
  kNull = 0x70,
  kReference = 0x71,
  kClassDescription = 0x72,
  kObject = 0x73,
  kString = 0x74,
  kArray = 0x75,
  kBlockData = 0x77,
  kEndBlockData = 0x78,
  kBlockDataLong = 0x7a,
  kLongString = 0x7c,
  kEnum = 0x7e,
};
constexpr uint8_t kWritesItself = 1;
constexpr uint8_t kSerializable = 2;
constexpr uint8_t kEnumClass = 16;

int SizeOf(char type) {
  switch (type) {
    case 'B':
    case 'Z':
      return 1;
    case 'C':
    case 'S':
      return 2;
    case 'F':
    case 'I':
      return 4;
    case 'D':
    case 'J':
      return 8;
    default:
      return 0;
  }
}

// Returns the class and its parents, the topmost one first.
std::vector<const JavaClass*> Lineage(const JavaClass* of) {
  std::vector<const JavaClass*> classes;
  for (; of; of = of->parent) classes.push_back(of);
  std::ranges::reverse(classes);
  return classes;
}

}  // namespace

JavaValue JavaObject::Field(std::string_view name) const {
  size_t index = 0;
  for (const JavaClass* one : Lineage(of))
    for (const JavaClass::Field& field : one->fields) {
      if (index < fields.size() && field.name == name) return fields[index];
      ++index;
    }
  return {};
}

class JavaParser {
 public:
  JavaParser(std::string_view bytes, JavaObjects& objects) : bytes_(bytes), all_(objects) {}

  Status Parse() {
    TRY_ASSIGN(const std::string_view magic, Take(kStreamMagic.size()));
    if (magic != kStreamMagic) return Malformed();
    TRY_ASSIGN(all_.root_, Value(kDeepest));
    all_.size_ = at_;
    return Ok();
  }

 private:
  using Handle = std::variant<JavaClass*, JavaObject*>;

  Error Malformed() const { return InvalidError("malformed Java object near byte ", at_); }

  Result<std::string_view> Take(uint64_t count) {
    if (count > bytes_.size() - at_) return InvalidError("the Java object ends early");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // Reads a big-endian number. Its highest bit is the sign.
  Result<int64_t> Number(int size) {
    TRY_ASSIGN(const std::string_view bytes, Take(static_cast<uint64_t>(size)));
    return SignedBigEndian(bytes);
  }
  Result<uint64_t> Unsigned(int size) {
    TRY_ASSIGN(const int64_t number, Number(size));
    return size == 8 ? static_cast<uint64_t>(number) : static_cast<uint64_t>(number) & ((1ULL << (8 * size)) - 1);
  }
  // `size` is the size of the text's length, which precedes the text.
  Result<std::string> Text(int size) {
    TRY_ASSIGN(const uint64_t length, Unsigned(size));
    TRY_ASSIGN(const std::string_view text, Take(length));
    return std::string(text);
  }

  Result<JavaObject*> NewObject(const JavaClass* of, std::string text = "") {
    if (all_.objects_.size() >= kMostObjects) return InvalidError("the Java object contains too many objects");
    JavaObject* object = &all_.objects_.emplace_back();
    object->of = of;
    object->text = std::move(text);
    handles_.push_back(object);
    return object;
  }

  template <class T>
  Result<T*> Referenced() {
    TRY_ASSIGN(const uint64_t handle, Unsigned(4));
    if (handle < kFirstHandle || handle - kFirstHandle >= handles_.size()) return Malformed();
    T* const* known = std::get_if<T*>(&handles_[handle - kFirstHandle]);
    return known ? Result<T*>(*known) : Malformed();
  }

  // `depth` is the number of levels that may still be entered.
  Result<JavaValue> Value(int depth) {
    TRY_ASSIGN(const uint64_t type, Unsigned(1));
    return ValueOf(type, depth);
  }
  Result<JavaValue> ValueOf(uint64_t type, int depth) {
    if (depth == 0) return InvalidError("the Java object is nested too deeply");
    if (++values_ > kMostValues) return InvalidError("the Java object contains too many values");
    if (type == kNull) return JavaValue();
    TRY_ASSIGN(const JavaObject* object, Object(type, depth - 1));
    return JavaValue(object);
  }

  Result<JavaObject*> Object(uint64_t type, int depth) {
    switch (type) {
      case kReference:
        return Referenced<JavaObject>();
      case kString:
      case kLongString: {
        TRY_ASSIGN(std::string text, Text(type == kString ? 2 : 8));
        return NewObject(nullptr, std::move(text));
      }
      case kEnum:
        return Enum(depth);
      case kObject:
        return PlainObject(depth);
      case kArray:
        return Bytes(depth);
      default:
        return InvalidError("unsupported type ", type, " in a Java object near byte ", at_);
    }
  }

  Result<JavaObject*> Enum(int depth) {
    TRY_ASSIGN(const JavaClass* of, Class(depth));
    if (!of || !(of->flags & kEnumClass)) return Malformed();
    TRY_ASSIGN(JavaObject * constant, NewObject(of));
    TRY_ASSIGN(const JavaValue name, Value(depth));
    const auto* text = std::get_if<const JavaObject*>(&name);
    if (!text || (*text)->of) return Malformed();
    constant->text = (*text)->text;
    return constant;
  }

  Result<JavaObject*> Bytes(int depth) {
    TRY_ASSIGN(const JavaClass* of, Class(depth));
    if (!of || of->name != kByteArrayClass) return InvalidError("unsupported array in a Java object near byte ", at_);
    TRY_ASSIGN(JavaObject * array, NewObject(of));
    TRY_ASSIGN(array->text, Text(4));
    return array;
  }

  Result<JavaObject*> PlainObject(int depth) {
    TRY_ASSIGN(const JavaClass* of, Class(depth));
    if (!of) return Malformed();
    TRY_ASSIGN(JavaObject * object, NewObject(of));
    for (const JavaClass* one : Lineage(of)) {
      if (!(one->flags & kSerializable)) return InvalidError("unsupported Java class ", one->name);
      for (const JavaClass::Field& field : one->fields) {
        TRY_ASSIGN(JavaValue value, FieldValue(field.type, depth));
        object->fields.push_back(value);
      }
      if (one->flags & kWritesItself) TRY(ReadOwnData(depth, &object->elements));
    }
    return object;
  }

  Result<JavaValue> FieldValue(char type, int depth) {
    const int size = SizeOf(type);
    if (size == 0) return Value(depth);
    if (++values_ > kMostValues) return InvalidError("the Java object contains too many values");
    TRY_ASSIGN(const int64_t number, Number(size));
    return JavaValue(number);
  }

  // Reads what a class wrote after its fields. Appends objects to `elements`, if it is not null. Skips other data.
  Status ReadOwnData(int depth, std::vector<JavaValue>* elements) {
    for (;;) {
      TRY_ASSIGN(const uint64_t type, Unsigned(1));
      if (type == kEndBlockData) return Ok();
      if (type == kBlockData || type == kBlockDataLong) {
        TRY_ASSIGN(const uint64_t length, Unsigned(type == kBlockData ? 1 : 4));
        TRY(Take(length));
        continue;
      }
      TRY_ASSIGN(const JavaValue value, ValueOf(type, depth));
      if (elements) elements->push_back(value);
    }
  }

  // Reads a class description. Returns null where the stream has none.
  Result<const JavaClass*> Class(int depth) {
    if (depth == 0) return InvalidError("the Java object is nested too deeply");
    TRY_ASSIGN(const uint64_t type, Unsigned(1));
    if (type == kNull) return static_cast<const JavaClass*>(nullptr);
    if (type == kReference) {
      TRY_ASSIGN(const JavaClass* known, Referenced<JavaClass>());
      // A class cannot be its own parent.
      return known->is_complete ? Result<const JavaClass*>(known) : Malformed();
    }
    if (type != kClassDescription) return InvalidError("unsupported type ", type, " of a Java class near byte ", at_);
    return NewClass(depth - 1);
  }

  Result<const JavaClass*> NewClass(int depth) {
    if (all_.classes_.size() >= kMostClasses) return InvalidError("the Java object has too many classes");
    JavaClass* made = &all_.classes_.emplace_back();
    TRY_ASSIGN(made->name, Text(2));
    constexpr uint64_t kVersion = 8;
    TRY(Take(kVersion));
    handles_.push_back(made);
    TRY_ASSIGN(const uint64_t flags, Unsigned(1));
    made->flags = static_cast<uint8_t>(flags);
    TRY_ASSIGN(const uint64_t count, Unsigned(2));
    if (count > kMostFields) return InvalidError("a Java class has too many fields");
    for (uint64_t i = 0; i < count; ++i) {
      TRY_ASSIGN(const std::string_view type, Take(1));
      TRY_ASSIGN(std::string name, Text(2));
      if (SizeOf(type[0]) == 0) TRY(Value(depth));  // the name of the field's class
      made->fields.push_back({std::move(name), type[0]});
    }
    TRY(ReadOwnData(depth, nullptr));
    TRY_ASSIGN(made->parent, Class(depth));
    made->is_complete = true;
    return made;
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  size_t values_ = 0;
  JavaObjects& all_;
  std::vector<Handle> handles_;
};

Result<JavaObjects> JavaObjects::Parse(std::string_view bytes) {
  JavaObjects objects;
  TRY(JavaParser(bytes, objects).Parse());
  return objects;
}

}  // namespace tony::hadoop
