/**
 * Contains every text of a student's report, in every language of reports.
 *
 * T1  Each language has each text with the same placeholders.
 * T2  Numbers, dates and durations follow the style of the language.
 */
import { formatPoints } from "../grade-sheet.ts";

const english = {
  draft: "DRAFT - not released",
  result: "{points} of {most} points",
  mark: "{points} of {most}",
  notGradedYet: "Not graded yet. A person will review it.",
  ourFault: "Not graded yet because of an error in the grading system. You lose no points.",
  ungradable: "Could not be graded.",
  reason: "Reason",
  handedIn: "Handed in",
  attempt: "Attempt",
  commit: "Commit",
  timeliness: "Deadline",
  onTime: "on time",
  late: "late",
  lateBy: "{time} late",
  penalty: "Deduction",
  penaltyPoints: "{points} points",
  penaltyLate: "{points} points for {time} of delay ({percent} %)",
  points: "Points",
  criterion: "Criterion",
  notGraded: "not graded (of {most})",
  commentOfModel: "Comment written by an AI model",
  commentOfPerson: "Comment by a grader",
  commentWithheld: "The comment of the AI model is hidden until a person has reviewed this submission.",
  quoteOf: "Quoted from your file {file}, line {line}",
  testsPassed: "{passed} of {all} tests passed.",
  passed: "passed",
  failed: "failed",
  testOutput: "Output of the test",
  moreTests: "{count} more tests are not listed.",
  code: "Your code, with the quoted lines marked",
  lines: "{file}, {count} lines",
  linesLeftOut: "{count} lines are hidden.",
  cutHere: "[cut: {count} more characters]",
  nextSteps: "Next steps",
  stepsOfModel: "Suggested by an AI model",
  lookAtTests: "Check the failed tests: {names}",
  withAi: "Graded with the help of AI.",
  byTests: "Graded by automatic tests.",
  byPeople: "Graded by a person.",
  reviewedBy: "Reviewed by {name}.",
  reviewedByPerson: "Reviewed by a person.",
  releasedBy: "Released by {name}.",
  notReviewed: "Not yet reviewed by a person.",
} as const;

type ReportText = keyof typeof english;
type Texts = Readonly<Record<ReportText, string>>;

const german: Texts = {
  draft: "ENTWURF - nicht freigegeben",
  result: "{points} von {most} Punkten",
  mark: "{points} von {most}",
  notGradedYet: "Noch nicht bewertet. Eine Person wird die Abgabe prüfen.",
  ourFault: "Noch nicht bewertet, wegen eines Fehlers im Bewertungssystem. Sie verlieren keine Punkte.",
  ungradable: "Konnte nicht bewertet werden.",
  reason: "Grund",
  handedIn: "Abgegeben",
  attempt: "Versuch",
  commit: "Commit",
  timeliness: "Frist",
  onTime: "pünktlich",
  late: "verspätet",
  lateBy: "{time} verspätet",
  penalty: "Abzug",
  penaltyPoints: "{points} Punkte",
  penaltyLate: "{points} Punkte für {time} Verspätung ({percent} %)",
  points: "Punkte",
  criterion: "Kriterium",
  notGraded: "nicht bewertet (von {most})",
  commentOfModel: "Kommentar eines KI-Modells",
  commentOfPerson: "Kommentar der Lehrperson",
  commentWithheld: "Der Kommentar des KI-Modells ist ausgeblendet, bis eine Person diese Abgabe geprüft hat.",
  quoteOf: "Zitat aus Ihrer Datei {file}, Zeile {line}",
  testsPassed: "{passed} von {all} Tests bestanden.",
  passed: "bestanden",
  failed: "nicht bestanden",
  testOutput: "Ausgabe des Tests",
  moreTests: "{count} weitere Tests sind nicht aufgeführt.",
  code: "Ihr Code, zitierte Zeilen sind markiert",
  lines: "{file}, {count} Zeilen",
  linesLeftOut: "{count} Zeilen sind ausgeblendet.",
  cutHere: "[gekürzt: {count} weitere Zeichen]",
  nextSteps: "Nächste Schritte",
  stepsOfModel: "Vorschläge eines KI-Modells",
  lookAtTests: "Prüfen Sie die nicht bestandenen Tests: {names}",
  withAi: "Mit Hilfe von KI bewertet.",
  byTests: "Durch automatische Tests bewertet.",
  byPeople: "Von einer Person bewertet.",
  reviewedBy: "Geprüft von {name}.",
  reviewedByPerson: "Von einer Person geprüft.",
  releasedBy: "Freigegeben von {name}.",
  notReviewed: "Noch nicht von einer Person geprüft.",
};

