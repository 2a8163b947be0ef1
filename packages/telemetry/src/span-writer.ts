/**
 * Writes spans with given ids, on the SDK. A span is written complete, when it has ended. If its process is killed before that, the span
 * does not exist, and nothing waits for it.
 */

import type { TelemetrySettings } from "@markmill/config";
import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { Resource } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { OtlpSender } from "./otlp-sender.ts";

interface WrittenSpan {
  readonly name: string;
  readonly traceId: string;
  /** Default: a random id. */
  readonly spanId?: string;
  /** null: the root of the trace. */
  readonly parentId: string | null;
  readonly kind?: SpanKind;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly attributes: Attributes;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string; readonly flags?: number }[];
  /** A code; absent: no error. */
  readonly error?: string | undefined;
}

export interface SpanWriter {
  write(span: WrittenSpan): void;
  close(): Promise<void>;
}

export const noSpans: SpanWriter = { write: () => undefined, close: async () => undefined };

export function openSpanWriter(
  { spans, share, timeoutMs }: TelemetrySettings,
  resource: Resource,
  sender: OtlpSender,
): SpanWriter {
  const ids = new GivenIds();
  const provider = new TracerProvider({
    resource,
    idGenerator: ids,
    // Depends only on the trace's id, so it is the same in every process.
    sampler: share >= 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(share),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: exporterOn(sender),
        scheduledDelayMillis: spans.everyMs,
        maxQueueSize: spans.mostWaiting,
        maxExportBatchSize: spans.mostTogether,
        exportTimeoutMillis: timeoutMs + 1_000,
      }),
    ],
  });
  const tracer = provider.getTracer("markmill");
  return {
    write({ name, traceId, spanId, parentId, kind = SpanKind.INTERNAL, from, to, attributes, links = [], error }) {
      ids.give(traceId, spanId ?? null);
      const context =
        parentId === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId,
              spanId: parentId,
              traceFlags: TraceFlags.SAMPLED,
              isRemote: true,
            });
      const span = tracer.startSpan(name, { kind, startTime: from, attributes, links: links.map(toLink) }, context);
      if (error !== undefined) {
        span.setAttribute("error.type", error);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(Math.max(from, to));
    },
    close: () => provider.shutdown(),
  };
}

function exporterOn(sender: OtlpSender): SpanExporter {
  return {
    export(spans, done) {
      const body = ProtobufTraceSerializer.serializeRequest(spans);
      if (body === undefined) return done({ code: 0 });
      sender.send(body).then(
        () => done({ code: 0 }),
        (error: unknown) => done({ code: 1, error: error instanceof Error ? error : new Error(String(error)) }),
      );
    },
    shutdown: async () => undefined,
  };
}

function toLink({ traceId, spanId, flags = 1 }: NonNullable<WrittenSpan["links"]>[number]): Link {
  return { context: { traceId, spanId, traceFlags: flags, isRemote: true } };
}

/** The SDK requests ids while it starts a span, which is synchronous. */
class GivenIds implements IdGenerator {
  #traceId = "";
  #spanId: string | null = null;
  readonly #random = new RandomIdGenerator();

  give(traceId: string, spanId: string | null): void {
    this.#traceId = traceId;
    this.#spanId = spanId;
  }

  generateTraceId(): string {
    return this.#traceId;
  }

  generateSpanId(): string {
    return this.#spanId ?? this.#random.generateSpanId();
  }
}
