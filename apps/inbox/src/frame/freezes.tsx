// What is frozen, on every page: a banner while something is, and the dialogs that freeze calls and lift a freeze.
import { VisibleText } from '@countersign/react';
import type { Freeze, Freezes, MadeFreeze } from '@countersign/server/client';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Snowflake } from 'lucide-react';
import { useId, useState } from 'react';
import { request } from '../api/request.ts';
import { Ago } from '../live/time.tsx';
import { Modal } from '../primitives/modal.tsx';
import { showToast } from '../primitives/toasts.tsx';
import { openFreeze } from './overlays.ts';

/** Asked again now and then: a freeze changes no run. */
const freezesQuery = queryOptions({
  queryKey: ['freezes'],
  queryFn: ({ signal }) => request<Freezes>('freezes', { signal }),
  refetchInterval: 10_000,
});

export function useMayFreeze(): boolean {
  return useQuery(freezesQuery).data?.mayFreeze === true;
}

export function FreezeButton() {
  if (!useMayFreeze()) return null;
  return (
    <button
      type="button"
      onClick={openFreeze}
      className="flex h-8 items-center gap-2.5 rounded-md px-2 text-left text-muted hover:bg-sunken hover:text-ink"
    >
      <Snowflake aria-hidden="true" className="size-4 shrink-0" />
      <span className="sr-only lg:not-sr-only">Freeze…</span>
    </button>
  );
}

export function FreezeBanner() {
  const { data } = useQuery(freezesQuery);
  const [lifting, setLifting] = useState<Freeze>();
  return (
    <section aria-label="Freezes" aria-live="polite" className="contents">
      {data?.items.map((freeze) => (
        <div
          key={freeze.id}
          className="flex shrink-0 items-center gap-2.5 border-b border-warning/30 bg-warning-soft px-4 py-1 text-warning"
        >
          <Snowflake aria-hidden="true" className="size-4 shrink-0" />
          <p className="min-w-0 flex-1 break-words">
            <span className="font-medium">
              Frozen: <VisibleText text={coveredText(freeze)} />.
            </span>{' '}
            <VisibleText text={freeze.reason} />{' '}
            <span className="max-sm:hidden">
              (<VisibleText text={freeze.by ?? 'someone'} />, <Ago at={freeze.at} />)
            </span>
            {freeze.votes.length > 0 && ` ${votesText(freeze)}`}
          </p>
          {freeze.mayLift && (
            <button
              type="button"
              className="inline-flex min-h-8 shrink-0 items-center rounded-md px-2 font-medium underline-offset-2 hover:underline max-md:min-h-11"
              onClick={() => setLifting(freeze)}
            >
              Lift…
            </button>
          )}
        </div>
      ))}
      <LiftDialog freeze={lifting} onClose={() => setLifting(undefined)} />
    </section>
  );
}

function LiftDialog({ freeze, onClose }: { readonly freeze: Freeze | undefined; readonly onClose: () => void }) {
  const { mutate, error, isPending } = useChange(
    () => request<Freeze>(`freezes/${freeze?.id}/lift`, { method: 'POST', body: {} }),
    (after) => {
      showToast('done', after.lifted ? 'Lifted. Waiting calls continue.' : 'Recorded. Others must agree, too.');
      onClose();
    },
  );
  return (
    <Modal title="Lift this freeze?" isOpen={freeze !== undefined} onOpenChange={onClose} className="max-w-lg">
      <div className="flex flex-col gap-4 p-5">
        {freeze && (
          <>
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
              <dt className="text-muted">Frozen</dt>
              <dd className="min-w-0 break-words">
                <VisibleText text={coveredText(freeze)} />
              </dd>
              <dt className="text-muted">Why</dt>
              <dd className="min-w-0 break-words">
                <VisibleText text={freeze.reason} />
              </dd>
              <dt className="text-muted">By</dt>
              <dd className="min-w-0 break-words">
                <VisibleText text={freeze.by ?? 'someone'} />, <Ago at={freeze.at} />
              </dd>
            </dl>
            <p>
              {neededFor(freeze) > 1 && `${votesText(freeze)} `}
              Then the calls that waited continue, if they may still run.
            </p>
          </>
        )}
        <Actions action="Lift" error={error} isPending={isPending} onAct={() => mutate()} onClose={onClose} />
      </div>
    </Modal>
  );
}

