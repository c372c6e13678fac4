// Schemas of absences: absent people and their delegates.
import { z } from '@hono/zod-openapi';
import { nameShape, orNull } from './page.ts';

const momentShape = z.int().min(0);

export const AbsenceShape = z
  .object({
    person: z.string(),
    delegate: z.string().openapi({ description: 'Decides for this person.' }),
    from: z.number(),
    until: z.number().openapi({ description: 'The first moment after the period, in milliseconds.' }),
    by: z.string().nullable().openapi({ description: 'Who recorded it.' }),
  })
  .openapi('Absence');

/** The period of a delegation. */
export type Absence = Readonly<z.infer<typeof AbsenceShape>>;

/** Only a caller who reaches everyone's runs can name another person. */
const whose = nameShape.optional().openapi({ description: 'Another person, for callers with `reach: "all"`.' });

export const AbsentShape = z
  .strictObject({
    delegate: nameShape,
    from: momentShape.optional().openapi({ description: 'In milliseconds; now by default.' }),
    until: momentShape.openapi({ description: 'In milliseconds.' }),
    person: whose,
  })
  .openapi('Absent');

export const AbsenceQueryShape = z.strictObject({ person: whose });

export const MyAbsenceShape = z
  .object({
    absence: orNull(AbsenceShape).openapi({ description: 'Null if the person is not away and will not be.' }),
    actsFor: z
      .array(z.string())
      .openapi({ description: 'The people who are away now and for whom this person decides.' }),
  })
  .openapi('MyAbsence');

/** The absence of a person, and for whom they decide. */
export type MyAbsence = Readonly<z.infer<typeof MyAbsenceShape>>;
