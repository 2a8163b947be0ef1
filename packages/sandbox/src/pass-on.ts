/** Passes pieces of one source on to others. The source rests until one that was full has room again, which is waited for once. */
interface Source {
  pause(): unknown;
  resume(): unknown;
}

interface Target {
  write(piece: Buffer): boolean;
  once(event: "drain", heard: () => void): unknown;
}

/** One chunk of a source may hold thousands of pieces, all of which come although it rests. */
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
