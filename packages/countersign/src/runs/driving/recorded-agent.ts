// An agent that is not defined here, as far as the record of its run says. It decides; a worker that has the agent drives.
import { UsageError } from '../../core/errors.ts';
import type { Leaf } from '../../core/run/decide.ts';
import type { State } from '../../core/run/state.ts';
import { describedTool } from '../gates/described-tool.ts';
import type { AgentPort } from './open-run.ts';

/** Its tools are those of the calls that wait, without schemas. */
export function recordedAgent(name: string, { turn }: State): AgentPort {
  const waiting = (turn?.calls ?? []).filter(({ phase }) => phase.at === 'waiting');
  const tools = new Map(waiting.map(({ name: tool }) => [tool, describedTool({ name: tool })]));
  return {
    name,
    isAbsent: true,
    // The worker enforces the agent's own limit.
    limits: { maxTurns: Number.MAX_SAFE_INTEGER },
    driver: () => {
      throw absent(name, 'it cannot be driven');
    },
    tools: () => tools,
    defined: () => tools,
  };
}

/** The recorded input can be approved: the worker checks it again. An edit or an answer needs the schema of the tool now. */
export function refuseUnchecked({ name, isAbsent }: AgentPort, leaves: readonly Leaf[]): void {
  if (!isAbsent) return;
  for (const { call, decision } of leaves)
    if (decision.type === 'respond' || ('input' in decision && decision.input !== undefined))
      throw absent(name, `the value for ${call.name} cannot be validated`);
}

const absent = (agent: string, so: string): UsageError =>
  new UsageError('unknown-agent', { agent }, `Agent ${agent} is not defined here, so ${so}.`);
