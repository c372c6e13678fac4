// The parts of a card below its heading: the input, what the asker adds, risk, reversibility, labels and deadline.
import type { RequestCard } from 'countersign/ui';
import { type ReactNode, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { areAnswers } from '../form/choices.ts';
import { ValueView } from '../text/value-view.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { Deadline } from './deadline.tsx';
import { titleOf } from './title.ts';

type AnyCard = RequestCard<string, any>;

/** What a question says of itself, by the conventions `question`, `choices` and `allowOther`. */
export type Question = {
  readonly question: string | undefined;
  readonly choices: readonly unknown[] | undefined;
  readonly allowOther: boolean;
  /** Where it says so. */
  readonly source: 'input' | 'payload';
};

/** Reads choices from the model's input, else from the tool's payload. Entries that are not valid answers are ignored. */
export function questionOf({ input, payload, answerSchema }: AnyCard): Question {
  const inInput = ['question', 'choices'].some((key) => key in recordOf(input));
  const said = recordOf(inInput ? input : payload);
  const choices = Array.isArray(said.choices) && areAnswers(said.choices, answerSchema) ? said.choices : undefined;
  return {
    question: typeof said.question === 'string' ? said.question : undefined,
    choices,
    allowOther: choices !== undefined && WRITE_IN.some((key) => said[key] === true),
    source: inInput ? 'input' : 'payload',
  };
}

const WRITE_IN = ['allowOther', 'allow_other', 'allowWriteIn'];

/** What the asker wants said: the message beside the question, and the question itself unless it is the headline. */
export function messagesOf(request: AnyCard): readonly string[] {
  const { payload, kind } = request;
  const { message } = typeof payload === 'string' ? { message: payload } : recordOf(payload);
  const { question } = kind === 'question' ? questionOf(request) : {};
  const headline = titleOf(request);
  return [message, question].filter((text) => typeof text === 'string').filter((text) => text !== headline);
}

export type CardPartProps = { readonly request: AnyCard };

type CardInputProps = CardPartProps & { readonly renderInput: ((request: AnyCard) => ReactNode) | undefined };

/** The input that would run. Everything that was said is shown: nothing that a decision is bound to stays out of sight. */
export function CardInput({ request, renderInput }: CardInputProps) {
  const named = useNamed();
  const words = useWords();
  const [isJson, setJson] = useState(false);
  if (renderInput) return renderInput(request);
  const asked = request.kind === 'question' ? askedBy(request).input : [];
  const input = asked.length > 0 ? besides(request.input, asked) : request.input;
  if (input === undefined) return null;
  const hasNames = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
  return (
    <div {...named('input')}>
      <ValueView value={input} schema={request.inputSchema} asJson={isJson && hasNames} />
      {hasNames && (
        <button {...named('as-json')} type="button" aria-pressed={isJson} onClick={() => setJson(!isJson)}>
          {words.asJson}
        </button>
      )}
    </div>
  );
}

/** What the tool adds to its question. */
export function CardPayload({ request }: CardPartProps) {
  const named = useNamed();
  const { kind, payload } = request;
  if (payload === null || payload === true || typeof payload === 'string') return null;
  const asked = kind === 'question' ? askedBy(request).payload : [];
  const added = besides(payload, [...asked, ...shownAlready(request)]);
  if (added === undefined) return null;
  return (
    <div {...named('payload')}>
      <ValueView value={added} />
    </div>
  );
}

export function Risk({ request: { risk } }: CardPartProps) {
  const named = useNamed();
  const words = useWords();
  if (risk === null) return null;
  return (
    <p {...named('risk')} data-risk={risk}>
      {words.risk(risk)}
    </p>
  );
}

/** Whether the effect can be undone, as the tool says. */
export function Reversibility({ request: { reversibility, hasUndo } }: CardPartProps) {
  const named = useNamed();
  const words = useWords();
  if (!reversibility) return null;
  return (
    <p {...named('reversibility')} data-reversibility={reversibility}>
      {words.reversibility[reversibility === 'reversible' && !hasUndo ? 'claimed' : reversibility]}
    </p>
  );
}

/** Labels and the deadline; the risk too where the header does not show it. */
export function CardFacts({ request, hasRisk = false }: CardPartProps & { readonly hasRisk?: boolean }) {
  const named = useNamed();
  const words = useWords();
  const { labels, expiresAt, onExpiry, status, risk, reversibility } = request;
  const hasDeadline = expiresAt !== null && status === 'pending';
  if (labels.length === 0 && !hasDeadline && !(hasRisk && (risk !== null || reversibility))) return null;
  return (
    <div {...named('facts')}>
      {hasRisk && <Risk request={request} />}
      {hasRisk && <Reversibility request={request} />}
      {labels.length > 0 && (
        <ul {...named('labels')} aria-label={words.labels}>
          {labels.map((label) => (
            <li key={label}>
              <VisibleText text={label} />
            </li>
          ))}
        </ul>
      )}
      {hasDeadline && <Deadline expiresAt={expiresAt} onExpiry={request.kind === 'recall' ? 'start' : onExpiry} />}
    </div>
  );
}

/** The message, and how the question is asked (`needsApproval: () => ({ risk, expiresIn })`), may stand in its payload. */
function shownAlready({ payload, risk, reversibility, labels, expiresAt, onExpiry }: AnyCard): readonly string[] {
  const said = recordOf(payload);
  return [
    ...(typeof said.message === 'string' ? ['message'] : []),
    ...(said.risk === risk ? ['risk'] : []),
    ...(said.reversibility === reversibility ? ['reversibility'] : []),
    ...(JSON.stringify(said.labels) === JSON.stringify(labels) ? ['labels'] : []),
    ...(expiresAt === null ? [] : ['expiresIn']),
    ...(said.onExpiry === onExpiry ? ['onExpiry'] : []),
  ];
}

/** The property names that hold the question's text. */
function askedBy(request: AnyCard): { readonly input: readonly string[]; readonly payload: readonly string[] } {
  const { question, choices, source } = questionOf(request);
  const names = [
    ...(question === undefined ? [] : ['question']),
    ...(choices === undefined ? [] : ['choices', ...WRITE_IN]),
  ];
  return { input: [], payload: [], [source]: names };
}

/** Returns a record without the properties shown elsewhere; undefined if nothing is left. */
function besides(value: unknown, shown: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const left = Object.entries(value).filter(([key]) => !shown.includes(key));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function recordOf(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
