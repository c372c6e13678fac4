// Absences: absent people and their delegates. People manage their own; callers with reach `all` manage all.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { defined } from '../../defined.ts';
import { endpoint, json } from '../../http/endpoint.ts';
import type { Person } from '../../identity/person.ts';
import { AbsenceQueryShape, AbsenceShape, AbsentShape, type MyAbsence, MyAbsenceShape } from '../../schemas/absence.ts';
import type { Services } from '../services.ts';

const tag = 'People and agents';

export function absenceEndpoints({ ai: { people } }: Services) {
  const read = async (person: string): Promise<MyAbsence> => ({
    absence: (await people.absenceOf(person)) ?? null,
    actsFor: [...(await people.actsFor(person))],
  });
  const answers = { 200: { description: 'The absence of the person.', shape: MyAbsenceShape } };

  return [
    endpoint({
      route: 'GET /absences',
      operationId: 'listAbsences',
      summary: 'List absences',
      description: 'With `reach: "own"`, the absences of the caller, and those with the caller as delegate.',
      tag,
      scope: 'read',
      answers: {
        200: { description: 'Absences that have not ended.', shape: z.object({ items: z.array(AbsenceShape) }) },
      },
      handle: async ({ person: { id, reach } }) => {
        const all = await people.absences();
        return json({
          items: all.filter(({ person, delegate }) => reach === 'all' || person === id || delegate === id),
        });
      },
    }),
    endpoint({
      route: 'GET /me/absence',
      operationId: 'getMyAbsence',
      summary: 'Get the absence of the caller',
      tag,
      scope: 'read',
      query: AbsenceQueryShape,
      answers,
      handle: async ({ query, person }) => json(await read(whose(person, query.person))),
    }),
    endpoint({
      route: 'POST /me/absence',
      operationId: 'setMyAbsence',
      summary: 'Be away',
      description: 'In the period, the delegate decides for the caller. It replaces the period before.',
      tag,
      scope: 'decide',
      body: AbsentShape,
      answers,
      handle: async ({ body: { person: other, delegate, from, until }, person }) => {
        const absent = whose(person, other);
        await people.absent(absent, { delegate, until, by: person.id, ...defined({ from }) });
        return json(await read(absent));
      },
    }),
    endpoint({
      route: 'DELETE /me/absence',
      operationId: 'endMyAbsence',
      summary: 'Be back',
      tag,
      scope: 'decide',
      query: AbsenceQueryShape,
      answers,
      handle: async ({ query, person }) => {
        const back = whose(person, query.person);
        await people.present(back);
        return json(await read(back));
      },
    }),
  ];
}

/** The caller, or the person whom they name. */
function whose({ id, reach }: Person, other: string = id): string {
  if (other === id || reach === 'all') return other;
  const message = `${id} can manage only their own absence.`;
  throw new UsageError('not-allowed', { status: 403, person: other }, message);
}
