// A part that can be folded away.
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';

type DisclosureProps = {
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  readonly isOpen?: boolean;
  readonly children: ReactNode;
};

export function Disclosure({ title, aside, isOpen = false, children }: DisclosureProps) {
  return (
    <details open={isOpen} className="disclosure">
      <summary>
        <ChevronRight aria-hidden="true" className="disclosure-mark" />
        {title}
        {aside !== undefined && <span className="ml-auto text-xs font-normal text-muted">{aside}</span>}
      </summary>
      <div className="pt-3 pb-4">{children}</div>
    </details>
  );
}
