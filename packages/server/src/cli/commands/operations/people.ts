// `countersign people`: signs people out, removes those who have left, and lets them come back.
import type { Command } from 'commander';
import type { Countersign } from 'countersign';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { CommandFailure, EXIT } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { type Action, groupOf, type StoreOptions, withExamples, withStore } from '../options.ts';

type PeopleOptions = StoreOptions & { readonly by?: string };
type RemoveOptions = PeopleOptions & { readonly reason?: string };

export function addPeople(program: Command, action: Action): void {
  const people = groupOf(program, 'people')
    .summary('sign people out, or remove them')
    .description(
      'Signs people out, removes those who have left, and lets them come back. It needs the store of the server.',
    );
  withExamples(people, ['countersign people remove ann@example.com', 'ann has left: what they have ends at once']);
  const remove = people
    .command('remove <person>')
    .summary('end everything that a person has')
    .description(
      [
        'Ends the sessions of a person, revokes their API tokens, sign-in links, passkeys and the grants that they gave, and withdraws their votes on requests that wait. Decisions that were taken stay.',
        'Nothing signs them in again, and no vote of theirs counts, until `countersign people restore`. After a failure, run it again.',
      ].join('\n\n'),
    )
    .option('--reason <text>', 'why; it is recorded')
    .option('--by <person>', 'who removes them (default: $USER)')
    .action(action(removeOne));
  withExamples(withStore(remove), [
    'countersign people remove ann@example.com --reason "has left"',
    'what they have ends at once',
  ]);
  const restore = people
    .command('restore <person>')
    .summary('let a removed person sign in again')
    .description(
      'Lets a person who was removed sign in again. What they had does not come back. It also lets an account take a new name after its mail address has changed.',
    )
    .action(action(restoreOne));
  withExamples(withStore(restore), ['countersign people restore ann@example.com', 'ann is back']);
  const signOut = people
    .command('sign-out <person>')
    .summary('end the sessions of a person')
    .description(
      'Ends the sessions of a person and the tokens of `countersign login`. They can sign in again, with the roles that they have then.',
    )
    .action(action(signOutOne));
  withExamples(withStore(signOut), ['countersign people sign-out ann@example.com', 'after a role was taken away']);
  const sync = people
    .command('sync')
    .summary('remove those who have left, by your directory')
    .description(
      'Asks `people.isActive` of your agents about everyone who has signed in or has a token, and removes those who have left. A server does it every five minutes.',
    )
    .action(action(removeLeft));
  withExamples(withStore(sync), ['countersign people sync', 'after somebody has left, to not wait for the server']);
  const list = people
    .command('list')
    .summary('list the people who were removed')
    .description('Lists the people who were removed, with who did it, when and why.')
    .action(action(listRemoved));
  withExamples(withStore(list), ['countersign people list', 'who was removed, and why']);
}

async function removeOne(output: Output, person: string, options: RemoveOptions): Promise<undefined> {
  const { removePerson } = await import('../../../sign-in/removal.ts');
  return withPeople(options, async (ai, by) => {
    const { reason } = options;
    const ended = await removePerson(ai, person, { by, ...(reason !== undefined && { reason }) });
    if (output.json) return output.document({ person, removed: true, ...ended });
    output.line(`${visibleLine(person)} was removed.`);
    const { sessions, tokens, links, passkeys, grants, votes } = ended;
    output.line(
      `Ended: ${sessions} sessions, ${tokens} tokens, ${links} sign-in links, ${passkeys} passkeys, ${grants} grants.`,
    );
    output.line(`Withdrawn: votes on ${votes} requests.`);
  });
}

async function restoreOne(output: Output, person: string, options: PeopleOptions): Promise<undefined> {
  const { restorePerson } = await import('../../../sign-in/removal.ts');
  return withPeople(options, async (ai) => {
    const wasRemoved = await restorePerson(ai, person);
    if (output.json) return output.document({ person, restored: wasRemoved });
    output.line(`${visibleLine(person)} ${wasRemoved ? 'can sign in again' : 'was not removed'}.`);
  });
}

async function signOutOne(output: Output, person: string, options: PeopleOptions): Promise<undefined> {
  const { signOut } = await import('../../../sign-in/removal.ts');
  return withPeople(options, async (ai) => {
    const ended = await signOut(ai, person);
    if (output.json) return output.document({ person, ...ended });
    output.line(`${visibleLine(person)} is signed out: ${ended.sessions} sessions, ${ended.tokens} tokens.`);
  });
}

async function removeLeft(output: Output, options: PeopleOptions): Promise<undefined> {
  const { removeThoseWhoLeft } = await import('../../../sign-in/removal.ts');
  return withPeople(options, async (ai) => {
    if (!ai.people.knowsWhoLeft)
      throw new CommandFailure(EXIT.usage, 'usage', 'Your agents have no directory that says who has left.', {
        hint: 'Add `people: { isActive }` to countersign({ … })',
      });
    const removed = await removeThoseWhoLeft(ai);
    if (output.json) return output.document({ removed });
    output.line(removed.length === 0 ? 'Nobody has left.' : `Removed: ${removed.map(visibleLine).join(', ')}`);
  });
}

async function listRemoved(output: Output, options: PeopleOptions): Promise<undefined> {
  return withPeople(options, async ({ people }) => {
    const items = await people.removals();
    if (output.json) return output.document({ items });
    if (items.length === 0) return output.note('Nobody was removed.');
    const rows = items.map(({ person, at, by, reason = '' }) => [
      visibleLine(person),
      timeText(at),
      visibleLine(by),
      visibleLine(reason),
    ]);
    output.table(['PERSON', 'REMOVED', 'BY', 'WHY'], rows);
  });
}

async function withPeople(
  options: PeopleOptions,
  work: (ai: Countersign, by: string) => Promise<void>,
): Promise<undefined> {
  const { openGate } = await import('../../runtime/opening-gate.ts');
  const { ai, by, close } = await openGate(options, 'existing');
  try {
    await work(ai, by);
    return undefined;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (code !== 'invalid-options') throw error;
    throw new CommandFailure(EXIT.usage, 'usage', message);
  } finally {
    await close();
  }
}
