// Carries local connections out of a judge session. This perl program listens on a unix socket and passes each connection on as numbered
// frames over its own stdin and stdout, which are connected to the worker. It does not know about guests. Invariants:
// 1. Each connection has a window per direction: a side sends at most WINDOW unacknowledged bytes. So a slow reader costs bounded memory
//    and stops only its own writer.
// 2. When the worker's end closes, the relay ends with all its connections. A client then knows that it gets no answer.
//
// Frame: connection (4 bytes), kind (1 byte), length (4 bytes), payload; numbers are big-endian.
//   from the relay   R it listens · O a new connection · D data · E the client sends no more · A acknowledged · C the client is gone
//   to the relay     D data · A acknowledged · C close after all sent data has been delivered

/** In the judge's /tmp. No guest sees it: a guest has its own /tmp and network namespace. */
export const GUEST_SOCKET = "/tmp/.guests";
export const WINDOW = 256 * 1024;
export const FRAME_HEADER = 9;

// Without modules: a bare perl is enough. AF_UNIX 1, SOCK_STREAM 1, F_SETFL 4, O_NONBLOCK 2048, EAGAIN 11, EINTR 4 on x64 and arm64.
export const RELAY_SCRIPT = `
$SIG{PIPE} = "IGNORE";
my ($path, $window) = @ARGV;
my (%socket, %out, %unacked, %heard, %closing, $input, $last, $listen);
sub say_frame {
  my $frame = pack("NaN", $_[0], $_[1], length $_[2]) . $_[2];
  for (my $at = 0; $at < length $frame;) {
    my $sent = syswrite STDOUT, $frame, length($frame) - $at, $at;
    exit 0 unless defined $sent || $! == 4;
    $at += $sent || 0;
  }
}
sub drop { my ($id) = @_; close $socket{$id}; delete $_->{$id} for \\%socket, \\%out, \\%unacked, \\%heard, \\%closing; }
unlink $path;
socket($listen, 1, 1, 0) && bind($listen, pack "S a108", 1, $path) && listen($listen, 64) or die "relay: $!\\n";
fcntl($listen, 4, 2048);
say_frame(0, "R", "");
($input, $last) = ("", 0);
for (;;) {
  my ($read, $write) = ("", "");
  vec($read, 0, 1) = 1;
  vec($read, fileno $listen, 1) = 1;
  for my $id (keys %socket) {
    vec($read, fileno $socket{$id}, 1) = 1 if !$heard{$id} && $unacked{$id} < $window;
    vec($write, fileno $socket{$id}, 1) = 1 if length $out{$id} || $closing{$id};
  }
  next if select($read, $write, undef, undef) < 0;
  if (vec($read, 0, 1)) {
    my $size = sysread STDIN, $input, 65536, length $input;
    exit 0 if defined $size ? !$size : $! != 4;
    while (length $input >= 9) {
      my ($id, $kind, $length) = unpack "NaN", $input;
      last if length $input < 9 + $length;
      my $bytes = substr $input, 9, $length;
      substr($input, 0, 9 + $length) = "";
      next unless $socket{$id};
      if ($kind eq "D") { $out{$id} .= $bytes }
      elsif ($kind eq "A") { $unacked{$id} -= unpack "N", $bytes }
      elsif ($kind eq "C") { $closing{$id} = 1 }
    }
  }
  if (vec($read, fileno $listen, 1)) {
    while (accept my $client, $listen) {
      fcntl($client, 4, 2048);
      my $id = ++$last;
      ($socket{$id}, $out{$id}, $unacked{$id}) = ($client, "", 0);
      say_frame($id, "O", "");
    }
  }
  for my $id (keys %socket) {
    my $client = $socket{$id};
    if (vec($write, fileno $client, 1)) {
      my $sent = length $out{$id} ? syswrite $client, $out{$id} : 0;
      if (!defined $sent) {
        if ($! != 11 && $! != 4) { say_frame($id, "C", ""); drop($id); next }
      } elsif ($sent) {
        substr($out{$id}, 0, $sent) = "";
        say_frame($id, "A", pack "N", $sent);
      }
      if ($closing{$id} && !length $out{$id}) { drop($id); next }
    }
    if (!$heard{$id} && vec($read, fileno $client, 1)) {
      my $size = sysread $client, my $bytes, 65536;
      if (!defined $size) {
        if ($! != 11 && $! != 4) { say_frame($id, "C", ""); drop($id) }
      } elsif ($size) { $unacked{$id} += $size; say_frame($id, "D", $bytes) }
      else { $heard{$id} = 1; say_frame($id, "E", "") }
    }
  }
}
`;
