/** Whether a stored time is within the range of a date. */
export function isMoment(at: unknown): boolean {
  return typeof at === 'number' && !Number.isNaN(new Date(at).getTime());
}
