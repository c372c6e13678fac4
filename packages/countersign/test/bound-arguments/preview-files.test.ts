// Files of a preview: checked, recorded with their bytes and hash, and compared before the call runs.
import { createHash } from 'node:crypto';
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const bytes = new TextEncoder().encode('%PDF-1.7');
const data = Buffer.from(bytes).toString('base64');
const file = { name: 'invoice.pdf', mediaType: 'application/pdf', data };

async function asked(preview: () => unknown) {
  const paid: unknown[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema: z.object({}), needsApproval: true, preview },
    async () => void paid.push('paid'),
  );
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).generate({ runId: 'run', prompt: 'Pay.' });
  const request = async () => (await ai.runs.requests()).items[0];
  const approve = async () => {
    await ai.runs.decide((await request())?.id ?? '', 'approve', { by: 'ann' });
    await ai.runs.wait('run');
  };
  const parts = async () => (await ai.runs.notes.list('preview-files', { limit: 100 })).items;
  return { ai, paid, request, approve, parts };
}

test.each([
  ['base64', data],
  ['bytes', bytes],
])('a file given as %s is on the request, with its hash', async (_, given) => {
  const { request, paid, approve } = await asked(() => ({ total: 950, files: [{ ...file, data: given }] }));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect((await request())?.preview).toEqual({ value: { total: 950 }, files: [{ ...file, size: 8, sha256 }] });
  await approve();
  expect(paid).toEqual(['paid']);
});

test('another file under the same name is asked about again', async () => {
  let content = data;
  const { request, paid, approve } = await asked(() => ({ files: [{ ...file, data: content }] }));
  const before = await request();
  content = btoa('%PDF-1.8');
  await approve();
  expect(paid).toEqual([]);
  expect(await request()).toMatchObject({ earlierPreview: before?.preview });
  expect((await request())?.digest).not.toBe(before?.digest);
});

test('a list that is called files and has no bytes is a part of the value', async () => {
  const { request } = await asked(() => ({ files: ['a.txt', 'b.txt'] }));
  expect((await request())?.preview).toEqual({ value: { files: ['a.txt', 'b.txt'] } });
});

test('the store keeps a large file beside the run, once, and deletes it with the run', async () => {
  const large = new Uint8Array(1_200_000).map((_, index) => index % 251);
  const sha256 = createHash('sha256').update(large).digest('hex');
  const { ai, request, paid, approve, parts } = await asked(() => ({ files: [{ ...file, data: large }] }));
  const { id = '', preview } = (await request()) ?? {};
  expect(preview).toEqual({
    value: {},
    files: [{ name: file.name, mediaType: file.mediaType, size: 1_200_000, sha256 }],
  });
  expect(JSON.stringify(await ai.runs.recorded('run')).length).toBeLessThan(10_000);
  const before = await parts();
  expect(before).toHaveLength(3);
  expect(Buffer.compare((await ai.runs.file(id, sha256)) ?? large.subarray(1), large)).toBe(0);
  expect(await ai.runs.file(id, '0'.repeat(64))).toBeUndefined();
  await approve();
  expect(paid).toEqual(['paid']);
  // The preview was computed again, and its file was there.
  expect(await parts()).toEqual(before);
  await ai.runs.delete('run');
  expect(await parts()).toEqual([]);
});

test('a large file whose bytes were changed in the store is not shown', async () => {
  const large = new Uint8Array(400_000);
  const sha256 = createHash('sha256').update(large).digest('hex');
  const { ai, request } = await asked(() => ({ files: [{ ...file, data: large }] }));
  await ai.runs.notes.put('preview-files', `run/${sha256}/0`, btoa('other'));
  expect(await ai.runs.file((await request())?.id ?? '', sha256)).toBeUndefined();
});

test('another large file under the same name is asked about again', async () => {
  let large = new Uint8Array(400_000);
  const { ai, request, paid, approve } = await asked(() => ({ files: [{ ...file, data: large }] }));
  large = new Uint8Array(400_001);
  await approve();
  expect(paid).toEqual([]);
  const { id = '', preview } = (await request()) ?? {};
  const [changed] = (preview && 'files' in preview && preview.files) || [];
  expect((await ai.runs.file(id, changed?.sha256 ?? ''))?.length).toBe(400_001);
});

describe('a file that cannot be shown safely makes the preview fail', () => {
  test.each<[string, object, string]>([
    ['HTML', { mediaType: 'text/html' }, 'has a mediaType that is not shown'],
    ['SVG', { mediaType: 'image/svg+xml' }, 'has a mediaType that is not shown'],
    ['a type with parameters', { mediaType: 'image/png; charset=x' }, 'has a mediaType that is not shown'],
    ['a path as its name', { name: '../invoice.pdf' }, 'without a path'],
    ['no name', { name: '' }, 'the name of a file must be'],
    ['a line break in its name', { name: 'a\r\nb.pdf' }, 'the name of a file must be'],
    ['data that is not base64', { data: '%' }, 'is not base64'],
    ['data that is no text', { data: 5 }, 'must be base64 or bytes'],
    ['too many bytes', { data: new Uint8Array(20_000_001) }, 'has more than 20000000 bytes'],
  ])('%s', async (_, change, why) => {
    const { request } = await asked(() => ({ files: [{ ...file, ...change }] }));
    expect((await request())?.preview).toEqual({ failed: expect.stringContaining(why) });
  });

  test('many files with too many bytes together', async () => {
    const half = new Uint8Array(11_000_000);
    const { request } = await asked(() => ({
      files: [
        { ...file, data: half },
        { ...file, data: half },
      ],
    }));
    expect((await request())?.preview).toEqual({ failed: 'its files have more than 20000000 bytes together' });
  });
});
