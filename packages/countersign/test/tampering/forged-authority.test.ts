// Evidence recomputes what let each call run, from the record alone: by an approval, a grant, a rule, a deadline, or after a doubt.
// A forger here can compute every hash, so that the chain, the cards and the document fit: what was decided must fit, too.
import { evidenceText, memoryStore, verifyEvidence } from 'countersign';
import { describe, expect, test } from 'vitest';
import { contentHash } from '../../src/runs/evidence/evidence.ts';
import { replay } from '../../src/runs/evidence/replay.ts';
import { chainStart, linkAll } from '../../src/runs/port/chain.ts';
import { digestOf } from '../../src/runs/requests/card.ts';
import { BOSS, CLERK, edited, HOUR, openTeller } from '../authority/teller.ts';
import { openPayer } from '../grants/kit.ts';

const TWO = { quorum: [{ of: { people: ['bob', 'cleo', 'boss'] }, count: 2 }] };

/** The places of the problems after the change. All that follows from the events is computed anew from them. */
async function problemsAfter(evidence: object, change: (draft: any) => void): Promise<readonly string[]> {
  const draft = structuredClone(evidence) as any;
  change(draft);
  draft.run.version = draft.events.length;
  draft.run.hash = linkAll(chainStart(draft.run), draft.events);
  const told = replay(draft.run, draft.events);
  draft.started = told.started;
  draft.requests = told.requests.map((question) => {
    const known = draft.requests.find(({ id }: any) => id === question.id) ?? {};
    const card = { part: question.part };
    const shown = known.shown && { ...known.shown, card, digest: digestOf(question.id, card as never) };
    return { ...known, ...question, shown };
  });
  const { hash: _hash, ...content } = draft;
  const { problems } = await verifyEvidence(evidenceText({ ...content, hash: contentHash(content) }));
  return problems.map(({ where, problem }) => `${where}: ${problem}`);
}

const find = (draft: any, type: string) => draft.events.find((event: any) => event.type === type);

/** A run that two people approved. */
async function voted() {
  const { runs, ask } = openTeller({
    title: ({ amount }: any) => `Pay ${amount}`,
    preview: ({ amount }: any) => ({ total: amount }),
    needsApproval: () => ({ message: 'Really?', risk: 'high', policy: TWO }),
  });
  const request = await ask('ann');
  await runs.decide(request.id, 'approve', { by: 'bob' });
  await runs.decide(request.id, 'approve', { by: 'cleo' });
  await runs.settled();
  return runs.evidence(request.runId);
}

test('the document of an honest run verifies when it is computed anew', async () => {
  expect(await problemsAfter(await voted(), () => undefined)).toEqual([]);
});

describe('a card that nobody saw', () => {
  test.each<[string, (request: any) => void]>([
    ['its title', (request) => (request.shown.title = 'Pay 1')],
    ['its risk', (request) => (request.shown.risk = 'low')],
    ['its message', (request) => (request.shown.payload = { message: 'Nothing happens.' })],
    ['its preview', (request) => (request.previews.preview.value = { total: 1 })],
    ['its policy', (request) => (request.authority.policies = [{}])],
    ['a weaker quorum', (request) => (request.authority.policies[0].quorum[0].count = 1)],
    ['who asked', (request) => (request.authority.requesters = ['eve'])],
    ['its deadline', (request) => (request.wait = { expiresAt: 9 })],
  ])('%s', async (_, change) => {
    const problems = await problemsAfter(await voted(), (draft) => change(find(draft, 'call-interrupted').request));
    expect(problems.join()).toContain('was made on another card');
  });

  test('the input of the call', async () => {
    const problems = await problemsAfter(await voted(), (draft) => {
      const replied = find(draft, 'model-replied');
      for (const call of replied.calls) if (call.input) call.input = { amount: 9 };
      for (const part of replied.content) if (part.toolRequest) part.toolRequest.input = { amount: 9 };
    });
    expect(problems.length).toBeGreaterThan(0);
  });
});

describe('votes that do not let the call run', () => {
  test.each<[string, (draft: any) => void, string]>([
    [
      'one vote less',
      (draft) => draft.events.splice(draft.events.indexOf(find(draft, 'vote-cast')), 1),
      'votes are missing',
    ],
    ['a vote of somebody else', (draft) => (find(draft, 'vote-cast').vote.by = 'eve'), 'does not count'],
    ['a vote of the same person', (draft) => (find(draft, 'vote-cast').vote.by = 'cleo'), 'votes are missing'],
    [
      'a vote against',
      (draft) => (find(draft, 'vote-cast').vote.decision = { type: 'reject' }),
      'otherwise than its votes',
    ],
    [
      'a decision of somebody else',
      (draft) => (find(draft, 'decision-made').decision.by = 'bob'),
      'otherwise than its votes',
    ],
    [
      'another input',
      (draft) => (find(draft, 'decision-made').decision.input = { amount: 7 }),
      'otherwise than its votes',
    ],
    ['a delegate without a name', (draft) => (find(draft, 'vote-cast').vote.onBehalfOf = 'cleo'), 'votes are missing'],
  ])('%s', async (_, change, problem) => {
    expect((await problemsAfter(await voted(), change)).join()).toContain(problem);
  });
});

