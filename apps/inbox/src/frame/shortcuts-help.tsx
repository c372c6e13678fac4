// The dialog that lists the keys, and switches them off.
import { X } from 'lucide-react';
import { type RefObject, useState } from 'react';
import { areShortcutsOn, switchShortcuts } from './shortcuts.ts';

const KEYS: readonly { readonly title: string; readonly keys: readonly (readonly [string, string])[] }[] = [
  {
    title: 'In the inbox',
    keys: [
      ['j', 'Next'],
      ['k', 'Previous'],
      ['a', 'To “Approve”, or to the answer; then Enter'],
      ['e', 'Edit the input'],
      ['r', 'Reject, with a reason'],
      ['n', 'Add a note to your decision'],
      ['c', 'Claim, or release'],
      ['/', 'Search'],
      ['Esc', 'Back'],
      ['Ctrl Enter', 'Send the form you are in'],
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

export function ShortcutsHelp({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }) {
  const [on, setOn] = useState(areShortcutsOn);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="shortcuts-title"
      className="m-auto w-[min(40rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-0 text-ink shadow-2xl backdrop:bg-black/40"
    >
      <div className="flex items-center justify-between border-b border-line py-3 pr-3 pl-5">
        <h2 id="shortcuts-title" className="text-base font-semibold">
          Keyboard
        </h2>
        <button type="button" className="button-quiet" onClick={() => dialog.current?.close()}>
          <X aria-hidden="true" className="size-4" />
          <span className="sr-only">Close</span>
        </button>
      </div>
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
        Single keys do something (switch this off for speech input)
      </label>
    </dialog>
  );
}
