/** Reads the W3C header `traceparent` from outside. It is used for a link, never as our parent. A malformed header is ignored. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

export function readTraceParent(header: string | null): TraceParent | null {
  // Later versions may append fields after the flags.
  const found = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(
    header?.trim().slice(0, 200) ?? "",
  );
  if (found === null) return null;
  const [, version, traceId = "", spanId = "", flags = "00", more] = found;
  if (version === "00" && more !== undefined) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
}
