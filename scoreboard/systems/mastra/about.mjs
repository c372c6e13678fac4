// Mastra: an agent with `requireApproval`, and its storage in a LibSQL file.
export const about = {
  name: 'Mastra',
  packages: ['@mastra/core', '@mastra/libsql'],
  store: 'LibSQL file',
  keeps: 'its storage has it',
};
