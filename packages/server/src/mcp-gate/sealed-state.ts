// The state that a client carries from leg to leg of one call: sealed, and bound to the client. It names the call, never a decision.
import { randomBytes } from 'node:crypto';
import type { Notes } from 'countersign/store';

/** `digest` is that of the tool and its arguments. `asked`: the client was asked to decide. */
export type CallState = { readonly key: string; readonly digest: string; readonly asked?: boolean };

export type SealedState = {
  seal(state: CallState, principal: string): Promise<string>;
  /** Undefined if it was not sealed here for this client, or is too old. */
  open(sealed: string, principal: string): Promise<CallState | undefined>;
};

const WEEK_SECONDS = 7 * 86_400;

export async function sealedState(notes: Notes, scope: string): Promise<SealedState> {
  const { createRequestStateCodec } = await import('@modelcontextprotocol/server');
  type Bound = Parameters<ReturnType<typeof createRequestStateCodec<CallState>>['verify']>[1];
  const codec = createRequestStateCodec<CallState>({
    key: await secretIn(notes),
    ttlSeconds: WEEK_SECONDS,
    bind: (context) => JSON.stringify(['tools/call', scope, (context as unknown as { principal: string }).principal]),
  });
  const bound = (principal: string) => ({ principal }) as unknown as Bound;
  return {
    seal: (state, principal) => codec.mint(state, bound(principal)),
    open: (sealed, principal) => codec.verify(sealed, bound(principal)).catch(() => undefined),
  };
}

const COLLECTION = 'mcp-gate';

/** All gateways on a store share one secret, so that each can continue what another began. */
async function secretIn(notes: Notes): Promise<string> {
  await notes.put(COLLECTION, 'secret', randomBytes(32).toString('base64url'), { version: 0 });
  const note = await notes.get(COLLECTION, 'secret');
  return String(note?.value);
}
