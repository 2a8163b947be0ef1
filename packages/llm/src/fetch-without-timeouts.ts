/** A fetch without time limits of its own (see connections.ts). The caller's signal is the limit. */
import { fetch as undiciFetch } from "undici";
import { connections } from "./connections.ts";

/** The openai library gives an address and plain options. undici does not know Node's own Request and FormData. */
export const fetchWithoutTimeouts: typeof fetch = async (input, init) =>
  await undiciFetch(input as string | URL, { ...(init as object | undefined), dispatcher: connections });
