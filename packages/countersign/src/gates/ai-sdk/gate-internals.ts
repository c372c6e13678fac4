// The gate's internals that `processToolCalls` uses. A separate file, so that a page does not load the gate.
import type { Json } from '../../core/json.ts';
import type { AskedCall, Outcome } from './ledger.ts';

export const INTERNALS = Symbol('gate');

export type GateInternals = {
  /** Registers the functions of the recipe for tools without `execute`, by tool name. */
  confirm(functions: ReadonlyMap<string, (input: Json, toolCallId: string) => unknown>): void;
  run(call: AskedCall, body: (input: Json) => unknown): Promise<unknown>;
  /** The chunks to write beside the outcome of a call. */
  chunksFor(id: string, outcome: Outcome): readonly DataChunk[];
};

export type DataChunk = { readonly type: `data-${string}`; readonly id?: string; readonly data: unknown };
