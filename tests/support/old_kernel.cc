// old_kernel [--eperm] PROGRAM [ARGUMENTS...]: runs the program as on the Linux of 2018, RHEL 8's 4.18. The later
// system calls that we or libc use answer ENOSYS to the program and to everything that it starts.
// --eperm: runs it as in a container whose filter does not know the calls. Calls that we make answer EPERM. Calls that
// libc makes still answer ENOSYS, because libc uses another way only then.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string_view>

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

bool Filter(unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 7, 0),  // 5.1
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 6, 0),         // 5.3
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 5, 0),        // 5.9
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),             // 5.3, libc's
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 2, 0),            // 5.6, libc's
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat2, 1, 0),         // 5.8, libc's
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool Answers(long result, int error) { return result < 0 && errno == error; }

// With these arguments a kernel without the filter would make the calls.
bool Works(int error) {
  return Answers(syscall(SYS_pidfd_open, getpid(), 0), error) &&
         Answers(syscall(SYS_close_range, ~0U, ~0U, 0), error) &&
         Answers(syscall(SYS_faccessat2, AT_FDCWD, "/", F_OK, 0), ENOSYS);
}

int main(int argc, char** argv) {
  int error = ENOSYS;
  char** program = argv + 1;
  if (argc > 1 && std::string_view(*program) == "--eperm") {
    error = EPERM;
    ++program;
  }
  if (!*program) return 64;
  if (!Filter(error) || !Works(error)) {
    std::perror("old_kernel: the filter does not work");
    return 69;
  }
  execv(*program, program);
  std::perror(*program);
  return 127;
}
