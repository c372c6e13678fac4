// A person who answers through a channel, where nobody signs in: a link in a mail, or a button in Slack.
import type { Countersign } from 'countersign';
import type { AppOptions } from '../options.ts';
import { checkIdentified, type Identified, isPersonId, type Person, personOf } from './person.ts';

/** The person with the rights that they have away from the inbox; never the right to start runs. Undefined if they have none. */
export async function personById(
  { identifyPerson }: Pick<AppOptions, 'identifyPerson'>,
  id: string,
): Promise<Person | undefined> {
  if (!isPersonId(id)) return undefined;
  const identified = identifyPerson ? await identifyPerson(id) : { id };
  if (identified === undefined || identified === null || identified.id !== id) return undefined;
  checkIdentified('`identifyPerson`', identified);
  const person = personOf(identified);
  return { ...person, scopes: person.scopes.filter((scope) => scope !== 'start') };
}

/** People who were removed have no rights. */
export const unlessRemoved =
  ({ people }: Countersign, identifyPerson: AppOptions['identifyPerson'] = (id) => ({ id })) =>
  async (id: string): Promise<Identified | undefined> =>
    isPersonId(id) && (await people.removalOf(id)) ? undefined : identifyPerson(id);
