// Approve, and allow the next ones: a dialog that makes a grant from the arguments at hand.
import { VisibleText } from '@countersign/react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { FastForward, Lightbulb } from 'lucide-react';
import { useDeferredValue, useId, useState } from 'react';
import { request } from '../api/request.ts';
import type { Card } from '../api/wire.ts';
import { Modal } from '../primitives/modal.tsx';
import { type Draft, type DraftField, draftOf, draftText, limitsOf, requestOf, suggestedDraft } from './draft.ts';
import { type GrantRequest, type Limits, type Simulated, shown } from './wire.ts';

type AllowNextProps = {
  readonly card: Card;
  readonly agent: string;
  readonly isSending: boolean;
  readonly onAllow: (grant: GrantRequest) => void;
};

export function AllowNext({ card, agent, isSending, onAllow }: AllowNextProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        disabled={isSending}
        className="inline-flex min-h-8 items-center gap-1.5 rounded-md text-muted hover:text-ink max-md:min-h-11"
        onClick={() => setOpen(true)}
      >
        <FastForward aria-hidden="true" className="size-4" />
        Allow the next ones too…
      </button>
      <Modal title="Approve, and allow the next ones too" isOpen={isOpen} onOpenChange={setOpen}>
        <GrantForm
          card={card}
          agent={agent}
          onAllow={(grant) => {
            setOpen(false);
            onAllow(grant);
          }}
        />
      </Modal>
    </>
  );
}

