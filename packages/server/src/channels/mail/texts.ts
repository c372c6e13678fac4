// Every text of a mail, in English. The option `texts` replaces them.
import type { NoticeType } from 'countersign/request';
import type { Reason } from 'countersign/store';
import { MAY_HAVE_ACTED, OUTCOME_WORDS, UNKNOWN_NEXT, WHY_NOT_RUN } from '../../text/outcome-text.ts';
import { ruleLines, votesText } from '../../text/votes-text.ts';

type Ended = 'decided' | 'expired' | 'withdrawn' | 'done' | 'failed' | 'unknown' | 'not-run';
type Waiting = Exclude<NoticeType, Ended>;

export const ENGLISH = {
  /** The language of the texts, for screen readers and translation programs. */
  language: 'en',
  waiting: {
    opened: 'Waiting for your decision',
    doubt: 'Outcome unknown: please check',
    reminded: 'Reminder: waiting for your decision',
    escalated: 'Escalated: waiting for your decision',
    assigned: 'Assigned to you',
    commented: 'New comment',
  } satisfies Record<Waiting, string>,
  waitingForAnswer: 'Waiting for your answer',
  decided: {
    approve: 'Approved',
    reject: 'Rejected',
    revise: 'Changes asked for',
    respond: 'Answered',
    restart: 'Continued',
    cancel: 'Cancelled',
  },
  approvedWithChanges: 'Approved with changes',
  expired: {
    approve: 'Expired, approved automatically',
    reject: 'Expired, rejected automatically',
    cancel: 'Expired, cancelled automatically',
  },
  withdrawn: 'Withdrawn',
  /** What came of the call after its decision. */
  came: OUTCOME_WORDS,
  notRun: WHY_NOT_RUN,
  result: 'Result',
  problem: 'What went wrong',
  whyNotRun: 'Reason',
  mayHaveActed: MAY_HAVE_ACTED,
  unknownNext: UNKNOWN_NEXT,
  stillRuns: 'It is running. You can see in the inbox what comes of it.',
  decision: 'Decision',
  /** `by` is empty if no person is recorded. */
  outcome: (outcome: string, by: string, when: string) => `${outcome}${by === '' ? '' : ` by ${by}`} at ${when}`,
  risk: { low: 'Low risk', medium: 'Medium risk', high: 'High risk' },
  reversibility: {
    'read-only': 'Changes nothing',
    reversible: 'Can be undone',
    /** Its tool has no `undo`. */
    claimed: 'Can be undone, its tool says',
    irreversible: 'Cannot be undone',
  },
  untrusted: 'Warning: look where this comes from',
  origins: 'Where the values come from',
  agentSays: 'The agent says',
  files: 'Files, which the inbox shows',
  doubt: 'Look before you decide',
  input: 'Input',
  editedInput: 'Approved input',
  answer: 'Answer',
  reason: 'Reason',
  note: 'Note',
  details: 'Details',
  preview: 'What would happen',
  previewChanged: 'What would happen now. It has changed since it was approved.',
  previewBefore: 'What was approved before',
  reviews: 'Second opinion (advice)',
  changesAsked: 'Changes asked for',
  inputBefore: 'Input of the round before',
  round: (number: number) => `Round ${number}`,
  previewFailed: 'The preview failed',
  about: 'About this request',
  decideBy: 'Decide by',
  onExpiry: {
    approve: 'then approved automatically',
    reject: 'then rejected automatically',
    cancel: 'then cancelled automatically',
  },
  whoDecides: 'Who decides',
  votes: votesText,
  rules: ruleLines,
  /** A vote that was given: who, what, when. */
  vote: (did: string, when: string, onBehalfOf: string) =>
    `${did}${onBehalfOf === '' ? '' : ` for ${onBehalfOf}`}${when === '' ? '' : `, ${when}`}`,
  assignedTo: 'Assigned to',
  comments: 'Comments',
  labels: 'Labels',
  startedBy: 'Started by',
  tooLarge: 'This is too large for a mail. Open the request to see all of it.',
  approve: 'Approve',
  edit: 'Edit',
  reject: 'Reject',
  revise: 'Ask for changes',
  respond: 'Answer',
  review: 'Review and decide',
  view: 'View request',
  confirm: 'The links open a page. Nothing is decided until you confirm it there.',
  noLink: 'Open your inbox to decide.',
  digest: (count: number) => `${count} requests`,
  digestLead: (count: number) => `News about ${count} requests`,
  digestWaiting: (count: number) => `${count} requests wait for your decision`,
  digestSame: (count: number, lead: string) => `${lead}: ${count} requests`,
  digestMore: (count: number) => `And ${count} more`,
  openInbox: 'Open the inbox',
  why: {
    decider: 'You get this mail because you can decide this request.',
    assignee: 'You get this mail because this request is assigned to you.',
    escalated: 'You get this mail because this request was escalated to you.',
    delegate: 'You get this mail because you stand in for someone who is away.',
    everyone: 'You get this mail because anyone can decide this request.',
    mentioned: 'You get this mail because a comment names you.',
    involved: 'You get this mail because you take part in this request.',
    'told-before': 'You get this mail because you were told about this request before.',
    requester: 'You get this mail because you asked for this.',
    approver: 'You get this mail because you approved this.',
  } satisfies Record<Reason, string>,
  onBehalfOf: (absent: string) => `You get this mail because you stand in for ${absent}.`,
  whyDigest:
    'These requests are in one mail because they came within a short time. The page Notices of the inbox changes that.',
  signIn: 'Sign in to Countersign',
  signInLead: (name: string) => `Hello ${name}, you asked for a link to sign in.`,
  signInLink: 'Sign in',
  signInHint: 'The link works once, for ten minutes. It opens a page with a button.',
  signInWarning: 'If you did not ask for it, ignore this mail: nobody is signed in. Do not forward it.',
  delegateNamed: (delegate: string) => `${delegate} may decide for you`,
  delegation: (delegate: string, from: string, until: string, by: string) =>
    `${by} named ${delegate} as your delegate. From ${from} until ${until}, ${delegate} may decide requests for you.`,
  delegationAdvice:
    'If you did not want this, end your absence on the page Away of the inbox, and tell your administrator.',
  replies: 'Replies to this mail decide nothing.',
  sampleTitle: 'Sample: pay €950 to ACME',
  sampleMessage: 'This is a sample. Nothing waits for you.',
} as const;

type Widened<T> = T extends string
  ? string
  : T extends (...given: infer Given) => infer Said
    ? (...given: Given) => Said
    : { readonly [K in keyof T]: Widened<T[K]> };

/** Every text of a mail. */
export type MailTexts = { readonly [K in keyof typeof ENGLISH]: Widened<(typeof ENGLISH)[K]> };
