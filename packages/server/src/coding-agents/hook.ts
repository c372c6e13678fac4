// The hook of coding agents: one event as JSON in, one answer as JSON out.
import { faultInJson } from 'countersign/store';
import { judge, type McpRules, observedTool, rulesFor, toolFacts } from '../mcp-gate/rules.ts';
import type { AgentName } from './agent-names.ts';
import { answerTo, type HookEvent, readEvent } from './hook-answers.ts';
import { type AgentCall, observe, type Permit, type PermitOptions, permit, report, settleDueCalls } from './permits.ts';

export type HookOptions = Pick<PermitOptions, 'ai' | 'server' | 'by' | 'waitMs' | 'leaseMs'> & {
  readonly rules: McpRules;
  /** The agent that sends the event; undefined: Claude Code or Codex, by the event. */
  readonly from?: AgentName | undefined;
  /** Ends the turn of the agent while the request is pending, instead of denying the call. */
  readonly defer: boolean;
};

/** The tool of a sample call, which is always denied: it shows that the hook reaches its store or server. */
export const SAMPLE_TOOL = 'countersign-sample';
export const SAMPLE_ANSWER = 'This sample call reached Countersign.';

/** The answer to an event; undefined if there is none. Throws if the event is not one that an agent sends. */
export async function answerHook(text: string, options: HookOptions): Promise<object | undefined> {
  const event = readEvent(JSON.parse(text), options.from);
  checkText(text, event.type === 'end');
  if (event.type === 'end') {
    await report(options, event.call, event.end);
    await settleDueCalls(options);
    return undefined;
  }
  await settleDueCalls(options);
  return answerTo(event, await permitOf(event, options), options.defer);
}

/** The agent may read a repeated key differently. In the output of a call that has run, keys may differ in case alone. */
function checkText(text: string, isReport: boolean): void {
  const fault = faultInJson(text, { depth: 1_000, values: 1_000_000, isStrict: !isReport });
  if (fault) throw new Error(`The event is refused: ${fault.problem}.`);
}

/** Undefined for a call that a rule allows: it is left to the permissions of the agent. */
async function permitOf(
  { name, call }: HookEvent & { readonly type: 'ask' },
  { rules, ...options }: HookOptions,
): Promise<Permit | undefined> {
  if (call.tool === SAMPLE_TOOL) {
    await options.server?.me();
    return { allowed: false, text: SAMPLE_ANSWER, isPending: false };
  }
  const tool = { name: call.tool };
  const judged = (input: unknown) => judge(rules, { tool, input, agent: call.agent });
  const denial = (input: unknown) => {
    const result = judged(input);
    return result.then === 'deny' ? result.why : undefined;
  };
  const said = judged(call.input);
  const described = { ...toolFacts(rules, call.tool), rules: rulesFor(rules, tool) };
  if (said.then === 'run') {
    // PermissionRequest asks about the same call again.
    if (said.observed && name === 'PreToolUse') await observe(call, options, observedTool(rules, described));
    return undefined;
  }
  const denied = denial(call.input);
  if (denied !== undefined) return { allowed: false, isPending: false, text: `${call.tool} was not run: ${denied}` };
  return permit(call, { ...options, reportsEnd: true, takesEdits: takesEdits(call), denial, described });
}

/** Codex runs no other input than its own. */
const takesEdits = ({ agent }: AgentCall): boolean => agent !== 'codex';
