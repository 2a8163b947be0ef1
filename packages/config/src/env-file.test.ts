import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Config,
  claimHome,
  describeFindings,
  forgetDecision,
  keyElsewhere,
  listDecisions,
  openQuestions,
  readProcessConfig,
  recordDecision,
  trustQuestions,
} from "./index.ts";

let base: string;
let folder: string;
const file = () => join(folder, ".env");
const hostile =
  "OPENAI_BASE_URL=http://evil.example/v1\nDATABASE_URL=postgresql://x:pw@evil/x\nSANDBOX_HOSTS=tcp://evil:1\nWORKFLOW_ENV=AWS_SECRET_ACCESS_KEY\n";

const reading = (place = {}, cwd = folder) => readProcessConfig(cwd, place);
const config = (place = {}, cwd = folder): Config => {
  const read = reading(place, cwd);
  if (!read.ok) throw new Error(describeFindings(read.findings));
  return read.config;
};
const notes = (place = {}, cwd = folder) => {
  const read = reading(place, cwd);
  return read.ok ? read.notes.join("\n") : describeFindings(read.findings);
};
const trust = () => {
  for (const { subject } of trustQuestions(folder)) recordDecision(subject, "trusted");
};

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "markmill-env-")));
  folder = join(base, "folder");
  mkdirSync(folder);
  vi.stubEnv("XDG_CONFIG_HOME", join(base, "settings"));
  for (const name of [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "DATABASE_URL",
    "WORKFLOW_ENV",
    "MARKMILL_TRUST",
    "MARKMILL_HOME",
  ])
    vi.stubEnv(name, undefined);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "hunter2");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true });
});

