import { z } from "zod";

/** Schemas that have a name of their own in the OpenAPI document. */
export const names = z.registry<{ readonly id: string }>();

export function named<S extends z.ZodType>(id: string, schema: S): S {
  names.add(schema, { id });
  return schema;
}
