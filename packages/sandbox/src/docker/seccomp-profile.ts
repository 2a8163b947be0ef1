// The system call filter of a session container, in the engine's own format. It allows the calls of Docker's default profile for a
// container without capabilities. It leaves out calls that a grading command never needs, and calls that escapes have used before.
// Invariants:
// 1. Every call that is not named is refused: keyctl, bpf, perf_event_open, userfaultfd, mount, unshare, setns, ptrace, io_uring and the
//    rest of the checklist are absent here, not listed as denied.
// 2. Sockets are local, loopback IP or route netlink: no AF_ALG, AF_VSOCK, AF_PACKET, no raw type.
// 3. Calls of a non-native architecture (32-bit, x32) are refused: no architecture has sub-architectures.

const words = (text: string): string[] => text.trim().split(/\s+/);

const files = words(`
  access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
  fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat
  fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init inotify_init1
  inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat
  mknod mknodat newfstatat open openat openat2 pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead
  readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat statfs statx symlink
  symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev`);

const memory = words(`
  brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap
  pkey_alloc pkey_free pkey_mprotect remap_file_pages shmat shmctl shmdt shmget map_shadow_stack mseal cachestat`);

const processes = words(`
  arch_prctl capget capset execve execveat exit exit_group fork get_robust_list get_thread_area getcpu getegid geteuid getgid
  getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get
  ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self pidfd_open pidfd_send_signal prctl
  prlimit64 process_mrelease restart_syscall rseq sched_get_priority_max sched_get_priority_min sched_getaffinity
  sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
  sched_setscheduler sched_yield seccomp set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups
  setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sysinfo uname vfork wait4 waitid`);

const signalsAndTime = words(`
  alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep pause rt_sigaction rt_sigpending
  rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack signalfd
  signalfd4 tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime
  timerfd_settime times tkill`);

const waiting = words(`
  epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_requeue futex_wait
  futex_waitv futex_wake io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit poll ppoll pselect6 select
  msgctl msgget msgrcv msgsnd mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink semctl semget semop
  semtimedop`);

const network = words(`
  accept accept4 bind connect getpeername getrandom getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
  sendto setsockopt shutdown socketpair`);

const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
const SOCK = { stream: 1, datagram: 2 } as const;
/** The low bits of a socket's type; the other bits are SOCK_NONBLOCK and SOCK_CLOEXEC. */
const SOCK_TYPE_MASK = 0xf;
/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACE_FLAGS = 0x7e020000;
const ENOSYS = 38;

interface Argument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ";
}

const equal = (index: number, value: number): Argument => ({ index, value, op: "SCMP_CMP_EQ" });
const masked = (index: number, mask: number, value: number): Argument => ({
  index,
  value: mask,
  valueTwo: value,
  op: "SCMP_CMP_MASKED_EQ",
});
const allow = (names: readonly string[], args: readonly Argument[] = []) => ({
  names,
  action: "SCMP_ACT_ALLOW",
  args,
});

export const seccompProfile = {
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: 1,
  archMap: [
    { architecture: "SCMP_ARCH_X86_64", subArchitectures: [] },
    { architecture: "SCMP_ARCH_AARCH64", subArchitectures: [] },
  ],
  syscalls: [
    allow([...files, ...memory, ...processes, ...signalsAndTime, ...waiting, ...network]),
    allow(["socket"], [equal(0, AF.unix)]),
    ...[AF.inet, AF.inet6].flatMap((family) =>
      [SOCK.stream, SOCK.datagram].map((type) =>
        allow(["socket"], [equal(0, family), masked(1, SOCK_TYPE_MASK, type)]),
      ),
    ),
    allow(["socket"], [equal(0, AF.netlink), equal(2, 0)]),
    allow(["clone"], [masked(0, NAMESPACE_FLAGS, 0)]),
    // PER_LINUX, PER_LINUX32 and the query value: setarch and debuggers use them. The personas that change the address space stay refused.
    ...[0, 8, 0xffffffff].map((persona) => allow(["personality"], [equal(0, persona)])),
    // clone3 hides its flags from a filter, and io_uring hides its calls. The filter answers as if the kernel had neither, so programs use
    // the older calls.
    {
      names: ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"],
      action: "SCMP_ACT_ERRNO",
      errnoRet: ENOSYS,
      args: [],
    },
  ],
} as const;
