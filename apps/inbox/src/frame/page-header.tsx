// The top of a page: its title and controls, and on a phone the search and the account.
import { Search } from 'lucide-react';
import type { ReactNode } from 'react';
import { AccountMenu } from './account-menu.tsx';
import { openPalette } from './overlays.ts';

type PageHeaderProps = {
  readonly title: string;
  /** A page that hides its header at times has its heading elsewhere. */
  readonly isHeading?: boolean;
  readonly children?: ReactNode;
};

export function PageHeader({ title, isHeading = true, children }: PageHeaderProps) {
  const Title = isHeading ? 'h1' : 'p';
  return (
    <div className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line px-4 py-1.5">
      <Title className="text-base font-semibold tracking-tight">{title}</Title>
      <div className="ml-auto flex min-w-0 items-center gap-2">{children}</div>
      <div className="-mr-2 flex md:hidden">
        <button type="button" className="button-quiet" onClick={openPalette}>
          <Search aria-hidden="true" className="size-5" />
          <span className="sr-only">Search everything</span>
        </button>
        <AccountMenu isSmall />
      </div>
    </div>
  );
}
