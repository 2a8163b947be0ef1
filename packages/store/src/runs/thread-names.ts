/** Threads are named after the run that opened them: `run/agent/number`. */
export function renameThread(thread: string, ids: ReadonlyMap<string, string>): string {
  const [owner = "", ...rest] = thread.split("/");
  return [ids.get(owner) ?? owner, ...rest].join("/");
}
