// The guard is a perl script between a command's shell and the worker, the same for jail and docker. It is the parent of the shell: it
// sends the script, passes the output on, waits for the shell and reports how it ended. Invariants:
// 1. Only the status that the kernel returned to the guard counts as the exit status. A guard that was killed reports nothing, and then no
//    status counts.
// 2. The guarded processes cannot reach the guard's memory and descriptors: they are closed to other processes (not dumpable). The shell
//    inherits three descriptors and no environment, and no argument list contains the nonce.
// 3. A line on its stdin, or its end, kills the command and all processes it started. A worker that crashes takes its command with it.
// 4. It never waits for the end of a stream: a background process may hold the command's output for ever. A drain, a process of its own,
//    then keeps reading, so that such a process does not die of SIGPIPE. The guard disconnects from the worker.
// 5. Only SIGKILL and SIGSTOP reach the guard. After SIGKILL there is no report; after SIGSTOP a clock fires. Both kill the command.
//
// stdin   `run <bytes> <nonce> <processes> <keep|fresh>`, then the session script; `fresh` first kills all processes of the session
// stdout  the command's output, then the nonce
// stderr  lines that start with the nonce: `start <pid>`, `state <base64>`, `end <code from the shell>`, `exit <wait status as a code>`
//
// It needs only perl itself and no module, because small images have none. Perl closes descriptors above 2 on exec.

/** Numbers as [x64, arm64]. The script detects the architecture: `getpid` of one is another call on the other. */
const CALLS = `
my $x64 = syscall(39) == $$;
sub call { my ($x, $arm, @rest) = @_; return syscall($x64 ? $x : $arm, @rest) }
sub prctl { return call(157, 167, map { $_ + 0 } @_, (0) x (5 - @_)) }
sub close_above_stderr {
  return if syscall(436, 3, 0xffffffff, 0) == 0;
  opendir my $list, "/proc/self/fd" or die "descriptors: $!\\n";
  my @open = grep { /^\\d+$/ && $_ > 2 } readdir $list;
  closedir $list;
  call(3, 57, $_ + 0) for @open;
}
`;

