// Would a run that waits still go on with the agents of today? Its record is loaded and each question held against its tool.
import type { Agent, Countersign, RunInterrupt } from 'countersign';
import type { RunRecord } from 'countersign/store';

type ToolDefinition = Agent['definition'];

export type Fitness = {
  readonly runId: string;
  readonly agent: string;
  /** Empty if all is well. */
  readonly problems: readonly string[];
  readonly questions: number;
};

/** Every run that waits for a person, the oldest first. */
export async function* fitnessOfAll(ai: Countersign): AsyncGenerator<Fitness> {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof ai.runs.list>> = await ai.runs.list({
      status: 'waiting',
      order: 'oldest',
      limit: 200,
      ...(cursor !== null && { cursor }),
    });
    for (const run of page.items) yield await fitnessOf(ai, run);
    cursor = page.cursor;
  } while (cursor !== null);
}

async function fitnessOf(ai: Countersign, { id, agent: name }: RunRecord): Promise<Fitness> {
  const problems: string[] = [];
  let questions = 0;
  try {
    await ai.runs.get(id);
    const { ok, problem } = await ai.runs.verify(id);
    if (!ok) problems.push(`its record was changed: ${problem}`);
    const agent = ai.agents.get(name);
    if (!agent) problems.push(`the agent ${name} is not defined any more`);
    for await (const interrupt of interruptsOf(ai, id)) {
      questions++;
      if (agent) problems.push(...(await misfits(interrupt, agent)));
    }
  } catch (error) {
    problems.push(`it cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { runId: id, agent: name, problems, questions };
}

async function* interruptsOf(ai: Countersign, runId: string): AsyncGenerator<RunInterrupt> {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof ai.runs.interrupts>> = await ai.runs.interrupts({
      runId,
      limit: 200,
      ...(cursor !== null && { cursor }),
    });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}

async function misfits(interrupt: RunInterrupt, agent: Agent): Promise<readonly string[]> {
  const tool = toolOf(interrupt, agent);
  const what = `${interrupt.tool} (${interrupt.id})`;
  if (tool === 'inside') return [];
  if (!tool) return [`the tool ${what} is not among the tools of ${agent.name} any more`];
  if (interrupt.kind === 'question' && tool.body) return [`${what} was a question, and is a tool that runs now`];
  if (interrupt.kind !== 'question' && !tool.body) return [`${what} was a tool that runs, and is a question now`];
  const checked = await tool.input.validate(interrupt.input);
  return checked.ok ? [] : [`${what} does not take its recorded input any more: ${checked.problems.join('; ')}`];
}

/** The question may be one of a conversation inside: then the path says how deep. Some tools keep their tools to themselves. */
function toolOf({ part, tool }: RunInterrupt, agent: Agent): ToolDefinition | 'inside' | undefined {
  const path = Array.isArray(part.metadata?.path) ? part.metadata.path : [];
  let tools: readonly ToolDefinition[] = [...(agent.definition.innerTools?.().values() ?? [])];
  for (const _call of path) tools = tools.flatMap((outer) => [...(outer.innerTools?.().values() ?? [])]);
  if (path.length > 0 && tools.length === 0) return 'inside';
  return tools.find(({ name }) => name === tool);
}
