// Inline activities: queries over a whole database, and its migration. Each test has a database of its own.

import { type Event, initialState, type RunStarted, step } from "@markmill/engine";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { readMigrations } from "../../packages/store/src/database/migrate.ts";
import { freshDatabase, migratedDatabase } from "../support/postgres.ts";
import {
  createRun,
  deleteOldRuns,
  enqueueAgain,
  getHistory,
  getRun,
  listRuns,
  migrate,
  oldestDue,
  openStore,
  quietActivities,
  replayRun,
  resumeRun,
  type Store,
  startCall,
  stopRun,
} from "../support/store.ts";
import { branches, finish, pause } from "./inline-programs.ts";
import { chain, claimed, definition, oneCall, only, perform, type program } from "./store-programs.ts";

describe("inline activities of a whole database", () => {
  async function alone<Result>(act: (own: Store, url: string) => Promise<Result>): Promise<void> {
    const own = await migratedDatabase();
    const by = await openStore({ url: own.url });
    try {
      await act(by, own.url);
    } finally {
      await by.close();
      await own.drop();
    }
  }

  it("only open runs that are not stopped are due", () =>
    alone(async (own) => {
      const { runId, jobs } = await createRun(own, { definition: definition({ main: chain(1) }) });
      await pause(50);
      expect(await oldestDue(own.database, ["control"])).toBeGreaterThanOrEqual(45);
      expect(await oldestDue(own.database, ["prompt", "execute"])).toBe(0);
      await stopRun(own, runId);
      expect(await oldestDue(own.database, ["control"])).toBe(0);
      await finish(own, (await resumeRun(own, runId)).jobs);
      expect(await oldestDue(own.database, ["control"])).toBe(0);
      expect(jobs).toHaveLength(1);
    }));

  it("old runs are deleted with all their rows, and open runs stay", () =>
    alone(async (own) => {
      const calling = definition({ main: oneCall, callee: chain(1) });
      const { runId, jobs } = await createRun(own, { definition: calling });
      const call = await claimed(own, only(jobs));
      const start = await startCall(own, call.run, call.activity, null);
      const essay = { ESSAY: "so long that it has a row while the run is open, ".repeat(4) };
      const open = await createRun(own, { definition: definition({ main: chain(2) }), variables: essay });
      const back = only((await perform(own, only(start.jobs))).jobs);
      const returned = await claimed(own, back);
      await perform(own, back, returned.activity.outcome ?? { kind: "done" });
      await own.database.calm.query("update runs set ended_at = ended_at - interval '2 days'");
      expect(await getRun(own.database, runId)).toMatchObject({ status: "success" });
      expect(await deleteOldRuns(own.database, 86_400_000)).toBe(1);
      for (const table of ["runs", "events", "variables", "activities"]) {
        const key = table === "runs" ? "id" : "run_id";
        const { rows } = await own.database.calm.query(`select distinct ${key} as id from ${table}`);
        expect(rows, table).toEqual(table === "activities" ? [] : [{ id: open.runId }]);
      }
      await finish(own, open.jobs);
      expect(await getRun(own.database, open.runId)).toMatchObject({ status: "success" });
    }));
});

