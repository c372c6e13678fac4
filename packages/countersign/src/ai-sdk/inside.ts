// How `processToolCalls` reaches behind a gate. It is a file of its own so that a page does not load the gate with it.
import type { Json } from '../core/json.ts';
import type { AskedCall, Outcome } from './ledger.ts';

export const INSIDE = Symbol('gate');

export type Inside = {
  /** What the recipe runs for tools without `execute`, by their names, once they are confirmed. */
  confirm(functions: ReadonlyMap<string, (input: Json, toolCallId: string) => unknown>): void;
  run(call: AskedCall, body: (input: Json) => unknown): Promise<unknown>;
  /** What to write beside the outcome of a call. */
  chunksFor(id: string, outcome: Outcome): readonly DataChunk[];
};

export type DataChunk = { readonly type: `data-${string}`; readonly id?: string; readonly data: unknown };
