// A conversation as text: messages, calls and their results. It renders no markup and no links.
import { LongText, ValueView, VisibleText } from '@countersign/react';
import { Bot, Settings2, UserRound, Wrench } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Message, Part } from '../api/wire.ts';
import { Disclosure } from '../frame/disclosure.tsx';

const MORE = 50;

type ConversationProps = {
  readonly messages: readonly Message[];
  /** How many are shown at first: the last ones, for a conversation may have thousands. */
  readonly last?: number;
};

export function Conversation({ messages, last = MORE }: ConversationProps) {
  const [shown, setShown] = useState(last);
  const earlier = Math.max(messages.length - shown, 0);
  if (messages.length === 0) return <p className="text-muted">No messages.</p>;
  return (
    <>
      {earlier > 0 && (
        <button type="button" className="button mb-4" onClick={() => setShown(shown + MORE)}>
          Show earlier ({earlier.toLocaleString()} more)
        </button>
      )}
      <ol className="flex flex-col gap-4">
        {messages.slice(earlier).map((message, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a conversation only grows at its end.
          <li key={earlier + index}>
            <MessageView message={message} />
          </li>
        ))}
      </ol>
    </>
  );
}

const SPEAKERS = {
  system: { name: 'Instructions', icon: Settings2 },
  user: { name: 'User', icon: UserRound },
  model: { name: 'Agent', icon: Bot },
  tool: { name: 'Results', icon: Wrench },
} as const;

function MessageView({ message: { role, content } }: { readonly message: Message }) {
  const { name, icon: Icon } = SPEAKERS[role] ?? SPEAKERS.model;
  const parts = content.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message do not move.
    <PartView key={index} part={part} />
  ));
  if (role === 'system') return <Disclosure title={name}>{parts}</Disclosure>;
  return (
    <div className="flex gap-3">
      <span aria-hidden="true" className="grid size-6 shrink-0 place-items-center rounded-full bg-sunken text-muted">
        <Icon className="size-3.5" />
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <p className="text-xs leading-6 font-medium text-muted">{name}</p>
        {parts}
      </div>
    </div>
  );
}

function PartView({ part }: { readonly part: Part }) {
  if ('text' in part) return part.text === '' ? null : <Text text={part.text} />;
  if ('reasoning' in part)
    return (
      <Disclosure title="Thoughts">
        <Text text={part.reasoning} />
      </Disclosure>
    );
  if ('toolRequest' in part)
    return (
      <Call title="Calls" name={part.toolRequest.name}>
        <ValueView value={part.toolRequest.input} />
        <Inside part={part} />
      </Call>
    );
  if ('toolResponse' in part)
    return (
      <Call title="Result of" name={part.toolResponse.name}>
        <ValueView value={part.toolResponse.output} />
      </Call>
    );
  // A picture from elsewhere is not fetched: that would tell its owner who looks at this.
  if ('media' in part) return <p className="chip self-start">File: {part.media.contentType ?? 'of unknown type'}</p>;
  if ('data' in part) return <ValueView value={part.data} />;
  return null;
}

/** The conversation inside a waiting sub-agent. Once it is done, only its answer is kept. */
function Inside({ part }: { readonly part: Part }) {
  const inner = part.metadata?.inner as { readonly messages?: readonly Message[] } | undefined;
  if (!inner?.messages) return null;
  return (
    <div className="mt-3 border-l-2 border-line pl-3">
      <Conversation messages={inner.messages} />
    </div>
  );
}

function Text({ text }: { readonly text: string }) {
  return (
    <p className="leading-6 whitespace-pre-wrap wrap-anywhere">
      <LongText text={text} />
    </p>
  );
}

function Call({
  title,
  name,
  children,
}: {
  readonly title: string;
  readonly name: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="row rounded-md border border-line bg-surface">
      <p className="border-b border-line px-3 py-1.5 text-xs text-muted wrap-anywhere">
        {title}{' '}
        <code className="font-mono text-ink">
          <VisibleText text={name} />
        </code>
      </p>
      <div className="px-3 py-2">{children}</div>
    </div>
  );
}
