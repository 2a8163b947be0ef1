import { z } from "zod";

/** Gives a schema its own name in the OpenAPI document; its earlier description stays. */
export function named<S extends z.ZodType>(id: string, schema: S): S {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id });
  return schema;
}

export function nameOf(schema: z.ZodType): string | undefined {
  return z.globalRegistry.get(schema)?.id;
}
