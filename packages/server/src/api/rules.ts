// Rules and policies: their versions, replaying calls of the past under others, and what the past suggests. For callers who see all runs.
import { UsageError } from 'countersign';
import { rulesOf } from 'countersign/store';
import { defined } from '../defined.ts';
import { endpoint, json } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { PeriodShape, ReplayedShape, ReplayShape, RulesShape, SuggestionsShape } from '../schemas/rules.ts';
import type { Services } from './services.ts';

const DAY_MS = 86_400_000;
const MOST_VERSIONS = 50;

export function rulesEndpoints({ ai }: Services) {
  const rules = rulesOf(ai);
  const since = async (days = 90): Promise<number> => (await ai.runs.store.now()) - days * DAY_MS;
  return [
    endpoint({
      route: 'GET /rules',
      operationId: 'getRules',
      summary: 'Get the rules and policies, and their versions',
      description: 'Only for callers with the reach `all`. A server and a worker record a new version when they start.',
      tag: 'Rules',
      scope: 'read',
      answers: { 200: { description: 'The rules, the policies and their versions.', shape: RulesShape } },
      problems: [403],
      handle: async ({ person }) => {
        refuseOthers(person);
        return json({ current: rules.content(), versions: await rules.versions(MOST_VERSIONS) });
      },
    }),
    endpoint({
      route: 'POST /rules/replay',
      operationId: 'replayCalls',
      summary: 'Replay past calls under other rules',
      description:
        'What would newly run, ask, need a second person or other people, or be denied. Nothing is recorded. Only for callers with ' +
        'the reach `all`.',
      tag: 'Rules',
      scope: 'read',
      body: ReplayShape,
      answers: { 200: { description: 'What would change.', shape: ReplayedShape } },
      problems: [403, 422],
      handle: async ({ body: { days, ...given }, person }) => {
        refuseOthers(person);
        const options = { ...defined(given), since: await since(days) } as Parameters<typeof rules.replay>[0];
        return json(await rules.replay(options).catch(asInvalid));
      },
    }),
    endpoint({
      route: 'GET /rules/suggestions',
      operationId: 'suggestGrants',
      summary: 'Suggest grants from what people always approved',
      description:
        'With their evidence, the one that saves most questions first. Only for callers with the reach `all`.',
      tag: 'Rules',
      scope: 'read',
      query: PeriodShape,
      answers: { 200: { description: 'The suggestions.', shape: SuggestionsShape } },
      problems: [403],
      handle: async ({ query: { days }, person }) => {
        refuseOthers(person);
        return json({ items: await rules.suggestions(await since(days)) });
      },
    }),
  ];
}

/** They are about the calls of everyone. */
function refuseOthers({ reach, id }: Person): void {
  if (reach === 'all') return;
  throw new UsageError('not-allowed', { status: 403 }, `${id} sees only some runs, and rules are about all of them.`);
}

/** Rules and policies that cannot be used are a mistake of the caller. */
function asInvalid(error: unknown): never {
  if (!(error instanceof UsageError) || error.code !== 'invalid-options') throw error;
  throw new UsageError('invalid-request', { ...error.details, status: 422 }, error.message);
}
