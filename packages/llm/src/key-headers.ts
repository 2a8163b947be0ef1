/** The headers that carry the key of an endpoint. */
export const bearerHeader = "authorization";

export function keyHeaders(apiKey: string | null, header = bearerHeader): Record<string, string> {
  if (apiKey === null) return {};
  const key = apiKey.trim();
  return { [header]: header === bearerHeader ? `Bearer ${key}` : key };
}
