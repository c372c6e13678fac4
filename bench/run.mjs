#!/usr/bin/env node
// node run.mjs [--cases A,B] [--adapters floor,ai-sdk] [--rounds 5] [--variants 'n=100'] [--out file.json] [--flush-us 1000]
//
// For each case and variant, one worker process per adapter is started; then every round measures each adapter
// in turn (order rotated), so all numbers of a round come from the same stretch of machine time. Reported: the
// median over rounds, and the median of the per-round ratio to the floor.
import './lib/node.mjs';
import { execFile, fork } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { loadAdapter, ROOT } from './lib/adapters.mjs';
import { footprint, versionOf } from './lib/install.mjs';
import { FILES } from './lib/report.mjs';
import { slowFlush } from './lib/slow-flush.mjs';
import { caseTable, median, summary, table } from './lib/stats.mjs';

const { values: opt } = parseArgs({
  options: {
    cases: { type: 'string', default: 'A,B,C,D,E,F,G,H,L,M,N,P,Q,S,T' },
    adapters: { type: 'string' },
    rounds: { type: 'string' },
    variants: { type: 'string' },
    out: { type: 'string' },
    'pg-data': { type: 'string', default: path.join(os.tmpdir(), `countersign-bench-pg-${process.pid}`) },
    'slow-ms': { type: 'string', default: '25000' },
    'flush-us': { type: 'string', default: '0' },
  },
});
const ENV = {
  ...process.env,
  NODE_ENV: 'production',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  LANGSMITH_TRACING: 'false',
  OPENAI_API_KEY: 'none',
  NODE_NO_WARNINGS: '1',
};
if (+opt['flush-us'] > 0) Object.assign(ENV, slowFlush(+opt['flush-us']));
const DEFAULT = [
  'floor',
  'ours',
  'ours:ai-sdk-model',
  'genkit',
  'ai-sdk',
  'openai-agents',
  'langgraph',
  'langgraph:createagent',
  'mastra',
];
const EXTRA = {
  B: ['langgraph:saver'],
  C: ['ours:fresh-history'],
  E: ['floor:webstream'],
  F: ['floor:safe', 'floor:two-commits', 'langgraph:exit', 'ours:restate', 'ours:restate-3'],
  S: ['floor:safe'],
}; // variants that only matter to one case
const say = (...a) => console.error(new Date().toISOString().slice(11, 19), ...a);

