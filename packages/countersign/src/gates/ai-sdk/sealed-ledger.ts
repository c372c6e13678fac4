// The ledger without a store: a request leaves with a seal, and its approval must come back with it. It has no memory, so
// it cannot tell a second approval from the first.
import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../core/json.ts';
import type { Sealer } from '../../ui/seal.ts';
import { OTHER_ID, refusal } from './approval-ids.ts';
import {
  type AskedCall,
  type ClaimedCall,
  deniedText,
  type Known,
  type Ledger,
  type Outcome,
  PASSED_OVER,
  Refused,
} from './ledger.ts';

export type SealedLedgerOptions = {
  readonly sealer: Sealer;
  readonly key: string;
  readonly by: string;
  readonly expiresIn: number;
  readonly clock: () => number;
};

/** A part of the stream that carries a seal; the client keeps it in the message and sends it back. */
export type SealChunk = { readonly type: 'data-seal'; readonly id: string; readonly data: { readonly token: string } };

export type SealedLedger = Ledger & {
  /** Seals the requests that were asked since the last time. */
  sealAsked(): readonly SealChunk[];
  /**
   * Seals the outcome of a call that needed approval. `streamed` is the last call with this id in the stream: providers that
   * number their calls reuse ids.
   */
  sealOutcome(id: string, outcome: Outcome, streamed?: StreamedCall): readonly SealChunk[];
};

/** A call of the model in the stream. */
export type StreamedCall = Pick<ClaimedCall, 'tool' | 'input'>;

export function sealedLedger(options: SealedLedgerOptions): SealedLedger {
  const { sealer, key: conversation, by, expiresIn, clock } = options;
  const asked = new Map<string, AskedCall>();
  const unsealed = new Set<string>();
  const approvalIds = new Map<string, string>();
  const proofs = new Map<string, AskedCall | Refused>();
  const runs = new Map<string, Promise<unknown>>();

  /** The claims that the seal of a request and the seal of its outcome share. */
  const claimsOf = ({ id, tool, input }: { id: string; tool: string; input: unknown }) => ({
    // Tells it apart from a seal that the chat route made with the same secret.
    of: 'ai-sdk',
    v: 1,
    chat: conversation,
    person: by,
    call: id,
    tool,
    input: digestOf(input),
  });

  /** The claims of the seal that came with the call, if they are about this call. */
  function opened(key: string, { id, tool, input, seals }: ClaimedCall): Record<string, unknown> | undefined {
    const token = seals.get(key);
    const claims = token === undefined ? undefined : sealer.open(token);
    const expected = Object.entries(claimsOf({ id, tool, input }));
    return claims && expected.every(([name, value]) => claims[name] === value) ? claims : undefined;
  }

  function prove(claimed: ClaimedCall): AskedCall | Refused {
    const { id, tool } = claimed;
    const claims = opened(id, claimed);
    if (!claims || 'outcome' in claims)
      return new Refused(
        `There is no proof that the model asked for this call of ${tool} in this chat. It was not run.`,
      );
    // An invalid time counts as expired.
    if (!(typeof claims.expiresAt === 'number' && claims.expiresAt > clock()))
      return new Refused(`The time to approve this call of ${tool} has expired. It was not run.`);
    return { id, tool, input: claimed.input as Json };
  }

  function outcomeOf(claimed: ClaimedCall, outcome: Outcome): Outcome {
    const claims = opened(outcomeKey(claimed.id), claimed);
    if (claims?.outcome === digestOf(outcome)) return outcome;
    return { type: 'error', text: `The result of this call of ${claimed.tool} cannot be verified.` };
  }

  return {
    // Earlier requests are unknown.
    async replyAt() {},

    async ask(call) {
      asked.set(call.id, call);
      unsealed.add(call.id);
    },

    async asksUnder(id, approvalId) {
      approvalIds.set(id, approvalId);
    },

    async checkAnswers(answers) {
      for (const { id, approvalId, seal } of answers) {
        const claims = seal === undefined ? undefined : sealer.open(seal);
        // The tools of the AI SDK's recipe have no such id.
        if (claims?.call !== id || claims.approval === undefined) continue;
        if (claims.approval !== approvalId) throw refusal(id, OTHER_ID);
      }
    },

    async settle(claimed): Promise<Known> {
      if (!(await claimed.isGated())) return { at: 'open-to-all' };
      const { id, tool, decision, outcome } = claimed;
      const call: AskedCall = { id, tool, input: claimed.input as Json };
      if (outcome) return { at: 'done', call, outcome: outcomeOf(claimed, outcome) };
      if (decision?.approved === false) return { at: 'denied', call, text: deniedText(decision.reason) };
      if (decision && !claimed.isLast) return { at: 'done', call, outcome: { type: 'error', text: unknown(tool) } };
      if (!decision) return claimed.isPassedOver ? { at: 'denied', call, text: PASSED_OVER } : { at: 'waiting', call };
      const proof = prove(claimed);
      proofs.set(id, proof);
      return proof instanceof Refused ? { at: 'unproved' } : { at: 'approved', call };
    },

    async run({ id, tool, input }, body) {
      const proof =
        proofs.get(id) ?? new Refused(`This call of ${tool} did not come through \`receive\`. It was not run.`);
      if (proof instanceof Refused) throw proof;
      if (!isSameJson(proof, { tool, input }))
        throw new Refused(`This is not the call of ${proof.tool} that was asked for. It was not run.`);
      const running = runs.get(id) ?? Promise.resolve(proof.input).then(body);
      runs.set(id, running);
      return running;
    },

    sealAsked() {
      const calls = [...unsealed].flatMap((id) => asked.get(id) ?? []);
      unsealed.clear();
      return calls.map((call) => {
        const issuedAt = clock();
        const approval = approvalIds.get(call.id);
        const claims = {
          ...claimsOf(call),
          issuedAt,
          expiresAt: issuedAt + expiresIn,
          ...(approval !== undefined && { approval }),
        };
        return sealChunk(call.id, sealer.seal(claims));
      });
    },

    sealOutcome(id, outcome, streamed) {
      const call = asked.get(id) ?? proofs.get(id);
      if (!call || call instanceof Refused || (streamed && !isSameJson(call, streamed))) return [];
      const claims = { ...claimsOf(call), issuedAt: clock(), outcome: digestOf(outcome) };
      return [sealChunk(outcomeKey(id), sealer.seal(claims))];
    },
  };
}

const outcomeKey = (id: string): string => `${id}/outcome`;

const sealChunk = (id: string, token: string): SealChunk => ({ type: 'data-seal', id, data: { token } });

const unknown = (tool: string): string =>
  `The user approved this call of ${tool}, and the conversation continued. It is unknown whether it took effect.`;

const isSameJson = (call: AskedCall, other: StreamedCall): boolean =>
  call.tool === other.tool && digestOf(call.input) === digestOf(other.input);

/** The same for the same JSON, whatever the order of its keys. */
function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url');
}
