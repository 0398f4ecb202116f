// The program `tony`, the command line of TonY. `tony help` lists the verbs. The best file to start reading is
// submit.cc.
#include <csignal>

#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"

int main(int argc, char** argv) {
  tony::ReserveOutputs();
  // SIGPIPE is ignored. If a peer or a reader closes a pipe or socket, only the write to it fails, and the process goes
  // on.
  signal(SIGPIPE, SIG_IGN);
  return tony::RunTony({argv + 1, argv + argc});
}
