/** Returns only a record's own value. Authors choose the names, and `constructor` is a valid name. */
export function own<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
