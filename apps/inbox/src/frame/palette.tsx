// The command palette: finds pages, requests and runs by a few letters.
import { titleOf, VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { CornerDownLeft, type LucideIcon, Search, ShieldQuestionMark, Workflow } from 'lucide-react';
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { queryOf, request } from '../api/request.ts';
import type { ApiRequest, Page, RunSummary } from '../api/wire.ts';
import { Modal } from '../primitives/modal.tsx';
import { StatusMark } from '../runs/run-status.tsx';
import { PAGES } from './pages.ts';

type PaletteProps = { readonly isOpen: boolean; readonly onClose: () => void };

export function Palette({ isOpen, onClose }: PaletteProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <Modal
      title="Search"
      isTitleHidden
      isOpen={isOpen}
      onOpenChange={(next) => !next && onClose()}
      initialFocus={input}
      className="max-w-xl"
    >
      <Finder input={input} onClose={onClose} />
    </Modal>
  );
}

type Found = {
  readonly id: string;
  readonly group: 'Pages' | 'Requests' | 'Runs';
  readonly href: string;
  readonly title: string;
  readonly aside?: string | undefined;
  readonly icon: LucideIcon;
  readonly run?: RunSummary;
};

type FinderProps = { readonly input: React.RefObject<HTMLInputElement | null>; readonly onClose: () => void };

function Finder({ input, onClose }: FinderProps) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [, navigate] = useLocation();
  const list = useId();
  const { items, isSearching } = useFound(typed.trim());
  const place = Math.min(chosen, items.length - 1);

  function open(found: Found | undefined) {
    if (!found) return;
    onClose();
    navigate(found.href);
  }
  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && items.length > 0) {
      event.preventDefault();
      setChosen((place + step + items.length) % items.length);
    }
    // Enter that chooses a character of an input method is not for us.
    if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      open(items[place]);
    }
  }
  useEffect(() => {
    document.getElementById(`${list}-${place}`)?.scrollIntoView({ block: 'nearest' });
  }, [list, place]);

  return (
    <>
      <div className="flex items-center gap-3 border-b border-line px-4">
        <Search aria-hidden="true" className="size-4 shrink-0 text-muted" />
        <input
          ref={input}
          role="combobox"
          aria-label="Search pages, requests and runs"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={items.length > 0 ? `${list}-${place}` : undefined}
          placeholder="Search pages, requests and runs…"
          maxLength={200}
          value={typed}
          onChange={({ target }) => {
            setTyped(target.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-muted"
        />
        <kbd className="key max-md:hidden">Esc</kbd>
      </div>
      <div id={list} role="listbox" aria-label="Results" className="overflow-y-auto p-1.5">
        {items.map((found, index) => (
          <Option
            key={found.id}
            id={`${list}-${index}`}
            found={found}
            isFirst={found.group !== items[index - 1]?.group}
            isChosen={index === place}
            onPoint={() => setChosen(index)}
            onOpen={() => open(found)}
          />
        ))}
      </div>
      <p role="status" className="px-4 pb-3 text-muted empty:hidden">
        {items.length === 0 && (isSearching ? 'Searching…' : 'No matches')}
      </p>
    </>
  );
}

type OptionProps = {
  readonly id: string;
  readonly found: Found;
  readonly isFirst: boolean;
  readonly isChosen: boolean;
  readonly onPoint: () => void;
  readonly onOpen: () => void;
};

function Option({ id, found, isFirst, isChosen, onPoint, onOpen }: OptionProps) {
  const { group, title, aside, icon: Icon, run } = found;
  return (
    <>
      {isFirst && (
        <p role="presentation" className="px-2.5 pt-2 pb-1 text-xs font-medium text-muted">
          {group}
        </p>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys. */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={isChosen}
        onPointerMove={onPoint}
        onClick={onOpen}
        className="flex min-h-9 cursor-pointer items-center gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-sunken max-md:min-h-11"
      >
        <Icon aria-hidden="true" className="size-4 shrink-0 text-muted" />
        <span className="min-w-0 flex-1 truncate">
          <VisibleText text={title} />
        </span>
        {run && <StatusMark status={run.status} failures={run.failures} />}
        {aside !== undefined && (
          <span className="max-w-40 shrink-0 truncate font-mono text-xs text-muted">
            <VisibleText text={aside} />
          </span>
        )}
        {isChosen && <CornerDownLeft aria-hidden="true" className="size-3.5 shrink-0 text-muted" />}
      </div>
    </>
  );
}

const AT_MOST = 6;

function useFound(typed: string): { readonly items: readonly Found[]; readonly isSearching: boolean } {
  const search = useDeferredValue(typed);
  const requests = useQuery({
    queryKey: ['found', 'requests', search],
    queryFn: ({ signal }) =>
      request<Page<ApiRequest>>(`requests${queryOf({ search, limit: AT_MOST, order: 'oldest' })}`, { signal }),
    placeholderData: (before) => before,
  });
  const runs = useQuery({
    queryKey: ['found', 'runs', search],
    queryFn: ({ signal }) =>
      request<Page<RunSummary>>(`runs${queryOf({ search, limit: AT_MOST, order: 'newest' })}`, { signal }),
    placeholderData: (before) => before,
  });
  const items: readonly Found[] = [
    ...PAGES.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase())).map(({ href, name, icon }) => ({
      id: href,
      group: 'Pages' as const,
      href,
      title: name,
      icon,
    })),
    ...(requests.data?.items ?? []).map((request) => ({
      id: request.id,
      group: 'Requests' as const,
      href: `/requests/${encodeURIComponent(request.id)}`,
      title: titleOf(request),
      aside: request.tool,
      icon: ShieldQuestionMark,
    })),
    ...(runs.data?.items ?? []).map((run) => ({
      id: run.id,
      group: 'Runs' as const,
      href: `/runs/${encodeURIComponent(run.id)}`,
      title: run.title ?? run.agent,
      icon: Workflow,
      run,
    })),
  ];
  return { items, isSearching: requests.isFetching || runs.isFetching };
}