/** Expects `$bash` (a shell that can be run but not read) and `confine()`, which the child calls before it becomes the shell. */
const GUARD = `
prctl(4, 0) == 0 or die "dumpable: $!\\n";
close_above_stderr();
my @signals = grep { !/^(KILL|STOP|ZERO|CLD|NUM\\d+|RTM.*)$/ } qw(HUP INT QUIT TRAP ABRT BUS FPE USR1 USR2 PIPE ALRM TERM CHLD CONT TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS);
$SIG{$_} = "IGNORE" for @signals;
$SIG{CHLD} = sub {};

sub take {
  my ($left) = @_;
  my $all = "";
  while ($left > 0) {
    my $size = sysread STDIN, my $bytes, $left > 65536 ? 65536 : $left;
    next if !defined $size && $! == 4;
    exit 0 unless $size;
    $all .= $bytes;
    $left -= $size;
  }
  return $all;
}
sub take_line {
  my $line = "";
  $line .= take(1) until $line =~ /\\n$/;
  return $line;
}
sub put {
  my ($to, $bytes) = @_;
  while (length $bytes) {
    my $size = syswrite $to, $bytes;
    last if !defined $size && $! != 4 && $! != 11;
    select undef, undef, undef, 0.002 if !defined $size;
    substr $bytes, 0, $size, "" if $size;
  }
}
sub processes {
  my %found;
  opendir my $list, "/proc" or return;
  for my $pid (grep { /^\\d+$/ } readdir $list) {
    open my $file, "<", "/proc/$pid/stat" or next;
    my ($rest) = do { local $/; <$file> // "" } =~ /.*\\) (.*)/s or next;
    my @fields = split " ", $rest;
    $found{$pid} = { parent => $fields[1], start => $fields[19] } unless $fields[0] =~ /[ZX]/;
  }
  return %found;
}
# What was there before this command, and its children, stays; the guard too.
sub sweep {
  my ($begun) = @_;
  for (1 .. 40) {
    my %all = processes();
    my @doomed;
    for my $pid (keys %all) {
      next if $pid == 1 || $pid == $$;
      my $spared = 0;
      for (my $up = $pid; $up > 1 && $all{$up}; $up = $all{$up}{parent}) {
        $spared = 1 if defined $begun && $all{$up}{start} < $begun;
      }
      push @doomed, $pid unless $spared;
    }
    @doomed = grep { kill 0, $_ } @doomed;
    return 1 unless @doomed;
    # Stopped first: none forks ahead of us, and no shell tells of its children's death.
    kill "STOP", @doomed;
    kill "KILL", @doomed;
    select undef, undef, undef, 0.005;
  }
  kill "KILL", -1;
  return 0;
}

my (undef, $size, $nonce, $processes, $fresh) = split " ", delete $ENV{__mm_run} // take_line();
sub report { put(*STDERR, join(" ", $nonce, @_) . "\\n") }
my $script = take($size);
if ($fresh eq "fresh") {
  kill "KILL", -1;
  sweep() or die "leftovers could not be killed\\n";
}
my $begun = { processes() }->{$$}{start};
usage();
socketpair my $talk, my $far, 1, 1, 0 or die "socketpair: $!\\n";
pipe my $read, my $write or die "pipe: $!\\n";
my $pid = fork // die "fork: $!\\n";
unless ($pid) {
  $SIG{$_} = "DEFAULT" for @signals;
  call(112, 157);
  confine($processes);
  open STDIN, "<&", $far; open STDOUT, ">&", $write; open STDERR, ">&", $write;
  %ENV = ();
  exec { $bash } "bash", "--noprofile", "--norc", "-s" or exit 126;
}
close $far; close $write;
settle();

fcntl STDOUT, 4, 04000;
fcntl $talk, 4, 04000;
my $feed = $script;
my ($out, $said, $started, $status, $stop_at, $extra) = ("", "", 0, undef, undef, 1 << 20);
my %open = (stdin => 1, talk => 1, read => 1);
my $waited = 0;
until (defined $status && (!$open{read} || $extra < 0) && !length $out) {
  if (!defined $status && waitpid($pid, 1) == $pid) { $status = $?; }
  my ($in, $to) = ("", "");
  vec($in, 0, 1) = 1 if $open{stdin};
  vec($in, fileno $talk, 1) = 1 if $open{talk};
  vec($in, fileno $read, 1) = 1 if $open{read} && length $out < 65536;
  vec($to, 1, 1) = 1 if length $out;
  vec($to, fileno $talk, 1) = 1 if length $feed && !defined $status;
  my $found = select $in, $to, undef, defined $status ? (length $out ? 0.05 : 0) : defined $stop_at ? 0.01 : 0.1;
  if (defined $stop_at && !defined $status && ++$waited > 20) { sweep($begun); $waited = -100 }
  last if defined $status && $found == 0 && !length $out;
  next if $found <= 0;
  if (vec($to, 1, 1)) {
    my $sent = syswrite STDOUT, $out;
    if ($sent) { substr $out, 0, $sent, "" }
    elsif (!defined $sent && $! != 4 && $! != 11) { $out = ""; $lost = 1 }
  }
  if (vec($to, fileno $talk, 1)) {
    my $sent = syswrite $talk, $feed;
    if ($sent) { substr $feed, 0, $sent, "" }
    elsif (!defined $sent && $! != 4 && $! != 11) { $feed = "" }
    # The shell has all its text: one that reads on finds the end.
    shutdown $talk, 1 if $started && !length $feed;
  }
  if (vec($in, fileno $talk, 1)) {
    my $got = sysread $talk, my $bytes, 65536;
    $said .= $bytes if $got && length $said < 1 << 20;
    $open{talk} = 0 if defined $got ? !$got : $! != 4 && $! != 11;
    if (!$started && $said =~ /^start\\n/) { $started = 1; report("start", $pid); $feed .= "go\\n" }
  }
  if (vec($in, fileno $read, 1)) {
    my $got = sysread $read, my $bytes, 65536;
    $open{read} = 0 if defined $got && !$got;
    $out .= $bytes if $got && !$lost;
    $extra -= $got if $got && defined $status;
  }
  if (vec($in, 0, 1) && !defined $status) {
    $open{stdin} = 0;
    $stop_at = 1;
    kill "TERM", -$pid;
  } elsif (vec($in, 0, 1)) {
    $open{stdin} = 0;
  }
}
# A shell that was killed leaves nothing behind; one that ended leaves what it put in the background.
if (defined $stop_at || $status & 127) { sweep($begun) }
elsif ($open{read} && !(fork // 1)) {
  close STDIN; close STDOUT; close STDERR; close $talk;
  while (1) { my $got = sysread $read, my $bytes, 65536; exit 0 if defined $got ? !$got : $! != 4 }
}
if ($open{talk}) {
  while (sysread $talk, my $bytes, 65536) { $said .= $bytes if length $said < 1 << 20 }
}
my $code = $status & 127 ? 128 + ($status & 127) : $status >> 8;
report("state", $1) if $said =~ /^state (\\S*)$/m;
report("end", $1) if $said =~ /^end (\\d+)$/m;
usage();
put(*STDOUT, $nonce);
report("exit", $code);
exit $code;
`;

export interface GuardParts {
  /** Perl that sets `$bash` and defines `confine`, `settle` (the guard's own last step) and `usage`. */
  readonly adapter: string;
}

/** The complete guard script for one adapter. */
export function renderGuard({ adapter }: GuardParts): string {
  return `${CALLS}${adapter}${GUARD}`;
}

/** Only the calls, for a script that prepares the process and then becomes another program. */
export const SYSTEM_CALLS = CALLS;

/** Scripts are passed in the environment, not as arguments, so that `ps` in a session shows short lines. */
export const RUN_GUARD = "eval delete $ENV{__mm_guard}; die $@ if $@";

/** The line on the guard's stdin before the script. */
export function guardLine(bytes: number, nonce: string, processes: number, fresh: boolean): string {
  return `run ${bytes} ${nonce} ${processes} ${fresh ? "fresh" : "keep"}\n`;
}
