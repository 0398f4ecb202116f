// The command line of TonY: `tony help` lists what it does. The straight way through it: submit.cc.
#include <csignal>

#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"

int main(int argc, char** argv) {
  tony::HoldOutputs();
  signal(SIGPIPE, SIG_IGN);  // a peer or a reader that goes away is an error of that one write
  return tony::RunTony({argv + 1, argv + argc});
}
