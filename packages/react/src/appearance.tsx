// The texts and class names of the components. They ship without styles.
import { type Origin, originText } from 'countersign/request';
import { createContext, type ReactNode, useContext, useMemo } from 'react';

/** Every text that the components show. */
export const ENGLISH = {
  waiting: 'Waiting for you',
  announce: (title: string, kind: string) =>
    kind === 'question' ? `Question for you: ${title}` : `Approval needed: ${title}`,
  mayItRun: 'Approval needed',
  question: 'Question',
  unknownOutcome: 'Outcome unknown',
  unavailable: 'Can no longer run',
  recallable: 'Approved, waits to start',
  risk: (risk: string) => `${risk.charAt(0).toUpperCase()}${risk.slice(1)} risk`,
  reversibility: {
    'read-only': 'Changes nothing',
    reversible: 'Can be undone',
    /** Its tool has no `undo`. */
    claimed: 'Can be undone, its tool says',
    irreversible: 'Cannot be undone',
  },
  preview: 'What would happen',
  previewChanged: 'What would happen has changed. Please check it again.',
  previewBefore: 'Before',
  previewNow: 'Now',
  previewFailed: 'Preview failed:',
  files: 'Files',
  fileSize: (bytes: number) => (bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`),
  fileMissing: 'is not shown here.',
  askedBy: 'Asked by',
  through: 'through',
  agentSays: 'The agent says:',
  secondOpinion: 'Second opinion (advice):',
  reviewStep: (step: number) => `Step ${step}:`,
  reviewWarning: 'Warning:',
  reviewEmpty: 'Nothing found.',
  reviewFailed: 'The review failed:',
  reviewRequired: 'Nobody can approve without it.',
  reviewStricter: 'More people decide because of this review.',
  labels: 'Labels',
  input: 'Input',
  approve: 'Approve',
  edit: 'Edit',
  reject: 'Reject',
  recall: 'Recall',
  revise: 'Ask for changes',
  whichChanges: 'Which changes? The agent reads this.',
  changesAsked: 'Changes asked for',
  originWarning: 'Look where this comes from before you decide',
  origins: 'Where the values come from',
  otherValues: 'Other values',
  origin: (origin: Origin) => originText(origin),
  changesSince: 'What has changed since',
  round: (round: number) => `Round ${round}`,
  decline: 'Skip',
  cancel: 'Cancel',
  answer: 'Answer',
  goOn: 'Continue',
  back: 'Back',
  tryAgain: 'Try again',
  didNotHappen: 'It did not happen, run it again',
  happened: 'It happened',
  whatHappened: 'What happened? The model gets this as the result.',
  lookFirst: 'Look before you decide',
  whereToLook: 'Where to look',
  startedAt: 'Started',
  approvedBy: 'Approved by',
  letRunByGrant: 'Let run by the grant',
  idempotencyKey: 'Idempotency key',
  mayHappenTwice: (title: string) => `If it did happen, it happens twice: ${title}`,
  runAgain: 'Run it again',
  leaveIt: 'Skip it and tell the model',
  approveEdited: 'Approve with these changes',
  asJson: 'JSON',
  was: 'Was',
  earlierTitle: 'was:',
  request: 'Request',
  result: 'Result',
  draftKept: 'Someone else decided this while you were writing. Your draft was not sent:',
  dismiss: 'Dismiss',
  reason: 'Reason (optional)',
  changes: 'Changes',
  noChanges: 'No changes.',
  changedFrom: 'changed from',
  changedTo: 'to',
  added: 'added:',
  removed: 'removed:',
  wholeValue: 'value',
  sending: 'Sending…',
  notLoaded: 'Could not load this.',
  notSent: 'Could not confirm your decision. Try again.',
  orUnchanged: 'Or go back to approve it unchanged or reject it.',
  whoDecides: 'Who decides',
  votesOf: (given: number, needed: number) => `${given} of ${needed} ${needed === 1 ? 'vote' : 'votes'}`,
  waitingFor: 'Waiting for',
  missing: (count: number, names: string, hasVotes: boolean) =>
    names === '' && count === 1
      ? `anyone${hasVotes ? ' else' : ''}`
      : `${count} ${hasVotes ? 'more ' : ''}${names === '' ? 'people' : `of ${names}`}`,
  role: (role: string) => role,
  or: 'or',
  votes: 'Votes',
  votedFor: 'for',
  yourVote: 'your vote',
  youVoted: (did: string) => `You voted: ${did}. You can change your vote as long as the request is open.`,
  changeVote: 'Change vote',
  proposedChanges: 'proposed changes',
  notRequester:
    'The person who started the run, and people who edited the input or asked for changes, cannot approve it.',
  oneRejection: 'One rejection is enough to reject it.',
  majorityRejects: 'It is rejected when most people reject it.',
  signedVotes: 'Each vote must be signed with a passkey.',
  outOfReach: (votes: string) =>
    `Nobody who is known can still give the missing votes: ${votes}. Reject the request, or ask for another policy.`,
  editedSince: 'The input was edited, so the votes given before do not count.',
  comments: 'Comments',
  assignedTo: 'Assigned to',
  escalatedTo: 'Escalated to',
  mayNotDecide: 'You can view this request but not decide it.',
  deadline: 'Expires',
  deadlinePassed: 'Expired',
  starts: 'Starts',
  startsUnlessRecalled: ', unless someone recalls it',
  onExpiry: { reject: ', then auto-rejects', cancel: ', then auto-cancels', approve: ', then auto-approves' },
  decided: {
    approve: 'Approved',
    reject: 'Rejected',
    revise: 'Changes asked for',
    respond: 'Answered',
    restart: 'Continued',
    cancel: 'Cancelled',
  },
  decidedRecall: 'Recalled',
  decidedWithChanges: 'Approved with changes',
  decidedProposed: 'Changes proposed',
  granted: 'Allowed by a grant',
  allowedByRule: 'Allowed by a rule',
  grantedBy: 'of',
  observed: (why: readonly string[]) => `Ran unasked; would have asked: ${why.join('; ')}`,
  running: 'Running…',
  frozen: (reason: string, by: string | null) =>
    `Frozen${by === null ? '' : ` by ${by}`}: ${reason} It waits until the freeze is lifted.`,
  waitsToStart: 'It waits before it starts, and can be recalled.',
  done: (text: string | null) => (text === null ? 'Done' : `Done: ${text}`),
  failed: (text: string, mayHaveActed: boolean) => `Failed: ${text}${mayHaveActed ? ' It may have taken effect.' : ''}`,
  outcomeIsUnknown: 'It was started, and nobody knows yet whether it took effect.',
  notRun: {
    changed: 'Not run: what would happen has changed, so it was asked again.',
    edited: 'Not run: it was asked again, with the changes.',
    stopped: 'Not run: its run was stopped first.',
    recalled: 'Not run: it was recalled.',
  },
  expired: {
    approve: 'Expired, approved automatically',
    reject: 'Expired, rejected automatically',
    cancel: 'Expired, cancelled automatically',
  },
  withdrawn: 'Cancelled',
  by: 'by',
  note: 'Note',
  givenReason: 'Reason',
  emptyText: '(empty text)',
  emptyObject: '(nothing)',
  emptyList: '(empty list)',
  notShown: (count: number) => `${count.toLocaleString('en')} more characters are not shown yet.`,
  changesNotShown: (count: number) => `${count.toLocaleString('en')} more changes are not shown yet.`,
  showMore: 'Show more',
  notAllShown: (count: number) =>
    `Not everything is visible yet: ${count.toLocaleString('en')} characters are behind “Show more”.`,
  hidden: 'Invisible character',
  holdsHidden: 'Contains invisible characters:',
  submit: 'Send',
  yes: 'Yes',
  no: 'No',
  nothing: 'Nothing (null)',
  leaveOut: 'Leave out',
  choose: 'Choose…',
  kindOfValue: 'Value type',
  optional: '(optional)',
  otherAnswer: 'Another answer',
  sendOther: 'Send this answer',
  add: (what: string) => `Add ${what}`,
  remove: (what: string) => `Remove ${what}`,
  entry: 'entry',
  entryName: 'Name',
  jsonText: 'As JSON',
  yourTimeZone: (zone: string) => `Time zone: ${zone}`,
  problems: 'Please fix:',
  mustBeGiven: 'Required',
  mustBeNumber: 'Enter a number.',
  mustBeInteger: 'Enter a whole number.',
  tooManyDigits: 'This number has too many digits.',
  atLeast: (limit: number) => `At least ${limit}.`,
  atMost: (limit: number) => `At most ${limit}.`,
  moreThan: (limit: number) => `More than ${limit}.`,
  lessThan: (limit: number) => `Less than ${limit}.`,
  multipleOf: (step: number) => `A multiple of ${step}.`,
  minLength: (limit: number) => `At least ${limit} characters.`,
  maxLength: (limit: number) => `At most ${limit} characters.`,
  minItems: (limit: number) => `At least ${limit} entries.`,
  maxItems: (limit: number) => `At most ${limit} entries.`,
  mustMatch: (what: string) => `Expected the format ${what}.`,
  mustBeJson: 'Enter valid JSON.',
  sameName: 'This name is used twice.',
} as const satisfies Record<string, unknown>;

type Widened<T> = T extends string
  ? string
  : T extends (...given: infer Given) => string
    ? (...given: Given) => string
    : { readonly [K in keyof T]: Widened<T[K]> };

/** The texts that you can replace, for another language or tone. */
export type Words = { readonly [K in keyof typeof ENGLISH]: Widened<(typeof ENGLISH)[K]> };

export type FileUrl = (requestId: string, sha256: string) => string;

type Look = {
  readonly words: Words;
  readonly classNames: Readonly<Record<string, string>>;
  readonly fileUrl?: FileUrl | undefined;
  readonly locale?: string | undefined;
};

const LookContext = createContext<Look>({ words: ENGLISH, classNames: {} });

export type AppearanceProps = {
  /** Texts to replace. */
  readonly words?: Partial<Words> | undefined;
  /** Classes by element: the key is the value of its `data-countersign`. */
  readonly classNames?: Readonly<Record<string, string>>;
  /** The address of a file of a preview whose bytes are not on the card. */
  readonly fileUrl?: FileUrl | undefined;
  /** The language of dates, times and amounts, such as `de-CH`. By default that of the browser. */
  readonly locale?: string | undefined;
  readonly children?: ReactNode;
};

/** Sets the words and classes of the components inside it. */
export function Appearance({ words, classNames, fileUrl, locale, children }: AppearanceProps) {
  const outer = useContext(LookContext);
  const look = useMemo(
    () => ({
      words: { ...outer.words, ...words },
      classNames: { ...outer.classNames, ...classNames },
      fileUrl: fileUrl ?? outer.fileUrl,
      locale: locale ?? outer.locale,
    }),
    [outer, words, classNames, fileUrl, locale],
  );
  return <LookContext.Provider value={look}>{children}</LookContext.Provider>;
}

export const useFileUrl = (): FileUrl | undefined => useContext(LookContext).fileUrl;

export const useLocale = (): string | undefined => useContext(LookContext).locale;

export const useWords = (): Words => useContext(LookContext).words;

/** Gives each element the attributes to style it by: `<button {...named('approve')}>`. */
export function useNamed() {
  const { classNames } = useContext(LookContext);
  return (name: string, className?: string) => {
    const classes = [classNames[name], className].filter(Boolean).join(' ');
    return { 'data-countersign': name, ...(classes !== '' && { className: classes }) };
  };
}
