// Reads or writes one file inside a session, as the session's user, the same for every adapter. It is a fixed program that is started by
// its absolute path and with an empty environment: functions, variables and PATH entries of a command do not affect it.
// Invariants:
// 1. The program walks a path part by part from the workspace. It opens each folder without following links, then enters it by its
//    descriptor. If a part is swapped meanwhile, it is refused or read as it is, but never leads outside.
// 2. A link is followed only if it stays in the workspace, and never by `plain`. Only plain files are opened: no pipe, socket or device.
// 3. A file is written beside its target and then renamed, so it is either complete or absent. kill -9 before the rename leaves
//    `.markmill-write`, which the next write into that folder removes.
//
// arguments  read ROOT PATH MAXIMUM, plain ROOT PATH MAXIMUM, or write ROOT PATH SIZE with SIZE bytes on stdin
// stdout     one line (`read SIZE`, `missing`, `long SIZE`, `refused WHY`, `written`), after `read` the bytes

import type { FileRead, FileWritten, ReadFileOptions } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";

/** Part of every Debian (perl-base). A session's image needs it anyway. */
const PERL = "/usr/bin/perl";

const PROGRAM = `
my %o = eval { require Fcntl; map { $_ => Fcntl->can("O_$_")->() } qw(DIRECTORY NOFOLLOW NONBLOCK NOCTTY CREAT EXCL WRONLY) };
if (!%o) {
  # A small image has perl without its modules. These are Linux's numbers; two of them differ on ARM.
  open my $self, "<", "/proc/self/exe" or exit 3;
  read $self, my $head, 20;
  my $arm = unpack("x18 v", $head) == 183;
  %o = (NONBLOCK => 04000, NOCTTY => 0400, CREAT => 0100, EXCL => 0200, WRONLY => 1);
  @o{qw(DIRECTORY NOFOLLOW)} = $arm ? (040000, 0100000) : (0200000, 0400000);
}
sub is { $! + 0 == $_[0] }
my ($ENOENT, $EINTR, $ELOOP) = (2, 4, $^O eq "linux" ? 40 : 62);
$| = 1; $0 = "file"; binmode STDIN; binmode STDOUT;
my ($verb, $root, $path, $limit) = @ARGV;
my $plain = $verb eq "plain";
$verb = "read" if $plain;
sub answer { print "$_[0]\\n"; exit 0 }
sub refuse { answer("refused $_[0]") }
sub fault { refuse(is($ELOOP) ? "it was changed while it was opened" : lc "$!") }

my $content = "";
if ($verb eq "write") {
  while (length $content < $limit) {
    my $got = sysread STDIN, $content, $limit - length $content, length $content;
    next if !defined $got && is($EINTR);
    exit 3 unless $got;
  }
}
sysopen my $top, $root, $o{DIRECTORY} or fault();
my @held = ($top);
chdir $top or fault();
my @todo = grep { $_ ne "" && $_ ne "." } split m{/}, $path;
my $links = 0;
while (@todo) {
  my $part = shift @todo;
  if ($part eq "..") {
    refuse("it leads out of the workspace") if @held == 1;
    pop @held;
    chdir $held[-1] or fault();
    next;
  }
  my $there = lstat $part;
  if (!$there && !is($ENOENT)) { fault() }
  if ($there && -l _) {
    refuse("it is a link, or lies behind one") if $plain;
    refuse("it goes through too many links") if ++$links > 40;
    my $target = readlink $part;
    fault() unless defined $target;
    if ($target =~ m{^/}) {
      $target =~ s{^\\Q$root\\E(/|$)}{} or refuse("a link leads out of the workspace");
      @held = ($top);
      chdir $top or fault();
    }
    unshift @todo, grep { $_ ne "" && $_ ne "." } split m{/}, $target;
    next;
  }
  if (@todo) {
    if (!$there) {
      answer("missing") if $verb eq "read";
      mkdir $part, 0777 or fault();
    }
    sysopen my $folder, $part, $o{DIRECTORY} | $o{NOFOLLOW} | $o{NONBLOCK} or fault();
    push @held, $folder;
    chdir $folder or fault();
    next;
  }
  refuse("it is a folder") if $there && -d _;
  refuse("it is not a plain file") if $there && !-f _;
  if ($verb eq "read") {
    answer("missing") unless $there;
    sysopen my $file, $part, $o{NOFOLLOW} | $o{NONBLOCK} | $o{NOCTTY} or fault();
    refuse("it is not a plain file") unless -f $file;
    my $size = -s _;
    answer("long $size") if $size > $limit;
    while (length $content <= $limit) {
      my $got = sysread $file, $content, 65536, length $content;
      next if !defined $got && is($EINTR);
      fault() unless defined $got;
      last unless $got;
    }
    answer("long " . length $content) if length $content > $limit;
    print "read ", length $content, "\\n", $content;
    exit 0;
  }
  my $mode = $there ? (stat _)[2] & 0777 : undef;
  my ($new, $file);
  for my $name (".markmill-write", ".markmill-write-$$-" . int rand 1e9) {
    unlink $name;
    $new = $name;
    last if sysopen $file, $name, $o{WRONLY} | $o{CREAT} | $o{EXCL} | $o{NOFOLLOW}, 0666;
    undef $file;
  }
  fault() unless $file;
  chmod $mode, $file if defined $mode;
  for (my $at = 0; $at < length $content;) {
    my $put = syswrite $file, $content, length($content) - $at, $at;
    next if !defined $put && is($EINTR);
    if (!defined $put) { my $why = lc "$!"; unlink $new; refuse($why) }
    $at += $put;
  }
  if (!close $file or !rename $new, $part) { my $why = lc "$!"; unlink $new; refuse($why) }
  answer("written");
}
refuse("it is a folder");
`;