class Worker {
  constructor(id, file) {
    this.id = id;
    this.p = fork(path.join(ROOT, 'worker.mjs'), [id, file], {
      env: ENV,
      // Others have their rounds in between. V8 takes that for a process without work, and throws its compiled code away.
      execArgv: ['--expose-gc', '--max-old-space-size=8192', '--no-memory-reducer', '--no-flush-bytecode'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.ready = this.reply();
  }
  reply() {
    return new Promise((res, rej) => {
      const onMsg = (m) => {
        off();
        m.ok ? res(m.value) : rej(new Error(m.error));
      };
      const onExit = (c) => {
        off();
        rej(new Error(`worker ${this.id} exited ${c}`));
      };
      const off = () => {
        this.p.off('message', onMsg);
        this.p.off('exit', onExit);
      };
      this.p.on('message', onMsg);
      this.p.on('exit', onExit);
    });
  }
  ask(cmd, rest) {
    const r = this.reply();
    this.p.send({ cmd, ...rest });
    return r;
  }
  async stop() {
    if (this.p.exitCode === null) {
      await this.ask('exit', {}).catch(() => {});
      this.p.kill();
    }
  }
}

async function runCase(kase, file, ids, pgServer) {
  const results = [];
  for (const variant of kase.variants.filter((v) => !opt.variants || opt.variants.split(',').includes(v.key))) {
    const rows = new Map(ids.map((id) => [id, { id, rounds: [] }]));
    const workers = new Map(),
      env = {};
    for (const id of ids) {
      const w = new Worker(id, file);
      try {
        await w.ready;
        const db = `bench_${id.replace(/\W/g, '_')}`;
        env[id] = kase.needsPg ? { pg: { url: await pgServer.database(db), port: pgServer.port, db } } : {};
        await w.ask('open', { variant, env: env[id] });
        const t = performance.now();
        const first = await w.ask('round', { variant, env: { ...env[id], warm: true } }); // warm-up, reported only if the op is very slow
        const ms = performance.now() - t;
        const row = rows.get(id);
        if (first === null) row.skip = true;
        row.max = ms > 3 * +opt['slow-ms'] ? 0 : ms > +opt['slow-ms'] ? 2 : Infinity;
        if (row.max === 0) row.rounds.push({ ...first, warmup: true });
        workers.set(id, w);
      } catch (e) {
        rows.get(id).error = e.message;
        say(kase.id, variant.key, id, 'ERROR', e.message.split('\n')[0]);
        await w.stop();
      }
    }
    const R = +(opt.rounds ?? variant.rounds ?? kase.rounds);
    for (let r = 0; r < R; r++) {
      const live = [...workers.keys()].filter((id) => !rows.get(id).skip && r < rows.get(id).max);
      for (let i = 0; i < live.length; i++) {
        const id = live[(i + r) % live.length];
        try {
          const c0 = kase.needsPg && (await pgServer.counters(env[id].pg.db));
          const s0 = kase.needsPg && (await pgServer.size(env[id].pg.db));
          const m = await workers.get(id).ask('round', { variant, env: env[id] });
          if (c0) {
            const c1 = await pgServer.counters(env[id].pg.db);
            m.statements = (c1.statements - c0.statements) / m.iters;
            m.dataStatements = (c1.data_statements - c0.data_statements) / m.iters;
            m.walBytes = (c1.wal - c0.wal) / m.iters;
            m.dbBytes = ((await pgServer.size(env[id].pg.db)) - s0) / m.iters;
            m.serverCpuUs = ((c1.cpuMs - c0.cpuMs) * 1000) / m.iters;
          }
          rows.get(id).rounds.push({ r, ...m });
        } catch (e) {
          rows.get(id).error = e.message;
          rows.get(id).skip = true;
          say(kase.id, variant.key, id, 'ERROR', e.message.split('\n')[0]);
        }
      }
    }
    if (kase.needsPg) for (const id of workers.keys()) rows.get(id).sql = await pgServer.statements(env[id].pg.db);
    for (const w of workers.values()) await w.stop();
    // paired ratio to the floor
    const floor = new Map(
      (rows.get(ids.find((i) => i.startsWith('floor')))?.rounds ?? []).map((m) => [m.r, m[kase.primary]]),
    );
    const floorMedian = median([...floor.values()]);
    for (const row of rows.values()) {
      row.stats = {};
      for (const k of new Set(row.rounds.flatMap(Object.keys))) row.stats[k] = summary(row.rounds.map((m) => m[k]));
      row.ratio = median(row.rounds.map((m) => m[kase.primary] / (floor.get(m.r) ?? floorMedian)));
    }
    // The same to the floor that keeps the promise.
    const safe = new Map(rows.get('floor:safe')?.rounds.map((m) => [m.r, m[kase.primary]]));
    if (safe.size > 0)
      for (const row of rows.values())
        row.ratioToSafe = median(row.rounds.filter((m) => safe.has(m.r)).map((m) => m[kase.primary] / safe.get(m.r)));
    const out = { case: kase.id, variant: variant.key, load: os.loadavg()[0], rows: [...rows.values()] };
    results.push(out);
    print(kase, out);
  }
  return results;
}

function print(kase, { variant, rows, load }) {
  console.log(`\n### ${kase.id}. ${kase.title} — ${variant}  (load ${load.toFixed(1)})\n`);
  console.log(caseTable(kase, rows));
}

async function coldCase(ids) {
  const run = promisify(execFile);
  const all = ['bare', ...ids],
    got = Object.fromEntries(all.map((i) => [i, []]));
  const R = +(opt.rounds ?? 9) + 1;
  for (let r = 0; r < R; r++)
    for (let i = 0; i < all.length; i++) {
      const id = all[(i + r) % all.length];
      const t = performance.now();
      const { stdout } = await run(process.execPath, [path.join(ROOT, 'cold.mjs'), id], { env: ENV });
      const m = JSON.parse(stdout.trim().split('\n').at(-1));
      m.wallMs = performance.now() - t;
      if (r) got[id].push(m); // round 0 fills the file cache
    }
  const rows = [];
  for (const id of all) {
    const stats = Object.fromEntries(Object.keys(got[id][0]).map((k) => [k, summary(got[id].map((m) => m[k]))]));
    const meta = id === 'bare' ? null : (await loadAdapter(id)).meta;
    rows.push({
      id,
      stats,
      rounds: got[id],
      version: meta && versionOf(id, meta.main),
      install: meta && footprint(id, meta.core),
      installDurable: meta?.durableCore && footprint(id, [...meta.core, ...meta.durableCore]),
    });
  }
  console.log('\n### G. Cold start and install footprint\n');
  const g = (r, k) => r.stats[k].median;
  console.log(
    table(
      [
        '',
        'version',
        'import CPU ms',
        'import wall ms',
        'first generate CPU ms',
        'process CPU ms',
        'process wall ms',
        'RSS MB after import',
        'packages',
        'MB installed',
        'files',
        'with store: packages',
        'MB',
      ],
      rows.map((r) => [
        r.id,
        r.version ?? '-',
        g(r, 'importCpuMs'),
        g(r, 'importMs'),
        g(r, 'firstCpuMs'),
        g(r, 'totalCpuMs'),
        g(r, 'wallMs'),
        g(r, 'rssMb'),
        r.install?.packages,
        r.install?.mb,
        r.install?.files,
        r.installDurable?.packages,
        r.installDurable?.mb,
      ]),
    ),
  );
  return [{ case: 'G', variant: 'cold', rows }];
}

const want = opt.cases.split(',');
const base = opt.adapters?.split(',') ?? DEFAULT;
let pgServer;
const report = {
  when: new Date().toISOString(),
  node: process.version,
  cpus: os.cpus().length,
  cpu: os.cpus()[0].model,
  memGb: os.totalmem() / 2 ** 30,
  flushUs: +opt['flush-us'],
  versions: {},
  results: [],
};
for (const id of base) {
  const { meta } = await loadAdapter(id);
  report.versions[meta.main] = versionOf(id, meta.main);
}
const save = () => {
  if (opt.out) fs.writeFileSync(opt.out, JSON.stringify(report, null, 1));
};
try {
  for (const c of want) {
    say('case', c, 'load', os.loadavg()[0].toFixed(1));
    const ids = [...base, ...(opt.adapters ? [] : (EXTRA[c] ?? []))];
    if (c === 'G') report.results.push(...(await coldCase(ids)));
    else {
      const kase = (await import(`./cases/${FILES[c]}`)).default;
      if (kase.adapters) ids.splice(0, ids.length, ...kase.adapters);
      if (kase.needsPg) pgServer ??= await (await import('./lib/pg.mjs')).startPostgres(opt['pg-data'], ENV);
      report.results.push(...(await runCase(kase, FILES[c], ids, pgServer)));
    }
    save();
  }
} finally {
  await pgServer?.stop();
  save();
}
process.exit(0);
