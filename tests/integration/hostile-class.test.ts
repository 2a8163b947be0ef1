/**
 * The hostile class: each submission is a real run with store, worker, scripted model, jail and Docker. No attack changes a verdict or
 * crashes anything. Every attack is recorded, and the worker then grades the next honest student. Both sandboxes reach the same verdicts.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createDockerSandbox, createJailSandbox, type Sandbox, type SandboxError } from "@markmill/sandbox";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import {
  bombs,
  FOUND_WRONG,
  type Handed,
  type Hostile,
  handedInByAll,
  honestRight,
  honestWrong,
  hostileClass,
  hostileClassFiles,
  LEFT_BEHIND,
  TEACHERS_SECRET,
  usualReply,
} from "../support/hostile-class.ts";
import { definitionOf, type Mill, startMill } from "../support/mill.ts";
import { createRun, getHistory, saveBlob } from "../support/store.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "the hostile class in the jail", reason: jail.message });

const docker = await dockerAvailable("the hostile class in Docker containers");
const inJail = (useCgroups: boolean) => (root: string) => createJailSandbox({ root, host: { useCgroups } });
const image = docker ? (await sharedDocker()).image : "";
const inDocker = async (): Promise<Sandbox> => {
  const { host } = await sharedDocker();
  return await createDockerSandbox({ hosts: [host], images: [image] });
};

/** The number of parallel runs. The CI machine has two cores. */
const AT_ONCE = 3;
const RUN_MS = 110_000;
const mostMegabytes = 900;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unseen = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/u;

const thorough = inject("thorough");
const honest = [
  { name: "honest right", files: honestRight },
  { name: "honest wrong", files: honestWrong },
];

interface Judged {
  readonly status: string;
  readonly same: string | undefined;
  readonly run: string | undefined;
  readonly judged: string | undefined;
  readonly late: string;
  /** All transcripts, in order. */
  readonly record: string;
  readonly warnings: string;
  readonly attempts: number;
}

const all = [...hostileClass, ...bombs];

it("the attacks of the hostile class are many, differ in name, and are each described in a sentence", () => {
  expect(all.length).toBeGreaterThanOrEqual(40);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  for (const { attack } of all) expect(attack).toMatch(/^[A-Z].*\.$/);
});

it("the hostile class tries at least one attack for every aim", () => {
  const aims = new Set(all.map(({ aim }) => aim));
  expect(aims.size).toBeGreaterThanOrEqual(15);
  expect(new Set(all.flatMap(({ aim, always }) => (always === true ? [aim] : [])))).toEqual(aims);
});

const definition = definitionOf(hostileClassFiles);

const walls = [
  {
    name: "in the jail",
    missing: jail !== null,
    sandbox: inJail(true),
    members: all.filter(({ always, inDockerToo }) => thorough || always || inDockerToo),
  },
  // Every bomb is tried; this list has the bombs that the lists above leave out. sandbox-jail and sandbox-conformance-jail test the limits.
  {
    name: "in the jail without cgroups",
    missing: jail !== null,
    sandbox: inJail(false),
    members: bombs.filter(({ always }) => thorough || !always),
  },
  // The soak tries all of them. docker-keeper.test.ts always tries those that a container counts in another way than the jail.
  {
    name: "in Docker",
    missing: !docker,
    sandbox: inDocker,
    members: all.filter(({ inDockerToo }) => thorough || inDockerToo),
  },
];

const present = walls.filter(({ missing }) => !missing);
/** Results by the kind of sandbox, then by the student. */
const outcomes = new Map(present.map(({ name }) => [name, new Map<string, Promise<Judged>>()]));