type DialogProps = { readonly isOpen: boolean; readonly onClose: () => void };

export function FreezeDialog({ isOpen, onClose }: DialogProps) {
  return (
    <Modal title="Freeze calls" isOpen={isOpen} onOpenChange={onClose} className="max-w-lg">
      <FreezeForm onClose={onClose} />
    </Modal>
  );
}

function FreezeForm({ onClose }: { readonly onClose: () => void }) {
  const id = useId();
  const [names, setNames] = useState('');
  const [reason, setReason] = useState('');
  const tools = names.split(/[\s,]+/).filter((name) => name !== '');
  const { mutate, error, isPending } = useChange(
    () => request<MadeFreeze>('freezes', { method: 'POST', body: { reason, ...(tools.length > 0 && { tools }) } }),
    ({ running }) => {
      const still = running.map(({ tool }) => tool).join(', ');
      showToast('done', `Frozen.${still === '' ? ' No covered call was running.' : ` Still running: ${still}.`}`);
      onClose();
    },
  );
  return (
    <form
      className="flex flex-col gap-4 p-5"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <p>Covered calls do not start until people lift the freeze, even if approved. Calls that already run continue.</p>
      <div className="flex flex-col gap-1">
        <label htmlFor={`${id}-tools`} className="font-medium">
          Tools
        </label>
        <input
          id={`${id}-tools`}
          className="field"
          placeholder="Every tool"
          spellCheck={false}
          value={names}
          onChange={({ target }) => setNames(target.value)}
        />
        <p className="text-xs text-muted">Names with spaces between them; * stands for any characters.</p>
      </div>
      <div className="flex flex-col gap-1">
        <label htmlFor={`${id}-reason`} className="font-medium">
          Why
        </label>
        <input
          id={`${id}-reason`}
          className="field"
          required
          maxLength={2000}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
        />
      </div>
      <Actions
        action={tools.length === 0 ? 'Freeze every call' : `Freeze ${tools.join(', ')}`}
        error={error}
        isPending={isPending}
        onClose={onClose}
      />
    </form>
  );
}

type ActionsProps = {
  readonly action: string;
  readonly error: Error | null;
  readonly isPending: boolean;
  /** Without it, the button sends its form. */
  readonly onAct?: () => void;
  readonly onClose: () => void;
};

function Actions({ action, error, isPending, onAct, onClose }: ActionsProps) {
  return (
    <>
      {error && (
        <p role="alert" className="text-rejected">
          {error.message}
        </p>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type={onAct ? 'button' : 'submit'}
          className="button button-primary"
          disabled={isPending}
          {...(onAct && { onClick: onAct })}
        >
          {action}
        </button>
      </div>
    </>
  );
}

function useChange<Answer>(change: () => Promise<Answer>, onDone: (answer: Answer) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: freezesQuery.queryKey }),
  });
}

/** How many people must agree in all that the freeze ends. */
function neededFor({ votes, missing }: Freeze): number {
  return votes.length + missing.reduce((sum, { count }) => sum + count, 0);
}

const votesText = (freeze: Freeze): string => `${freeze.votes.length} of ${neededFor(freeze)} agreed to lift it.`;

function coveredText({ tools, agents, people }: Pick<Freeze, 'tools' | 'agents' | 'people'>): string {
  const parts = [
    tools?.join(', ') ?? 'every call',
    agents && `of ${agents.join(', ')}`,
    people && `in runs of ${people.join(', ')}`,
  ].filter((part) => part !== undefined);
  return parts.join(' ');
}
