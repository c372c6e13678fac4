// The absence of the signed-in person: who decides for them, and when. And for whom they decide.
import { VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CalendarClock, CalendarOff, Users } from 'lucide-react';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { meQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { useNow } from '../live/now.ts';
import { Moment } from '../live/time.tsx';
import { isUnsigned, signAbsence } from '../passkeys/sign.ts';
import { showToast } from '../primitives/toasts.tsx';

type Absence = {
  readonly person: string;
  readonly delegate: string;
  readonly from: number;
  readonly until: number;
  readonly by: string;
};
type MyAbsence = { readonly absence: Absence | null; readonly actsFor: readonly string[] };
type Period = { readonly delegate: string; readonly from?: number; readonly until: number };

const PATH = 'me/absence';
const KEY = ['me', 'absence'];
/** A colleague may name this person as a delegate meanwhile. */
const REFETCHED_EVERY_MS = 30_000;
/** The server takes no longer names. */
const LONGEST = 200;

export default function AwayPage() {
  const client = useQueryClient();
  const { data: me } = useQuery(meQuery);
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => request<MyAbsence>(PATH, { signal }),
    refetchInterval: REFETCHED_EVERY_MS,
  });
  const keep = (mine: MyAbsence) => client.setQueryData(KEY, mine);
  const leave = useMutation({
    mutationFn: name,
    onSuccess: keep,
  });
  const comeBack = useMutation({
    mutationFn: () => request<MyAbsence>(PATH, { method: 'DELETE' }),
    onSuccess: (mine) => {
      keep(mine);
      showToast('done', 'Your absence has ended. Nobody decides for you.');
    },
    onError: ({ message }) => showToast('trouble', message),
  });
  return (
    <>
      <PageHeader title="Away" />
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {data ? (
          <div className="mx-auto flex w-full max-w-2xl flex-col gap-5 px-4 py-5 md:px-6">
            <ActsFor people={data.actsFor} />
            {data.absence && (
              <Current
                absence={data.absence}
                isSending={comeBack.isPending}
                onEnd={() => !comeBack.isPending && comeBack.mutate()}
              />
            )}
            {me?.scopes.includes('decide') && (
              <PeriodForm
                isChange={data.absence !== null}
                isSending={leave.isPending}
                trouble={leave.error?.message}
                onSend={(period, onDone) => leave.mutate(period, { onSuccess: onDone })}
              />
            )}
          </div>
        ) : error ? (
          <Trouble error={error} what="Your absence" onRetry={() => void refetch()} />
        ) : (
          <div className="p-6">
            <Loading what="your absence" rows={2} />
          </div>
        )}
      </div>
    </>
  );
}

/** A person who has a passkey signs the name of their delegate with it. */
async function name(period: Period): Promise<MyAbsence> {
  try {
    return await request<MyAbsence>(PATH, { method: 'POST', body: period });
  } catch (error) {
    if (!isUnsigned(error)) throw error;
    const signature = await signAbsence(period);
    return request<MyAbsence>(PATH, { method: 'POST', body: { ...period, signature } });
  }
}

/** For whom this person decides now. */
function ActsFor({ people }: { readonly people: readonly string[] }) {
  if (people.length === 0) return null;
  return (
    <p className="flex items-start gap-2 rounded-md bg-info-soft px-3 py-2 text-info">
      <Users aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 wrap-anywhere">
        You decide for <VisibleText text={people.join(', ')} />, who {people.length === 1 ? 'is' : 'are'} away.
      </span>
    </p>
  );
}

type CurrentProps = { readonly absence: Absence; readonly isSending: boolean; readonly onEnd: () => void };

function Current({ absence: { person, delegate, from, until, by }, isSending, onEnd }: CurrentProps) {
  const isPlanned = from > useNow();
  const Icon = isPlanned ? CalendarClock : CalendarOff;
  return (
    <section aria-label="Your absence" className="panel flex flex-wrap items-center gap-x-4 gap-y-3 p-4">
      <Icon aria-hidden="true" className="size-5 shrink-0 text-info" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium">{isPlanned ? 'You will be away' : 'You are away'}</p>
        <p className="wrap-anywhere">
          <VisibleText text={delegate} className="font-medium" /> {isPlanned ? 'will decide' : 'decides'} for you from{' '}
          <Moment at={from}>{toTheMinute(from)}</Moment> until <Moment at={until}>{toTheMinute(until)}</Moment>.
        </p>
        {by !== person && (
          <p className="text-xs text-muted">
            Named by <VisibleText text={by} />
          </p>
        )}
      </div>
      <button type="button" className="button" aria-disabled={isSending} onClick={onEnd}>
        {isPlanned ? 'Cancel absence' : 'End absence'}
      </button>
    </section>
  );
}

type PeriodFormProps = {
  /** It takes the place of a period. */
  readonly isChange: boolean;
  readonly isSending: boolean;
  readonly trouble: string | undefined;
  readonly onSend: (period: Period, onDone: () => void) => void;
};

function PeriodForm({ isChange, isSending, trouble, onSend }: PeriodFormProps) {
  const [delegate, setDelegate] = useState('');
  const [from, setFrom] = useState('');
  const [until, setUntil] = useState('');
  const name = delegate.trim();
  const canSend = name !== '' && until !== '' && !isSending;
  const clear = () => {
    for (const set of [setDelegate, setFrom, setUntil]) set('');
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canSend) onSend({ delegate: name, ...(from !== '' && { from: timeOf(from) }), until: timeOf(until) }, clear);
  };
  return (
    <form onSubmit={submit} className="panel flex flex-col gap-4 p-4">
      <div>
        <h2 className="font-medium">{isChange ? 'Change your absence' : 'Name a delegate'}</h2>
        <p className="text-muted">
          In this period, of 90 days at most, your delegate may decide for you. Their decisions name both of you. Only
          people who have signed in here, or whom the directory knows, can be delegates.
          {isChange && ' The new period replaces the one above.'}
        </p>
      </div>
      <div className="grid gap-3 sm:grid-cols-2">
        <Labelled label="Delegate" className="sm:col-span-2">
          {(id) => (
            <input
              id={id}
              className="field"
              value={delegate}
              maxLength={LONGEST}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              placeholder="The name that they sign in with"
              onChange={({ target }) => setDelegate(target.value)}
            />
          )}
        </Labelled>
        <Labelled label="From (empty: now)">
          {(id) => (
            <input
              id={id}
              type="datetime-local"
              className="field"
              value={from}
              onChange={({ target }) => setFrom(target.value)}
            />
          )}
        </Labelled>
        <Labelled label="Until">
          {(id) => (
            <input
              id={id}
              type="datetime-local"
              className="field"
              value={until}
              onChange={({ target }) => setUntil(target.value)}
            />
          )}
        </Labelled>
      </div>
      {trouble !== undefined && (
        <p role="alert" className="text-danger wrap-anywhere">
          <VisibleText text={trouble} />
        </p>
      )}
      <div className="flex justify-end">
        <button type="submit" className="button-primary" aria-disabled={!canSend}>
          {isChange ? 'Replace absence' : 'Be away'}
        </button>
      </div>
    </form>
  );
}

type LabelledProps = {
  readonly label: string;
  readonly className?: string;
  readonly children: (id: string) => ReactNode;
};

function Labelled({ label, className = '', children }: LabelledProps) {
  const id = useId();
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-xs text-muted">
        {label}
      </label>
      {children(id)}
    </div>
  );
}

const toTheMinute = (at: number): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A field for a time holds the time of the reader's zone. */
const timeOf = (local: string): number => new Date(local).getTime();
