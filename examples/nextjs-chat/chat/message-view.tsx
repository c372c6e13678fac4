// One message: its text, and the outcome of each call.
import { DecidedCard } from '@countersign/react';
import { getStaticToolName, isStaticToolUIPart } from 'ai';
import type { RequestCard } from 'countersign/ui';
import type { AppMessage } from './message.ts';
import { ToolLine } from './tool-line.tsx';

type MessageProps = {
  readonly message: AppMessage;
  /** The requests whose cards stand below the conversation. */
  readonly pending: ReadonlySet<string>;
};

export function MessageView({ message, pending }: MessageProps) {
  return message.role === 'user' ? <Said message={message} /> : <Answer message={message} pending={pending} />;
}

function Said({ message }: { readonly message: AppMessage }) {
  const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return (
    <div className="ml-auto max-w-[85%] whitespace-pre-wrap rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5 wrap-anywhere">
      <span className="sr-only">You said: </span>
      <bdi>{text}</bdi>
    </div>
  );
}

function Answer({ message, pending }: MessageProps) {
  const cards = message.parts.flatMap((part) => (part.type === 'data-request' ? [part.data] : []));
  return (
    <div className="flex max-w-full flex-col gap-3">
      <span className="sr-only">The assistant: </span>
      {message.parts.map((part, index) => {
        // The parts of a message do not move.
        const key = `${part.type}-${index}`;
        if (part.type === 'text')
          return (
            <p key={key} dir="auto" className="whitespace-pre-wrap leading-7 wrap-anywhere">
              {part.text}
            </p>
          );
        if (!isStaticToolUIPart(part)) return null;
        const own = cards.filter(({ toolCallId }) => toolCallId === part.toolCallId);
        if (own.length === 0) return <ToolLine key={key} name={getStaticToolName(part)} part={part} />;
        return own
          .filter(({ id }) => !pending.has(id))
          .map((card) => (
            <DecidedCard key={card.id} request={byYou(card)} output={part.output} errorText={part.errorText} />
          ));
      })}
    </div>
  );
}

/** Every visitor of this demonstration is the same user, `demo`. */
function byYou(card: RequestCard): RequestCard {
  return card.decision?.by === 'demo' ? { ...card, decision: { ...card.decision, by: 'you' } } : card;
}
