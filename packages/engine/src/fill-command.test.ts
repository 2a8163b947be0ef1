// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shells write their expansions so.
// bash itself checks the results: each filled command is run, and the text that reaches the program is compared with the value.
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { commandPlaces, fillCommand } from "./fill-command.ts";

const filled = (template: string, values: Readonly<Record<string, string>>) => {
  const command = fillCommand(template, (name) => values[name] ?? null);
  return command.ok ? command.text : `refused: ${command.why}`;
};

/** `p` prints each of its arguments between marks. An injection would run `pwn`. */
const tools = "p() { printf '<%s>' \"$@\"; }; pwn() { printf PWNED; }; export -f pwn; V=var; E=; cd /;\n";
/** Runs each command in its own subshell of one bash. Returns its output and its exit code. */
function bash(commands: readonly string[]): { readonly said: string; readonly code: string }[] {
  const each = `for command in "$@"; do (set --; eval "$command"); printf '\\0%s\\0' "$?"; done`;
  const told = execFileSync("bash", ["--norc", "-c", tools + each, "bash", ...commands], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).split("\0");
  expect(told).toHaveLength(2 * commands.length + 1);
  return commands.map((_, index) => ({ said: told[2 * index] ?? "", code: told[2 * index + 1] ?? "" }));
}

const hostile = [
  "plain",
  "two words",
  "",
  "it's",
  "a'b\"c",
  "$(pwn)",
  "`pwn`",
  "; pwn",
  "' ; pwn ; '",
  '" ; pwn ; "',
  "'\"; pwn #",
  "\\",
  "\\\\",
  "\\'; pwn; '",
  "x\\",
  "\\$(pwn)",
  "(pwn)",
  "{V}",
  "a\nb",
  "\npwn\n",
  "EOF\npwn",
  "x\nEOF\npwn\n",
  "&& pwn",
  "| pwn",
  "> /tmp/x",
  "*",
  "~",
  "$V",
  "${V}",
  "!!",
  "#x",
  "a=b",
  "-n",
  "a[$(pwn)]",
  "$((1+1))",
  "\u2028",
  "\t",
];
/** Random text of characters that have a meaning in a shell. */
const nasty = fc.string({ unit: fc.constantFrom(..."ab '\"\\$`(){}[];&|<>#!*?~=\n-0V".split("")), maxLength: 14 });
const values = () => [...hostile, ...fc.sample(nasty, 25)];

