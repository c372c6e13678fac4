// Decisions and assignees in words.
import type { DecideResult, Json } from 'countersign';
import type { Names } from 'countersign/request';
import type { CardVote } from 'countersign/ui';
import { isRecord } from '../is-record.ts';
import type { ApiRequest, Assignee } from '../schemas/request.ts';
import { shortTime, timeText } from './moment.ts';
import { personLine } from './person-text.ts';
import { valueLine } from './value-text.ts';
import { visibleLine } from './visible-text.ts';
import { votesText } from './votes-text.ts';

type JsonObject = { readonly [key: string]: Json | undefined };

export type Recorded = {
  readonly decision?: Json;
  readonly by: string | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly at: number | null;
};

const PAST: Readonly<Record<string, string>> = {
  approve: 'approved',
  reject: 'rejected',
  cancel: 'cancelled',
  revise: 'asked for changes',
  respond: 'answered',
  restart: 'restarted',
  propose: 'proposed changes',
};

/** As in `approved with edited input: amount 90`. */
export function decisionText(decision: Json | undefined): string {
  const { type, comment, reason = comment, edit, output, replaceInput } = fieldsOf(decision);
  const did = PAST[String(type)] ?? 'withdrawn';
  if (type === 'approve' && edit !== undefined) return `${did} with edited input: ${valueLine(edit)}`;
  if (type === 'restart' && replaceInput !== undefined) return `${did} with: ${valueLine(replaceInput)}`;
  if (type === 'respond') return `${did}: ${valueLine(output)}`;
  return typeof reason === 'string' && reason !== '' ? `${did}: ${visibleLine(reason)}` : did;
}

const fieldsOf = (decision: Json | undefined): JsonObject => (isRecord(decision) ? (decision as JsonObject) : {});

/** As in `ann (inbox) at 2026-11-15 07:00:01: approved`. */
export function recordedText({ decision, by, channel, note, at }: Recorded, names?: Names): string {
  const through = channel === null ? '' : ` (${visibleLine(channel)})`;
  const when = at === null ? '' : ` at ${timeText(at)}`;
  const remark = note === null || note === '' ? '' : `, note: ${visibleLine(note)}`;
  return `${by === null ? 'unknown person' : personLine(by, names)}${through}${when}: ${decisionText(decision)}${remark}`;
}

/** Told once a drill was decided. */
export const DRILL_TEXT = 'It was a drill, a request to reject: nothing was run.';

/** As in `ann (inbox): approved`, or as in `1 of 2 votes, waiting for: 1 more of finance`. */
export function resultText(result: DecideResult): string {
  if (result.status === 'settled')
    return result.drill ? `${recordedText(result)}. ${DRILL_TEXT}` : recordedText(result);
  const votes = result.votes.map(({ decision }) => {
    const { type, edit } = fieldsOf(decision);
    return { type: type as CardVote['type'], isEdit: edit !== undefined };
  });
  return votesText({ votes, missing: result.missing });
}

const ASKED = 'asked for changes to';
const EDITED = 'approved an edited version of';

/** As in `Bob already rejected this at 1:28 PM. Your decision was not saved.` */
export function conflictText({ decision, by, channel, at }: Recorded, person: string | undefined): string {
  const { type, edit } = fieldsOf(decision);
  const did = type === 'revise' ? ASKED : edit === undefined ? (PAST[String(type)] ?? 'withdrew') : EDITED;
  if (by === 'deadline' && channel === null)
    return `This request expired and was ${PAST[String(type)] ?? 'withdrawn'} automatically. Your decision was not saved.`;
  const who = by === null ? 'Someone' : by === person ? 'You' : visibleLine(by);
  return `${who} already ${did} this${at === null ? '' : ` at ${shortTime(at)}`}. Your decision was not saved.`;
}

/** The assignee of a pending card, unless their time is over. */
export const assigneeOn = ({ assignee, status }: ApiRequest, now: number): Assignee | null =>
  assignee !== null && (assignee.until ?? Infinity) > now && status === 'pending' ? assignee : null;

/** As in `ann is reviewing this`, if another person does. */
export function othersReview(card: ApiRequest, person: string | undefined, now: number): string | undefined {
  const assignee = assigneeOn(card, now);
  if (assignee === null || assignee.until === null || assignee.person === person) return undefined;
  return `${personLine(assignee.person, card.names)} is reviewing this`;
}
