/**
 * The command `cases` on the judge's PATH. It runs a program of the submission once for each pair of files "input, expected output" and
 * writes the test results. Perl without modules, like `guest`.
 *
 * C1  The student's program runs only as a guest. Expected output never leaves the judge.
 * C2  A mistake of the teacher (a case without expected output, a program that is not installed) ends with exit code 2 and writes no
 *     results: a grader error, never a zero.
 * C3  Any behaviour of the student's program (any exit code, any bytes, no end) is at most a failed test of that student.
 * C4  The results file is written once and complete, after the last case.
 */
import { guestDefaults } from "./guest-request.ts";

const CASES_USAGE = `usage: cases [options] [--] PROGRAM [ARGUMENT...]

Runs PROGRAM once for each NAME.out below /judge/cases, compares what it prints
with that file, and writes the results to MARKMILL_RESULTS. Beside NAME.out:

  NAME.in      standard input (none: empty)
  NAME.args    further arguments, one in each line
  NAME.exit    the expected exit code (none: 0)

The name of the test is NAME with its folders, as in years/century.

  --dir DIR            where the cases are (/judge/cases)
  --with DIR           adds the teacher's files to the student's, such as a
                       main program; of two with the same path the teacher's
                       is taken
  --build COMMAND      runs COMMAND in bash first; PROGRAM finds what it made
  --compare HOW        lines: without spaces at line ends and empty last lines
                       (usual), exact, words: any white space, numbers: as
                       words, numbers within --tolerance
  --tolerance NUMBER   absolute or relative difference of numbers (0.000001)
  --visible PATTERN    tests whose messages students may see, as in 'examples/*'
  --time SECONDS       for each case (${guestDefaults.timeMs / 1000})
  --build-time SECONDS for the build (60)
  --memory MB, --processes N, --output BYTES
                       as for guest

exit codes: 0 all passed, 1 some failed, 2 the cases cannot be run
`;

