// The events of coding agents, and the answers that they read: each in its own words.
import { z } from 'countersign';
import { jsonHash } from '../json-hash.ts';
import type { AgentName } from './agent-names.ts';
import type { AgentCall, Permit, report } from './permits.ts';

const text = z.string().min(1).optional();

const Event = z.looseObject({
  hook_event_name: z.string(),
  session_id: z.string().min(1).optional(),
  /** The name of Cursor for the session. */
  conversation_id: text,
  tool_name: z.string().min(1),
  tool_input: z.json().optional(),
  tool_use_id: text,
  cwd: z.string().optional(),
  workspace_roots: z.array(z.string()).optional(),
  /** Only Codex sends it. */
  turn_id: z.string().optional(),
  error: z.string().optional(),
  error_message: z.string().optional(),
});

export type HookEvent =
  | { readonly type: 'ask'; readonly name: 'PreToolUse' | 'PermissionRequest'; readonly call: AgentCall }
  | { readonly type: 'end'; readonly call: AgentCall; readonly end: Parameters<typeof report>[2] };

/** Throws if the event is not one that an agent sends. */
export function readEvent(value: unknown, from: AgentName | undefined): HookEvent {
  const event = Event.parse(value);
  const agent = from ?? (event.turn_id === undefined ? 'claude-code' : 'codex');
  const session = event.session_id ?? event.conversation_id;
  if (session === undefined) throw new Error(`The event ${event.hook_event_name} has no session_id.`);
  const { tool_name: tool, tool_input: input = {}, tool_use_id: id } = event;
  const folder = event.cwd || event.workspace_roots?.[0];
  const call: AgentCall = { agent, tool, input, session, id, folder };
  switch (event.hook_event_name) {
    case 'PreToolUse':
    case 'preToolUse':
    case 'BeforeTool':
      return { type: 'ask', name: 'PreToolUse', call };
    case 'PermissionRequest':
      return { type: 'ask', name: 'PermissionRequest', call };
    case 'PostToolUse':
    case 'postToolUse':
    case 'AfterTool':
      return {
        type: 'end',
        call,
        end: { output: event.tool_response ?? event.tool_result ?? event.tool_output ?? null },
      };
    case 'PostToolUseFailure':
    case 'postToolUseFailure':
      return { type: 'end', call, end: { error: event.error ?? event.error_message ?? 'It failed.' } };
    default:
      throw new Error(`The event ${event.hook_event_name} is not one that this hook answers.`);
  }
}

/** The answer to an event that asks; undefined: none. `given` is undefined for a call that is left to the permissions of the agent. */
export function answerTo(
  { name, call }: HookEvent & { readonly type: 'ask' },
  given: Permit | undefined,
  defer: boolean,
): object | undefined {
  const { agent } = call;
  // Without an answer, Cursor takes its hook for one that failed.
  if (given === undefined) return agent === 'cursor' ? { permission: 'allow' } : undefined;
  if (name === 'PermissionRequest') return permissionRequest(given, agent === 'codex');
  const edited = given.allowed && jsonHash(given.input) !== jsonHash(call.input) ? given.input : undefined;
  switch (agent) {
    case 'cursor':
      if (!given.allowed) return { permission: 'deny', user_message: given.text, agent_message: given.text };
      return { permission: 'allow', ...(edited !== undefined && { updated_input: edited }) };
    case 'gemini-cli':
      if (!given.allowed) return { decision: 'deny', reason: given.text };
      return {
        decision: 'allow',
        ...(edited !== undefined && { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: edited } }),
      };
    case 'copilot-cli':
      if (!given.allowed) return { permissionDecision: 'deny', permissionDecisionReason: given.text };
      return { permissionDecision: 'allow', ...(edited !== undefined && { modifiedArgs: edited }) };
    case 'claude-code':
    case 'codex':
    case 'opencode':
      return preToolUse(given, agent, defer);
  }
}

function preToolUse(given: Permit, agent: AgentName, defer: boolean): object {
  const answer = (fields: object) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...fields } });
  if (!given.allowed) {
    const permissionDecision = given.isPending && defer && agent === 'claude-code' ? 'defer' : 'deny';
    return answer({ permissionDecision, permissionDecisionReason: given.text });
  }
  // Not every version of Codex takes an allow. An empty answer lets the call go on.
  if (agent === 'codex') return {};
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
