// `countersign passkeys list|reset <person>`: for operators, when a person has lost all passkeys.
import type { Command } from 'commander';
import { Passkeys } from 'countersign/store';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import type { Output } from '../../print/output.ts';
import { useNotes } from '../../runtime/lazy-opening.ts';
import { type Action, groupOf, type StoreOptions, withExamples, withStore } from '../options.ts';

export function addPasskeys(program: Command, action: Action): void {
  const passkeys = groupOf(program, 'passkeys')
    .summary('list and reset the passkeys of a person')
    .description(
      'Lists the passkeys with which a person signs decisions, or removes them all. People add and revoke their own in the inbox.',
    );
  withExamples(passkeys, ['countersign passkeys reset ann', 'ann has lost all keys and may enrol a first one again']);
  const list = passkeys
    .command('list <person>')
    .summary('list the passkeys of a person')
    .description('Lists every passkey of a person with its credential id, revoked ones too.')
    .action(action(listAll));
  withExamples(withStore(list), ['countersign passkeys list ann', 'to compare with the keys in an evidence file']);
  const reset = passkeys
    .command('reset <person>')
    .summary('remove all passkeys of a person')
    .description(
      'Removes all passkeys of a person, who can then enrol a first one again. Earlier signatures still verify.',
    )
    .action(action(resetAll));
  withExamples(withStore(reset), [
    'countersign passkeys reset ann',
    'after you have checked that the request comes from ann',
  ]);
}

async function listAll(output: Output, person: string, options: StoreOptions): Promise<undefined> {
  return withPasskeys(options, async (passkeys) => {
    const items = await passkeys.list(person);
    if (output.json) return output.document({ items });
    if (items.length === 0) return output.note('No passkeys.');
    const rows = items.map(({ id, name, createdAt, revokedAt }) => [
      id,
      visibleLine(name),
      timeText(createdAt),
      revokedAt === null ? '' : timeText(revokedAt),
    ]);
    output.table(['CREDENTIAL', 'NAME', 'ADDED', 'REVOKED'], rows);
  });
}

async function resetAll(output: Output, person: string, options: StoreOptions): Promise<undefined> {
  return withPasskeys(options, async (passkeys) => {
    await passkeys.reset(person);
    if (output.json) output.document({ person, reset: true });
    else output.line(`${visibleLine(person)} can enrol a first passkey again.`);
  });
}

async function withPasskeys(options: StoreOptions, work: (passkeys: Passkeys) => Promise<void>): Promise<undefined> {
  return useNotes(options, 'existing', (notes) => work(new Passkeys(notes, async () => Date.now())));
}
