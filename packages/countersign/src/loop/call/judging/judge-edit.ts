// An edit asks every source anew: what the gate, the rules and the application say of the edited input governs what follows.
import { defined, type Json } from '../../../core/json.ts';
import type { Bound } from '../../../core/request/request.ts';
import type { Call } from '../../../core/run/call.ts';
import type { Driver } from '../../run.ts';
import type { ToolDefinition } from '../../tool/definition.ts';
import { approvalContext } from '../body-context.ts';
import { runsWithOf, validInput } from '../bound-input.ts';
import { type Conversation, type LazyOrigins, lazyOrigins } from '../origins.ts';
import { judge } from './judge.ts';
import type { Judged } from './judged.ts';

export type JudgedEdit =
  | { readonly ok: false; readonly why: string }
  /** `call`: the call with the edited input. */
  | {
      readonly ok: true;
      readonly call: Call;
      readonly bound: Bound;
      readonly judged: Exclude<Judged, { then: 'deny' }>;
      readonly origins?: LazyOrigins;
    };

const notDefined = (name: string): string => `The tool ${name} is not defined in this process`;

/** `tool`: undefined if this process does not have it, so that nothing can be asked. */
export async function judgeEdit(
  driver: Driver,
  tool: ToolDefinition | undefined,
  asked: Call,
  input: Json,
  requesters: readonly string[],
  conversation?: Conversation,
): Promise<JudgedEdit> {
  if (!tool || tool.gateIsElsewhere) {
    const what = tool ? `The gate of ${asked.name} is a function of another process` : notDefined(asked.name);
    return { ok: false, why: `${what}, so it cannot be asked about the edit. Decide where it is.` };
  }
  const call: Call = { ...asked, input, runsWith: undefined, approvedPreview: undefined };
  const parsed = await validInput(tool, call);
  if (!parsed.ok) return { ok: false, why: parsed.text };
  const bound = await runsWithOf(tool, call, parsed.value);
  const { runsWith: json = input } = bound;
  const ctx = approvalContext(driver, call);
  const edit = { proposed: asked.edit ? asked.edit.proposed : asked.input };
  const origins = conversation && lazyOrigins(conversation, tool, { input, edit }, bound);
  const judged = await judge(driver, { tool, input: parsed.value, json, ctx, requesters, ...defined({ origins }) });
  if (judged.then === 'deny') return { ok: false, why: judged.why };
  // Whoever chooses the input must not choose one about which the gate cannot say who decides.
  if (judged.then === 'ask' && judged.failure !== undefined) return { ok: false, why: `${judged.failure}.` };
  return { ok: true, call, bound, judged, ...defined({ origins }) };
}