test('a deadline that its policies do not admit', async () => {
  const { runs, ask, later, ai } = openTeller({ needsApproval: true, expiresIn: HOUR, onExpiry: 'approve' } as never);
  const { runId } = await ask('ann');
  later(2 * HOUR);
  const worker = ai.runs.work({ pollMs: 10 });
  await expect.poll(async () => (await runs.get(runId)).status, { timeout: 10_000 }).toBe('done');
  await worker.stop();
  const evidence = await runs.evidence(runId);
  expect(evidence.started).toMatchObject([{ by: 'deadline' }]);
  expect(await problemsAfter(evidence, () => undefined)).toEqual([]);
  for (const policies of [[TWO], [BOSS], [{ onExpiry: 'approve' }, BOSS]]) {
    const problems = await problemsAfter(
      evidence,
      (draft) => (find(draft, 'call-interrupted').request.authority.policies = policies),
    );
    expect(problems.join()).toContain('its request says reject');
  }
});

test('a grant whose votes could not approve the call', async () => {
  const { ai, give, start } = openPayer(memoryStore());
  await give();
  const { id } = await start([{ to: 'ACME', amount: 500 }]);
  const evidence = await ai.runs.evidence(id);
  expect(evidence.started).toMatchObject([{ by: 'grant' }]);
  expect(await problemsAfter(evidence, () => undefined)).toEqual([]);
  for (const policies of [[BOSS], [TWO], [{ signed: 'passkey' }], [{ grants: false }]]) {
    const problems = await problemsAfter(evidence, (draft) => (find(draft, 'call-granted').policies = policies));
    expect(problems.join()).toContain('does not cover this call');
  }
  const own = await problemsAfter(evidence, (draft) => {
    Object.assign(find(draft, 'call-granted'), { policies: [{ notRequester: true }], requesters: ['ben'] });
  });
  expect(own.join()).toContain('does not cover this call');
  const other = await problemsAfter(
    evidence,
    (draft) => (find(draft, 'call-granted').runsWith = { to: 'Eve', amount: 5 }),
  );
  expect(other.join()).toContain('does not cover this call');
});

test('an approval that becomes an unasked start', async () => {
  const evidence = await voted();
  const problems = await problemsAfter(evidence, (draft) => {
    draft.events = draft.events.filter(({ type }: any) => type !== 'decision-made');
  });
  expect(problems.join()).toContain('starts without a decision');
});

test('an edit whose policies were those of the earlier input', async () => {
  const needsApproval = ({ amount }: any) => ({ policy: amount > 1_000 ? BOSS : CLERK });
  const { runs, ask, pending } = openTeller({ needsApproval });
  const { id, runId } = await ask('ann');
  await runs.decide(id, edited(5_000), { by: 'clerk' });
  await runs.decide((await pending()).id, 'approve', { by: 'boss' });
  await runs.settled();
  const evidence = await runs.evidence(runId);
  expect(await problemsAfter(evidence, () => undefined)).toEqual([]);
  const problems = await problemsAfter(evidence, (draft) => {
    find(draft, 'vote-cast').edit.asked.policies = [CLERK];
  });
  expect(problems.join()).toMatch(/was made on another card|does not count/);
});

describe('a call that can be recalled', () => {
  /** It waits, and then starts or is recalled. */
  async function held(recalls: boolean) {
    const { runs, ask, pending, later } = openTeller({ needsApproval: { policy: BOSS }, recallFor: HOUR });
    const { id, runId } = await ask('ann');
    await runs.decide(id, 'approve', { by: 'boss' });
    await runs.settled();
    const wait = await pending();
    if (recalls) await runs.recall(wait.id, { by: 'ann' });
    later(HOUR);
    await runs.drive(runId);
    await runs.settled();
    return runs.evidence(runId);
  }
  const isOfWait = ({ requestId = '' }: any) => requestId.endsWith('/recall');

  test.each([false, true])('honest, recalled: %s', async (recalls) => {
    const evidence = await held(recalls);
    expect(evidence.started).toHaveLength(recalls ? 0 : 1);
    expect(await problemsAfter(evidence, () => undefined)).toEqual([]);
  });

  test('that starts before its time', async () => {
    const evidence = await held(false);
    const problems = await problemsAfter(evidence, (draft) => {
      for (const event of draft.events.slice(draft.events.findIndex(isOfWait))) event.at -= HOUR;
    });
    expect(problems.join()).toContain('decides before its time');
  });

  test('that starts without its wait', async () => {
    const problems = await problemsAfter(await held(false), (draft) => {
      draft.events = draft.events.filter((event: any) => !isOfWait(event) && event.request?.kind !== 'recall');
    });
    expect(problems.join()).toContain('starts before its time to recall it has passed');
  });

  test('that a person started while it waited', async () => {
    const problems = await problemsAfter(await held(false), (draft) => {
      Object.assign(draft.events.find(isOfWait).decision, { by: 'boss', channel: 'inbox' });
    });
    expect(problems.length).toBeGreaterThan(0);
  });

  test('that somebody else recalled', async () => {
    const problems = await problemsAfter(await held(true), (draft) => {
      for (const event of draft.events.filter(isOfWait)) (event.vote ?? event.decision).by = 'eve';
    });
    expect(problems.join()).toContain('does not count');
  });
});
