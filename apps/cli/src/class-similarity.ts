/** Finds similar submissions. The texts are collected while the class is read, a limited part of each. */
import { findSimilarPairs, type SimilarWorks } from "@markmill/classroom";
import { defaultLimits, readArchive } from "@markmill/grading/submission";

const program =
  /\.(?:[cm]?[jt]sx?|py|java|kt|c|h|cc|cpp|hpp|cs|go|rs|rb|php|swift|scala|hs|ml|lua|pl|r|sql|sh|m|dart|pas|vb|jl)$/i;
const mostCharacters = 200_000;

export class SimilarityGatherer {
  readonly #texts = new Map<string, string>();
  /** Keys of submissions that were only read in part, from the beginning. */
  readonly #cut = new Set<string>();

  async add(key: string, tar: Buffer): Promise<void> {
    const { entries } = await readArchive("work.tar", tar, { ...defaultLimits, bytes: tar.length });
    let text = "";
    for (const entry of entries) {
      if (entry.kind !== "file" || !program.test(entry.path)) continue;
      const whole = entry.bytes.toString("utf8");
      const room = Math.max(0, mostCharacters - text.length);
      if (whole.length > room) this.#cut.add(key);
      text += `${whole.slice(0, room)}\n`;
    }
    if (text !== "") this.#texts.set(key, text);
  }

  /** Compares submissions that count. Each pair has different people. */
  async compare(counting: ReadonlyMap<string, readonly string[]>): Promise<SimilarWorks> {
    const own = new Map([...this.#texts].filter(([key]) => counting.has(key)));
    const { pairs, partly } = await findSimilarPairs(own);
    const ofDifferent = pairs.filter(({ one, other }) => {
      const others = new Set(counting.get(other));
      return !(counting.get(one) ?? []).some((member) => others.has(member));
    });
    return { pairs: ofDifferent, partly: [...new Set([...partly, ...[...this.#cut].filter((key) => own.has(key))])] };
  }
}
