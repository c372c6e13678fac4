// Checks that paused runs can resume with the current agents: loads each run and validates each request against its tool.
import type { Agent, Countersign, RunRequest } from 'countersign';
import type { RunRecord } from 'countersign/store';
import { allItems } from '../../all-items.ts';

type ToolDefinition = Agent['definition'];

export type PausedRun = {
  readonly runId: string;
  readonly agent: string;
  /** Empty if the run can resume. */
  readonly problems: readonly string[];
  readonly questions: number;
};

/** Checks every paused run, oldest first. */
export async function checkPausedRuns(ai: Countersign): Promise<readonly PausedRun[]> {
  const waiting = await allItems((from) => ai.runs.list({ status: 'waiting', order: 'oldest', limit: 200, ...from }));
  const checked: PausedRun[] = [];
  for (const run of waiting) checked.push(await checkRun(ai, run));
  return checked;
}

async function checkRun(ai: Countersign, { id, agent: name }: RunRecord): Promise<PausedRun> {
  const problems: string[] = [];
  let questions = 0;
  try {
    await ai.runs.get(id);
    const { ok, problem } = await ai.runs.verify(id);
    if (!ok) problems.push(`its record was tampered with: ${problem}`);
    const agent = ai.agents.get(name);
    if (!agent) problems.push(`agent ${name} is no longer defined`);
    for (const request of await allItems((from) => ai.runs.requests({ runId: id, limit: 200, ...from }))) {
      questions++;
      if (agent) problems.push(...(await misfits(request, agent)));
    }
  } catch (error) {
    problems.push(`cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { runId: id, agent: name, problems, questions };
}

async function misfits(request: RunRequest, agent: Agent): Promise<readonly string[]> {
  const tool = toolOf(request, agent);
  const what = `${request.tool} (${request.id})`;
  if (tool === 'inside') return [];
  if (!tool) return [`tool ${what} is no longer a tool of ${agent.name}`];
  if (request.kind === 'question' && tool.body) return [`${what} was a question and is now a tool with a body`];
  if (request.kind !== 'question' && !tool.body) return [`${what} was a tool with a body and is now a question`];
  const checked = await tool.input.validate(request.input);
  return checked.ok ? [] : [`${what} no longer accepts its recorded input: ${checked.problems.join('; ')}`];
}

/** Finds the tool of a request. A sub-agent's request has a path; a sub-agent that hides its tools cannot be checked. */
function toolOf({ part, tool }: RunRequest, agent: Agent): ToolDefinition | 'inside' | undefined {
  const path = Array.isArray(part.metadata?.path) ? part.metadata.path : [];
  let tools: readonly ToolDefinition[] = [...(agent.definition.innerTools?.().values() ?? [])];
  for (const _call of path) tools = tools.flatMap((outer) => [...(outer.innerTools?.().values() ?? [])]);
  if (path.length > 0 && tools.length === 0) return 'inside';
  return tools.find(({ name }) => name === tool);
}
