// Genkit: a tool that calls `interrupt()` and is restarted, and the messages in a file of the program.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as engine from 'countersign';
import { gateTools } from 'countersign/genkit';
import { sqliteStore } from 'countersign/sqlite';
import { genkit, z } from 'genkit/beta';
import { openGate, TITLE } from '../../lib/gate.mjs';
import { callOf, promptOf, textOf, toldBy } from '../../lib/model.mjs';

export async function open({ folder, pay, gated, version = 1, deadlineMs }) {
  const gate = gated ? openGate({ ...engine, sqliteStore }, folder) : undefined;
  const app = genkit({});
  const model = app.defineModel(
    { name: 'scripted', supports: { tools: true, multiturn: true } },
    async ({ messages }) => {
      const last = messages.at(-1);
      if (last.role === 'tool') {
        const text = textOf(last.content[0].toolResponse.output);
        return { message: { role: 'model', content: [{ text }] }, finishReason: 'stop' };
      }
      const { id, name, input } = callOf(last.content);
      return { message: { role: 'model', content: [{ toolRequest: { name, ref: id, input } }] }, finishReason: 'stop' };
    },
  );
  const own = app.dynamicTool(
    {
      name: 'pay',
      description: version === 1 ? 'Pays.' : 'Pays an invoice.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      outputSchema: z.string(),
    },
    async (input, { interrupt, resumed }) => {
      if (!gated && resumed?.status !== 'APPROVED') interrupt({ message: 'Confirm the payment.' });
      return pay(input);
    },
  );
  const asks = deadlineMs === undefined ? {} : { asks: { pay: { expiresIn: deadlineMs } } };
  const toolsOf = (id) =>
    gated ? gateTools([own], { ai: gate.ai, key: id, title: TITLE, ...asks }) : { tools: [own] };

  const file = (id) => `${folder}/${id}.json`;
  const load = (id) => JSON.parse(readFileSync(file(id), 'utf8'));
  const waitingIn = (messages) => messages.at(-1).content.filter((part) => part.metadata?.interrupt !== undefined);
  const save = (id, response) => {
    writeFileSync(`${file(id)}.new`, JSON.stringify(response.messages));
    renameSync(`${file(id)}.new`, file(id));
    return response.finishReason === 'interrupted' ? 'asked' : toldBy(response.text);
  };
  const goOn = async (id, messages, decision) => {
    const waiting = waitingIn(messages);
    if (waiting.length === 0) throw new Error('Nothing waits.');
    const resume = gated
      ? {}
      : decision === 'approve'
        ? { restart: waiting.map((part) => own.restart(part, { status: 'APPROVED' })) }
        : { respond: waiting.map((part) => own.respond(part, 'rejected')) };
    return save(id, await app.generate({ model, messages, resume, ...toolsOf(id) }));
  };
  return {
    start: async (id) => save(id, await app.generate({ model, prompt: promptOf(id), ...toolsOf(id) })),
    async decide(id, decision) {
      await gate?.decide(id, decision);
      return goOn(id, load(id), decision);
    },
    replay: (id) => goOn(id, load(id), 'approve'),
    async changed(id, amount) {
      await gate?.decide(id, 'approve');
      return goOn(id, JSON.parse(readFileSync(file(id), 'utf8').replaceAll('950', String(amount))), 'approve');
    },
    async look(id) {
      const asked = await gate?.look(id);
      if (asked === 'asked' || asked === 'waiting') return asked;
      const messages = load(id);
      if (waitingIn(messages).length > 0) return gated ? 'unfinished' : 'waiting';
      return toldBy(textOf(messages.at(-1).content[0].text));
    },
    recover: (id) => goOn(id, load(id), 'approve'),
    ...(gate && { answer: gate.answer, hasDeadline: () => true }),
  };
}
