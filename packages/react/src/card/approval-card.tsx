// The card of one interrupt: what it is about, everything that would run, and the possible decisions.
import type { RequestCard } from 'countersign/ui';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useNamed, useWords, type Words } from '../appearance.tsx';
import { LongText, Unshown, useUnshown } from '../text/long-text.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import type { UseRequests } from '../use-requests.ts';
import { CardFacts, CardInput, CardPayload, messagesOf, Reversibility, Risk } from './card-body.tsx';
import { Decide, type Mode } from './decide.tsx';
import { DecisionDetails, OutcomeLine } from './decision-summary.tsx';
import { DraftKept, useDraft } from './draft-kept.tsx';
import { EditForm } from './edit-form.tsx';
import { outcomeOf } from './outcome.tsx';
import { CardPreview } from './preview.tsx';
import { titleOf } from './title.ts';
import { DecidedVotes, Voting } from './voting.tsx';

type AnyCard = RequestCard<string, any>;

export type ApprovalCardProps = {
  /** The interrupt as `useRequests` gave it. */
  readonly interrupt: AnyCard;
  /** What `useRequests` returned. */
  readonly actions: UseRequests<any>;
  /** Of the card's heading. */
  readonly headingLevel?: 2 | 3 | 4 | 5 | 6;
  /** Replaces the readable form of the input. The input is text from a model: show it as text. */
  readonly renderInput?: (interrupt: AnyCard) => ReactNode;
  /** Added before the decisions. */
  readonly children?: ReactNode;
  readonly className?: string;
};

/** Renders any kind of interrupt and offers the decisions that the server allows (`allows`). */
export function ApprovalCard(props: ApprovalCardProps) {
  const { interrupt, headingLevel = 3, className } = props;
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const Heading = `h${headingLevel}` as const;
  const isDecided = interrupt.status === 'decided';
  const { draft, keepDraft, dropDraft } = useDraft(interrupt);
  return (
    <article
      {...named('card', className)}
      aria-labelledby={`${id}-heading`}
      data-kind={interrupt.kind}
      data-status={interrupt.status}
      data-tool={interrupt.tool}
      {...(interrupt.risk !== null && { 'data-risk': interrupt.risk })}
      {...(isDecided && { 'data-outcome': outcomeOf(interrupt) })}
    >
      <div {...named('header')}>
        {isDecided ? (
          <OutcomeLine decision={interrupt.decision} />
        ) : (
          <p {...named('eyebrow')}>
            <span {...named('kind')}>{kindOf(interrupt, words)}</span>{' '}
            <span {...named('tool')}>
              <VisibleText text={interrupt.tool} />
            </span>
          </p>
        )}
        {!isDecided && (
          <div {...named('marks')}>
            <Reversibility interrupt={interrupt} />
            <Risk interrupt={interrupt} />
          </div>
        )}
        <Heading {...named('heading')} id={`${id}-heading`} tabIndex={-1}>
          <VisibleText text={titleOf(interrupt)} />
        </Heading>
      </div>
      {isDecided ? (
        <>
          {draft && <DraftKept draft={draft} onDismiss={dropDraft} />}
          <DecisionDetails interrupt={interrupt} />
          <DecidedVotes interrupt={interrupt} />
          <Request {...props} />
        </>
      ) : (
        <Pending {...props} onDraft={keepDraft} />
      )}
    </article>
  );
}

function kindOf({ kind }: AnyCard, words: Words): string {
  switch (kind) {
    case 'approval':
    case 'interrupt':
      return words.mayItRun;
    case 'question':
      return words.question;
    case 'doubt':
      return words.unknownOutcome;
    case 'unavailable':
      return words.unavailable;
  }
}

/** The request of a decided card, folded: the outcome comes first. */
function Request({ interrupt, renderInput, children }: ApprovalCardProps) {
  const named = useNamed();
  const words = useWords();
  return (
    <>
      <details {...named('request')}>
        <summary {...named('request-summary')}>
          {words.request}{' '}
          <span {...named('tool')}>
            <VisibleText text={interrupt.tool} />
          </span>
        </summary>
        <div {...named('request-body')}>
          <Messages interrupt={interrupt} />
          <CardInput interrupt={interrupt} renderInput={renderInput} />
          <CardPreview interrupt={interrupt} />
          <CardPayload interrupt={interrupt} />
          <CardFacts interrupt={interrupt} hasRisk />
        </div>
      </details>
      {children}
    </>
  );
}

type PendingProps = ApprovalCardProps & { readonly onDraft: (draft: unknown) => void };

function Pending({ interrupt, actions, renderInput, children, onDraft }: PendingProps) {
  const named = useNamed();
  const words = useWords();
  const { unshown, note } = useUnshown();
  const [mode, setMode] = useState<Mode>(
    interrupt.kind === 'question' && interrupt.allows.includes('respond') ? 'respond' : 'decide',
  );
  const place = useFocusMoved(mode);
  const change = (next: Mode) => {
    onDraft(undefined);
    setMode(next);
  };
  return (
    <Unshown value={note}>
      <div {...named('body')} ref={place} data-mode={mode}>
        <Messages interrupt={interrupt} />
        {mode === 'edit' ? (
          <EditForm interrupt={interrupt} actions={actions} onDraft={onDraft} onBack={() => change('decide')} />
        ) : (
          <CardInput interrupt={interrupt} renderInput={renderInput} />
        )}
        <CardPreview interrupt={interrupt} />
        <CardPayload interrupt={interrupt} />
        <CardFacts interrupt={interrupt} />
        <Voting interrupt={interrupt} />
        {children}
        {interrupt.mayDecide ? (
          <Decide {...{ interrupt, actions, unshown, mode, onDraft }} onMode={change} />
        ) : (
          <p {...named('may-not-decide')}>{words.mayNotDecide}</p>
        )}
      </div>
    </Unshown>
  );
}

function Messages({ interrupt }: { readonly interrupt: AnyCard }) {
  const named = useNamed();
  return messagesOf(interrupt).map((message) => (
    <p key={message} {...named('message')}>
      <LongText text={message} />
    </p>
  ));
}

/** A form takes the focus from the button that opened it; on the way back the buttons get it again. */
function useFocusMoved(mode: Mode) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef(mode);
  useEffect(() => {
    if (shown.current === mode) return;
    shown.current = mode;
    const part = mode === 'edit' ? '[data-countersign="form"]' : '[data-countersign="decide"]';
    place.current?.querySelector(part)?.querySelector<HTMLElement>('input, select, textarea, button')?.focus();
  }, [mode]);
  return place;
}
