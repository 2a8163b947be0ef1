import type { Some } from "../handler.ts";
import { pageOf } from "../page.ts";
import { notFound } from "../refusal.ts";

type Names = "listMemoryScopes" | "listPassages" | "deleteMemoryScope";

export function memoryHandlers(): Some<Names> {
  return {
    async listMemoryScopes({ query, caller: { store } }) {
      const { items, next } = await store.memory.scopes(pageOf(query));
      return {
        body: {
          items: items.map(({ embedders, firstAt, lastAt, ...scope }) => ({
            ...scope,
            embedders: [...embedders],
            firstAt: firstAt.toISOString(),
            lastAt: lastAt.toISOString(),
          })),
          next,
        },
      };
    },

    async listPassages({ params: { name }, query, caller: { store } }) {
      const { items, next } = await store.memory.passages(name, pageOf(query));
      if (items.length === 0 && query.cursor === undefined) throw notFound("such scope");
      return {
        body: { items: items.map(({ createdAt, ...one }) => ({ ...one, createdAt: createdAt.toISOString() })), next },
      };
    },

    async deleteMemoryScope({ params: { name }, caller: { store } }) {
      if (!(await store.memory.delete(name))) throw notFound("such scope");
      return {};
    },
  };
}
