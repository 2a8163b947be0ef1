/** The Grafana dashboard beside docker-compose.yml, compared with the real /metrics of the API. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { type Mill, startMill } from "../support/mill.ts";

const infra = join(import.meta.dirname, "../../infra");
const dashboard = z
  .object({
    uid: z.string(),
    panels: z.array(
      z.object({
        id: z.number(),
        title: z.string(),
        gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
        targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).min(1),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(join(infra, "grafana/dashboards/markmill.json"), "utf8")));

let mill: Mill;
let api: TestApi;
/** The labels of each series, by the name of the series. */
const live = new Map<string, Set<string>>();
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n" });
  api = await startApi(mill);
  const owner = await api.client("owner");
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
  await owner.startRun({ body: { definition: hash } });
  const headers = { authorization: `Bearer ${await api.key(["ops"])}` };
  const text = await (await fetch(`${api.url}/metrics`, { headers })).text();
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{([^}]*)\})? \S+$/gm)) {
    const known = live.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    live.set(name, known);
  }
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

it("every dashboard panel queries existing series by existing labels", () => {
  const asked = new Set<string>();
  for (const { title, targets } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      const names = expr.match(/\bmarkmill_\w+/g) ?? [];
      expect(names.length, title).toBeGreaterThan(0);
      // Prometheus adds instance and job.
      const labels = new Set(["instance", "job"]);
      for (const name of names) {
        asked.add(name);
        expect([...live.keys()], `${title}: ${name}`).toContain(name);
        for (const label of live.get(name) ?? []) labels.add(label);
      }
      const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/,\s*/));
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
      const matched = [...expr.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)"/g)].map(([, label = ""]) => label);
      for (const label of [...grouped, ...shown, ...matched])
        expect([...labels], `${title}: ${label}`).toContain(label);
      // A label that the grouping removed is empty in the legend.
      if (grouped.length > 0) for (const label of shown) expect(grouped, `${title}: ${label}`).toContain(label);
    }
  }
  // Every series appears in some panel.
  expect([...live.keys()].filter((name) => !asked.has(name))).toEqual([]);
});

it("dashboard panels do not overlap, and use the provisioned data source", () => {
  const taken = new Set<string>();
  for (const { title, gridPos } of dashboard.panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(x, title).toBeLessThan(24);
        expect(taken.has(`${x} ${y}`), title).toBe(false);
        taken.add(`${x} ${y}`);
      }
  }
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  const sources = parse(readFileSync(join(infra, "grafana/provisioning/datasources/prometheus.yml"), "utf8"));
  expect(JSON.stringify(dashboard)).not.toContain("undefined");
  expect(sources.datasources[0].uid).toBe("markmill-prometheus");
});
