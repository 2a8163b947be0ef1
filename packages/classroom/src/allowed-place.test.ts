import { expect, it } from "vitest";
import { isInPlace, readAllowedPlace } from "./allowed-place.ts";
import { readAddress } from "./repository-address.ts";

it.each([
  ["https://git.school.example/prog1/", "https://GIT.school.example:443/prog1/ada.git"],
  ["https://git.school.example/prog1", "https://git.school.example/prog1/a/b"],
  ["https://git.school.example/", "https://git.school.example/x"],
  ["https://git.school.example/prog1/*", "https://git.school.example/prog1/ada"],
  ["git@github.com:course/", "git@github.com:course/ada"],
  ["git@github.com:course/", "ssh://git@github.com/course/ada"],
  ["https://github.com/course/sheet3-*", "https://github.com/course/sheet3-ada.git"],
])("the allowed place %s covers %s", async (place, address) => {
  expect(await isInPlace(await readAddress(address), readAllowedPlace(place))).toBe(true);
});

it.each([
  ["https://git.school.example/prog1/", "https://git.school.example/prog1-solutions/x"],
  ["https://git.school.example/prog1/", "https://git.school.example/prog1"],
  ["https://git.school.example/prog1/", "https://git.school.example/Prog1/ada"],
  ["https://git.school.example/prog1/", "https://git.school.example:8443/prog1/ada"],
  ["https://git.school.example/prog1/", "https://git.school.example.evil.example/prog1/ada"],
  ["https://git.school.example/prog1/", "ssh://git.school.example/prog1/ada"],
  ["git@github.com:course/", "root@github.com:course/ada"],
  ["https://github.com/course/sheet3-*", "https://github.com/course/solution"],
  ["https://github.com/course/sheet3-*", "https://github.com/course/x/sheet3-ada"],
])("the allowed place %s does not cover %s", async (place, address) => {
  expect(await isInPlace(await readAddress(address), readAllowedPlace(place))).toBe(false);
});

it.each([
  "",
  "github.com",
  "http://h/x",
  "https://u:p@h/x",
  "https://h/../x",
  "file://x",
  "file:///a*",
  "file:///%ff",
  "*",
  "https://*.h/x",
  "https://h/*/x",
  "https://h/x?",
  "git@h:[ab]/x-*",
])("%j cannot be an allowed location", (written) => {
  expect(() => readAllowedPlace(written)).toThrow();
});
