/**
 * The functions that read foreign text, by name. They are pure, and their work grows linearly with the text
 * (foreign-text.ts).
 */
import {
  type Flag,
  findAttempts,
  findSpokenAttempts,
  findWording,
  type ReadVerdicts,
  type Rubric,
  readVerdicts,
  type ShownWork,
  stripWords,
  workFiles,
} from "@markmill/grading";
import { hashEmbedding, unitBytes } from "@markmill/llm";
import { extractCommands, renderTranscript } from "@markmill/sandbox";
import { decodeText } from "./decode-text.ts";
import { readDecision } from "./judge-results.ts";
import { splitPassages } from "./split-passages.ts";
import { readStructuredText, readToolArguments } from "./structured-reply.ts";
import { submissionTexts } from "./submission-texts.ts";

export const foreignTextFunctions = {
  readStructuredText,
  readToolArguments,
  splitPassages,
  submissionTexts,
  stripWords,
  decodeText,
  extractCommands,
  renderTranscript,
  readDecision,
  /** Of a reply about a work that was shown. */
  readVerdicts: (
    rubric: Rubric,
    reply: string,
    { texts, origins }: Pick<ShownWork, "texts" | "origins">,
  ): ReadVerdicts => readVerdicts(rubric, reply, workFiles(texts, origins)),
  hashVectors: (texts: readonly string[], dimensions: number): Uint8Array[] =>
    texts.map((text) => unitBytes(hashEmbedding(text, dimensions))),
  /** Reads a submission, and the values that are sent beside the task. */
  findFlags: (texts: ReadonlyMap<string, string>, spoken: ReadonlyMap<string, string>): Flag[] => [
    ...findAttempts(texts),
    ...findSpokenAttempts(spoken),
    ...findWording(texts),
  ],
} as const;
