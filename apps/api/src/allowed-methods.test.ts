import { routes } from "@markmill/contract";
import { describe, expect, it } from "vitest";
import { allowedMethods } from "./allowed-methods.ts";

const methodsOf = allowedMethods(routes);

describe("allowedMethods", () => {
  it("names every method of an address, and HEAD wherever there is GET", () => {
    expect(methodsOf("/v1/runs")).toEqual(["GET", "HEAD", "POST"]);
    expect(methodsOf("/v1/batches/x")).toEqual(["DELETE", "GET", "HEAD", "PATCH"]);
    expect(methodsOf("/v1/runs/x/cancel")).toEqual(["POST"]);
  });

  it("knows every address of the contract", () => {
    for (const { path, method } of Object.values(routes)) {
      expect(methodsOf(path.replace(/\{\w+\}/g, "x")), path).toContain(method);
    }
  });

  it("knows no other address", () => {
    for (const path of ["", "/", "/v1", "/v1/runs/", "/v1/runs//cancel", "/v1/runs/x/y/z", "/v2/runs"]) {
      expect(methodsOf(path), path).toBeNull();
    }
  });
});
