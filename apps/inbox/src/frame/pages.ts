// The pages of the app: their names, addresses, icons and keys.
import { ChartColumn, FastForward, History, Inbox, type LucideIcon, MessageSquare, Workflow } from 'lucide-react';

export type PageEntry = {
  readonly href: string;
  readonly name: string;
  readonly icon: LucideIcon;
  /** After `g`. */
  readonly key: string;
  /** The addresses that belong to it. */
  readonly at: RegExp;
};

export const PAGES: readonly PageEntry[] = [
  { href: '/', name: 'Inbox', icon: Inbox, key: 'i', at: /^\/(?:requests\/.*)?$/ },
  { href: '/chat', name: 'Chat', icon: MessageSquare, key: 'c', at: /^\/chat/ },
  { href: '/history', name: 'History', icon: History, key: 'h', at: /^\/history/ },
  { href: '/runs', name: 'Runs', icon: Workflow, key: 'r', at: /^\/runs/ },
  { href: '/grants', name: 'Grants', icon: FastForward, key: 'a', at: /^\/(?:grants|rules)/ },
  { href: '/dashboard', name: 'Dashboard', icon: ChartColumn, key: 'd', at: /^\/dashboard/ },
];
