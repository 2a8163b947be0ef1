/**
 * Patterns that scripts/check-patterns.ts cannot call linear, each with the reason why it is safe where it is used: the text that is
 * searched has a small bound, or every repetition has an upper limit, so that the work per character has one, too.
 */
export interface BoundedPattern {
  readonly file: string;
  /** How the literal or the call that computes the pattern begins. */
  readonly begins: string;
  readonly because: string;
}

const ofSigns =
  "every repetition before a part that may fail has an upper limit; find-attempts.ts cuts long lines and files";

export const bounded: readonly BoundedPattern[] = [
  {
    file: "packages/config/src/redact-config.ts",
    begins: "new RegExp(`",
    because: "a constant text between two looks at one character",
  },
  {
    file: "packages/llm/src/redact-key.ts",
    begins: "new RegExp(`",
    because: "a constant text between two looks at one character",
  },
  {
    file: "packages/tools/src/secrets.ts",
    begins: "new RegExp(`",
    because: "a constant text between two looks at one character",
  },
  { file: "apps/cli/src/amounts.ts", begins: String.raw`/\B(?=(\d{3})+$)/`, because: "the digits of one number" },
  {
    file: "infra/images/sandbox/build-offline.ts",
    begins: String.raw`/\/(__pycache__`,
    because: "paths in Debian packages that the image is built from",
  },
  {
    file: "infra/images/sandbox/build-offline.ts",
    begins: "/(?:=>|^)",
    because: "what ldd says about programs that the image is built from",
  },
  {
    file: "packages/classroom/src/attempt-order.ts",
    begins: "new RegExp(mark.source",
    because: "the list of marks in the same file, whose literals are checked",
  },
  {
    file: "packages/classroom/src/canvas-resubmission.ts",
    begins: "/^(?<stem>",
    because: "names of at most 400 characters",
  },
  {
    file: "packages/classroom/src/class-file.ts",
    begins: "new RegExp(text",
    because: "the teacher's own pattern of at most 300 characters, searched in names of files and folders only",
  },
  {
    file: "packages/classroom/src/read-instant.ts",
    begins: "/^(?:(?:at|um|",
    because: "a longer text is refused before (LONGEST)",
  },
  {
    file: "packages/config/src/redact-config.ts",
    begins: "/[a-z][a-z0-9+.-]{0,30}:",
    because: "at most 31 characters are read again, and the part behind them never fails",
  },
  {
    file: "packages/contract/src/sample-of.ts",
    begins: "new RegExp(pattern",
    because: "the patterns of our own schemas, searched in samples that we write",
  },
  {
    file: "packages/engine/src/evaluate-condition.ts",
    begins: "/[.!:,;]+$/",
    because: "a verdict of at most 200 characters (longestVerdict)",
  },
  {
    file: "packages/engine/src/fill-command.ts",
    begins: "/(?:^|[\\s;&|(/])(?:eval|trap|",
    because: "the 200 characters before a place",
  },
  {
    file: "packages/engine/src/fill-command.ts",
    begins: String.raw`/(\\*)\$(\w*)$/`,
    because: "the 200 characters before a place",
  },
  {
    file: "packages/classroom/src/gradebook/export/file-name.ts",
    begins: "/[. ]+$/",
    because: "a name cut to 60 characters",
  },
  { file: "packages/grading/src/attempt-signs.ts", begins: "new RegExp(`", because: ofSigns },
  { file: "packages/grading/src/attempt-signs.ts", begins: String.raw`/\bplease\b.{0,40}`, because: ofSigns },
  { file: "packages/grading/src/attempt-signs.ts", begins: String.raw`/\b(?:instructor|professor`, because: ofSigns },
  {
    file: "packages/grading/src/attempt-signs.ts",
    begins: String.raw`/(?<![\p{L}\p{N}"'{(,;.?] ?)(?:user|human|student) ?: .{1,200}?`,
    because: ofSigns,
  },
  { file: "packages/grading/src/attempt-signs.ts", begins: `/["']?criteria["']?`, because: ofSigns },
  { file: "packages/grading/src/attempt-signs.ts", begins: String.raw`/\| ?id ?\|`, because: ofSigns },
  { file: "packages/grading/src/attempt-signs.ts", begins: String.raw`/\b(?:\d{1,9} (?:of|out of)`, because: ofSigns },
  { file: "packages/grading/src/attempt-signs.ts", begins: String.raw`/markmill_\w+|`, because: ofSigns },
  { file: "packages/grading/src/attempt-signs.ts", begins: "/node_test_context|", because: ofSigns },
  {
    file: "packages/grading/src/find-attempts.ts",
    begins: "new RegExp(pattern",
    because: "the signs of attempt-signs.ts",
  },
  {
    file: "packages/grading/src/scan-markup.ts",
    begins: "new RegExp(`</",
    because: "a constant text; where it is missing, the rest of the file is one element",
  },
  {
    file: "packages/grading/src/scrub.ts",
    begins: "/(@author",
    because: "every repetition has an upper limit",
  },
  {
    file: "packages/llm/src/script.ts",
    begins: "new RegExp(",
    because: "a script of replies is written by the person who runs it, for tests",
  },
  { file: "packages/engine/src/pattern/character-set.ts", begins: "new RegExp(`[", because: "one character" },
  {
    file: "packages/sandbox/src/docker/launcher-script.ts",
    begins: "new RegExp(`^",
    because: "begins with a nonce at the start of a line",
  },
  {
    file: "packages/sandbox/src/jail/detect-host.ts",
    begins: "new RegExp(`^",
    because: "the kernel's table of limits",
  },
  {
    file: "packages/sandbox/src/jail/etc-files.ts",
    begins: "/<!--",
    because: "public files below /etc of this machine, with a limit of bytes",
  },
  {
    file: "packages/sandbox/src/jail/etc-files.ts",
    begins: String.raw`/^[^\S\n]*[#;!]`,
    because: "public files below /etc of this machine, with a limit of bytes",
  },
  {
    file: "packages/sandbox/src/jail/translate-host-error.ts",
    begins: "/unshare failed:",
    because: "a message cut to 600 characters",
  },
  {
    file: "packages/sandbox/src/judge/judge-results.ts",
    begins: "/[0-9a-f]*$/i",
    because: "as many characters as the nonce has",
  },
  {
    file: "packages/sandbox/src/judge/judge-results.ts",
    begins: "new RegExp(nonce",
    because: "a nonce is a constant text",
  },
  {
    file: "packages/sandbox/src/probes/judge-probes.ts",
    begins: "new RegExp(`^",
    because: "a constant text at the start of a line",
  },
  {
    file: "packages/sandbox/src/probes/syscall-probes.ts",
    begins: "new RegExp(`^",
    because: "a constant text at the start of a line",
  },
  {
    file: "packages/sandbox/src/session-script.ts",
    begins: "new RegExp(`",
    because: "only the guard writes the nonce, some times per command",
  },
  {
    file: "packages/stack/src/process-log.ts",
    begins: '/("(?:',
    because: "a line of the log is valid JSON: each quote that is met opens a text that is closed",
  },
];
