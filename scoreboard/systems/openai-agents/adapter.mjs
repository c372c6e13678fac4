// The OpenAI Agents SDK: `needsApproval`, and the state of the run as a string in a file, as its guide shows.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Agent, Runner, RunState, setTracingDisabled, tool, Usage } from '@openai/agents';
import * as engine from 'countersign';
import { approveDecided, gateTools } from 'countersign/openai-agents';
import { sqliteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { openGate, TITLE } from '../../lib/gate.mjs';
import { callOf, promptOf, textOf, toldBy } from '../../lib/model.mjs';

setTracingDisabled(true);
const model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? undefined : input.at(-1);
    const text = last?.type === 'function_call_result' ? textOf(last.output?.text ?? last.output) : undefined;
    const { id, name, input: args } = callOf(input);
    const output =
      text === undefined
        ? [{ type: 'function_call', callId: id, name, status: 'completed', arguments: JSON.stringify(args) }]
        : [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }];
    return { usage: new Usage(), output };
  },
  getStreamedResponse() {
    throw new Error('This model does not stream.');
  },
};

export async function open({ folder, pay, gated, version = 1, deadlineMs }) {
  const gate = gated ? openGate({ ...engine, sqliteStore }, folder) : undefined;
  const runner = new Runner({ tracingDisabled: true });
  const own = tool({
    name: 'pay',
    description: version === 1 ? 'Pays.' : 'Pays an invoice.',
    parameters: z.object({ to: z.string(), amount: z.number() }),
    needsApproval: true,
    execute: pay,
  });
  const asks = deadlineMs === undefined ? {} : { asks: { pay: { expiresIn: deadlineMs } } };
  const agentOf = (id) =>
    new Agent({
      name: 'clerk',
      instructions: 'Pay.',
      model,
      tools: gated ? gateTools([own], { ai: gate.ai, key: id, title: TITLE, ...asks }) : [own],
    });

  const file = (id) => `${folder}/${id}.json`;
  const load = (id) => JSON.parse(readFileSync(file(id), 'utf8'));
  const save = (id, result) => {
    const waits = result.interruptions.length > 0;
    writeFileSync(
      `${file(id)}.new`,
      JSON.stringify({ state: result.state.toString(), waits, text: waits ? null : result.finalOutput }),
    );
    renameSync(`${file(id)}.new`, file(id));
    return waits ? 'asked' : toldBy(result.finalOutput);
  };
  const goOn = async (id, saved, decision) => {
    const agent = agentOf(id);
    const state = await RunState.fromString(agent, saved);
    if (gated) await approveDecided(state);
    else
      for (const item of state.getInterruptions()) {
        if (decision === 'approve') state.approve(item);
        else state.reject(item);
      }
    return save(id, await runner.run(agent, state));
  };
  return {
    start: async (id) => save(id, await runner.run(agentOf(id), promptOf(id))),
    async decide(id, decision) {
      await gate?.decide(id, decision);
      return goOn(id, load(id).state, decision);
    },
    // The program saved the state after the end, so a second post finds nothing to approve.
    async replay(id) {
      const { state } = load(id);
      return goOn(id, state, 'approve');
    },
    async changed(id, amount) {
      await gate?.decide(id, 'approve');
      return goOn(id, load(id).state.replaceAll('950', String(amount)), 'approve');
    },
    async look(id) {
      const asked = await gate?.look(id);
      if (asked === 'asked' || asked === 'waiting') return asked;
      const { waits, text } = load(id);
      if (waits) return gated ? 'unfinished' : 'waiting';
      return toldBy(text);
    },
    recover: async (id) => goOn(id, load(id).state, 'approve'),
    ...(gate && { answer: gate.answer, hasDeadline: () => true }),
  };
}
