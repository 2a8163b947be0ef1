import { expect, it } from "vitest";
import { readTraceParent } from "./trace-parent.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

it("a traceparent header is read, also of later versions", () => {
  expect(readTraceParent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, flags: 1 });
  expect(readTraceParent(` 00-${traceId}-${spanId}-02 `)).toEqual({ traceId, spanId, flags: 0 });
  expect(readTraceParent(`cc-${traceId}-${spanId}-01-what-comes`)).toEqual({ traceId, spanId, flags: 1 });
});

it.each([
  null,
  "",
  "hello",
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01\n`.repeat(100),
])("a malformed traceparent header is ignored: %j", (header) => {
  expect(readTraceParent(header)).toBeNull();
});
