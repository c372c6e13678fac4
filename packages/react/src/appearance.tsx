// How the components speak and what classes they carry. They bring no styles of their own.
import { createContext, type ReactNode, useContext, useMemo } from 'react';

/** Every sentence that the components say. */
export const ENGLISH = {
  waiting: 'Waiting for you',
  announce: (tool: string, kind: string) =>
    kind === 'question' ? `A question waits for you: ${tool}.` : `A decision waits for you: ${tool}.`,
  mayItRun: 'May this run?',
  question: 'Please answer',
  unknownOutcome: 'Did this happen?',
  unavailable: 'This cannot run any more',
  risk: (risk: string) => `Risk: ${risk}`,
  labels: 'Labels',
  input: 'Input',
  approve: 'Approve',
  edit: 'Edit',
  reject: 'Reject',
  decline: 'Do not answer',
  cancel: 'Cancel',
  answer: 'Answer',
  goOn: 'Continue',
  back: 'Back',
  tryAgain: 'Try again',
  didNotHappen: 'It did not happen: run it',
  happened: 'It happened: enter the result',
  leaveIt: 'Leave it, and tell the model',
  approveEdited: 'Approve with these changes',
  reason: 'Reason (optional)',
  changes: 'Changes',
  noChanges: 'No changes.',
  changedFrom: 'changed from',
  changedTo: 'to',
  added: 'added:',
  removed: 'removed:',
  wholeValue: 'value',
  sending: 'Sending…',
  notSent: 'Your decision is not confirmed. Please try again.',
  orUnchanged: 'Or go back: it can be approved unchanged, or rejected.',
  mayNotDecide: 'You may see this, and not decide it.',
  deadline: 'Deadline:',
  deadlinePassed: 'The deadline has passed.',
  onExpiry: { reject: 'Then it is rejected.', cancel: 'Then it is cancelled.', approve: 'Then it is approved.' },
  decided: {
    approve: 'Approved',
    reject: 'Rejected',
    respond: 'Answered',
    restart: 'Continued',
    cancel: 'Cancelled',
  },
  by: 'by',
  at: 'at',
  note: 'Note',
  givenReason: 'Reason',
  emptyText: '(empty text)',
  emptyObject: '(nothing)',
  notShown: (count: number) => `${count.toLocaleString('en')} more characters are not shown yet.`,
  changesNotShown: (count: number) => `${count.toLocaleString('en')} more changes are not shown yet.`,
  showMore: 'Show more',
  notAllShown: (count: number) =>
    `You do not see everything yet: ${count.toLocaleString('en')} characters are behind “Show more”.`,
  hidden: 'Invisible character',
  holdsHidden: 'It holds characters that you would not see:',
  submit: 'Send',
  yes: 'Yes',
  no: 'No',
  nothing: 'Nothing (null)',
  leaveOut: 'Leave out',
  choose: 'Choose…',
  kindOfValue: 'Kind of value',
  optional: '(optional)',
  otherAnswer: 'Another answer',
  sendOther: 'Send this answer',
  add: (what: string) => `Add ${what}`,
  remove: (what: string) => `Remove ${what}`,
  entry: 'entry',
  entryName: 'Name',
  jsonText: 'As JSON',
  yourTimeZone: (zone: string) => `Time zone: ${zone}`,
  problems: 'Please look at this again:',
  mustBeGiven: 'An answer is needed here.',
  mustBeNumber: 'This is not a number.',
  mustBeInteger: 'This is not a whole number.',
  tooManyDigits: 'This number has more digits than can be kept.',
  atLeast: (limit: number) => `At least ${limit}.`,
  atMost: (limit: number) => `At most ${limit}.`,
  moreThan: (limit: number) => `More than ${limit}.`,
  lessThan: (limit: number) => `Less than ${limit}.`,
  multipleOf: (step: number) => `A multiple of ${step}.`,
  minLength: (limit: number) => `At least ${limit} characters.`,
  maxLength: (limit: number) => `At most ${limit} characters.`,
  minItems: (limit: number) => `At least ${limit} entries.`,
  maxItems: (limit: number) => `At most ${limit} entries.`,
  mustMatch: (what: string) => `This does not have the form ${what}.`,
  mustBeJson: 'This is not JSON.',
  sameName: 'This name is there twice.',
} as const satisfies Record<string, unknown>;

type Widened<T> = T extends string
  ? string
  : T extends (...given: infer Given) => string
    ? (...given: Given) => string
    : { readonly [K in keyof T]: Widened<T[K]> };

/** The sentences that can be replaced, for another language or tone. */
export type Words = { readonly [K in keyof typeof ENGLISH]: Widened<(typeof ENGLISH)[K]> };

type Look = { readonly words: Words; readonly classNames: Readonly<Record<string, string>> };

const LookContext = createContext<Look>({ words: ENGLISH, classNames: {} });

export type AppearanceProps = {
  /** Sentences to replace. */
  readonly words?: Partial<Words>;
  /** Classes by element: the key is the value of its `data-countersign`. */
  readonly classNames?: Readonly<Record<string, string>>;
  readonly children?: ReactNode;
};

/** Sets the words and classes of the components inside it. */
export function Appearance({ words, classNames, children }: AppearanceProps) {
  const outer = useContext(LookContext);
  const look = useMemo(
    () => ({ words: { ...outer.words, ...words }, classNames: { ...outer.classNames, ...classNames } }),
    [outer, words, classNames],
  );
  return <LookContext.Provider value={look}>{children}</LookContext.Provider>;
}

export const useWords = (): Words => useContext(LookContext).words;

/** What every element carries, so that it can be styled: `<button {...named('approve')}>`. */
export function useNamed() {
  const { classNames } = useContext(LookContext);
  return (name: string, className?: string) => {
    const classes = [classNames[name], className].filter(Boolean).join(' ');
    return { 'data-countersign': name, ...(classes !== '' && { className: classes }) };
  };
}
