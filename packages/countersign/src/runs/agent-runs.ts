// Which runs an agent has: how those who are given an agent find its store.
import type { Agent } from '../loop/agent.ts';
import type { AgentPort } from './driving/driving.ts';
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
