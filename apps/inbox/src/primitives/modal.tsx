// A dialog over the page, with a title and a way out.
import { Dialog } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import type { ReactNode, RefObject } from 'react';

type ModalProps = {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  /** For a dialog that is recognised without it. */
  readonly isTitleHidden?: boolean;
  readonly initialFocus?: RefObject<HTMLElement | null>;
  readonly className?: string;
  readonly children: ReactNode;
};

export function Modal({ title, isOpen, onOpenChange, isTitleHidden, initialFocus, className, children }: ModalProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(next) => onOpenChange(next)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40 transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Dialog.Popup
          data-modal
          {...(initialFocus && { initialFocus })}
          className={`fixed inset-x-4 top-[12vh] z-50 mx-auto flex max-h-[76vh] max-w-2xl flex-col overflow-hidden rounded-xl border border-line bg-surface text-ink shadow-2xl outline-none transition duration-100 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0 ${className ?? ''}`}
        >
          {isTitleHidden ? (
            <Dialog.Title className="sr-only">{title}</Dialog.Title>
          ) : (
            <div className="flex shrink-0 items-center justify-between border-b border-line py-2.5 pr-2.5 pl-5">
              <Dialog.Title className="text-base font-semibold">{title}</Dialog.Title>
              <Dialog.Close className="button-quiet">
                <X aria-hidden="true" className="size-4" />
                <span className="sr-only">Close</span>
              </Dialog.Close>
            </div>
          )}
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
