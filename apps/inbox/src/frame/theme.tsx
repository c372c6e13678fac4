// Light or dark: as the system says, or as chosen here and kept in this browser.
import { Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { keep, kept } from './kept.ts';

type Theme = 'system' | 'light' | 'dark';

const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const;
const ICONS = { system: Monitor, light: Sun, dark: Moon } as const;

const chosen = (): Theme => {
  const theme = kept('theme');
  return theme === 'light' || theme === 'dark' ? theme : 'system';
};

export function applyTheme(theme: Theme = chosen()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState(chosen);
  const Icon = ICONS[theme];
  function change() {
    const next = NEXT[theme];
    keep('theme', next);
    applyTheme(next);
    setTheme(next);
  }
  return (
    <button type="button" className="button-quiet" onClick={change} title={`Colours: ${theme}`}>
      <Icon aria-hidden="true" className="size-4" />
      <span className="sr-only">Colours: {theme}. Change</span>
    </button>
  );
}
