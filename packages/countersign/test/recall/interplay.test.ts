// A call that waits to start, beside freezes and approvals that end.
import { memoryStore, type RunRequest } from 'countersign';
import { expect, test } from 'vitest';
import { openPayer } from '../grants/kit.ts';

const MINUTE = 60_000;
const ACME = { to: 'ACME', amount: 100 };
const ADMIN = { by: 'root', roles: ['admin'] };

/** A call that is approved, and can be recalled for ten minutes. */
async function approved(config: object = {}) {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const bank = openPayer(memoryStore({ now: clock }), { recallFor: '10m', ...config }, { clock });
  const { id } = await bank.start([ACME]);
  const [asked] = await bank.questions(id);
  await bank.ai.runs.decide(asked as RunRequest, 'approve', { by: 'ben' });
  await bank.ai.runs.settled();
  const drive = async (ms: number) => {
    time += ms;
    await bank.ai.runs.drive(id).catch(() => undefined);
    await bank.ai.runs.settled();
  };
  return { ...bank, id, asked: asked as RunRequest, drive };
}

test('a freeze keeps it from starting when its time has come', async () => {
  const { ai, id, paid, drive } = await approved();
  const freeze = await ai.freezes.freeze({ tools: ['pay'], reason: 'Hacked.' }, ADMIN);
  await drive(10 * MINUTE);
  expect(paid).toEqual([]);
  await ai.freezes.lift(freeze.id, ADMIN);
  await drive(MINUTE);
  expect(paid).toEqual([ACME]);
  expect(await ai.runs.verify(id)).toMatchObject({ ok: true });
});

test('it can be recalled while it is frozen', async () => {
  const { ai, id, asked, paid, drive } = await approved();
  const freeze = await ai.freezes.freeze({ tools: ['pay'], reason: 'Hacked.' }, ADMIN);
  expect(await ai.runs.recall(asked.id, { by: 'ann' })).toMatchObject({ status: 'settled', by: 'ann' });
  await ai.freezes.lift(freeze.id, ADMIN);
  await drive(10 * MINUTE);
  expect(paid).toEqual([]);
  expect(await ai.runs.verify(id)).toMatchObject({ ok: true });
});

test('once its time has ended during a freeze, only the end of its run keeps it from starting', async () => {
  const { ai, id, asked, paid, drive } = await approved();
  const freeze = await ai.freezes.freeze({ tools: ['pay'], reason: 'Hacked.' }, ADMIN);
  await drive(10 * MINUTE);
  await expect(ai.runs.recall(asked.id, { by: 'ann' })).rejects.toMatchObject({ code: 'already-decided' });
  await ai.runs.cancel(id, { by: 'ann' });
  await ai.freezes.lift(freeze.id, ADMIN);
  await drive(MINUTE);
  expect(paid).toEqual([]);
  expect((await ai.runs.request(asked.id)).outcome).toMatchObject({ state: 'not-run' });
  expect(await ai.runs.verify(id)).toMatchObject({ ok: true });
});

test('an approval that ends while the call waits is asked for again', async () => {
  const { id, paid, questions, drive } = await approved({ needsApproval: { policy: { validFor: '5m' } } });
  await drive(10 * MINUTE);
  expect(paid).toEqual([]);
  expect(await questions(id)).toMatchObject([{ kind: 'approval' }]);
});
