/** Shows the progress of a run on stderr: permanent lines for events and, on a screen, one redrawn line below them. */
import type { Doing, Happening, Look } from "@markmill/stack";
import type { Ask } from "@markmill/store";
import { formatCount, formatDollars, formatElapsed } from "./amounts.ts";
import type { Terminal } from "./command.ts";
import { fitWidth, oneLine } from "./fit-width.ts";
import { describeAftermath, describeHappening, layOut } from "./tell-event.ts";
import { describeWait } from "./tell-wait.ts";

export interface Progress {
  show(look: Look): void;
  ask(ask: Ask, runId: string): void;
  /** Removes the redrawn line. */
  end(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;
const erase = "\r\u001b[2K";
const plainColumns = 200;

export function showProgress(terminal: Terminal, now: () => number = Date.now): Progress {
  let latest: Look | null = null;
  let frame = 0;
  const begun = now();
  const draw = () => {
    if (latest === null) return;
    frame += 1;
    const mark = frames[frame % frames.length] ?? "";
    terminal.draw(erase + fitWidth(`${mark} ${oneLine(statusLine(latest, begun, now()))}`, terminal.columns - 1));
  };
  const timer = terminal.live ? setInterval(draw, frameMs) : null;
  timer?.unref();

  const say = (line: string) => terminal.err(terminal.live ? fitWidth(line, terminal.columns - 1) : line);

  return {
    show(look) {
      for (const happening of withoutTakenOver(look.happened)) {
        const columns = terminal.live ? terminal.columns - 1 : plainColumns;
        for (const line of linesOf(happening, columns)) say(line);
      }
      latest = look;
      if (terminal.live) draw();
    },
    ask({ node, question, text }, runId) {
      say(`? ${node} asks: ${oneLine(question === "" ? text : question)}`);
      if (question !== "" && text !== "")
        for (const line of text.trim().split("\n").slice(0, 20)) say(`    ${oneLine(line)}`);
      say(`  answer it: markmill answer ${runId} TEXT`);
    },
    end() {
      if (timer !== null) clearInterval(timer);
      if (terminal.live) terminal.draw(erase);
    },
  };
}

/** Events that a fork copied happened before the fork, so they are left out. */
function withoutTakenOver(happened: readonly Happening[]): readonly Happening[] {
  const forks = new Map<string, number>();
  for (const { runId, entry } of happened) {
    if (entry.kind === "event" && entry.event.type === "run.forked") forks.set(runId, entry.seq);
  }
  return forks.size === 0 ? happened : happened.filter(({ runId, entry }) => entry.seq >= (forks.get(runId) ?? 0));
}

function linesOf(happening: Happening, columns: number): string[] {
  const { entry, depth, name, phase = null } = happening;
  const line = describeHappening(happening);
  const started = entry.kind === "event" && entry.event.type === "run.started";
  // The summary reports how the run itself ended, and a CALL reports the success of its called run.
  const told =
    phase?.is === "ended" && (depth === 0 || phase.status === "success") ? { ...happening, phase: null } : happening;
  const shown = [...(!started ? [line] : depth === 0 ? [] : [{ ...line, text: name }]), ...describeAftermath(told)];
  return shown.map((one) => layOut(one, depth, columns));
}

function statusLine({ doing, spent, run, waits }: Look, begun: number, now: number): string {
  const tokens = spent.promptTokens + spent.completionTokens;
  const [wait] = waits;
  if (wait !== undefined) return `${describeWait(wait, now)} · ${formatElapsed(now - begun)}`;
  const parts = [
    doing.length === 0 ? run.status : doing.slice(0, 3).map(describeDoing).join(", "),
    ...(doing.length > 3 ? [`+${doing.length - 3}`] : []),
    formatElapsed(now - begun),
    `${formatCount(tokens)} tokens`,
    formatDollars(spent.nanodollars),
  ];
  return parts.join(" · ");
}

function describeDoing({ node, generation, attempt, kind, state }: Doing): string {
  const visit = `${node}${generation > 1 ? ` (hit ${generation})` : ""}${attempt > 1 ? ` (attempt ${attempt})` : ""}`;
  return kind === "ask" && state === "waiting" ? `${visit} waits for an answer` : visit;
}
