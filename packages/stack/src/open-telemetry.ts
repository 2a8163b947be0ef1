/** Telemetry where it is configured. Where it is not, nothing of it is loaded. */
import type { Config } from "@markmill/config";
import type { Telemetry } from "@markmill/telemetry";
import type { StackLog } from "./stack-log.ts";
import { markmillVersion } from "./version.ts";

export async function openTelemetryIfAny(config: Config, role: string, log: StackLog): Promise<Telemetry | null> {
  if (config.telemetry === null) return null;
  const { openTelemetry } = await import("@markmill/telemetry");
  const onLost = (why: string) => log.warn({}, `telemetry: ${why}`);
  return openTelemetry({ settings: config.telemetry, role, version: markmillVersion(), onLost });
}
