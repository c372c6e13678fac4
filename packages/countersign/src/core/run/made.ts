// Decisions as typed values. A door makes them once, and they reach the event as they are.

import { isToolRequest, type Metadata, type ToolRequestPart, type ToolResponsePart } from '../messages/message.ts';
import { askedId } from './call.ts';
import type { Address, Made } from './event.ts';

/** `where` names the decision in errors, such as `resume[0]` or `approve[0]`. */
export type Given = Made & { readonly where: string };

export type DecisionFault = {
  readonly where: string;
  readonly problem: string;
  /** The call was pending once, and no longer is. */
  readonly stale?: true;
  /** Where an answer or an edited input does not fit its schema. */
  readonly issues?: readonly { readonly path: readonly string[]; readonly message: string }[];
};

/**
 * The decisions of one resumption. Doors that have typed decisions pass it as `resume`. It is a class, so that no JSON from
 * outside counts as one.
 */
export class Decisions {
  readonly made: readonly Given[];
  /** Entries that are not decisions. */
  readonly faults: readonly DecisionFault[];
  /** Kept on the tool message as `metadata.resumed`. */
  readonly metadata: Metadata | undefined;
  /** The votes were counted where the decisions were recorded. */
  readonly isCounted: boolean;

  constructor(
    made: readonly Given[],
    { faults = [], metadata, isCounted = false }: Partial<Pick<Decisions, 'faults' | 'metadata' | 'isCounted'>> = {},
  ) {
    this.made = made;
    this.faults = faults;
    this.metadata = metadata;
    this.isCounted = isCounted;
  }

  with(change: Partial<Pick<Decisions, 'made' | 'faults'>>): Decisions {
    const { made, ...rest } = { ...this, ...change };
    return new Decisions(made, rest);
  }
}

export const NO_DECISIONS = new Decisions([]);

/** The request of a part. Untyped callers may give any metadata. */
export function addressOf(part: ToolRequestPart | ToolResponsePart): Address {
  const { name, ref } = isToolRequest(part) ? part.toolRequest : part.toolResponse;
  const { path, round } = part.metadata ?? {};
  const id = requestIdOf(part);
  return {
    path: Array.isArray(path) ? path.filter((outer) => typeof outer === 'string') : [],
    ref,
    name,
    ...(id !== undefined && { requestId: id }),
    ...(typeof round === 'number' && { round }),
  };
}

/** The id of the request that a decision was made on; undefined where it was built by hand without one. */
export function requestIdOf(part: ToolRequestPart | ToolResponsePart): string | undefined {
  const { requestId: given, callId, pauses, interruptKind: kind } = part.metadata ?? {};
  if (typeof given === 'string') return given;
  const count = typeof pauses === 'number' ? pauses : kind === 'recall' ? 0 : 1;
  if (typeof callId === 'string') return askedId({ id: callId, pauses: count }, kind);
  if (isToolRequest(part) && typeof pauses === 'number') return askedId({ id: part.toolRequest.ref, pauses }, kind);
  return undefined;
}

/** The refs that lead to a call, and its own, as one string, without the first `skipped` of them. */
export function refsOf({ path, ref }: Pick<Address, 'path' | 'ref'>, skipped = 0): string {
  return JSON.stringify([...path, ref].slice(skipped));
}
