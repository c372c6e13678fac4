// LangGraph: `createAgent` with the human-in-the-loop middleware and checkpoints in PostgreSQL.
export const about = {
  name: 'LangGraph',
  packages: ['langchain', '@langchain/langgraph', '@langchain/core', '@langchain/langgraph-checkpoint-postgres'],
  store: 'PostgreSQL',
  keeps: 'its checkpoints have it',
  needs: 'postgres',
};
