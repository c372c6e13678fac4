// Below the compared requests: one reason for all, the decisions, and a second step where an approval cannot be undone or is risky.
import { VisibleText } from '@countersign/react';
import { TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { ApiRequest } from '../api/wire.ts';
import { sectionsOf, totalsOfRequests } from './comparison.ts';
import { totalsText } from './totals.tsx';
import type { DecideTogether, Verb } from './use-decide-together.ts';

type DecideBarProps = {
  readonly open: readonly ApiRequest[];
  /** How many of the selected are not part of it: changed, or decided. */
  readonly left: number;
  readonly deciding: DecideTogether;
};

export function DecideBar({ open, left, deciding }: DecideBarProps) {
  const [reason, setReason] = useState('');
  const [asked, setAsked] = useState<string>();
  const { sending, failure } = deciding;
  // What was asked about must be what is sent: a row that is taken out, or changes, asks again.
  const shown = open.map(({ id, digest }) => `${id} ${digest}`).join('\n');
  const isAsking = asked === shown && !sending && open.length > 0;
  const cannot = (verb: Verb) => open.filter(({ allows }) => !allows.includes(verb)).length;
  function act(verb: Verb, isSure = false) {
    if (sending || open.length === 0 || cannot(verb) > 0) return;
    if (verb === 'approve' && !isSure && open.some(needsSecondStep)) return setAsked(shown);
    setAsked(undefined);
    void deciding.send(verb, open, reason.trim());
  }
  if (isAsking)
    return <SecondStep open={open} onBack={() => setAsked(undefined)} onApprove={() => act('approve', true)} />;
  return (
    <Bar>
      {failure && (
        <p role="alert" className="text-danger">
          <VisibleText text={`${failure.message} The rest was not sent; you can send it again.`} />
        </p>
      )}
      <p role="status" className="text-muted tabular-nums empty:hidden">
        {sending && `${sending.done} of ${sending.total} done…`}
        {!sending && left > 0 && `${left} of the selected will not be sent: see the table.`}
        {!sending &&
          cannot('approve') > 0 &&
          ` ${cannot('approve')} must be answered one by one and cannot be approved here.`}
      </p>
      {sending && (
        <progress className="h-1.5 w-full accent-accent" max={sending.total} value={sending.done}>
          {sending.done}
        </progress>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <label className="flex min-w-48 flex-1 flex-col gap-1 max-md:basis-full">
          <span className="text-xs text-muted">Reason for all (the model sees it only if you reject)</span>
          <input
            className="field w-full"
            maxLength={10_000}
            value={reason}
            readOnly={sending !== undefined}
            onChange={({ target }) => setReason(target.value)}
          />
        </label>
        <button
          type="button"
          className="button max-md:flex-1"
          aria-disabled={sending !== undefined || open.length === 0 || cannot('reject') > 0}
          onClick={() => act('reject')}
        >
          Reject {open.length}
        </button>
        <button
          type="button"
          className="button-primary max-md:flex-1"
          aria-disabled={sending !== undefined || open.length === 0 || cannot('approve') > 0}
          onClick={() => act('approve')}
        >
          Approve {open.length}
          {open.some(needsSecondStep) && '…'}
        </button>
      </div>
    </Bar>
  );
}

const needsSecondStep = ({ risk, reversibility }: ApiRequest): boolean =>
  risk === 'high' || reversibility === 'irreversible';

type SecondStepProps = {
  readonly open: readonly ApiRequest[];
  readonly onBack: () => void;
  readonly onApprove: () => void;
};

/** Says once more how many would run, and what they come to. */
function SecondStep({ open, onBack, onApprove }: SecondStepProps) {
  const question = useRef<HTMLParagraphElement>(null);
  useEffect(() => question.current?.focus(), []);
  const sections = sectionsOf(open);
  return (
    <Bar>
      <p ref={question} tabIndex={-1} className="text-base font-semibold outline-none">
        Approve {open.length.toLocaleString('en')} {open.length === 1 ? 'request' : 'requests'}?
      </p>
      <ul className="flex flex-col gap-0.5 tabular-nums">
        {sections.map(({ key, tool, items }) => (
          <li key={key}>
            <VisibleText text={`${sections.length > 1 ? `${tool}: ` : ''}${totalsText(totalsOfRequests(items))}`} />
          </li>
        ))}
      </ul>
      <p className="flex items-start gap-1.5 text-danger">
        <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
        <span>{warningsOf(open).join(' ')}</span>
      </p>
      <div className="flex flex-wrap justify-end gap-2">
        <button type="button" data-countersign="back" className="button max-md:flex-1" onClick={onBack}>
          Back
        </button>
        <button type="button" className="button-primary max-md:flex-1" onClick={onApprove}>
          Yes, approve {open.length.toLocaleString('en')}
        </button>
      </div>
    </Bar>
  );
}

function warningsOf(open: readonly ApiRequest[]): readonly string[] {
  const irreversible = open.filter(({ reversibility }) => reversibility === 'irreversible').length;
  const risky = open.filter(({ risk }) => risk === 'high').length;
  return [
    ...countedText(irreversible, open.length, [
      'It cannot be undone.',
      'None of them can be undone.',
      'cannot be undone.',
    ]),
    ...countedText(risky, open.length, [
      'It has a high risk.',
      'All of them have a high risk.',
      risky === 1 ? 'has a high risk.' : 'have a high risk.',
    ]),
  ];
}

/** `texts`: for a single request, for all, and for some. */
function countedText(
  count: number,
  all: number,
  [one, every, some]: readonly [string, string, string],
): readonly string[] {
  if (count === 0) return [];
  if (count === all) return [all === 1 ? one : every];
  return [`${count.toLocaleString('en')} of them ${some}`];
}

function Bar({ children }: { readonly children: ReactNode }) {
  return (
    <form
      className="flex shrink-0 flex-col gap-2 border-t border-line bg-surface px-4 py-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] md:px-6"
      onSubmit={(event) => event.preventDefault()}
    >
      {children}
    </form>
  );
}
