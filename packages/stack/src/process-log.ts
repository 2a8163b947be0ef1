/**
 * Writes the log of a process. No credential of the configuration is written, even if a library's error contains one: neither in a text nor
 * in a field name. Every line stays valid JSON: numbers, JSON keywords and our own field names are never replaced.
 */
import { type Config, redactText } from "@markmill/config";
import { visibleJson } from "@markmill/engine";
import type { DestinationStream, Logger } from "pino";

export async function openProcessLog(
  config: Config,
  role: string,
  options: { readonly level?: string; readonly to?: DestinationStream } = {},
): Promise<Logger> {
  const { pino } = await import("pino");
  return pino(
    {
      level: options.level ?? config.logLevel,
      base: { role, pid: process.pid },
      hooks: { streamWrite: (line) => visibleJson(redactLine(line, config)) },
    },
    options.to ?? pino.destination(1),
  );
}

const own = new Set(["level", "time", "role", "pid", "msg", "err"]);

function redactLine(line: string, config: Config): string {
  return line.replaceAll(/("(?:[^"\\]|\\.)*")(:?)/g, (_, written: string, colon: string) => {
    const text: string = JSON.parse(written);
    return (colon !== "" && own.has(text) ? written : JSON.stringify(redactText(text, config))) + colon;
  });
}
