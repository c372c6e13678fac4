// The context that the body of a call, and its gate, get beside the input.

import { copyOf, defined, toJson } from '../../core/json.ts';
import { openMetadata } from '../../core/messages/turn-messages.ts';
import { type Call, isOver } from '../../core/run/call.ts';
import { event, type RunEvent } from '../../core/run/event.ts';
import type { Driver, Run } from '../run.ts';
import { resumedOf } from '../tool/continuation.ts';
import type { ApprovalContext, SubAgentContext, ToolContext } from '../tool/definition.ts';
import { LostSignal } from '../tool/signal.ts';
import { sourcesOf } from './origins.ts';

/** `unbegun` collects the steps whose work has not begun. */
export function bodyContext(
  run: Run,
  driver: Driver,
  call: Call,
  interrupt: ToolContext['interrupt'],
  unbegun: string[],
): ToolContext {
  return {
    context: driver.context,
    interrupt,
    resumed: resumedOf(call),
    step: stepsOf(run, call, unbegun),
    commitPoint: () => quietlyLost(note(run, call, event({ type: 'call-committed', callId: call.id }))),
    signal: driver.signal ?? NEVER,
    callId: call.id,
    idempotencyKey: call.id,
    metadata: openMetadata(call),
  };
}

export const approvalContext = (driver: Driver, call: Call): ApprovalContext => ({
  context: driver.context,
  callId: call.id,
  metadata: openMetadata(call),
  signal: driver.signal ?? NEVER,
});

const NEVER = new AbortController().signal;

export function subAgentContext(run: Run, driver: Driver, call: Call): SubAgentContext {
  const { signal, emit } = driver;
  const { tools, policies, outer, usesOrigins } = driver;
  const sources = usesOrigins ? () => sourcesOf({ tools, policies, outer, state: run.state }) : undefined;
  return defined({ ref: call.ref, signal, emit, record: run.subAgentRecord(call, driver), outer: sources });
}

function stepsOf(run: Run, call: Call, unbegun: string[]): ToolContext['step'] {
  let counts: Map<string, number> | undefined;
  const once: ToolContext['step'] = async (name, work) => {
    if (typeof name !== 'string' || typeof work !== 'function')
      throw new TypeError('A step takes a name and a function: step(name, () => work).');
    counts ??= new Map();
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    const step = count === 1 && !name.includes('#') ? name : `${name}#${count}`;
    const done = call.steps.get(step);
    if (done !== undefined) return copyOf(done) as never;
    unbegun.push(step);
    try {
      await run.checkHold(call);
    } finally {
      unbegun.splice(unbegun.indexOf(step), 1);
    }
    const output = toJson(await work());
    if (!output.ok)
      throw new TypeError(`The result of step ${step} of tool ${call.name} is not JSON: ${output.problem}.`);
    await note(run, call, event({ type: 'step-done', callId: call.id, step, output: output.value }));
    return copyOf(output.value) as never;
  };
  return (name, work) => quietlyLost(once(name, work));
}

/** A body that does not await it ignores the `LostSignal`. That must not end the process as an unhandled rejection. */
function quietlyLost<T>(doing: Promise<T>): Promise<T> {
  const given = new Promise<T>((resolve, reject) => {
    doing.then(resolve, (error: unknown) => {
      if (error instanceof LostSignal) given.catch(() => undefined);
      reject(error);
    });
  });
  return given;
}

/** Records an event of the body, unless the call already has its result. Resolves once it is durable. */
async function note(run: Run, call: Call, noted: RunEvent): Promise<void> {
  if (isOver(run.state, call.id)) throw new LostSignal(call.name);
  run.record(noted);
  await run.checkHold(call);
}
