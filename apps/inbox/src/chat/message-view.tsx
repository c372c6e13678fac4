// One message of a chat: its text, and the outcome of each call.
import { DecisionSummary, LongText, VisibleText } from '@countersign/react';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import type { ReactNode } from 'react';
import type { Card } from '../api/wire.ts';
import { ReadableValue } from '../conversation/readable-value.tsx';
import { Disclosure } from '../frame/disclosure.tsx';
import { outcomeOf } from '../inbox/outcome.ts';

type MessageProps = { readonly message: UIMessage; readonly isLast: boolean };

export function MessageView({ message, isLast }: MessageProps) {
  return message.role === 'user' ? <Said message={message} /> : <Answer message={message} isLast={isLast} />;
}

function Said({ message }: { readonly message: UIMessage }) {
  const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return (
    <div className="ml-auto max-w-[85%] rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5 whitespace-pre-wrap wrap-anywhere">
      <span className="sr-only">You said: </span>
      <LongText text={text} />
    </div>
  );
}

function Answer({ message, isLast }: MessageProps) {
  const cards = message.parts.flatMap((part) =>
    part.type === 'data-interrupt' ? [(part as { data: Card }).data] : [],
  );
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <span className="sr-only">The agent: </span>
      {message.parts.map((part, index) => {
        // The parts of a message do not move.
        const key = `${part.type}-${index}`;
        if (part.type === 'text')
          return (
            <p key={key} className="leading-6 whitespace-pre-wrap wrap-anywhere">
              <LongText text={part.text} />
            </p>
          );
        if (!isToolUIPart(part)) return null;
        const own = cards.filter(({ toolCallId }) => toolCallId === part.toolCallId);
        if (own.length === 0) return <CallView key={key} name={getToolName(part)} part={part} />;
        return own.map((card) => <DecidedCall key={card.id} card={card} part={part} isLast={isLast} />);
      })}
    </div>
  );
}

type Outcome = { readonly input?: unknown; readonly output?: unknown; readonly errorText?: string | undefined };

/** A call that needs no approval. */
function CallView({ name, part }: { readonly name: string; readonly part: Outcome }) {
  return (
    <Line
      how={part.errorText === undefined ? 'Used' : 'Tried'}
      tool={name}
      aside={part.errorText === undefined ? undefined : 'failed'}
    >
      {part.input !== undefined && <ReadableValue value={part.input} />}
      <Result part={part} />
    </Line>
  );
}

type DecidedCallProps = { readonly card: Card; readonly part: Outcome; readonly isLast: boolean };

/** Pending requests are shown below the conversation. Requests that a new message cancelled are shown as withdrawn. */
function DecidedCall({ card, part, isLast }: DecidedCallProps) {
  const { decision } = card;
  if (card.status === 'pending' && isLast) return null;
  const how = decision ? outcomeOf(decision).word : 'Withdrawn';
  return (
    <Line how={`${how}:`} tool={card.tool} aside={decision?.by ?? undefined}>
      <ReadableValue value={card.input} />
      <DecisionSummary interrupt={card} />
      {(decision?.type === 'approve' || decision?.type === 'restart') && <Result part={part} />}
    </Line>
  );
}

function Result({ part }: { readonly part: Outcome }) {
  if (part.errorText !== undefined)
    return (
      <p className="text-danger wrap-anywhere">
        <LongText text={part.errorText} />
      </p>
    );
  if (part.output === undefined) return null;
  return (
    <div>
      <p className="mb-1 text-xs text-muted">Result</p>
      <ReadableValue value={part.output} />
    </div>
  );
}

type LineProps = {
  readonly how: string;
  /** As the model wrote it: it may have made it up. */
  readonly tool: string;
  readonly aside: string | undefined;
  readonly children: ReactNode;
};

function Line({ how, tool, aside, children }: LineProps) {
  const title = (
    <span className="min-w-0 wrap-anywhere">
      {how} <VisibleText text={tool} />
    </span>
  );
  return (
    <div className="panel px-3 py-2">
      <Disclosure title={title} {...(aside !== undefined && { aside: <VisibleText text={aside} /> })}>
        <div className="flex flex-col gap-3">{children}</div>
      </Disclosure>
    </div>
  );
}
