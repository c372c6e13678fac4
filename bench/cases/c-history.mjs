import assert from 'node:assert/strict';
import { budget, clock, since } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

const sizes = [10, 100, 1000, 5000];
export default {
  id: 'C',
  title: 'Pause + resume with a history of n text messages (~130 chars each), in memory and through a saved string',
  rounds: 5,
  variants: [
    ...sizes.map((n) => ({ key: `n=${n}`, n })),
    ...sizes.map((n) => ({ key: `n=${n} saved`, n, saved: true })),
  ],
  async open(adapter, { n, saved }) {
    const d = await adapter.create({ plan: 'approve' });
    if (saved && !d.save) return { skip: true };
    return { d, history: d.history(n) };
  },
  async round({ d, history, skip }, { saved }, env) {
    if (skip) return null; // the peer's state always lives in its store: see the unsaved rows
    globalThis.gc?.();
    const { minCpuMs, maxWallMs } = budget(env);
    const s = { pause: 0, save: 0, resume: 0, cpu: 0, wall: 0, iters: 0, bytes: 0 };
    const t0 = clock();
    do {
      let t = clock();
      let h = await d.pause(history);
      assert.equal(h.pending, 1);
      s.pause += since(t).cpu;
      if (saved) {
        t = clock();
        const str = d.save(h);
        s.bytes = Buffer.byteLength(str);
        h = await d.load(str);
        s.save += since(t).cpu;
      }
      t = clock();
      assert.equal(await d.resume(h), DONE);
      s.resume += since(t).cpu;
      await d.dispose?.(h);
      s.iters++;
      const e = since(t0);
      s.cpu = e.cpu;
      s.wall = e.wall;
    } while (s.cpu < minCpuMs && s.wall < maxWallMs);
    const k = s.iters;
    return {
      iters: k,
      cpuMs: s.cpu / k,
      wallMs: s.wall / k,
      pauseMs: s.pause / k,
      saveLoadMs: s.save / k,
      resumeMs: s.resume / k,
      bytes: s.bytes || undefined,
    };
  },
  close: (c) => c?.d?.close?.(),
  primary: 'cpuMs',
  columns: [
    ['CPU ms', 'cpuMs'],
    ['wall ms', 'wallMs'],
    ['pause', 'pauseMs'],
    ['save+load', 'saveLoadMs'],
    ['resume', 'resumeMs'],
    ['saved bytes', 'bytes'],
  ],
};
