// Starts drills: by hand, and now and then by a worker.

import { ConflictError, UsageError } from '../../core/errors.ts';
import { newState } from '../../core/messages/load-messages.ts';
import { drillAgent } from '../../core/run/drill.ts';
import { event } from '../../core/run/event.ts';
import { GrowSet } from '../../core/run/grow.ts';
import { replyEvents } from '../../core/run/reply.ts';
import type { Drives } from '../driving/driving.ts';
import type { AgentPort } from '../driving/open-run.ts';
import { chainStart } from '../port/chain.ts';
import { checkStarter } from '../port/run-id.ts';
import { checkDrill, type DrillRequest, type DrillsOptions } from './drill-options.ts';
import { dueDrill } from './drill-plan.ts';

/** Records the run of a drill up to the call that people must reject, and drives it as any other. */
export async function startDrill(drives: Drives, request: DrillRequest, runId: string): Promise<void> {
  const agent = await checkedAgent(drives, request);
  await drives.time.tell();
  const create = { id: runId, agent: agent.name, startedBy: checkStarter(request.by) };
  const record = { ...create, version: 0, hash: chainStart(create) };
  const open = drives.open(record, newState(), agent, { claim: 'enter' });
  const toolRequest = { name: request.tool, input: request.input };
  const newId = () => drives.newRunId().replace(/^run_/, 'call_');
  open.run.record(
    event({ type: 'user-spoke', messages: [{ role: 'user', content: [{ text: request.prompt }] }] }),
    ...replyEvents({ content: [{ toolRequest }], finishReason: 'tool-calls' }, GrowSet.of(), newId),
  );
  await drives.begin(open);
}

/** A request that the tool would not ask about would be a drill that no one sees. */
async function checkedAgent(drives: Drives, request: DrillRequest): Promise<AgentPort> {
  checkDrill(request);
  const { agent: name, tool: toolName, input } = request;
  const agent = drives.agent(drillAgent(name));
  const tool = agent.tools().get(toolName);
  const invalid = (message: string) => new UsageError('invalid-options', { agent: name, tool: toolName }, message);
  if (!tool) throw invalid(`A drill needs a tool of the agent ${name}, and ${toolName} is not one.`);
  const checked = await tool.input.validate(input);
  if (checked.ok) return agent;
  throw invalid(`The input of the drill does not fit the schema of ${toolName}: ${checked.problems.join('; ')}.`);
}

/** The drills of a worker. */
export class Drills {
  readonly #drives: Drives;
  readonly #options: DrillsOptions;
  #last: string | undefined;

  constructor(drives: Drives, options: DrillsOptions) {
    this.#drives = drives;
    this.#options = options;
  }

  /** Starts the drill that is due, unless another worker has. A drill that no worker starts within its hour is left out. */
  async look(): Promise<void> {
    await this.#drives.time.tell();
    const due = dueDrill(this.#options, this.#drives.clock());
    if (!due || due.runId === this.#last) return;
    // An invalid drill is reported once, not with every look.
    this.#last = due.runId;
    await startDrill(this.#drives, due.request, due.runId).catch((error: unknown) => {
      if (error instanceof ConflictError) return;
      if (!(error instanceof UsageError)) this.#last = undefined;
      throw error;
    });
  }
}