describe("a value in a command of EXECUTE", () => {
  it.each([
    ["bare", "p {{X}}", (x: string) => `<${x}>`],
    ["beside other text", "p a{{X}}b", (x: string) => `<a${x}b>`],
    ["in double quotes", 'p "a {{X}} b"', (x: string) => `<a ${x} b>`],
    ["in single quotes", "p 'a {{X}} b'", (x: string) => `<a ${x} b>`],
    ["in $'' quotes", "p $'a\\t{{X}} b'", (x: string) => `<a\t${x} b>`],
    ["after a variable", 'p $V{{X}} "$V{{X}}"', (x: string) => `<var${x}><var${x}>`],
    ["after a dollar sign", 'p ${{X}} "${{X}}"', (x: string) => `<$${x}><$${x}>`],
    ["after a backslash", "p \\{{X}}", (x: string) => `<${x}>`],
    ["after a backslash in quotes", 'p "\\{{X}}"', (x: string) => `<\\${x}>`],
    ["after two backslashes", 'p \\\\{{X}} "\\\\{{X}}"', (x: string) => `<\\${x}><\\${x}>`],
    ["after a quoted dollar sign", 'p \\${{X}} "\\${{X}}"', (x: string) => `<$${x}><$${x}>`],
    ["twice", 'p {{X}}{{X}} "{{X}}{{X}}"', (x: string) => `<${x}${x}><${x}${x}>`],
    ["in $( )", 'p "$(p {{X}} "{{X}}"; printf .)"', (x: string) => `<<${x}><${x}>.>`],
    ["in a subshell", "(p {{X}})", (x: string) => `<${x}>`],
    ["assigned", 'Y={{X}}; p "$Y"', (x: string) => `<${x}>`],
    ["compared", '[[ {{X}} == "{{X}}" ]] && p yes', () => "<yes>"],
    ["after a comment", "# {{X}} ' \" $(\np {{X}}", (x: string) => `<${x}>`],
    ["after an apostrophe in double quotes", 'p "it\'s" {{X}}', (x: string) => `<it's><${x}>`],
    ["in a here-string", "cat <<< {{X}}; p .", (x: string) => `${x}\n<.>`],
    ["over continued lines", "p a \\\n  {{X}}", (x: string) => `<a><${x}>`],
  ])(
    "arrives unchanged, in this position: %s",
    (_, template, expected) => {
      const tried = values();
      const told = bash(tried.map((x) => filled(template, { X: x })));
      for (const [index, x] of tried.entries())
        expect(told[index], JSON.stringify(x)).toEqual({ said: expected(x), code: "0" });
    },
    60_000,
  );

  it.each([
    ["here-document", "cat <<EOF\nx {{X}} $V y\nEOF\np .", (x: string) => `x ${x} var y\n<.>`],
    ["here-document with a quoted end", "cat <<'EOF'\nx {{X}} $V y\nEOF\np .", (x: string) => `x ${x} $V y\n<.>`],
    ["here-document that is indented", "cat <<-EOF\n\tx{{X}}\n\tEOF\np .", (x: string) => `x${x}\n<.>`],
    [
      "here-document, after a variable",
      "cat <<EOF\n$V{{X}} ${{X}} \\{{X}}\nEOF\np .",
      (x: string) => `var${x} $${x} \\${x}\n<.>`,
    ],
    ["line of its own", "cat <<EOF\n{{X}}\nEOF\np .", (x: string) => `${x}\n<.>`],
  ])(
    "in a %s arrives unchanged and cannot end the document",
    (_, template, expected) => {
      const refused = (x: string) => filled(template, { X: x }).startsWith("refused");
      const all = values();
      for (const x of all.filter(refused)) expect(x.split("\n").some((line) => line.trim() === "EOF")).toBe(true);
      const tried = all.filter((x) => !refused(x));
      const told = bash(tried.map((x) => filled(template, { X: x })));
      for (const [index, x] of tried.entries()) {
        // Bash removes leading tabs in an indented here-document.
        const said = template.includes("<<-") ? expected(x).replaceAll("\n\t", "\n") : expected(x);
        expect(told[index], JSON.stringify(x)).toEqual({ said, code: "0" });
      }
    },
    60_000,
  );

  it.each([
    "p $(( {{X}} + 1 ))",
    "(( {{X}} > 0 )); p .",
    "[[ {{X}} -eq 3 ]]; p .",
    '[[ "{{X}}" -gt 3 && a == a ]]; p .',
    "A[{{X}}]=1; p .",
    "let y={{X}}; p .",
    "declare -i y={{X}}; p .",
    "p ${E:-{{X}}}",
    'p "${E:-{{X}}}"',
    "p `p {{X}}`",
    "cat <<EOF\n$(p {{X}})\nEOF",
    'bash -c "p {{X}}"; p .',
    "bash -c 'printf %s {{X}}'; p .",
    'eval "p {{X}}"; p .',
    "awk 'BEGIN { print \"{{X}}\" }'",
    "sed 's/a/{{X}}/' /dev/null; p .",
    'case a in a) p "$(p {{X}})";; esac',
    "test -v {{X}}; p .",
    "printf -v {{X}} a; p .",
  ])(
    "is harmless or refused where the shell would evaluate it again: %s",
    (template) => {
      const commands = values()
        .map((x) => filled(template, { X: x }))
        .filter((command) => !command.startsWith("refused"));
      for (const [index, { said }] of bash(commands).entries()) expect(said, commands[index]).not.toContain("PWNED");
      expect(filled(template, { X: "3" })).not.toMatch(/^refused/);
    },
    60_000,
  );

  it("stays unquoted if it is a plain word or a number", () => {
    expect(filled("make -C {{DIR}} -j{{N}} {{TARGET}}", { DIR: "src/a-b.c", N: "4", TARGET: "all" })).toBe(
      "make -C src/a-b.c -j4 all",
    );
    expect(filled('echo "Hello {{NAME}}!"', { NAME: "Ada Lovelace" })).toBe('echo "Hello Ada Lovelace!"');
  });

  it("in three braces is inserted unchanged, and a name without a value stays as written", () => {
    expect(filled("gcc {{{FLAGS}}} {{FILE}} {{NONE}} {{{NONE}}}", { FLAGS: "-O2 -g", FILE: "a b.c" })).toBe(
      "gcc -O2 -g 'a b.c' {{NONE}} {{{NONE}}}",
    );
    expect(fillCommand("p {{A}} {{A}}", () => null)).toMatchObject({ ok: true, unknown: ["A"] });
  });

  it("is never expanded again", () => {
    expect(filled("p {{A}} {{B}}", { A: "{{B}}", B: "x" })).toBe("p '{{B}}' x");
  });
});

it("commandPlaces reports the placeholders of a command with their surroundings", () => {
  const places = commandPlaces('{{CMD}} {{A}} "{{B}}" \'x{{C}}\' $(( {{D}} )); python3 -c "{{E}}" {{{F}}}');
  expect(places.map(({ name, stands, raw, first }) => [name, stands, raw, first])).toEqual([
    ["CMD", "bare", false, true],
    ["A", "bare", false, false],
    ["B", "double", false, false],
    ["C", "single", false, false],
    ["D", "number", false, false],
    ["E", "code", false, false],
    ["F", "bare", true, false],
  ]);
});

it("reads any template without an error", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(..."{{X}} '\"\\$`(){}[]<<EOF#\n-".split("")), maxLength: 60 }),
      (text) => {
        fillCommand(`${text}{{X}}`, () => "v");
      },
    ),
    { numRuns: inject("thorough") ? 3000 : 300 },
  );
});
