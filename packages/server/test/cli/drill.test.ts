// A drill on the command line: a request like any other until it is decided.
import { sqliteStore } from 'countersign/sqlite';
import { expect, test } from 'vitest';
import agents from './fixtures/agents.ts';
import { workplaceForEach } from './workplace.ts';

const place = workplaceForEach();
const TOLD = 'It was a drill, a request to reject: nothing was run.';

test('decide and show say that it was a drill, and say nothing of it before', { timeout: 120_000 }, async () => {
  const store = sqliteStore(place.path('.countersign/runs.sqlite'));
  const { runs } = agents({ store });
  const input = { toAccount: 'DE-1', amount: 900 };
  const { id } = await runs.drill({ agent: 'assistant', tool: 'transferMoney', input, prompt: 'Pay it.', by: 'ann' });
  const [request = ''] = (await runs.wait(id)).pending;
  await store.close();
  const before = await place.countersign(['show', id]);
  expect(before).toMatchObject({ code: 0, stdout: expect.stringContaining(`countersign decide ${request}`) });
  expect(before.stdout + JSON.stringify(await place.json('show', id))).not.toContain('drill');

  const decided = await place.countersign(['decide', request, '--reject', '--by', 'ann']);
  expect(decided).toMatchObject({ code: 0, stdout: expect.stringContaining(`: rejected. ${TOLD}`) });
  expect((await place.countersign(['show', id])).stdout).toMatch(new RegExp(`^${TOLD}$`, 'm'));
  expect(await place.json('show', id)).toMatchObject({ id, drill: true });
});
