// One message: its text, and the outcome of each call.
import { getStaticToolName, isStaticToolUIPart } from 'ai';
import type { InterruptCard } from 'countersign/ui';
import { DecidedCard } from './decided-card.tsx';
import type { AppMessage } from './message.ts';
import { ToolLine } from './tool-line.tsx';

export function MessageView({ message, isLast }: { readonly message: AppMessage; readonly isLast: boolean }) {
  return message.role === 'user' ? <Said message={message} /> : <Answer message={message} isLast={isLast} />;
}

function Said({ message }: { readonly message: AppMessage }) {
  const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return (
    <div className="ml-auto max-w-[85%] whitespace-pre-wrap rounded-2xl rounded-br-md bg-teal-800 px-4 py-2.5 text-white wrap-anywhere dark:bg-teal-900">
      <span className="sr-only">You said: </span>
      <bdi>{text}</bdi>
    </div>
  );
}

function Answer({ message, isLast }: { readonly message: AppMessage; readonly isLast: boolean }) {
  const cards = message.parts.flatMap((part) => (part.type === 'data-interrupt' ? [part.data] : []));
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
        return own.map((card) => <Card key={card.id} card={card} part={part} isLast={isLast} />);
      })}
    </div>
  );
}

type CardProps = {
  readonly card: InterruptCard;
  readonly part: { readonly output?: unknown; readonly errorText?: string | undefined };
  readonly isLast: boolean;
};

/** Pending requests are shown below the conversation. Requests that a new message cancelled are shown as withdrawn. */
function Card({ card, part, isLast }: CardProps) {
  if (card.status === 'pending' && isLast) return null;
  return <DecidedCard card={card} output={part.output} errorText={part.errorText} />;
}
