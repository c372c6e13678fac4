// The bar above every page: the current page, the model, and a button for a new chat.
import Link from 'next/link';

export type ModelName = { readonly name: string; readonly isDemo: boolean };

const PAGES = [
  { href: '/', name: 'Stored chat' },
  { href: '/use-chat-human-in-the-loop', name: 'Recipe' },
  { href: '/low-level', name: 'Low level' },
] as const;

export type Page = (typeof PAGES)[number]['href'];

export function TopBar({ page, model }: { readonly page: Page; readonly model?: ModelName }) {
  return (
    <header className="sticky top-0 z-10 border-b border-line bg-canvas">
      <div className="mx-auto flex h-14 max-w-3xl items-center gap-3 px-4 sm:px-6">
        <nav aria-label="Pages" className="-ml-2 flex items-center gap-1 overflow-x-auto text-sm">
          {PAGES.map(({ href, name }) => (
            <Link
              key={href}
              href={href}
              prefetch={false}
              aria-current={href === page ? 'page' : undefined}
              className="shrink-0 rounded-md px-2 py-1.5 text-muted hover:bg-sunken aria-[current=page]:font-semibold aria-[current=page]:text-ink"
            >
              {name}
            </Link>
          ))}
        </nav>
        <div className="ml-auto flex shrink-0 items-center gap-2">
          {model && (
            <span
              title={model.isDemo ? 'No API key is set, so replies are scripted.' : undefined}
              className="hidden rounded-full border border-line px-2.5 py-0.5 text-xs text-muted sm:inline"
            >
              {model.name}
            </span>
          )}
          {/* A plain link: the server gives every new chat an id of its own. */}
          <a href={page} className="button">
            New chat
          </a>
        </div>
      </div>
    </header>
  );
}