const DAYS = [
  { value: '1', label: '1 day' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
] as const;

function GrantForm({ card, agent, onAllow }: Omit<AllowNextProps, 'isSending'>) {
  const [draft, setDraft] = useState(() => draftOf(card.input, agent, card.inputSchema));
  const limits = limitsOf(draft);
  const simulated = useSimulated(card.tool, limits);
  const id = useId();
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const numeric = draft.fields.filter(({ most }) => most !== undefined);
  return (
    <form
      className="flex min-h-0 flex-1 flex-col"
      onSubmit={(event) => {
        event.preventDefault();
        if (limits) onAllow(requestOf(limits, draft.days, Date.now()));
      }}
    >
      <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto px-5 py-4">
        <p className="text-muted">
          This call runs now. Later calls of <VisibleText text={card.tool} className="font-mono text-ink" /> within
          these limits run without a request. You can revoke this at any time.
        </p>
        {draft.fields.length > 0 && (
          <fieldset className="flex flex-col gap-1">
            <legend className="mb-1 font-medium">Only calls with</legend>
            {draft.fields.map((field, index) => (
              <FieldLimit
                key={field.name}
                field={field}
                onChange={(changed) => change({ fields: draft.fields.with(index, changed) })}
              />
            ))}
          </fieldset>
        )}
        <div className="grid gap-3 sm:grid-cols-2">
          <label className="flex flex-col gap-1" htmlFor={`${id}-uses`}>
            <span className="text-xs text-muted">Number of calls (1 to 1,000)</span>
            <input
              id={`${id}-uses`}
              className="field"
              inputMode="numeric"
              value={draft.uses}
              onChange={({ target }) => change({ uses: target.value })}
            />
          </label>
          <label className="flex flex-col gap-1" htmlFor={`${id}-days`}>
            <span className="text-xs text-muted">Valid for</span>
            <select
              id={`${id}-days`}
              className="field"
              value={draft.days}
              onChange={({ target }) => change({ days: target.value })}
            >
              {DAYS.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {numeric.length > 0 && (
            <>
              <label className="flex flex-col gap-1" htmlFor={`${id}-budget`}>
                <span className="text-xs text-muted">Limit the sum of</span>
                <select
                  id={`${id}-budget`}
                  className="field"
                  value={draft.budgetField}
                  onChange={({ target }) => change({ budgetField: target.value })}
                >
                  {numeric.map(({ name, label }) => (
                    <option key={name} value={name}>
                      {label}
                    </option>
                  ))}
                  <option value="">Nothing</option>
                </select>
              </label>
              {draft.budgetField !== '' && (
                <label className="flex flex-col gap-1" htmlFor={`${id}-total`}>
                  <span className="text-xs text-muted">To this total</span>
                  <input
                    id={`${id}-total`}
                    className="field"
                    inputMode="decimal"
                    value={draft.total}
                    onChange={({ target }) => change({ total: target.value })}
                  />
                </label>
              )}
            </>
          )}
        </div>
        <label className="flex min-h-8 items-center gap-2 max-md:min-h-11">
          <input
            type="checkbox"
            checked={draft.servesAll}
            onChange={({ target }) => change({ servesAll: target.checked })}
          />
          For everyone who uses this agent, not only for this person
        </label>
        <Suggestion draft={draft} suggestion={simulated?.suggestion ?? null} onUse={setDraft} />
        <Figures limits={limits} simulated={simulated} />
      </div>
      <div className="flex shrink-0 justify-end gap-2 border-t border-line px-5 py-3">
        <button type="submit" className="button-primary" aria-disabled={!limits}>
          Approve and allow
        </button>
      </div>
    </form>
  );
}

type FieldLimitProps = { readonly field: DraftField; readonly onChange: (field: DraftField) => void };

function FieldLimit({ field, onChange }: FieldLimitProps) {
  const { label, value, isLimited, most } = field;
  const id = useId();
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-x-2 gap-y-1 max-md:min-h-11">
      <label className="flex min-w-0 items-center gap-2" htmlFor={id}>
        <input
          id={id}
          type="checkbox"
          checked={isLimited}
          onChange={({ target }) => onChange({ ...field, isLimited: target.checked })}
        />
        <span className={`min-w-0 break-words ${isLimited ? '' : 'text-muted'}`}>
          <VisibleText text={label} className="font-medium" />
          {!isLimited ? ': anything' : most === undefined ? ': ' : ': at most'}
          {isLimited && most === undefined && <VisibleText text={shown(value).slice(0, 200)} />}
        </span>
      </label>
      {isLimited && most !== undefined && (
        <input
          className="field w-32"
          inputMode="decimal"
          aria-label={`Most for ${label}`}
          value={most}
          onChange={({ target }) => onChange({ ...field, most: target.value })}
        />
      )}
    </div>
  );
}

/** What a grant with these limits would have done with the requests of the past, and which grant they suggest. */
function useSimulated(tool: string, limits: Limits | undefined): Simulated | undefined {
  const asked = useDeferredValue(limits);
  const { data } = useQuery({
    queryKey: ['simulate', tool, asked],
    enabled: asked !== undefined,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      request<Simulated>('grants/simulate', {
        method: 'POST',
        body: { tool, grant: asked },
        signal,
      }),
  });
  return data;
}

type SuggestionProps = {
  readonly draft: Draft;
  readonly suggestion: GrantRequest | null;
  readonly onUse: (draft: Draft) => void;
};

/** Fills the form with what the approved requests of the past have in common. Nothing if that does not fit the call at hand. */
function Suggestion({ draft, suggestion, onUse }: SuggestionProps) {
  const suggested = suggestion && suggestedDraft(draft, suggestion);
  if (!suggested) return null;
  const isFilledIn = shown(suggested) === shown(draft);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md border border-line px-3 py-2">
      <Lightbulb aria-hidden="true" className="size-4 shrink-0 text-info" />
      <p className="min-w-0 flex-1 basis-56 wrap-anywhere">
        <span className="font-medium">Earlier approvals suggest</span>{' '}
        <VisibleText text={draftText(suggested)} className="text-muted" />
      </p>
      <button type="button" className="button" aria-disabled={isFilledIn} onClick={() => onUse(suggested)}>
        {isFilledIn ? 'Filled in' : 'Use suggestion'}
      </button>
    </div>
  );
}

type FiguresProps = { readonly limits: Limits | undefined; readonly simulated: Simulated | undefined };

/** What this grant would have done with the requests of the past. */
function Figures({ limits, simulated }: FiguresProps) {
  if (!limits) return <p role="status">Enter whole numbers of calls, and numbers for the limits.</p>;
  if (!simulated?.simulation) return null;
  const { requests, matching, rejected, edited } = simulated.simulation;
  if (requests === 0) return <p className="text-muted">No earlier requests to compare with.</p>;
  const others = [rejected > 0 && `rejected ${rejected}`, edited > 0 && `edited ${edited}`]
    .filter(Boolean)
    .join(' and ');
  return (
    <p role="status" className={others === '' ? 'text-muted' : 'rounded-md bg-warning-soft px-3 py-2 text-warning'}>
      {`${matching} of the last ${requests} requests match these limits.`}
      {others === '' ? '' : ` Of these, people had ${others}.`}
    </p>
  );
}
