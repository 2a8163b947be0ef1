/** The health of one process through its life: starting, ready or not ready, stopping. */
import type { HealthComponent } from "./health.ts";
import { troubleOf } from "./health-codes.ts";
import { serveHealth } from "./health-server.ts";
import { lookAfter } from "./look-after-components.ts";

export interface ProcessHealth {
  readonly port: number;
  /** From now on the components decide the readiness. */
  isReady(components: readonly HealthComponent[]): void;
  /** From now on the process accepts no new work. It stays live. */
  isStopping(): void;
  close(): Promise<void>;
}

/** `port` null: health is not served. */
export async function openHealth(port: number | null): Promise<ProcessHealth | null> {
  if (port === null) return null;
  let phase: "PROCESS_STARTING" | "PROCESS_STOPPING" | null = "PROCESS_STARTING";
  let parts: readonly HealthComponent[] = [];
  const itself: HealthComponent = {
    name: "process",
    needed: true,
    silence: troubleOf("HEALTH_SILENT"),
    look: () => (phase === null ? null : troubleOf(phase)),
  };
  // While the process stops, its connections close one after the other, so they are not checked.
  const look = () => lookAfter(() => (phase === null ? [itself, ...parts] : [itself]));
  let ready = look();
  const server = await serveHealth(port, () => ready());
  return {
    port: server.port,
    isReady(components) {
      phase = null;
      parts = components;
      ready = look();
    },
    isStopping() {
      phase = "PROCESS_STOPPING";
      ready = look();
    },
    close: server.close,
  };
}
