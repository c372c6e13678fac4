// Deadlines of questions inside sub-agents.
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  ask,
  call,
  type Define,
  delay,
  EVERYWHERE,
  helped,
  only,
  placed,
  script,
  tool,
  waiting,
  world,
} from '../sub-agents/kit.ts';

test('deadlines that expire together, two levels deep, each apply their own onExpiry', async () => {
  const { open, pass, effects } = world();
  const define: Define = (ai) => {
    const timed = (name: string, onExpiry: 'approve' | 'reject') =>
      tool(ai, name, () => effects.push(name), { needsApproval: true, expiresIn: 1000, onExpiry });
    const deputy = ai.defineAgent({
      name: 'deputy',
      tools: [timed('deep', 'approve')],
      model: script([[call('deep')]]),
    });
    return helped(ai, {
      tools: [timed('yes', 'approve'), timed('no', 'reject'), deputy],
      model: script([[call('yes'), call('no'), ask('deputy')]]),
    });
  };
  const one = open(define);
  const { id } = await one.root.start('Go');
  await one.runs.settled();
  pass(2000);
  const two = open(define);
  await two.runs.drive(id);
  await two.runs.settled();
  expect((await two.runs.get(id)).status).toBe('done');
  expect(effects.toSorted()).toEqual(['deep', 'yes']);
});

test.each(EVERYWHERE.flatMap((where) => (['reject', 'approve'] as const).map((onExpiry) => ({ where, onExpiry }))))(
  'a question beside a slow tool is listed before its deadline ($where, $onExpiry)',
  async (given) => {
    const { where, onExpiry } = given;
    const { open, pass, effects } = world();
    const gate = Promise.withResolvers<void>();
    const one = open((ai) => {
      const slow = tool(ai, 'slow', async () => {
        effects.push('slow');
        await gate.promise;
        return 1;
      });
      const pay = tool(ai, 'pay', () => effects.push('paid'), { needsApproval: true, expiresIn: 1000, onExpiry });
      return placed(ai, where, { tools: [slow, pay], model: script([[call('slow'), call('pay')]]) });
    });
    const { id } = await one.root.start('Go');
    await eventually(() => expect(effects).toEqual(['slow']));
    await eventually(async () => expect(await waiting(one.runs)).toHaveLength(1));
    pass(2000);
    gate.resolve();
    await one.runs.settled();
    await one.runs.drive(id);
    await one.runs.settled();
    expect((await one.runs.get(id)).status).toBe('done');
    expect(effects).toEqual(onExpiry === 'approve' ? ['slow', 'paid'] : ['slow']);
  },
);

test('a worker applies a deadline even if the run failed beside the question', async () => {
  const { open, pass, store } = world();
  let down = true;
  const { root, runs } = open((ai) => {
    const pay = tool(ai, 'pay', () => 'paid', { needsApproval: true, expiresIn: 1_000 });
    const model = script([], async () => {
      if (down) throw new Error('down');
    });
    const helper = ai.defineAgent({ name: 'helper', model });
    return ai.defineAgent({ name: 'root', tools: [pay, helper], model: script([[call('pay'), ask('helper')]]) });
  });
  await root.start('a', { runId: 't' });
  expect((await runs.wait('t')).status).toBe('failed');
  const card = only(await waiting(runs));
  const worker = runs.work({ pollMs: 5 });
  await delay(50);
  const { version } = await runs.get('t');
  // Before its time no worker touches it.
  expect((await runs.request(card.id)).settledAt).toBeNull();
  expect((await store.read('t'))?.run.version).toBe(version);
  pass(2_000);
  await eventually(async () => expect((await runs.request(card.id)).settlement).toMatchObject({ by: 'deadline' }));
  await eventually(async () => expect((await runs.get('t')).status).toBe('failed'));
  await delay(50);
  const after = (await runs.get('t')).version;
  await delay(50);
  expect((await runs.get('t')).version).toBe(after);
  down = false;
  await runs.drive('t');
  expect((await runs.wait('t', { until: 'end' })).status).toBe('done');
  await worker.stop();
});
