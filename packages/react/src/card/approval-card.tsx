// The card of one request: what it is about, everything that would run, and the possible decisions.
import type { RequestCard } from 'countersign/ui';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useNamed, useWords, type Words } from '../appearance.tsx';
import { LongText, Unshown, useUnshown } from '../text/long-text.tsx';
import { People } from '../text/person-name.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import type { UseRequests } from '../use-requests.ts';
import { type Asked, AskedBy, Reason, Reviews } from './asked-by.tsx';
import { CardFacts, CardInput, CardPayload, messagesOf, Reversibility, Risk } from './card-body.tsx';
import { Comments } from './comments.tsx';
import { Decide, type Mode } from './decide.tsx';
import { DecisionDetails, EarlierTitle, OutcomeLine } from './decision-summary.tsx';
import { CardDoubt } from './doubt.tsx';
import { DraftKept, useDraft } from './draft-kept.tsx';
import { EditForm } from './edit-form.tsx';
import { OriginDetails, OriginWarning } from './origins.tsx';
import { outcomeOf } from './outcome.tsx';
import { CardPreview } from './preview.tsx';
import { PreviousRound, Round } from './previous-round.tsx';
import { titleOf } from './title.ts';
import { DecidedVotes, Voting } from './voting.tsx';

/** Cards of a server also say who asks. */
type AnyCard = RequestCard<string, any> & Asked;

export type ApprovalCardProps = {
  /** The request as `useRequests` gave it. */
  readonly request: AnyCard;
  /** What `useRequests` returned. */
  readonly actions: UseRequests<any>;
  /** Of the card's heading. */
  readonly headingLevel?: 2 | 3 | 4 | 5 | 6;
  /** Replaces the readable form of the input. The input is text from a model: show it as text. */
  readonly renderInput?: (request: AnyCard) => ReactNode;
  /** Added before the decisions. */
  readonly children?: ReactNode;
  readonly className?: string;
};

/** Renders any kind of request and offers the decisions that the server allows (`allows`). */
export function ApprovalCard(props: ApprovalCardProps) {
  return (
    <People names={props.request.names}>
      <Card {...props} />
    </People>
  );
}

function Card(props: ApprovalCardProps) {
  const { request, headingLevel = 3, className } = props;
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const Heading = `h${headingLevel}` as const;
  const isDecided = request.status === 'decided';
  const { draft, keepDraft, dropDraft } = useDraft(request);
  return (
    <article
      {...named('card', className)}
      aria-labelledby={`${id}-heading`}
      data-kind={request.kind}
      data-status={request.status}
      data-tool={request.tool}
      {...(request.risk !== null && { 'data-risk': request.risk })}
      {...(isDecided && { 'data-outcome': outcomeOf(request) })}
    >
      <div {...named('header')}>
        {isDecided ? (
          <OutcomeLine request={request} />
        ) : (
          <p {...named('eyebrow')}>
            <span {...named('kind')}>{kindOf(request, words)}</span>{' '}
            <span {...named('tool')}>
              <VisibleText text={request.tool} />
            </span>
          </p>
        )}
        {!isDecided && (
          <div {...named('marks')}>
            <Round request={request} />
            <Reversibility request={request} />
            <Risk request={request} />
          </div>
        )}
        <Heading {...named('heading')} id={`${id}-heading`} tabIndex={-1}>
          <VisibleText text={titleOf(request)} />
        </Heading>
        <EarlierTitle request={request} />
        <AskedBy request={request} />
      </div>
      {isDecided ? (
        <>
          {draft && <DraftKept draft={draft} onDismiss={dropDraft} />}
          <DecisionDetails request={request} />
          <DecidedVotes request={request} />
          <Comments request={request} />
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
    case 'recall':
      return words.recallable;
  }
}

/** The request of a decided card, folded: the outcome comes first. */
function Request({ request, renderInput, children }: ApprovalCardProps) {
  const named = useNamed();
  const words = useWords();
  return (
    <>
      <details {...named('request')}>
        <summary {...named('request-summary')}>
          {words.request}{' '}
          <span {...named('tool')}>
            <VisibleText text={request.tool} />
          </span>
        </summary>
        <div {...named('request-body')}>
          <Messages request={request} />
          <Reason request={request} />
          <Reviews request={request} />
          <CardDoubt request={request} />
          <PreviousRound request={request} />
          <OriginWarning request={request} />
          <CardInput request={request} renderInput={renderInput} />
          <OriginDetails request={request} />
          <CardPreview request={request} />
          <CardPayload request={request} />
          <CardFacts request={request} hasRisk />
        </div>
      </details>
      {children}
    </>
  );
}

type PendingProps = ApprovalCardProps & { readonly onDraft: (draft: unknown) => void };

function Pending({ request, actions, renderInput, children, onDraft }: PendingProps) {
  const named = useNamed();
  const words = useWords();
  const { unshown, note } = useUnshown();
  const [mode, setMode] = useState<Mode>(
    request.kind === 'question' && request.allows.includes('respond') ? 'respond' : 'decide',
  );
  const place = useFocusMoved(mode);
  // Going back, as by Escape, closes the form and keeps what was typed.
  const edited = useRef<unknown>(undefined);
  const reason = useRef('');
  const change = (next: Mode) => {
    onDraft(undefined);
    setMode(next);
  };
  return (
    <Unshown value={note}>
      <div {...named('body')} ref={place} data-mode={mode}>
        <Messages request={request} />
        <Reason request={request} />
        <Reviews request={request} />
        <CardDoubt request={request} />
        <PreviousRound request={request} />
        <OriginWarning request={request} />
        {mode === 'edit' ? (
          <EditForm
            request={request}
            actions={actions}
            onDraft={onDraft}
            onBack={() => change('decide')}
            kept={edited}
          />
        ) : (
          <CardInput request={request} renderInput={renderInput} />
        )}
        <OriginDetails request={request} />
        <CardPreview request={request} />
        <CardPayload request={request} />
        <CardFacts request={request} />
        {request.kind !== 'recall' && <Voting request={request} />}
        <Comments request={request} />
        {children}
        {request.mayDecide ? (
          <Decide {...{ request, actions, unshown, mode, onDraft, reason }} onMode={change} />
        ) : (
          <p {...named('may-not-decide')}>{words.mayNotDecide}</p>
        )}
      </div>
    </Unshown>
  );
}

function Messages({ request }: { readonly request: AnyCard }) {
  const named = useNamed();
  return messagesOf(request).map((message) => (
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
