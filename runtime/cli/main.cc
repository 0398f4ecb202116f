// The command line of TonY. `tony help` lists the verbs. The best entry point for a reader is submit.cc.
#include <csignal>

#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"

int main(int argc, char** argv) {
  tony::ReserveOutputs();
  // A peer or a reader that goes away only fails the write to it.
  signal(SIGPIPE, SIG_IGN);
  return tony::RunTony({argv + 1, argv + argc});
}
