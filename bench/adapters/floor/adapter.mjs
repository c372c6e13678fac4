// The limit: a hand-written generate-and-tool-call loop with nothing but the work itself:
// call the model, parse the JSON arguments, validate them with zod, ask for approval, run the
// tools, append messages. No registry, no tracing, no copies. Not a framework and not a peer.
import { z } from 'zod';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

export const meta = { id: 'floor', label: 'floor (bare loop)', kind: 'floor', core: ['zod'], main: 'zod' };

export async function create({ plan: kind, n }) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const tools = {
    lookup: { schema: z.object({ key: z.string() }), approval: false, run: impl.lookup },
    transfer: { schema: z.object({ to: z.string(), amount: z.number() }), approval: true, run: impl.transfer },
  };

  // The provider boundary: arguments arrive as a JSON string, as they do from every real model.
  async function model(messages) {
    impl.counts.model++;
    const out = plan.next(messages[messages.length - 1].role === 'tool');
    return out.calls
      ? { role: 'assistant', calls: out.calls.map((c) => ({ id: c.id, name: c.name, args: JSON.stringify(c.args) })) }
      : { role: 'assistant', text: out.text };
  }

  // approved: null on a fresh turn, or the set of call ids a human said yes to.
  async function turn(messages, calls, approved, results) {
    const pending = [];
    await Promise.all(
      calls.map(async (c) => {
        if (results[c.id] !== undefined) return;
        const tool = tools[c.name];
        if (tool.approval && !approved?.has(c.id)) return void pending.push(c.id);
        const input = tool.schema.parse(JSON.parse(c.args));
        results[c.id] = await tool.run(input);
      }),
    );
    if (pending.length) return pending;
    messages.push({ role: 'tool', results: calls.map((c) => ({ id: c.id, output: results[c.id] })) });
    return null;
  }

  async function drive(messages) {
    for (;;) {
      const m = await model(messages);
      messages.push(m);
      if (!m.calls) return { text: m.text, messages };
      const results = {};
      const pending = await turn(messages, m.calls, null, results);
      if (pending) return { messages, pending, results };
    }
  }

  return {
    counts: impl.counts,
    history: (k) => neutralHistory(k),
    async pause(history) {
      const s = await drive(
        history
          ? history.slice()
          : [
              { role: 'system', text: SYSTEM },
              { role: 'user', text: PROMPT },
            ],
      );
      return { state: s, pending: s.pending.length };
    },
    async resume({ state }) {
      const { messages, pending, results } = state;
      await turn(messages, messages[messages.length - 1].calls, new Set(pending), results);
      return (await drive(messages)).text;
    },
    async run() {
      return (await drive([{ role: 'user', text: PROMPT }])).text;
    },
    async stream(onDelta) {
      const source = (async function* () {
        for (let i = 0; i < n; i++) yield { type: 'text-delta', text: DELTA };
      })();
      for await (const part of source) onDelta(part.text);
    },
    // The same deltas as SSE bytes: one JSON event per delta, encoded to UTF-8.
    async streamBytes(onBytes) {
      const enc = new TextEncoder();
      const source = (async function* () {
        for (let i = 0; i < n; i++) yield { type: 'text-delta', id: '0', delta: DELTA };
      })();
      for await (const part of source) onBytes(enc.encode(`data: ${JSON.stringify(part)}\n\n`));
    },
    save: ({ state }) => JSON.stringify(state),
    load: (s) => {
      const state = JSON.parse(s);
      return { state, pending: state.pending.length };
    },
  };
}
