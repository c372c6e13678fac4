// The looks of the recipe's two pages: messages, whatever the page shows for a call, and a form.
'use client';

import { type ReactNode, useState } from 'react';
import { type ModelName, type Page, TopBar } from '../chat/top-bar.tsx';

export type PlainChatProps = {
  readonly page: Page;
  readonly title: string;
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
  return (
    <div className="flex min-h-dvh flex-col">
      <TopBar page={page} model={model} />
      <main className="mx-auto flex w-full max-w-3xl flex-1 flex-col gap-6 px-4 py-6 sm:px-6">
        <div>
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
          <p className="mt-1 text-sm text-pretty text-stone-600 dark:text-stone-400">{about}</p>
        </div>
        <div role="log" aria-label="Conversation" aria-busy={isBusy} className="flex flex-col gap-5">
          {messages.map(({ id, role, content }) => (
            <div key={id} className="whitespace-pre-wrap wrap-anywhere">
              <strong className="block text-xs font-semibold tracking-wide text-stone-600 uppercase dark:text-stone-400">
                {role}
              </strong>
              {content}
            </div>
          ))}
        </div>
        {error && (
          <p role="alert" className="text-sm text-red-800 dark:text-red-300">
            Something went wrong: {error.message}
          </p>
        )}
      </main>
      <form
        aria-label="Write a message"
        className="sticky bottom-0 bg-stone-50 pb-4 dark:bg-stone-950"
        onSubmit={(event) => {
          event.preventDefault();
          if (input.trim() === '' || isBusy) return;
          onSend(input);
          setInput('');
        }}
      >
        <div className="mx-auto max-w-3xl px-4 sm:px-6">
          <input
            aria-label="Your message"
            disabled={isPending}
            value={input}
            placeholder={isPending ? 'Decide first…' : 'How is the weather in Paris?'}
            onChange={({ target }) => setInput(target.value)}
            className="w-full rounded-xl border border-stone-300 bg-white px-4 py-3 shadow-sm placeholder:text-stone-500 disabled:bg-stone-100 dark:border-stone-700 dark:bg-stone-900 dark:placeholder:text-stone-400 dark:disabled:bg-stone-900"
          />
        </div>
      </form>
    </div>
  );
}

/** A pending call: its input, and the recipe's two buttons. */
export function Confirmation({
  children,
  onAnswer,
}: {
  readonly children: ReactNode;
  readonly onAnswer: (yes: boolean) => void;
}) {
  return (
    <div className="mt-2 rounded-xl border border-stone-200 bg-white p-4 shadow-sm dark:border-stone-800 dark:bg-stone-900">
      {children}
      <div className="flex gap-2 pt-3">
        <button
          type="button"
          onClick={() => onAnswer(true)}
          className="rounded-lg bg-teal-800 px-4 py-2 text-sm font-medium text-white hover:bg-teal-900 dark:bg-teal-400 dark:text-stone-950 dark:hover:bg-teal-300"
        >
          Yes
        </button>
        <button
          type="button"
          onClick={() => onAnswer(false)}
          className="rounded-lg border border-stone-300 px-4 py-2 text-sm font-medium text-red-800 hover:bg-red-50 dark:border-stone-700 dark:text-red-300 dark:hover:bg-red-950"
        >
          No
        </button>
      </div>
    </div>
  );
}
