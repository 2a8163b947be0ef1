// The system call filter of a jail as a classic BPF program (struct sock_filter[], native byte order of x64 and arm64, which are both
// little-endian here). It refuses calls that a grading command never needs, and calls that sandbox escapes have used before.
// Invariants:
// 1. A call of a foreign architecture (32-bit, x32) never passes: its numbers mean other calls.
// 2. Calls that are not named pass, up to the newest call we have reviewed; later calls are absent until we have reviewed them. Namespaces,
//    capabilities and mounts are the isolation; the filter only reduces the kernel's attack surface.

export type SeccompArchitecture = "x64" | "arm64";

export interface SeccompOptions {
  /** True: refuse memory that belongs to no process's resident set, such as memfd, because no memory cgroup counts it. */
  readonly refuseHiddenMemory: boolean;
  /** True: refuse to change the affinity, because it limits the session's cores instead of a cgroup. */
  readonly refuseAffinity: boolean;
}

const AUDIT_ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const X32_BIT = 0x40000000;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const RET_ALLOW = 0x7fff0000;
const RET_KILL_PROCESS = 0x80000000;
const RET_ERRNO = 0x00050000;

/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NAMESPACE_FLAGS = 0x7e020000;

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_PACKET = 10;

/** The number of mseal. Later calls have not been reviewed. */
const NEWEST_CALL = 462;

/** Name: [x64, arm64]; null where the architecture has no such call. */
const refused: Readonly<Record<string, readonly [number | null, number | null]>> = {
  _sysctl: [156, null],
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  afs_syscall: [183, null],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  create_module: [174, null],
  delete_module: [176, 106],
  fanotify_mark: [301, 263],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  get_kernel_syms: [177, null],
  init_module: [175, 105],
  ioperm: [173, null],
  iopl: [172, null],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  listmount: [458, 458],
  lookup_dcookie: [212, 18],
  lsm_get_self_attr: [459, 459],
  lsm_list_modules: [461, 461],
  lsm_set_self_attr: [460, 460],
  mbind: [237, 235],
  memfd_secret: [447, 447],
  migrate_pages: [256, 238],
  modify_ldt: [154, null],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  name_to_handle_at: [303, 264],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  process_madvise: [440, 440],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  query_module: [178, null],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  set_mempolicy: [238, 237],
  set_mempolicy_home_node: [450, 450],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  settimeofday: [164, 170],
  statmount: [457, 457],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  uselib: [134, null],
  ustat: [136, null],
  vserver: [236, null],
  userfaultfd: [323, 282],
  vhangup: [153, 58],
};

/** The filter answers as if the kernel had no such call, so that programs use the older calls. clone3 hides its flags from a filter. */
const absent: Readonly<Record<string, readonly [number, number]>> = {
  clone3: [435, 435],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
};

const hiddenMemory: readonly (readonly [number, number])[] = [
  [319, 279], // memfd_create
  [29, 194], // shmget
];
const affinity = [203, 122] as const; // sched_setaffinity
const MMAP = [9, 222] as const;
const MAP_SHARED = 0x01;
const MAP_ANONYMOUS = 0x20;
const checkedByArgument = { clone: [56, 220], socket: [41, 198], ioctl: [16, 29] } as const;

