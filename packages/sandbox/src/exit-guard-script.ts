// The perl text that stands between a command's shell and the worker, the same for jail and docker. It is the shell's parent:
// it feeds it, passes its output on, waits for it and says how it ended. Invariants:
// 1. What counts as the exit status is what the kernel told the guard. A guard that died says nothing, and then nothing counts.
// 2. Nothing the guard knows or holds can be reached by what it guards: its memory and descriptors are closed to other
//    processes (not dumpable), the shell inherits three descriptors and no environment, and no argument list names the nonce.
// 3. A line on its stdin, or its end, kills the command and all it started. A worker that dies takes its command with it.
// 4. It never waits for end of stream: a background process may hold the command's output for ever. A drain of its own process
//    then reads on, so that such a process does not die of SIGPIPE, and the guard lets go of the worker.
// 5. Only SIGKILL and SIGSTOP reach it. The first leaves no report, the second ends at a clock; both kill the command.
//
// stdin   `run <bytes> <nonce> <processes> <keep|fresh>`, then the session script; `fresh` kills all that runs here first
// stdout  the command's output, then the nonce
// stderr  lines led by the nonce: `start <pid>`, `state <base64>`, `end <code the shell gave>`, `exit <wait status as a code>`
//
// Only perl itself is needed, no module: small images have none. Descriptors above 2 are closed by perl on exec.

/** Numbers as [x64, arm64]; the text finds out which it is on: `getpid` of one is another call on the other. */
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

/** Expects `$bash` (a shell that cannot be read, only run) and `confine()`, which the child calls before it becomes the shell. */
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

/** The guard's whole text for one adapter. */
export function renderGuard({ adapter }: GuardParts): string {
  return `${CALLS}${adapter}${GUARD}`;
}

/** The calls alone, for a script that only prepares and then becomes another program. */
export const SYSTEM_CALLS = CALLS;

/** Scripts travel in the environment, not as arguments: `ps` in a session shows short lines. */
export const RUN_GUARD = "eval delete $ENV{__mm_guard}; die $@ if $@";

/** What goes to the guard's stdin before the script. */
export function guardLine(bytes: number, nonce: string, processes: number, fresh: boolean): string {
  return `run ${bytes} ${nonce} ${processes} ${fresh ? "fresh" : "keep"}\n`;
}
