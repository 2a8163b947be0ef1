// The first process of a jail: it builds the file tree in its own namespaces, pivots into it and stays as pid 1, first a bash, then
// the watch, a perl. It starts as root of a new user namespace, in new mount, pid, net, ipc, uts and cgroup namespaces, before any foreign code exists.
// Invariants:
// 1. It dies with its maker until it has been recorded: it waits for one line on stdin and exits on end of file.
// 2. It ends itself at the deadline, and when nobody has renewed its lease for so long (a line in the file on its stdout), and
//    the kernel ends every process of the pid namespace with it.
// 3. Foreign code cannot stop it: the kernel keeps a pid namespace's own processes from killing its pid 1, every other signal
//    is ignored, and commands live in a child user namespace, which has no ptrace access to it.
// 4. The shell of commands is a copy of bash that can be run and not read, on a read-only file system: no process of the same
//    user can look into a shell, or write to its memory.
// 5. Only /workspace, /tmp and /dev/shm can be written, each a tmpfs of fixed size. Read-only trees are tmpfs too; they are filled
//    before the line on stdin and made read-only after it, so before any command; then it prints `sealed`.
//
// It prints `pid <pid on the host>`, `ready`, and later `oom` for each time the memory watch struck: ten times a second it adds
// up what all processes hold (anonymous and shared memory, swap, page tables) and kills the largest when there is too much, all of
// them when that did not help. Pages that forked processes share are counted once before it strikes.

import { SYSTEM_CALLS } from "../guard-script.ts";
import { quoteForBash } from "../session-script.ts";
import { SHELL_DIRECTORY } from "./launch.ts";

export const PROGRAMS = "/opt/programs";

// A lease is counted by a clock that stands still while the machine sleeps. Reading descriptor 1 gives what workers appended.
const WATCH = `${SYSTEM_CALLS}
my ($seconds, $memory, $lease, @trees) = @ARGV;
my $reap = sub { 1 while waitpid(-1, 1) > 0 };
$SIG{$_} = "IGNORE" for qw(HUP INT QUIT TRAP ABRT BUS FPE USR1 USR2 PIPE ALRM TERM TSTP TTIN TTOU XCPU XFSZ VTALRM PROF WINCH IO PWR);
$SIG{CHLD} = $reap;
syswrite STDOUT, "ready\\n";
sysread STDIN, my $go, 64 or exit 1;
# MS_REMOUNT, MS_BIND, MS_RDONLY, MS_NOSUID, MS_NODEV.
for (@trees) { call(165, 40, "none", $_, "none", 0x1027, 0) == 0 or die "mount: $_: $!\\n" }
syswrite STDOUT, "sealed\\n" if @trees;
open STDIN, "<", "/dev/null";
open STDERR, ">", "/dev/null";
open my $events, "<&=", 1;
sub awake { my $now = "\\0" x 16; syscall($x64 ? 228 : 113, 1, $now); return (unpack "qq", $now)[0] }
sub text_of { open my $file, "<", $_[0] or return ""; local $/; return scalar <$file> // "" }
sub held {
  my ($file, $names) = @_;
  my ($sum, $text) = (0, text_of($file));
  $sum += $1 while $text =~ /^(?:$names):\\s+(\\d+) kB$/mg;
  return $sum;
}
sub total {
  my ($exactly) = @_;
  my ($total, $largest, $victim) = (0, 0, undef);
  opendir my $list, "/proc" or return (0);
  for my $pid (grep { /^\\d+$/ && $_ > 1 } readdir $list) {
    my $size = $exactly
      ? held("/proc/$pid/status", "VmPTE") + held("/proc/$pid/smaps_rollup", "Pss_Anon|Pss_Shmem|SwapPss")
      : held("/proc/$pid/status", "RssAnon|RssShmem|VmSwap|VmPTE");
    $total += $size;
    ($largest, $victim) = ($size, $pid) if $size > $largest;
  }
  return ($total * 1024, $victim);
}
my ($end, $renewed, $over) = (time + $seconds, awake(), 0);
while (time < $end && awake() - $renewed < $lease) {
  select undef, undef, undef, 0.1;
  $reap->();
  $renewed = awake() while sysread $events, my $lines, 4096;
  my ($total, $victim) = total(0);
  ($total, $victim) = total(1) if $total > $memory;
  if ($total <= $memory || !$victim) { $over = 0; next }
  kill "KILL", $over ? -1 : $victim;
  $over = 1;
  syswrite STDOUT, "oom\\n";
}
`;

