import { z } from "zod";

/** A schema that has a name of its own in the OpenAPI document; what it was described with before stays. */
export function named<S extends z.ZodType>(id: string, schema: S): S {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id });
  return schema;
}

export function nameOf(schema: z.ZodType): string | undefined {
  return z.globalRegistry.get(schema)?.id;
}
