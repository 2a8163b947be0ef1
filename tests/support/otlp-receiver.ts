// A collector for tests: takes OTLP as protobuf over HTTP on loopback and decodes what came. It can also refuse, or never answer.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** null: a root. */
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: number;
  /** Nanoseconds since 1970. */
  readonly from: bigint;
  readonly to: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2: an error. */
  readonly status: number;
  readonly events: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

interface ReceivedPoint {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram: its sum. */
  readonly value: number;
  readonly count: number | null;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  readonly url: string;
  /** take, refuse (503) or hang. */
  mode: "take" | "refuse" | "hang";
  spans(): readonly ReceivedSpan[];
  /** The last export of every process, of every series. */
  points(): readonly ReceivedPoint[];
  /** Every byte that came, as Latin-1. */
  raw(): string;
  requests(): readonly { readonly path: string; readonly headers: IncomingMessage["headers"] }[];
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const points = new Map<string, ReceivedPoint>();
  const bodies: Buffer[] = [];
  const requests: { path: string; headers: IncomingMessage["headers"] }[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    requests.push({ path: request.url ?? "", headers: request.headers });
    if (receiver.mode === "hang") return;
    if (receiver.mode === "refuse") return void response.writeHead(503).end();
    const whole = Buffer.concat(parts);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(whole) : whole;
    bodies.push(body);
    if (request.url === "/v1/traces") spans.push(...readTraces(body));
    else if (request.url === "/v1/metrics")
      for (const point of readMetrics(body)) {
        const { name, attributes, resource } = point;
        points.set(JSON.stringify([name, attributes, resource["service.instance.id"]]), point);
      }
    else return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: "take",
    spans: () => spans,
    points: () => [...points.values()],
    raw: () => Buffer.concat(bodies).toString("latin1"),
    requests: () => requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

/** A message of protobuf: field number to what stands under it. */
type Message = Map<number, (bigint | Buffer)[]>;

function readMessage(bytes: Buffer): Message {
  const message: Message = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("a varint is cut");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const wire = key & 7;
    let value: bigint | Buffer;
    if (wire === 0) value = varint();
    else {
      const length = wire === 1 ? 8 : wire === 5 ? 4 : wire === 2 ? Number(varint()) : Number.NaN;
      if (!(at + length <= bytes.length)) throw new Error(`a field of wire type ${wire} does not fit`);
      value = bytes.subarray(at, at + length);
      at += length;
    }
    message.set(key >> 3, [...(message.get(key >> 3) ?? []), value]);
  }
  return message;
}

const bytesOf = (message: Message, field: number): Buffer[] =>
  (message.get(field) ?? []).map((value) => {
    if (!Buffer.isBuffer(value)) throw new Error(`field ${field} is a number`);
    return value;
  });
const each = (message: Message, field: number): Message[] => bytesOf(message, field).map(readMessage);
const text = (message: Message, field: number): string => bytesOf(message, field)[0]?.toString("utf8") ?? "";
const hex = (message: Message, field: number): string => bytesOf(message, field)[0]?.toString("hex") ?? "";
const fixed = (message: Message, field: number): bigint => bytesOf(message, field)[0]?.readBigUInt64LE() ?? 0n;
const int = (message: Message, field: number): number => Number(message.get(field)?.[0] ?? 0n);

function readValue(value: Message | undefined): unknown {
  if (value === undefined) return null;
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return int(value, 2) === 1;
  if (value.has(3)) return Number(BigInt.asIntN(64, value.get(3)?.[0] as bigint));
  if (value.has(4)) return bytesOf(value, 4)[0]?.readDoubleLE();
  if (value.has(5)) return each(value, 5).flatMap((list) => each(list, 1).map(readValue));
  return null;
}

function attributesOf(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(each(message, field).map((pair) => [text(pair, 1), readValue(each(pair, 2)[0])]));
}

function readTraces(body: Buffer): ReceivedSpan[] {
  return each(readMessage(body), 1).flatMap((owner) => {
    const resource = attributesOf(each(owner, 1)[0] ?? new Map(), 1);
    return each(owner, 2).flatMap((scope) =>
      each(scope, 2).map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4) || null,
        name: text(span, 5),
        kind: int(span, 6),
        from: fixed(span, 7),
        to: fixed(span, 8),
        attributes: attributesOf(span, 9),
        events: each(span, 11).length,
        links: each(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
        status: int(each(span, 15)[0] ?? new Map(), 3),
        resource,
      })),
    );
  });
}

function readMetrics(body: Buffer): ReceivedPoint[] {
  return each(readMessage(body), 1).flatMap((owner) => {
    const resource = attributesOf(each(owner, 1)[0] ?? new Map(), 1);
    return each(owner, 2).flatMap((scope) =>
      each(scope, 2).flatMap((metric) => {
        const name = text(metric, 1);
        const numbers = [5, 7].flatMap((field) => each(metric, field).flatMap((kind) => each(kind, 1)));
        const histograms = each(metric, 9).flatMap((kind) => each(kind, 1));
        return [
          ...numbers.map((point) => ({
            name,
            resource,
            count: null,
            attributes: attributesOf(point, 7),
            value: point.has(4)
              ? (bytesOf(point, 4)[0]?.readDoubleLE() ?? 0)
              : Number(bytesOf(point, 6)[0]?.readBigInt64LE() ?? 0n),
          })),
          ...histograms.map((point) => ({
            name,
            resource,
            attributes: attributesOf(point, 9),
            count: Number(fixed(point, 4)),
            value: bytesOf(point, 5)[0]?.readDoubleLE() ?? 0,
          })),
        ];
      }),
    );
  });
}
