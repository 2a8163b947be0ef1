// Checks which commands a workflow allows its model to use. This is advice, not a defence: isolation is the defence, and this check does
// not see programs that other programs start. Pure.

export interface CommandPolicy {
  /** If set, only these names and the shell's own keywords and builtins may be used. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

export type PolicyVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly name: string; readonly message: string };

export function judgeCommand(text: string, policy: CommandPolicy): PolicyVerdict {
  const deny = new Set(policy.deny ?? []);
  const allow = policy.allow === undefined ? undefined : new Set(policy.allow);
  for (const name of commandNames(text)) {
    if (deny.has(name)) return refuse(name, "it is on this workflow's list of refused commands.");
    if (allow !== undefined && !allow.has(name) && !shellWords.has(name)) {
      return refuse(name, `this workflow allows only: ${[...allow].sort().join(", ")}.`);
    }
  }
  return { allowed: true };
}

function refuse(name: string, why: string): PolicyVerdict {
  return { allowed: false, name, message: `refused: ${name} was not run; ${why}` };
}

/** Words in command position, without their directory. Includes the commands behind a launcher such as env or xargs. */
export function commandNames(text: string): string[] {
  const names: string[] = [];
  let expecting = true;
  for (const token of tokenise(text)) {
    if (token.kind === "separator") {
      expecting = true;
      continue;
    }
    if (!expecting || /^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(token.text)) continue;
    const name = token.text.slice(token.text.lastIndexOf("/") + 1);
    if (introducers.has(name)) continue;
    if (launchers.has(name)) {
      names.push(name);
      continue;
    }
    if (names.length > 0 && launchers.has(names.at(-1) ?? "") && /^(-|\d)/.test(token.text)) continue;
    if (name !== "") names.push(name);
    expecting = false;
  }
  return names;
}

type Token = { readonly kind: "word" | "separator"; readonly text: string };

function* tokenise(text: string): Generator<Token> {
  const pattern =
    /\\\n|#[^\n]*|(\$\(|`|&&|\|\||[;\n|&(){}])|[ \t\r]+|((?:\\[\s\S]|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\$(?!\()|[^\s;|&(){}`'"\\$])+)|[\s\S]/g;
  for (const match of text.matchAll(pattern)) {
    if (match[1] !== undefined) yield { kind: "separator", text: match[1] };
    else if (match[2] !== undefined) yield { kind: "word", text: match[2].replace(/^['"]|['"]$|\\(?=.)/g, "") };
  }
}

const introducers = new Set([
  "if",
  "then",
  "else",
  "elif",
  "while",
  "until",
  "do",
  "!",
  "time",
  "fi",
  "done",
  "esac",
  "function",
]);
const launchers = new Set([
  "env",
  "command",
  "exec",
  "nohup",
  "sudo",
  "xargs",
  "timeout",
  "nice",
  "stdbuf",
  "builtin",
  "setsid",
]);
const shellWords = new Set([
  ...[
    "cd",
    "echo",
    "export",
    "pwd",
    "printf",
    "set",
    "unset",
    "test",
    "[",
    "[[",
    "true",
    "false",
    "exit",
    "return",
    "read",
    "wait",
  ],
  ...[
    "local",
    "declare",
    "source",
    ".",
    ":",
    "eval",
    "trap",
    "shift",
    "type",
    "for",
    "case",
    "select",
    "in",
    "umask",
    "kill",
    "jobs",
  ],
]);
