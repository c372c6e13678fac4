// Ours: a tool with needsApproval, resumed with generate({ messages, resume: { approve } }).
// The model is written to our own model port, as Genkit's is to Genkit's. The port takes parsed input, so the mock
// does what a provider's adapter does: the arguments arrive as a JSON string and are parsed here.
// ai-sdk-model.mjs is the same with an AI SDK provider model.
import * as installed from 'countersign';
import { internalsOf } from 'countersign/store';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

export const meta = {
  id: 'ours',
  label: 'Countersign',
  kind: 'peer',
  core: ['countersign'],
  main: 'countersign',
  durableCore: ['pg'],
};

export async function create({ plan: kind, n }, { modelFor = portModel, engine = installed } = {}) {
  const { countersign, z } = engine;
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const ai = countersign({ model: modelFor({ plan, counts: impl.counts, n, streams: kind === 'stream' }) });

  const lookup = ai.defineTool(
    { name: 'lookup', description: 'lookup', inputSchema: z.object({ key: z.string() }) },
    async (i) => impl.lookup(i),
  );
  const transfer = ai.defineTool({ ...transferConfig(z), needsApproval: true }, async (i) => impl.transfer(i));
  const tools = [lookup, transfer];
  const maxTurns = kind === 'loop' ? n + 5 : 10;

  return {
    counts: impl.counts,
    history: (k) =>
      neutralHistory(k).map((m) => ({ role: m.role === 'assistant' ? 'model' : m.role, content: [{ text: m.text }] })),
    async pause(history) {
      const r = history
        ? await ai.generate({ messages: history, tools, maxTurns })
        : await ai.generate({ system: SYSTEM, prompt: PROMPT, tools, maxTurns });
      const { messages, interrupts } = r;
      return { messages, interrupts, pending: interrupts.length };
    },
    async resume({ messages, interrupts }) {
      const approve = interrupts.map((interrupt) => transfer.approve(interrupt));
      return (await ai.generate({ messages, tools, maxTurns, resume: { approve } })).text;
    },
    async run() {
      return (await ai.generate({ prompt: PROMPT, tools, maxTurns })).text;
    },
    async stream(onDelta) {
      const { stream, response } = ai.generateStream({ prompt: PROMPT });
      for await (const chunk of stream) if (chunk.type === 'text') onDelta(chunk.text);
      await response;
    },
    // The response of a chat route, as a server sends it to a browser.
    async streamBytes(onBytes) {
      const { streamResponse } = await import('countersign/ui');
      const { body } = streamResponse((listen) => ai.generate({ prompt: PROMPT, ...listen }));
      for await (const bytes of body) onBytes(bytes);
    },
    // Our own store: a run that is started, waits in the store with nothing held here, and is decided by the id of its question.
    async durable({ connectionString, poolMax, store, keepCards = true }) {
      const opened = store ?? (await openStore('postgres', connectionString, undefined, poolMax));
      const stored = countersign({ model: modelFor({ plan, counts: impl.counts, n }), store: opened });
      const clerk = stored.defineAgent({ name: 'clerk', system: SYSTEM, tools, maxTurns });
      const cards = new Map(); // what a person's screen holds: the id of the question
      return {
        counts: impl.counts,
        async pause(id) {
          await clerk.start(PROMPT, { runId: id });
          const { pending } = await internalsOf(stored.runs).rested(id);
          if (keepCards) cards.set(id, pending);
          return pending.length;
        },
        async resume(id) {
          for (const card of cards.get(id)) await stored.runs.decide(card, 'approve');
          cards.delete(id);
          return (await internalsOf(stored.runs).rested(id)).text;
        },
        close: () => opened.close(),
      };
    },
    // A stored call as `how` allows it: 'a decision', 'two votes', or 'a grant', given with the decision on an earlier call.
    async allowed(how, store) {
      const stored = countersign({ model: modelFor({ plan, counts: impl.counts, n }), store });
      const policy = { quorum: [{ of: { people: ['ann', 'ben'] }, count: 2 }] };
      const gated = stored.defineTool(
        { ...transferConfig(z), needsApproval: how === 'two votes' ? { policy } : true },
        async (i) => impl.transfer(i),
      );
      const clerk = stored.defineAgent({ name: 'clerk', system: SYSTEM, tools: [gated], maxTurns });
      const rested = (id) => internalsOf(stored.runs).rested(id);
      return {
        counts: impl.counts,
        /** Resolves with the text at the end, and how often a person decided. */
        async once(id) {
          await clerk.start(PROMPT, { runId: id, by: 'cleo' });
          const [card] = (await rested(id)).pending;
          const grant = how === 'a grant' && { uses: 1_000, expiresAt: Date.now() + 86_400_000 };
          const voters = how === 'two votes' ? ['ann', 'ben'] : ['ann'];
          if (card) for (const by of voters) await stored.runs.decide(card, 'approve', { by, ...(grant && { grant }) });
          return { text: (await rested(id)).text, decisions: card ? voters.length : 0 };
        },
        close: () => store.close(),
      };
    },
    openStore,
    save: ({ messages }) => JSON.stringify(messages),
    load: (saved) => {
      const messages = JSON.parse(saved);
      // response.interrupts is made of the last message; made again here, as a caller with only the messages does
      const interrupts = messages.at(-1).content.filter((part) => part.metadata?.interrupt !== undefined);
      return { messages, interrupts, pending: interrupts.length };
    },
  };
}

const transferConfig = (z) => ({
  name: 'transfer',
  description: 'transfer',
  inputSchema: z.object({ to: z.string(), amount: z.number() }),
});

async function openStore(kind, where, schema, poolMax = 10) {
  if (kind === 'sqlite') return (await import('countersign/sqlite')).sqliteStore(where);
  const { postgresStore } = await import('countersign/postgres');
  return postgresStore({ url: where, poolMax, ...(schema && { schema }) });
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function portModel({ plan, counts, n, streams }) {
  return {
    name: 'mock',
    async reply({ messages }, emit) {
      counts.model++;
      if (streams) {
        for (let i = 0; i < n; i++) {
          emit({ type: 'text', text: DELTA });
          await null; // as from a network: lets the reader keep up, so chunks do not pile up
        }
        return { content: [{ text: DELTA.repeat(n) }], finishReason: 'stop', usage };
      }
      const out = plan.next(messages[messages.length - 1].role === 'tool');
      return out.calls
        ? {
            content: out.calls.map((c) => ({
              toolRequest: { name: c.name, ref: c.id, input: JSON.parse(JSON.stringify(c.args)) },
            })),
            finishReason: 'tool-calls',
            usage,
          }
        : { content: [{ text: out.text }], finishReason: 'stop', usage };
    },
  };
}
