// What a button of a message decides: one request, as the message showed it.
import { z } from '@hono/zod-openapi';

export type Target = { readonly requestId: string; readonly digest: string };

const TargetShape = z.object({ i: z.string().min(1), d: z.string().min(1) });

export const targetText = ({ requestId, digest }: Target): string => JSON.stringify({ i: requestId, d: digest });

/** Undefined for the value of another button. */
export function targetIn(value: string | undefined): Target | undefined {
  try {
    const { i: requestId, d: digest } = TargetShape.parse(JSON.parse(value ?? ''));
    return { requestId, digest };
  } catch {
    // Another program made the button, with a value of its own.
    return undefined;
  }
}
