// Sends one decision for several requests, each bound to its own card, and keeps what became of each.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api/request.ts';
import type { ApiRequest, DecisionOutcome } from '../api/wire.ts';
import { removeRow } from '../inbox/use-decided-row.ts';

export type Verb = 'approve' | 'reject';

export type DecideTogether = {
  readonly outcomes: ReadonlyMap<string, DecisionOutcome>;
  /** While it sends: how many are done. */
  readonly sending: { readonly verb: Verb; readonly done: number; readonly total: number } | undefined;
  /** Why the rest was not sent. */
  readonly failure: Error | undefined;
  send(verb: Verb, items: readonly ApiRequest[], reason: string): Promise<void>;
  forget(ids: readonly string[]): void;
};

/** Few enough for progress that moves. */
const AT_ONCE = 25;

export function useDecideTogether(): DecideTogether {
  const client = useQueryClient();
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, DecisionOutcome>>(new Map());
  const [sending, setSending] = useState<DecideTogether['sending']>();
  const [failure, setFailure] = useState<Error>();

  async function sendSome(verb: Verb, items: readonly ApiRequest[], reason: string): Promise<void> {
    const { items: found } = await request<{ readonly items: readonly DecisionOutcome[] }>('decisions', {
      method: 'POST',
      body: {
        items: items.map(({ id, digest }) => ({ requestId: id, digest, decision: { type: verb } })),
        ...(reason !== '' && { [verb === 'reject' ? 'reason' : 'note']: reason }),
      },
    });
    setOutcomes((known) => new Map([...known, ...found.map((outcome) => [outcome.requestId, outcome] as const)]));
    // A request that was voted on waits for others.
    for (const { status, requestId } of found)
      if (status === 'settled' || status === 'waiting') removeRow(client, requestId);
  }

  return {
    outcomes,
    sending,
    failure,
    send: async (verb, items, reason) => {
      if (sending) return;
      setFailure(undefined);
      try {
        for (let done = 0; done < items.length; done += AT_ONCE) {
          setSending({ verb, done, total: items.length });
          await sendSome(verb, items.slice(done, done + AT_ONCE), reason);
        }
      } catch (error) {
        // The rest stays selected, and sending it again is safe.
        setFailure(error instanceof Error ? error : new Error(String(error)));
      }
      setSending(undefined);
      void client.invalidateQueries({ queryKey: ['requests'] });
    },
    forget: (ids) => {
      const gone = new Set(ids);
      setOutcomes((known) => new Map([...known].filter(([id]) => !gone.has(id))));
    },
  };
}
