// What a button of a message decides: one request, as the message showed it.
import { z } from '@hono/zod-openapi';

export type Target = { readonly interruptId: string; readonly digest: string };

const TargetShape = z.object({ i: z.string().min(1), d: z.string().min(1) });

export const targetText = ({ interruptId, digest }: Target): string => JSON.stringify({ i: interruptId, d: digest });

/** Undefined for the value of another button. */
export function targetIn(value: string | undefined): Target | undefined {
  try {
    const { i: interruptId, d: digest } = TargetShape.parse(JSON.parse(value ?? ''));
    return { interruptId, digest };
  } catch {
    // Another program made the button, with a value of its own.
    return undefined;
  }
}
