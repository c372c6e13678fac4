// One call of a tool, in three stages: find its tool, ask its gate, run its body.

import { messageOf } from '../../core/errors.ts';
import { type Call, callOf, owesRecall } from '../../core/run/call.ts';
import type { Driver, Run } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { runBody } from './body.ts';
import { changedKind, isNew, passGate, passLimits } from './gate.ts';
import { askUnavailable } from './pause.ts';
import { askRecall } from './recall.ts';
import { failed, settle } from './result.ts';

/** Never rejects: every outcome of the call becomes an event of the run. */
export async function runCall(run: Run, driver: Driver, call: Call): Promise<void> {
  const found = findTool(run, driver, call);
  const tool = found instanceof Promise ? await found : found;
  if (!tool) return;
  try {
    const passing = passGate(run, driver, tool, call);
    const input = passing instanceof Promise ? await passing : passing;
    if (input === undefined || driver.signal?.aborted) return;
    const passed = callOf(run.state, call.id);
    if (passed && owesRecall(passed)) await askRecall(run, driver, tool, passed);
    else {
      const counting = passLimits(run, driver, tool, call, input);
      if (counting === true || (await counting)) await runBody(run, driver, tool, call, input.value);
    }
  } catch (error) {
    const text = `The tool ${call.name} could not be run: ${messageOf(error)}`;
    // A schema may throw, for example when it looks something up. An approved call then waits, as if its input did not fit.
    const isUntouched = callOf(run.state, call.id)?.phase.at === call.phase.at;
    if (isUntouched && run.waitsForTool(call)) await askUnavailable(run, driver, tool, call, text);
    else settle(run, call, failed(text));
  }
}

/** Undefined if the tool is missing or has changed since the call was approved; the call is then answered or waits. */
function findTool(run: Run, driver: Driver, call: Call): ToolDefinition | undefined | Promise<undefined> {
  const tool = driver.tools.get(call.name);
  if (!tool) {
    if (run.waitsForTool(call))
      return unavailable(run, driver, tool, call, `The tool ${call.name} is no longer available.`);
    settle(run, call, failed(unknownTool(call.name, driver)));
    return undefined;
  }
  const change = isNew(call) ? undefined : changedKind(tool, call);
  return change === undefined ? tool : unavailable(run, driver, tool, call, change);
}

async function unavailable(...asked: Parameters<typeof askUnavailable>): Promise<undefined> {
  await askUnavailable(...asked);
}

function unknownTool(name: string, { tools }: Driver): string {
  const known = [...tools.keys()];
  return `Unknown tool ${name}. ${known.length > 0 ? `Available tools: ${known.join(', ')}.` : 'No tools are available.'}`;
}
