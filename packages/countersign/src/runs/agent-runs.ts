// Finds the runs of an agent, for code that is given only the agent.
import type { Agent } from '../loop/agent.ts';
import type { AgentPort } from './driving/open-run.ts';
import type { Runs } from './runs.ts';

type AgentRuns = {
  readonly port: AgentPort;
  /** Absent without a store. */
  readonly runs?: Runs;
};

const known = new WeakMap<Agent, AgentRuns>();

export function rememberRuns(agent: Agent, runs: AgentRuns): void {
  known.set(agent, runs);
}

export function runsOf(agent: Agent): AgentRuns | undefined {
  return known.get(agent);
}
