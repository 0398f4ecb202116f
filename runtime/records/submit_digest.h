// What a submit asks to be run, as hashes: whether two submits under one request id ask for the same. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tony {

// "command", "roles", "environment", "checkpoints" and "files", each with a SHA-256. Not of the owner, the try, times,
// names and links for people, paths of sources, timers, the limits of watching, values of secrets, __pycache__. Empty:
// of a job that a release without digests has made.
struct SubmitDigest {
  std::map<std::string, std::string> parts;
  bool operator==(const SubmitDigest&) const = default;
};

// The parts that both have, and not alike.
std::vector<std::string> DiffersIn(const SubmitDigest& a, const SubmitDigest& b);

}  // namespace tony
