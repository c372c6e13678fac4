// Calls whose gateway was killed after they took effect: an equal call continues the doubt, and no worker is needed to ask.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerHook } from '../../src/coding-agents/hook.ts';
import { type Gateway, MODERN, openGateway } from './gateway.ts';
import { linesOf } from './recording-server.ts';

let place: Gateway;
beforeAll(() => {
  place = openGateway();
});
afterAll(() => place.close());

const NAME = ['--name', 'bank', '--hold', '30'];
const paid = (to: string) => linesOf(place.path('ledger')).filter((line) => line === to).length;
const open = () => place.legacy([MODERN, place.path('ledger')], NAME);
const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

/** A call that took effect, and whose gateway was killed before it had the result. */
async function loseCall(to: string): Promise<void> {
  const { client, transport } = await open();
  const hanging = client.callTool({ name: 'hang', arguments: { to } }).catch((error: Error) => error);
  const [request] = await place.pending();
  await place.ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
  await expect.poll(() => paid(to), { timeout: 30_000 }).toBe(1);
  process.kill(transport.pid ?? 0, 'SIGKILL');
  expect(await hanging).toBeInstanceOf(Error);
}

test('an equal call after a kill continues the doubt, and gets the outcome that a person tells', async () => {
  await loseCall('Fox');
  const { client } = await open();
  const call = { name: 'hang', arguments: { to: 'Fox' } };
  const again = await client.callTool(call);
  expect(textOf(again)).toContain('outcome is unknown');
  expect(await place.pending()).toMatchObject([{ kind: 'doubt' }]);
  expect(textOf(await client.callTool(call))).toContain('outcome is unknown');
  const [doubt, ...others] = await place.pending();
  expect(others).toEqual([]);
  await place.ai.runs.decide(doubt?.id ?? '', { type: 'respond', output: 'it was paid' } as never);
  expect(textOf(await client.callTool(call))).toBe('it was paid');
  // The client has the answer, so the next equal call is a new one.
  const next = client.callTool(call);
  const [request] = await place.pending();
  expect(request).toMatchObject({ kind: 'approval' });
  await place.ai.runs.decide(request?.id ?? '', 'reject');
  await next;
  expect(paid('Fox')).toBe(1);
  await client.close();
}, 120_000);

test('a gateway that starts turns the lost call into a doubt by itself', async () => {
  await loseCall('Golf');
  const { client } = await open();
  await expect
    .poll(async () => (await place.ai.runs.requests()).items.map(({ kind }) => kind), { timeout: 60_000 })
    .toEqual(['doubt']);
  const [doubt] = await place.pending();
  await place.ai.runs.decide(doubt?.id ?? '', { type: 'respond', output: 'seen at the bank' } as never);
  expect(textOf(await client.callTool({ name: 'hang', arguments: { to: 'Golf' } }))).toBe('seen at the bank');
  expect(paid('Golf')).toBe(1);
  await client.close();
}, 120_000);

test('a coding agent that repeats a call whose end it did not report continues the doubt', async () => {
  const { ai } = place;
  const options = { ai, by: 'ada', rules: {}, waitMs: 20_000, leaseMs: 100, defer: false };
  const event = (id: string) =>
    JSON.stringify({
      hook_event_name: 'PreToolUse',
      session_id: 's',
      tool_name: 'Bash',
      tool_input: { command: 'deploy' },
      tool_use_id: id,
    });
  const asked = answerHook(event('one'), options);
  const [request] = await place.pending();
  await ai.runs.decide(request?.id ?? '', 'approve');
  expect(await asked).toMatchObject({ hookSpecificOutput: { permissionDecision: 'allow' } });
  await expect
    .poll(async () => (await ai.gate({ name: 'Bash' }, { name: 'claude-code' }).read(request?.runId ?? '')).status, {
      timeout: 20_000,
    })
    .toBe('doubt');
  expect(await answerHook(event('two'), options)).toMatchObject({
    hookSpecificOutput: {
      permissionDecision: 'deny',
      permissionDecisionReason: expect.stringContaining('outcome is unknown'),
    },
  });
  expect(await place.pending()).toHaveLength(1);
}, 60_000);
