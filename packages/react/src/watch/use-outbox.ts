// The outbox: decisions on their way to the server, one POST at a time.
import { useCallback, useEffect, useRef, useState } from 'react';
import { type PostedDecision, unsendable } from '../card/decision.ts';
import { isBusy } from '../read-requests.ts';
import type { ChatLike } from '../request.ts';

export type Letter = { readonly posted: PostedDecision; readonly by: 'decisions' | 'plain' };

type Batch = readonly Letter[];

type Outbox = {
  /** Decisions made while the chat was busy. They are sent together when it is idle. */
  readonly waiting: Batch;
  readonly underWay: { readonly letters: Batch; readonly answered: boolean } | undefined;
  /** By request id: why the last decision could not be sent. */
  readonly failures: ReadonlyMap<string, Error>;
};

const EMPTY: Outbox = { waiting: [], underWay: undefined, failures: new Map() };

/** Posts decisions. A second decision on the same request is dropped while the first is in flight. */
export function useOutbox(chat: ChatLike) {
  const [outbox, setOutbox] = useState(EMPTY);
  // What React will only know after its next render: a double click comes sooner.
  const claimed = useRef(new Set<string>());
  const posting = useRef<Batch>(undefined);
  const { id: chatId, status, error } = chat;

  const send = useCallback((letter: Letter) => {
    const { requestId, decision } = letter.posted;
    if (claimed.current.has(requestId)) return;
    const problem = unsendable(decision, letter.by);
    if (problem !== undefined) {
      setOutbox((outbox) => ({ ...outbox, failures: new Map(outbox.failures).set(requestId, new Error(problem)) }));
      return;
    }
    claimed.current.add(requestId);
    setOutbox((outbox) => ({
      ...outbox,
      waiting: [...outbox.waiting, letter],
      failures: without(outbox.failures, [requestId]),
    }));
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: decisions of one chat are never sent to another.
  useEffect(
    () => () => {
      claimed.current.clear();
      posting.current = undefined;
      setOutbox(EMPTY);
    },
    [chatId],
  );

  useEffect(() => {
    const letters = outbox.waiting;
    if (letters.length === 0 || posting.current || isBusy(status)) return;
    posting.current = letters;
    setOutbox((outbox) => ({
      ...outbox,
      waiting: outbox.waiting.filter((letter) => !letters.includes(letter)),
      underWay: { letters, answered: false },
    }));
    post(chat, letters).then(
      () => {
        if (posting.current !== letters) return;
        // `sendMessage` resolves even if the POST failed; the chat's status says so, and the next render knows it.
        setOutbox((outbox) => ({ ...outbox, underWay: { letters, answered: true } }));
      },
      (reason: unknown) => {
        if (posting.current === letters) settle(letters, reason instanceof Error ? reason : new Error(String(reason)));
      },
    );
  });

  useEffect(() => {
    if (!outbox.underWay?.answered) return;
    settle(
      outbox.underWay.letters,
      status === 'error' ? (error ?? new Error('Could not send your decision.')) : undefined,
    );
  });

  function settle(letters: Batch, failure: Error | undefined) {
    const ids = letters.map(({ posted }) => posted.requestId);
    posting.current = undefined;
    for (const id of ids) claimed.current.delete(id);
    setOutbox((outbox) => ({
      ...outbox,
      underWay: undefined,
      failures: failure ? new Map([...outbox.failures, ...ids.map((id) => [id, failure] as const)]) : outbox.failures,
    }));
  }

  return { outbox, send };
}

/** The requests that this client is deciding now. */
export function onTheirWay({ waiting, underWay }: Outbox): ReadonlySet<string> {
  return new Set([...waiting, ...(underWay?.letters ?? [])].map(({ posted }) => posted.requestId));
}

async function post(chat: ChatLike, letters: Batch): Promise<void> {
  for (const { posted, by } of letters) if (by === 'plain') await answerPlainly(chat, posted);
  const decisions = letters.filter(({ by }) => by === 'decisions').map(({ posted }) => posted);
  if (decisions.length > 0) await chat.sendMessage(undefined, { body: { decisions } });
}

async function answerPlainly(chat: ChatLike, { requestId, decision }: PostedDecision): Promise<void> {
  const reason = decision.type === 'reject' || decision.type === 'cancel' ? decision.reason : undefined;
  await chat.addToolApprovalResponse?.({
    id: requestId,
    approved: decision.type === 'approve',
    ...(reason !== undefined && { reason }),
  });
}

function without(failures: ReadonlyMap<string, Error>, ids: readonly string[]): ReadonlyMap<string, Error> {
  return new Map([...failures].filter(([id]) => !ids.includes(id)));
}
