// The OpenAI Agents SDK: `needsApproval`, and the state of the run as a string in a file, as its guide shows.
export const about = {
  name: 'OpenAI Agents',
  packages: ['@openai/agents'],
  store: 'a string that the program saves in a file',
  keeps: 'a file of the program',
};
