// Many pending notices drain at a steady pace, each once, without growing memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { Ledger, openStore } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { eventually } from '../eventually.ts';
import { openDesk } from './desk.ts';
import type { Drained, DrainingOptions } from './draining-child.ts';
import type { Receipt } from './receiver-child.ts';

/** A request is told to the shared channel and to two people. */
const NOTICES = campaignSize(1_200, 100_200);
const OF_A_RUN = 100;

const folder = mkdtempSync(join(tmpdir(), 'countersign-many-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(`${NOTICES} pending notices`, { timeout: 3_600_000 }, async () => {
  const place = { sqlite: join(folder, 'runs.db') };
  const receipts = join(folder, 'receipts');
  const receiver = startChild('../notices/receiver-child.ts', { receipts, moody: false });
  const url = `http://127.0.0.1:${await receiver.line()}`;
  await ask(place, url, NOTICES / 3);
  const drain: DrainingOptions = { place, url, notices: NOTICES };
  const child = startChild('../notices/draining-child.ts', drain);
  const line = await child.line();
  if (line === undefined) throw new Error((await child.ended).errors);
  const drained: Drained = JSON.parse(line);
  console.log(`${NOTICES} notices: ${JSON.stringify(drained)}`);
  receiver.kill('SIGKILL');
  await receiver.ended;
  const received = new Ledger<Receipt>(receipts).read();
  expect({ posts: received.length, keys: new Set(received.map(({ key }) => key)).size }).toEqual({
    posts: NOTICES,
    keys: NOTICES,
  });
  // The process itself grows for the first few thousand, until the garbage collector has its room.
  const [early, , end] = drained.memory;
  expect(end?.heap).toBeLessThan((early?.heap ?? 0) + 10);
  expect(end?.rss).toBeLessThan(400);
});

/** Asks this many questions while no process tells anyone. The channels are registered before. */
async function ask(place: { readonly sqlite: string }, url: string, questions: number): Promise<void> {
  const store = openStore(place);
  const { ai, runs, clerk } = openDesk({ store, url, payments: OF_A_RUN });
  const worker = runs.work({ pollMs: 20 });
  await eventually(async () => expect(await ai.notices.channels()).toHaveLength(2));
  await worker.stop();
  for (let asked = 0; asked < questions; asked += OF_A_RUN) {
    const { id } = await clerk.start('Pay.');
    await runs.wait(id);
  }
  await store.close();
}
