// The top of a page: its title, and on a phone the buttons of the side bar.
import type { ReactNode } from 'react';
import { HelpButton } from './help.tsx';
import { SignOutButton } from './sign-out.tsx';
import { ThemeButton } from './theme.tsx';

type PageHeaderProps = {
  readonly title: string;
  /** A page that hides its header at times has its heading elsewhere. */
  readonly isHeading?: boolean;
  /** The controls are wide and move below the title on a phone. */
  readonly isWide?: boolean;
  readonly children?: ReactNode;
};

export function PageHeader({ title, isHeading = true, isWide = false, children }: PageHeaderProps) {
  const Title = isHeading ? 'h1' : 'p';
  return (
    <div className="flex min-h-12 shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <Title className="text-base font-semibold tracking-tight">{title}</Title>
      <div
        className={`ml-auto flex items-center gap-2 ${isWide ? 'max-md:order-last max-md:w-full max-md:*:flex-1' : ''}`}
      >
        {children}
      </div>
      <div className={`flex md:hidden ${isWide ? 'ml-auto' : ''}`}>
        <ThemeButton />
        <HelpButton />
        <SignOutButton />
      </div>
    </div>
  );
}
