// Who must decide a request: the votes so far, those that are missing, and what the policy says besides.
import { shownPolicy } from 'countersign/request';
import type { CardProgress, CardVote, RequestCard } from 'countersign/ui';
import { Fragment, type ReactNode } from 'react';
import { useNamed, useWords, type Words } from '../appearance.tsx';
import { Moment } from '../text/local-text.tsx';
import { LongText } from '../text/long-text.tsx';
import { PersonName, useNameOf } from '../text/person-name.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { OutcomeIcon, outcomeOfDecision } from './outcome.tsx';

type VotingProps = { readonly request: RequestCard<string, any> };
type Who = CardProgress['escalatedTo'][number];
type Missing = CardProgress['missing'][number];

/** Nothing for a request that one decision settles, unless it is assigned. */
export function Voting({ request: { policies, progress } }: VotingProps) {
  const policy = shownPolicy(policies);
  const named = useNamed();
  const words = useWords();
  if (progress === null || (policy === null && progress.assignedTo === null)) return null;
  const { votes, missing, assignedTo, escalatedTo, round, outOfReach = [] } = progress;
  const yours = votes.find(({ isYours }) => isYours);
  return (
    <section {...named('voting')}>
      <p {...named('voting-heading')}>
        <span {...named('caption')}>{words.whoDecides}</span>
        {policy?.name !== undefined && (
          <span {...named('policy-name')}>
            <VisibleText text={policy.name} />
          </span>
        )}
      </p>
      {policy !== null && <Tally policy={policy} votes={votes} missing={missing} />}
      {round > 1 && <p {...named('voting-fact')}>{words.editedSince}</p>}
      <Votes votes={votes} />
      {yours && (
        <p {...named('your-vote')} role="status">
          {words.youVoted(didOf(yours, words))}
        </p>
      )}
      {rulesOf(policy, words).map((rule) => (
        <p key={rule} {...named('voting-fact')}>
          {rule}
        </p>
      ))}
      {escalatedTo.length > 0 && (
        <p {...named('voting-fact')}>
          {words.escalatedTo} <Names of={joined(escalatedTo)} />
        </p>
      )}
      {assignedTo !== null && (
        <p {...named('voting-fact')}>
          {words.assignedTo} <PersonName id={assignedTo} />
        </p>
      )}
      {outOfReach.length > 0 && (
        <p {...named('policy-warning')} role="note">
          {words.outOfReach(
            outOfReach
              .map(({ of: { people = [], roles = [] }, count }) =>
                words.missing(count, [...people, ...roles.map(words.role)].join(` ${words.or} `), true),
              )
              .join(', '),
          )}
        </p>
      )}
      {policy?.warnings?.map((warning) => (
        <p key={warning} {...named('policy-warning')} role="note">
          <VisibleText text={warning} />
        </p>
      ))}
    </section>
  );
}

/** The votes that settled a request. */
export function DecidedVotes({ request: { policies, progress } }: VotingProps) {
  const policy = shownPolicy(policies);
  const named = useNamed();
  const words = useWords();
  if (policy === null || progress === null || progress.votes.length === 0) return null;
  const [only, ...others] = progress.votes;
  // The headline says who decided, if that was one person's word.
  if (!policy.quorum && others.length === 0 && only?.onBehalfOf === null) return null;
  return (
    <section {...named('voting')}>
      <p {...named('caption')}>{words.votes}</p>
      <Votes votes={progress.votes} />
    </section>
  );
}

/** “1 of 2 votes. Waiting for 1 more of finance.” */
function Tally({ policy, votes, missing }: Counted) {
  const named = useNamed();
  const words = useWords();
  const { given, needed } = countOf({ policy, votes, missing });
  return (
    <p {...named('tally')}>
      <strong>{words.votesOf(given, needed)}</strong>
      {missing.length > 0 && (
        <>
          {'. '}
          {words.waitingFor}{' '}
          {missing.map((group, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the groups of a policy do not move.
            <Fragment key={index}>
              {index > 0 && ', '}
              <MissingGroup group={group} hasVotes={given > 0} />
            </Fragment>
          ))}
        </>
      )}
    </p>
  );
}