describe.each(present)("a hostile class $name", ({ name: wall, sandbox, members }) => {
  let mill: Mill;
  const results = outcomes.get(wall) ?? new Map<string, Promise<Judged>>();
  const idle: (() => void)[] = [];
  let free = AT_ONCE;
  const result = (name: string) => results.get(name) as Promise<Judged>;
  const runs = new Set<string>();

  beforeAll(async () => {
    const special = members.filter(({ reply }) => reply !== undefined);
    mill = await startMill({
      backend: "postgres",
      // JSON is valid YAML.
      script: JSON.stringify({
        rules: special.map(({ name, reply }) => ({ when: { text: `of ${name}?` }, reply, verbatim: true })),
        default: { reply: usualReply, verbatim: true },
      }),
      sandbox,
      ...(sandbox === inDocker ? { environment: { SANDBOX_IMAGE: image } } : {}),
    });
    for (const member of [...honest, ...members])
      results.set(
        member.name,
        queued(() => judge(member)),
      );
    for (const coming of results.values()) coming.catch(() => undefined);
  });
  afterAll(async () => {
    await Promise.allSettled(results.values());
    await mill.close();
  });

  async function queued<T>(work: () => Promise<T>): Promise<T> {
    while (free === 0) await new Promise<void>((resolve) => idle.push(resolve));
    free -= 1;
    try {
      return await work();
    } finally {
      free += 1;
      idle.shift()?.();
    }
  }

  async function judge({ name, files }: Pick<Hostile, "name" | "files">): Promise<Judged> {
    const blob = await saveBlob(mill.store, await tarOf({ ...handedInByAll, ...files }));
    const created = await createRun(mill.store, { definition, submission: { blob }, variables: { CASE: name } });
    runs.add(created.runId);
    await mill.queues.enqueue(created.jobs);
    const { status, variables } = await mill.ended(created.runId, RUN_MS);
    const history = await getHistory(mill.store.database, created.runId);
    const texts = history.entries.flatMap((entry) =>
      entry.kind === "event" && entry.event.type === "activity.succeeded" && entry.event.outcome.kind === "executed"
        ? [entry.event.outcome.text]
        : [],
    );
    return {
      status,
      same: variables.SAME,
      run: variables.RUN,
      judged: variables.JUDGED,
      late: variables.LATE ?? "",
      record: texts.join("\n"),
      warnings: history.entries
        .flatMap((entry) => (entry.kind === "warning" ? [entry.warning.message] : []))
        .join("\n"),
      attempts: history.activities.filter(({ kind }) => kind === "execute").length,
    };
  }

  it("passes the honest correct submission and fails the honest wrong one", async () => {
    const right = await result("honest right");
    expect(right, right.record).toMatchObject({ status: "success", same: "0", run: "0", judged: "0", attempts: 4 });
    const wrong = await result("honest wrong");
    expect(wrong).toMatchObject({ status: "failed", same: "1", run: "1", judged: String(FOUND_WRONG), attempts: 4 });
  });

  it.each(members)("$name: the verdict holds, and the attack is reported", async (member) => {
    const { name, trace, never, noted, notedInJail } = member;
    const found = await result(name);
    // The submission was judged and failed. The sandbox had no trouble, and no attempt was repeated.
    expect(found, found.record).toMatchObject({ status: "failed", judged: String(FOUND_WRONG), attempts: 4 });
    expect(Number(found.same), found.record).toBeGreaterThan(0);
    expect(Number(found.run), found.record).toBeGreaterThan(0);
    expect(found.record).toMatch(trace);
    expect(found.record).toContain("judged wrong");
    if (never !== undefined) expect(found.record).not.toMatch(never);
    if (noted !== undefined) expect(found.warnings).toMatch(noted);
    if (notedInJail !== undefined && sandbox !== inDocker) expect(found.warnings).toMatch(notedInJail);
    expect(found.record).not.toContain(TEACHERS_SECRET);
    expect(found.late).not.toMatch(/root:|PATH=/);
    expect(unseen.exec(found.record)).toBeNull();
  });

  it("leaves the worker unchanged: no remains, bounded memory, and the next honest submission passes", async () => {
    await Promise.allSettled(results.values());
    const next = await judge({ name: "next", files: honestRight });
    expect(next, next.record).toMatchObject({ status: "success", same: "0", run: "0", judged: "0", attempts: 4 });
    // Other test files have sessions on the same engine.
    await expect.poll(async () => (await mill.sandbox.list()).filter(({ labels }) => runs.has(labels.run))).toEqual([]);
    expect(leftBehind()).toEqual([]);
    expect(process.memoryUsage().rss / 1024 / 1024).toBeLessThan(mostMegabytes);
  });
});

it.skipIf(jail !== null || !docker)(
  "the hostile class has the same outcomes in the jail and in Docker, one by one",
  async () => {
    const [inJails, inContainers] = ["in the jail", "in Docker"].map((wall) => outcomes.get(wall) ?? new Map());
    const both = [...(inContainers?.keys() ?? [])].filter((name) => inJails?.has(name));
    expect(both.length).toBeGreaterThanOrEqual(6);
    for (const name of both) {
      const [there, here] = await Promise.all([outcomeOf(inJails?.get(name)), outcomeOf(inContainers?.get(name))]);
      expect(here, name).toEqual(there);
    }
  },
);

/** The results that a teacher sees. A bomb's processes may end by different limits. */
async function outcomeOf(judged: Promise<Judged> | undefined) {
  const { status, same, run, judged: code, attempts } = (await judged) ?? {};
  return { status, same: same === "0", run: run === "0", judged: code, attempts };
}

/** Command lines on this host of processes that the class left behind. */
function leftBehind(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
        return line.includes(LEFT_BEHIND) ? [line] : [];
      } catch {
        return [];
      }
    });
}

async function tarOf(files: Readonly<Record<string, Handed>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === "string") archive.entry({ name, mode: 0o644 }, content);
    else archive.entry({ name, type: "symlink", linkname: content.to });
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
