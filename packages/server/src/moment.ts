/** A time that a date can have. Whoever changed the store may have left another, which no answer could tell. */
export function isMoment(at: unknown): boolean {
  return typeof at === 'number' && !Number.isNaN(new Date(at).getTime());
}
