import { openapiDocument, type Route, routes } from "@markmill/contract";
import { expect, it } from "vitest";
import { docsPage } from "./docs-page.ts";

const { html } = docsPage(openapiDocument("1.2.3"));

it("the docs page shows every webhook event with an example", () => {
  for (const type of ["run.ended", "batch.ended", "ask.opened", "grade.released", "webhook.test"]) {
    expect(html).toContain(`<code>${type}</code>`);
    expect(html).toContain(`&#34;type&#34;: &#34;${type}&#34;`);
  }
});

it("the docs page shows for every operation a command with each required query parameter", () => {
  const needing = Object.entries(routes as Record<string, Route>).flatMap(([name, { query }]) =>
    Object.entries(query?.shape ?? {}).flatMap(([parameter, schema]) =>
      schema.safeParse(undefined).success ? [] : [{ name, parameter }],
    ),
  );
  expect(needing).toEqual([{ name: "listTries", parameter: "work" }]);
  for (const { name, parameter } of needing) {
    const operation = html.split("<details").find((one) => one.includes(`id="${name}"`)) ?? "";
    expect(operation, name).toMatch(new RegExp(`<pre>curl [^<]*[?&#;]${parameter}=ada%40example\\.edu`));
  }
});
