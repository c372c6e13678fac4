// The laws of undos: at most one for each call, of exactly what ran, and what a caller was told of it is true.
import { isDeepStrictEqual } from 'node:util';
import type { Remains } from '../remains.ts';
import { GIVE, UNDO } from './undo-names.ts';

type Taken = { readonly input: { readonly amount: number }; readonly output: unknown };

export function undoneTwice({ world }: Remains): readonly string[] {
  const undos = world.effects.filter(({ name }) => name === UNDO);
  return undos.flatMap(({ key, input, at }) => {
    const taken = input as Taken;
    const gave = world.effects.find((one) => one.name === GIVE && isDeepStrictEqual(one.input, taken.input));
    const what = `the undo ${key} of ${JSON.stringify(taken)}`;
    if (!gave || gave.at > at) return [`${what}: nothing was given`];
    if (!isDeepStrictEqual(gave.output, taken.output)) return [`${what}: it gave ${JSON.stringify(gave.output)}`];
    const others = undos.filter((other) => other.key !== key && isDeepStrictEqual(other.input, input));
    return others.length > 0 ? [`${what} happened beside that of ${others.map((other) => other.key).join()}`] : [];
  });
}

export function undoneUntruly({ world, records, undoings }: Remains): readonly string[] {
  return undoings
    .flatMap(({ steps }) => steps)
    .flatMap(({ status, runId, callId }) => {
      if (status !== 'undone') return [];
      const run = records.find((record) => record.run.id === runId);
      const own = new Set([...(run?.calls.values() ?? [])].map(({ key }) => key));
      const hasActed = world.effects.some(({ name, key }) => name === UNDO && own.has(key));
      return run?.run.status === 'done' && hasActed ? [] : [`${callId} is undone by ${runId}, and nothing happened`];
    });
}
