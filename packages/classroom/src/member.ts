// Who is in the class. A member is never made from a guess: what a roster or an export says of a person, and no more.
import type { Place } from "@markmill/definition";
import type { AiConsent } from "@markmill/grading";

export interface Member {
  /** Names the member in this class: the first there is of id, login, e-mail, name. */
  readonly key: string;
  /** Given name first, as it is read out. */
  readonly name: string;
  /** "Last, First", where a source says which is which. */
  readonly sortableName?: string;
  /** Digits and zeros as they stand: 007 is not 7. */
  readonly id?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  /** At a git host. */
  readonly handle?: string;
  /** Address of the repository with the work, as it was given. */
  readonly repository?: string;
  readonly section?: string;
  readonly group?: string;
  /** In which feedback is written, as the roster spells it. */
  readonly language?: string;
  readonly aiConsent?: AiConsent;
  /** When the work was handed in, where the roster is a worksheet that says so. */
  readonly submittedAt?: string;
  readonly at?: Place;
}

/** Ways of writing a member's name or number, each reduced to letters and digits. */
export function aliasesOf(member: Member): string[] {
  const { id, sisId, login, email, handle, name, sortableName } = member;
  const [last = "", first = ""] = (sortableName ?? "").split(",");
  const words = name.trim().split(/\s+/);
  const turned = words.length > 1 ? [words.at(-1) ?? "", ...words.slice(0, -1)].join(" ") : name;
  const written = [id, sisId, login, email, email?.split("@")[0], handle, name, turned, last + first, first + last];
  return [...new Set(written.map((text) => plainLetters(text ?? "")).filter((text) => text !== ""))];
}

/** Letters and digits without case and accents, so that an export's spelling and a roster's can be compared. */
export function plainLetters(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll("ß", "ss")
    .replaceAll(/[øØ]/g, "o")
    .replaceAll(/[łŁ]/g, "l")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}
