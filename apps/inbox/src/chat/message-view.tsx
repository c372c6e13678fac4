// One message of a chat: its text, and the outcome of each call.
import { DecidedCard, LongText, ValueView, VisibleText } from '@countersign/react';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import type { Card } from '../api/wire.ts';
import { Disclosure } from '../frame/disclosure.tsx';

type MessageProps = {
  readonly message: UIMessage;
  /** The requests whose cards stand below the conversation. */
  readonly pending: ReadonlySet<string>;
};

export function MessageView({ message, pending }: MessageProps) {
  return message.role === 'user' ? <Said message={message} /> : <Answer message={message} pending={pending} />;
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

function Answer({ message, pending }: MessageProps) {
  const cards = message.parts.flatMap((part) => (part.type === 'data-request' ? [(part as { data: Card }).data] : []));
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
        // One card for each request: a pending one stands below the conversation.
        return own
          .filter(({ id }) => !pending.has(id))
          .map((card) => <DecidedCard key={card.id} request={card} output={part.output} errorText={part.errorText} />);
      })}
    </div>
  );
}

type Outcome = { readonly input?: unknown; readonly output?: unknown; readonly errorText?: string | undefined };

/** A call that needs no approval. Its name is as the model wrote it: it may have made it up. */
function CallView({ name, part }: { readonly name: string; readonly part: Outcome }) {
  const { input, output, errorText } = part;
  const title = (
    <span className="min-w-0 font-normal text-muted wrap-anywhere">
      {errorText === undefined ? 'Used' : 'Tried'}{' '}
      <code className="font-mono text-xs text-ink">
        <VisibleText text={name} />
      </code>
    </span>
  );
  return (
    <div className="panel px-3 py-2">
      <Disclosure title={title} {...(errorText !== undefined && { aside: 'failed' })}>
        <div className="flex flex-col gap-3">
          {input !== undefined && <ValueView value={input} />}
          {errorText !== undefined && (
            <p className="text-danger wrap-anywhere">
              <LongText text={errorText} />
            </p>
          )}
          {output !== undefined && (
            <div>
              <p className="mb-1 text-xs text-muted">Result</p>
              <ValueView value={output} />
            </div>
          )}
        </div>
      </Disclosure>
    </div>
  );
}
