// Makes a notice for a channel from the current request.

import { isObject, type Json } from '../../core/json.ts';
import type { RequestNotice } from '../../core/request/notice.ts';
import type { Directory } from '../people.ts';
import { shortHash } from '../port/chain.ts';
import type { RunRequest } from '../requests/view.ts';
import type { Notice, NoticeLinks, Recipient } from './channel.ts';
import type { Told } from './entries.ts';

type MaybePromise<T> = T | Promise<T>;

/** What a server adds: the pages of requests, and who may read them. */
export type NoticeHost = {
  /** The pages about a request for a person, or for everyone on a shared channel; null if there are none. */
  readonly links?: (
    request: RunRequest,
    to: { readonly channel: string; readonly recipient: Recipient | null },
  ) => MaybePromise<NoticeLinks | null>;
  /** What a notice shows besides the request: the labels of its input, and the names of its people. */
  readonly describe?: (request: RunRequest) => MaybePromise<Pick<Notice, 'inputSchema' | 'names'>>;
  /** Whether a person may read the request; everyone by default. Asked before each delivery to a person. */
  readonly mayRead?: (request: RunRequest, person: string) => MaybePromise<boolean>;
  /** Whether only the default of the server names deciders: then `notify.everyone` is told, if it names someone. */
  readonly isForEveryone?: (request: RunRequest) => boolean;
};

export type Composing = {
  readonly channel: string;
  readonly people: Pick<Directory, 'contactOf'>;
  readonly host: NoticeHost;
};

/** More people are not listed in a notice of a shared channel. */
const MOST_NAMED = 100;

/** `person`: the recipient on a channel for each person. */
export async function noticeFor(
  notice: RequestNotice,
  card: RunRequest,
  person: string | null,
  to: readonly Told[],
  attempt: number,
  { channel, people, host }: Composing,
): Promise<Notice> {
  const { id: requestId, runId, agent, tool, title, kind, risk, expiresAt, settlement, outcome } = card;
  const isTitleOnly = card.notice === 'title-only';
  const naming = to.slice(0, MOST_NAMED).map(async ({ person, why, onBehalfOf }): Promise<Recipient> => {
    const contact = (await people.contactOf?.(person)) ?? {};
    return { person, why, ...(onBehalfOf !== undefined && { onBehalfOf }), contact };
  });
  const recipients = await Promise.all(naming);
  const described = isTitleOnly ? {} : await host.describe?.(card);
  const recipient = person === null ? null : (recipients[0] ?? null);
  return {
    key: `notice_${shortHash(JSON.stringify([channel, requestId, person, notice.key]))}`,
    type: notice.type,
    at: notice.at,
    number: notice.number,
    requestId,
    runId,
    agent,
    tool,
    title: title ?? tool,
    kind,
    risk,
    expiresAt,
    card: isTitleOnly ? null : card,
    ...described,
    settlement: isTitleOnly ? withoutContent(settlement) : settlement,
    outcome: isTitleOnly ? withoutText(outcome) : outcome,
    to: recipients,
    links: (await host.links?.(card, { channel, recipient })) ?? null,
    attempt,
  };
}

/** What came of the call, without its result and its error. */
function withoutText(outcome: RunRequest['outcome']): RunRequest['outcome'] {
  if (outcome?.state === 'done') return { ...outcome, text: null };
  return outcome?.state === 'failed' ? { ...outcome, text: '' } : outcome;
}

/** Who decided what, without edits, answers, reasons and notes. */
function withoutContent(settlement: RunRequest['settlement']): RunRequest['settlement'] {
  if (settlement === null) return null;
  if (settlement.decision === undefined) return { withdrawn: true, by: settlement.by ?? null, at: settlement.at };
  const { decision, by, channel, at } = settlement;
  const type: Json = isObject(decision) ? ((decision as { readonly type?: Json }).type ?? null) : decision;
  return { decision: { type }, by, channel, note: null, at };
}
