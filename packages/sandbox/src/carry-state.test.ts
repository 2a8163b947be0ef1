import { describe, expect, it } from "vitest";
import { isPlainVariable, startOf, stateAfter } from "./carry-state.ts";
import type { SessionState } from "./port.ts";
import { initialState } from "./session-script.ts";

const first = initialState({ COURSE: "cs1" });
const author: SessionState = { ...first, cwd: "/workspace/lib", shell: "check () { :; }", status: 3 };

describe("a command after one of the same trust", () => {
  it("starts from the state the last command left, and its processes keep running", () => {
    expect(startOf({}, author, first)).toEqual({ fresh: false, state: author });
    const foreign: SessionState = { ...author, leftBy: "foreign" };
    expect(startOf({ trust: "foreign" }, foreign, first)).toEqual({ fresh: false, state: foreign });
  });
});

describe("a foreign command after the author's", () => {
  it("sees the directory, exported variables and $?, but not the author's functions and unexported variables", () => {
    const { state, fresh } = startOf({ trust: "foreign" }, author, first);
    expect(fresh).toBe(true);
    expect(state).toMatchObject({ cwd: "/workspace/lib", shell: "", status: 3, leftBy: "foreign" });
    expect(state.environment).toEqual(author.environment);
  });
});

describe("the author's command after a foreign one", () => {
  const foreign = startOf({ trust: "foreign" }, author, first).state;
  const left = (environment: Record<string, string>): SessionState =>
    stateAfter({}, foreign, { cwd: "/tmp", environment, shell: "diff () { :; }" }, { exitCode: 7 });

  it("has the author's shell and values again, and of the foreign command only the directory, $? and plain variables", () => {
    const after = left({ ...author.environment, PATH: "/workspace/bin", COURSE: "mine", ANSWER: "42", WORDS: "a b" });
    expect(startOf({ trust: "author" }, after, first)).toEqual({
      fresh: true,
      state: {
        cwd: "/tmp",
        environment: { ...author.environment, ANSWER: "42", WORDS: "a b" },
        shell: author.shell,
        status: 7,
        leftBy: "author",
      },
    });
  });

  it("has a variable again that the foreign command unset", () => {
    expect(startOf({}, left({}), first).state.environment).toEqual(author.environment);
  });

  it.each(
    (
      "PATH BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT IFS PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS GLOBIGNORE CDPATH TMPDIR " +
      "NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTEST_ADDOPTS PYTEST_PLUGINS PERL5LIB PERL5OPT RUBYOPT RUBYLIB " +
      "JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH MAVEN_OPTS GIT_DIR GIT_CONFIG_GLOBAL GIT_EXTERNAL_DIFF MAKEFLAGS CC CFLAGS CPATH " +
      "GTEST_FILTER CARGO_HOME RUSTC_WRAPPER GOFLAGS npm_config_prefix http_proxy LC_ALL EDITOR LESSOPEN MALLOC_CHECK_ " +
      "BASH_FUNC_diff DOTNET_STARTUP_HOOKS LUA_INIT R_PROFILE OPENSSL_CONF GCONV_PATH LOCPATH TAR_OPTIONS GREP_OPTIONS"
    ).split(" "),
  )("never gets %s from a foreign command", (name) => {
    expect(startOf({}, left({ ...author.environment, [name]: "x" }), first).state.environment).toEqual(
      author.environment,
    );
  });
});

describe("a plain variable of a foreign command", () => {
  it.each([
    ["ANSWER", "42"],
    ["GREETING", "hello world"],
    ["student_name", "Ana María"],
    ["GRADE", "A"],
    ["LINES_READ", "1 2\n3"],
  ])("the variable %s=%j passes to the author's command", (name, value) =>
    expect(isPlainVariable(name, value)).toBe(true),
  );

  it.each(["/workspace/x", "-rf", "a --flag", "$(x)", "`x`", "a;b", "a=b", "~", "*", "() { :; }", "a\0b"])(
    "a value like %j does not pass to the author's command",
    (value) => expect(isPlainVariable("ANSWER", value)).toBe(false),
  );
});

describe("a command with a clean start", () => {
  it("starts from the session's first state after any command; only $? stays", () => {
    expect(startOf({ clean: true }, author, first)).toEqual({
      fresh: true,
      state: { ...first, status: 3, leftBy: "author" },
    });
  });
});

describe("the state after a command", () => {
  it("has the exit code in $?, 124 after a timeout, and is unchanged when the command ran aside", () => {
    expect(stateAfter({}, author, undefined, { exitCode: 137 }).status).toBe(137);
    expect(stateAfter({}, author, undefined, { exitCode: null }).status).toBe(124);
    expect(stateAfter({ aside: true }, author, first, { exitCode: 1 })).toBe(author);
  });
});
