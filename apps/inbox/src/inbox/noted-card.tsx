// A card with an optional note for the team, sent with the decision.
import { ApprovalCard, type ApprovalCardProps, type UseRequests } from '@countersign/react';
import { NotebookPen } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { Card } from '../api/wire.ts';
import { AllowNext } from '../grants/allow-next.tsx';
import type { GrantRequest } from '../grants/wire.ts';
import { CommentField } from './comment-field.tsx';

/** What the server takes at most. */
const LONGEST = 10_000;

type NotedCardProps = Omit<ApprovalCardProps, 'children'> & {
  /** What stands out in it, or came of it. */
  readonly remarks?: ReactNode;
  /** Approves it, and allows the next calls of this agent. */
  readonly allow?: {
    readonly agent: string;
    readonly onAllow: (card: Card, grant: GrantRequest, note: string) => void;
  };
};

export function NotedCard({ allow, remarks, ...props }: NotedCardProps) {
  const { request, actions } = props;
  const [note, setNote] = useState('');
  const isSending = actions.deciding.has(request.id);
  const takesNote = request.status === 'pending' && request.mayDecide;
  return (
    <ApprovalCard {...props} actions={withNote(actions, note.trim())}>
      {remarks}
      {request.status === 'pending' && <CommentField request={request} />}
      {takesNote && (
        <div className="flex flex-wrap items-start gap-x-5">
          <NoteField note={note} onChange={setNote} isSending={isSending} />
          {allow && request.kind === 'approval' && allowsGrants(request) && (
            <AllowNext
              card={request}
              agent={allow.agent}
              isSending={isSending}
              onAllow={(grant) => allow.onAllow(request, grant, note.trim())}
            />
          )}
        </div>
      )}
    </ApprovalCard>
  );
}

/** The server refuses a grant that the policy forbids: a signature is for one call, and a quorum allows none by default. */
function allowsGrants({ policies }: Card): boolean {
  return policies.every(({ signed, grants, quorum = [] }) => {
    if (signed || grants === false) return false;
    return grants !== undefined || quorum.length === 0;
  });
}

type NoteFieldProps = {
  readonly note: string;
  readonly onChange: (note: string) => void;
  readonly isSending: boolean;
};

/** A button that opens the note field: most decisions need no note. */
function NoteField({ note, onChange, isSending }: NoteFieldProps) {
  const [isOpen, setOpen] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  useEffect(() => {
    if (isOpen) field.current?.focus();
  }, [isOpen]);
  if (!isOpen)
    return (
      <div>
        <button
          type="button"
          data-note
          className="inline-flex min-h-8 items-center gap-1.5 rounded-md text-muted hover:text-ink max-md:min-h-11"
          onClick={() => setOpen(true)}
        >
          <NotebookPen aria-hidden="true" className="size-4" />
          Add a note
        </button>
      </div>
    );
  return (
    <div className="flex basis-full flex-col gap-1">
      <label htmlFor={id} className="text-xs text-muted">
        Note for your team (not sent to the model)
      </label>
      <textarea
        ref={field}
        id={id}
        data-note
        rows={2}
        maxLength={LONGEST}
        readOnly={isSending}
        value={note}
        onChange={({ target }) => onChange(target.value)}
        className="field-sizing-content max-h-48 min-h-16 w-full rounded-md border border-edge/70 bg-surface px-2.5 py-1.5"
      />
    </div>
  );
}

/** Wraps the actions so that each sends the note too. */
function withNote(actions: UseRequests<any>, note: string): UseRequests<any> {
  if (note === '') return actions;
  return {
    ...actions,
    approve: (card, options) => actions.approve(card, { ...options, note }),
    edit: (card, input, options) => actions.edit(card, input, { ...options, note }),
    reject: (card, reason, options) => actions.reject(card, reason, { ...options, note }),
    revise: (card, comment, options) => actions.revise(card, comment, { ...options, note }),
    respond: (card, output, options) => actions.respond(card, output, { ...options, note }),
    restart: (card, options) => actions.restart(card, { ...options, note }),
    cancel: (card, reason, options) => actions.cancel(card, reason, { ...options, note }),
  };
}
