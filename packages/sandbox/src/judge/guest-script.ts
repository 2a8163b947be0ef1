// The command `guest` on the judge's PATH: perl, one process per guest. It requests a guest over the relay's socket, passes stdin, stdout
// and stderr through, and ends with the guest's exit code. The guest itself runs in a session of its own.
//
// Message within a connection: kind (1 byte), length (4 bytes, big-endian), payload.
//   from guest   Q the request: fields separated by NUL (time, memory, output, processes, files?, save?, then program and arguments)
//                T files for the guest, t their end · I stdin, i its end
//   to guest     O stdout · R stderr · Z the files' disk space: bytes, NUL, entries · S the files · X exit code, NUL, a line for the
//                judge's stderr

import { GUEST_SOCKET } from "./relay-script.ts";

const GUEST_USAGE = `usage: guest [options] [--] PROGRAM [ARGUMENT...]

Runs PROGRAM of the submission behind a wall: it sees a copy of the submission
as its working directory, and nothing of this session. Its stdin, stdout and
stderr are yours; its exit code is told by the kernel.

  --time SECONDS    at most so long (10)
  --memory MB       at most so much memory (256)
  --processes N     at most so many processes (64)
  --output BYTES    at most so much output, both streams together (1048576)
  --files DIR       gives it a copy of DIR in place of the submission
  --save DIR        puts the plain files it leaves into DIR; files that do not
                    fit there make it fail with 137, and none is kept

exit codes: 124 out of time, 125 the request is wrong, 126 and 127 PROGRAM
cannot be started, 137 killed (also for too much memory or output), else
PROGRAM's own, or 128 + the number of the signal it died of
`;

// Without modules, like the relay: a bare perl is enough.
export const GUEST_SCRIPT = `#!/usr/bin/perl
my %option = (time => "", memory => "", output => "", processes => "", files => "", save => "");
my $usage = <<'USAGE';
${GUEST_USAGE}USAGE
sub refuse { print STDERR "guest: $_[0]\\n"; exit 125 }
while (@ARGV) {
  last if $ARGV[0] !~ /^-/;
  my $word = shift @ARGV;
  last if $word eq "--";
  if ($word eq "--help" || $word eq "-h") { print $usage; exit 0 }
  my ($name, $value) = $word =~ /^--([a-z]+)(?:=(.*))?$/s;
  refuse("unknown option $word; see guest --help") unless defined $name && exists $option{$name};
  $value = shift @ARGV unless defined $value;
  refuse("--$name needs a value") unless defined $value && $value ne "";
  refuse("--$name needs a positive number") if $name !~ /^(files|save)$/ && ($value !~ /^\\d{1,12}(\\.\\d{1,6})?$/ || $value == 0);
  $option{$name} = $value;
}
refuse("name a program; see guest --help") unless @ARGV;
refuse("$option{files} is no folder") if $option{files} ne "" && !-d $option{files};
if ($option{save} ne "" && !-d $option{save}) { mkdir $option{save} or refuse("$option{save} cannot be made: $!") }
refuse("$option{save} cannot be written") if $option{save} ne "" && !-w $option{save};
$SIG{PIPE} = "IGNORE";
my $host;
socket($host, 1, 1, 0) && connect($host, pack "S a108", 1, "${GUEST_SOCKET}") or refuse("nobody starts guests here: $!");
my ($out, $in, $open, $code) = ("", "", 1, undef);
sub message { pack("aN", $_[0], length $_[1]) . $_[1] }
sub write_all {
  my ($to, $bytes) = @_;
  for (my $at = 0; $at < length $bytes;) {
    my $sent = syswrite $to, $bytes, length($bytes) - $at, $at;
    # Nobody reads the guest's output any more: as any program, this one then ends, and the guest with it.
    do { $SIG{PIPE} = "DEFAULT"; kill PIPE => $$; exit 141 } unless defined $sent || $! == 4;
    $at += $sent || 0;
  }
}
$out = message("Q", join "\\0", @option{qw(time memory output processes)}, $option{files} ne "" ? 1 : 0, $option{save} ne "" ? 1 : 0, @ARGV);
my $tar;
if ($option{files} ne "") { open $tar, "-|", "tar", "-c", "-f", "-", "-C", $option{files}, "." or refuse("tar: $!") }
# Files are unpacked by one guest at a time, and only where a part of the disk stays free for the judge's own results.
my ($save, $lock, $unkept);
sub free {
  open my $df, "-|", "df", @_, "--", $option{save} or return (0, 0);
  my ($whole, $left) = (0, 0);
  while (<$df>) { ($whole, $left) = ($1, $2) if /(\\d+)\\s+\\d+\\s+(\\d+)\\s+\\S+\\s+\\// }
  return ($whole, $left);
}
sub make_room {
  my ($bytes, $entries) = split /\\0/, $_[0];
  return unless $entries;
  open $lock, "<", $0 and flock $lock, 2;
  my ($whole, $left) = free("-Pk");
  my ($nodes, $more) = free("-Pi");
  $unkept = "what it left takes $bytes bytes, and too little is free for it" if $bytes > 1024 * ($left - $whole / 16);
  $unkept = "what it left has $entries entries, and too few are free for them" if $nodes && $entries > $more - $nodes / 16;
  return if $unkept;
  open $save, "|-", "tar", "-x", "-f", "-", "-C", $option{save}, "--no-same-owner" or refuse("tar: $!");
}
fcntl($host, 4, 2048);
while (!defined $code) {
  my ($read, $write) = ("", "");
  vec($read, fileno $host, 1) = 1;
  my $from = $tar || ($open ? *STDIN : undef);
  if (length $out) { vec($write, fileno $host, 1) = 1 }
  elsif ($from) { vec($read, fileno $from, 1) = 1 }
  next if select($read, $write, undef, undef) < 0;
  if (length $out && vec($write, fileno $host, 1)) {
    my $sent = syswrite $host, $out;
    if (defined $sent) { substr($out, 0, $sent) = "" }
    elsif ($! != 11 && $! != 4) { $out = ""; $tar = undef; $open = 0 }
  } elsif ($from && vec($read, fileno $from, 1)) {
    my $size = sysread $from, my $bytes, 65536;
    if ($size) { $out = message($tar ? "T" : "I", $bytes) }
    elsif (defined $size || $! != 4) {
      $out = message($tar ? "t" : "i", "");
      if ($tar) { close $tar; $tar = undef } else { $open = 0 }
    }
  }
  if (vec($read, fileno $host, 1)) {
    my $size = sysread $host, $in, 65536, length $in;
    refuse("the connection was lost") if defined $size ? !$size : ($! != 11 && $! != 4);
    while (length $in >= 5) {
      my ($kind, $length) = unpack "aN", $in;
      last if length $in < 5 + $length;
      my $bytes = substr $in, 5, $length;
      substr($in, 0, 5 + $length) = "";
      if ($kind eq "O") { write_all(*STDOUT, $bytes) }
      elsif ($kind eq "R") { write_all(*STDERR, $bytes) }
      elsif ($kind eq "Z") { make_room($bytes) if $option{save} ne "" }
      elsif ($kind eq "S") { print {$save} $bytes if $save }
      elsif ($kind eq "X") { ($code, my $line) = split /\\0/, $bytes, 2; print STDERR "guest: $line\\n" if $line ne ""; last }
    }
  }
}
if ($save) { close $save or $unkept = "what it left could not be kept in $option{save}" }
if ($unkept) { print STDERR "guest: $unkept\\n"; $code = 137 }
exit $code;
`;
