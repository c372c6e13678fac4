import assert from 'node:assert/strict';
import { tick } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

async function heap() {
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
    await tick();
  }
  const m = process.memoryUsage();
  return m.heapUsed + m.external; // external covers Buffers / Uint8Arrays
}
export default {
  id: 'H',
  title: 'Memory of paused runs held in process, and what stays behind after they finish',
  rounds: 2,
  variants: [{ key: '1000 paused runs', count: 1000 }],
  async open(adapter) {
    return { d: await adapter.create({ plan: 'approve' }), adapter };
  },
  async round({ d }, { count }, env) {
    if (env.warm) count = 50;
    for (let i = 0; i < 20; i++) {
      const h = await d.pause();
      await d.resume(h);
      await d.dispose?.(h);
    }
    const h0 = await heap();
    const held = new Array(count);
    for (let i = 0; i < count; i++) held[i] = await d.pause();
    const h1 = await heap();
    const saved = d.save ? Buffer.byteLength(d.save(held[0])) : d.savedBytes?.(held[0]);
    for (let i = 0; i < count; i++) assert.equal(await d.resume(held[i]), DONE);
    const handles = held.slice();
    held.length = 0;
    const ids = d.dispose ? handles.map((h) => ({ id: h.id })) : [];
    handles.length = 0;
    const h2 = await heap(); // finished, nothing held by the caller, nothing disposed
    for (const h of ids) await d.dispose(h);
    return {
      iters: count,
      bytesPerPaused: (h1 - h0) / count,
      mbPer10k: (((h1 - h0) / count) * 10000) / 1e6,
      leftPerFinished: (h2 - h0) / count,
      saved,
    };
  },
  close: (c) => c?.d.close?.(),
  primary: 'bytesPerPaused',
  columns: [
    ['heap bytes / paused run', 'bytesPerPaused'],
    ['MB / 10,000 paused', 'mbPer10k'],
    ['bytes left / finished run', 'leftPerFinished'],
    ['bytes saved / paused run', 'saved'],
  ],
};
