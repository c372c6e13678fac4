// Decisions that a stored run has counted, and hands over to a `generate` in a tool. What a decision says of itself is no proof.
import { copyOf, isObject, type Json } from '../../core/json.ts';

const COUNTED = new WeakSet<object>();

/** A copy of what the body continues with. Its counted decisions are known by their identity: nothing that was sent has it. */
export function handedOver(resumed: Json): Json {
  const copy = copyOf(resumed);
  const resume = isObject(copy) && isObject(copy.resume) ? Object.values(copy.resume) : [];
  for (const part of resume.flat() as readonly unknown[])
    if (isObject(part) && isObject(part.metadata) && part.metadata.counted === true) COUNTED.add(part);
  return copy;
}

export const isCounted = (part: object | undefined): boolean => part !== undefined && COUNTED.has(part);
