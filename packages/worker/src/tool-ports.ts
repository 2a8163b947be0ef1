/** The ports of tools, on the store: begun and ended calls are rows that all workers share. */

import type { WorkKind } from "@markmill/engine";
import {
  type Activity,
  beginToolCall,
  type Database,
  endToolCall,
  type LoadedRun,
  type ReturnedCall,
  returnedCalls,
} from "@markmill/store/machine";
import type { ToolBox } from "@markmill/tools";
import { awaitStore } from "./await-store.ts";
import type { ToolPorts } from "./perform-tools.ts";
import type { Scrub } from "./scrub-requests.ts";

/**
 * Points at which a test kills the process: the row is begun; the tool has returned its result, which is not written yet; its end is
 * written.
 */
export type ToolFailPoint = "tool-begun" | "tool-performed" | "tool-ended";

export function toolPortsOf(
  database: Database,
  box: ToolBox,
  run: LoadedRun,
  activity: Activity,
  scrub: Scrub,
  failPoint: (point: ToolFailPoint, kind: WorkKind) => void | Promise<void> = () => undefined,
): Omit<ToolPorts, "session"> {
  const { id: activityId, claim } = activity;
  const key = { activityId, claim, attempt: activity.ref.attempt };
  let returned: Promise<readonly ReturnedCall[]> | null = null;
  return {
    box,
    tools: run.program.tools ?? {},
    servers: run.program.mcp ?? {},
    scrub,
    async returned({ callIndex, requestHash, position }) {
      returned ??= awaitStore(() => returnedCalls(database, activity));
      const found = (await returned).find(
        ({ place }) =>
          place.callIndex === callIndex && place.requestHash === requestHash && place.position === position,
      );
      return found ?? null;
    },
    async begin(place, call) {
      let tries = 0;
      const begun = await awaitStore(() => {
        tries += 1;
        return beginToolCall(database, run, { ...key, ...place }, { ...call, retried: tries > 1 });
      });
      if (begun.is === "begun") await failPoint("tool-begun", activity.kind);
      return begun;
    },
    async end(place, end) {
      await failPoint("tool-performed", activity.kind);
      // If the database is unreachable for a moment, wait for it: the effect of a tool must not be lost.
      await awaitStore(() => endToolCall(database, { ...key, ...place }, end));
      await failPoint("tool-ended", activity.kind);
    },
  };
}