export function buildSeccompFilter(architecture: SeccompArchitecture, options: SeccompOptions): Buffer {
  const column = architecture === "x64" ? 0 : 1;
  const program: Instruction[] = [
    load(OFFSET_ARCH),
    ...unlessEqual(AUDIT_ARCH[architecture], [ret(RET_KILL_PROCESS)]),
    load(OFFSET_NUMBER),
  ];
  if (architecture === "x64") program.push(jump(JGE, X32_BIT, 0, 1), ret(RET_KILL_PROCESS));
  program.push(jump(JGE, NEWEST_CALL + 1, 0, 1), ret(RET_ERRNO | ENOSYS));
  const numbers = Object.values(refused)
    .map((pair) => pair[column])
    .filter((number) => number !== null);
  if (options.refuseHiddenMemory) numbers.push(...hiddenMemory.map((pair) => pair[column] as number));
  if (options.refuseAffinity) numbers.push(affinity[column]);
  for (const number of numbers) program.push(...ifEqual(number, [ret(RET_ERRNO | EPERM)]));
  for (const pair of Object.values(absent)) program.push(...ifEqual(pair[column], [ret(RET_ERRNO | ENOSYS)]));
  // Shared memory without a file belongs to no process once it is unmapped; then only a cgroup counts it.
  if (options.refuseHiddenMemory) {
    program.push(
      ...ifEqual(MMAP[column], [
        load(argument(3)),
        and(MAP_SHARED | MAP_ANONYMOUS),
        jump(JEQ, MAP_SHARED | MAP_ANONYMOUS, 0, 1),
        ret(RET_ERRNO | EPERM),
        ret(RET_ALLOW),
      ]),
    );
  }
  program.push(
    ...ifEqual(checkedByArgument.clone[column], [
      load(argument(0)),
      jump(JSET, NAMESPACE_FLAGS, 0, 1),
      ret(RET_ERRNO | EPERM),
      ret(RET_ALLOW),
    ]),
    ...ifEqual(checkedByArgument.ioctl[column], [
      load(argument(1)),
      ...ifEqual(TIOCSTI, [ret(RET_ERRNO | EPERM)]),
      ...ifEqual(TIOCLINUX, [ret(RET_ERRNO | EPERM)]),
      ret(RET_ALLOW),
    ]),
    ...ifEqual(checkedByArgument.socket[column], socketRules()),
    ret(RET_ALLOW),
  );
  return Buffer.concat(program.map(encode));
}

/** Allows local and IP sockets (only a loopback is reachable) and route netlink, which lists it. Never raw or packet sockets. */
function socketRules(): Instruction[] {
  return [
    load(argument(0)),
    ...ifEqual(AF_UNIX, [ret(RET_ALLOW)]),
    ...ifEqual(AF_NETLINK, [load(argument(2)), ...ifEqual(0, [ret(RET_ALLOW)]), ret(RET_ERRNO | EAFNOSUPPORT)]),
    jump(JEQ, AF_INET, 2, 0),
    jump(JEQ, AF_INET6, 1, 0),
    ret(RET_ERRNO | EAFNOSUPPORT),
    load(argument(1)),
    and(0xff),
    ...ifEqual(SOCK_RAW, [ret(RET_ERRNO | EPERM)]),
    ...ifEqual(SOCK_PACKET, [ret(RET_ERRNO | EPERM)]),
    ret(RET_ALLOW),
  ];
}

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];

const JEQ = 0x15;
const JGE = 0x35;
const JSET = 0x45;
/**
 * struct seccomp_data: int nr; u32 arch; u64 instruction_pointer; u64 args[6]. Only the low words are compared: flags and families fit in
 * them.
 */
const OFFSET_NUMBER = 0;
const OFFSET_ARCH = 4;
const argument = (index: number) => 16 + 8 * index;

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const and = (mask: number): Instruction => [0x54, 0, 0, mask];
const ret = (value: number): Instruction => [0x06, 0, 0, value >>> 0];
const jump = (code: number, value: number, onTrue: number, onFalse: number): Instruction => [
  code,
  onTrue,
  onFalse,
  value >>> 0,
];
const ifEqual = (value: number, then: Instruction[]): Instruction[] => [jump(JEQ, value, 0, then.length), ...then];
const unlessEqual = (value: number, then: Instruction[]): Instruction[] => [jump(JEQ, value, then.length, 0), ...then];

function encode([code, jumpTrue, jumpFalse, value]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jumpTrue, 2);
  bytes.writeUInt8(jumpFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
