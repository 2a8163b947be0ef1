// The page /docs in a real browser: its search, examples and links.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { openBrowser } from "../support/chromium.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStore, type Store } from "../support/store.ts";

let database: TestDatabase;
let store: Store;
let api: TestApi;
let browser: Browser | null;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  api = await startApi({ store, queues: null });
  browser = await openBrowser("the page /docs in a browser");
});
afterAll(async () => {
  await browser?.close();
  await api?.close();
  await store?.close();
  await database?.drop();
});

it("the page of the API finds operations by any word, and shows a command and an answer for each", async (test) => {
  if (browser === null) return test.skip();
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(`${api.url}/docs`);
  const visible = () => page.locator("main>section details:visible>summary").allTextContents();
  const all = await visible();
  expect(all.length).toBeGreaterThan(100);
  await page.keyboard.press("/");
  await page.keyboard.type("Grade override");
  const found = await visible();
  expect(found.length).toBeLessThan(all.length / 4);
  expect(found.some((one) => one.includes("/v1/batches/{id}/grades"))).toBe(true);
  await page.fill("#search", "no such word as this");
  expect(await visible()).toEqual([]);
  expect(await page.locator("#none").isVisible()).toBe(true);
  await page.fill("#search", "");
  expect(await visible()).toEqual(all);
  await page.goto(`${api.url}/docs#startRun`);
  const start = page.locator("#startRun");
  expect(await start.evaluate((one) => (one as unknown as { open: boolean }).open)).toBe(true);
  const text = (await start.textContent()) ?? "";
  expect(text).toContain('curl -sS --fail-with-body -X POST "$MARKMILL_URL/v1/runs"');
  expect(text).toContain('"created": true');
  expect(errors).toEqual([]);
  await page.close();
});
