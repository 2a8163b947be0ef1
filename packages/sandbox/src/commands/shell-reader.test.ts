import { describe, expect, it } from "vitest";
import { ShellReader } from "./shell-reader.ts";

const after = (...lines: string[]) => {
  const reader = new ShellReader();
  for (const line of lines) reader.next(line);
  return reader;
};

describe("here-documents in shell text", () => {
  it.each([
    ["cat <<EOF", "EOF"],
    ["cat << EOF", "EOF"],
    ["cat <<'EOF'", "EOF"],
    ['cat <<"END OF IT"', "END OF IT"],
    ["cat <<\\EOF", "EOF"],
    ["cat <<E'O'F", "EOF"],
    ["cat <<''", ""],
    ["cat <<EOF > out.txt", "EOF"],
    ["cat <<EOF | sort && x", "EOF"],
    ["3<<EOF cat", "EOF"],
    ["(cat <<EOF", "EOF"],
    ['git commit -m "$(cat <<EOF', "EOF"],
    ["x=$(cat <<EOF", "EOF"],
    ["cat <<EOF # comment", "EOF"],
    ["cat <<EOF; if true; then", "EOF"],
  ])("%s is ended by %j", (line, delimiter) => {
    const reader = after(line);
    expect(reader.document?.delimiter).toBe(delimiter);
    reader.next(`${delimiter} not yet`);
    expect(reader.document?.delimiter).toBe(delimiter);
    reader.next(delimiter);
    expect(reader.document).toBeUndefined();
  });

  it("<<- ends at its word after tabs, and << does not", () => {
    expect(after("cat <<-EOF", "\t\tEOF").document).toBeUndefined();
    expect(after("cat <<EOF", "\tEOF").document).toBeDefined();
  });

  it("several here-documents of one line are read in their order", () => {
    const reader = after("diff <(cat <<A) <(cat <<B)");
    expect(reader.document?.delimiter).toBe("A");
    reader.next("B");
    reader.next("A");
    expect(reader.document?.delimiter).toBe("B");
    reader.next("B");
    expect(reader.document).toBeUndefined();
  });

  it.each([
    "cat <<<EOF",
    "cat <<< EOF",
    "echo '<<EOF'",
    'echo "<<EOF"',
    "echo \\<<\\EOF >x",
    "echo hi # <<EOF",
    "echo $((1<<EOF))",
    "((x <<= 2))",
    "echo $(( (1) << 3 ))",
  ])("%s starts no here-document", (line) => {
    // An escaped first bracket leaves a plain redirection.
    expect(after(line).document).toBeUndefined();
  });
});

describe("complete and incomplete shell commands", () => {
  it.each(["echo 'a", 'echo "a', "echo $'a\\'", 'echo "$(ls "', "ls \\"])("after %s the next line is text", (line) => {
    expect(after(line).inText).toBe(true);
  });

  it.each(["echo 'a'", 'echo "a $(ls ")") b"', "echo it\\'s", "ls # it's", `echo \${x:-'a'}`, "echo `ls 'a'`"])(
    "%s is a complete command",
    (line) => {
      const reader = after(line);
      expect([reader.inText, reader.isOpen]).toEqual([false, false]);
    },
  );

  it.each(["for x in 1 2; do", "if true", "f() {", "(cd x", "cat x |", "a &&", "case $x in", "while read -r x"])(
    "%s is an open command, but the next line is not text",
    (line) => {
      const reader = after(line);
      expect([reader.inText, reader.isOpen]).toEqual([false, true]);
    },
  );

  it("loops, conditions, functions and case are complete after their end", () => {
    expect(after("for x in if do; do", "  if test $x; then", "echo done", "fi", "done").isOpen).toBe(false);
    expect(after("f() {", "  echo {", "}", "f").isOpen).toBe(false);
    expect(after("case $x in", "a) echo b ;;", "esac").isOpen).toBe(false);
  });
});
