// Computes which shell state passes from one command of a session to the next, and which state is dropped when the trust changes. Pure.
// Invariants:
// 1. Nothing that a foreign command leaves can steer a program of the author. Functions, aliases, traps, shell options and unexported
//    variables are dropped. Every variable that the author or the session set has the author's value again. A new variable passes only if
//    it is plain: no program is known to read its name, and its value is neither a path nor an option nor shell text.
// 2. Foreign commands do not see the author's unexported variables and functions.
// 3. `$?` and the current directory always pass.

import type { CommandOutcome, CommandSpec, SessionState } from "./port.ts";

export interface CommandStart {
  readonly state: SessionState;
  /** Whether all processes still running in the session are killed first. */
  readonly fresh: boolean;
}

/** `first`: the session's state before its first command. */
export function startOf(
  command: Pick<CommandSpec, "trust" | "clean">,
  left: SessionState,
  first: SessionState,
): CommandStart {
  const trust = command.trust ?? "author";
  const { status = 0 } = left;
  if (command.clean === true) {
    const own = trust === "foreign" ? { leftBy: trust, author: authorsOf(left) } : { leftBy: trust };
    return { fresh: true, state: { cwd: first.cwd, environment: first.environment, shell: "", status, ...own } };
  }
  if ((left.leftBy ?? "author") === trust) return { fresh: false, state: left };
  const author = authorsOf(left);
  if (trust === "foreign") {
    return {
      fresh: true,
      state: { cwd: left.cwd, environment: left.environment, shell: "", status, leftBy: "foreign", author },
    };
  }
  const gained = Object.entries(left.environment).filter(
    ([name, value]) => !Object.hasOwn(author.environment, name) && isPlainVariable(name, value),
  );
  return {
    fresh: true,
    state: {
      cwd: left.cwd,
      environment: { ...author.environment, ...Object.fromEntries(gained) },
      shell: author.shell,
      status,
      leftBy: "author",
    },
  };
}

/** The state after a command that started with `start` and reported `reported`. `reported` may be missing. */
export function stateAfter(
  command: Pick<CommandSpec, "aside">,
  start: SessionState,
  reported: SessionState | undefined,
  { exitCode }: Pick<CommandOutcome, "exitCode">,
): SessionState {
  if (command.aside === true) return start;
  // As timeout(1) does: 124 if one of our clocks ended the command.
  return { ...start, ...reported, status: exitCode ?? 124 };
}

function authorsOf(state: SessionState): NonNullable<SessionState["author"]> {
  return state.author ?? { environment: state.environment, shell: state.shell };
}

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Prefixes of the variable names that shells, loaders, languages, build tools and test tools read. */
const families = words(`
  __MM BASH ZSH KSH LD_ DYLD GLIBC MALLOC LC_ XDG_ GIT SSH GPG GNUPG PYTHON PYTEST PY_ PIP VIRTUAL_ENV CONDA TOX NOX COVERAGE
  HYPOTHESIS NODE NPM NPX YARN PNPM BUN_ DENO TS_ JEST MOCHA VITEST AVA_ PLAYWRIGHT CYPRESS ESLINT PERL PROVE HARNESS TAP_ RUBY
  GEM_ BUNDLE RAKE RSPEC JAVA JDK JRE _JAVA MAVEN MVN M2 ANT_ GRADLE KOTLIN SCALA SBT CLASSPATH JUNIT GO_ GOFLAGS GOPATH GOROOT
  CGO RUST CARGO CPATH CPLUS OBJC C_INCLUDE LIBRARY COMPILER GCC COLLECT_ CCACHE DISTCC CLANG LLVM ASAN LSAN MSAN TSAN UBSAN GTEST
  CATCH_ CTEST CMAKE MESON NINJA MAKE MFLAGS AUTOCONF ACLOCAL PKG_ DOTNET NUGET MSBUILD COMPLUS CORECLR MONO_ PHP COMPOSER LUA
  R_ JULIA GHC CABAL STACK_ OCAML OPAM ERL_ ELIXIR MIX_ CLOJURE LEIN SWIFT DART FLUTTER BATS SHUNIT SHELLSPEC VALGRIND GDB STRACE
  DIFF_ GREP LESS MANPATH TAR_ UNZIP ZIP GZIP XZ_ BZIP RSYNC CURL WGET SSL OPENSSL REQUESTS_ HTTP FTP_ ALL_PROXY NO_ AWS_ AZURE
  GOOGLE DOCKER KUBE PGHOST PGUSER PGPASS PGDATA PGOPTIONS MYSQL SQLITE REDIS MARKMILL SANDBOX OPENAI PS0 PS1 PS2 PS3 PS4 READLINE
  INPUTRC TERM TEST CI_ GLOB HIST POSIX PROMPT SHELL TMP TEMP AUTO_ COMP_ FORCE_ CLICOLOR LS_ DEBUG`);

/** Names that bash, make's built-in rules, libraries or many programs read. */
const known = new Set(
  words(`
  IFS ENV CI PATH HOME USER LOGNAME PWD OLDPWD LANG LANGUAGE TZ SHLVL UID EUID PPID CDPATH FIGNORE EXECIGNORE FUNCNEST IGNOREEOF MAIL
  MAILCHECK MAILPATH OPTERR OPTIND TIMEFORMAT TMOUT HOSTFILE HOSTNAME COLUMNS LINES EMACS FCEDIT EDITOR VISUAL PAGER BROWSER LOCPATH
  NLSPATH GCONV_PATH HOSTALIASES VERBOSE COLOR COLORS BLOCK_SIZE BLOCKSIZE QUOTING_STYLE TIME_STYLE CC CXX CPP LD AS AR RM FC F77 CO PC
  GET YACC LEX LINT TEX WEAVE TANGLE CTANGLE CWEAVE M2C MAKEINFO TEXI2DVI RANLIB STRIP NM OBJCOPY OBJDUMP INSTALL SED AWK V Q D S W O`),
);

/** Suffixes of variable names that steer programs. */
const endings = words(`
  PATH PATHS DIR DIRS HOME ROOT FILE FILES OPT OPTS OPTIONS FLAG FLAGS ARGS ARGUMENTS CONF CONFIG RC LIB LIBS LDLIBS INCLUDE INCLUDES
  CMD COMMAND COMMANDS SHELL EDITOR PAGER PROXY _ENV PREFIX INIT STARTUP PRELOAD AGENT TRACE PLUGIN PLUGINS HOOK HOOKS MODULE MODULES
  PROGRAM EXE BIN WRAPPER RUNNER FILTER LOADER IGNORE URL TOKEN PASSWORD SECRET`);

export function isPlainVariable(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  if (!/^[A-Z][A-Z0-9_]{0,63}$/.test(upper) || value.length > 4096) return false;
  if (
    known.has(upper) ||
    families.some((word) => upper.startsWith(word)) ||
    endings.some((word) => upper.endsWith(word))
  )
    return false;
  // The value must not contain a path, an option, or anything that a shell or a configuration language interprets.
  return !/[/\\$`;|&<>(){}*?[\]~=!#"'\0]|(^|\s)[-+@%]/.test(value);
}
