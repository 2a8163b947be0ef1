/**
 * Reads times as people and platforms write them. Pure.
 *
 * I1  A time that does not exist (30 February, 24:61, month 13) is refused. It never becomes a neighbouring time.
 * I2  A weekday that contradicts its date is refused: one of the two is wrong, and it is unknown which.
 * I3  A time without an offset from UTC is read in the zone that the caller names, and `zoned` reports this. In the hour that a zone
 *     repeats, the earlier instant counts, in favour of the student.
 * I4  A date such as 05/11/2026 has two meanings and is refused. 13/11/2026 has one.
 *
 * Supported are ISO 8601; Moodle's long dates in English, German, French, Spanish, Italian, Portuguese and Dutch; Canvas's "Nov 13, 2026 at
 * 5:16pm"; Gradescope's "2026-11-13 17:16:05 -0800"; 13.11.2026 17:16; and times in file names, 2026-11-13_17-16-05.
 */

export type ReadInstant =
  /** Milliseconds since 1970. `zoned`: the text contains its offset from UTC. */
  | { readonly is: "read"; readonly at: number; readonly zoned: boolean }
  | { readonly is: "unreadable"; readonly why: string };

/** A name of the IANA database, or an offset such as +01:00. */
export type TimeZone = string;

const monthNames: readonly (readonly string[])[] = [
  ["january", "januar", "janner", "janvier", "enero", "gennaio", "janeiro", "januari", "jan", "janv", "ene", "gen"],
  ["february", "februar", "feber", "fevrier", "febrero", "febbraio", "fevereiro", "februari", "feb", "fevr", "fev"],
  ["march", "marz", "mars", "marzo", "marco", "maart", "mar", "mrz", "mrt"],
  ["april", "avril", "abril", "aprile", "apr", "avr", "abr"],
  ["may", "mai", "mayo", "maggio", "maio", "mei", "mag"],
  ["june", "juni", "juin", "junio", "giugno", "junho", "jun", "giu"],
  ["july", "juli", "juillet", "julio", "luglio", "julho", "jul", "juil", "lug"],
  ["august", "aout", "agosto", "augustus", "aug", "ago"],
  ["september", "septembre", "septiembre", "setiembre", "settembre", "setembro", "sep", "sept", "set"],
  ["october", "oktober", "octobre", "octubre", "ottobre", "outubro", "oct", "okt", "ott", "out"],
  ["november", "novembre", "noviembre", "novembro", "nov"],
  ["december", "dezember", "decembre", "diciembre", "dicembre", "dezembro", "dec", "dez", "dic"],
];
/** The week begins with Sunday, as in Date. */
const dayNames: readonly (readonly string[])[] = [
  ["sunday", "sonntag", "dimanche", "domingo", "domenica", "zondag", "sun", "so", "dim", "dom", "zo"],
  ["monday", "montag", "lundi", "lunes", "lunedi", "segunda", "segunda feira", "maandag", "mon", "mo", "lun", "seg"],
  ["tuesday", "dienstag", "mardi", "martes", "martedi", "terca", "terca feira", "dinsdag", "tue", "tues", "di", "ter"],
  ["wednesday", "mittwoch", "mercredi", "miercoles", "mercoledi", "quarta", "quarta feira", "woensdag", "wed", "mi"],
  [
    "thursday",
    "donnerstag",
    "jeudi",
    "jueves",
    "giovedi",
    "quinta",
    "quinta feira",
    "donderdag",
    "thu",
    "thur",
    "thurs",
  ],
  ["friday", "freitag", "vendredi", "viernes", "venerdi", "sexta", "sexta feira", "vrijdag", "fri", "fr", "ven", "vie"],
  ["saturday", "samstag", "sonnabend", "samedi", "sabado", "sabato", "zaterdag", "sat", "sa", "sam", "sab", "za"],
];
const indexOf = (names: readonly (readonly string[])[]) =>
  new Map(names.flatMap((spellings, index) => spellings.map((name) => [name, index] as const)));
const months = indexOf(monthNames);
const days = indexOf(dayNames);

const LONGEST = 100;

interface Parts {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
  readonly weekday: number | null;
  /** Minutes east of UTC. null: the text contains no offset. */
  readonly offset: number | null;
}

const clock =
  /^(?:(?:at|um|a las?|a|alle|as|om|le)\s+)?(\d{1,2})(?:[:.h](\d{2}))?(?:[:.](\d{2}))?\s*(?:uhr|h)?\s*([ap])?\.?\s?(m)?\.?\s*(z|utc|gmt|[+-]\d{2}:?\d{2})?$/;

export function readInstant(text: string, zone: TimeZone = "UTC"): ReadInstant {
  if (text.length > LONGEST) return { is: "unreadable", why: "it is too long" };
  const parts = isoParts(text.trim()) ?? wordParts(plain(text));
  if (parts === null) return { is: "unreadable", why: "its format is unknown" };
  if (typeof parts === "string") return { is: "unreadable", why: parts };
  const local = Date.UTC(
    parts.year,
    parts.month - 1,
    parts.day,
    parts.hour,
    parts.minute,
    parts.second,
    parts.millisecond,
  );
  const problem = impossible(parts, local);
  if (problem !== null) return { is: "unreadable", why: problem };
  if (parts.offset !== null) return { is: "read", at: local - parts.offset * 60_000, zoned: true };
  return { is: "read", at: inZone(local, zone), zoned: false };
}

/** Removes accents, case and commas, and leaves one blank between words. */
function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[\s,\u200e\u200f]+/g, " ")
    .trim();
}

