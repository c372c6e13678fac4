// An edit of a call inside a sub-agent runs as the schema parsed it at the decision, whatever the next version does.
import { approve, type ToolConfig, z } from 'countersign';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { above, call, type Define, only, STUCK, script, waiting, world } from '../sub-agents/kit.ts';

const PLAIN = z.object({ to: z.string() });
const withDefault = (amount: number) => PLAIN.extend({ amount: z.number().default(amount) });
const EDIT = { type: 'approve', edit: { to: 'bob' } } as const;

describe.each([
  { level: 'the root', deep: false },
  { level: 'a sub-agent', deep: true },
])('in a sub-agent of $level', ({ deep }) => {
  /** A program whose tool `pay` has this schema. With `stuck`, the first process hangs in its body. */
  function versions(config: Partial<ToolConfig> = {}, stuck = false) {
    const paid: unknown[] = [];
    const version =
      (inputSchema: z.ZodType): Define =>
      (ai, nth) => {
        const pay = ai.defineTool(
          { name: 'pay', description: '', inputSchema, needsApproval: true, ...config } as ToolConfig,
          (given: unknown) => {
            paid.push(given);
            return stuck && nth === 1 ? STUCK : 'paid';
          },
        );
        const clerk = ai.defineAgent({ name: 'clerk', tools: [pay], model: script([[call('pay', { to: 'ann' })]]) });
        return deep ? above(ai, rename(ai, clerk)) : above(ai, clerk);
      };
    return { paid, version };
  }

  const rename = (ai: Parameters<Define>[0], clerk: ReturnType<Define>) =>
    ai.defineAgent({ name: 'deputy', tools: [clerk], model: script([[call('clerk', { prompt: 'Go' })]]) });

  async function editedBefore(before: z.ZodType, after: z.ZodType) {
    const { paid, version } = versions();
    const { open, takeOver } = world();
    const one = open(version(before));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    await one.runs.decide(only(await waiting(one.runs)).id, EDIT, { drive: false });
    const two = await takeOver(id, version(after));
    return { id, paid, two };
  }

  test("an edit runs with the schema's output at the time of the decision", async () => {
    const { id, paid, two } = await editedBefore(withDefault(10), withDefault(1_000));
    expect(paid).toEqual([{ to: 'bob', amount: 10 }]);
    expect((await two.runs.get(id)).status).toBe('done');
  });

  test('an edit is asked about again if the schema now adds a default', async () => {
    const { paid, two } = await editedBefore(PLAIN, withDefault(1_000));
    expect(paid).toEqual([]);
    const card = only(await waiting(two.runs));
    expect(card).toMatchObject({ kind: 'unavailable', input: { to: 'bob', amount: 1_000 } });
    await two.runs.decide(card.id, 'approve', { digest: card.digest });
    await two.runs.settled();
    expect(paid).toEqual([{ to: 'bob', amount: 1_000 }]);
  });

  test('an edited idempotent call does not run again with a changed input', async () => {
    const { paid, version } = versions({ idempotent: true }, true);
    const { open, takeOver } = world();
    const one = open(version(PLAIN));
    const { id } = await one.root.start('Go');
    await one.runs.settled();
    await one.runs.decide(only(await waiting(one.runs)).id, EDIT);
    await eventually(() => expect(paid).toEqual([{ to: 'bob' }]));
    const two = await takeOver(id, version(withDefault(1_000)));
    expect(paid).toEqual([{ to: 'bob' }]);
    expect(only(await waiting(two.runs))).toMatchObject({ kind: 'doubt', input: { to: 'bob' } });
  });

  test('an edit cannot set its own bound input', async () => {
    const { paid, version } = versions();
    const { open } = world();
    const { root, runs } = open(version(withDefault(10)));
    const chat = root.chat({ runId: 'run' });
    const { interrupts } = await chat.send('Go');
    const bound = { runsWith: { to: 'eve', amount: 99 } };
    const edited = interrupts.map((asked) => {
      const made = approve(asked, { edit: { to: 'bob' } });
      return { ...made, metadata: { ...made.metadata, bound } };
    });
    await chat.send({ resume: { approve: edited } });
    await runs.settled();
    expect(paid).toEqual([{ to: 'bob', amount: 10 }]);
    expect(JSON.stringify(await runs.recorded('run'))).not.toContain('eve');
  });
});
