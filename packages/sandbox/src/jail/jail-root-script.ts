// The first process of a jail, a perl script. It builds the file tree in its own namespaces, pivots into it and stays as pid 1, the watch.
// It starts as root of a new user namespace, in new mount, pid, net, ipc, uts and cgroup namespaces, before any foreign code exists.
// Invariants:
// 1. Until it has been recorded, it ends with the process that created it: it waits for one line on stdin and exits on end of file.
// 2. It ends itself at the deadline, or when no worker has renewed its lease in time (a line in the file on its stdout). The kernel then
//    ends every process of the pid namespace.
// 3. Foreign code cannot stop it. The kernel keeps a pid namespace's own processes from killing its pid 1, every other signal is ignored,
//    and commands run in a child user namespace, which has no ptrace access to it.
// 4. The shell of commands is a copy of bash that can be run but not read, on a read-only file system: no process of the same user can read
//    or write a shell's memory.
// 5. Only /workspace, /tmp, /dev/shm and one requested folder are writable, each a tmpfs of fixed size. Read-only trees are tmpfs too. They
//    are filled before the line on stdin and made read-only after it, so before any command; then the script prints `sealed`.
//
// It prints `pid <pid on the host>`, `ready`, and later `oom` each time the memory watch kills. Ten times a second the watch adds up the
// memory of all processes (anonymous and shared memory, swap, page tables). If the sum is too large, it kills the largest process; if that
// did not help, it kills all. Before it kills, it counts pages that forked processes share only once.

import { SYSTEM_CALLS } from "../exit-guard-script.ts";
import { SHELL_DIRECTORY } from "./launch.ts";

export const PROGRAMS = "/opt/programs";

// A lease is counted by a clock that stops while the machine sleeps. Workers append lines to the file, and descriptor 1 reads them.
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
 * The perl that builds the tree and becomes the watch. It mounts by system calls: one program for each of about forty mounts cost three
 * quarters of the processor time of a session's start. Standard input: a tar for /etc (etc-files.ts). Arguments: bytes of the workspace and
 * of /tmp, seconds to live, bytes of memory for all processes together, seconds of a lease, bytes of that tar, the paths of bash and tar,
 * read-only folders separated by spaces, one more writable folder or an empty string, then pairs of a name and a path: programs from
 * outside /usr, shown in PROGRAMS.
 */
