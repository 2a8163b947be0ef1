export { openTelemetry } from "./open-telemetry.ts";
export type {
  ActivityEnd,
  Figure,
  Telemetry,
  TracedActivity,
  Watched,
} from "./port.ts";
