// An approval stays recorded, whatever message the user sends next.
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { ask, call, of, payTool, script, waiting, world } from '../sub-agents/kit.ts';

test.each(['cancel', 'queue', 'refuse'] as const)(
  'a message after a sibling failed does not take back an approval (%s)',
  async (whilePending) => {
    const { open } = world();
    const go = Promise.withResolvers<void>();
    const paid: string[] = [];
    let down = true;
    const { root, runs } = open((ai) => {
      const pay = payTool(ai, paid);
      const helper = ai.defineAgent({
        name: 'helper',
        model: script([], async () => {
          if (down) {
            await go.promise;
            throw new Error('down');
          }
        }),
      });
      return ai.defineAgent({ name: 'root', tools: [pay, helper], model: script([[call('pay'), ask('helper')]]) });
    });
    await root.start('a', { runId: 't' });
    const card = await eventually(async () => of(await waiting(runs), 'pay'));
    await runs.decide(card.id, 'approve', { by: 'ann' });
    down = false;
    go.resolve();
    expect((await runs.wait('t')).status).toBe('failed');
    const r = await root.generate({ runId: 't', prompt: 'b', whilePending }).then(
      (x) => x.text,
      (e) => e.message,
    );
    await runs.settled();
    expect((await runs.request(card.id)).settlement).toMatchObject({ decision: { type: 'approve' }, by: 'ann' });
    expect(paid, r).toEqual(['pay']);
  },
);
