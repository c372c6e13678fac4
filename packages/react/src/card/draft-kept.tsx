// Keeps the draft of a person when someone else decided first, and shows it.
import type { RequestCard } from 'countersign/ui';
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { ValueView } from '../text/value-view.tsx';

type AnyCard = RequestCard<string, any>;

export type KeptDraft = { readonly value: unknown };

/** A list of cards keeps the drafts itself: a decided card leaves the list. */
export const DraftsContext = createContext<(requestId: string, draft: KeptDraft | undefined) => void>(() => {});

/** The draft of this card. Once the person has sent it, it is no longer a draft. */
export function useDraft({ id, decision }: AnyCard) {
  const [draft, setDraft] = useState<KeptDraft>();
  const note = useContext(DraftsContext);
  const keepDraft = useCallback(
    (value: unknown) => {
      const kept = value === undefined ? undefined : { value };
      setDraft(kept);
      note(id, kept);
    },
    [id, note],
  );
  const dropDraft = useCallback(() => keepDraft(undefined), [keepDraft]);
  return { draft: draft && !isSent(draft, decision) ? draft : undefined, keepDraft, dropDraft };
}

/** The recorded decision is the draft: this person was the one who decided. */
export function isSent({ value }: KeptDraft, decision: AnyCard['decision']): boolean {
  if (decision === null) return false;
  const sent = [decision.edit, decision.output, decision.reason, decision.comment].filter((part) => part !== undefined);
  return sent.some((part) => JSON.stringify(part) === JSON.stringify(value));
}

type DraftKeptProps = {
  readonly draft: KeptDraft;
  readonly onDismiss: () => void;
  /** Which request it was for, where no card says so. */
  readonly children?: ReactNode;
};

export function DraftKept({ draft, onDismiss, children }: DraftKeptProps) {
  const named = useNamed();
  const words = useWords();
  return (
    <div {...named('draft-kept')} role="alert">
      {children}
      <p>{words.draftKept}</p>
      <ValueView value={draft.value} />
      <button {...named('dismiss')} type="button" onClick={onDismiss}>
        {words.dismiss}
      </button>
    </div>
  );
}
