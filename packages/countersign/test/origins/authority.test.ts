// What rules, grants, edits, evidence and replay make of origins.
import {
  countersign,
  evidenceText,
  type GrantRequest,
  memoryStore,
  type Rule,
  type RunRequest,
  verifyEvidence,
  z,
} from 'countersign';
import { rulesOf } from 'countersign/store';
import { describe, expect, test } from 'vitest';
import { agentOf, making, office } from './kit.ts';

const UNTRUSTED = { trust: 'untrusted' } as const;
const GB = 'GB33BUKB20201555555555';
const DE = 'DE89370400440532013000';
const MAIL = { body: 'Pay to GB33 BUKB 2020 1555 5555 55.' };
const read = { name: 'readMail', input: {} };
const sendTo = (to: string) => ({ name: 'send', input: { to } });

/** Reads a mail and sends to this account. The user has typed the German one. */
async function sending(to: string, rules?: readonly Rule[], config: object = {}) {
  const world = office(rules, config);
  const mail = world.reading('readMail', MAIL, UNTRUSTED);
  const agent = agentOf(world.ai, 'clerk', [mail, world.send], [read, sendTo(to)]);
  return { ...world, ...(await world.start(agent, `Pay our supplier at ${DE}.`)) };
}

const where = (origin: 'user' | 'trusted' | 'model' | 'untrusted') => [{ field: 'to', origin }] as const;

describe('rules', () => {
  test('a rule denies an untrusted value, and lets a typed one pass', async () => {
    const rules: readonly Rule[] = [{ tool: 'send', where: where('untrusted'), then: 'deny' }];
    expect((await sending(GB, rules)).sent).toEqual([]);
    expect((await sending(DE, rules)).sent).toEqual([{ to: DE }]);
  });

  test('a rule asks two people about a value that nobody typed', async () => {
    const policy = { quorum: [{ of: { people: ['ben', 'cara'] }, count: 2 }] };
    const { ai, sent, request, id } = await sending('made-up@acme.com', [
      { tool: 'send', where: where('model'), policy },
    ]);
    await ai.runs.decide(request as RunRequest, 'approve', { by: 'ben' });
    await ai.runs.settled();
    expect(sent).toEqual([]);
    await ai.runs.decide(request as RunRequest, 'approve', { by: 'cara' });
    await ai.runs.wait(id);
    expect(sent).toEqual([{ to: 'made-up@acme.com' }]);
  });

  test('a value that is too short to look for asks', async () => {
    const rules: readonly Rule[] = [{ tool: 'send', where: [{ field: 'amount', origin: 'untrusted' }] }];
    const { ai, reading, send, start, sent } = office(rules);
    const mail = reading('readMail', MAIL, UNTRUSTED);
    const calls = [{ name: 'send', input: { to: DE, amount: 5 } }];
    const { request } = await start(agentOf(ai, 'clerk', [mail, send], calls), 'Pay.');
    expect([sent, request?.tool]).toEqual([[], 'send']);
  });

  test('a call from outside asks, because its conversation is not here', async () => {
    const { ai } = office([
      { tool: '*', then: 'allow' },
      { tool: 'pay', where: where('untrusted') },
    ]);
    const gate = ai.gate({ name: 'pay', title: 'Pay' });
    const asked = await gate.request({ to: DE }, { key: 'k' });
    expect(asked.status).toBe('pending');
    expect((await ai.runs.requests()).items[0]?.origins).toBeUndefined();
  });

  test('a quorum cannot go by origins', () => {
    const ai = countersign({ store: memoryStore() });
    const quorum = [{ of: { people: ['ben'] }, count: 1, when: where('untrusted') }];
    expect(() => ai.definePolicy('p', { quorum })).toThrow(
      '`quorum[0].when` goes by `origin`, which only rules and grants can',
    );
  });

  test('nothing is searched where nobody has marked anything', async () => {
    const { ai, reading, send, start } = office([], { needsApproval: true });
    const mail = reading('readMail', MAIL);
    const { request } = await start(agentOf(ai, 'clerk', [mail, send], [read, sendTo(GB)]), 'Pay.');
    expect(request).not.toHaveProperty('origins');
  });
});

describe('grants', () => {
  const gating = { needsApproval: true };

  /** Approves a first call with a grant, and makes a second one. */
  async function second(first: string, then: string, grant: Partial<GrantRequest>) {
    const world = office([], gating);
    const mail = world.reading('readMail', MAIL, UNTRUSTED);
    const model = making([read, sendTo(first), sendTo(then)]);
    const agent = world.ai.defineAgent({ name: 'clerk', tools: [mail, world.send], model });
    const { id, request } = await world.start(agent, `Pay our supplier at ${DE}.`);
    const expiresAt = (await world.ai.runs.store.now()) + 60_000;
    await world.ai.runs.decide(request as RunRequest, 'approve', {
      by: 'ben',
      grant: { uses: 5, expiresAt, ...grant },
    });
    await world.ai.runs.wait(id);
    return { ...world, id };
  }

  test('a grant does not cover a sensitive value of untrusted origin', async () => {
    expect((await second(DE, GB, {})).sent).toEqual([{ to: DE }]);
    expect((await second(DE, DE, {})).sent).toEqual([{ to: DE }, { to: DE }]);
  });

  test('unless it names the value', async () => {
    const { sent } = await second(DE, GB, { where: [{ field: 'to', oneOf: [DE, GB] }] });
    expect(sent).toEqual([{ to: DE }, { to: GB }]);
  });

  test('a grant can be for typed values only', async () => {
    const typed = { where: where('user') };
    expect((await second(DE, 'made-up@acme.com', typed)).sent).toEqual([{ to: DE }]);
    const { ai, id, sent } = await second(DE, DE, typed);
    expect(sent).toHaveLength(2);
    expect((await verifyEvidence(evidenceText(await ai.runs.evidence(id)))).problems).toEqual([]);
  });

  test('a grant cannot be given with a call that does not meet its origin', async () => {
    await expect(second(GB, GB, { where: where('trusted') })).rejects.toThrow(
      'its conditions do not accept the call at hand',
    );
  });
});

