// The notices that the signed-in person wants: by which channels, at which hours, and which are sent together.
import { VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { request } from '../api/request.ts';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { showToast } from '../primitives/toasts.tsx';
import type { MyNotices, NoticePreferences } from './wire.ts';

const PATH = 'me/notices';
const KEY = ['me', 'notices'];

export function Preferences() {
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => request<MyNotices>(PATH, { signal }),
  });
  if (data) return <PreferencesForm mine={data} />;
  if (error) return <Trouble error={error} what="Your notices" onRetry={() => void refetch()} />;
  return <Loading what="your notices" rows={3} />;
}

const DIGESTS = [
  { value: 'burst', label: 'At once; several within two minutes together' },
  { value: 'low-risk', label: 'Requests of low risk together, once an hour' },
  { value: 'all', label: 'All requests together, once an hour' },
  { value: 'off', label: 'Each request by itself' },
] as const;

const NIGHT = { from: '20:00', until: '07:00' };

function PreferencesForm({ mine: { preferences, channels } }: { readonly mine: MyNotices }) {
  const client = useQueryClient();
  const [draft, setDraft] = useState<NoticePreferences>(preferences);
  const save = useMutation({
    mutationFn: (body: NoticePreferences) => request<MyNotices>(PATH, { method: 'POST', body }),
    onSuccess: (saved) => {
      client.setQueryData(KEY, saved);
      showToast('done', 'Saved.');
    },
  });
  const { quiet, digest = 'burst' } = draft;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!save.isPending) save.mutate(draft);
  };
  const setQuiet = (isOn: boolean) => {
    const { quiet: _quiet, ...rest } = draft;
    setDraft(isOn ? { ...rest, quiet: { ...NIGHT, timeZone: ownTimeZone() } } : rest);
  };
  return (
    <form onSubmit={submit} className="panel flex flex-col gap-4 p-4" aria-label="What you are told">
      <h2 className="font-medium">What you are told</h2>
      {channels.length === 0 ? (
        <p className="text-muted">No channel that reaches people one by one is set up, such as mail.</p>
      ) : (
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 text-xs text-muted">Channels</legend>
          {channels.map((name) => (
            <label key={name} className="flex min-h-9 items-center gap-2">
              <input
                type="checkbox"
                checked={draft.channels?.[name] !== false}
                onChange={({ target }) =>
                  setDraft({ ...draft, channels: { ...draft.channels, [name]: target.checked } })
                }
              />
              <VisibleText text={name} />
            </label>
          ))}
        </fieldset>
      )}
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 text-xs text-muted">How they come</legend>
        {DIGESTS.map(({ value, label }) => (
          <label key={value} className="flex min-h-9 items-center gap-2">
            <input
              type="radio"
              name="digest"
              checked={digest === value}
              onChange={() => setDraft({ ...draft, digest: value })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-xs text-muted">Quiet hours</legend>
        <label className="flex min-h-9 items-center gap-2">
          <input type="checkbox" checked={quiet !== undefined} onChange={({ target }) => setQuiet(target.checked)} />
          Notices wait, unless the risk is high
        </label>
        {quiet && (
          <div className="flex flex-wrap items-center gap-2">
            <input
              aria-label="Quiet from"
              type="time"
              className="field w-auto"
              value={quiet.from}
              onChange={({ target }) => setDraft({ ...draft, quiet: { ...quiet, from: target.value } })}
            />
            <span>until</span>
            <input
              aria-label="Quiet until"
              type="time"
              className="field w-auto"
              value={quiet.until}
              onChange={({ target }) => setDraft({ ...draft, quiet: { ...quiet, until: target.value } })}
            />
            <span className="text-xs text-muted">{quiet.timeZone}</span>
          </div>
        )}
      </fieldset>
      {save.error && (
        <p role="alert" className="text-danger wrap-anywhere">
          <VisibleText text={save.error.message} />
        </p>
      )}
      <div className="flex justify-end">
        <button type="submit" className="button-primary" aria-disabled={save.isPending}>
          Save
        </button>
      </div>
    </form>
  );
}

const ownTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
