// One process per (adapter, case): loads the adapter, opens a case variant, and measures a round when told.
import { loadAdapter } from './lib/adapters.mjs';

const [adapterId, caseFile] = process.argv.slice(2);
const adapter = await loadAdapter(adapterId);
const kase = (await import(`./cases/${caseFile}`)).default;
let ctx;
const on = {
  open: async ({ variant, env }) => {
    if (ctx) await kase.close?.(ctx);
    ctx = await kase.open(adapter, variant, { ...env, adapterId });
  },
  round: ({ variant, env }) => kase.round(ctx, variant, { ...env, adapterId }),
  exit: async () => {
    await kase.close?.(ctx);
    setImmediate(() => process.exit(0));
  },
};
process.on('message', async (m) => {
  try {
    process.send({ ok: true, value: await on[m.cmd](m) });
  } catch (e) {
    process.send({ ok: false, error: String(e?.stack ?? e).slice(0, 2000) });
  }
});
process.send({ ok: true, value: 'ready' });
