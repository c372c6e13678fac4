// One cold start: node cold.mjs <adapter>. Prints one JSON line. "bare" imports nothing.
const id = process.argv[2];
const cpu = () => {
  const c = process.cpuUsage();
  return (c.user + c.system) / 1000;
};
const rss0 = process.memoryUsage().rss;
const t0 = performance.now(),
  c0 = cpu();
let t1 = t0,
  c1 = c0,
  rss1 = rss0,
  t2 = t0,
  c2 = c0;
if (id !== 'bare') {
  const { loadAdapter } = await import('./lib/adapters.mjs');
  const a = await loadAdapter(id);
  t1 = performance.now();
  c1 = cpu();
  rss1 = process.memoryUsage().rss;
  const d = await a.create({ plan: 'text' });
  const out = await d.run();
  if (out !== 'done') throw new Error(`unexpected ${out}`);
  t2 = performance.now();
  c2 = cpu();
}
console.log(
  JSON.stringify({
    bootMs: t0,
    importMs: t1 - t0,
    importCpuMs: c1 - c0,
    firstMs: t2 - t1,
    firstCpuMs: c2 - c1,
    totalCpuMs: c2,
    rssBareMb: rss0 / 1e6,
    rssMb: rss1 / 1e6,
    rssFirstMb: process.memoryUsage().rss / 1e6,
  }),
);
process.exit(0);