function MissingGroup({ group: { of, count }, hasVotes }: { readonly group: Missing; readonly hasVotes: boolean }) {
  const words = useWords();
  const nameOf = useNameOf();
  return <VisibleText text={words.missing(count, namesOf(of, words, nameOf).join(` ${words.or} `), hasVotes)} />;
}

function Votes({ votes }: Pick<CardProgress, 'votes'>) {
  const named = useNamed();
  const words = useWords();
  if (votes.length === 0) return null;
  return (
    <ul {...named('votes')} aria-label={words.votes}>
      {votes.map((vote, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: votes stay in their order.
        <li key={index} {...named('vote')} data-yours={vote.isYours}>
          <OutcomeIcon outcome={outcomeOfDecision({ type: vote.type })} />
          <span>
            <Voter vote={vote} />: {didOf(vote, words)}
            {vote.at !== null && (
              <>
                {' '}
                <Moment at={vote.at} />
              </>
            )}
            {vote.note !== null && <Note text={vote.note} />}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** “ann for ben (your vote)” */
function Voter({ vote: { by, onBehalfOf, isYours } }: { readonly vote: CardVote }): ReactNode {
  const words = useWords();
  return (
    <>
      {by === null ? '?' : <PersonName id={by} />}
      {onBehalfOf !== null && (
        <>
          {' '}
          {words.votedFor} <PersonName id={onBehalfOf} />
        </>
      )}
      {isYours && ` (${words.yourVote})`}
    </>
  );
}

function Note({ text }: { readonly text: string }) {
  const named = useNamed();
  return (
    <span {...named('vote-note')}>
      <LongText text={text} />
    </span>
  );
}

/** “Approved”, or “Approved, proposed changes”. */
function didOf({ type, isEdit }: CardVote, words: Words): string {
  return isEdit ? `${words.decided[type]}, ${words.proposedChanges}` : words.decided[type];
}

type Counted = Pick<CardProgress, 'votes' | 'missing'> & { readonly policy: { readonly notRequester?: true } };

/** How many votes count for it, and how many it needs; undefined for a request that one decision settles. */
export function votesOn({ policies, progress }: Pick<RequestCard, 'policies' | 'progress'>) {
  const policy = shownPolicy(policies);
  return policy && progress ? countOf({ policy, ...progress }) : undefined;
}

/** Under `notRequester`, the vote of the editor proposes the input but does not count for it. */
function countOf({ policy, votes, missing }: Counted): { readonly given: number; readonly needed: number } {
  const given = votes.filter((vote) => isFor(vote) && !(policy.notRequester && vote.isEdit)).length;
  return { given, needed: given + missing.reduce((sum, { count }) => sum + count, 0) };
}

const isFor = ({ type }: CardVote): boolean => type !== 'reject' && type !== 'cancel';

function rulesOf(policy: ReturnType<typeof shownPolicy>, words: Words): readonly string[] {
  if (policy === null) return [];
  const isSeveral = (policy.quorum ?? []).reduce((sum, { count }) => sum + count, 0) > 1;
  return [
    ...(policy.notRequester ? [words.notRequester] : []),
    ...(isSeveral ? [policy.veto === 'majority' ? words.majorityRejects : words.oneRejection] : []),
    ...(policy.signed ? [words.signedVotes] : []),
  ];
}

function Names({ of }: { readonly of: Who }) {
  const words = useWords();
  const nameOf = useNameOf();
  return <VisibleText text={namesOf(of, words, nameOf).join(', ')} />;
}

const namesOf = ({ people = [], roles = [] }: Who, words: Words, nameOf: (id: string) => string): readonly string[] => [
  ...people.map(nameOf),
  ...roles.map((role) => words.role(role)),
];

const joined = (all: readonly Who[]): Who => ({
  people: all.flatMap(({ people = [] }) => people),
  roles: all.flatMap(({ roles = [] }) => roles),
});
