// Reads objects that Java's ObjectOutputStream wrote (Java Object Serialization Specification, stream version 5).
// Supports what Hadoop's log indexes and keystores contain: objects of any class, strings, enum constants, collections
// and arrays of bytes. Other arrays, proxies, class objects and externalizable classes are rejected.
//
// The bytes are not trusted: nesting, classes, objects and values are limited. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"

namespace tony::hadoop {

struct JavaObject;
// Null, a number, or an object. Numbers include characters and booleans. Floating-point numbers have their bits.
using JavaValue = std::variant<std::monostate, int64_t, const JavaObject*>;

struct JavaClass {
  struct Field {
    std::string name;
    char type;  // e.g. 'J' or 'L'
  };
  std::string name;  // e.g. "java.util.HashMap"
  uint8_t flags = 0;
  std::vector<Field> fields;
  const JavaClass* parent = nullptr;
  // False while the description of the class is being read.
  bool is_complete = false;
};

struct JavaObject {
  const JavaClass* of = nullptr;  // null: a string
  // The text of a string, the name of an enum's constant, or the content of an array of bytes.
  std::string text;
  // The fields of the class, after those of its parents.
  std::vector<JavaValue> fields;
  // Objects that the class wrote after its fields: the elements of a list, or the keys and values of a map.
  std::vector<JavaValue> elements;

  bool Is(std::string_view class_name) const { return of && of->name == class_name; }
  // Returns null if the class has no such field.
  JavaValue Field(std::string_view name) const;
};

class JavaObjects {
 public:
  // Returns the first object in the stream. Bytes behind this object are ignored. kInvalid: the bytes are malformed, or
  // have an unsupported type, or more objects than the limit.
  static Result<JavaObjects> Parse(std::string_view bytes);

  // The root lives as long as this JavaObjects.
  const JavaValue& root() const { return root_; }
  // Returns the number of bytes of the first object, with the bytes at the start of the stream.
  size_t size() const { return size_; }

 private:
  friend class JavaParser;
  std::deque<JavaClass> classes_;
  std::deque<JavaObject> objects_;
  JavaValue root_;
  size_t size_ = 0;
};

}  // namespace tony::hadoop