describe("a .env file that another person may have written", () => {
  it.each(["class.yaml", ".markmill", "nothing"])(
    "sets nothing beside %s, and is reported with the command to trust it",
    (mark) => {
      writeFileSync(
        file(),
        `${hostile}OPENAI_API_KEY=theirs\nDEFAULT_MODEL=theirs\nMARKMILL_HOME=/tmp/theirs\nRETENTION_DAYS=1\n`,
      );
      if (mark === "class.yaml") writeFileSync(join(folder, mark), "");
      if (mark === ".markmill") mkdirSync(join(folder, mark));
      expect(config()).toMatchObject({
        database: { kind: "embedded" },
        home: ".markmill",
        retentionDays: 0,
        models: { baseUrl: "https://api.openai.com/v1", defaultModel: null, apiKey: null },
        sandbox: { hosts: [] },
        workflowEnvironment: {},
      });
      expect(notes()).toMatch(/\.env is ignored, because you have not trusted it \(.*OPENAI_BASE_URL.*markmill trust$/);
    },
  );

  it("sets no variable that workflows may read", () => {
    vi.stubEnv("WORKFLOW_ENV", "RUBRIC");
    writeFileSync(file(), "RUBRIC=full marks\n");
    expect(config().workflowEnvironment).toEqual({});
    expect(notes()).toContain("RUBRIC");
  });

  it("is not mentioned if it belongs to another program", () => {
    writeFileSync(file(), "REACT_APP_TITLE=x\n");
    expect({ notes: notes(), open: openQuestions(folder) }).toEqual({ notes: "", open: [] });
  });

  it("counts once it is trusted, until its content or path changes, or the trust is withdrawn", () => {
    writeFileSync(file(), hostile);
    trust();
    expect(config()).toMatchObject({
      database: { kind: "external" },
      workflowEnvironment: { AWS_SECRET_ACCESS_KEY: "hunter2" },
    });
    expect(notes()).toBe("");
    writeFileSync(file(), `${hostile}\n`);
    expect(config().database).toEqual({ kind: "embedded" });
    writeFileSync(file(), hostile);
    expect(config().database).toMatchObject({ kind: "external" });
    renameSync(folder, join(base, "moved"));
    expect(config({}, join(base, "moved")).database).toEqual({ kind: "embedded" });
    renameSync(join(base, "moved"), folder);
    expect(listDecisions()).toMatchObject([{ path: file(), decision: "trusted" }]);
    expect(forgetDecision(file())).toBe(true);
    expect(config().database).toEqual({ kind: "embedded" });
  });

  it("stays ignored after a refusal, is reported, and causes no second question", () => {
    writeFileSync(file(), hostile);
    const [question] = openQuestions(folder);
    expect(question?.shows).toEqual([
      "DATABASE_URL=postgresql://x:***@evil/x",
      "OPENAI_BASE_URL=http://evil.example/v1",
      "SANDBOX_HOSTS=tcp://evil:1",
      "WORKFLOW_ENV=AWS_SECRET_ACCESS_KEY",
    ]);
    if (question !== undefined) recordDecision(question.subject, "refused");
    expect(openQuestions(folder)).toEqual([]);
    expect(config().database).toEqual({ kind: "embedded" });
    expect(notes()).toMatch(/because you refused to trust it.*markmill trust/);
  });

  it("shows its keys by name only in the trust question, and no value can imitate another line", () => {
    writeFileSync(
      file(),
      'OPENAI_API_KEY=hunter2\nDEFAULT_MODEL="a\nOPENAI_BASE_URL=https://api.openai.com/v1"\nOTHER=1\n',
    );
    expect(openQuestions(folder)[0]?.shows).toEqual([
      "DEFAULT_MODEL=a OPENAI_BASE_URL=https://api.openai.com/v1",
      "OPENAI_API_KEY (a secret, not shown)",
      "other names: OTHER",
    ]);
  });

  it("counts if MARKMILL_TRUST is set in the environment, which no .env file can set", () => {
    writeFileSync(file(), `MARKMILL_TRUST=1\n${hostile}`);
    expect(config().database).toEqual({ kind: "embedded" });
    vi.stubEnv("MARKMILL_TRUST", "0");
    expect(config().database).toEqual({ kind: "embedded" });
    vi.stubEnv("MARKMILL_TRUST", "1");
    expect(config().database).toMatchObject({ kind: "external" });
    expect(openQuestions(folder)).toEqual([]);
  });

  it("that is a link to another file is trusted only with the content of that file", () => {
    writeFileSync(join(base, "own.env"), hostile);
    symlinkSync(join(base, "own.env"), file());
    expect(config().database).toEqual({ kind: "embedded" });
    trust();
    expect(config().database).toMatchObject({ kind: "external" });
    writeFileSync(join(base, "own.env"), `${hostile}#\n`);
    expect(config().database).toEqual({ kind: "embedded" });
  });

  it("inside a submission is ignored completely, trusted or not, also in subfolders and through a link", () => {
    writeFileSync(file(), `${hostile}OPENAI_API_KEY=theirs\nDEFAULT_MODEL=theirs\n`);
    trust();
    const link = `${folder}-link`;
    symlinkSync(folder, link);
    for (const submission of [".", folder, link, join(folder, "..")]) {
      const found = config({ submissions: [submission] });
      expect(found.models, submission).toMatchObject({ apiKey: null, defaultModel: null });
      expect(found, submission).toMatchObject({ database: { kind: "embedded" }, envFile: "left out" });
      expect(notes({ submissions: [submission] })).toContain("inside the submission");
    }
    expect(config({ submissions: ["ada"] }).database).toMatchObject({ kind: "external" });
  });

  it("that others can write does not count", () => {
    writeFileSync(file(), hostile);
    trust();
    chmodSync(file(), 0o666);
    expect(config().database).toEqual({ kind: "embedded" });
    expect(notes()).toContain("chmod 600");
  });

  it("that sets only the endpoint is refused if the key was set elsewhere", () => {
    writeFileSync(file(), "OPENAI_BASE_URL=http://evil.example/v1\n");
    trust();
    vi.stubEnv("OPENAI_API_KEY", "hunter2");
    expect(reading()).toMatchObject({ ok: false, findings: [{ code: "CONFIG_KEY_ELSEWHERE" }] });
    expect(notes()).not.toContain("hunter2");
    vi.stubEnv("OPENAI_BASE_URL", "https://mine.example/v1");
    expect(config().models).toMatchObject({ apiKey: "hunter2", baseUrl: "https://mine.example/v1" });
    vi.stubEnv("OPENAI_API_KEY", undefined);
    writeFileSync(file(), "OPENAI_API_KEY=theirs\n");
    trust();
    expect(reading()).toMatchObject({ ok: false, findings: [{ code: "CONFIG_KEY_ELSEWHERE" }] });
    vi.stubEnv("OPENAI_API_KEY", "");
    expect(config().models.apiKey).toBeNull();
    expect(keyElsewhere({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://x" }, {})).toBeNull();
    expect(keyElsewhere({}, { OPENAI_API_KEY: "k" })).toBeNull();
  });

  it("is trusted by a private record (mode 0600), which does not count if others can write it or its folder is relative", () => {
    writeFileSync(file(), hostile);
    trust();
    const records = join(base, "settings/markmill/trust");
    const [name = ""] = spawnSync("ls", [records], { encoding: "utf8" }).stdout.trim().split("\n");
    expect(statSync(join(records, name)).mode & 0o777).toBe(0o600);
    chmodSync(join(records, name), 0o666);
    expect(config().database).toEqual({ kind: "embedded" });
    chmodSync(join(records, name), 0o600);
    expect(config().database).toMatchObject({ kind: "external" });
    vi.stubEnv("XDG_CONFIG_HOME", "settings");
    vi.stubEnv("HOME", join(base, "nowhere"));
    expect(config().database).toEqual({ kind: "embedded" });
  });
});

describe("the encoding of a .env file", () => {
  const bytes = (text: string, encoding: BufferEncoding, mark = "") => Buffer.from(mark + text, encoding);

  it("may include a byte order mark", () => {
    writeFileSync(file(), bytes("DEFAULT_MODEL=small\n", "utf8", "\ufeff"));
    trust();
    expect(config().models.defaultModel).toBe("small");
  });

  it.each([
    ["UTF-16 with a mark", bytes("DEFAULT_MODEL=x\n", "utf16le", "\ufeff"), "UTF-16"],
    ["UTF-16, big end first", Buffer.from(bytes("DEFAULT_MODEL=x\n", "utf16le", "\ufeff")).swap16(), "UTF-16"],
    ["UTF-16 without a mark", bytes("DEFAULT_MODEL=x\n", "utf16le"), "UTF-16"],
    ["zeros in it", Buffer.from("DEFAULT_MODEL=\0\n"), "byte 15 is zero"],
  ])("%s is reported as an error", (_, content, why) => {
    writeFileSync(file(), content);
    expect(notes()).toMatch(new RegExp(`CONFIG_UNREADABLE: .*\\.env .*${why}[^]*fix: .*UTF-8`));
  });

  it("is read only from plain files: a pipe does not block, and a folder is an error", () => {
    expect(spawnSync("mkfifo", [file()]).status).toBe(0);
    expect(reading()).toMatchObject({ ok: false, findings: [{ code: "CONFIG_UNREADABLE" }] });
    rmSync(file());
    mkdirSync(file());
    expect(reading()).toMatchObject({ ok: false, findings: [{ code: "CONFIG_UNREADABLE" }] });
  });
});

describe("the home of a project", () => {
  const home = () => join(folder, ".markmill");

  it("that came with the folder is refused until it is trusted", () => {
    mkdirSync(join(home(), "postgres/data"), { recursive: true });
    expect(reading()).toMatchObject({ ok: false, findings: [{ code: "CONFIG_HOME_NOT_TRUSTED" }] });
    expect(openQuestions(folder)).toMatchObject([{ what: "home" }]);
    trust();
    expect(config().home).toBe(".markmill");
  });

  it("that Markmill created is trusted, but not another folder in its place", () => {
    claimHome(home());
    mkdirSync(join(home(), "postgres"));
    expect(config().home).toBe(".markmill");
    renameSync(home(), join(base, "old"));
    mkdirSync(join(home(), "postgres"), { recursive: true });
    expect(reading()).toMatchObject({ ok: false, findings: [{ code: "CONFIG_HOME_NOT_TRUSTED" }] });
  });

  it("that is empty counts and is recorded when it is used", () => {
    mkdirSync(home());
    expect(config().home).toBe(".markmill");
    expect(claimHome(home())).toBe(true);
    mkdirSync(join(home(), "logs"));
    expect(config().home).toBe(".markmill");
  });

  it("in the environment needs no trust if the path is absolute; a relative path does", () => {
    mkdirSync(join(home(), "postgres"), { recursive: true });
    vi.stubEnv("MARKMILL_HOME", ".markmill");
    expect(reading()).toMatchObject({ ok: false });
    vi.stubEnv("MARKMILL_HOME", home());
    expect(config().home).toBe(home());
  });

  it("that cannot be recorded is reported", () => {
    writeFileSync(join(base, "settings"), "");
    expect(claimHome(home())).toBe(false);
  });
});

describe("the project of a folder", () => {
  const below = () => join(folder, "a/b");
  beforeEach(() => mkdirSync(below(), { recursive: true }));

  it.each(["class.yaml", ".markmill"])("is found above by its %s, with its .env, its home and its prices", (mark) => {
    if (mark === "class.yaml") writeFileSync(join(folder, mark), "");
    else mkdirSync(join(folder, mark));
    writeFileSync(file(), "DEFAULT_MODEL=small\nGIT_SSH_KEY=keys/id\n");
    trust();
    expect(config({}, below())).toMatchObject({
      project: folder,
      home: join(folder, ".markmill"),
      models: { defaultModel: "small", file: join(folder, "models.yaml") },
      git: { sshKey: join(folder, "keys/id") },
    });
    expect(notes({}, below())).toBe(`the project is ${folder}, a parent of the working directory`);
    expect(notes()).toBe("");
  });

  it("is the nearest home, before any class.yaml", () => {
    writeFileSync(join(below(), "class.yaml"), "");
    expect(config({}, below()).project).toBe(below());
    mkdirSync(join(folder, ".markmill"));
    expect(config({}, below()).project).toBe(folder);
    mkdirSync(join(folder, "a/.markmill"));
    expect(config({}, below()).project).toBe(join(folder, "a"));
  });

  it("is not searched in the user's home directory, nor in a folder that all users can write", () => {
    mkdirSync(join(folder, ".markmill"));
    vi.stubEnv("HOME", folder);
    expect(config({}, below()).project).toBe(below());
    expect(config().project).toBe(folder);
    vi.stubEnv("HOME", base);
    expect(config({}, below()).project).toBe(folder);
    chmodSync(folder, 0o1777);
    expect(config({}, below()).project).toBe(below());
  });

  it("ignores a .env file below it and reports this", () => {
    mkdirSync(join(folder, ".markmill"));
    writeFileSync(join(below(), ".env"), hostile);
    expect(config({}, below()).database).toEqual({ kind: "embedded" });
    expect(notes({}, below())).toContain(`${join(below(), ".env")} is ignored`);
  });
});
