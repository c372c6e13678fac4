// The ledger without a store: what is asked goes out sealed and must come back with its seal. It has no memory, so it
// cannot tell a second approval from the first.
import { createHash } from 'node:crypto';
import { UsageError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Sealer } from '../ui/chats/seal.ts';
import {
  type AskedCall,
  type ClaimedCall,
  deniedText,
  type Known,
  type Ledger,
  type Outcome,
  PASSED_OVER,
  Refused,
  sortedJson,
} from './ledger.ts';

export type SealedLedgerOptions = {
  readonly sealer: Sealer;
  readonly chatId: string;
  readonly person: string;
  readonly expiresIn: number;
  readonly clock: () => number;
};

/** A part of the stream that carries a seal; the client keeps it in the message and sends it back. */
export type SealChunk = { readonly type: 'data-seal'; readonly id: string; readonly data: { readonly token: string } };

export type SealedLedger = Ledger & {
  /** Seals for what was asked since the last time. */
  sealAsked(): readonly SealChunk[];
  /**
   * A seal for how a call ended, if it is one of those that a person decides. `said` is what the model said last under its id
   * since: providers that count their calls give it to another.
   */
  sealOutcome(id: string, outcome: Outcome, said?: SaidCall): readonly SealChunk[];
};

/** A call of the model, as the stream has it. */
export type SaidCall = Pick<ClaimedCall, 'tool' | 'input'>;

export function sealedLedger(options: SealedLedgerOptions): SealedLedger {
  const { sealer, chatId, person, expiresIn, clock } = options;
  const asked = new Map<string, AskedCall>();
  const unsealed = new Set<string>();
  const proofs = new Map<string, AskedCall | Refused>();
  const runs = new Map<string, Promise<unknown>>();

  /** What a seal is about: the same for a call and for how it ended. */
  const claimsOf = ({ id, tool, input }: { id: string; tool: string; input: unknown }) => ({
    // A seal of our chat route, made with the same secret, says something else.
    of: 'ai-sdk',
    v: 1,
    chat: chatId,
    person,
    call: id,
    tool,
    input: digestOf(input),
  });

  /** The claims of a seal that came with the call, if they are about it. */
  function opened(key: string, { id, tool, input, seals }: ClaimedCall): Record<string, unknown> | undefined {
    const token = seals.get(key);
    const claims = token === undefined ? undefined : openedBy(sealer, token);
    const expected = Object.entries(claimsOf({ id, tool, input }));
    return claims && expected.every(([name, value]) => claims[name] === value) ? claims : undefined;
  }

  function prove(claimed: ClaimedCall): AskedCall | Refused {
    const { id, tool } = claimed;
    const claims = opened(id, claimed);
    if (!claims || 'outcome' in claims)
      return new Refused(
        `Nothing shows that ${tool} was asked for like this, in this chat and of you. It was not run.`,
      );
    // A clock that says no time has not said that there is time left.
    if (!(typeof claims.expiresAt === 'number' && claims.expiresAt > clock()))
      return new Refused(`The time to decide this call of ${tool} is over. It was not run.`);
    return { id, tool, input: claimed.input as Json };
  }

  function outcomeOf(claimed: ClaimedCall, outcome: Outcome): Outcome {
    const claims = opened(outcomeKey(claimed.id), claimed);
    if (claims?.outcome === digestOf(outcome)) return outcome;
    return { type: 'error', text: `The result of this call of ${claimed.tool} cannot be verified.` };
  }

  return {
    // What was asked before is not known.
    async replyAt() {},

    async ask(call) {
      asked.set(call.id, call);
      unsealed.add(call.id);
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
      const proof = proofs.get(id) ?? new Refused(`The call of ${tool} was not received through the gate.`);
      if (proof instanceof Refused) throw proof;
      if (!isIt(proof, { tool, input }))
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
        const claims = { ...claimsOf(call), issuedAt, expiresAt: issuedAt + expiresIn };
        return sealChunk(call.id, sealer.seal(claims));
      });
    },

    sealOutcome(id, outcome, said) {
      const call = asked.get(id) ?? proofs.get(id);
      if (!call || call instanceof Refused || (said && !isIt(call, said))) return [];
      const claims = { ...claimsOf(call), issuedAt: clock(), outcome: digestOf(outcome) };
      return [sealChunk(outcomeKey(id), sealer.seal(claims))];
    },
  };
}

/** Undefined for a seal that somebody made up or changed. */
function openedBy(sealer: Sealer, token: string): Record<string, unknown> | undefined {
  try {
    return sealer.open(token);
  } catch (error) {
    if (error instanceof UsageError && error.code === 'bad-seal') return undefined;
    throw error;
  }
}

const outcomeKey = (id: string): string => `${id}/outcome`;

const sealChunk = (id: string, token: string): SealChunk => ({ type: 'data-seal', id, data: { token } });

const unknown = (tool: string): string =>
  `The user approved this call of ${tool}, and the conversation went on. Nobody knows whether it took effect.`;

const isIt = (call: AskedCall, other: SaidCall): boolean =>
  call.tool === other.tool && digestOf(call.input) === digestOf(other.input);

/** The same for the same JSON, whatever the order of its keys. */
function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(sortedJson(value) ?? 'null')
    .digest('base64url');
}
