// `countersign comment`: says something about a pending request, which `show` prints. It decides nothing.
import { expect, test } from 'vitest';
import { workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

test('a comment is recorded and shown, and the request stays pending', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start('call transferMoney {"toAccount":"DE02","amount":950,"memo":"Rent"}');
  const [{ id }] = (await place.json('inbox')).items;
  const said = await place.countersign(['comment', id, '@bea is this\u202e right?', '--by', 'cem']);
  expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining('Recorded: your comment on') });
  const [card] = (await place.json('inbox')).items;
  expect(card).toMatchObject({ id, status: 'pending', progress: { comments: [{ by: 'cem' }] } });
  const { stdout } = await place.countersign(['show', run]);
  expect(stdout).toContain('comments on transferMoney');
  expect(stdout).not.toContain('\u202e');
  expect(await place.countersign(['comment', id, ' ', '--by', 'cem'])).toMatchObject({ code: 2 });
  expect(await place.countersign(['comment', 'run_none:call', 'Hm.'])).toMatchObject({ code: 3 });
});
