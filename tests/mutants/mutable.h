// Comparisons that can be changed without compiling again. scripts/mutants writes `a < b` as `a < ::mutants::Op<7>() <
// b` in its copy of the sources: the first `<` wraps a, the second one compares, and the precedence stays the same.
//
// Number 7 is the mutant with the neighbour (`<=` for `<`, `!=` for `==`), 8 is the opposite (`>=`). A file holds the
// number of the chosen mutant. If the number is -1, every mutant that would have changed a result is written into
// another file. From that file the script knows which mutants a test cannot catch, without running the test for each of
// them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <initializer_list>

#include "tests/mutants/mutable_files.h"  // made by scripts/mutants: kChosenFile, kNotedFile

namespace mutants {

inline int ReadChosen() {
  int number = 0;
  if (std::FILE* file = std::fopen(kChosenFile, "re")) {
    if (std::fscanf(file, "%d", &number) != 1) number = 0;
    std::fclose(file);
  }
  return number;
}

// Returns the number of the chosen mutant, or 0.
inline int Chosen() {
  static const int number = ReadChosen();
  return number;
}

// Writes at once and with a single write, because this process may be killed at any moment and other processes write
// into the file, too.
inline void NoteOnce(std::atomic<bool>& noted, int number) {
  if (noted.exchange(true)) return;
  char line[16];
  const int size = std::snprintf(line, sizeof line, "%d\n", number);
  const int fd = open(kNotedFile, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const auto ignored = write(fd, line, static_cast<size_t>(size));
  close(fd);
}

template <int Id>
bool MakesNoDifference(bool same) {
  static std::atomic<bool> noted;
  if (Chosen() < 0 && !same) NoteOnce(noted, Id);
  return same;
}

template <int Id>
bool Pick(bool real, bool neighbour) {
  if (Chosen() == 0) return real;
  if (Chosen() == Id) return neighbour;
  if (Chosen() == Id + 1) return !real;
  MakesNoDifference<Id>(real == neighbour);
  MakesNoDifference<Id + 1>(false);
  return real;
}

template <int Id>
struct Op {};

template <int Id, class L>
struct Left {
  const L& value;
};

#define TONY_MUTABLE(OP, NEIGHBOUR)                      \
  template <int Id, class L>                             \
  Left<Id, L> operator OP(const L& value, Op<Id>) {      \
    return {value};                                      \
  }                                                      \
  template <int Id, class L, class R>                    \
  bool operator OP(Left<Id, L>&& left, const R& right) { \
    const bool real = left.value OP right;               \
    if (Chosen() == 0) return real;                      \
    return Pick<Id>(real, left.value NEIGHBOUR right);   \
  }
TONY_MUTABLE(<, <=)
TONY_MUTABLE(<=, <)
TONY_MUTABLE(>, >=)
TONY_MUTABLE(>=, >)
#undef TONY_MUTABLE

// The neighbour of == is its opposite. Id + 1 is never chosen.
#define TONY_MUTABLE(OP)                                 \
  template <int Id, class L>                             \
  Left<Id, L> operator OP(const L& value, Op<Id>) {      \
    return {value};                                      \
  }                                                      \
  template <int Id, class L, class R>                    \
  bool operator OP(Left<Id, L>&& left, const R& right) { \
    const bool real = left.value OP right;               \
    return Chosen() == 0 ? real : Pick<Id>(real, !real); \
  }
TONY_MUTABLE(==)
TONY_MUTABLE(!=)
#undef TONY_MUTABLE

// The mutant returns the other value.
template <int Id, class T>
T Min(const T& a, const T& b) {
  return Pick<Id>(true, a == b) ? std::min(a, b) : std::max(a, b);
}
template <int Id, class T>
T Max(const T& a, const T& b) {
  return Pick<Id>(true, a == b) ? std::max(a, b) : std::min(a, b);
}

template <int Id, class T>
T Min(std::initializer_list<T> all) {
  return Pick<Id>(true, std::min(all) == std::max(all)) ? std::min(all) : std::max(all);
}
template <int Id, class T>
T Max(std::initializer_list<T> all) {
  return Pick<Id>(true, std::min(all) == std::max(all)) ? std::max(all) : std::min(all);
}

// The mutants leave out the lower or the upper limit.
template <int Id, class T>
T Clamp(const T& value, const T& least, const T& most) {
  const bool low = value < least;
  const bool high = most < value;
  if (Chosen() == Id) return high ? most : value;
  if (Chosen() == Id + 1) return low ? least : value;
  MakesNoDifference<Id>(!low);
  MakesNoDifference<Id + 1>(!high);
  return std::clamp(value, least, most);
}

}  // namespace mutants
