import { describe, expect, it } from "vitest";
import { allowedMethods } from "./allowed-methods.ts";

const routes = [
  { method: "GET", url: "/v1/runs" },
  { method: "HEAD", url: "/v1/runs" },
  { method: "POST", url: "/v1/runs" },
  { method: "GET", url: "/v1/runs/:id" },
  { method: "DELETE", url: "/v1/runs/:id" },
  { method: "POST", url: "/v1/runs/:id/cancel" },
  { method: "GET", url: "/board/static/*" },
  { method: "OPTIONS", url: "*" },
];
const methodsOf = (path: string) => allowedMethods(routes, path);

describe("allowedMethods", () => {
  it("names every method of an address", () => {
    expect(methodsOf("/v1/runs")).toEqual(["GET", "HEAD", "POST"]);
    expect(methodsOf("/v1/runs/x")).toEqual(["DELETE", "GET"]);
    expect(methodsOf("/v1/runs/x/cancel")).toEqual(["POST"]);
    expect(methodsOf("/board/static/js/a.js")).toEqual(["GET"]);
  });

  it("finds no other address, even if there are routes for every address", () => {
    for (const path of ["", "/", "/v1", "/v1/runs/", "/v1/runs//cancel", "/v1/runs/x/y/z", "/v2/runs", "/board"]) {
      expect(methodsOf(path), path).toBeNull();
    }
  });
});
