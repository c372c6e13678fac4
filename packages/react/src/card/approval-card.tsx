// The card of one interrupt: the question, everything that would run, and the possible decisions.
import type { Allowed, InterruptCard } from 'countersign/ui';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useNamed, useWords, type Words } from '../appearance.tsx';
import { QuestionForm } from '../form/question-form.tsx';
import { LongText, Unshown, useUnshown } from '../text/long-text.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import type { UseInterrupts } from '../use-interrupts.ts';
import { CardBody, messagesOf, questionOf } from './card-body.tsx';
import { DecisionSummary } from './decision-summary.tsx';
import { InputDiff } from './input-diff.tsx';

type AnyCard = InterruptCard<string, any>;

export type ApprovalCardProps = {
  /** The interrupt as `useInterrupts` gave it. */
  readonly interrupt: AnyCard;
  /** What `useInterrupts` returned. */
  readonly actions: UseInterrupts<any>;
  /** Of the card's heading. */
  readonly headingLevel?: 2 | 3 | 4 | 5 | 6;
  /** Replaces the readable form of the input. The input is text from a model: show it as text. */
  readonly renderInput?: (interrupt: AnyCard) => ReactNode;
  /** Added before the decisions. */
  readonly children?: ReactNode;
  readonly className?: string;
};

/** Which form of the card is open. */
type Mode = 'decide' | 'edit' | 'reject' | 'respond';

/** Renders any kind of interrupt and offers the decisions that the server allows (`allows`). */
export function ApprovalCard({
  interrupt,
  actions,
  headingLevel = 3,
  renderInput,
  children,
  className,
}: ApprovalCardProps) {
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const Heading = `h${headingLevel}` as const;
  const { unshown, note } = useUnshown();
  return (
    <Unshown value={note}>
      <article
        {...named('card', className)}
        aria-labelledby={`${id}-heading`}
        data-kind={interrupt.kind}
        data-status={interrupt.status}
        data-tool={interrupt.tool}
        {...(interrupt.risk !== null && { 'data-risk': interrupt.risk })}
      >
        <Heading {...named('heading')} id={`${id}-heading`} tabIndex={-1}>
          {headingOf(interrupt, words)}: <VisibleText text={interrupt.tool} />
        </Heading>
        {messagesOf(interrupt).map((message) => (
          <p key={message} {...named('message')}>
            <LongText text={message} />
          </p>
        ))}
        <CardBody interrupt={interrupt} renderInput={renderInput} />
        {children}
        {interrupt.status === 'decided' ? (
          <DecisionSummary interrupt={interrupt} />
        ) : interrupt.mayDecide ? (
          <Decide interrupt={interrupt} actions={actions} unshown={unshown} />
        ) : (
          <p {...named('may-not-decide')}>{words.mayNotDecide}</p>
        )}
      </article>
    </Unshown>
  );
}

function headingOf({ kind }: AnyCard, words: Words): string {
  switch (kind) {
    case 'approval':
    case 'interrupt':
      return words.mayItRun;
    case 'question':
      return words.question;
    case 'unknown-outcome':
      return words.unknownOutcome;
    case 'unavailable':
      return words.unavailable;
  }
}

type DecideProps = Pick<ApprovalCardProps, 'interrupt' | 'actions'> & {
  /** How many characters of the card are not shown yet. */
  readonly unshown: number;
};

function Decide({ interrupt, actions, unshown }: DecideProps) {
  const named = useNamed();
  const words = useWords();
  const [mode, setMode] = useState<Mode>(
    interrupt.kind === 'question' && interrupt.allows.includes('respond') ? 'respond' : 'decide',
  );
  const busy = actions.deciding.has(interrupt.id);
  const failure = actions.failure(interrupt.id);
  const problems = actions.problems(interrupt.id);
  const isOpenForm = mode === 'edit' || mode === 'respond';
  const place = useFocusMoved(mode);
  return (
    <div {...named('decide')} ref={place} data-mode={mode} aria-busy={busy}>
      {unshown > 0 && <p {...named('not-all-shown')}>{words.notAllShown(unshown)}</p>}
      {mode === 'edit' && <EditForm {...{ interrupt, actions, busy, problems }} onBack={() => setMode('decide')} />}
      {mode === 'respond' && (
        <AnswerForm
          {...{ interrupt, actions, busy, problems }}
          onBack={interrupt.kind === 'question' ? undefined : () => setMode('decide')}
        />
      )}
      {mode === 'reject' && <RejectForm {...{ interrupt, actions, busy }} onBack={() => setMode('decide')} />}
      {!isOpenForm && problems.length > 0 && (
        <div {...named('problems')} role="alert">
          {problems.map(({ path, message }) => (
            <p key={`${path.join('.')} ${message}`}>
              <VisibleText text={[...path, message].join(': ')} />
            </p>
          ))}
        </div>
      )}
      {(mode === 'decide' || interrupt.kind === 'question') && mode !== 'reject' && (
        <Buttons {...{ interrupt, actions, busy, mode }} onMode={setMode} />
      )}
      {failure && (
        <p {...named('failure')} role="alert">
          {words.notSent} <VisibleText text={failure.message.slice(0, 300)} />
          {mode === 'edit' && ` ${words.orUnchanged}`}
        </p>
      )}
      <output {...named('sending')}>{busy ? words.sending : ''}</output>
    </div>
  );
}

