// The loop: ask the core for the next step, do it, record the outcome.
import { ProviderError } from '../core/errors.ts';
import { event } from '../core/run/event.ts';
import { next } from '../core/run/next.ts';
import { replyEvents } from '../core/run/reply.ts';
import { untilAborted } from '../models/abort.ts';
import type { ModelReply } from '../models/model.ts';
import { settleDoubt } from './call/doubt.ts';
import { runCall } from './call/run-call.ts';
import type { Driver, Run } from './run.ts';
import { modelChunk } from './stream/chunk.ts';

/** Drives the run until it finishes, waits for a person, or stops. Rejects if the model does. */
export async function drive(run: Run, driver: Driver): Promise<void> {
  for (;;) {
    if (driver.signal?.aborted && !run.state.ended) return run.record(event({ type: 'run-ended', reason: 'aborted' }));
    if (driver.worker?.isStopping()) return;
    const step = next(run.state, driver.limits);
    switch (step.do) {
      case 'call-model':
        await callModel(run, driver);
        break;
      case 'run-calls':
      case 'settle-doubt': {
        const act = step.do === 'run-calls' ? runCall : settleDoubt;
        const acting = step.calls.map((call) => orAborted(act(run, driver, call), driver, call.name));
        await (acting.length === 1 ? acting[0] : Promise.all(acting));
        if (run.failures.length > 0) return;
        break;
      }
      case 'stop':
        return run.record(event({ type: 'run-ended', reason: step.reason }));
      case 'wait':
      case 'finish':
        return;
    }
  }
}

async function callModel(run: Run, driver: Driver): Promise<void> {
  const { model, emit } = driver;
  const index = run.replies;
  const { signal, answered } = untilGivenUp(driver);
  const messages = run.state.history.toArray();
  const request = signal ? { ...driver.request, messages, signal } : { ...driver.request, messages };
  let reply: ModelReply;
  try {
    reply = await untilAborted(model.reply(request, emit && ((chunk) => emit(modelChunk(chunk, index)))), signal);
  } catch (error) {
    // The loop sees the abort or the stop next; an incomplete reply is dropped.
    if (signal?.aborted) return;
    throw error;
  } finally {
    answered();
  }
  if (!Array.isArray(reply?.content))
    throw new ProviderError('provider-failed', { model: model.name }, `The model ${model.name} gave no content.`, {
      retryable: false,
    });
  run.recordReply(replyEvents({ ...reply, model: model.name }, run.state.refs, driver.newId));
}

/** Aborts with the run, or once a stop stops waiting. Not `AbortSignal.any`: V8 keeps it until the next full collection. */
function untilGivenUp({ signal, worker }: Driver): {
  readonly signal: AbortSignal | undefined;
  readonly answered: () => void;
} {
  if (!worker || !signal) return { signal, answered: NOTHING };
  const left = new AbortController();
  const leave = () => left.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  const forget = worker.onGiveUp(leave);
  const answered = () => {
    forget();
    signal.removeEventListener('abort', leave);
  };
  return { signal: left.signal, answered };
}

const NOTHING = (): void => undefined;

/** An abort does not wait for a tool that ignores it, but for a sub-agent, which stops by itself and keeps its work. */
function orAborted(work: Promise<void>, { signal, tools, worker }: Driver, name: string): Promise<void> {
  if (!signal || tools.get(name)?.innerTools) return work;
  return untilAborted(work, signal).catch(() => worker?.onLeft(work));
}
