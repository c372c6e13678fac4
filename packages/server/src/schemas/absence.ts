// Schemas of absences: absent people and their delegates.
import { z } from '@hono/zod-openapi';
import { nameShape, orNull } from './page.ts';
import { SignatureShape } from './passkey.ts';

const momentShape = z.int().min(0);

export const AbsenceShape = z
  .object({
    person: z.string(),
    delegate: z.string().openapi({ description: 'Decides for this person.' }),
    from: z.number(),
    until: z.number().openapi({ description: 'The first moment after the period, in milliseconds.' }),
    by: z.string().openapi({ description: 'Who named the delegate.' }),
    how: z.enum(['passkey', 'session', 'administrator']).openapi({
      description: 'The person signed it with a passkey, or was signed in; or an administrator named the delegate.',
    }),
  })
  .openapi('Absence');

/** The period of a delegation. */
export type Absence = Readonly<z.infer<typeof AbsenceShape>>;

/** Only a caller who reaches everyone's runs can name another person. */
const whose = nameShape.optional().openapi({ description: 'Another person, for callers with `reach: "all"`.' });

const periodShape = {
  delegate: nameShape.openapi({ description: 'A person whom the directory knows, or who has signed in here.' }),
  from: momentShape.optional().openapi({ description: 'In milliseconds; now by default.' }),
  until: momentShape.openapi({ description: 'In milliseconds, at most 90 days after the beginning.' }),
};

export const PeriodShape = z.strictObject(periodShape).openapi('AbsencePeriod');

export const AbsentShape = z
  .strictObject({
    ...periodShape,
    person: whose,
    signature: SignatureShape.optional().openapi({
      description: 'Signs the absence with a passkey of the caller, who needs it if they have one.',
    }),
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