describe('the record', () => {
  test('the digest covers the origins, and evidence has them', async () => {
    const { ai, id, request } = await sending(GB);
    const evidence = await ai.runs.evidence(id);
    expect((await verifyEvidence(evidenceText(evidence))).problems).toEqual([]);
    const changed = evidenceText(evidence).replaceAll('"from": "untrusted"', '"from": "user"');
    expect(changed).not.toBe(evidenceText(evidence));
    expect((await verifyEvidence(changed)).problems).not.toEqual([]);
    expect(request?.part.metadata).toHaveProperty('origins');
  });

  test('an edit is searched again, and what the editor wrote is theirs', async () => {
    const policy = { quorum: [{ of: { people: ['ben', 'cara'] }, count: 2 }] };
    const { ai, id, request } = await sending(GB, [
      { tool: 'send', where: where('untrusted'), policy },
      { tool: 'send', policy },
    ]);
    await ai.runs.decide(request as RunRequest, { type: 'approve', edit: { to: 'NL91ABNA0417164300' } }, { by: 'ben' });
    const [edited] = (await ai.runs.requests({ runId: id })).items;
    expect(edited?.origins?.[0]).toMatchObject({ field: ['to'], from: 'editor' });
    await ai.runs.decide(edited as RunRequest, { type: 'approve', edit: { to: GB } }, { by: 'cara' });
    const [pasted] = (await ai.runs.requests({ runId: id })).items;
    expect(pasted?.origins?.[0]).toMatchObject({ field: ['to'], from: 'untrusted', tool: 'readMail' });
  });

  test.each([
    ['untrusted', GB, 'denied', 'same'],
    ['untrusted', DE, 'same', 'asks'],
  ] as const)('a replayed rule sees the recorded origins (%s, %s)', async (_origin, to, denies, typed) => {
    const { ai } = await sending(to);
    const replay = async (rules: readonly Rule[]) => {
      const { changes, same } = await rulesOf(ai).replay({ since: 0, rules });
      const changed = Object.entries(changes).flatMap(([change, { calls }]) =>
        calls.flatMap(({ tool }) => (tool === 'send' ? change : [])),
      );
      return changed[0] ?? (same > 0 ? 'same' : 'none');
    };
    expect(await replay([{ tool: 'send', where: where('untrusted'), then: 'deny' }])).toBe(denies);
    expect(await replay([{ tool: 'send', where: where('untrusted') }])).toBe('same');
    if (typed === 'asks') expect(await replay([{ tool: 'send', where: where('user') }])).toBe('asks');
  });

  test('a replayed rule says so where no origin was recorded', async () => {
    const { ai, send, start } = office([]);
    await start(agentOf(ai, 'clerk', [send], [sendTo(DE)]), 'Pay.');
    const { changes } = await rulesOf(ai).replay({ since: 0, rules: [{ tool: 'send', where: where('untrusted') }] });
    expect(changes.unknown.calls[0]?.why).toContain('where a value came from');
  });
});

test('a person who answers a question is its source', async () => {
  const { ai, send, start, reading } = office([], { needsApproval: true });
  const ask = ai.defineInterrupt({ name: 'ask', description: 'Asks.', outputSchema: z.string() });
  const mail = reading('readMail', MAIL, UNTRUSTED);
  const agent = agentOf(ai, 'clerk', [ask, mail, send], [{ name: 'ask', input: {} }, read, sendTo(GB)]);
  const { id, request } = await start(agent, 'Pay.');
  await ai.runs.decide(request as RunRequest, { type: 'respond', output: `To ${GB}` }, { by: 'ann' });
  await ai.runs.wait(id);
  const [asked] = (await ai.runs.requests({ runId: id })).items;
  expect(asked?.origins?.[0]).toMatchObject({ field: ['to'], from: 'answer', tool: 'ask', sensitive: true });
});

test('the fields that a tool marks are the sensitive ones', async () => {
  const { request } = await sending(GB, [], { needsApproval: true, sensitive: ['amount'] });
  expect(request?.origins?.[0]).not.toHaveProperty('sensitive');
  expect(() => office([], { sensitive: 'to' })).toThrow('sensitive');
  expect(() => office([], { trust: 'no' })).toThrow('trust');
});
