// Timing inside a worker. CPU time (user + system of the whole process: JS, GC and JIT threads) is the
// headline on a shared machine: it does not count time spent waiting for a core. Wall time is kept too.
export function clock() {
  const c = process.cpuUsage();
  return { wall: performance.now(), cpu: (c.user + c.system) / 1000 };
}
export function since(t) {
  const n = clock();
  return { wall: n.wall - t.wall, cpu: n.cpu - t.cpu };
}

// Repeat op until minCpuMs of CPU time or maxWallMs of wall time has passed; returns µs per op.
export async function repeat(op, { minCpuMs = 300, maxWallMs = 5000, maxIters = Infinity } = {}) {
  globalThis.gc?.();
  const t0 = clock();
  let iters = 0;
  for (;;) {
    await op();
    iters++;
    const t = since(t0);
    if (t.cpu >= minCpuMs || t.wall >= maxWallMs || iters >= maxIters)
      return { iters, cpuUs: (t.cpu * 1000) / iters, wallUs: (t.wall * 1000) / iters };
  }
}

// A measured round, or (env.warm) the longer warm-up before the first one, so that slow peers are JIT-warm too.
export const budget = (env) =>
  env.warm ? { minCpuMs: 2500, maxWallMs: 15000, maxIters: 2000 } : { minCpuMs: 300, maxWallMs: 5000 };

export const tick = () => new Promise((r) => setImmediate(r));
