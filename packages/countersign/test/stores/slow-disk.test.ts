// A disk on which a commit takes longer than a lease: nothing is lost, and no call runs twice.
import { DatabaseSync } from 'node:sqlite';
import { countersign, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from './folder.ts';

const MINUTE = 60_000;

// After the decision, four commits come before the body, and the next one has the result.
test.each([
  [0, 'two'],
  [1, 'two'],
  [2, 'two'],
  [3, 'two'],
  [4, 'one'],
])(
  'after %d quick commits, one that outlasts the lease lets no body begin: process %s pays, once',
  async (quick, payer) => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    let now = 1_800_000_000_000;
    const clock = () => now;
    /** How many commits are quick. */
    let commits = Number.POSITIVE_INFINITY;
    const { prepare } = DatabaseSync.prototype;
    vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, text) {
      const statement = prepare.call(this, text);
      if (text !== 'COMMIT') return statement;
      const { get } = statement;
      statement.get = (...args) => {
        commits -= 1;
        if (commits < 0) now += MINUTE;
        return get.apply(statement, args as never);
      };
      return statement;
    });
    const paid: string[] = [];
    const open = (name: string) => {
      const store = sqliteStore({ path: `${folder.path}/runs.db`, now: clock });
      onTestFinished(() => store.close());
      const model = scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
      );
      const ai = countersign({ model, store, clock, leaseMs: 15_000, retry: false });
      const config = { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true };
      const pay = ai.defineTool(config, async () => void paid.push(name));
      return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
    };
    const [one, two] = [open('one'), open('two')];
    await one.clerk.start('Pay.', { runId: 'run' });
    await one.runs.wait('run');
    await one.runs.settled();
    const [card] = (await one.runs.requests()).items;

    commits = quick;
    await one.runs.decide(card?.id ?? '', 'approve', { by: 'ann' });
    await one.runs.settled();

    // The disk is quick again, and another process takes over what was left.
    commits = Number.POSITIVE_INFINITY;
    now += MINUTE;
    await two.runs.drive('run');
    await two.runs.settled();
    for (const { id, kind } of (await two.runs.requests()).items) {
      expect(kind).toBe('doubt');
      const decision = paid.length > 0 ? ({ type: 'respond', output: null } as const) : 'approve';
      await two.runs.decide(id, decision, { by: 'ann' });
      await two.runs.settled();
    }
    expect(paid).toEqual([payer]);
    expect(await two.runs.get('run')).toMatchObject({ status: 'done' });
    expect(await two.runs.verify('run')).toMatchObject({ ok: true });
  },
);
