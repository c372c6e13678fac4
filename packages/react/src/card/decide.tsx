// The decisions of a pending card: buttons, and the forms for an answer or a reason.
import type { Allowed, RequestCard } from 'countersign/ui';
import { type RefObject, useId, useState } from 'react';
import { useNamed, useWords, type Words } from '../appearance.tsx';
import { QuestionForm } from '../form/question-form.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import type { UseRequests } from '../use-requests.ts';
import { questionOf } from './card-body.tsx';
import { titleOf } from './title.ts';

type AnyCard = RequestCard<string, any>;

/** Which form of the card is open. */
export type Mode = 'decide' | 'edit' | 'revise' | 'reject' | 'respond' | 'again';

type DecideProps = {
  readonly request: AnyCard;
  readonly actions: UseRequests<any>;
  /** How many characters of the card are not shown yet. */
  readonly unshown: number;
  readonly mode: Mode;
  readonly onMode: (mode: Mode) => void;
  readonly onDraft: (draft: unknown) => void;
  /** The reason that was typed before the form was closed. */
  readonly reason: RefObject<string>;
};

export function Decide({ request, actions, unshown, mode, onMode, onDraft, reason }: DecideProps) {
  const named = useNamed();
  const words = useWords();
  const busy = actions.deciding.has(request.id);
  const failure = actions.failure(request.id);
  const problems = actions.problems(request.id);
  const isOpenForm = mode === 'edit' || mode === 'respond';
  return (
    <div {...named('decide')} data-mode={mode} aria-busy={busy}>
      {unshown > 0 && <p {...named('not-all-shown')}>{words.notAllShown(unshown)}</p>}
      {mode === 'respond' && (
        <AnswerForm
          {...{ request, actions, busy, problems, onDraft }}
          onBack={request.kind === 'question' ? undefined : () => onMode('decide')}
        />
      )}
      {(mode === 'reject' || mode === 'revise') && (
        <WhyForm
          {...{ request, actions, busy, onDraft }}
          verb={mode}
          kept={reason}
          onBack={() => onMode(startOf(request))}
        />
      )}
      {mode === 'again' && <AgainForm {...{ request, actions, busy }} onBack={() => onMode('decide')} />}
      {!isOpenForm && problems.length > 0 && (
        <div {...named('problems')} role="alert">
          {problems.map(({ path, message }) => (
            <p key={`${path.join('.')} ${message}`}>
              <VisibleText text={[...path, message].join(': ')} />
            </p>
          ))}
        </div>
      )}
      {(mode === 'decide' || (request.kind === 'question' && mode === 'respond')) && (
        <Buttons {...{ request, actions, busy, mode, onMode }} />
      )}
      {failure && (
        <p {...named('failure')} role="alert">
          {words.notSent}
          {!isUnreachable(failure) && (
            <>
              {' '}
              <VisibleText text={failure.message.slice(0, 300)} />
            </>
          )}
          {mode === 'edit' && ` ${words.orUnchanged}`}
        </p>
      )}
      <output {...named('sending')}>{busy ? words.sending : ''}</output>
    </div>
  );
}

const startOf = ({ kind, allows }: AnyCard): Mode =>
  kind === 'question' && allows.includes('respond') ? 'respond' : 'decide';

/** Browsers have no useful words for a request that did not arrive: “Failed to fetch”, “Load failed”. */
function isUnreachable(error: Error): boolean {
  return (
    error instanceof TypeError || /^(?:failed to fetch|networkerror|load failed|network error)/i.test(error.message)
  );
}

type FormProps = {
  readonly request: AnyCard;
  readonly actions: UseRequests<any>;
  readonly busy: boolean;
};

type Offer = readonly [verb: Allowed, label: string, decide: () => void];

