/**
 * Limits how often a process logs trouble. Every line with an error (`err`) is logged at the pace of trouble-pace.ts, by the error's
 * component and code. All other lines are passed on. The worker, supervisor, API, queue, store, leases and telemetry of a process all log
 * through it.
 */
import type { StackLog } from "./stack-log.ts";
import { describeError } from "./tell-error.ts";
import { nameTrouble, type TroubleName } from "./trouble-name.ts";
import { afterQuiet, afterSighting, type Course, type Line, type TroublePace, usualPace } from "./trouble-pace.ts";

export interface TroubleLog extends StackLog {
  /** The end of a current trouble is no longer reported. */
  close(): void;
}

interface Known {
  readonly name: TroubleName;
  readonly course: Course;
}

/** Telemetry is sent at intervals. So its trouble can last although no new error appears for a while. */
const slow: Readonly<Record<string, number>> = { telemetry: 15 };
/** At most this many different troubles are remembered. A new one replaces the oldest. */
const mostKnown = 500;

export function createTroubleLog(log: StackLog, pace: TroublePace = usualPace, now = () => Date.now()): TroubleLog {
  const known = new Map<string, Known>();
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  const paceOf = ({ component }: TroubleName): TroublePace => ({
    ...pace,
    quietMs: pace.quietMs * (slow[component] ?? 1),
  });

  function sight(level: "warn" | "error", fields: { readonly err: unknown }, message: string): void {
    const name = nameTrouble(fields.err, message);
    const { course, line } = afterSighting(known.get(name.key)?.course ?? null, now(), pace);
    known.set(name.key, { name, course });
    if (known.size > mostKnown) known.delete(known.keys().next().value ?? "");
    if (line !== null) write(level, name, line, fields, message);
    watch();
  }

  function write(
    level: "warn" | "error",
    name: TroubleName,
    line: Line,
    fields: { readonly err?: unknown },
    message: string,
  ): void {
    const { component, code, defect } = name;
    const called = code === null ? component : `${component} (${code})`;
    const about = { trouble: line.is, component, ...(code === null ? {} : { code }) };
    if (line.is === "ended") {
      const { lastedMs, times, heldBack } = line;
      const text = `${called}: ended after ${seconds(lastedMs)}; ${countErrors(times, heldBack)}`;
      log.warn({ ...about, lastedMs, times, heldBack }, text);
      return;
    }
    const told = tellError(fields, defect);
    if (line.is === "began") {
      log[level]({ ...about, ...told }, message);
      return;
    }
    const { since, times, heldBack } = line;
    const started = new Date(since).toISOString();
    const text = `${called}: still failing since ${started}: ${countErrors(times, heldBack)}; now: ${message}`;
    log[level]({ ...about, ...told, since: started, times, heldBack }, text);
  }

  /** The timer runs only while a trouble is remembered. */
  function watch(): void {
    if (timer !== null || closed || known.size === 0) return;
    timer = setTimeout(
      () => {
        timer = null;
        for (const [key, { name, course }] of known) {
          const next = afterQuiet(course, now(), paceOf(name));
          if (next.course === null) known.delete(key);
          else known.set(key, { name, course: next.course });
          if (next.line !== null) write("warn", name, next.line, {}, "");
        }
        watch();
      },
      Math.ceil(pace.quietMs / 5),
    );
    timer.unref();
  }

  const tell =
    (level: "warn" | "error") =>
    (fields: object, message: string): void => {
      if ("err" in fields && fields.err !== undefined && fields.err !== null) {
        sight(level, { ...fields, err: fields.err }, message);
      } else log[level](fields, message);
    };
  return {
    info: (fields, message) => log.info(fields, message),
    warn: tell("warn"),
    error: tell("error"),
    close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** A known trouble is logged by its text and its fix. A defect also needs the stack and the causes (`err`). */
function tellError(fields: { readonly err?: unknown }, defect: boolean): object {
  const { err, ...others } = fields;
  const { code, message, fix } = describeError(err);
  const told = { ...others, ...(code === null ? {} : { error: message }), ...(fix === null ? {} : { fix }) };
  return defect ? { ...told, err } : told;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

function countErrors(times: number, heldBack: number): string {
  return `${times} ${times === 1 ? "error" : "errors"}, ${heldBack} not logged`;
}
