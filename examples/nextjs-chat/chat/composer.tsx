// Where the user writes. It stays open while a question waits, and says what speaking then means.
'use client';

import { type FormEvent, type KeyboardEvent, type RefObject, useId, useState } from 'react';

export type ComposerProps = {
  readonly input: RefObject<HTMLTextAreaElement | null>;
  readonly isBusy: boolean;
  readonly isPending: boolean;
  readonly onSend: (text: string) => void;
};

export function Composer({ input, isBusy, isPending, onSend }: ComposerProps) {
  const [text, setText] = useState('');
  const hint = useId();
  const canSend = !isBusy && text.trim() !== '';

  function submit(event: FormEvent) {
    event.preventDefault();
    if (!canSend) return;
    onSend(text.trim());
    setText('');
  }
  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
    // Enter that chooses a character of an input method is not for us.
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  }

  return (
    <div className="sticky bottom-0 z-10 bg-canvas pb-[max(1rem,env(safe-area-inset-bottom))] before:pointer-events-none before:absolute before:inset-x-0 before:-top-3 before:h-3 before:bg-linear-to-t before:from-canvas">
      <form aria-label="Write a message" onSubmit={submit} className="mx-auto w-full max-w-3xl px-4 pt-1 sm:px-6">
        <p id={hint} className="pb-2 text-center text-xs empty:pb-0 text-muted">
          {isPending && 'Sending a message cancels the pending requests above.'}
        </p>
        <div className="flex items-end gap-2 rounded-xl border border-line bg-surface p-2 shadow-sm focus-within:border-accent focus-within:ring-1 focus-within:ring-accent">
          <textarea
            ref={input}
            aria-label="Your message"
            aria-describedby={hint}
            placeholder="Write a message…"
            rows={1}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={onKeyDown}
            className="field-sizing-content max-h-40 min-h-9 flex-1 resize-none bg-transparent px-2 py-1.5 text-base max-sm:min-h-11 max-sm:py-2.5 outline-none placeholder:text-muted sm:text-sm"
          />
          <button type="submit" aria-disabled={!canSend} className="button-primary">
            Send
          </button>
        </div>
      </form>
    </div>
  );
}
