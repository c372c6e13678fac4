// Small choices that stay in this browser. Where it keeps nothing, they last as long as the page.

const inMemory = new Map<string, string>();

export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(`countersign.${name}`) ?? inMemory.get(name);
  } catch {
    // Storage is forbidden here.
    return inMemory.get(name);
  }
}

export function keep(name: string, value: string): void {
  inMemory.set(name, value);
  try {
    localStorage.setItem(`countersign.${name}`, value);
  } catch {
    // Storage is forbidden or full: the memory has it.
  }
}