/**
 * Given to `bash -s` on stdin, so that `ps` inside stays readable; hence one function, read whole before it runs.
 * After it on stdin comes a tar for /etc (etc-files.ts). Arguments: bytes of the workspace and of /tmp, seconds to live, bytes of
 * memory for all processes together, seconds of a lease, bytes of that tar, read-only places parted by spaces, then pairs of a name
 * and a path: programs from outside /usr, shown in PROGRAMS.
 */
export const JAIL_ROOT_SCRIPT = `main() {
set -e
watch=${quoteForBash(WATCH)}
umask 022
disk=$1 seconds=$2 memory=$3 lease=$4 etc=$5 trees=$6
shift 6
read -r host_pid _ </proc/self/stat
echo "pid $host_pid"

mount --make-rprivate /
mount -t tmpfs -o size=24m,nr_inodes=8192,mode=755,nosuid,nodev sandbox /tmp
cd /tmp
mkdir usr proc dev dev/shm tmp workspace etc old
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then ln -s "$(readlink "/$name")" "$name"
  elif [ -d "/$name" ]; then mkdir "$name"; mount --rbind "/$name" "$name"; fi
done
mount --rbind /usr usr
for name in null zero full random urandom tty; do : >"dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
mount -t tmpfs -o size=16m,nr_inodes=1024,mode=1777,nosuid,nodev,noexec shm dev/shm
mount -t tmpfs -o "size=$disk,nr_inodes=100000,mode=1777,nosuid,nodev" tmp tmp
mount -t tmpfs -o "size=$disk,nr_inodes=100000,mode=755,nosuid,nodev" workspace workspace
for tree in $trees; do
  mkdir -p ".$tree"
  mount -t tmpfs -o "size=$disk,nr_inodes=100000,mode=755,nosuid,nodev" tree ".$tree"
done
head -c "$etc" | tar -x --no-same-owner -C etc -f -
mkdir -p .${SHELL_DIRECTORY}
cat "$BASH" >.${SHELL_DIRECTORY}/bash
chmod 111 .${SHELL_DIRECTORY}/bash
while (($# > 0)); do
  mkdir -p .${PROGRAMS}
  : >".${PROGRAMS}/$1"
  mount --bind "$2" ".${PROGRAMS}/$1"
  shift 2
done
printf 'student:x:1000:1000::/workspace:/bin/bash\\nnobody:x:65534:65534::/:/bin/false\\n' >etc/passwd
printf 'student:x:1000:\\nnogroup:x:65534:\\n' >etc/group
printf '127.0.0.1 localhost\\n::1 localhost\\n' >etc/hosts
printf 'passwd: files\\ngroup: files\\nhosts: files\\nservices: files\\nprotocols: files\\n' >etc/nsswitch.conf

mount -t proc -o nosuid,nodev,noexec proc proc
for name in kcore keys key-users kmsg timer_list sched_debug sysrq-trigger latency_stats kallsyms kpagecount kpageflags; do
  [ ! -e "proc/$name" ] || mount --bind /dev/null "proc/$name"
done
for name in acpi scsi bus irq fs; do
  [ ! -d "proc/$name" ] || mount -t tmpfs -o ro,size=4k,nosuid,nodev,noexec masked "proc/$name"
done
# Quotas the host keeps for each user: a session must not use up those of others that share its uid.
for quota in inotify_instances=64 inotify_watches=16384 fanotify_groups=1 fanotify_marks=1; do
  echo "\${quota#*=}" 2>/dev/null >"proc/sys/user/max_\${quota%=*}" || true
done
mount --bind proc/sys proc/sys
hostname sandbox 2>/dev/null || echo sandbox >proc/sys/kernel/hostname
mount -o remount,bind,ro,nosuid,nodev,noexec proc/sys

pivot_root . old
cd /
umount -l /old
rmdir /old
while read -r _ _ _ _ point _; do
  case "$point" in /usr*|/bin*|/sbin*|/lib*|/etc*|/opt*) mount -o remount,bind,ro,nosuid,nodev "$point" ;; esac
done </proc/self/mountinfo
{ ip link set lo up || ifconfig lo up ||
  perl -e 'socket(S, 2, 2, 0) && ioctl(S, 0x8914, pack("a16 s x22", "lo", 0x49)) or exit 1'; } 2>/dev/null || {
  echo 'neither ip, ifconfig nor perl is there to bring up the loopback' >&2
  exit 1
}
mount -o remount,bind,ro,nosuid,nodev /

exec perl -e "$watch" -- "$seconds" "$memory" "$lease" $trees
}
main "$@"
`;
