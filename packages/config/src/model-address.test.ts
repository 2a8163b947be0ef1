import { expect, it } from "vitest";
import { modelAddress } from "./model-address.ts";

it.each([
  ["http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"],
  ["  http://127.0.0.1:11434/v1/ \r\n", "http://127.0.0.1:11434/v1"],
  ['\ufeff"https://models.example/v1//"', "https://models.example/v1"],
  ["“https://models.example/v1”", "https://models.example/v1"],
  ["<https://models.example/v1>", "https://models.example/v1"],
  ["https://models.example/v1/chat/completions", "https://models.example/v1"],
  ["https://models.example/v1/chat/completions/", "https://models.example/v1"],
  ["https://models.example/v1/models", "https://models.example/v1"],
  ["https://models.example/v1#top", "https://models.example/v1"],
  [
    "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
    "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
  ],
  ["https://models.example/", "https://models.example"],
  [" localhost:8080/v1/ ", "localhost:8080/v1/"],
  ["not a url", "not a url"],
])("the pasted model address %j is read as %s", (given, address) => {
  expect(modelAddress(given)).toBe(address);
});
