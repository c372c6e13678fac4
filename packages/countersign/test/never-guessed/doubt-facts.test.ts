// A request about an unknown outcome says what a person needs to find out: when it started, by whose approval, where to look.
import { OutcomeUnknown } from 'countersign';
import { requestCard } from 'countersign/ui';
import { beforeEach, expect, test, vi } from 'vitest';
import { type BankOptions, openBank, TWO } from '../policies/bank.ts';

let warnings: string[] = [];
beforeEach(() => {
  warnings = [];
  vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)));
  return () => vi.restoreAllMocks();
});

/** Two people approve a payment, and the bank does not answer. */
async function inDoubt(options: Omit<BankOptions, 'onPay'> = {}) {
  const bank = openBank({
    ...options,
    onPay: () => {
      throw new OutcomeUnknown('The bank did not answer.');
    },
  });
  const { runs, ask } = bank;
  const asked = await ask();
  for (const by of ['anna', 'ben']) await runs.decide(asked.id, 'approve', { by });
  const { pending } = await runs.wait('run');
  return { ...bank, doubt: await runs.request(pending[0] ?? '') };
}

test('the request has the start, everyone who approved, and the key that the body got', async () => {
  const { doubt, runs } = await inDoubt();
  const [started] = (await runs.recorded('run')).filter(({ type }) => type === 'call-started');
  expect(doubt).toMatchObject({
    kind: 'doubt',
    doubt: { startedAt: started?.at, approvedBy: ['anna', 'ben'], idempotencyKey: expect.stringMatching(/./) },
  });
  expect(doubt.doubt).not.toHaveProperty('howToCheck');
});

test('the facts are in the record: the digest covers them, and messages keep them', async () => {
  const { doubt } = await inDoubt();
  expect(doubt.part.metadata?.doubt).toEqual(doubt.doubt);
  const { digest, id, runId } = doubt;
  expect({ digest, id, runId }).toEqual({ digest: expect.any(String), id: expect.stringContaining(runId), runId });
});

test('a person who let it run again is named beside those who approved it', async () => {
  const { runs, doubt } = await inDoubt({ needsApproval: { policy: TWO } });
  for (const by of ['cara', 'anna']) await runs.decide(doubt.id, 'approve', { by });
  const { pending } = await runs.wait('run');
  expect((await runs.request(pending[0] ?? '')).doubt?.approvedBy).toEqual(['anna', 'ben', 'cara']);
});

test.each<readonly [string, unknown, string | undefined, string?]>([
  ['a text', 'Search the bank.', 'Search the bank.'],
  [
    'a function',
    ({ amount }: { amount: number }, { idempotencyKey }: { idempotencyKey: string }) =>
      `https://bank.example/${amount}?key=${idempotencyKey}`,
    'https://bank.example/10?key=',
  ],
  ['a function that says nothing', () => undefined, undefined],
  [
    'a function that throws',
    () => {
      throw new Error('no bank');
    },
    undefined,
    'its function threw: no bank',
  ],
  ['a function that returns no text', () => 5, undefined, 'it must return a text'],
])('where to look: %s', async (_what, howToCheck, shown, warning) => {
  const { doubt } = await inDoubt({ howToCheck: howToCheck as never });
  if (shown === undefined) expect(doubt.doubt).not.toHaveProperty('howToCheck');
  else expect(doubt.doubt?.howToCheck).toContain(String(shown));
  expect(warnings).toEqual(warning === undefined ? [] : [expect.stringContaining(String(warning))]);
});

test('without an output schema, a sentence says what happened', async () => {
  const { ai, runs, doubt } = await inDoubt();
  expect(requestCard(doubt, ai.agents.get('bank'), true).answerSchema).toMatchObject({ type: 'string' });
  for (const by of ['anna', 'ben'])
    await runs.decide(doubt.id, { type: 'respond', output: 'The bank shows it.' }, { by });
  expect(JSON.stringify((await runs.wait('run')).messages)).toContain('The bank shows it.');
});
