// The help dialog: the signed-in user, keyboard shortcuts, and links.
import { VisibleText } from '@countersign/react';
import { CircleQuestionMark, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { mount } from '../api/mount.ts';
import type { Me } from '../api/wire.ts';
import { areShortcutsOn, switchShortcuts } from './shortcuts.ts';

const DIALOG = 'help';

/** There is one on every page, so that any button and key can open it. */
export function openHelp(): void {
  const dialog = document.getElementById(DIALOG);
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

export function HelpButton() {
  return (
    <button type="button" className="button-quiet" onClick={openHelp} title="Help (?)">
      <CircleQuestionMark aria-hidden="true" className="size-4" />
      <span className="sr-only">Help</span>
    </button>
  );
}

const KEYS: readonly { readonly title: string; readonly keys: readonly (readonly [string, string])[] }[] = [
  {
    title: 'In the inbox',
    keys: [
      ['j', 'Next'],
      ['k', 'Previous'],
      ['a', 'Focus “Approve” or the answer, then press Enter'],
      ['e', 'Edit the input'],
      ['r', 'Reject, with a reason'],
      ['n', 'Add a note to your decision'],
      ['c', 'Hold or release'],
      ['/', 'Search'],
      ['Esc', 'Back'],
      ['Ctrl Enter', 'Submit the form'],
    ],
  },
  {
    title: 'Anywhere',
    keys: [
      ['g i', 'Go to the inbox'],
      ['g h', 'Go to the history'],
      ['g r', 'Go to the runs'],
      ['g d', 'Go to the dashboard'],
      ['g c', 'Go to the chat'],
      ['?', 'This help'],
    ],
  },
];

export function Help({ me }: { readonly me: Me | undefined }) {
  return (
    <dialog
      id={DIALOG}
      aria-labelledby="help-title"
      className="m-auto w-[min(40rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-0 text-ink shadow-2xl backdrop:bg-black/40"
    >
      <div className="flex items-center justify-between border-b border-line py-3 pr-3 pl-5">
        <h2 id="help-title" className="text-base font-semibold">
          Help
        </h2>
        <button
          type="button"
          className="button-quiet"
          onClick={({ currentTarget }) => currentTarget.closest('dialog')?.close()}
        >
          <X aria-hidden="true" className="size-4" />
          <span className="sr-only">Close</span>
        </button>
      </div>
      {me && <About me={me} />}
      <Keys />
      <p className="flex flex-wrap gap-x-5 gap-y-1 border-t border-line px-5 py-3 text-muted">
        <Elsewhere path="api/v1/docs">The API</Elsewhere>
        <Elsewhere path="licences.txt">Open-source licences</Elsewhere>
      </p>
    </dialog>
  );
}

/** On a wide page the side bar says it as well. */
function About({ me }: { readonly me: Me }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 border-b border-line px-5 py-3">
      <dt className="text-muted">Signed in as</dt>
      <dd className="min-w-0 wrap-anywhere">
        <VisibleText text={me.name || me.id} />
      </dd>
      <dt className="text-muted">Model</dt>
      <dd className="min-w-0 wrap-anywhere">
        {me.demo ? 'Demo model: no API key is set, so replies are scripted.' : <VisibleText text={me.model} />}
      </dd>
    </dl>
  );
}

/** Not on a phone: it has no such keys. */
function Keys() {
  const [on, setOn] = useState(areShortcutsOn);
  return (
    <div className="max-md:pointer-coarse:hidden">
      <div className="grid gap-6 p-5 sm:grid-cols-2">
        {KEYS.map(({ title, keys }) => (
          <section key={title}>
            <h3 className="mb-2 text-xs font-medium tracking-wide text-muted uppercase">{title}</h3>
            <dl className="flex flex-col gap-1.5">
              {keys.map(([key, what]) => (
                <div key={key} className="flex items-baseline gap-3">
                  <dt className="flex w-20 shrink-0 gap-1">
                    {key.split(' ').map((one) => (
                      <kbd key={one} className="key">
                        {one}
                      </kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label className="flex items-center gap-2 border-t border-line px-5 py-3">
        <input
          type="checkbox"
          checked={on}
          onChange={({ target }) => {
            switchShortcuts(target.checked);
            setOn(target.checked);
          }}
        />
        Enable keyboard shortcuts
      </label>
    </div>
  );
}

function Elsewhere({ path, children }: { readonly path: string; readonly children: ReactNode }) {
  return (
    <a
      href={new URL(path, mount).href}
      target="_blank"
      rel="noreferrer"
      className="underline underline-offset-2 hover:text-ink"
    >
      {children}
    </a>
  );
}
