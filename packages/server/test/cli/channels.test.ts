// `channels`: a sample through a channel of countersign.config.ts, its check by the doctor, and failed notices that are tried again.
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PAY, workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();

/** A channel that fails as long as the file `down` exists. */
const CONFIG = `import { existsSync } from 'node:fs';
import { defineConfig } from '@countersign/server';
const fails = () => { if (existsSync(new URL('down', import.meta.url))) throw Object.assign(new Error('the roof is closed'), { retryable: false }); };
export default defineConfig({
  channels: [{
    name: 'pigeon',
    check: async () => fails(),
    deliver: async () => fails(),
    sample: async (to) => 'A pigeon flew to ' + to + '.',
  }],
});`;

test('a channel is tested and checked, and what it could not deliver is tried again', TIMEOUT, async () => {
  writeFileSync(place.path('countersign.config.ts'), CONFIG);
  const test = ['channels', 'test', 'pigeon', '--to', 'ann'];
  expect(await place.countersign(test)).toMatchObject({ code: 0, stdout: 'A pigeon flew to ann.\n' });
  expect(await place.countersign(['channels', 'test', 'owl', '--to', 'ann'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Channels: pigeon'),
  });
  writeFileSync(place.path('down'), '');
  expect(await place.countersign(test)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the roof is closed'),
  });
  expect(await place.countersign(['doctor'])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/fail +channel pigeon +the roof is closed/),
  });

  await place.serving();
  await place.start(PAY);
  const failed = async () => (await place.json('channels', 'failed')).items;
  await expect.poll(failed, { timeout: 30_000 }).toMatchObject([{ channel: 'pigeon', error: 'the roof is closed' }]);
  expect((await place.countersign(['channels', 'list'])).stdout).toMatch(/^pigeon\t\d+\t1\t/);
  expect(await place.countersign(['channels', 'retry'])).toMatchObject({ code: 2 });
  expect(await place.countersign(['channels', 'retry', '--all'])).toMatchObject({
    stdout: '1 notice is tried again.\n',
  });
});
