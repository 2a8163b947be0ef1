// Describes a student of the class. It holds only the facts that a roster or an export states, never a guess.
import type { Place } from "@markmill/definition";
import type { AiConsent } from "@markmill/grading";

export interface Member {
  /** Names the student in this class: the first existing one of id, participant number, login, e-mail, SIS id, name. */
  readonly key: string;
  /** Given name first, as it is read aloud. */
  readonly name: string;
  /** "Last, First", if a source distinguishes the two. */
  readonly sortableName?: string;
  /** Digits and zeros are kept: 007 is not 7. In a Canvas roster it is Canvas's user number. */
  readonly id?: string;
  /** Moodle's number of the participant in one assignment. It is never compared with the id. */
  readonly participant?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  /** The student's name at a git host. */
  readonly handle?: string;
  /** Address of the repository with the submission, as written. */
  readonly repository?: string;
  readonly section?: string;
  readonly group?: string;
  /** The language of the feedback, as the roster spells it. */
  readonly language?: string;
  readonly aiConsent?: AiConsent;
  /** The submission time, if the roster is a worksheet that contains it. */
  readonly submittedAt?: string;
  readonly at?: Place;
}
