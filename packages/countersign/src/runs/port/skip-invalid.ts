// What a list leaves out: items that cannot be believed. The rest of the page goes on, and operators are told.
import { CountersignError, messageOf } from '../../core/errors.ts';
import { warn } from './warning.ts';

/** Makes each by itself. One that cannot be made is left out, and told of as a warning of the process. */
export function eachAlone<From, To extends object>(all: readonly From[], make: (one: From) => To): readonly To[] {
  return all.flatMap((one) => {
    try {
      return [make(one)];
    } catch (error) {
      warnOnce(error);
      return [];
    }
  });
}

/** Lists are asked for again and again. */
const told = new Set<string>();
/** So many are remembered at most. */
const MOST = 1_000;

function warnOnce(error: unknown): void {
  const message = messageOf(error);
  if (told.has(message)) return;
  if (told.size >= MOST) told.clear();
  told.add(message);
  warn(`Left out of a list: ${message}`, error instanceof CountersignError ? error.code : undefined);
}
