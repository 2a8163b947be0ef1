import { QueueError } from "@markmill/queue";
import { StoreError } from "@markmill/store";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createTroubleLog } from "./trouble-log.ts";
import { afterQuiet, afterSighting, type Course } from "./trouble-pace.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pace = { minuteMs: 60_000, quietMs: 10_000, burst: 3 };

function heard() {
  const lines: {
    readonly level: string;
    readonly fields: Readonly<Record<string, unknown>>;
    readonly message: string;
  }[] = [];
  const say = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message });
  const log = createTroubleLog({ info: say("info"), warn: say("warn"), error: say("error") }, pace);
  return { lines, log, told: () => lines.map(({ fields }) => fields.trouble) };
}
const away = (doing: string) => new QueueError("QUEUE_UNREACHABLE", `${doing}: connect ECONNREFUSED`);

it("trouble log: reports an outage at its start, once a minute and at its end, however many errors occur", () => {
  const { lines, log, told } = heard();
  for (let step = 0; step < 150 * 100; step += 1) {
    if (step % 2 === 0) log.warn({ err: away("Enqueuing") }, "the queue");
    else log.error({ err: away("Serving control"), run: step }, "an activity could not be advanced");
    vi.advanceTimersByTime(10);
  }
  expect(told()).toEqual(["began", "lasts", "lasts"]);
  vi.advanceTimersByTime(15_000);
  expect(told()).toEqual(["began", "lasts", "lasts", "ended"]);
  expect(lines[0]).toMatchObject({
    level: "warn",
    message: "the queue",
    fields: { component: "queue", code: "QUEUE_UNREACHABLE", error: "Enqueuing: connect ECONNREFUSED" },
  });
  expect(lines[0]?.fields.fix).toContain("REDIS_URL");
  expect(lines[1]?.fields).toMatchObject({ times: 6_001, heldBack: 5_999 });
  expect(lines[1]?.message).toMatch(
    /^queue \(QUEUE_UNREACHABLE\): still failing since \S+: 6001 errors, 5999 not logged; now: /,
  );
  expect(lines.at(-1)?.message).toMatch(
    /^queue \(QUEUE_UNREACHABLE\): ended after \S+ s; 15000 errors, \d+ not logged$/,
  );
  const last = lines.at(-1)?.fields;
  expect(last).toMatchObject({ component: "queue", code: "QUEUE_UNREACHABLE", times: 15_000 });
  const heldBack = lines.reduce((sum, { fields }) => sum + Number(fields.heldBack ?? 0), 0);
  // Each sighting has its own line or is counted in one.
  expect(heldBack + 3).toBe(15_000);
});

it("trouble log: keeps different troubles apart, and defects by their text", () => {
  const { lines, log } = heard();
  for (const id of [17, 18]) {
    log.warn({ err: away("Enqueuing") }, "the queue");
    log.warn({ err: new StoreError("STORE_FULL", "disk full") }, "no heartbeat");
    log.error({ err: new StoreError("STORE_BUG", `odd ${id}`) }, "an activity could not be claimed");
    log.error({ err: new StoreError("STORE_BUG", `odder ${id}`) }, "an activity could not be claimed");
    log.error({ err: new TypeError(`x ${id} is not a function`) }, "an activity could not be claimed");
    const misused = Object.assign(new TypeError(`argument ${id}`), { code: "ERR_INVALID_ARG_TYPE" });
    log.error({ err: misused }, "an activity could not be claimed");
  }
  expect(lines.map(({ fields }) => `${fields.component} ${fields.code} ${fields.err instanceof Error}`)).toEqual([
    "queue QUEUE_UNREACHABLE false",
    "database STORE_FULL false",
    "database STORE_BUG true",
    "database STORE_BUG true",
    "process undefined true",
    "process ERR_INVALID_ARG_TYPE true",
  ]);
  expect(lines[2]?.fields).toMatchObject({ error: "odd 17", fix: expect.stringContaining("report") });
});

it("trouble log: passes on every line that is no trouble", () => {
  const { lines, log } = heard();
  for (const _ of [1, 2]) log.info({ a: 1 }, "started");
  for (const _ of [1, 2]) log.warn({ workers: ["w"] }, "workers crashed");
  expect(lines.map(({ level }) => level)).toEqual(["info", "info", "warn", "warn"]);
});

it("trouble log: reports an outage that comes after another one", () => {
  const { log, told } = heard();
  for (let outage = 0; outage < 2; outage += 1) {
    for (let second = 0; second < 5; second += 1) {
      log.warn({ err: away("Enqueuing") }, "the queue");
      vi.advanceTimersByTime(1_000);
    }
    vi.advanceTimersByTime(15_000);
  }
  expect(told()).toEqual(["began", "ended", "began", "ended"]);
});

it("trouble log: an intermittent trouble causes two lines a minute in the long run", () => {
  const { lines, log } = heard();
  for (let minute = 0; minute < 10; minute += 1) {
    for (const pauseMs of [1_000, 14_000, 15_000, 30_000]) {
      log.warn({ err: away("Enqueuing") }, "the queue");
      vi.advanceTimersByTime(pauseMs);
    }
  }
  expect(lines.length).toBeLessThanOrEqual(20 + 2 * pace.burst);
  expect(lines.length).toBeGreaterThan(5);
});

it("trouble log: forgets a trouble that did not occur for minutes", () => {
  const first = afterSighting(null, 0, pace);
  const ended = afterQuiet(first.course, 10_000, pace);
  expect(ended.line).toEqual({ is: "ended", lastedMs: 0, times: 1, heldBack: 0 });
  const course = ended.course as Course;
  expect(afterQuiet(course, 179_999, pace).course).toBe(course);
  expect(afterQuiet(course, 180_000, pace).course).toBeNull();
});
