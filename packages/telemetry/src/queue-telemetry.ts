/**
 * Receives BullMQ's own instrumentation through its `telemetry` option, and turns it into metrics and into spans of the run of each job. It
 * implements the shape of that option instead of using bullmq-otel. That library would store a context in every job, start a trace at every
 * poll for work, and record the messages of errors.
 *
 * B1  A job does not contain its run's trace. BullMQ's span of a job starts without a trace and gets one when the worker has claimed the
 *     activity (`adopt`). A span that is never adopted (a stale delivery, a poll for work, the renewal of locks) only counts in
 *     `markmill.queue.operation.duration`.
 * B2  Nothing is stored in the queue: `getMetadata` is empty.
 * B3  Attributes come from a list. Errors are reported by their kind.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { type Counter, type Gauge, type Histogram, SpanKind } from "@opentelemetry/api";
import type { Instruments } from "./instruments.ts";
import { now } from "./now.ts";
import type { SpanWriter } from "./span-writer.ts";

/** The trace and parent of a BullMQ span. */
interface Place {
  readonly traceId: string;
  readonly parentId: string;
}

interface Scope {
  readonly span: QueueSpan | null;
  /** The trace and parent of a span that starts here, if it has no parent span. */
  readonly place: Place | null;
}

export interface QueueTelemetry {
  /** The option to pass to BullMQ. */
  readonly option: QueueOption;
  /** Assigns BullMQ's current operation, and the span it has started, to this run. */
  adopt(place: Place): void;
  /** Assigns BullMQ's operations during `act` to this run. */
  within<T>(place: Place, act: () => T): T;
}

interface Described {
  readonly description?: string;
  readonly unit?: string;
}

/** The shape that BullMQ requires. */
export interface QueueOption {
  readonly tracer: { startSpan(name: string, options?: { kind: number }, scope?: Scope): QueueSpan };
  readonly contextManager: {
    with<A extends (...given: never[]) => unknown>(scope: Scope, act: A): ReturnType<A>;
    active(): Scope;
    root(): Scope;
    getMetadata(scope: Scope): string;
    fromMetadata(scope: Scope, metadata: string): Scope;
  };
  readonly meter: {
    createCounter(name: string, more?: Described): Counter;
    createHistogram(name: string, more?: Described): Histogram;
    createGauge(name: string, more?: Described): Gauge;
  };
}

const told: ReadonlySet<string> = new Set([
  "bullmq.queue.name",
  "bullmq.queue.operation",
  "bullmq.job.id",
  "bullmq.job.attempts.made",
  "bullmq.job.bulk.count",
  "bullmq.worker.name",
]);

export function createQueueTelemetry(spans: SpanWriter, { meter, queueSeconds }: Instruments): QueueTelemetry {
  const scopes = new AsyncLocalStorage<Scope>();
  const nowhere: Scope = { span: null, place: null };
  const active = () => scopes.getStore() ?? nowhere;
  const counters = new Map<string, ReturnType<typeof meter.createCounter>>();
  const histograms = new Map<string, ReturnType<typeof meter.createHistogram>>();
  const once = <T>(made: Map<string, T>, name: string, make: () => T): T => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const one = make();
    made.set(name, one);
    return one;
  };
  const close = (span: QueueSpan) => {
    const to = now();
    const place = span.place();
    const queue = span.attributes["bullmq.queue.name"] ?? "";
    const operation = span.attributes["bullmq.queue.operation"] ?? "";
    queueSeconds.record((to - span.from) / 1000, { queue, operation });
    if (place === null) return;
    const { name, kind, from, attributes, error, id } = span;
    spans.write({ ...place, name, kind, from, to, attributes, spanId: id, error: error ?? undefined });
  };

  const option: QueueOption = {
    tracer: {
      startSpan(name, { kind } = { kind: 0 }, scope = active()) {
        // The names come from BullMQ: an operation and a queue.
        return new QueueSpan(name, kind, scope, close);
      },
    },
    contextManager: {
      with: (scope, act) => scopes.run(scope, act as () => ReturnType<typeof act>),
      active,
      root: () => nowhere,
      getMetadata: () => "",
      fromMetadata: (scope) => scope,
    },
    meter: {
      createCounter: (name, more) => once(counters, name, () => meter.createCounter(name, more)),
      createHistogram: (name, more) => once(histograms, name, () => meter.createHistogram(name, more)),
      createGauge: (name, more) => meter.createGauge(name, more),
    },
  };
  return {
    option,
    adopt: (place) => active().span?.adopt(place),
    within: (place, act) => scopes.run({ span: null, place }, act),
  };
}

const kinds = [SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER];

class QueueSpan {
  readonly from = now();
  readonly attributes: Record<string, string | number> = {};
  readonly kind: SpanKind;
  readonly name: string;
  error: string | null = null;
  readonly #above: QueueSpan | null;
  readonly #close: (span: QueueSpan) => void;
  #place: Place | null;
  #id: string | null = null;

  constructor(name: string, kind: number, { span, place }: Scope, close: (span: QueueSpan) => void) {
    this.name = name;
    this.kind = kinds[kind] ?? SpanKind.INTERNAL;
    this.#above = span;
    this.#place = place;
    this.#close = close;
  }

  get id(): string {
    this.#id ??= randomBytes(8).toString("hex");
    return this.#id;
  }

  /** A job that is handed over continues in the span of the first job: both belong to the same tree of runs. */
  adopt(place: Place): void {
    if (this.#above === null) this.#place ??= place;
    else this.#above.adopt(place);
  }

  place(): Place | null {
    if (this.#above === null) return this.#place;
    const above = this.#above.place();
    return above === null ? null : { traceId: above.traceId, parentId: this.#above.id };
  }

  setSpanOnContext(): Scope {
    return { span: this, place: null };
  }

  setAttribute(name: string, value: unknown): void {
    if (told.has(name) && (typeof value === "string" || typeof value === "number")) this.attributes[name] = value;
  }

  setAttributes(attributes: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(attributes)) this.setAttribute(name, value);
  }

  addEvent(): void {}

  recordException(exception: unknown): void {
    this.error = exception instanceof Error ? exception.name : "Error";
  }

  end(): void {
    this.#close(this);
  }
}