const french: Texts = {
  draft: "BROUILLON - non publié",
  result: "{points} points sur {most}",
  mark: "{points} sur {most}",
  notGradedYet: "Pas encore noté. Une personne va l’examiner.",
  ourFault: "Pas encore noté à cause d’une erreur du système de notation. Vous ne perdez aucun point.",
  ungradable: "N’a pas pu être noté.",
  reason: "Raison",
  handedIn: "Remis",
  attempt: "Tentative",
  commit: "Commit",
  timeliness: "Délai",
  onTime: "dans les délais",
  late: "en retard",
  lateBy: "{time} de retard",
  penalty: "Déduction",
  penaltyPoints: "{points} points",
  penaltyLate: "{points} points pour {time} de retard ({percent} %)",
  points: "Points",
  criterion: "Critère",
  notGraded: "non noté (sur {most})",
  commentOfModel: "Commentaire écrit par un modèle d’IA",
  commentOfPerson: "Commentaire de l’enseignant",
  commentWithheld: "Le commentaire du modèle d’IA est masqué tant qu’une personne n’a pas vérifié ce travail.",
  quoteOf: "Citation de votre fichier {file}, ligne {line}",
  testsPassed: "{passed} tests réussis sur {all}.",
  passed: "réussi",
  failed: "échoué",
  testOutput: "Sortie du test",
  moreTests: "{count} autres tests ne sont pas affichés.",
  code: "Votre code, avec les lignes citées marquées",
  lines: "{file}, {count} lignes",
  linesLeftOut: "{count} lignes sont masquées.",
  cutHere: "[coupé : encore {count} caractères]",
  nextSteps: "Prochaines étapes",
  stepsOfModel: "Suggestions d’un modèle d’IA",
  lookAtTests: "Vérifiez les tests échoués : {names}",
  withAi: "Noté avec l’aide de l’IA.",
  byTests: "Noté par des tests automatiques.",
  byPeople: "Noté par une personne.",
  reviewedBy: "Vérifié par {name}.",
  reviewedByPerson: "Vérifié par une personne.",
  releasedBy: "Publié par {name}.",
  notReviewed: "Pas encore vérifié par une personne.",
};

const spanish: Texts = {
  draft: "BORRADOR - no publicado",
  result: "{points} de {most} puntos",
  mark: "{points} de {most}",
  notGradedYet: "Aún sin calificar. Una persona lo revisará.",
  ourFault: "Aún sin calificar por un error del sistema de calificación. No pierde ningún punto.",
  ungradable: "No se pudo calificar.",
  reason: "Motivo",
  handedIn: "Entregado",
  attempt: "Intento",
  commit: "Commit",
  timeliness: "Plazo",
  onTime: "a tiempo",
  late: "con retraso",
  lateBy: "{time} de retraso",
  penalty: "Deducción",
  penaltyPoints: "{points} puntos",
  penaltyLate: "{points} puntos por {time} de retraso ({percent} %)",
  points: "Puntos",
  criterion: "Criterio",
  notGraded: "sin calificar (de {most})",
  commentOfModel: "Comentario escrito por un modelo de IA",
  commentOfPerson: "Comentario del docente",
  commentWithheld: "El comentario del modelo de IA se oculta hasta que una persona revise este trabajo.",
  quoteOf: "Cita de su archivo {file}, línea {line}",
  testsPassed: "{passed} de {all} pruebas superadas.",
  passed: "superada",
  failed: "no superada",
  testOutput: "Salida de la prueba",
  moreTests: "{count} pruebas más no se muestran.",
  code: "Su código, con las líneas citadas marcadas",
  lines: "{file}, {count} líneas",
  linesLeftOut: "Se ocultan {count} líneas.",
  cutHere: "[cortado: {count} caracteres más]",
  nextSteps: "Próximos pasos",
  stepsOfModel: "Sugerencias de un modelo de IA",
  lookAtTests: "Revise las pruebas no superadas: {names}",
  withAi: "Calificado con ayuda de IA.",
  byTests: "Calificado por pruebas automáticas.",
  byPeople: "Calificado por una persona.",
  reviewedBy: "Revisado por {name}.",
  reviewedByPerson: "Revisado por una persona.",
  releasedBy: "Publicado por {name}.",
  notReviewed: "Aún no revisado por una persona.",
};

