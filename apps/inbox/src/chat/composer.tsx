// Where one writes. It stays open while a request waits, says what speaking then means, and asks before a request is withdrawn.
import type { ChatRequests } from '@countersign/react';
import { SendHorizontal } from 'lucide-react';
import { type FormEvent, type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { decidersOf } from './waiting-message.tsx';

type ComposerProps = {
  readonly input: RefObject<HTMLTextAreaElement | null>;
  readonly isBusy: boolean;
  readonly requests: ChatRequests;
  readonly onSend: (text: string) => void;
};

export function Composer({ input, isBusy, requests, onSend }: ComposerProps) {
  const [text, setText] = useState('');
  const [isAsking, setAsking] = useState(false);
  const hint = useId();
  const says = hintOf(requests);
  const canSend = !isBusy && text.trim() !== '' && requests.onMessage !== 'refused';
  // The question about a request that is no longer pending has gone with it.
  const asks = isAsking && withdrawsCalls(requests);

  function send() {
    setAsking(false);
    onSend(text.trim());
    setText('');
    input.current?.focus();
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    if (!canSend) return;
    if (withdrawsCalls(requests)) setAsking(true);
    else send();
  }
  function keep() {
    setAsking(false);
    input.current?.focus();
  }
  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
    // Enter that chooses a character of an input method is not for us.
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  }

  return (
    <form
      onSubmit={submit}
      className="sticky bottom-0 z-20 border-t border-line bg-canvas px-4 pt-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] md:px-6"
    >
      <div className="mx-auto max-w-3xl">
        {asks ? (
          <Asking count={requests.requests.length} onSend={send} onKeep={keep} />
        ) : (
          says !== undefined && (
            <p id={hint} className="pb-2 text-xs text-muted">
              {says}
            </p>
          )
        )}
        <div className="flex items-end gap-2 rounded-lg border border-edge/70 bg-surface p-1.5 focus-within:border-accent focus-within:ring-1 focus-within:ring-accent">
          <textarea
            ref={input}
            aria-label="Your message"
            aria-describedby={says !== undefined && !asks ? hint : undefined}
            placeholder="Write a message…"
            rows={1}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={onKeyDown}
            className="field-sizing-content max-h-40 min-h-8 flex-1 max-md:min-h-11 max-md:text-base resize-none bg-transparent px-2 py-1.5 outline-none placeholder:text-muted"
          />
          <button type="submit" aria-disabled={!canSend} className="button-primary">
            <SendHorizontal aria-hidden="true" className="size-4" />
            Send
          </button>
        </div>
      </div>
    </form>
  );
}

type AskingProps = { readonly count: number; readonly onSend: () => void; readonly onKeep: () => void };

function Asking({ count, onSend, onKeep }: AskingProps) {
  const label = useId();
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  const what = count === 1 ? 'the request' : `${count} requests`;
  return (
    <div
      role="alertdialog"
      aria-labelledby={label}
      className="flex flex-wrap items-center justify-between gap-2 pb-2"
      onKeyDown={(event) => event.key === 'Escape' && onKeep()}
    >
      <p id={label}>Send and withdraw {what}? What waits above will not run.</p>
      <span className="flex flex-wrap gap-2">
        <button ref={first} type="button" className="button" onClick={onSend}>
          Send and withdraw
        </button>
        <button type="button" className="button-quiet whitespace-nowrap" onClick={onKeep}>
          Keep {count === 1 ? 'it' : 'them'}
        </button>
      </span>
    </div>
  );
}

/** A message is an answer of its own to a question of the agent; to withdraw a call, the person is asked. */
function withdrawsCalls({ onMessage, requests }: ChatRequests): boolean {
  return onMessage === 'withdraws' && requests.some(({ kind }) => kind !== 'question');
}

function hintOf({ onMessage, requests, messageWaits }: ChatRequests): string | undefined {
  switch (onMessage) {
    case 'withdraws':
      return 'Sending a message cancels the pending requests above.';
    case 'waits':
      return messageWaits ? undefined : `A message waits until ${decidersOf(requests)}.`;
    case 'refused':
      return 'Decide the pending requests above before you write.';
    case undefined:
      return undefined;
  }
}
