// node smoke.mjs <adapter>... : does the adapter do the work of every case correctly?
import './lib/node.mjs';
import assert from 'node:assert/strict';
import { loadAdapter } from './lib/adapters.mjs';
import { DONE } from './lib/plan.mjs';

let failed = false;
for (const id of process.argv.slice(2)) {
  const a = await loadAdapter(id);
  const t = async (name, f) => {
    const t0 = performance.now();
    try {
      const r = await f();
      console.log(id, name, 'ok', `${(performance.now() - t0).toFixed(1)}ms`, r ?? '');
    } catch (e) {
      failed = true;
      console.log(id, name, 'FAIL', e?.stack?.split('\n').slice(0, 6).join('\n') ?? e);
    }
  };
  await t('A', async () => {
    const d = await a.create({ plan: 'approve' });
    for (let i = 0; i < 3; i++) {
      const h = await d.pause();
      assert.equal(h.pending, 1);
      assert.equal(d.counts.transfer, i);
      assert.equal(await d.resume(h), DONE);
      assert.equal(d.counts.transfer, i + 1);
    }
    await d.close?.();
    return JSON.stringify(d.counts);
  });
  await t('B', async () => {
    const d = await a.create({ plan: 'loop', n: 100 });
    assert.equal(await d.run(), DONE);
    assert.equal(d.counts.lookup, 100);
    assert.equal(d.counts.model, 101);
    await d.close?.();
  });
  await t('C', async () => {
    const d = await a.create({ plan: 'approve' });
    const hist = d.history(1000);
    for (let i = 0; i < 2; i++) assert.equal(await d.resume(await d.pause(hist)), DONE);
    if (d.save) {
      const s = d.save(await d.pause(hist));
      assert.equal(await d.resume(await d.load(s)), DONE);
      await d.close?.();
      return `saved ${s.length} bytes`;
    }
    await d.close?.();
  });
  await t('D', async () => {
    const d = await a.create({ plan: 'parallel', n: 32 });
    const h = await d.pause();
    const mid = { ...d.counts };
    assert.equal(await d.resume(h), DONE);
    await d.close?.();
    return `pending ${h.pending}, at pause ${JSON.stringify(mid)}, at end ${JSON.stringify(d.counts)}`;
  });
  await t('E', async () => {
    const d = await a.create({ plan: 'stream', n: 1000 });
    let k = 0,
      len = 0;
    await d.stream((x) => {
      k++;
      len += x.length;
    });
    let bytes = 0,
      chunks = 0;
    if (d.streamBytes)
      await d.streamBytes((b) => {
        chunks++;
        bytes += b.length;
      });
    await d.close?.();
    return `${k} deltas, ${len} chars; ${chunks} chunks ${bytes} bytes`;
  });
}
process.exit(failed ? 1 : 0);
