// Comments on a pending request: they are recorded, count for nothing, and the model does not see them.
import { evidenceText, verifyEvidence } from 'countersign';
import { describe, expect, test } from 'vitest';
import { openBank, PLACES, TWO } from './bank.ts';

describe.each(PLACES)('a comment (%s)', (place) => {
  test('is part of the request and of the record, and changes neither its card nor its votes', async () => {
    const { runs, ask, paid, types } = openBank({ place, needsApproval: { policy: TWO } });
    const { id } = await ask();
    const before = await runs.request(id);
    await runs.decide(id, 'approve', { by: 'anna' });
    await runs.comment(id, { by: 'ben', text: '@anna is this their new account?' });
    const after = await runs.comment(id, { by: 'anna', text: 'Yes.' });
    expect(after.progress?.comments).toMatchObject([
      { number: 1, by: 'ben', text: '@anna is this their new account?', mentions: ['anna'] },
      { number: 2, by: 'anna', text: 'Yes.', mentions: [] },
    ]);
    expect(after.digest).toBe(before.digest);
    expect(after.progress?.votes).toMatchObject([{ by: 'anna' }]);
    expect((await types()).filter((type) => type === 'request-commented')).toHaveLength(2);
    expect(await runs.decide(id, 'approve', { by: 'ben', digest: before.digest })).toMatchObject({ status: 'settled' });
    await runs.wait('run');
    expect(paid).toHaveLength(1);
    expect((await runs.request(id)).progress?.comments).toHaveLength(2);
    expect(await runs.verify('run')).toMatchObject({ ok: true });
    expect(await verifyEvidence(evidenceText(await runs.evidence('run')))).toMatchObject({ ok: true });
    expect(JSON.stringify((await runs.get('run')).messages)).not.toContain('new account');
  });
});

test('a request that anyone may decide takes comments too, and one decision still settles it', async () => {
  const { runs, ask, paid } = openBank({ needsApproval: () => ({ message: 'Sure?' }) });
  const { id } = await ask();
  expect(await runs.comment(id, { by: 'ben', text: 'Is that right?' })).toMatchObject({
    progress: { missing: [], votes: [], comments: [{ by: 'ben' }] },
  });
  expect(await runs.decide(id, 'approve', { by: 'anna' })).toMatchObject({ status: 'settled' });
  await runs.wait('run');
  expect(paid).toHaveLength(1);
});

test('many comments and a decision at once: all that came in time are recorded, and the decision counts', async () => {
  const { runs, ask } = openBank({ needsApproval: () => ({ message: 'Sure?' }) });
  const { id } = await ask();
  const texts = Array.from({ length: 8 }, (_, index) => `No. ${index}`);
  const commenting = texts.map((text) => runs.comment(id, { by: 'ben', text }));
  const [decided, ...said] = await Promise.allSettled([runs.decide(id, 'approve', { by: 'anna' }), ...commenting]);
  await runs.wait('run');
  expect(decided).toMatchObject({ status: 'fulfilled' });
  for (const one of said) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'already-decided' });
  const recorded = (await runs.recorded('run')).filter(({ type }) => type === 'request-commented');
  expect(recorded).toHaveLength(said.filter(({ status }) => status === 'fulfilled').length);
  expect(await runs.verify('run')).toMatchObject({ ok: true });
});

test('what is not a comment, or not on a pending request, is refused', async () => {
  const { runs, ask } = openBank({ needsApproval: () => ({ message: 'Sure?' }) });
  const { id } = await ask();
  const invalid = { code: 'invalid-options' };
  for (const text of ['', '  ', 'x'.repeat(2_001), 1])
    await expect(runs.comment(id, { by: 'ben', text: text as string })).rejects.toMatchObject(invalid);
  await expect(runs.comment(id, { text: 'Hm.' } as never)).rejects.toMatchObject(invalid);
  await expect(runs.comment('run:none', { by: 'ben', text: 'Hm.' })).rejects.toMatchObject({ code: 'unknown-request' });
  await runs.decide(id, 'reject', { by: 'anna' });
  await expect(runs.comment(id, { by: 'ben', text: 'Late.' })).rejects.toMatchObject({ code: 'already-decided' });
});

test('a message does not withdraw a request that another person commented on', async () => {
  const { runs, bank, ask } = openBank({ needsApproval: () => ({ message: 'Sure?' }) });
  const { id } = await ask();
  await runs.comment(id, { by: 'ben', text: 'I look at it.' });
  await bank.generate({ runId: 'run', prompt: 'Any news?', by: 'anna' });
  expect((await runs.get('run')).pending).toEqual([id]);
});
