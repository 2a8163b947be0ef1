import { createGather } from "../commit/gather.ts";

/** In one statement. */
const most = 200;

/** Requests that come together are one: `perform` answers each item at its place. */
export function gathered<Item, Result>(perform: (items: readonly Item[]) => Promise<readonly Result[]>) {
  interface Waiting {
    readonly item: Item;
    readonly resolve: (result: Result) => void;
    readonly reject: (error: unknown) => void;
  }
  const gather = createGather<Waiting>({
    most,
    perform: async (group) => {
      try {
        const results = await perform(group.map(({ item }) => item));
        for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    },
  });
  return (item: Item) => new Promise<Result>((resolve, reject) => gather.add({ item, resolve, reject }));
}