export const JAIL_ROOT_SCRIPT = `${SYSTEM_CALLS}
my ($disk, $seconds, $memory, $lease, $etc, $bash, $tar, $trees, $scratch, @programs) = @ARGV;
my ($RDONLY, $NOSUID, $NODEV, $NOEXEC, $REMOUNT, $BIND, $REC, $PRIVATE) = (1, 2, 4, 8, 0x20, 0x1000, 0x4000, 0x40000);
my @trees = split " ", $trees;
sub fill { my ($file, @text) = @_; open my $out, ">", $file or die "$file: $!\\n"; print $out @text; close $out or die "$file: $!\\n" }
sub make { for (@_) { mkdir $_ or die "mkdir: $_: $!\\n" } }
sub make_all { my $path = "."; for (split m{/}, $_[0]) { next if $_ eq ""; $path .= "/$_"; -d $path or make($path) } }
sub link_to { symlink $_[0], $_[1] or die "symlink: $_[1]: $!\\n" }
sub mount { my ($what, $at, $type, $flags, $data) = @_; call(165, 40, $what, $at, $type, $flags, $data) == 0 or die "mount: $at: $!\\n" }
sub memory { my ($name, $at, $flags, $data) = @_; mount($name, $at, "tmpfs", $NOSUID | $NODEV | $flags, $data) }
sub graft { my ($what, $at, $flags) = @_; mount($what, $at, "none", $BIND | ($flags // 0), 0) }
sub show { my ($what, $at) = @_; fill($at); graft($what, $at) }
sub unescape { my ($text) = @_; $text =~ s/\\\\([0-7]{3})/chr oct $1/ge; return $text }
# The kernel lets no flag of a mount of the host go; those of time it keeps by itself.
sub seal {
  my ($wanted, $flags) = @_;
  open my $table, "<", "/proc/self/mountinfo" or die "mountinfo: $!\\n";
  for (map { [(split / /)[4, 5]] } <$table>) {
    my ($at, $options) = (unescape($_->[0]), ",$_->[1],");
    next unless $at =~ $wanted;
    my $kept = ($options =~ /,noexec,/ ? $NOEXEC : 0) | ($options =~ /,nosymfollow,/ ? 0x100 : 0);
    mount("none", $at, "none", $REMOUNT | $BIND | $RDONLY | $NOSUID | $NODEV | $flags | $kept, 0);
  }
}

umask 022;
$| = 1;
my ($host_pid) = split / /, do { open my $stat, "<", "/proc/self/stat" or die "stat: $!\\n"; scalar <$stat> };
print "pid $host_pid\\n";

mount("none", "/", "none", $REC | $PRIVATE, 0);
# Before /tmp is covered: a program may lie below it. O_PATH: it need not be readable.
my (@shown, @held);
while (my ($name, $path) = splice @programs, 0, 2) {
  sysopen my $held, $path, 010000000 or die "$path: $!\\n";
  push @held, $held;
  push @shown, [$name, "/proc/self/fd/" . fileno $held];
}
memory("sandbox", "/tmp", 0, "size=24m,nr_inodes=8192,mode=755");
chdir "/tmp" or die "chdir: $!\\n";
make(qw(usr proc dev dev/shm tmp workspace etc old));
for (qw(bin sbin lib lib32 lib64 libx32)) {
  if (-l "/$_") { link_to(readlink "/$_", $_) }
  elsif (-d "/$_") { make($_); graft("/$_", $_, $REC) }
}
graft("/usr", "usr", $REC);
show("/dev/$_", "dev/$_") for qw(null zero full random urandom tty);
link_to("/proc/self/fd", "dev/fd");
link_to("fd/0", "dev/stdin");
link_to("fd/1", "dev/stdout");
link_to("fd/2", "dev/stderr");
memory("shm", "dev/shm", $NOEXEC, "size=16m,nr_inodes=1024,mode=1777");
memory("tmp", "tmp", 0, "size=$disk,nr_inodes=100000,mode=1777");
memory("workspace", "workspace", 0, "size=$disk,nr_inodes=100000,mode=755");
if ($scratch ne "") {
  make(".$scratch");
  memory("scratch", ".$scratch", 0, "size=$disk,nr_inodes=100000,mode=1777");
}
for (@trees) {
  make_all($_);
  memory("tree", ".$_", 0, "size=$disk,nr_inodes=100000,mode=755");
}
open my $unpack, "|-", $tar, "-x", "--no-same-owner", "-C", "etc", "-f", "-" or die "tar: $!\\n";
while ($etc > 0) {
  my $got = sysread STDIN, my $bytes, $etc < 65536 ? $etc : 65536 or die "the archive of /etc ended early\\n";
  print $unpack $bytes or die "tar: $!\\n";
  $etc -= $got;
}
close $unpack or die "tar ended with $?\\n";
make_all("${SHELL_DIRECTORY}");
{
  local $/ = \\(1 << 20);
  open my $from, "<", $bash or die "$bash: $!\\n";
  fill(".${SHELL_DIRECTORY}/bash", <$from>);
}
chmod 0111, ".${SHELL_DIRECTORY}/bash" or die "chmod: $!\\n";
make_all("${PROGRAMS}") if @shown;
show($_->[1], ".${PROGRAMS}/$_->[0]") for @shown;
close $_ for @held;
fill("etc/passwd", "student:x:1000:1000::/workspace:/bin/bash\\nnobody:x:65534:65534::/:/bin/false\\n");
fill("etc/group", "student:x:1000:\\nnogroup:x:65534:\\n");
fill("etc/hosts", "127.0.0.1 localhost\\n::1 localhost\\n");
fill("etc/nsswitch.conf", "passwd: files\\ngroup: files\\nhosts: files\\nservices: files\\nprotocols: files\\n");

mount("proc", "proc", "proc", $NOSUID | $NODEV | $NOEXEC, 0);
for (qw(kcore keys key-users kmsg timer_list sched_debug sysrq-trigger latency_stats kallsyms kpagecount kpageflags)) {
  graft("/dev/null", "proc/$_") if -e "proc/$_";
}
for (qw(acpi scsi bus irq fs)) { memory("masked", "proc/$_", $RDONLY | $NOEXEC, "size=4k") if -d "proc/$_" }
# Quotas the host keeps for each user: a session must not use up those of others that share its uid.
for (qw(inotify_instances=64 inotify_watches=16384 fanotify_groups=1 fanotify_marks=1)) {
  my ($quota, $most) = split /=/;
  eval { fill("proc/sys/user/max_$quota", "$most\\n") };
}
graft("proc/sys", "proc/sys");
fill("proc/sys/kernel/hostname", "sandbox\\n") if call(170, 161, "sandbox", 7) != 0;
seal(qr{^/tmp/proc/sys\\z}, $NOEXEC);

call(155, 41, ".", "old") == 0 or die "pivot_root: $!\\n";
chdir "/" or die "chdir: $!\\n";
# MNT_DETACH.
call(166, 39, "/old", 2) == 0 or die "umount: $!\\n";
rmdir "/old" or die "rmdir: $!\\n";
seal(qr{^/(?:usr|bin|sbin|lib|etc|opt)}, 0);
# The loopback, up and running.
my $up = pack "a16 s x22", "lo", 0x49;
socket(NET, 2, 2, 0) && ioctl(NET, 0x8914, $up) or die "loopback: $!\\n";
close NET;
seal(qr{^/\\z}, 0);

exec { $^X } $^X, "-e", ${quoteForPerl(WATCH)}, "--", $seconds, $memory, $lease, @trees or die "exec: $!\\n";
`;

function quoteForPerl(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}
