// The door `@countersign/react/elements`: importing it defines `<countersign-card>` and `<countersign-requests>`.
import type { PostedDecision } from '../card/decision.ts';
import type { ChatLike, ChatMessage } from '../request.ts';
import { CountersignCard, DecideEvent } from './card-element.tsx';
import { type AnyChat, chatOf } from './chat-of.ts';
import { CountersignRequests, type RequestsChange } from './requests-element.tsx';

export type { AnyChat, ChatLike, ChatMessage, PostedDecision, RequestsChange };
export { CountersignCard, CountersignRequests, chatOf, DecideEvent };

// A second copy of this module on the page leaves the first in place. A server has no elements to define.
if (!globalThis.customElements?.get('countersign-card')) {
  globalThis.customElements?.define('countersign-card', CountersignCard);
  globalThis.customElements?.define('countersign-requests', CountersignRequests);
}

declare global {
  interface HTMLElementTagNameMap {
    'countersign-card': CountersignCard;
    'countersign-requests': CountersignRequests;
  }
  interface HTMLElementEventMap {
    'countersign-decide': DecideEvent;
    'countersign-change': CustomEvent<RequestsChange>;
  }
}
