/**
 * Copies chunks of one source to several targets. When a target is full, the source pauses until the target has room. It waits for each
 * full target only once.
 */
interface Source {
  pause(): unknown;
  resume(): unknown;
}

interface Target {
  write(piece: Buffer): boolean;
  once(event: "drain", heard: () => void): unknown;
}

/** One chunk of a source may contain thousands of pieces. All of them arrive although the source is paused. */
export function createPassOn(source: Source): (to: Target, piece: Buffer) => void {
  const full = new Set<Target>();
  return (to, piece) => {
    if (to.write(piece) || full.has(to)) return;
    full.add(to);
    source.pause();
    to.once("drain", () => {
      full.delete(to);
      source.resume();
    });
  };
}