export const reportTexts = { en: english, de: german, fr: french, es: spanish } as const satisfies Readonly<
  Record<string, Texts>
>;

export type ReportLanguage = keyof typeof reportTexts;

const names: Readonly<Record<ReportLanguage, readonly string[]>> = {
  en: ["en", "eng", "english", "englisch", "anglais", "inglés"],
  de: ["de", "deu", "ger", "german", "deutsch", "allemand", "alemán"],
  fr: ["fr", "fra", "fre", "french", "français", "francais", "französisch", "francés"],
  es: ["es", "spa", "spanish", "español", "espanol", "castellano", "spanisch", "espagnol"],
};

/** Accepts a tag such as `de-AT` or a name such as `Deutsch`. An unsupported language gives English. */
export function reportLanguage(wish: string | null | undefined): ReportLanguage {
  const said = (wish ?? "").normalize("NFC").trim().toLowerCase();
  const tag = /^[a-z]{2,3}(?=[-_])/.exec(said)?.[0] ?? said;
  const found = (Object.keys(names) as ReportLanguage[]).find((language) => names[language].includes(tag));
  return found ?? "en";
}

const locales: Readonly<Record<ReportLanguage, string>> = { en: "en-GB", de: "de-DE", fr: "fr-FR", es: "es-ES" };

export interface ReportWriter {
  readonly say: (text: ReportText, values?: Readonly<Record<string, string | number>>) => string;
  readonly points: (points: number) => string;
  /** Writes the date in the zone of the time, or else in UTC. null: the text is not a time. */
  readonly date: (iso: string) => string | null;
  readonly duration: (ms: number) => string;
  readonly days: (count: number) => string;
}

/** See T2 in the file header. */
export function reportWriter(language: ReportLanguage): ReportWriter {
  const locale = locales[language];
  const unit = (count: number, name: "day" | "hour" | "minute") =>
    new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "long" }).format(count);
  return {
    say: (text, values = {}) =>
      reportTexts[language][text].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "")),
    points: (points) => (language === "en" ? formatPoints(points) : formatPoints(points).replace(".", ",")),
    date: (iso) => {
      const at = new Date(iso);
      if (Number.isNaN(at.getTime())) return null;
      const offset = /[+-]\d\d:?\d\d$/.exec(iso)?.[0];
      const timeZone = offset ?? "UTC";
      const shown = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short", timeZone }).format(at);
      return `${shown} ${offset === undefined ? "UTC" : `(UTC${offset})`}`;
    },
    duration: (ms) => {
      const minutes = Math.max(1, Math.ceil(ms / 60_000));
      const [days, hours, rest] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60), minutes % 60];
      const parts = [
        ...(days > 0 ? [unit(days, "day")] : []),
        ...(hours > 0 ? [unit(hours, "hour")] : []),
        ...(rest > 0 && days === 0 ? [unit(rest, "minute")] : []),
      ];
      return parts.join(" ");
    },
    days: (count) => unit(count, "day"),
  };
}
