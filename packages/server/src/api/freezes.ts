// Freezes: freeze calls, lift a freeze, list what is frozen. Everybody sees what is frozen.
import { z } from '@hono/zod-openapi';
import type { FreezeView } from 'countersign/store';
import { defined } from '../defined.ts';
import { endpoint, json, requireReach, requireScope } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import {
  type Freeze,
  FreezeRequestShape,
  FreezeShape,
  FreezesQueryShape,
  FreezesShape,
  freezeIdShape,
  LiftShape,
  type MadeFreeze,
  MadeFreezeShape,
} from '../schemas/freeze.ts';
import type { Services } from './services.ts';

/** Without a policy, callers who see all runs may do it. The policy itself is checked where it is recorded. */
function mayBy({ ai }: Pick<Services, 'ai'>, { scopes, reach }: Person, what: 'freeze' | 'lift'): boolean {
  return scopes.includes('decide') && (reach === 'all' || ai.freezes.policies[what] !== undefined);
}

function refuseOthers(services: Pick<Services, 'ai'>, person: Person, what: 'freeze' | 'lift'): void {
  if (mayBy(services, person, what)) return;
  requireScope(person, 'decide');
  requireReach(person);
}

const actor = ({ id: by, roles }: Person, channel: string) => ({ by, roles, channel });

/** Freezes calls as this person, whichever way they came. They learn of running calls that they can see. */
export async function freezeAs(
  services: Pick<Services, 'ai'>,
  person: Person,
  { tools, agents, people, reason }: z.input<typeof FreezeRequestShape>,
  channel: string,
): Promise<MadeFreeze> {
  refuseOthers(services, person, 'freeze');
  const asked = { reason, ...defined({ tools, agents, people }) };
  const { running, ...made } = await services.ai.freezes.freeze(asked, actor(person, channel));
  const isSeen = (call: { startedBy: string | null }) => person.reach === 'all' || call.startedBy === person.id;
  return { ...seenBy(services, made, person), running: running.filter(isSeen) };
}

/** Votes to lift a freeze as this person. */
export async function liftAs(
  services: Pick<Services, 'ai'>,
  person: Person,
  freezeId: string,
  note: string | undefined,
  channel: string,
): Promise<Freeze> {
  refuseOthers(services, person, 'lift');
  const lifted = await services.ai.freezes.lift(freezeId, { ...actor(person, channel), ...defined({ note }) });
  return seenBy(services, lifted, person);
}

function seenBy(services: Pick<Services, 'ai'>, { lift: _lift, ...freeze }: FreezeView, person: Person): Freeze {
  return { ...freeze, mayLift: freeze.lifted === null && mayBy(services, person, 'lift') };
}

export function freezeEndpoints(services: Services) {
  return [
    endpoint({
      route: 'GET /freezes',
      operationId: 'listFreezes',
      summary: 'List what is frozen',
      description: 'The oldest first. While a freeze stands, no call that it covers starts in any process.',
      tag: 'Freezes',
      scope: 'read',
      query: FreezesQueryShape,
      answers: { 200: { description: 'The freezes.', shape: FreezesShape } },
      handle: async ({ query: { lifted }, person }) => {
        const items = await services.ai.freezes.list({ lifted: lifted === 'true' });
        const mayFreeze = mayBy(services, person, 'freeze');
        return json({ items: items.map((freeze) => seenBy(services, freeze, person)), mayFreeze });
      },
    }),
    endpoint({
      route: 'POST /freezes',
      operationId: 'freeze',
      summary: 'Freeze calls',
      description:
        'Once this is answered, no call that the freeze covers starts in any process, approved or not. Without a policy for it, only ' +
        'callers with the reach `all` may freeze.',
      tag: 'Freezes',
      scope: 'decide',
      body: FreezeRequestShape,
      answers: { 200: { description: 'The freeze, and the calls that run.', shape: MadeFreezeShape } },
      problems: [403, 422],
      handle: async ({ body, person }) => json(await freezeAs(services, person, body, 'api')),
    }),
    endpoint({
      route: 'POST /freezes/{freezeId}/lift',
      operationId: 'liftFreeze',
      summary: 'Vote to lift a freeze',
      description:
        'Once its policy is satisfied, the freeze ends, and the calls that waited for it go on. Without a policy for it, only callers ' +
        'with the reach `all` may lift a freeze.',
      tag: 'Freezes',
      scope: 'decide',
      params: z.object({ freezeId: freezeIdShape }),
      body: LiftShape,
      answers: { 200: { description: 'The freeze.', shape: FreezeShape } },
      problems: [403, 404],
      handle: async ({ params: { freezeId }, body: { note }, person }) =>
        json(await liftAs(services, person, freezeId, note, 'api')),
    }),
  ];
}
