// Countersign alone: an agent whose runs are stored in one SQLite file.
export const about = {
  name: 'Countersign',
  packages: ['countersign'],
  store: 'SQLite file',
  keeps: 'the store has it',
};
