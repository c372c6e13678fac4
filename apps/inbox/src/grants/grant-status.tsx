// The status of a grant, in words and with a mark.
import type { Grant } from './wire.ts';

export const STATUSES = [
  { value: 'active', label: 'Active' },
  { value: 'used-up', label: 'Used up' },
  { value: 'expired', label: 'Expired' },
  { value: 'revoked', label: 'Revoked' },
] as const;

export function GrantMark({ status }: Pick<Grant, 'status'>) {
  const dot = status === 'active' ? 'bg-approved' : status === 'revoked' ? 'bg-rejected' : 'bg-cancelled';
  return (
    <span className="inline-flex items-center gap-1.5 text-xs">
      <span aria-hidden="true" className={`size-2 rounded-full forced-color-adjust-none ${dot}`} />
      {STATUSES.find(({ value }) => value === status)?.label}
    </span>
  );
}
