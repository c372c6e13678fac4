// Calls a tool outside a loop, as a test does.
import { UsageError } from '../../core/errors.ts';
import { askGate, requestPayload } from './ask-gate.ts';
import type { DirectCallOptions, ToolContext, ToolDefinition } from './definition.ts';
import type { Validation } from './schema.ts';
import { InterruptSignal, rememberRequests } from './signal.ts';

/** Validates, asks the gate and runs the body. Rejects with `InterruptSignal` where a loop would pause. */
export async function callDirectly(
  definition: ToolDefinition,
  input: unknown,
  options: DirectCallOptions,
): Promise<unknown> {
  const { name } = definition;
  const valid = await definition.input.validate(input);
  if (!valid.ok) throw notFitting('input', name, valid);
  const memory = rememberRequests(name);
  const callId = `direct-${crypto.randomUUID()}`;
  const ctx: ToolContext = {
    context: options.context ?? {},
    interrupt: memory.interrupt,
    resumed: options.resumed,
    step: async (_name, work) => work(),
    commitPoint: async () => undefined,
    signal: options.signal ?? new AbortController().signal,
    callId,
    idempotencyKey: callId,
    metadata: {},
  };
  if (!definition.body) throw new InterruptSignal(await requestPayload(definition, valid.value), name);
  const approval =
    options.approved || options.resumed !== undefined ? false : (await askGate(definition, valid.value, ctx)).said;
  if (approval !== false) throw new InterruptSignal(approval, name);
  const output = await definition.body(valid.value, ctx, { ref: callId });
  const first = memory.first();
  if (first) throw new InterruptSignal(first.payload, name);
  const checked = await definition.output.validate(output);
  if (!checked.ok) throw notFitting('output', name, checked);
  return checked.value;
}

function notFitting(what: 'input' | 'output', tool: string, { problems }: Validation & { ok: false }): UsageError {
  const message = `The ${what} of tool ${tool} does not fit its schema: ${problems.join('; ')}.`;
  return new UsageError('invalid-options', { tool, problems }, message);
}
