// Light or dark: as the system says, or as chosen here and kept in this browser.
import { useState } from 'react';
import { Choices } from '../primitives/choice-menu.tsx';
import { keep, kept } from './kept.ts';

type Theme = 'system' | 'light' | 'dark';

const THEMES = [
  { value: 'system', label: 'System colours' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

const asTheme = (text: string | undefined): Theme => (text === 'light' || text === 'dark' ? text : 'system');

export function applyTheme(theme: Theme = asTheme(kept('theme'))): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The choices of a menu. */
export function ThemeChoices() {
  const [theme, setTheme] = useState(() => asTheme(kept('theme')));
  function change(value: string) {
    const next = asTheme(value);
    keep('theme', next);
    applyTheme(next);
    setTheme(next);
  }
  return <Choices label="Colours" value={theme} choices={THEMES} onChange={change} />;
}
