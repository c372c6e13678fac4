// Opens the dialogs that every page has: any button and key can ask for one.

export type Overlay = 'help' | 'palette' | 'freeze';

const NAME = 'countersign-open';

export const openHelp = (): void => open('help');
export const openPalette = (): void => open('palette');
export const openFreeze = (): void => open('freeze');

function open(overlay: Overlay): void {
  document.dispatchEvent(new CustomEvent<Overlay>(NAME, { detail: overlay }));
}

export function onOpen(listener: (overlay: Overlay) => void): () => void {
  const heard = (event: Event) => listener((event as CustomEvent<Overlay>).detail);
  document.addEventListener(NAME, heard);
  return () => document.removeEventListener(NAME, heard);
}
