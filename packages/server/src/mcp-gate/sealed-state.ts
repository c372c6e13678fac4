// The state that a client carries from leg to leg of one call: sealed, and bound to the person. It names the call, never a decision.
import type { Notes } from 'countersign/store';
import { keptSecret } from '../kept-secret.ts';

/** `digest` is that of the tool and its arguments. `tool` is there in the id of a task. `asked` is there if the client was shown a form: with the digest of its card, if it decides. */
export type CallState = {
  readonly key: string;
  readonly digest: string;
  readonly tool?: string;
  readonly asked?: { readonly card?: string };
};

export type SealedState = {
  seal(state: CallState, person: string): Promise<string>;
  /** Undefined if it was not sealed here for this person, or is too old. */
  open(sealed: string, person: string): Promise<CallState | undefined>;
};

export const WEEK_SECONDS = 7 * 86_400;

export async function sealedState(notes: Notes, scope: string): Promise<SealedState> {
  const { createRequestStateCodec } = await import('@modelcontextprotocol/server');
  type Bound = Parameters<ReturnType<typeof createRequestStateCodec<CallState>>['verify']>[1];
  const codec = createRequestStateCodec<CallState>({
    // All gateways on a store share it, so that each can continue what another began.
    key: await keptSecret(notes, 'mcp-gate', 'secret'),
    ttlSeconds: WEEK_SECONDS,
    bind: (context) => JSON.stringify(['tools/call', scope, (context as unknown as { person: string }).person]),
  });
  const bound = (person: string) => ({ person }) as unknown as Bound;
  return {
    seal: (state, person) => codec.mint(state, bound(person)),
    open: (sealed, person) => codec.verify(sealed, bound(person)).catch(() => undefined),
  };
}
