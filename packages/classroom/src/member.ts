// Who is in the class. A member is never made from a guess: what a roster or an export says of a person, and no more.
import type { Place } from "@markmill/definition";
import type { AiConsent } from "@markmill/grading";

export interface Member {
  /** Names the member in this class: the first there is of id, participant number, login, e-mail, SIS id, name. */
  readonly key: string;
  /** Given name first, as it is read out. */
  readonly name: string;
  /** "Last, First", where a source says which is which. */
  readonly sortableName?: string;
  /** Digits and zeros as they stand: 007 is not 7. In a roster from Canvas it is Canvas's number of the user. */
  readonly id?: string;
  /** Moodle's number of the participant in one assignment. It is never compared with the id. */
  readonly participant?: string;
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
