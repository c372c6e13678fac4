// Counts and logs what this process records: runs that start and rest, and decisions.
import type { Countersign } from 'countersign';
import { timelineOf } from 'countersign/request';
import { type Append, internalsOf } from 'countersign/store';
import type { Log } from '../log.ts';
import type { Measures } from './measures.ts';

/** Without a log, nothing is read for it. */
type RecordWatch = { readonly measures: Measures; readonly log: Log | undefined; readonly logInputs: boolean };

/** The stored settlement; a withdrawn request has no decision. */
type Settlement = {
  readonly decision?: { readonly type?: unknown };
  readonly by?: unknown;
  readonly channel?: unknown;
  readonly note?: unknown;
};

/** Watches until the returned function is called. */
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

  async function decided(runId: string, requestId: string, settlement: Settlement): Promise<void> {
    const { decision, by, note } = settlement;
    const outcome = decision?.type;
    if (typeof outcome !== 'string') return;
    const channel = channelOf(settlement);
    measures.decided(outcome, channel);
    if (!log) return;
    // The settlement does not name the tool and its input.
    const { agent, tool, input } = await ai.runs.request(requestId);
    log('info', 'decided', {
      ...{ requestId, runId, agent, tool, outcome, by, channel },
      ...(logInputs && { input, decision, note }),
    });
  }

  return internalsOf(ai).onAppend((append, { agent }) => {
    started(append);
    for (const entry of timelineOf(append.events))
      if (entry.type === 'model-replied' && entry.usage) measures.tokensUsed(agent, entry.usage);
    if (append.status !== 'running') measures.runRested(append.status);
    for (const { id, settlement } of append.settled)
      decided(append.runId, id, (settlement ?? {}) as Settlement).catch((error: unknown) =>
        log?.('warn', 'decided', { requestId: id, runId: append.runId, error }),
      );
  });
}

function channelOf({ by, channel }: Settlement): string {
  if (typeof channel === 'string') return channel;
  return by === 'deadline' ? 'deadline' : 'none';
}