export const CASES_SCRIPT = String.raw`#!/usr/bin/perl
my ($results, $nonce) = delete @ENV{qw(MARKMILL_RESULTS MARKMILL_NONCE)};
my $usage = <<'USAGE';
${CASES_USAGE}USAGE
sub refuse { print STDERR "cases: $_[0]\n"; exit 2 }
my %option = (dir => "/judge/cases", compare => "lines", tolerance => "0.000001", "build-time" => 60);
my %takes = map { $_ => 1 } qw(dir with build compare tolerance visible time build-time memory processes output);
while (@ARGV) {
  last if $ARGV[0] !~ /^-/;
  my $word = shift @ARGV;
  last if $word eq "--";
  if ($word eq "--help" || $word eq "-h") { print $usage; exit 0 }
  my ($name, $value) = $word =~ /^--([a-z-]+)(?:=(.*))?$/s;
  refuse("unknown option $word; see cases --help") unless defined $name && $takes{$name};
  if (!defined $value) { refuse("$word needs a value; see cases --help") unless @ARGV; $value = shift @ARGV }
  $option{$name} = $value;
}
refuse("name a program; see cases --help") unless @ARGV;
refuse("--compare is lines, exact, words or numbers, not $option{compare}") unless $option{compare} =~ /^(?:lines|exact|words|numbers)$/;
for my $name (qw(time build-time memory processes output tolerance)) {
  next unless defined $option{$name};
  refuse("--$name is a number above 0, not $option{$name}") unless $option{$name} =~ /^(?:\d+(?:\.\d*)?|\.\d+)$/ && $option{$name} > 0;
}
refuse("there is no folder $option{with}") if defined $option{with} && !-d $option{with};
my @needed = defined $option{build} && $option{build} =~ /^\s*([\w.+-]+)(?=\s|$)/ ? ($1) : ();
push @needed, $ARGV[0] if $ARGV[0] !~ m{/};
for my $program (@needed) {
  next if grep { -x "$_/$program" } split /:/, $ENV{PATH};
  next if system("bash", "-c", 'case $(type -t -- "$1") in builtin|keyword) exit 0;; esac; exit 1', "bash", $program) == 0;
  refuse("$program is not installed in this sandbox");
}

my @names;
sub look {
  my ($below) = @_;
  opendir(my $folder, "$option{dir}/$below") or refuse("$option{dir}/$below cannot be read: $!");
  for my $entry (sort grep { $_ ne "." && $_ ne ".." } readdir $folder) {
    my $path = $below eq "" ? $entry : "$below/$entry";
    if (-d "$option{dir}/$path") { look($path) }
    elsif ($path =~ /^(.+)\.out$/s) { push @names, $1 }
    elsif ($path =~ /^(.+)\.(?:in|args|exit)$/s && !-f "$option{dir}/$1.out") { refuse("$path has no $1.out beside it") }
  }
}
look("");
refuse("there is no NAME.out below $option{dir}") unless @names;

sub content {
  my ($file, $most) = @_;
  open(my $in, "<", $file) or return undef;
  binmode $in;
  my $text = "";
  while (read($in, my $piece, 65536)) { $text .= $piece; last if defined $most && length($text) >= $most }
  close $in;
  return defined $most ? substr($text, 0, $most) : $text;
}

my $scratch = "/workspace/.cases";
mkdir $scratch or refuse("$scratch cannot be made: $!");
# Returns the guest's exit code; its streams are in the scratch.
sub guest {
  my ($in, @words) = @_;
  my $pid = fork();
  refuse("no process could be started: $!") unless defined $pid;
  if ($pid == 0) {
    open(STDIN, "<", $in) && open(STDOUT, ">", "$scratch/out") && open(STDERR, ">", "$scratch/err") or exit 2;
    exec { "guest" } "guest", @words;
    exit 2;
  }
  waitpid($pid, 0);
  return $? & 127 ? 128 + ($? & 127) : $? >> 8;
}
sub bounds {
  my ($time) = @_;
  my %bound = (time => $time, map { $_ => $option{$_} } qw(memory processes output));
  return map { defined $bound{$_} ? ("--$_", $bound{$_}) : () } sort keys %bound;
}

my @files;
if (defined $option{with}) {
  mkdir "$scratch/files";
  system("cp", "-rT", "/submission", "$scratch/files") == 0 or refuse("the submission could not be copied");
  # The student's copy is read-only, and may have a folder where the teacher has a file.
  system("chmod", "-R", "u+rwX", "$scratch/files");
  system("cp", "-rT", "--remove-destination", $option{with}, "$scratch/files") == 0 or clash();
  system("chmod", "-R", "u+rwX", "$scratch/files");
  @files = ("--files", "$scratch/files");
}
# Only what stands in the way is taken out, so that a student's folder cannot stop the teacher's file.
sub clash {
  opendir(my $folder, $option{with}) or refuse("$option{with} cannot be read: $!");
  for my $entry (grep { $_ ne "." && $_ ne ".." } readdir $folder) { system("rm", "-rf", "$scratch/files/$entry") }
  system("cp", "-rT", $option{with}, "$scratch/files") == 0 or refuse("the files of $option{with} could not be copied");
}

my $failure;
if (defined $option{build}) {
  my $code = guest("/dev/null", bounds($option{"build-time"}), @files, "--save", "$scratch/built", "--", "bash", "-c", $option{build});
  if ($code != 0) {
    my $said = clip(content("$scratch/err", 4000) . content("$scratch/out", 4000), 1500);
    $failure = "it does not build: " . ($code == 124 ? "it took longer than $option{'build-time'} s" : $said =~ /\S/ ? $said : "exit code $code");
  }
  @files = ("--files", "$scratch/built");
}

my (@tests, $failed);
for my $name (@names) {
  my $message = $failure;
  if (!defined $message) {
    my $base = "$option{dir}/$name";
    my @more = split /\r?\n/, content("$base.args") // "";
    my $wanted = content("$base.exit") // "0";
    $wanted =~ s/\s+//g;
    refuse("$name.exit is no exit code") unless $wanted =~ /^\d{1,3}$/;
    my $code = guest(-f "$base.in" ? "$base.in" : "/dev/null", bounds($option{time}), @files, "--", @ARGV, @more);
    $message = judged($code, $wanted, content("$base.out") // "", content("$scratch/out") // "");
  }
  $failed = 1 if $message ne "";
  push @tests, '{"name":' . json($name) . ',"status":"' . ($message eq "" ? "passed" : "failed") . '","message":' . json($message)
    . ',"visibility":"' . (visible($name) ? "visible" : "hidden") . '"}';
  print "" . ($message eq "" ? "passed" : "failed") . "  $name\n";
}
if (defined $results) {
  open(my $out, ">", $results) or refuse("$results cannot be written: $!");
  print $out '{"nonce":' . json($nonce // "") . ',"tests":[' . join(",\n", @tests) . "]}\n";
  close $out or refuse("$results cannot be written: $!");
}
exit($failed ? 1 : 0);

sub visible {
  my ($name) = @_;
  return 0 unless defined $option{visible};
  my $pattern = join ".*", map { quotemeta } split /\*+/, $option{visible}, -1;
  return $name =~ /^$pattern$/s;
}

# What is wrong, for whoever may see the test; empty: nothing.
sub judged {
  my ($code, $wanted, $expected, $printed) = @_;
  return "it did not end within " . ($option{time} // ${guestDefaults.timeMs / 1000}) . " s" if $code == 124 && $wanted != 124;
  return "it was ended: too much memory or output" if $code == 137 && $wanted != 137;
  return "it ended with signal " . ($code - 128) . ($code == 139 ? " (segmentation fault)" : "") if $code > 128 && $wanted != $code;
  my $difference = difference($expected, $printed);
  if ($code != $wanted) {
    my ($first) = grep { /\S/ } reverse split /\n/, content("$scratch/err", 20000) // "";
    return "it ended with exit code $code instead of $wanted" . (defined $first ? ": " . clip($first, 300) : "");
  }
  return $difference;
}

sub difference {
  my ($expected, $printed) = @_;
  my $how = $option{compare};
  return $expected eq $printed ? "" : told($expected, $printed) if $how eq "exact";
  if ($how eq "lines") {
    my ($one, $other) = map { tidy($_) } $expected, $printed;
    return $one eq $other ? "" : told($one, $other);
  }
  my @wanted = split " ", $expected;
  my @said = split " ", $printed;
  for my $at (0 .. ($#wanted > $#said ? $#wanted : $#said)) {
    my ($want, $said) = ($wanted[$at], $said[$at]);
    next if defined $want && defined $said && ($want eq $said || ($how eq "numbers" && near($want, $said)));
    my $place = "word " . ($at + 1);
    return "$place: nothing was expected, it printed " . quoted($said) if !defined $want;
    return "$place: expected " . quoted($want) . ", it printed " . (defined $said ? quoted($said) : "nothing");
  }
  return "";
}

# Line by line, so that a million spaces cost one look each.
sub tidy {
  my @lines = split /\n/, $_[0], -1;
  for (@lines) { my $end = length; $end -= 1 while $end > 0 && index(" \t\r\f", substr($_, $end - 1, 1)) >= 0; $_ = substr($_, 0, $end) }
  pop @lines while @lines && $lines[-1] eq "";
  return join "\n", @lines;
}

sub near {
  my ($want, $said) = @_;
  my $number = qr/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
  return 0 unless $want =~ $number && $said =~ $number;
  my ($difference, $size) = (abs($want - $said), abs($want));
  return $difference <= $option{tolerance} || $difference <= $option{tolerance} * $size;
}

sub told {
  my ($expected, $printed) = @_;
  return "it printed nothing" if $printed eq "";
  my @wanted = split /\n/, $expected, -1;
  my @said = split /\n/, $printed, -1;
  for my $at (0 .. ($#wanted > $#said ? $#wanted : $#said)) {
    my ($want, $said) = ($wanted[$at], $said[$at]);
    next if defined $want && defined $said && $want eq $said;
    my $place = "line " . ($at + 1);
    return "$place: nothing was expected, it printed " . quoted($said) if !defined $want;
    return "$place: expected " . quoted($want) . ", it printed " . (defined $said ? quoted($said) : "nothing more");
  }
  return "";
}

sub clip { my ($text, $most) = @_; return length $text > $most ? substr($text, 0, $most) . " ..." : $text }
sub quoted { return '"' . clip($_[0], 200) . '"' }
sub json {
  my ($text) = @_;
  if (!utf8::decode($text)) { $text =~ s/[\x80-\xff]/?/g }
  $text =~ s/([\\"])/\\$1/g;
  $text =~ s/([^ -~])/escaped(ord $1)/ge;
  return '"' . $text . '"';
}
sub escaped {
  my ($code) = @_;
  return sprintf "\\u%04x", $code if $code < 0x10000 && ($code < 0xd800 || $code > 0xdfff);
  return "?" if $code < 0x10000 || $code > 0x10ffff;
  $code -= 0x10000;
  return sprintf "\\u%04x\\u%04x", 0xd800 + ($code >> 10), 0xdc00 + ($code & 0x3ff);
}
`;
