// One call of a server's tool. If the server asks, the request is recorded, a person answers, and the call continues.
import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client';
import { NotPerformed, OutcomeUnknown } from '../core/errors.ts';
import { isObject, type Json, sameJson } from '../core/json.ts';
import { checkablePart } from '../loop/tool/data-schema.ts';
import type { ToolContext } from '../loop/tool/definition.ts';
import type { JsonSchema } from '../models/model.ts';
import type { Answered, Connection, Reply, Sending } from './connection.ts';
import { LostRequest, LostTask } from './failure.ts';
import { outputOf } from './output.ts';
import { LOST, TASK } from './server-task.ts';

/**
 * Starts the call once. Each request of the server and each answer is a step, so that the body, which runs again after an
 * answer, continues where it was: with the state that a server of 2026-07-28 gave, or with the open request of an older one.
 */
export async function callServer(
  connection: Connection,
  sending: Pick<Sending, 'tool' | 'timeoutMs'>,
  input: Json,
  ctx: ToolContext,
): Promise<unknown> {
  const answers = new Answers(ctx);
  let answered: Answered | undefined;
  const taskId = await taskOf(connection, { ...sending, input, signal: ctx.signal }, ctx);
  for (let round = 1; ; round++) {
    const sent = { ...sending, input, signal: ctx.signal, answered, taskId };
    const reply = await questionIn(ctx, `question ${round}`, () => connection.send(sent)).catch(
      async (error: unknown) => {
        if (error instanceof LostRequest) throw lost(error, ctx);
        if (taskId === undefined || ctx.signal.aborted || !isLost(error)) throw error;
        const { message } = error instanceof LostTask ? error : new LostTask(taskId, error);
        throw new OutcomeUnknown(await ctx.step(LOST, () => message));
      },
    );
    if (reply.result) return outputOf(sending.tool, reply.result);
    const given: Record<string, ElicitResult> = {};
    for (const [key, asked] of Object.entries(reply.requests))
      given[key] = await ctx.step(`answer ${round} ${key}`, () => answers.to(asked));
    answered = { ...reply, answers: given };
  }
}

/** Starts the task of a call once: the step has its id. */
async function taskOf(connection: Connection, sending: Sending, ctx: ToolContext): Promise<string | undefined> {
  if (!connection.runsAsTask(sending.tool)) return undefined;
  return ctx.step(TASK, () => connection.begin(sending));
}

/** The task was started, so not even a connection that cannot be used means that nothing was done. */
const isLost = (error: unknown): boolean =>
  error instanceof LostTask || error instanceof NotPerformed || error instanceof OutcomeUnknown;

/** Records a request as a step. A result is not recorded here: the engine records it as the result of the call. */
async function questionIn(ctx: ToolContext, name: string, send: () => Promise<Reply>): Promise<Reply> {
  let done: Reply | undefined;
  try {
    return await ctx.step(name, async () => {
      const reply = await send();
      if (!reply.result) return reply;
      done = reply;
      throw new Finished();
    });
  } catch (error) {
    if (done && error instanceof Finished) return done;
    throw error;
  }
}

/** Ends a step that has nothing to record. */
class Finished extends Error {}

/** The older server may have acted, and is not called twice. */
function lost({ message }: LostRequest, { metadata }: ToolContext): Error {
  const isSecondTry = isObject(metadata.decision) && metadata.decision.type === 'approve';
  // A person who lets it run again would be asked forever: the call itself cannot be continued.
  return isSecondTry ? new Error(`${message} Make a new call`) : new OutcomeUnknown(message);
}

class Answers {
  readonly #ctx: ToolContext;
  #isUsed = false;

  constructor(ctx: ToolContext) {
    this.#ctx = ctx;
  }

  /** The person's answer, if it is to this request; otherwise the call pauses and asks. */
  to(asked: ElicitRequestParams): ElicitResult {
    const { resumed, metadata, interrupt } = this.#ctx;
    const isUrl = asked.mode === 'url';
    const payload = { message: asked.message, ...(isUrl && { url: asked.url }) };
    // After a doubt the last decision was about something else, and its value is not an answer to this.
    if (this.#isUsed || !sameJson(metadata.resolvedInterrupt, payload))
      interrupt(payload, {
        answerSchema: isUrl ? FINISHED : checkablePart(asked.requestedSchema as JsonSchema),
        onReject: 'resume',
      });
    this.#isUsed = true;
    if (!('answer' in resumed) || (isUrl && resumed.answer === false)) return { action: 'decline' };
    return isUrl ? { action: 'accept' } : { action: 'accept', content: resumed.answer };
  }
}

const FINISHED = { type: 'boolean', title: 'I opened this address and finished there' };
