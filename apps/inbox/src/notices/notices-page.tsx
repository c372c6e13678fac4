// Notices: what the signed-in person wants to be told, and, for people who reach all runs, what the channels delivered.
import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../api/queries.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Channels } from './channels.tsx';
import { Deliveries } from './deliveries.tsx';
import { Preferences } from './preferences.tsx';

export default function NoticesPage() {
  const { data: me } = useQuery(meQuery);
  return (
    <>
      <PageHeader title="Notices" />
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        <div className="mx-auto flex w-full max-w-3xl flex-col gap-5 px-4 py-5 md:px-6">
          <Preferences />
          {me?.reach === 'all' && (
            <>
              <Channels />
              <Deliveries />
            </>
          )}
          {me?.reach === 'own' && (
            <p className="text-muted">Channels and their deliveries are shown to people who can see all runs.</p>
          )}
        </div>
      </div>
    </>
  );
}
