// Keys that act on the open card: each goes to a button that is there for everybody, and presses or focuses it.

export type CardKey = 'approve' | 'edit' | 'reject' | 'note' | 'hold' | 'back';

/**
 * To approve takes two keys, one to go there and Enter: a single letter typed into the wrong window approves nothing.
 * Returns whether there was such a button.
 */
export function press(key: CardKey): boolean {
  switch (key) {
    case 'approve': {
      const target = find('button[data-countersign="approve"], button[data-countersign="restart"]') ?? answer();
      target?.focus();
      target?.scrollIntoView({ block: 'nearest' });
      return target !== undefined;
    }
    case 'edit':
      return click('button[data-countersign="edit"]');
    case 'reject':
      return click('button[data-countersign="reject"], button[data-countersign="cancel"]');
    case 'note': {
      const place = find('[data-note]');
      if (place instanceof HTMLButtonElement) place.click();
      else place?.focus();
      return place !== undefined;
    }
    case 'hold':
      return click('[data-hold]');
    case 'back':
      return click('button[data-countersign="back"]');
  }
}

/** Where a question is answered. */
function answer(): HTMLElement | undefined {
  return find('[data-countersign="choice"], [data-countersign="form"] :is(input, textarea, select)');
}

function find(selector: string): HTMLElement | undefined {
  return document.querySelector<HTMLElement>(`#card :is(${selector})`) ?? undefined;
}

function click(selector: string): boolean {
  const button = find(selector);
  button?.click();
  return button !== undefined;
}
