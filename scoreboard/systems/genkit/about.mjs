// Genkit: a tool that calls `interrupt()` and is restarted, and the messages in a file of the program.
export const about = {
  name: 'Genkit',
  packages: ['genkit'],
  store: 'messages that the program saves in a file',
  keeps: 'a file of the program',
};
