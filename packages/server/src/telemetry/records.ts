// What this process records, counted and logged: runs that begin and questions that are decided, through whatever they were.
import type { Append, Countersign } from 'countersign';
import type { Log } from './log.ts';
import type { Measures } from './measures.ts';

export type RecordWatch = {
  readonly measures: Measures;
  /** Undefined where nobody keeps a log: then nothing is read for it. */
  readonly log: Log | undefined;
  readonly logInputs: boolean;
};

/** What is kept of a decision; a question that was withdrawn has none. */
type Settlement = {
  readonly decision?: { readonly type?: unknown };
  readonly by?: unknown;
  readonly channel?: unknown;
  readonly note?: unknown;
};

/** Returns how to stop. */
export function watchRecords(ai: Countersign, { measures, log, logInputs }: RecordWatch): () => void {
  function started({ create, events }: Append): void {
    if (!create) return;
    measures.runStarted(create.agent);
    const said = events.find((event) => event.type === 'user-spoke');
    log?.('info', 'started', {
      runId: create.id,
      agent: create.agent,
      by: create.startedBy,
      ...(logInputs && { messages: said?.messages }),
    });
  }

  async function decided(runId: string, interruptId: string, settlement: Settlement): Promise<void> {
    const { decision, by, note } = settlement;
    const outcome = decision?.type;
    if (typeof outcome !== 'string') return;
    const channel = channelOf(settlement);
    measures.decided(outcome, channel);
    if (!log) return;
    // The decision alone does not say on what it was made.
    const { agent, tool, input } = await ai.runs.interrupt(interruptId);
    log('info', 'decided', {
      ...{ interruptId, runId, agent, tool, outcome, by, channel },
      ...(logInputs && { input, decision, note }),
    });
  }

  return ai.onAppend((append) => {
    started(append);
    for (const { id, settlement } of append.settled)
      decided(append.runId, id, (settlement ?? {}) as Settlement).catch((error: unknown) =>
        log?.('warn', 'decided', { interruptId: id, runId: append.runId, error }),
      );
  });
}

/** The engine decides in the name of the deadline. */
function channelOf({ by, channel }: Settlement): string {
  if (typeof channel === 'string') return channel;
  return by === 'deadline' ? 'deadline' : 'none';
}