describe("a database from before inline activities", () => {
  /** Rows as the old version wrote them: the whole state, and a row for every activity. */
  async function leave(client: pg.Client, id: string, hash: string, main: ReturnType<typeof program>, events: Event[]) {
    let state = initialState;
    for (const [index, event] of events.entries()) {
      const stepped = step(main, state, event);
      state = stepped.state;
      await client.query("insert into events (run_id, seq, type, at, body) values ($1, $2, $3, now(), $4)", [
        ...[id, index + 1, event.type, JSON.stringify(event)],
      ]);
      for (const command of stepped.commands) {
        if (command.do === "abort") {
          await client.query("update activities set state = 'void' where run_id = $1 and state = 'ready'", [id]);
        }
        if (command.do !== "perform") continue;
        const { activity, work } = command;
        await client.query(
          `insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, work)
           values ($1, $1, $2, $3, -1, $4, $5, 'control', $6, 'ready', $7)`,
          [id, activity.node, activity.generation, activity.attempt, work.kind, state.epoch, JSON.stringify(work)],
        );
      }
      if ("activity" in event) {
        await client.query(
          "update activities set state = 'done', seq = $3, ended_at = now() where run_id = $1 and node = $2",
          [id, event.activity.node, index + 1],
        );
      }
    }
    const { variables, ...kept } = state;
    const ended = state.phase.is === "ended";
    await client.query(
      `insert into runs (id, root_id, definition_hash, program, name, status, phase, epoch, rev, state, depth, ended_at)
       values ($1, $1, $2, 'main', 'main', $3, $4, $5, $6, $7, 0, $8)`,
      [
        ...[id, hash, state.phase.is === "ended" ? state.phase.status : state.phase.is, state.phase.is, state.epoch],
        ...[events.length, JSON.stringify(kept), ended ? new Date() : null],
      ],
    );
    for (const [name, value] of Object.entries(variables)) {
      await client.query("insert into variables (run_id, name, value) values ($1, $2, $3)", [id, name, value]);
    }
  }

  it("is migrated, and its open and stopped runs finish", async () => {
    const own = await freshDatabase();
    const pool = new pg.Pool({ connectionString: own.url });
    await migrate(
      pool,
      readMigrations().filter(({ name }) => name < "0004"),
    );
    await pool.end();
    const main = branches(2);
    const { hash, ...defined } = definition({ main });
    const started = (run: string): RunStarted => ({
      type: "run.started",
      at: Date.now(),
      seed: 1,
      run,
      environment: {},
      caps: {},
      caller: null,
      variables: { STUDENT: "Ada" },
    });
    const done = (node: string): Event => ({
      type: "activity.succeeded",
      at: Date.now(),
      seed: 1,
      epoch: 1,
      usage: null,
      activity: { node, generation: 1, item: null, attempt: 1 },
      outcome: { kind: "done" },
    });
    const client = new pg.Client({ connectionString: own.url, options: "-c search_path=markmill" });
    await client.connect();
    await client.query(
      "insert into definitions (hash, dialect, name, root, programs, files) values ($1, $2, $3, $4, $5, $6)",
      [
        ...[hash, defined.dialect, defined.name, defined.root],
        ...[JSON.stringify(defined.programs), JSON.stringify(defined.files)],
      ],
    );
    await leave(client, "open", hash, main, [started("open"), done("b0")]);
    await leave(client, "stopped", hash, main, [started("stopped"), { type: "run.stopped", at: Date.now(), seed: 1 }]);
    await leave(client, "over", hash, main, [started("over"), ...["b0", "b1", "b0x", "b1x"].map(done)]);
    await client.end();

    const by = await openStore({ url: own.url });
    const quiet = await quietActivities(by.database, 0);
    const { rows } = await by.database.calm.query("select run_id from activities where id = any($1)", [
      quiet.map(({ activityId }) => activityId),
    ]);
    expect(rows).toEqual([{ run_id: "open" }, { run_id: "open" }]);
    expect(quiet).toHaveLength(2);
    const jobs = await enqueueAgain(by.database, quiet);
    expect(jobs).toHaveLength(2);
    const again = await resumeRun(by, "stopped");
    expect(again.jobs.map(({ attempt }) => attempt)).toEqual([2, 2]);
    await finish(by, jobs);
    await finish(by, again.jobs);
    for (const id of ["open", "stopped", "over"]) {
      expect(await getRun(by.database, id)).toMatchObject({ status: "success", hits: { b0: 1, b1x: 1 } });
      const { differences } = await replayRun(by.database, by.definitions, id);
      expect(differences).toEqual([]);
      const { activities } = await getHistory(by.database, id);
      expect(activities.map(({ node, state }) => `${node} ${state}`).sort()).toEqual(
        ["b0", "b0x", "b1", "b1x"].map((node) => `${node} done`),
      );
    }
    const { runs } = await listRuns(by, { variables: { STUDENT: "Ada" } });
    expect(runs.map(({ id }) => id).sort()).toEqual(["open", "over", "stopped"]);
    await by.close();
    await own.drop();
  });
});
