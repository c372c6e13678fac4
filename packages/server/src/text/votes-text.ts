// Policies and votes in words.
import type { Missing, Names, Policy, Who } from 'countersign/request';
import type { CardProgress, CardVote } from 'countersign/ui';
import { personLine } from './person-text.ts';
import { visibleLine } from './visible-text.ts';

type Counted = Pick<CardProgress, 'missing'> & {
  readonly votes: readonly Pick<CardVote, 'type' | 'isEdit'>[];
  /** Under `notRequester`, the vote of the editor proposes the input but does not count for it. */
  readonly notRequester?: boolean;
  readonly names?: Names | undefined;
};

/** As in `1 of 2 votes, waiting for: 1 more of finance`. */
export function votesText({ votes, missing, notRequester = false, names }: Counted): string {
  const isFor = ({ type, isEdit }: Counted['votes'][number]) => !AGAINST.has(type) && !(notRequester && isEdit);
  const given = votes.filter(isFor).length;
  const needed = given + missing.reduce((sum, { count }) => sum + count, 0);
  const count = `${given} of ${needed} ${needed === 1 ? 'vote' : 'votes'}`;
  return missing.length === 0 ? count : `${count}, waiting for: ${missingText(missing, given > 0, names)}`;
}

const AGAINST: ReadonlySet<CardVote['type']> = new Set(['reject', 'cancel', 'revise']);

function missingText(missing: readonly Missing[], hasVotes: boolean, names: Names | undefined): string {
  return missing.map(({ of, count }) => `${count} ${hasVotes ? 'more of' : 'of'} ${whoText(of, names)}`).join('; ');
}

export function whoText({ people = [], roles = [] }: Who, names?: Names): string {
  const all = [...people.map((id) => personLine(id, names)), ...roles.map(visibleLine)];
  return all.length === 0 ? 'anyone' : all.join(' or ');
}

const PAST: Readonly<Record<CardVote['type'], string>> = {
  approve: 'approved',
  reject: 'rejected',
  cancel: 'cancelled',
  revise: 'asked for changes',
  respond: 'answered',
  restart: 'continued',
};

/** As in `ann for ben (your vote): approved at 2026-11-15 07:00:01, note: checked`. */
export function voteLine(
  { by, onBehalfOf, type, at, note, isEdit, isYours }: CardVote,
  time: (at: number) => string,
  names?: Names,
): string {
  const absent = onBehalfOf === null ? '' : ` for ${personLine(onBehalfOf, names)}`;
  const who = `${by === null ? 'unknown person' : personLine(by, names)}${absent}`;
  const when = at === null ? '' : ` at ${time(at)}`;
  const remark = note === null || note === '' ? '' : `, note: ${visibleLine(note)}`;
  const did = isEdit ? `${PAST[type]} with the input above` : PAST[type];
  return `${who}${isYours ? ' (your vote)' : ''}: ${did}${when}${remark}`;
}

/** What a policy asks for besides votes. */
export function ruleLines({ notRequester, quorum = [], veto, signed }: Policy): readonly string[] {
  const isSeveral = quorum.reduce((sum, { count }) => sum + count, 0) > 1;
  return [
    ...(notRequester
      ? ['The person who started the run, and people who edited the input or asked for changes, cannot approve it.']
      : []),
    ...(isSeveral && veto !== 'majority' ? ['One rejection is enough to reject it.'] : []),
    ...(signed ? ['Each vote must be signed with a passkey, in the inbox.'] : []),
  ];
}
