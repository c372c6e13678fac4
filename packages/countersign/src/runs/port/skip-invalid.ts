// Skips items of a list that cannot be trusted, with a process warning for operators.
import { CountersignError, messageOf } from '../../core/errors.ts';
import { warn } from './warning.ts';

/** Maps each item. An item that throws is skipped, with a process warning. */
export function mapValid<From, To extends object>(all: readonly From[], make: (one: From) => To): readonly To[] {
  return all.flatMap((one) => {
    try {
      return [make(one)];
    } catch (error) {
      warnOnce(error);
      return [];
    }
  });
}

/** Warnings already given: lists are requested often. */
const told = new Set<string>();
/** How many of them are remembered. */
const MOST = 1_000;

function warnOnce(error: unknown): void {
  const message = messageOf(error);
  if (told.has(message)) return;
  if (told.size >= MOST) told.clear();
  told.add(message);
  warn(`Left out of a list: ${message}`, error instanceof CountersignError ? error.code : undefined);
}
