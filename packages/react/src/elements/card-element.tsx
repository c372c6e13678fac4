// <countersign-card>: one request, from a property or from a server.
import type { RequestCard } from 'countersign/ui';
import { useMemo } from 'react';
import { ApprovalCard } from '../card/approval-card.tsx';
import { DecidedCard } from '../card/decided-card.tsx';
import type { PostedDecision } from '../card/decision.ts';
import type { ChatLike } from '../request.ts';
import { useRequests } from '../use-requests.ts';
import { attributes, CountersignElement, properties } from './element.tsx';
import { Loaded } from './loaded.tsx';
import { decideAt, loadCard } from './server-request.ts';

/** The event of a decision. A listener sends it and answers with `respondWith`. */
export class DecideEvent extends CustomEvent<PostedDecision> {
  /** The promise of the first listener that answered. */
  answer: Promise<RequestCard | undefined> | undefined;

  /** `sent` resolves once the decision is recorded, with the card as it is then, and rejects if that is not known. */
  respondWith(sent: Promise<RequestCard | undefined | void>): void {
    this.answer ??= Promise.resolve(sent).then((card) => card ?? undefined);
    this.preventDefault();
  }
}

export class CountersignCard extends CountersignElement {
  /** The request, as a server or a chat sends it. */
  declare request: RequestCard | undefined;

  /** Whether a decided request is one line that opens. */
  declare compact: boolean | string | null;

  /** The address that the request was read from, if it was. */
  #readFrom: string | undefined;

  /** Reads the request again from `url`. */
  async reload(): Promise<void> {
    const { url } = this;
    if (url === null) return;
    const request = await loadCard(url, this.source);
    // The page may have named another one meanwhile.
    if (url !== this.url) return;
    this.#readFrom = url;
    this.request = request;
  }

  protected view(): unknown {
    const { request, url, compact, level } = this;
    const isOther = url !== null && this.#readFrom !== undefined && this.#readFrom !== url;
    if (!request || isOther) return url === null ? null : <Loaded key={url} load={() => this.reload()} />;
    if (compact !== null && request.status === 'decided') return <DecidedCard request={request} />;
    return <OneCard request={request} headingLevel={level} decide={(posted) => this.#decide(posted)} />;
  }

  async #decide(posted: PostedDecision): Promise<void> {
    const decided = new DecideEvent('countersign-decide', {
      detail: posted,
      bubbles: true,
      composed: true,
      cancelable: true,
    });
    this.dispatchEvent(decided);
    const { request, url } = this;
    let card: RequestCard | undefined;
    if (decided.answer !== undefined) card = await decided.answer;
    else if (url !== null && request) card = await decideAt(url, request, posted, this.source);
    else throw new Error('Nothing sends this decision. Listen for countersign-decide and call respondWith(promise).');
    if (card && this.request?.id === posted.requestId) this.request = card;
  }
}

properties(CountersignCard, ['request']);
attributes(CountersignCard, ['compact']);

type OneCardProps = {
  readonly request: RequestCard;
  readonly headingLevel: 2 | 3 | 4 | 5 | 6;
  readonly decide: (posted: PostedDecision) => Promise<void>;
};

/** The card as the only request of a chat, so that decisions are sent as those of a chat are: once, and each answered. */
function OneCard({ request, headingLevel, decide }: OneCardProps) {
  const messages = useMemo(
    () => [{ id: request.id, role: 'assistant', parts: [{ type: 'data-request', id: request.id, data: request }] }],
    [request],
  );
  const chat: ChatLike = {
    id: request.id,
    messages,
    status: 'ready',
    sendMessage: async (_, { body } = {}) => {
      const { decisions = [] } = body as { readonly decisions?: readonly PostedDecision[] };
      for (const posted of decisions) await decide(posted);
    },
    resumeStream: async () => {},
  };
  const actions = useRequests(chat);
  const [card] = [...actions.requests, ...actions.decided];
  if (!card) return null;
  return <ApprovalCard key={card.id} request={card} actions={actions} headingLevel={headingLevel} />;
}