/** Bytes of the answer besides the file's own. */
export const ANSWER_BYTES = 4096;
/** Longest time for one file: a process of the session may stop the reader. */
export const FILE_MS = 30_000;

export function readFileCommand(
  root: string,
  path: string,
  { maxBytes, links = "inside" }: ReadFileOptions,
): [string, ...string[]] {
  const verb = links === "inside" ? "read" : "plain";
  return [PERL, "-e", PROGRAM, verb, root, checkFilePath(path), String(maxBytes)];
}

export function writeFileCommand(root: string, path: string, size: number): [string, ...string[]] {
  return [PERL, "-e", PROGRAM, "write", root, checkFilePath(path), String(size)];
}

/** Returns undefined if the program ended before it answered. */
export function parseFileRead(answer: Buffer): FileRead | undefined {
  const { word, rest, bytes } = split(answer);
  if (word === "read") {
    // A process of the session may cut the answer short; a length that does not fit is no answer.
    return bytes.length === Number(rest) ? { kind: "read", bytes } : undefined;
  }
  if (word === "missing") return { kind: "missing" };
  if (word === "long" && /^\d{1,15}$/.test(rest)) return { kind: "too long", size: Number(rest) };
  return word === "refused" ? { kind: "refused", why: rest } : undefined;
}

export function parseFileWritten(answer: Buffer): FileWritten | undefined {
  const { word, rest } = split(answer);
  if (word === "written") return { kind: "written" };
  return word === "refused" ? { kind: "refused", why: rest } : undefined;
}

function split(answer: Buffer): { word: string; rest: string; bytes: Buffer } {
  const end = answer.indexOf(0x0a);
  const line = answer.toString("latin1", 0, Math.min(Math.max(end, 0), ANSWER_BYTES));
  const [, word = "", rest = ""] = /^(\w+)(?: ([\x20-\x7e]*))?$/.exec(line) ?? [];
  return { word, rest, bytes: answer.subarray(end + 1) };
}

function checkFilePath(path: string): string {
  if (path === "" || path.includes("\0") || Buffer.byteLength(path) > 4000) {
    throw new SandboxError(
      "SANDBOX_SESSION_INVALID",
      `The path ${JSON.stringify(path.slice(0, 100))} is empty, too long, or holds a NUL byte.`,
      "Name a file below the workspace.",
    );
  }
  return path;
}

export function fileProgramFailed(session: string, said: string): SandboxError {
  const why = said
    .replace(/[^\x20-\x7e]/g, " ")
    .trim()
    .slice(0, 300);
  return new SandboxError(
    "SANDBOX_FILES_FAILED",
    `A file of session ${session} could not be read or written: our own program for it did not answer${why === "" ? "" : ` (${why})`}.`,
    "See whether a process of the session kills others, and whether /usr/bin/perl is there.",
  );
}
