// A tooltip with a name and the key for it. Its text is never needed to use the control.
import { Tooltip } from '@base-ui/react/tooltip';
import type { ReactElement } from 'react';

type HintProps = { readonly text: string; readonly keys?: string; readonly children: ReactElement };

/** `children` is the control; it has its own accessible name. */
export function Hint({ text, keys, children }: HintProps) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} collisionPadding={8} className="z-50">
          <Tooltip.Popup className="flex items-center gap-2 rounded-md border border-line bg-surface px-2 py-1 text-xs text-ink shadow-lg">
            {text}
            {keys?.split(' ').map((key) => (
              <kbd key={key} className="key">
                {key}
              </kbd>
            ))}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
