// What needs_library is linked with, and does not find when it runs.
extern "C" int Gone();
int Gone() { return 0; }
