// Results that come after another process has taken the run over.
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { call, type Define, EVERYWHERE, placed, script, tool, waiting, world } from './kit.ts';

test.each(EVERYWHERE)('two results that come late in the same moment both settle their doubt (%s)', async (where) => {
  const { open, takeOver, effects } = world();
  const bank = Promise.withResolvers<void>();
  const define: Define = (ai, nth) => {
    const tools = ['one', 'two'].map((name) =>
      tool(ai, name, async () => {
        effects.push(name);
        if (nth === 1) await bank.promise;
        return `${name} done`;
      }),
    );
    return placed(ai, where, { tools, model: script([[call('one'), call('two')]]) });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await eventually(() => expect(effects).toHaveLength(2));
  const two = await takeOver(id, define);
  expect(await waiting(two.runs)).toHaveLength(2);
  bank.resolve();
  await one.runs.settled();
  await eventually(async () => expect((await two.runs.get(id)).status).toBe('done'));
  expect(await waiting(two.runs)).toEqual([]);
  expect(effects).toHaveLength(2);
});
