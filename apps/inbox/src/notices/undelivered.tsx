// On the dashboard: notices that no channel could deliver, with the way to them.
import { useQuery } from '@tanstack/react-query';
import { BellOff } from 'lucide-react';
import { Link } from 'wouter';
import { channelsQuery } from './queries.ts';

/** For people who reach all runs. */
export function Undelivered() {
  const { data } = useQuery(channelsQuery);
  const failed = data?.items.filter(({ dead }) => dead > 0) ?? [];
  if (failed.length === 0) return null;
  const count = failed.reduce((sum, { dead }) => sum + dead, 0);
  return (
    <p className="flex items-start gap-3 rounded-lg bg-danger-soft p-4 text-danger">
      <BellOff aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 wrap-anywhere">
        {count} {count === 1 ? 'notice' : 'notices'} could not be delivered by{' '}
        {failed.map(({ name }) => name).join(', ')}.{' '}
        <Link href="/notices" className="underline underline-offset-2">
          Show
        </Link>
      </span>
    </p>
  );
}
