/**
 * The metrics, on the OpenTelemetry SDK. Attributes are kinds, codes, queues and names of models: few values, and none that identifies a
 * person.
 */

import type { TelemetrySettings } from "@markmill/config";
import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import { ProtobufMetricsSerializer } from "@opentelemetry/otlp-transformer";
import type { Resource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import type { OtlpSender } from "./otlp-sender.ts";
import type { Figure } from "./port.ts";

export interface Instruments {
  readonly meter: Meter;
  readonly runs: Counter;
  readonly activities: Counter;
  readonly activitySeconds: Histogram;
  readonly waitSeconds: Histogram;
  readonly commandSeconds: Histogram;
  readonly modelSeconds: Histogram;
  readonly modelTokens: Histogram;
  readonly modelDollars: Counter;
  readonly queueSeconds: Histogram;
  observe(names: readonly Pick<Figure, "name" | "help">[], read: () => Promise<readonly Figure[]>): void;
  close(): Promise<void>;
}

/** Buckets in seconds: from a step without work to a model that thinks for long. */
const secondBounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** The buckets of the GenAI convention. */
const tokenBounds = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576];

export function openInstruments(
  { metricsEveryMs, timeoutMs }: TelemetrySettings,
  resource: Resource,
  sender: OtlpSender | null,
): Instruments {
  const readers =
    sender === null
      ? []
      : [
          new PeriodicExportingMetricReader({
            exporter: exporterOn(sender),
            exportIntervalMillis: metricsEveryMs,
            exportTimeoutMillis: Math.min(timeoutMs + 1_000, metricsEveryMs),
          }),
        ];
  const provider = new MeterProvider({ resource, readers });
  const meter = provider.getMeter("markmill");
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: secondBounds } });
  let stopObserving: (() => void) | null = null;
  return {
    meter,
    runs: meter.createCounter("markmill.runs.ended", { description: "Runs that have ended" }),
    activities: meter.createCounter("markmill.activities", { description: "Tries of activities that have ended" }),
    activitySeconds: seconds("markmill.activity.duration", "From the claim of an activity to its commit"),
    waitSeconds: seconds("markmill.activity.wait", "From the wish for an activity to its claim"),
    commandSeconds: seconds("markmill.command.duration", "Commands in the sandbox"),
    modelSeconds: seconds("gen_ai.client.operation.duration", "Requests to models"),
    modelTokens: meter.createHistogram("gen_ai.client.token.usage", {
      description: "Tokens of requests to models",
      unit: "{token}",
      advice: { explicitBucketBoundaries: tokenBounds },
    }),
    modelDollars: meter.createCounter("markmill.model.cost", { description: "Paid to models", unit: "{USD}" }),
    queueSeconds: seconds("markmill.queue.operation.duration", "What BullMQ does, by operation"),
    observe(names, read) {
      stopObserving?.();
      const gauges = new Map(
        names.map(({ name, help }) => [name, meter.createObservableGauge(`markmill.${name}`, { description: help })]),
      );
      const look: Parameters<Meter["addBatchObservableCallback"]>[0] = async (result) => {
        for (const { name, values } of await read()) {
          const gauge = gauges.get(name);
          if (gauge !== undefined) {
            for (const { labels, value } of values) result.observe(gauge, value, labels as Attributes);
          }
        }
      };
      meter.addBatchObservableCallback(look, [...gauges.values()]);
      stopObserving = () => meter.removeBatchObservableCallback(look, [...gauges.values()]);
    },
    async close() {
      // The observed source may be closed already.
      stopObserving?.();
      await provider.shutdown();
    },
  };
}

function exporterOn(sender: OtlpSender): PushMetricExporter {
  return {
    export(metrics, done) {
      const body = ProtobufMetricsSerializer.serializeRequest(metrics);
      if (body === undefined) return done({ code: 0 });
      sender.send(body).then(
        () => done({ code: 0 }),
        (error: unknown) => done({ code: 1, error: error instanceof Error ? error : new Error(String(error)) }),
      );
    },
    selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
}
