// The looks of the recipe's two pages: messages, whatever the page shows for a call, and a form.
'use client';

import { OutcomeIcon } from '@countersign/react';
import { type ReactNode, useState } from 'react';
import { type ModelName, type Page, TopBar } from '../chat/top-bar.tsx';

export type PlainChatProps = {
  readonly page: Page;
  readonly title: string;
  /** What the page shows, and when to choose it. */
  readonly about: string;
  readonly model: ModelName;
  readonly messages: readonly { readonly id: string; readonly role: string; readonly content: ReactNode }[];
  readonly isBusy: boolean;
  readonly error: Error | undefined;
  /** A call waits for a yes or no: the recipe keeps the form closed meanwhile. */
  readonly isPending: boolean;
  readonly onSend: (text: string) => void;
};

export function PlainChat(props: PlainChatProps) {
  const { page, title, about, model, messages, isBusy, error, isPending, onSend } = props;
  const [input, setInput] = useState('');
  const canSend = input.trim() !== '' && !isBusy && !isPending;
  return (
    <div className="flex min-h-dvh flex-col">
      <TopBar page={page} model={model} />
      <main className="mx-auto flex w-full max-w-3xl flex-1 flex-col gap-6 px-4 py-6 sm:px-6">
        <div>
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
          <p className="mt-1 text-sm text-pretty text-muted">{about}</p>
        </div>
        <div role="log" aria-label="Conversation" aria-busy={isBusy} className="flex flex-col gap-5">
          {messages.map(({ id, role, content }) => (
            <div key={id} className="flex flex-col gap-2 whitespace-pre-wrap wrap-anywhere">
              <strong className="text-xs font-semibold text-muted">{role === 'user' ? 'You' : 'Assistant'}</strong>
              {content}
            </div>
          ))}
        </div>
        {error && (
          <p role="alert" className="rounded-md bg-danger-soft px-3 py-2 text-sm text-danger">
            The answer could not be loaded. Send your message again.
          </p>
        )}
      </main>
      <form
        aria-label="Write a message"
        className="sticky bottom-0 bg-canvas pb-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!canSend) return;
          onSend(input);
          setInput('');
        }}
      >
        <div className="mx-auto max-w-3xl px-4 sm:px-6">
          <div className="flex items-center gap-2 rounded-xl border border-line bg-surface p-2 shadow-sm focus-within:border-accent focus-within:ring-1 focus-within:ring-accent">
            <input
              aria-label="Your message"
              disabled={isPending}
              value={input}
              placeholder={isPending ? 'Decide first…' : 'How is the weather in Paris?'}
              onChange={({ target }) => setInput(target.value)}
              className="min-h-9 min-w-0 flex-1 bg-transparent px-2 text-base outline-none placeholder:text-muted sm:text-sm"
            />
            <button type="submit" aria-disabled={!canSend} className="button-primary">
              Send
            </button>
          </div>
        </div>
      </form>
    </div>
  );
}

type ConfirmationProps = { readonly children: ReactNode; readonly onAnswer: (yes: boolean) => void };

/** A pending call: its input, and the recipe's two buttons. */
export function Confirmation({ children, onAnswer }: ConfirmationProps) {
  return (
    <div className="rounded-xl border border-line bg-surface p-4 shadow-sm">
      {children}
      <div className="flex gap-2 pt-3">
        <button type="button" onClick={() => onAnswer(true)} className="button-primary">
          Yes
        </button>
        <button type="button" onClick={() => onAnswer(false)} className="button text-danger">
          No
        </button>
      </div>
    </div>
  );
}

/** What stays of a confirmation: who said what to which call. */
export function Trace({ yes, children }: { readonly yes: boolean; readonly children: ReactNode }) {
  return (
    <p className="flex items-start gap-2 rounded-md border border-line bg-surface px-3 py-2 text-sm">
      <OutcomeIcon outcome={yes ? 'approved' : 'rejected'} />
      <span className="min-w-0">
        {yes ? 'You said yes: ' : 'You said no: '}
        {children}
      </span>
    </p>
  );
}
