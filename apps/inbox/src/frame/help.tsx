// The help dialog: the signed-in user, keyboard shortcuts, and links.
import { VisibleText } from '@countersign/react';
import { type ReactNode, useState } from 'react';
import { mount } from '../api/mount.ts';
import type { Me } from '../api/wire.ts';
import { Modal } from '../primitives/modal.tsx';
import { areShortcutsOn, switchShortcuts } from './shortcuts.ts';

type HelpProps = {
  readonly me: Me | undefined;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
};

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
      ['x', 'Select, to decide several together'],
      ['X', 'Select all that are like it'],
      ['/', 'Search'],
      ['Esc', 'Back'],
      ['Ctrl Enter', 'Submit the form'],
    ],
  },
  {
    title: 'Anywhere',
    keys: [
      ['Ctrl K', 'Search everything'],
      ['g i', 'Go to the inbox'],
      ['g h', 'Go to the history'],
      ['g r', 'Go to the runs'],
      ['g a', 'Go to the grants'],
      ['g d', 'Go to the dashboard'],
      ['g c', 'Go to the chat'],
      ['?', 'This help'],
    ],
  },
];

export function Help({ me, isOpen, onOpenChange }: HelpProps) {
  return (
    <Modal title="Help" isOpen={isOpen} onOpenChange={onOpenChange}>
      <div className="overflow-y-auto">
        {me && <About me={me} />}
        <Keys />
        <p className="flex flex-wrap gap-x-5 gap-y-1 border-t border-line px-5 py-3 text-muted">
          <Elsewhere path="api/v1/docs">The API</Elsewhere>
          <Elsewhere path="licences.txt">Open-source licences</Elsewhere>
        </p>
      </div>
    </Modal>
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
        {me.demo ? (
          'Stand-in model: no API key is set, so it only picks tools by your words.'
        ) : (
          <VisibleText text={me.model} />
        )}
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
      className="inline-flex items-center underline underline-offset-2 hover:text-ink max-md:min-h-11"
    >
      {children}
    </a>
  );
}
