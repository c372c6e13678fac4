// Says something about a pending request. Everyone who reads it can, also a person who may not decide it.
import { VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { MessageSquareText } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { meQuery, requestQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import type { ApiRequest, RequestWithMessages } from '../api/wire.ts';

/** What the server takes at most. */
const LONGEST = 2_000;

export function CommentField({
  request: { id: requestId, commentsForModel },
}: {
  readonly request: Pick<ApiRequest, 'id' | 'commentsForModel'>;
}) {
  const { data: me } = useQuery(meQuery);
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const id = useId();
  const comment = useComment(requestId);
  useEffect(() => {
    if (isOpen) field.current?.focus();
  }, [isOpen]);
  // A session that only reads writes nothing.
  if (!me?.scopes.some((scope) => scope === 'decide' || scope === 'start')) return null;
  const canSend = text.trim() !== '' && !comment.isPending;

  function close() {
    setOpen(false);
    requestAnimationFrame(() => opener.current?.focus());
  }
  function send() {
    if (!canSend) return;
    comment.mutate(text.trim(), {
      onSuccess: () => {
        setText('');
        close();
      },
    });
  }
  function onKeyDown(event: KeyboardEvent) {
    // The draft stays for the next time.
    if (event.key === 'Escape') close();
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    // Around it, these keys send the decision.
    event.stopPropagation();
    send();
  }

  if (!isOpen)
    return (
      <div>
        <button
          ref={opener}
          type="button"
          className="inline-flex min-h-8 items-center gap-1.5 rounded-md text-muted hover:text-ink max-md:min-h-11"
          onClick={() => setOpen(true)}
        >
          <MessageSquareText aria-hidden="true" className="size-4" />
          Comment
        </button>
      </div>
    );
  return (
    // Not a form: the form of a card decides.
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-xs text-muted">
        Comment for the others (
        {commentsForModel ? 'the model reads it if the request is rejected' : 'not sent to the model'}, decides
        nothing). Write @name to tell a person.
      </label>
      <textarea
        ref={field}
        id={id}
        rows={2}
        maxLength={LONGEST}
        readOnly={comment.isPending}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content max-h-48 min-h-16 w-full rounded-md border border-edge/70 bg-surface px-2.5 py-1.5 max-md:text-base"
      />
      {comment.error && (
        <p role="alert" className="text-danger">
          <VisibleText text={comment.error.message} />
        </p>
      )}
      <div className="flex gap-2">
        <button type="button" aria-disabled={!canSend} className="button" onClick={send}>
          Send comment
        </button>
        <button type="button" className="button-quiet w-auto px-2" onClick={close}>
          Close
        </button>
      </div>
    </div>
  );
}

function useComment(requestId: string) {
  const client = useQueryClient();
  const { queryKey } = requestQuery(requestId);
  return useMutation({
    mutationFn: (text: string) =>
      request<ApiRequest>(`requests/${encodeURIComponent(requestId)}/comments`, { method: 'POST', body: { text } }),
    onSuccess: (commented) => {
      client.setQueryData<RequestWithMessages>(queryKey, (card) => card && { ...card, ...commented });
    },
    onError: () => void client.invalidateQueries({ queryKey }),
  });
}
