// `/countersign` in Slack: freeze calls, and lift a freeze.
import { expect, test } from 'vitest';
import { command, shownRequest } from './local-slack.ts';

const freezes = { freeze: { deciders: { people: ['ann'] } }, lift: { deciders: { people: ['ben'] } } };

test('a person freezes a tool; an approved call waits until another one lifts it', async () => {
  const { ai, url, local, press, told, runId, card, paid } = await shownRequest('pay bob 950', {
    server: { instance: { freezes, policyFor: () => ({ deciders: { people: ['ann', 'ben'] } }) } },
  });
  const say = (text: string, user = 'U1', signing = {}) => command(url, local, text, user, signing);
  expect(await say('freeze pay: hacked', 'U1', { secret: 'wrong' })).toMatchObject({ status: 401 });
  expect(await say('help me')).toMatchObject({ status: 200 });
  await told('Write `/countersign freeze pay transfer_*: why`');
  await say('freeze pay: hacked', 'U9');
  await say('freeze pay: hacked', 'U2');
  await told('Nothing was frozen');
  expect(await ai.freezes.list()).toEqual([]);
  await say('freeze pay, transfer_*: The mailbox: hacked');
  await told('Frozen. No covered call was running. Lift it with `/countersign unfreeze freeze_');
  const [freeze] = await ai.freezes.list();
  expect(freeze).toMatchObject({ tools: ['pay', 'transfer_*'], by: 'ann', reason: 'The mailbox: hacked' });
  await press('approve');
  await told('Your decision is recorded.');
  await expect.poll(async () => (await card()).outcome).toMatchObject({ state: 'frozen', by: 'ann' });
  await say(`unfreeze ${freeze?.id}`);
  await told('Nothing was lifted');
  await say('unfreeze freeze_none', 'U2');
  await told('Freeze freeze_none not found');
  await say(`unfreeze ${freeze?.id}`, 'U2');
  await told('Lifted. The calls that waited go on.');
  await ai.runs.wait(runId, { until: 'end' });
  expect(paid).toHaveLength(1);
  await say('freeze *: everything');
  await expect.poll(() => ai.freezes.list()).toMatchObject([{ by: 'ann', reason: 'everything' }]);
  expect((await ai.freezes.list())[0]).not.toHaveProperty('tools');
});
