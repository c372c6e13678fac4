// What people do in Slack: decisions with buttons and forms, and everything that must not count as one.
import { memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import { expect, test } from 'vitest';
import { raw } from '../../server.ts';
import { buttonsOf, NEVER, SECRET, send, shownRequest } from './local-slack.ts';

test('a press on Approve decides as the person behind the Slack user, through the channel', async () => {
  const { press, told, ai, runId, paid, card, local, receipt } = await shownRequest('pay bob 950');
  expect(buttonsOf(local.messageAt(receipt)).map(({ action_id }) => action_id)).toEqual([
    'approve',
    'edit',
    'revise',
    'reject',
    'open',
  ]);
  expect(await press('approve')).toMatchObject({ status: 200, body: undefined });
  await told('Your decision is recorded.');
  await ai.runs.wait(runId);
  expect(paid).toEqual([{ to: 'bob', amount: 950 }]);
  expect((await card()).settlement).toMatchObject({ by: 'ann', channel: 'slack', decision: { type: 'approve' } });
});

test('Reject asks for a reason, which the decision carries', async () => {
  const { press, form, submit, told, card, paid } = await shownRequest('pay bob 950');
  await press('reject');
  expect((await form()).blocks).toMatchObject([{ type: 'input', optional: true, element: { multiline: true } }]);
  expect(await submit({ f0: { value: 'Too much & <late>' } })).toMatchObject({ status: 200, body: undefined });
  await told('Your decision is recorded.');
  expect((await card()).settlement).toMatchObject({ decision: { type: 'reject', reason: 'Too much & <late>' } });
  expect(paid).toEqual([]);
});

test('Ask for changes asks which, and the agent gets them', async () => {
  const { press, form, submit, told, ai, runId, card, paid } = await shownRequest('pay bob 950');
  await press('revise');
  const view = await form();
  expect(view.blocks).toMatchObject([{ type: 'input', optional: false, label: { text: 'Changes' } }]);
  expect(await submit({ f0: { value: 'Only 420 & <today>' } })).toMatchObject({ status: 200, body: undefined });
  await told('Your decision is recorded.');
  const decision = { type: 'revise', comment: 'Only 420 & <today>' };
  expect((await card()).settlement).toMatchObject({ by: 'ann', channel: 'slack', decision });
  await ai.runs.wait(runId);
  expect(JSON.stringify((await ai.runs.get(runId)).messages)).toContain('They say: Only 420 & <today>');
  expect(paid).toEqual([]);
});

test('Edit opens a form with the input; problems are shown in it, and what was entered runs', async () => {
  const { press, form, submit, told, ai, runId, paid, card } = await shownRequest('pay bob 950');
  await press('edit');
  expect((await form()).blocks).toMatchObject([
    { label: { text: 'to' }, element: { type: 'plain_text_input', initial_value: 'bob' } },
    { label: { text: 'amount' }, element: { type: 'number_input', initial_value: '950' } },
  ]);
  const refused = await submit({ f1: { value: '1e9' } });
  expect(refused.body).toEqual({ response_action: 'errors', errors: { f1: 'Must be at most 100000.' } });
  expect((await card()).settlement).toBeNull();
  await submit({ f1: { value: '900' } });
  await told('Your decision is recorded.');
  await ai.runs.wait(runId);
  expect(paid).toEqual([{ to: 'bob', amount: 900 }]);
});

test('Answer opens a form for the answer', async () => {
  const { press, form, submit, told, ai, runId, card, local, receipt } = await shownRequest('ask which one?');
  expect(buttonsOf(local.messageAt(receipt)).map(({ action_id }) => action_id)).toEqual(['respond', 'reject', 'open']);
  await press('respond');
  expect((await form()).blocks).toMatchObject([{ label: { text: 'Your answer' }, optional: false }]);
  expect((await submit({})).body).toMatchObject({ response_action: 'errors' });
  await submit({ f0: { value: 'the blue one' } });
  await told('Your decision is recorded.');
  await ai.runs.wait(runId);
  expect((await card()).settlement).toMatchObject({ decision: { type: 'respond', output: 'the blue one' } });
});

test('what Slack did not sign, signed long ago, or sent before is refused', async () => {
  const { press, url, card, told } = await shownRequest('pay bob 950');
  const minutes = 60_000;
  const wrong = [
    { secret: 'another-secret-of-some-length' },
    { signature: 'v0=00' },
    { signature: '' },
    { at: Date.now() - 6 * minutes },
    { at: Date.now() + 6 * minutes },
  ];
  for (const signing of wrong) expect((await press('approve', 'U1', signing)).status).toBe(401);
  const headers = { 'x-slack-request-timestamp': String(Math.floor(Date.now() / 1_000)), 'content-length': '1000001' };
  const huge = { method: 'POST', path: '/channels/slack/interactions', headers };
  expect((await raw(Number(new URL(url).port), huge)).status).toBe(413);
  expect((await fetch(`${url}/channels/slack/interactions`)).status).toBe(405);
  expect((await card()).settlement).toBeNull();
  const sent = await press('approve', 'U9');
  expect(sent.status).toBe(200);
  await told('not connected');
  expect((await sent.again()).status).toBe(401);
});

test('each of several signing secrets is accepted', async () => {
  const { press, told } = await shownRequest('pay bob 950', { signingSecret: ['the-new-signing-secret', SECRET] });
  expect((await press('approve')).status).toBe(200);
  await told('Your decision is recorded.');
});

test('a Slack user who is nobody here decides nothing, with buttons or forms', async () => {
  const { press, submit, form, told, card, local } = await shownRequest('pay bob 950');
  await press('approve', 'U3');
  await told('Your Slack account is not connected to a person here. Nothing was recorded.');
  await press('edit', 'U3');
  await press('reject');
  await form();
  expect(local.views.size).toBe(1);
  local.remarks.length = 0;
  await submit({}, 'U3');
  await told('not connected');
  expect((await card()).settlement).toBeNull();
});

test('a person who may not decide the request is told so', async () => {
  const { press, told, card, local } = await shownRequest('pay bob 950', {
    server: { instance: { policyFor: () => ({ deciders: { people: ['ann'] } }) } },
  });
  await press('approve', 'U2');
  await told('You cannot decide this request. Nothing was recorded.');
  await press('edit', 'U2');
  await expect.poll(() => JSON.stringify([...local.views.values()])).toContain('You cannot decide this request.');
  expect((await card()).settlement).toBeNull();
});

test('a message about a card that has changed decides nothing', async () => {
  const { channel, notice, url, local, told, card, id } = await shownRequest('pay bob 950');
  const shown = await card();
  const stale = { ...shown, digest: shown.digest.replace(/.$/, (last) => (last === '0' ? '1' : '0')) };
  const old = (await channel.deliver(await notice('opened', { card: stale }), NEVER)) as never;
  await send(url, local.pressOf(old, 'approve', 'U1'));
  await told('This request has changed since the message was sent. Nothing was recorded.');
  await told(`/requests/${encodeURIComponent(id)}|Open the request>`);
  await send(url, local.pressOf(old, 'edit', 'U1'));
  await expect.poll(() => JSON.stringify([...local.views.values()])).toContain('This request has changed');
  expect((await card()).settlement).toBeNull();
});

test('two people press at once: one decision is recorded, and each learns what happened', async () => {
  const { press, told, ai, runId, paid, card, url, local, receipt } = await shownRequest('pay bob 950');
  await press('reject', 'U2');
  await expect.poll(() => local.views.size).toBe(1);
  await Promise.all([press('approve'), send(url, local.submissionOf('U2', { f0: { value: 'No.' } }))]);
  await told('Your decision is recorded.');
  await told('This request is already over. Your decision was not recorded.');
  await ai.runs.wait(runId);
  const isApproved = paid.length === 1;
  expect((await card()).settlement).toMatchObject({ by: isApproved ? 'ann' : 'ben' });
  local.remarks.length = 0;
  await send(url, local.pressOf(receipt, 'approve', isApproved ? 'U2' : 'U1'));
  await told(isApproved ? 'ann has decided this already.' : 'already over');
});

test('Slack gets its answer while the store is slow; the decision and the form follow', async () => {
  let blocked: Promise<void> | undefined;
  const store = slowStore(() => blocked);
  const { press, told, local, card } = await shownRequest('pay bob 950', { server: { store } });
  const { promise, resolve } = Promise.withResolvers<void>();
  blocked = promise;
  // Both get an answer before the store answers.
  expect((await press('edit')).status).toBe(200);
  expect((await press('approve')).status).toBe(200);
  await expect.poll(() => JSON.stringify([...local.views.values()])).toContain('Loading');
  expect(local.remarks).toEqual([]);
  blocked = undefined;
  resolve();
  await told('Your decision is recorded.');
  await expect.poll(() => JSON.stringify([...local.views.values()])).not.toContain('Loading');
  expect((await card()).settlement).toMatchObject({ by: 'ann' });
});

test('without an address for answers, or after it expired, the person is told all the same', async () => {
  const { local, receipt, url, told } = await shownRequest('pay bob 950');
  await send(url, local.pressOf(receipt, 'approve', 'U1', `${local.base}/response/gone`));
  await told('Your decision is recorded.');
  expect(local.calls.at(-1)).toMatchObject({ method: 'chat.postEphemeral', body: { channel: 'C1', user: 'U1' } });
});

test('interactions that are not ours are answered and ignored', async () => {
  const { url, press, local, card } = await shownRequest('pay bob 950');
  for (const payload of [
    { type: 'shortcut' },
    {
      type: 'view_submission',
      user: { id: 'U1' },
      view: { callback_id: 'x', private_metadata: '', state: { values: {} } },
    },
    { type: 'block_actions', user: { id: 'U1' }, trigger_id: 't', actions: [{ action_id: 'approve', value: 'x' }] },
  ])
    expect(await send(url, payload)).toMatchObject({ status: 200, body: undefined });
  expect((await press('open')).status).toBe(200);
  expect(local.remarks).toEqual([]);
  expect((await card()).settlement).toBeNull();
});

/** Every call of the store waits for `gate`. */
function slowStore(gate: () => Promise<void> | undefined): Store {
  const store = memoryStore();
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        const waiting = gate();
        const call = () => Reflect.apply(member, target, given) as unknown;
        return waiting === undefined ? call() : waiting.then(call);
      };
    },
  });
}
