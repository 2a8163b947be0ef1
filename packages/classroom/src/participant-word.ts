/**
 * Recognises Moodle's word for a participant. Moodle writes it before a number ("Participant 4102", "Teilnehmer/in 4102") and, with blind
 * marking, instead of a name.
 */

/** In plain letters. Moodle's languages add endings: Teilnehmer/in, Teilnehmer*in, Teilnehmende. */
const stems = [
  ...["participant", "particip", "partecipant", "teilnehm", "deelnemer", "deltag", "osallistuj", "osaleja"],
  ...["uczestni", "ucastni", "resztvevo", "katilimc", "sudionik", "udelezen", "dalyvi", "dalibniek", "parte hartzaile"],
  ...["участни", "учасни", "συμμετεχ", "参加者", "参与者", "參與者", "참가자", "مشارك", "משתתפ"],
];

export function isParticipantWord(text: string): boolean {
  const plain = text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ı", "i")
    .replaceAll(/[^\p{L}]+/gu, " ")
    .trim();
  // At most an ending may follow: "Teilnehmer in", "participant e". A person's name contains at least one other word.
  return stems.some(
    (stem) => plain.startsWith(stem.normalize("NFKD").replaceAll(/\p{M}/gu, "")) && plain.length <= stem.length + 8,
  );
}

/** Splits "Participant 4102" into its two parts. null: the text does not end with a word and a number. */
export function splitParticipant(text: string): { readonly word: string; readonly number: string } | null {
  const found = /^(?<word>.*\D)(?<number>\d+)$/su.exec(text.trim());
  const { word, number } = found?.groups ?? {};
  return word === undefined || number === undefined ? null : { word: word.trim(), number };
}
