// A body that still runs after its call has a result, or after its run ended, is stopped before it acts.
import { countersign, memoryStore, type ToolContext } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

type Act = (ctx: ToolContext, acted: () => void) => Promise<unknown>;

/** Processes whose body acts after `go`. It returns when it has acted, or when `before` resolves. */
function processes(act: Act, before?: Promise<void>) {
  const store = memoryStore();
  const log: string[] = [];
  const go = Promise.withResolvers<void>();
  const siblingMayEnd = Promise.withResolvers<void>();
  const modelMayReply = Promise.withResolvers<void>();
  const open = () => {
    const model = scriptedModel(async ({ messages }) => {
      if (!messages.some(({ role }) => role === 'tool')) return { calls: [{ name: 'pay' }, { name: 'slow' }] };
      log.push('model asked');
      await modelMayReply.promise;
      return 'Done.';
    });
    const ai = countersign({ store, model, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', commits: true }, async (_input, ctx) => {
      log.push('begun');
      const acting = go.promise.then(() => act(ctx, () => log.push('acted')));
      const ended = acting.catch((error: Error) => log.push(error.name));
      await (before ?? ended);
    });
    const slow = ai.defineTool({ name: 'slow', description: '' }, () => siblingMayEnd.promise);
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay, slow] }) };
  };
  return { one: open(), two: open(), log, go, siblingMayEnd, modelMayReply };
}

const AT_ONCE = Promise.resolve();

const committing: Act = ({ commitPoint }, acted) => commitPoint().then(acted);

test('commitPoint() throws after another process cancelled the run', async () => {
  const { one, two, log, go, siblingMayEnd } = processes(committing);
  await one.clerk.start('Pay.', { runId: 'run' });
  await eventually(() => expect(log).toEqual(['begun']));
  await two.runs.cancel('run');
  go.resolve();
  await eventually(() => expect(log).toHaveLength(2));
  siblingMayEnd.resolve();
  await one.runs.settled();
  expect(log).toEqual(['begun', 'LostSignal']);
});

/** Lets the rest of the body run while the model is called, after its turn is over. */
async function comesTooLate(
  { one, log, modelMayReply }: Pick<ReturnType<typeof processes>, 'one' | 'log' | 'modelMayReply'>,
  letContinue: () => void,
): Promise<void> {
  await eventually(() => expect(log).toEqual(['begun', 'model asked']));
  letContinue();
  await eventually(() => expect(log).toHaveLength(3));
  modelMayReply.resolve();
  await one.runs.settled();
  expect(log).toEqual(['begun', 'model asked', 'LostSignal']);
}

describe.each<[string, Act]>([
  ['commitPoint()', committing],
  ['step()', ({ step }, acted) => step('act', acted)],
])('%s throws', (_what, act) => {
  test('after its call has a result, while a sibling runs', async () => {
    const { one, log, go, siblingMayEnd, modelMayReply } = processes(act, AT_ONCE);
    await one.clerk.start('Pay.', { runId: 'run' });
    await eventually(async () => expect(JSON.stringify(await one.runs.recorded('run'))).toContain('call-settled'));
    go.resolve();
    await eventually(() => expect(log).toHaveLength(2));
    siblingMayEnd.resolve();
    modelMayReply.resolve();
    await one.runs.settled();
    expect(log).toEqual(['begun', 'LostSignal', 'model asked']);
  });

  test('after its turn is over, while the model is called', async () => {
    const { one, log, go, siblingMayEnd, modelMayReply } = processes(act, AT_ONCE);
    siblingMayEnd.resolve();
    await one.clerk.start('Pay.', { runId: 'run' });
    await comesTooLate({ one, log, modelMayReply }, go.resolve);
    expect((await one.runs.get('run')).status).toBe('done');
  });
});

test('a step that ends after its turn is over throws', async () => {
  const working = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const work = () => {
    working.resolve();
    return mayEnd.promise;
  };
  const { one, log, go, siblingMayEnd, modelMayReply } = processes(({ step }) => step('act', work), working.promise);
  go.resolve();
  siblingMayEnd.resolve();
  await one.clerk.start('Pay.', { runId: 'run' });
  await comesTooLate({ one, log, modelMayReply }, mayEnd.resolve);
});

test('cancelling a completed run changes nothing', async () => {
  const { one, two, log, go, siblingMayEnd, modelMayReply } = processes(async () => undefined);
  for (const may of [go, siblingMayEnd, modelMayReply]) may.resolve();
  await one.clerk.start('Pay.', { runId: 'run' });
  await one.runs.settled();
  const before = await two.runs.recorded('run');
  expect(await two.runs.cancel('run', { by: 'boss' })).toMatchObject({ status: 'done', text: 'Done.' });
  expect(await two.runs.recorded('run')).toEqual(before);
  expect(log).toEqual(['begun', 'model asked']);
});
