import { stripVTControlCharacters } from "node:util";
import type { Look } from "@markmill/stack";
import type { RunDetail } from "@markmill/store";
import { describe, expect, it } from "vitest";
import type { Terminal } from "./command.ts";
import { textWidth } from "./fit-width.ts";
import { showProgress } from "./show-progress.ts";

const at = new Date("2026-01-02T03:04:05.678Z");
const node = "CHECK_".padEnd(90, "X");
const activity = { node, generation: 2, item: null, attempt: 1 };

const look: Look = {
  run: { status: "doing" } as RunDetail,
  happened: [
    {
      runId: "r",
      name: "Judge",
      depth: 1,
      entry: {
        kind: "event",
        seq: 2,
        at,
        event: {
          type: "activity.succeeded",
          at: at.getTime(),
          seed: 1,
          epoch: 1,
          activity,
          outcome: { kind: "done" },
          usage: null,
        },
      },
      checked: [{ activity, holds: false }],
    },
  ],
  doing: [],
  spent: { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 },
  waits: [],
  interrupted: false,
};

function linesOn(screen: Pick<Terminal, "live" | "columns">): string[] {
  const lines: string[] = [];
  const terminal: Terminal = {
    ...screen,
    shown: true,
    cwd: "/",
    out: () => undefined,
    data: () => undefined,
    err: (text) => lines.push(text),
    draw: () => {},
  };
  const progress = showProgress(terminal, () => at.getTime());
  progress.show(look);
  progress.end();
  return lines.map(stripVTControlCharacters);
}

describe("showProgress", () => {
  it("fits a screen of 80 columns and keeps the verdict of a check", () => {
    const [line = ""] = linesOn({ live: true, columns: 80 });
    expect(line).toMatch(/^ {2}✓ CHECK_X+… {2}\(hit 2\) {2}false$/);
    expect(textWidth(line)).toBeLessThan(80);
  });

  it("prints whole lines if there is no screen", () => {
    expect(linesOn({ live: false, columns: 80 })).toEqual([`  ✓ ${node}  (hit 2)  false`]);
  });
});
