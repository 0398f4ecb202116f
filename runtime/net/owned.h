// Owns what a C library has made, and frees it in its way.
#pragma once

#include <memory>

namespace tony {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* it) const {
    Free(it);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;

}  // namespace tony
