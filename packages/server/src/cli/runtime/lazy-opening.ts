// Opens what a command works on when it runs, so that help and the hooks of coding agents start at once.

type Opening = typeof import('./opening.ts');

export const useBackend: Opening['useBackend'] = async (...given) =>
  (await import('./opening.ts')).useBackend(...given);

export const useNotes: Opening['useNotes'] = async (...given) => (await import('./opening.ts')).useNotes(...given);
