// Where one writes. It stays open while a request waits, and says what speaking then means.
import { SendHorizontal } from 'lucide-react';
import { type FormEvent, type KeyboardEvent, type RefObject, useId, useState } from 'react';

type ComposerProps = {
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
    <form
      onSubmit={submit}
      className="sticky bottom-0 z-20 border-t border-line bg-canvas px-4 pt-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] md:px-6"
    >
      <div className="mx-auto max-w-3xl">
        {isPending && (
          <p id={hint} className="pb-2 text-xs text-muted">
            Sending a message cancels the pending requests above.
          </p>
        )}
        <div className="flex items-end gap-2 rounded-lg border border-edge/70 bg-surface p-1.5 focus-within:border-accent focus-within:ring-1 focus-within:ring-accent">
          <textarea
            ref={input}
            aria-label="Your message"
            aria-describedby={isPending ? hint : undefined}
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
