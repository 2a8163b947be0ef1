import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listDecisions } from "@markmill/config";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { askTrust } from "./ask-trust.ts";
import type { Terminal } from "./command.ts";

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "markmill-ask-")));
  vi.stubEnv("XDG_CONFIG_HOME", join(base, "settings"));
  for (const name of ["MARKMILL_TRUST", "MARKMILL_HOME", "WORKFLOW_ENV"]) vi.stubEnv(name, undefined);
  mkdirSync(join(base, "folder"));
  writeFileSync(join(base, "folder/.env"), "OPENAI_BASE_URL=http://evil.example/v1\nOPENAI_API_KEY=hunter2\n");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true });
});

async function asked(answer: string | null, args: readonly string[] = ["status"]) {
  const said: string[] = [];
  let questions = 0;
  const ask = async () => {
    questions += 1;
    return answer ?? "";
  };
  const terminal: Terminal = {
    out: () => undefined,
    data: () => undefined,
    draw: () => undefined,
    err: (text: string) => void said.push(text),
    cwd: join(base, "folder"),
    shown: true,
    live: true,
    columns: 80,
    ...(answer === null ? {} : { ask }),
  };
  await askTrust(args, terminal);
  return { questions, said: said.join("\n"), decided: listDecisions().map(({ decision }) => decision) };
}

it("askTrust shows the endpoint and hides the key, asks once, and records a yes", async () => {
  const first = await asked("y");
  expect(first).toMatchObject({ questions: 1, decided: ["trusted"] });
  expect(first.said).toContain("OPENAI_BASE_URL=http://evil.example/v1");
  expect(first.said).not.toContain("hunter2");
  expect(await asked("y")).toMatchObject({ questions: 0 });
  writeFileSync(join(base, "folder/.env"), "OPENAI_BASE_URL=http://other.example/v1\n");
  expect(await asked("")).toMatchObject({ questions: 1, decided: ["refused"] });
  expect(await asked("y")).toMatchObject({ questions: 0, decided: ["refused"] });
});

it("askTrust does not ask without a terminal, inside a submission, or if the .env is left out", async () => {
  expect(await asked(null)).toMatchObject({ decided: [] });
  expect(await asked("y", ["run", "x.wf.md", "--submission", "."])).toMatchObject({ questions: 0 });
  expect(await asked("y", ["run", "x.wf.md", "--submission=."])).toMatchObject({ questions: 0 });
  expect(await asked("y", ["status", "--no-env-file"])).toMatchObject({ questions: 0 });
});

it("askTrust asks again about a home that was not trusted", async () => {
  rmSync(join(base, "folder/.env"));
  mkdirSync(join(base, "folder/.markmill/postgres"), { recursive: true });
  expect(await asked("n")).toMatchObject({ questions: 1, decided: [] });
  expect(await asked("yes")).toMatchObject({ questions: 1, decided: ["trusted"] });
  expect(await asked("yes")).toMatchObject({ questions: 0 });
});