const iso =
  /^(\d{4})-?(\d{2})-?(\d{2})(?:[T _-]| at )(\d{2})[-:h.]?(\d{2})(?:[-:.]?(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|UTC|GMT|[+-]\d{2}:?\d{2})?$/i;

function isoParts(text: string): Parts | null {
  const found = iso.exec(text);
  if (found === null) return null;
  const [, year, month, day, hour, minute, second = "0", fraction = "0", zone] = found;
  return {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    millisecond: Number(fraction.padEnd(3, "0").slice(0, 3)),
    weekday: null,
    offset: zone === undefined ? null : offsetOf(zone),
  };
}

/** Reads a date in words, or with dots or slashes, and then a time. A string result is the reason for a refusal. */
function wordParts(text: string): Parts | string | null {
  const date =
    /^(?:(?<weekday>[a-z]+(?:-feira)?)\.? )?(?:(?:den|le|el) )?(?:(?<day>\d{1,2})(?:\.|er|st|nd|rd|th)? (?:de |of )?(?<month>[a-z]+)\.? (?:de |del )?(?<year>\d{4})|(?<month2>[a-z]+)\.? (?<day2>\d{1,2})(?:st|nd|rd|th)? (?<year2>\d{4})|(?<one>\d{1,2})(?<mark>[./-])(?<other>\d{1,2})\k<mark>(?<year3>\d{4})) (?<time>.+)$/.exec(
      text,
    )?.groups;
  if (date === undefined) return null;
  const time = clock.exec(date["time"]?.replace(/^[-–] /, "") ?? "");
  if (time === null) return null;
  const [, hours = "", minutes, seconds = "0", half, meridiem, zone] = time;
  if ((half === undefined) !== (meridiem === undefined)) return null;
  if (minutes === undefined && half === undefined) return null;
  if (half !== undefined && (Number(hours) < 1 || Number(hours) > 12)) return `${hours} ${half}m is not a valid hour`;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half === "p" ? 12 : 0);
  const weekday = date["weekday"]?.replace("-", " ");
  const known = weekday === undefined ? null : days.get(weekday);
  if (known === undefined) return null;
  const day = dayOf(date);
  if (day === null || typeof day === "string") return day;
  return {
    ...day,
    hour,
    minute: Number(minutes ?? "0"),
    second: Number(seconds),
    millisecond: 0,
    weekday: known,
    offset: zone === undefined ? null : offsetOf(zone),
  };
}

function dayOf(
  date: Readonly<Record<string, string | undefined>>,
): Pick<Parts, "year" | "month" | "day"> | string | null {
  const { one, other, mark, year3 } = date;
  if (one === undefined || other === undefined) {
    const month = months.get(date["month"] ?? date["month2"] ?? "");
    if (month === undefined) return null;
    return { year: Number(date["year"] ?? date["year2"]), month: month + 1, day: Number(date["day"] ?? date["day2"]) };
  }
  const [first, second] = [Number(one), Number(other)];
  // German-speaking countries and their neighbours write dots, and they write the day first.
  if (mark === "." || first > 12) return { year: Number(year3), month: second, day: first };
  if (second > 12) return { year: Number(year3), month: first, day: second };
  if (first === second) return { year: Number(year3), month: first, day: second };
  return `${one}${mark}${other} could be two days`;
}

function offsetOf(zone: string): number {
  if (/^(?:z|utc|gmt)$/i.test(zone)) return 0;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  const offset = Number(hours) * 60 + Number(minutes);
  return Number(minutes) > 59 ? Number.NaN : sign === "-" ? -offset : offset;
}

/** See I1 and I2 in the file header. */
function impossible({ year, month, day, hour, minute, second, weekday, offset }: Parts, local: number): string | null {
  if (month < 1 || month > 12) return `there is no month ${month}`;
  const date = new Date(local);
  if (hour > 23 || minute > 59 || second > 59) return `there is no time ${two(hour)}:${two(minute)}:${two(second)}`;
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) {
    return `there is no day ${day} in month ${month} of ${year}`;
  }
  if (offset !== null && !(Math.abs(offset) <= 14 * 60)) return "no time zone has this UTC offset";
  if (weekday !== null && weekday !== date.getUTCDay()) {
    return `${year}-${two(month)}-${two(day)} is no ${dayNames[weekday]?.[0] ?? "such day"} but a ${dayNames[date.getUTCDay()]?.[0] ?? ""}`;
  }
  return null;
}

const two = (value: number) => String(value).padStart(2, "0");

/** See I3 in the file header. */
function inZone(local: number, zone: TimeZone): number {
  const day = 86_400_000;
  const offsets = [local - day, local + day].map((around) => zoneOffset(zone, around));
  const instants = offsets.map((offset) => local - offset);
  const fitting = instants.filter((at, index) => zoneOffset(zone, at) === offsets[index]);
  // In the hour that spring omits, the offset before the change counts.
  return fitting.length === 0 ? (instants[0] ?? local) : Math.min(...fitting);
}

/** The offset in milliseconds east of UTC at that instant. */
function zoneOffset(zone: TimeZone, at: number): number {
  const fixed = /^[+-]\d{2}:\d{2}$/.test(zone) ? offsetOf(zone) : null;
  if (fixed !== null) return fixed * 60_000;
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

const formats = new Map<TimeZone, Intl.DateTimeFormat>();

function formatOf(zone: TimeZone): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const numeric = "numeric" as const;
  const fields = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric };
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", ...fields });
  formats.set(zone, format);
  return format;
}

/** A zone of the IANA database, such as Europe/Berlin, or UTC. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The offset at the end of a text, as a zone. null: there is none. */
export function zoneOfText(text: string): TimeZone | null {
  const [, zone] = /(Z|UTC|GMT|[+-]\d{2}:?\d{2})\s*$/i.exec(text) ?? [];
  if (zone === undefined) return null;
  return /^[a-z]/i.test(zone) ? "UTC" : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
}
