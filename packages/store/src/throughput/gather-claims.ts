/**
 * Claims that arrive together become one statement. Inline activities of runs in memory need no statement.
 *
 * Gains: with many prompts, one statement claims several. An inline activity whose run was committed by this process is claimed without a
 * query. Not measured alone; see gather.ts. Without it (createPlainClaimer in commit/claim.ts): one or two statements for each delivery.
 */
import {
  type Claim,
  type Claimable,
  type Claimer,
  type ClaimerParts,
  createClaimRules,
  inlineClaim,
} from "../commit/claim.ts";
import { inlineQueue } from "../commit/inline-activity.ts";
import { translate } from "../database/store-error.ts";
import { createGather, settleInTurns } from "./gather.ts";
import { promptLingerMs } from "./gathered.ts";
import type { RunCache } from "./run-cache.ts";

interface ClaimRequest {
  readonly delivery: Claimable;
  readonly resolve: (claim: Claim) => void;
  readonly reject: (error: unknown) => void;
}

/** Deliveries in one statement. */
const most = 200;

export function createGatheringClaimer(parts: ClaimerParts, cache: RunCache): Claimer {
  const rules = createClaimRules(parts);
  const gather = createGather<ClaimRequest>({ most, perform, pick: pickOnePerActivity, lingerMs: promptLingerMs });
  const looking = createGather<ClaimRequest>({ most, perform: look });

  async function perform(group: ClaimRequest[]): Promise<void> {
    try {
      const judge = await rules.ask(group.map(({ delivery }) => delivery));
      const stale: ClaimRequest[] = [];
      await settleInTurns(group, (request) => {
        try {
          const claim = judge(request.delivery);
          if (claim === null) stale.push(request);
          else request.resolve(claim);
        } catch (error) {
          request.reject(translate(error, "Claiming an activity"));
        }
      });
      if (stale.length === 0) return;
      const answers = await rules.readyFor(stale.map(({ delivery }) => delivery));
      for (const [index, { resolve }] of stale.entries()) resolve(answers[index] ?? { kind: "stale", jobs: [] });
    } catch (error) {
      for (const { reject } of group) reject(translate(error, "Claiming an activity"));
    }
  }

  /**
   * Reads runs that this process does not have in memory, or whose activity it does not know. Most were just created by another process.
   */
  async function look(group: ClaimRequest[]): Promise<void> {
    try {
      const found = await rules.look(group.map(({ delivery }) => delivery));
      for (const [index, request] of group.entries()) {
        const inline = found[index] ?? null;
        if (inline === null) gather.add(request);
        else request.resolve(inline);
      }
    } catch (error) {
      const known = translate(error, "Reading a run");
      // A run that cannot be read fails alone.
      if (group.length > 1 && !known.transient) for (const request of group) await look([request]);
      else for (const { reject } of group) reject(known);
    }
  }

  return {
    claim(delivery) {
      const known = cache.get(delivery.runId);
      const inline = known === undefined ? null : inlineClaim(known, delivery);
      if (inline !== null) return Promise.resolve(inline);
      const from = delivery.queue === inlineQueue ? looking : gather;
      return new Promise((resolve, reject) => from.add({ delivery, resolve, reject }));
    },
    async idle() {
      await looking.idle();
      await gather.idle();
    },
  };
}

/** Two deliveries of one activity in the same statement would both get its claim. */
function pickOnePerActivity(waiting: ClaimRequest[], count: number): ClaimRequest[] {
  const group: ClaimRequest[] = [];
  const left: ClaimRequest[] = [];
  const ids = new Set<number>();
  for (const request of waiting) {
    if (group.length < count && !ids.has(request.delivery.activityId)) {
      ids.add(request.delivery.activityId);
      group.push(request);
    } else left.push(request);
  }
  waiting.splice(0, waiting.length, ...left);
  return group;
}