/** A form takes the place of the button that opened it, and with it the focus; on the way back the buttons get it again. */
function useFocusMoved(mode: Mode) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef(mode);
  useEffect(() => {
    if (shown.current === mode) return;
    shown.current = mode;
    place.current?.querySelector<HTMLElement>('input, select, textarea, button')?.focus();
  }, [mode]);
  return place;
}

type FormProps = {
  readonly interrupt: AnyCard;
  readonly actions: UseInterrupts<any>;
  readonly busy: boolean;
};

/** In display order: decisions that let the call run first, those that end it last. */
function Buttons({
  interrupt,
  actions,
  busy,
  mode,
  onMode,
}: FormProps & { readonly mode: Mode; readonly onMode: (mode: Mode) => void }) {
  const named = useNamed();
  const words = useWords();
  const doubt = interrupt.kind === 'unknown-outcome';
  const offers: readonly (readonly [Allowed, string, () => void])[] = [
    ['approve', approveLabel(interrupt, words), () => actions.approve(interrupt)],
    ['restart', words.goOn, () => actions.restart(interrupt)],
    ['edit', words.edit, () => onMode('edit')],
    ['respond', doubt ? words.happened : words.answer, () => onMode('respond')],
    ['reject', rejectLabel(interrupt, words), () => onMode('reject')],
    ['cancel', doubt ? words.leaveIt : words.cancel, () => actions.cancel(interrupt)],
  ];
  const fitting = offers.filter(([verb]) => interrupt.allows.includes(verb) && !isDouble(verb, interrupt, mode));
  return (
    <div {...named('buttons')}>
      {fitting.map(([verb, label, decide]) => (
        <button key={verb} {...named(verb)} type="button" aria-disabled={busy} onClick={() => !busy && decide()}>
          {label}
        </button>
      ))}
    </div>
  );
}

function approveLabel({ kind }: AnyCard, words: Words): string {
  if (kind === 'unknown-outcome') return words.didNotHappen;
  return kind === 'unavailable' ? words.tryAgain : words.approve;
}

function rejectLabel({ kind }: AnyCard, words: Words): string {
  if (kind === 'unknown-outcome') return words.leaveIt;
  return kind === 'question' ? words.decline : words.reject;
}

/** For a question from a tool's body, approve means continue and reject means cancel. An open form has its own button. */
function isDouble(verb: Allowed, { allows }: AnyCard, mode: Mode): boolean {
  switch (verb) {
    case 'restart':
      return allows.includes('approve');
    case 'cancel':
      return allows.includes('reject');
    case 'respond':
      return mode === 'respond';
    case 'approve':
    case 'edit':
    case 'reject':
      return false;
  }
}

type Open = FormProps & { readonly problems: ReturnType<UseInterrupts['problems']> };

function EditForm({ interrupt, actions, busy, problems, onBack }: Open & { readonly onBack: () => void }) {
  const words = useWords();
  return (
    <QuestionForm
      schema={interrupt.inputSchema ?? {}}
      initial={interrupt.input}
      label={words.input}
      problems={problems}
      disabled={busy}
      submitLabel={words.approveEdited}
      onSubmit={(input) => actions.edit(interrupt, input)}
      onCancel={onBack}
      preview={(after) => after !== undefined && <InputDiff before={interrupt.input} after={after} />}
    />
  );
}

function AnswerForm({
  interrupt,
  actions,
  busy,
  problems,
  onBack,
}: Open & { readonly onBack: (() => void) | undefined }) {
  const words = useWords();
  const { question, choices, allowOther } = questionOf(interrupt);
  return (
    <QuestionForm
      schema={interrupt.answerSchema}
      label={question ?? words.answer}
      choices={choices}
      allowOther={allowOther}
      problems={problems}
      disabled={busy}
      onSubmit={(answer) => actions.respond(interrupt, answer)}
      {...(onBack && { onCancel: onBack })}
    />
  );
}

function RejectForm({ interrupt, actions, busy, onBack }: FormProps & { readonly onBack: () => void }) {
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const [reason, setReason] = useState('');
  return (
    <form
      {...named('reject-form')}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) actions.reject(interrupt, reason);
      }}
    >
      <label {...named('label')} htmlFor={id}>
        {words.reason}
      </label>
      <input {...named('control')} id={id} value={reason} onChange={({ target }) => setReason(target.value)} />
      <button {...named('confirm-reject')} type="submit" aria-disabled={busy}>
        {rejectLabel(interrupt, words)}
      </button>
      <button {...named('back')} type="button" onClick={onBack}>
        {words.back}
      </button>
    </form>
  );
}
