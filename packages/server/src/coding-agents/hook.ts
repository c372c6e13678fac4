// The hook of coding agents: one event as JSON in, one answer as JSON out. Claude Code and Codex send nearly the same events.
import { type Countersign, z } from 'countersign';
import { faultInJson } from 'countersign/store';
import { judge, type McpRules, observedTool, rulesFor, toolFacts } from '../mcp-gate/rules.ts';
import { type AgentCall, observe, type Permit, permit, report, settleDueCalls } from './permits.ts';

const Event = z.looseObject({
  hook_event_name: z.string(),
  session_id: z.string().min(1),
  tool_name: z.string().min(1).optional(),
  tool_input: z.json().optional(),
  tool_use_id: z.string().min(1).optional(),
  /** Only Codex sends it. */
  turn_id: z.string().optional(),
  tool_response: z.json().optional(),
  error: z.string().optional(),
});

export type HookOptions = {
  readonly ai: Countersign;
  readonly by: string;
  readonly rules: McpRules;
  readonly waitMs: number;
  readonly leaseMs: number;
  /** Ends the turn of the agent while the request is pending, instead of denying the call. */
  readonly defer: boolean;
};

/** The answer to an event; undefined if there is none. Throws if the event is not one that an agent sends. */
export async function answerHook(text: string, options: HookOptions): Promise<object | undefined> {
  const event = Event.parse(JSON.parse(text));
  checkText(text, event.hook_event_name.startsWith('PostToolUse'));
  const {
    hook_event_name: name,
    tool_name: tool,
    session_id: session,
    tool_use_id: id,
    tool_input: input = {},
  } = event;
  if (tool === undefined) throw new Error(`The event ${name} has no tool_name.`);
  const agent = event.turn_id === undefined ? 'claude-code' : 'codex';
  const call: AgentCall = { agent, tool, input, session, id };
  switch (name) {
    case 'PreToolUse':
    case 'PermissionRequest':
      await settleDueCalls(options.ai);
      return ask(name, call, options);
    case 'PostToolUse':
      return void (await reported(call, { output: event.tool_response ?? null }, options));
    case 'PostToolUseFailure':
      return void (await reported(call, { error: event.error ?? 'It failed.' }, options));
    default:
      throw new Error(`The event ${name} is not one that this hook answers.`);
  }
}

/** The agent may read a repeated key differently. In the output of a call that has run, keys may differ in case alone. */
function checkText(text: string, isReport: boolean): void {
  const fault = faultInJson(text, { depth: 1_000, values: 1_000_000, isStrict: !isReport });
  if (fault) throw new Error(`The event is refused: ${fault.problem}.`);
}

async function reported(call: AgentCall, end: Parameters<typeof report>[2], { ai }: HookOptions): Promise<void> {
  await report(ai, call, end);
  await settleDueCalls(ai);
}

/** A call that a rule allows is left to the permissions of the agent. */
async function ask(
  name: 'PreToolUse' | 'PermissionRequest',
  call: AgentCall,
  { rules, defer, ...options }: HookOptions,
): Promise<object | undefined> {
  const isCodex = call.agent === 'codex';
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
  const given: Permit =
    denied === undefined
      ? await permit(call, { ...options, reportsEnd: true, takesEdits: !isCodex, denial, described })
      : { allowed: false, isPending: false, text: `${call.tool} was not run: ${denied}` };
  return name === 'PreToolUse' ? preToolUse(given, isCodex, defer) : permissionRequest(given, isCodex);
}

function preToolUse(given: Permit, isCodex: boolean, defer: boolean): object {
  const answer = (fields: object) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...fields } });
  if (!given.allowed) {
    const permissionDecision = given.isPending && defer && !isCodex ? 'defer' : 'deny';
    return answer({ permissionDecision, permissionDecisionReason: given.text });
  }
  // Not every version of Codex takes an allow. An empty answer lets the call go on.
  if (isCodex) return {};
  return answer({
    permissionDecision: 'allow',
    permissionDecisionReason: 'A person approved this call.',
    updatedInput: given.input,
  });
}

/** Codex refuses an answer with another input. */
function permissionRequest(given: Permit, isCodex: boolean): object {
  const decision = given.allowed
    ? { behavior: 'allow', ...(isCodex ? {} : { updatedInput: given.input }) }
    : { behavior: 'deny', message: given.text };
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } };
}
