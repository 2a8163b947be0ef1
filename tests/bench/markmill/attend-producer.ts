/** The life of a process that the producer forked: told to start, then to stop, by messages; it goes with the producer. */
import type { Start } from "../line-protocol.ts";

export type ToMember = Start | { readonly do: "stop" };
export type FromMember = { readonly ready: true } | { readonly ended: readonly string[] } | { readonly failed: string };

function tell(message: FromMember): void {
  process.send?.(message);
}

export function attendProducer(open: (start: Start) => Promise<() => Promise<void>>): void {
  let close: () => Promise<void> = async () => undefined;
  process.on("message", async (message: ToMember) => {
    try {
      if (message.do === "start") {
        close = await open(message);
        tell({ ready: true });
      } else {
        await close();
        process.disconnect();
      }
    } catch (error) {
      tell({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.on("disconnect", () => process.exit());
}