/** In display order: decisions that let the call run first, those that end it last. In doubt, running it again comes second. */
function Buttons({
  request,
  actions,
  busy,
  mode,
  onMode,
}: FormProps & { readonly mode: Mode; readonly onMode: (mode: Mode) => void }) {
  const named = useNamed();
  const words = useWords();
  const doubt = request.kind === 'doubt';
  const vote = request.progress?.votes.find(({ isYours }) => isYours);
  const [changed, setChanged] = useState<typeof vote>();
  if (vote && changed?.at !== vote.at)
    return (
      <div {...named('buttons')}>
        <button {...named('change-vote')} type="button" aria-disabled={busy} onClick={() => !busy && setChanged(vote)}>
          {words.changeVote}
        </button>
      </div>
    );
  const approve = () => (doubt ? onMode('again') : actions.approve(request));
  const answer: Offer = ['respond', doubt ? words.happened : words.answer, () => onMode('respond')];
  const offers: readonly Offer[] = [
    ...(doubt ? [answer] : []),
    ['approve', approveLabel(request, words), approve],
    ['restart', words.goOn, () => actions.restart(request)],
    ['edit', words.edit, () => onMode('edit')],
    ...(doubt ? [] : [answer]),
    ['revise', words.revise, () => onMode('revise')],
    ['reject', rejectLabel(request, words), () => onMode('reject')],
    ['cancel', doubt ? words.leaveIt : words.cancel, () => actions.cancel(request)],
  ];
  const fitting = offers.filter(
    ([verb]) => request.allows.includes(verb) && verb !== vote?.type && !isDouble(verb, request, mode),
  );
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
  if (kind === 'doubt') return words.didNotHappen;
  return kind === 'unavailable' ? words.tryAgain : words.approve;
}

function rejectLabel({ kind }: AnyCard, words: Words): string {
  if (kind === 'doubt') return words.leaveIt;
  if (kind === 'recall') return words.recall;
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
    case 'revise':
    case 'reject':
      return false;
  }
}

type AnswerFormProps = FormProps & {
  readonly problems: ReturnType<UseRequests['problems']>;
  readonly onDraft: (draft: unknown) => void;
  readonly onBack: (() => void) | undefined;
};

function AnswerForm({ request, actions, busy, problems, onDraft, onBack }: AnswerFormProps) {
  const words = useWords();
  const { question, choices, allowOther } = questionOf(request);
  const asked = request.kind === 'doubt' ? words.whatHappened : words.answer;
  return (
    <QuestionForm
      schema={request.answerSchema}
      label={question ?? asked}
      choices={choices}
      allowOther={allowOther}
      problems={problems}
      disabled={busy}
      onSubmit={(answer) => actions.respond(request, answer)}
      onDraft={onDraft}
      {...(onBack && { onCancel: onBack })}
    />
  );
}

/** Names the risk of a second run. The focus is on the way back: who presses Enter by habit runs nothing. */
function AgainForm({ request, actions, busy, onBack }: FormProps & { readonly onBack: () => void }) {
  const named = useNamed();
  const words = useWords();
  return (
    <fieldset {...named('again-form')} aria-label={words.didNotHappen}>
      <p {...named('again-risk')} role="alert">
        <VisibleText text={words.mayHappenTwice(titleOf(request))} />
        {request.reversibility === 'irreversible' && ` (${words.reversibility.irreversible})`}
      </p>
      <div {...named('form-buttons')}>
        <button {...named('back')} type="button" onClick={onBack}>
          {words.back}
        </button>
        <button
          {...named('confirm-again')}
          type="button"
          aria-disabled={busy}
          onClick={() => !busy && actions.approve(request)}
        >
          {words.runAgain}
        </button>
      </div>
    </fieldset>
  );
}

type WhyFormProps = FormProps & {
  readonly verb: 'revise' | 'reject';
  readonly onDraft: (draft: unknown) => void;
  readonly kept: RefObject<string>;
  readonly onBack: () => void;
};

/** A reason may be left out; a person who asks for changes says which. */
function WhyForm({ request, actions, busy, verb, onDraft, kept, onBack }: WhyFormProps) {
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const [text, setText] = useState(kept.current);
  const isRevise = verb === 'revise';
  const Field = isRevise ? 'textarea' : 'input';
  const send = () => (isRevise ? actions.revise(request, text) : actions.reject(request, text));
  return (
    <form
      {...named(`${verb}-form`)}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && !(isRevise && text.trim() === '')) send();
      }}
    >
      <label {...named('label')} htmlFor={id}>
        {isRevise ? words.whichChanges : words.reason}
      </label>
      <Field
        {...named('control')}
        {...(isRevise && { required: true, maxLength: LONGEST_COMMENT, rows: 3 })}
        id={id}
        value={text}
        onChange={({ target }: { readonly target: { readonly value: string } }) => {
          kept.current = target.value;
          setText(target.value);
          onDraft(target.value === '' ? undefined : target.value);
        }}
      />
      <div {...named('form-buttons')}>
        <button {...named(`confirm-${verb}`)} type="submit" aria-disabled={busy || (isRevise && text.trim() === '')}>
          {isRevise ? words.revise : rejectLabel(request, words)}
        </button>
        <button {...named('back')} type="button" onClick={onBack}>
          {words.back}
        </button>
      </div>
    </form>
  );
}

const LONGEST_COMMENT = 2_000;
