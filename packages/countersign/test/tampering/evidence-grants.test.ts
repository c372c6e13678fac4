// The evidence of a call that ran under a grant has the record of the grant, and shows that it covered the call.
import { type Evidence, evidenceText, memoryStore, verifyEvidence } from 'countersign';
import { expect, test } from 'vitest';
import { contentHash } from '../../src/runs/evidence/evidence.ts';
import { openPayer } from '../grants/kit.ts';

test('the grant of a call verifies, and a changed, missing or spent one does not', async () => {
  const { ai, give, start } = openPayer(memoryStore());
  const grant = await give();
  const { id } = await start([{ to: 'ACME', amount: 500 }]);
  await ai.grants.revoke(grant.id, { by: 'ann' });
  const { hash: _hash, ...evidence } = await ai.runs.evidence(id);
  const problemsOf = async (grants: Evidence['grants']) => {
    const content = { ...evidence, grants };
    const { problems } = await verifyEvidence(evidenceText({ ...content, hash: contentHash(content) }));
    return problems.map(({ where, problem }) => `${where}: ${problem}`).join('\n');
  };
  const [record] = evidence.grants;
  if (!record) throw new Error('The evidence has no grant.');
  expect(await problemsOf([record])).toBe('');
  expect(await problemsOf([])).toContain('is not in the document');
  expect(await problemsOf([record, { ...record, id: 'other' }])).toContain('No call of the run names it');
  const [made, ...rest] = structuredClone(record.events) as any[];
  const narrow = { ...made, grant: { ...made.grant, budget: { field: 'amount', total: 499 } } };
  const changed = await problemsOf([{ ...record, events: [narrow, ...rest] }]);
  expect(changed).toContain('does not verify');
  expect(changed).toContain('does not cover this call');
  expect(await problemsOf([{ ...record, events: [made] }])).toContain('has no use of this call');
  const ofEve = { ...made, grant: { ...made.grant, givenBy: 'eve' } };
  expect(await problemsOf([{ ...record, events: [ofEve, ...rest] }])).toContain('was given by eve, not by ben');
});

test('a use that was given back is no problem, because the events of the run say that the call did nothing', async () => {
  const { ai, give, start } = openPayer(memoryStore());
  const grant = await give();
  const { id } = await start([{ to: 'ACME', amount: 500, fails: true }]);
  expect((await ai.grants.get(grant.id)).calls).toEqual([]);
  const evidence = await ai.runs.evidence(id);
  expect(evidence.grants).toMatchObject([{ id: grant.id, events: [{ type: 'made' }] }]);
  expect(await verifyEvidence(evidenceText(evidence))).toMatchObject({ ok: true });
});
