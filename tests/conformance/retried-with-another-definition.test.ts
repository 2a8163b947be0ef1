// A run is retried at a step with a corrected workflow: its conversations and files continue, and the old run stays unchanged.
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { allBackends, type Mill, startMill, workflow } from "../support/mill.ts";
import { forkRun, replayRun } from "../support/store.ts";

const script = `
sticky: true
rules:
  - { when: { text: broken }, fault: { status: 400, message: "never" } }
default: { reply: "I heard {{prompt}}" }
`;

const backends = await allBackends("retries with another definition");

describe.each(backends)("a run that continues with another definition, on the %s backend", (backend) => {
  /** Cases without a part in the queue run on one backend, and in the soak on all. */
  const once = it.skipIf(backend !== backends[0] && !inject("thorough"));
  let mill: Mill;
  let api: TestApi;
  beforeAll(async () => {
    mill = await startMill({ backend, script });
    api = await startApi(mill);
  });
  afterAll(async () => {
    await api?.close();
    await mill?.close();
  });

  const owner = () => api.client("owner");
  const save = async (files: Record<string, string>) =>
    (await (await owner()).saveDefinition({ body: { root: "a.md", files } })).hash;

  async function run(files: Record<string, string>): Promise<string> {
    const { id } = await (await owner()).startRun({ body: { definition: await save(files) } });
    await mill.ended(id);
    return id;
  }

  async function retry(id: string, from: string, files: Record<string, string>): Promise<string> {
    const body = { from: [from], definition: await save(files) };
    const made = await (await owner()).retryRun({ params: { id }, body });
    expect(made.from).toEqual([from]);
    await mill.ended(made.id);
    expect((await replayRun(mill.store.database, mill.store.definitions, made.id)).differences).toEqual([]);
    return made.id;
  }

  /** The messages of its conversations, by their names without the run. */
  async function said(id: string): Promise<Record<string, string[]>> {
    const { items } = await (await owner()).listMessages({ params: { id }, query: { limit: 200 } });
    const threads: Record<string, string[]> = {};
    for (const { thread, text, role } of items) {
      expect(thread.startsWith(`${id}/`), thread).toBe(true);
      const name = thread.slice(id.length + 1);
      threads[name] = [...(threads[name] ?? []), `${role}: ${text}`];
    }
    return threads;
  }

  /** Everything that the owner can see of a run. */
  async function seen(id: string): Promise<string> {
    const client = await owner();
    const params = { id };
    return JSON.stringify([
      await client.getRun({ params }),
      await client.getVariables({ params }),
      await client.listMessages({ params, query: { limit: 200 } }),
      await client.listActivities({ params, query: { limit: 200 } }),
      await client.listEvents({ params, query: { limit: 200 } }),
    ]);
  }

  const asked = (text: string) => mill.requests().filter(({ messages }) => messages.at(-1)?.content === text);
  const talk = (b: string, more = "") => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> PROMPT_X[Prompt: User X] --> CALL_S[[Call: said.md]] --> PROMPT_B[Prompt: User B] ${more}
      PROMPT_X@{ agent: Critic }`;
    return {
      "a.md": workflow(chart, {
        "User A": `first words ${backend}`,
        "User X": `look at it ${backend}`,
        "User B": b,
        "User C": `last words ${backend}`,
        "User Y": `look again ${backend}`,
      }),
      "said.md": workflow("START --> PROMPT_S[Prompt: User S]", { "User S": `said below ${backend}` }),
    };
  };

  it("sends the model the earlier conversation of each agent, and repeats no prompt", async () => {
    const old = await run(talk("broken words"));
    expect((await mill.ended(old)).status).toBe("failed");
    const before = await seen(old);
    const mended = talk(`mended words ${backend}`, "--> PROMPT_Y[Prompt: User Y]\n PROMPT_Y@{ agent: Critic }");
    const id = await retry(old, "PROMPT_B", mended);
    expect(await mill.ended(id)).toMatchObject({ status: "success", result: `I heard look again ${backend}` });
    const main = [`first words ${backend}`, `said below ${backend}`, `mended words ${backend}`];
    const critic = [`look at it ${backend}`, `look again ${backend}`];
    const told = (texts: string[]) => texts.flatMap((text) => [`user: ${text}`, `assistant: I heard ${text}`]);
    expect(await said(id)).toEqual({
      "main/1": told(main),
      "Critic/2": told(critic),
    });
    for (const text of [...main, ...critic]) expect(asked(text), text).toHaveLength(1);
    expect(asked(`mended words ${backend}`)[0]?.messages.map(({ content }) => content)).toEqual([
      ...[main[0], `I heard ${main[0]}`, main[1], `I heard ${main[1]}`, main[2]],
    ]);
    expect(asked(`look again ${backend}`)[0]?.messages.map(({ content }) => content)).toEqual([
      ...[critic[0], `I heard ${critic[0]}`, critic[1]],
    ]);
    expect(await seen(old)).toBe(before);
  });

  once(
    "is retried several times, with its own definition and others, and every run keeps its conversation",
    async () => {
      const old = await run(talk("broken again"));
      const first = await retry(old, "PROMPT_B", talk(`second try ${backend}`, "--> PROMPT_C[Prompt: User C]"));
      const atFirst = await seen(first);
      // This retry uses the run's current definition, from a step after the change.
      const client = await owner();
      const same = await client.retryRun({ params: { id: first }, body: { from: ["PROMPT_C"] } });
      expect((await mill.ended(same.id)).status).toBe("success");
      // This retry uses a third definition.
      const third = await retry(
        first,
        "PROMPT_C",
        talk(`second try ${backend}`, "--> PROMPT_C[Prompt: User C] --> PROMPT_Y[Prompt: User Y]"),
      );
      const words = [
        `first words ${backend}`,
        `said below ${backend}`,
        `second try ${backend}`,
        `last words ${backend}`,
      ];
      const users = async (id: string) =>
        (await said(id))["main/1"]?.filter((text) => text.startsWith("user: ")).map((text) => text.slice(6));
      expect(await users(first)).toEqual(words);
      expect(await users(same.id)).toEqual(words);
      expect(await users(third)).toEqual([...words, `look again ${backend}`]);
      expect(await seen(first)).toBe(atFirst);
      expect((await replayRun(mill.store.database, mill.store.definitions, same.id)).differences).toEqual([]);
    },
  );

  once("has the files from before the step, and is refused without a start if they no longer exist", async () => {
    const chart = (b: string, c = "") =>
      workflow(
        `START --> EXECUTE_A["Execute: echo one >> log; mkdir -p deep/er; echo kept > deep/er/file"] --> PROMPT_P[Prompt: User P] --> EXECUTE_B["Execute: ${b}"] --> PROMPT_Q[Prompt: User Q] ${c}`,
        { "User P": `hello ${backend}`, "User Q": c === "" ? "broken files" : `fine files ${backend}` },
      );
    const third = (command: string) => `--> EXECUTE_C["Execute: ${command}"]\n EXECUTE_C@{ on-failure: fail }`;
    const old = await run({ "a.md": chart("echo two >> log") });
    expect((await mill.ended(old)).status).toBe("failed");
    const before = await seen(old);
    const id = await retry(old, "EXECUTE_B", { "a.md": chart("echo mended >> log", third("cat log >&2; exit 3")) });
    expect((await mill.ended(id)).status).toBe("failed");
    // The fork has its own files. A retry of it uses those, and not the files that the first run wrote.
    const atFirst = await seen(id);
    const again = await retry(id, "EXECUTE_C", {
      "a.md": chart("echo mended >> log", third("cat log deep/er/file; echo third")),
    });
    expect((await mill.ended(again)).result).toContain("one\nmended\nkept\nthird\n");
    expect(await seen(old)).toBe(before);
    expect(await seen(id)).toBe(atFirst);
    const client = await owner();
    const runs = async () => (await client.listRuns({ query: { limit: 200 } })).items.length;
    const count = await runs();
    const further = { from: ["PROMPT_P"], definition: await save({ "a.md": chart("echo other") }) };
    await expect(client.retryRun({ params: { id }, body: further })).rejects.toMatchObject({ code: "NO_FORK" });
    expect(await runs()).toBe(count);
  });

  once("has the submission and the results of a called workflow, and a retry at the call calls again", async () => {
    const files = (c: string, below = "echo made > made") => ({
      "a.md": workflow(
        `START --> EXECUTE_A["Execute: cat answer.txt > copy"] --> CALL_B[[Call: below.md]] --> EXECUTE_C["Execute: ${c}"]\n EXECUTE_C@{ on-failure: fail }`,
      ),
      "below.md": workflow(`START --> EXECUTE_B["Execute: ${below}"]\n EXECUTE_B@{ on-failure: fail }`),
    });
    const client = await owner();
    const { hash: submission } = await client.uploadSubmission({
      query: { name: "answer.txt" },
      body: new TextEncoder().encode("42\n"),
    });
    const start = async (wanted: Record<string, string>) => {
      const { id } = await client.startRun({ body: { definition: await save(wanted), submission } });
      expect((await mill.ended(id)).status).toBe("failed");
      return id;
    };
    const after = await retry(await start(files("exit 3")), "EXECUTE_C", files("cat copy made answer.txt"));
    expect((await mill.ended(after)).result).toContain("42\nmade\n42\n");
    expect((await client.listChildRuns({ params: { id: after } })).items).toEqual([]);
    // The other definition calls on the files from before the call.
    const anew = await retry(
      await start(files("exit 3", "echo spoilt > spoilt; exit 3")),
      "CALL_B",
      files("cat copy made; ls", "echo anew > made"),
    );
    const { result } = await mill.ended(anew);
    expect(result).toContain("42\nanew\n");
    expect(result).not.toContain("spoilt");
    expect((await client.listChildRuns({ params: { id: anew } })).items).toHaveLength(1);
  });

  once(
    "is created once per idempotency key for any number of requests, and a refused fork leaves nothing",
    async () => {
      const old = await run(talk("broken once more"));
      const definition = await save(talk(`mended once more ${backend}`));
      const client = await owner();
      const request = {
        params: { id: old },
        headers: { "idempotency-key": `carry-${backend}` },
        body: { from: ["PROMPT_B"], definition },
      };
      const made = await Promise.all(Array.from({ length: 6 }, () => client.retryRun(request)));
      expect(new Set(made.map(({ id }) => id)).size).toBe(1);
      expect(made.filter(({ created }) => created)).toHaveLength(1);
      await mill.ended(made[0]?.id ?? "");
      expect(asked(`mended once more ${backend}`)).toHaveLength(1);
      const loaded = await mill.store.as("default").definitions.find(definition);
      if (loaded === null) throw new Error("the definition is gone");
      await expect(
        forkRun(mill.store, "default", { of: old, from: ["CALL_S", "PROMPT_S"], definition: loaded }),
      ).rejects.toMatchObject({ code: "STORE_NO_FORK" });
    },
  );
});
