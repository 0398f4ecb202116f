// The processes below this one, a subreaper, and how they are ended. Linux only.
//
// A process that ends hands its children to its nearest subreaper before anybody can reap it. So whoever has no child,
// living or dead, has no descendant: waitid() alone says that all are gone (ProcessRunner::ReapStrangers). A look at
// /proc does not: one that forks and ends every few milliseconds is dead or not yet listed in each of them.
//
// Loop thread only, and that is the main thread: whoever reaps children meanwhile would make a walk miss some.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>

namespace tony {

// What a walk down the tree met.
struct TreeWalk {
  std::set<pid_t> living;  // no zombies
  size_t in_kernel = 0;    // of these: cannot end before the kernel lets go of it (state D)

  std::string Describe() const;  // of some: "3 processes, process 4711 for one"
};

// Which children of ours are left alone, with all below them. None: all are meant.
using Spared = std::function<bool(pid_t)>;

// To all that are below us before the first is signalled, from the top down: also to what one leaves that ends of it at
// once, and not to what a handler of it starts, which may be about to save something. Each is held, and is still the
// process that was seen, before it is signalled; our own children are not reaped meanwhile.
TreeWalk SignalOwnTree(int signal, const Spared& spared = nullptr);

// SIGKILL to all. Where new ones come meanwhile, stops all before it kills them: what is stopped forks no more, and who
// keeps up a number sees no room. One may get through all the same: called again until there is no child. Returns what
// was met last; most of it is on its way out.
TreeWalk KillOwnTree(const Spared& spared = nullptr);

}  // namespace tony
