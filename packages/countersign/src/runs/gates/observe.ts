// Records a call that its caller runs without asking, because rules only observe it: whom they would have asked, and why.
import { defined, type Json } from '../../core/json.ts';
import { event, type RunEvent } from '../../core/run/event.ts';
import { judge } from '../../loop/call/judging/judge.ts';
import type { CallGate } from './call-gate.ts';
import { describedTool, type ToolDescription } from './described-tool.ts';

/** A call that runs now. `key` identifies it: the same one is recorded once. */
export type ObservedCallOf = { readonly input: Json; readonly key: string; readonly by?: string };

/** One append holds the call, what was observed and its end, so no crash leaves a request behind. False if no rule observes it. */
export async function observeCall(
  calls: CallGate,
  description: ToolDescription,
  { input, key, by }: ObservedCallOf,
): Promise<boolean> {
  const { asksByDefault: _gate, ...described } = describedTool(description);
  // The caller has judged it: no rule asks or denies.
  const tool = { ...described, needsApproval: false };
  const runId = calls.runIdOf(tool.name, key);
  const requesters = by === undefined ? [] : [by];
  const driver = { ...calls.port.driver(undefined), asker: { runId, agent: calls.name, startedBy: by ?? null } };
  const ctx = { context: {}, callId: '', metadata: {}, signal: new AbortController().signal };
  const judged = await judge(driver, { tool, input, json: input, ctx, requesters });
  if (judged.then !== 'run' || !judged.says || !judged.observed || (await calls.read(runId))) return false;
  const { says, observed } = judged;
  const ends = (callId: string): readonly RunEvent[] => [
    event({ type: 'call-judged', callId, says, observed: { ...observed, requesters } }),
    event({ type: 'call-settled', callId, result: { type: 'output', output: RAN } }),
  ];
  const opening = { key, tool: description as unknown as Json };
  await calls.start(runId, opening, { tool: tool.name, input }, { ...defined({ by }), ends });
  return true;
}

const RAN = 'It ran without a request; its result is not recorded.';
